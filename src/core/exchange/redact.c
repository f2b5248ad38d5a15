/*
** redact.c: see redact.h. Copies only where something was found.
*/
#include <limits.h>

#include "core/base/utf8.h"
#include "redact.h"

#define PART 8 /* bytes of a secret that count as one where the text ends before the rest of it */

static const struct str BLOT = { "[redacted]", 10 };

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four hex digits at s.p[at]: the code in *code and 1; 0: they are none; -1: the text ends within them. */
static int read_code(struct str s, size_t at, uint32_t *code) {
  *code = 0;
  for (size_t i = at; i < at + 4; i++) {
    if (i >= s.n) return -1;
    if (hex(s.p[i]) < 0) return 0;
    *code = *code * 16 + (uint32_t)hex(s.p[i]);
  }
  return 1;
}

/* How many bytes of s, from its \u at `at` on, are an escape of JSON that spells the n bytes at c; 0 and -1 as spells. */
static int spells_code(struct str s, size_t at, const char *c, int n) {
  char bytes[4];
  uint32_t code, low;
  int r = read_code(s, at + 2, &code), used = 6;
  if (r > 0 && code >= 0xD800 && code <= 0xDBFF) {
    static const char AGAIN[] = { '\\', 'u' };
    for (size_t i = 0; i < sizeof AGAIN; i++) {
      if (at + 6 + i == s.n) return -1;
      if (s.p[at + 6 + i] != AGAIN[i]) return 0;
    }
    r = read_code(s, at + 8, &low);
    if (r > 0 && (low < 0xDC00 || low > 0xDFFF)) return 0;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    used = 12;
  }
  if (r <= 0) return r;
  return utf8_put(bytes, code) == (size_t)n && memcmp(bytes, c, (size_t)n) == 0 ? used : 0;
}

/* How many bytes of s, from `at` on, spell the character of n bytes at c, as it is or as an escape of JSON; 0: they do
** not; -1: the text ends within them. */
static int spells(struct str s, size_t at, const char *c, int n) {
  int same = 0;
  while (same < n && at + (size_t)same < s.n && s.p[at + (size_t)same] == c[same]) same++;
  if (same == n) return n;
  if (same > 0 && at + (size_t)same == s.n) return -1;
  if (s.p[at] != '\\') return 0;
  if (at + 1 == s.n) return -1;
  if (n == 1 && s.p[at + 1] == c[0]) return 2;
  return s.p[at + 1] == 'u' ? spells_code(s, at, c, n) : 0;
}

/* How many bytes of s, from `at` on, spell the secret, or as much of it as there is before s ends; 0: they do not. */
static size_t match(struct str secret, struct str s, size_t at) {
  size_t from = at;
  for (size_t i = 0; i < secret.n;) {
    int len = utf8_length(secret.p + i, secret.p + secret.n), c = len > 0 ? len : 1;
    int n = at < s.n ? spells(s, at, secret.p + i, c) : -1;
    if (n == 0) return 0;
    if (n < 0) return i >= PART ? s.n - from : 0;
    at += (size_t)n;
    i += (size_t)c;
  }
  return at - from;
}

/* The first secret in s: its offset, and its length in *n, of two at one place the longer; s.n when there is none. */
static size_t find(const struct secrets *k, struct str s, size_t *n) {
  unsigned char begins[UCHAR_MAX + 1] = { 0 }; /* whether a secret may begin with the byte */
  *n = 0;
  begins['\\'] = 1;
  for (size_t i = 0; i < k->n; i++)
    if (k->v[i].n >= SECRET_MIN) begins[(unsigned char)k->v[i].p[0]] = 1;
  for (size_t at = 0; at < s.n; at++) {
    if (!begins[(unsigned char)s.p[at]]) continue;
    for (size_t i = 0; i < k->n; i++) {
      size_t found = k->v[i].n < SECRET_MIN ? 0 : match(k->v[i], s, at);
      if (found > *n) *n = found;
    }
    if (*n > 0) return at;
  }
  return s.n;
}

/* Appends the clean form of s; 0 or -1. */
static int clean(const struct secrets *k, struct buf *out, struct str s) {
  while (s.n > 0) {
    size_t n = 0, at = find(k, s, &n);
    if (buf_add(out, s.p, at) != 0) return -1;
    if (at == s.n) return 0;
    if (buf_addstr(out, BLOT) != 0) return -1;
    s.p += at + n;
    s.n -= at + n;
  }
  return 0;
}

struct str redact(const struct secrets *k, struct arena *a, struct str s) {
  struct buf b;
  struct str r;
  size_t n = 0;
  if (k->n == 0 || find(k, s, &n) == s.n) return s;
  buf_init(&b, a->m);
  r = clean(k, &b, s) == 0 ? arena_dup(a, buf_str(&b)) : STR_NONE;
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

/* What a cut may have left of a secret at the end of z goes. */
static void end_clean(const struct secrets *k, char *z) {
  z[cut_secret(k, z, strlen(z))] = '\0';
}

void redact_inplace(const struct secrets *k, char *z, size_t size) {
  if (strlen(z) + 4 >= size) end_clean(k, z); /* the text was cut, perhaps inside a secret */
  for (size_t from = 0;;) {
    size_t len = strlen(z), n = 0, at = from + find(k, (struct str){ z + from, len - from }, &n), put, tail, room;
    if (at == len) break;
    put = BLOT.n < size - 1 - at ? BLOT.n : size - 1 - at;
    tail = len - at - n;
    room = size - 1 - at - put;
    memmove(z + at + put, z + at + n, tail < room ? tail : room);
    memcpy(z + at, BLOT.p, put);
    z[at + put + (tail < room ? tail : utf8_cut(z + at + put, room))] = '\0';
    if (tail > room) end_clean(k, z);
    from = at + put;
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
