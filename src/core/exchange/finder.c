/*
** finder.c: see finder.h. Secret and text are searched twice: both as they stand, and both with their escapes undone, so
** that bytes alone are compared (Knuth, Morris, Pratt).
*/
#include <stdint.h>

#include "core/base/utf8.h"
#include "finder.h"

#define HEAD 512 /* bytes of a secret that are looked for; the rest is compared where they were found */

/* {{{ reading */

/* Reads a text byte by byte. A unit is a byte of it, or an escape and all that it stands for. */
struct reader {
  struct str s;
  int undo;       /* escapes are undone */
  size_t at;      /* behind the unit */
  size_t from;    /* where the unit begins */
  char bytes[4];  /* what it stands for */
  size_t n, next; /* bytes there are, bytes given */
};

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = (char)(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The `digits` hex digits at s.p[at]: their value in *value and 1; 0: they are none; -1: the text ends within them. */
static int read_hex(struct str s, size_t at, size_t digits, uint32_t *value) {
  *value = 0;
  for (size_t i = at; i < at + digits; i++) {
    if (i >= s.n) return -1;
    if (hex(s.p[i]) < 0) return 0;
    *value = *value * 16 + (uint32_t)hex(s.p[i]);
  }
  return 1;
}

/* Adds the second of two surrogates to *code and goes behind it, whatever its backslashes: 1; 0: there is none, or *code is
** no first one; -1: the text ends within it. */
static int read_second(struct reader *r, uint32_t *code) {
  struct str s = r->s;
  size_t at = r->at;
  uint32_t low;
  if (*code < 0xD800 || *code > 0xDBFF) return 0;
  while (at < s.n && s.p[at] == '\\') at++;
  if (at == s.n) return -1;
  if (at == r->at || s.p[at] != 'u') return 0;
  int got = read_hex(s, at + 1, 4, &low);
  if (got <= 0 || low < 0xDC00 || low > 0xDFFF) return got < 0 ? -1 : 0;
  *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
  r->at = at + 5;
  return 1;
}

/* Undoes what stands behind a backslash or a percent sign, *c, and goes behind it: 1: *c is what it said, and may be an
** escape again; 0: *c stands for itself; 2: the unit is complete; -1: the text ends within it. */
static int undo(struct reader *r, char *c) {
  uint32_t code;
  int percent = *c == '%';
  if (r->at == r->s.n) return -1;
  int got = percent ? read_hex(r->s, r->at, 2, &code) : r->s.p[r->at] == 'u' ? read_hex(r->s, r->at + 1, 4, &code) : 0;
  if (got < 0 || (percent && got == 0)) return got;
  if (got == 0) {
    *c = r->s.p[r->at++];
    return 1;
  }
  r->at += percent ? 2 : 5;
  if (percent || code < 0x80) {
    *c = (char)code;
    return 1;
  }
  if (read_second(r, &code) < 0) return -1;
  r->n = utf8_put(r->bytes, code);
  return 2;
}

/* Reads the next unit: 1, or 0 at the end of the text, which may be within an escape. */
static int read_unit(struct reader *r) {
  int more = 1;
  if (r->at >= r->s.n) return 0;
  char c = r->s.p[r->at];
  r->from = r->at++;
  r->n = 1;
  r->next = 0;
  while (more == 1 && r->undo && (c == '\\' || c == '%')) more = undo(r, &c);
  if (more < 0) return r->n = 0, 0;
  if (more != 2) r->bytes[0] = c;
  return 1;
}

/* The next byte: 1, or 0 at the end. */
static inline int next(struct reader *r, char *c) {
  if (r->next == r->n && !read_unit(r)) return 0;
  *c = r->bytes[r->next++];
  return 1;
}

/* Goes on to the next byte of the text that may begin with c. */
static inline void skip(struct reader *r, char c) {
  const char *p = r->s.p + r->at, *end = r->s.p + r->s.n;
  if (r->next < r->n) return;
  if (!r->undo) p = p < end ? memchr(p, c, (size_t)(end - p)) : NULL;
  else while (p < end && *p != c && *p != '\\' && *p != '%') p++;
  r->at = p == NULL ? r->s.n : (size_t)(p - r->s.p);
}

/* }}} */

/* {{{ searching */

/* A secret as it is looked for. */
struct pattern {
  char head[HEAD];
  uint16_t back[HEAD + 1]; /* of a beginning: the length of the longest shorter one that it ends with */
  size_t n;
  struct reader rest;      /* of a longer secret what follows */
};

static void pattern_init(struct pattern *k, struct str secret, int undo_escapes) {
  k->rest = (struct reader){ .s = secret, .undo = undo_escapes };
  k->n = 0;
  while (k->n < HEAD && next(&k->rest, &k->head[k->n])) k->n++;
  k->back[0] = k->back[1] = 0;
  for (size_t i = 1; i < k->n; i++) {
    size_t q = k->back[i];
    while (q > 0 && k->head[q] != k->head[i]) q = k->back[q];
    k->back[i + 1] = (uint16_t)(k->head[q] == k->head[i] ? q + 1 : 0);
  }
}

/* Marks the bytes `from` to `to`; *done: those before it were marked for this secret. */
static void mark(unsigned char *marks, size_t from, size_t to, size_t *done) {
  size_t i = from < *done ? *done : from;
  if (i == from && i < to) marks[i] = marks[i] == 0 ? FINDER_BEGINS : marks[i], i++;
  for (; i < to; i++) marks[i] = FINDER_INSIDE;
  if (to > *done) *done = to;
}

/* Where the secret ends, the head of which was read from the text. */
static size_t end_of(const struct pattern *k, const struct reader *text) {
  struct reader rest = k->rest, r = *text;
  size_t end = r.at;
  char a, b;
  while (next(&rest, &a)) {
    if (!next(&r, &b)) return r.s.n;
    if (a != b) break;
    end = r.at;
  }
  return end;
}

static int search(struct str secret, struct str s, int undo_escapes, unsigned char *marks) {
  struct pattern k;
  struct reader r = { .s = s, .undo = undo_escapes };
  size_t places[HEAD]; /* where the units of the last bytes began, round and round */
  size_t count = 0, q = 0, done = 0;
  int found = 0;
  char c;
  pattern_init(&k, secret, undo_escapes);
  if (k.n < SECRET_MIN) return 0;
  for (;;) {
    if (q == 0) skip(&r, k.head[0]);
    if (!next(&r, &c)) break;
    places[count++ % HEAD] = r.from;
    while (q > 0 && k.head[q] != c) q = k.back[q];
    if (k.head[q] == c) q++;
    if (q < k.n) continue;
    if (marks == NULL) return 1;
    found = 1;
    mark(marks, places[(count - q) % HEAD], r.at >= done ? end_of(&k, &r) : r.at, &done);
    q = k.back[q];
  }
  if (q < SECRET_PART) return found;
  if (marks != NULL) mark(marks, places[(count - q) % HEAD], s.n, &done);
  return 1;
}

static int has_escapes(struct str s) {
  return s.n > 0 && (memchr(s.p, '\\', s.n) != NULL || memchr(s.p, '%', s.n) != NULL);
}

int finder_search(struct str secret, struct str s, unsigned char *marks) {
  if (secret.n < SECRET_MIN || s.n == 0) return 0;
  int found = search(secret, s, 0, marks);
  if (found && marks == NULL) return 1;
  if (has_escapes(s) || has_escapes(secret)) found |= search(secret, s, 1, marks);
  return found;
}

/* }}} */
