/*
** scan.h: what the files of the room share: finding the bytes that a JSON string treats specially, hex digits,
** numbers that a double holds.
** Owns nothing and cannot fail.
*/
#ifndef KOINE_JSON_SCAN_H
#define KOINE_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/base/utf8.h"

#pragma GCC visibility push(hidden)

#define SCAN_ONES UINT64_C(0x0101010101010101)
#define SCAN_HIGH UINT64_C(0x8080808080808080)

/* True for a quote, a backslash, a control byte and every byte of a multi-byte character. */
static inline int scan_special(unsigned char c) {
  return c < 0x20 || c >= 0x80 || c == '"' || c == '\\';
}

#if defined(__SSE2__)
/* The first special byte of the 16 at p: its place, or 16. */
static inline int scan_block(const char *p) {
  __m128i bytes = _mm_loadu_si128((const __m128i *)p);
  __m128i hit = _mm_subs_epi8(bytes, _mm_set1_epi8(0x20)); /* negative for control bytes and, being signed, from 0x80 on */
  hit = _mm_or_si128(hit, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
  hit = _mm_or_si128(hit, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  return __builtin_ctz((unsigned)_mm_movemask_epi8(hit) | 1u << 16);
}
#endif

/* The top bits of the special bytes among the eight at p. A borrow runs upwards only: the lowest is exact, none is missed. */
static inline uint64_t scan_word(const char *p) {
  uint64_t w;
  memcpy(&w, p, 8);
  uint64_t quote = w ^ (SCAN_ONES * '"'), backslash = w ^ (SCAN_ONES * '\\');
  return ((quote - SCAN_ONES) | (backslash - SCAN_ONES) | (w - SCAN_ONES * 0x20) | w) & SCAN_HIGH;
}

/* The first special byte in [p, end), or end; sixteen bytes at a time where the machine can, else eight. */
static inline const char *scan_plain(const char *p, const char *end) {
#if defined(__SSE2__)
  for (; end - p >= 16; p += 16) {
    int n = scan_block(p);
    if (n < 16) return p + n;
  }
#endif
  while (end - p >= 8) {
    uint64_t hit = scan_word(p);
    if (hit != 0) {
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
      return p + (__builtin_ctzll(hit) >> 3);
#else
      break;
#endif
    }
    p += 8;
  }
  while (p < end && !scan_special((unsigned char)*p)) p++;
  return p;
}

/* The value of a hex digit, or -1. */
static inline int hex_digit(unsigned char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four hex digits at p, or -1. */
static inline int32_t hex4(const char *p, const char *end) {
  int32_t v = 0;
  if (end - p < 4) return -1;
  for (int i = 0; i < 4; i++) {
    int d = hex_digit((unsigned char)p[i]);
    if (d < 0) return -1;
    v = v * 16 + d;
  }
  return v;
}

#define EXPONENT_MAX 100000 /* far beyond double on both sides */

/* m times ten to the exponent, correctly rounded: 1, or 0 where one operation on exact doubles does not give it. */
int number_exact(uint64_t m, int exponent, double *d);
/* The same for more digits, 0 < m, and negative exponents: 0 where that is beyond it, or too near to a half. */
int number_near(uint64_t m, int exponent, double *d);

#pragma GCC visibility pop

#endif
