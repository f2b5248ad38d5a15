/*
** base64.c: see base64.h.
** Owns nothing. Failure: -1 for what is no base64 or found no room, -2 (decoding) out of memory.
*/
#include "base64.h"

static int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : -1;
}

int base64_decode(struct arena *a, struct str text, struct str *bytes) {
  char *p = arena_alloc(a, text.n / 4 * 3 + 4);
  unsigned bits = 0;
  size_t n = 0, digits = 0;
  if (p == NULL) return -2;
  while (text.n > 0 && (text.p[text.n - 1] == '=' || text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r')) text.n--;
  for (size_t i = 0; i < text.n; i++) {
    int d = digit(text.p[i]);
    if (text.p[i] == '\n' || text.p[i] == '\r') continue;
    if (d < 0) return -1;
    bits = bits << 6 | (unsigned)d;
    if (digits++ % 4 != 0) p[n++] = (char)(bits >> (6 - 2 * ((digits - 1) % 4)) & 0xFF);
  }
  *bytes = (struct str){ p, n };
  return digits % 4 == 1 ? -1 : 0;
}

int base64_encode(struct buf *b, struct str bytes) {
  static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (bytes.n == 0) return 0;
  if (bytes.n > (size_t)-1 / 4 || buf_reserve(b, (bytes.n + 2) / 3 * 4) != 0) return -1;
  for (size_t i = 0; i < bytes.n; i += 3) {
    size_t left = bytes.n - i < 3 ? bytes.n - i : 3;
    unsigned v = 0;
    for (size_t k = 0; k < 3; k++) v = v << 8 | (k < left ? (unsigned char)bytes.p[i + k] : 0u);
    for (size_t k = 0; k < 4; k++) b->p[b->n++] = k <= left ? DIGITS[v >> (18 - 6 * k) & 63] : '=';
  }
  return 0;
}
