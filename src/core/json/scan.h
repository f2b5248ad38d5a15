/*
** scan.h: what the files of the room share: finding the bytes that a JSON string treats specially, hex digits, UTF-8.
** Owns nothing and cannot fail.
*/
#ifndef KOINE_JSON_SCAN_H
#define KOINE_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SCAN_ONES UINT64_C(0x0101010101010101)
#define SCAN_HIGH UINT64_C(0x8080808080808080)

/* True for a quote, a backslash, a control byte and every byte of a multi-byte character. */
static inline int scan_special(unsigned char c) {
  return c < 0x20 || c >= 0x80 || c == '"' || c == '\\';
}

/* The first special byte in [p, end), or end; eight bytes at a time. */
static inline const char *scan_plain(const char *p, const char *end) {
  while (end - p >= 8) {
    uint64_t w;
    memcpy(&w, p, 8);
    uint64_t quote = w ^ (SCAN_ONES * '"'), backslash = w ^ (SCAN_ONES * '\\');
    uint64_t hit = ((quote - SCAN_ONES) | (backslash - SCAN_ONES) | (w - SCAN_ONES * 0x20) | w) & SCAN_HIGH;
    if (hit != 0) {
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
      return p + (__builtin_ctzll(hit) >> 3); /* a borrow only runs upwards: the lowest hit is exact */
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

#endif
