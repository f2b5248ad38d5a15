/*
** redact.c: see redact.h. Copies only where something was found.
*/
#include "core/base/utf8.h"
#include "redact.h"

static const struct str REPLACEMENT = { "[redacted]", 10 };

/* Marks in s all that is a secret; marks NULL: only looks. 1: there is one; 0: none. */
static int find(const struct secrets *k, struct str s, unsigned char *marks) {
  int found = 0;
  for (size_t i = 0; i < k->n && !(found && marks == NULL); i++) found |= finder_search(k->v[i], s, marks);
  return found;
}

/* Appends s without what is marked; 0 or -1. */
static int clean(struct buf *out, struct str s, const unsigned char *marks) {
  for (size_t i = 0, from = 0; i <= s.n; i++) {
    if (i < s.n && marks[i] == 0) continue;
    if (buf_add(out, s.p + from, i - from) != 0) return -1;
    if (i < s.n && marks[i] == FINDER_BEGINS && buf_addstr(out, REPLACEMENT) != 0) return -1;
    from = i + 1;
  }
  return 0;
}

struct str redact(const struct secrets *k, struct arena *a, struct str s) {
  unsigned char *marks;
  struct buf b;
  struct str r = STR_NONE;
  if (k->n == 0 || !find(k, s, NULL)) return s;
  marks = arena_alloc(a, s.n);
  if (marks == NULL) return r;
  memset(marks, 0, s.n);
  (void)find(k, s, marks);
  buf_init(&b, a->m);
  if (clean(&b, s, marks) == 0) r = arena_dup(a, buf_str(&b));
  buf_free(&b);
  return r;
}

/* A copy with the letters A to Z in lower case; p NULL: memory. */
static struct str lower(struct arena *a, struct str s) {
  char *p = arena_alloc(a, s.n + 1);
  if (p == NULL) return STR_NONE;
  for (size_t i = 0; i < s.n; i++) p[i] = str_lower(s.p[i]);
  return (struct str){ p, s.n };
}

struct str redact_name(const struct secrets *k, struct arena *a, struct str s) {
  struct secrets low = { .n = k->n };
  struct str name = lower(a, s), clean_name;
  for (size_t i = 0; i < k->n && name.p != NULL; i++) {
    low.v[i] = lower(a, k->v[i]);
    if (low.v[i].p == NULL) return STR_NONE;
  }
  if (name.p == NULL) return STR_NONE;
  clean_name = redact(&low, a, name);
  return clean_name.p == name.p ? s : clean_name;
}

/* Where the longest beginning (4 bytes or more) of a secret starts that z, of len bytes, ends with; len when there is none. */
static size_t cut_secret(const struct secrets *k, const char *z, size_t len) {
  size_t at = len;
  for (size_t i = 0; i < k->n; i++)
    for (size_t n = k->v[i].n < len ? k->v[i].n : len; n >= 4 && k->v[i].n >= SECRET_MIN; n--)
      if (memcmp(z + len - n, k->v[i].p, n) == 0) {
        if (len - n < at) at = len - n;
        break;
      }
  return at;
}

/* Removes what a cut may have left of a secret at the end of z. */
static void end_clean(const struct secrets *k, char *z) {
  z[cut_secret(k, z, strlen(z))] = '\0';
}

void redact_inplace(const struct secrets *k, char *z, size_t size) {
  unsigned char marks[REDACT_MAX] = { 0 };
  char out[REDACT_MAX];
  size_t len, n = 0, from = 0;
  if (size > sizeof out) z[(size = sizeof out) - 1] = '\0';
  if (strlen(z) + 4 >= size) end_clean(k, z); /* the text was cut, perhaps inside a secret */
  len = strlen(z);
  if (find(k, (struct str){ z, len }, marks)) {
    for (; from < len && n < size - 1; from++) {
      struct str add = marks[from] == 0 ? (struct str){ z + from, 1 } : marks[from] == FINDER_BEGINS ? REPLACEMENT : STR_NONE;
      if (add.n > size - 1 - n) add.n = size - 1 - n;
      if (add.n > 0) memcpy(out + n, add.p, add.n);
      n += add.n;
    }
    memcpy(z, out, n);
    z[n] = '\0';
  }
  z[utf8_cut(z, strlen(z))] = '\0';
}

void redact_err(const struct secrets *k, struct err *e) {
  redact_inplace(k, e->message, sizeof e->message);
  redact_inplace(k, e->code, sizeof e->code);
  redact_inplace(k, e->request_id, sizeof e->request_id);
}

int redact_node(const struct secrets *k, struct arena *a, struct node *v) {
  struct node *c;
  if (v == NULL || k->n == 0) return 0;
  if (v->s.n > 0) {
    v->s = redact(k, a, v->s);
    if (v->s.p == NULL) return -1;
  }
  if (v->key.n > 0) {
    v->key = redact(k, a, v->key);
    if (v->key.p == NULL) return -1;
  }
  for (c = v->child; c != NULL; c = c->next)
    if (redact_node(k, a, c) != 0) return -1;
  return 0;
}
