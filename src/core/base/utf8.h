/*
** utf8.h: characters of UTF-8: how long they are, how they are written, where text may be cut, and text as one legal line.
** Leaf: libc only, owns nothing, nothing can fail.
*/
#ifndef KOINE_BASE_UTF8_H
#define KOINE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* The length, n at most, of the text s[0..n-1] without an unfinished character at its end. */
size_t utf8_cut(const char *s, size_t n);
/* Writes s[0..n-1] as one line of legal UTF-8 into `to`, which has room for `room` bytes, 1 or more: control characters
** (C0, DEL, C1) and U+2028, U+2029 become spaces, what is no UTF-8 becomes U+FFFD, what has no room is cut between two
** characters. Ends it with NUL; its length. `to` and s do not overlap. */
size_t utf8_line(char *to, size_t room, const char *s, size_t n);

/* True when a surrogate stands at p as the three bytes that WTF-8 gives it. */
static inline int utf8_surrogate(const char *p, const char *end) {
  const unsigned char *u = (const unsigned char *)p;
  return end - p >= 3 && u[0] == 0xED && u[1] >= 0xA0 && u[1] <= 0xBF && (u[2] & 0xC0) == 0x80;
}

/* The length of the character at p < end: 1 to 4, or minus the number of bytes for which one U+FFFD stands. */
static inline int utf8_length(const char *p, const char *end) {
  const unsigned char *u = (const unsigned char *)p;
  unsigned char lo = 0x80, hi = 0xBF;
  int more;
  if (u[0] < 0x80) return 1;
  if (u[0] < 0xC2 || u[0] > 0xF4) return -1;
  if (u[0] < 0xE0) {
    more = 1;
  } else if (u[0] < 0xF0) {
    if (utf8_surrogate(p, end)) return -3;
    more = 2;
    if (u[0] == 0xE0) lo = 0xA0;
    if (u[0] == 0xED) hi = 0x9F;
  } else {
    more = 3;
    if (u[0] == 0xF0) lo = 0x90;
    if (u[0] == 0xF4) hi = 0x8F;
  }
  for (int i = 1; i <= more; i++) {
    if (end - p <= i || u[i] < lo || u[i] > hi) return -i;
    lo = 0x80;
    hi = 0xBF;
  }
  return more + 1;
}

/* Writes code point c (surrogates too) at out, which has room for 4; returns the bytes written. */
static inline size_t utf8_put(char *out, uint32_t c) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xC0 | (c >> 6));
    out[1] = (char)(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xE0 | (c >> 12));
    out[1] = (char)(0x80 | ((c >> 6) & 0x3F));
    out[2] = (char)(0x80 | (c & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | (c >> 18));
  out[1] = (char)(0x80 | ((c >> 12) & 0x3F));
  out[2] = (char)(0x80 | ((c >> 6) & 0x3F));
  out[3] = (char)(0x80 | (c & 0x3F));
  return 4;
}

#pragma GCC visibility pop

#endif
