/*
** str.h: borrowed bytes, and what is asked of them. Leaf: owns nothing, cannot fail.
*/
#ifndef KOINE_BASE_STR_H
#define KOINE_BASE_STR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes: not NUL-terminated, never owned. */
struct str {
  const char *p;
  size_t n;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
#define STR_INIT(literal) { (literal), sizeof(literal) - 1 } /* of a constant */
#define STR_NONE ((struct str){ NULL, 0 })

/* True when s is the n bytes at z. */
static inline int str_is(struct str s, const char *z, size_t n) {
  return s.n == n && (n == 0 || memcmp(s.p, z, n) == 0);
}
/* True when s equals the string literal. */
#define str_eq(s, literal) str_is((s), (literal), sizeof(literal) - 1)

/* True when both are the same bytes. */
static inline int str_same(struct str a, struct str b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* True when s begins with the n bytes at z. */
static inline int str_starts(struct str s, const char *z, size_t n) {
  return s.n >= n && (n == 0 || memcmp(s.p, z, n) == 0);
}
/* True when s begins with the string literal. */
#define str_begins(s, literal) str_starts((s), (literal), sizeof(literal) - 1)

/* True for JSON's white space. */
static inline int str_is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* s without JSON's white space at its ends. */
static inline struct str str_trim(struct str s) {
  while (s.n > 0 && str_is_space(s.p[0])) { s.p++; s.n--; }
  while (s.n > 0 && str_is_space(s.p[s.n - 1])) s.n--;
  return s;
}

/* True when s holds nothing but white space: blanks, and the controls from tab to carriage return. */
static inline int str_is_blank(struct str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] != ' ' && !(s.p[i] >= '\t' && s.p[i] <= '\r')) return 0;
  return 1;
}

/* A letter A to Z in lower case, anything else as it is. */
static inline char str_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* The same of the eight bytes at `from`, which go to `to`. */
static inline void str_lower_word(char *to, const char *from) {
  const uint64_t ones = 0x0101010101010101u;
  uint64_t w, ascii;
  memcpy(&w, from, sizeof w);
  ascii = w & ones * 0x7F; /* the sums below carry into the top bit of their own byte only */
  w |= ((ascii + ones * (0x80 - 'A')) & ~(ascii + ones * (0x80 - 'Z' - 1)) & ~w & ones * 0x80) >> 2;
  memcpy(to, &w, sizeof w);
}

/* Copies n bytes with the letters A to Z in lower case. The last word overlaps the one before it. */
static inline void str_lower_copy(char *to, const char *from, size_t n) {
  size_t i = 0;
  if (n < 8) {
    for (; i < n; i++) to[i] = str_lower(from[i]);
    return;
  }
  for (; n - i >= 8; i += 8) str_lower_word(to + i, from + i);
  if (i < n) str_lower_word(to + n - 8, from + n - 8);
}

/* True when s contains the phrase (lower case, ASCII), in any case. */
static inline int str_contains(struct str s, const char *phrase) {
  size_t n = strlen(phrase);
  for (size_t i = 0; i + n <= s.n; i++) {
    size_t k = 0;
    while (k < n && str_lower(s.p[i + k]) == phrase[k]) k++;
    if (k == n) return 1;
  }
  return 0;
}

#endif
