/*
** redact.c: see redact.h. Copies only where something was found.
*/
#include "redact.h"

static const struct str BLOT = { "[redacted]", 10 };

/* The first secret in s: its offset, and its length in *n; s.n when there is none. */
static size_t find(const struct secrets *k, struct str s, size_t *n) {
  size_t first = s.n;
  for (size_t i = 0; i < k->n; i++) {
    const char *hit = k->v[i].n < 4 || s.n == 0 ? NULL : memmem(s.p, s.n, k->v[i].p, k->v[i].n);
    if (hit == NULL || (size_t)(hit - s.p) > first) continue;
    if ((size_t)(hit - s.p) == first && *n >= k->v[i].n) continue; /* of two at one place the longer */
    first = (size_t)(hit - s.p);
    *n = k->v[i].n;
  }
  return first;
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
  if (find(k, s, &n) == s.n) return s;
  buf_init(&b, a->m);
  r = clean(k, &b, s) == 0 ? arena_dup(a, buf_str(&b)) : STR_NONE;
  buf_free(&b);
  return r;
}

void redact_inplace(const struct secrets *k, char *z, size_t size) {
  for (size_t from = 0;;) {
    size_t len = strlen(z), n = 0, at = from + find(k, (struct str){ z + from, len - from }, &n), put, tail;
    if (at == len) return;
    put = BLOT.n < size - 1 - at ? BLOT.n : size - 1 - at;
    tail = len - at - n;
    if (tail > size - 1 - at - put) tail = size - 1 - at - put;
    memmove(z + at + put, z + at + n, tail);
    memcpy(z + at, BLOT.p, put);
    z[at + put + tail] = '\0';
    from = at + put;
  }
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
