/*
** text.c: what the strings of JSON say: escapes, surrogates, malformed UTF-8. A string without any of these is
** borrowed, another is decoded into the caller's arena. Failure: -1 when out of memory; no string is refused here,
** read.c has checked them.
*/
#include "json.h"
#include "scan.h"

/* Decodes the escape or multi-byte character at *p of a string that was read, and moves *p past it. Surrogates without
** a partner become U+FFFD, or WTF-8 and a flag when flags is given. Returns the bytes written at out (room for 4). */
static size_t decode_step(const char **p, const char *end, char *out, unsigned *flags) {
  const char *s = *p;
  if (*s != '\\') {
    int n = utf8_length(s, end);
    size_t len = (size_t)(n < 0 ? -n : n);
    *p = s + len;
    if (n < 0 && !(flags != NULL && utf8_surrogate(s, end))) return utf8_put(out, 0xFFFD);
    if (n < 0) *flags |= JSON_SURROGATE;
    memcpy(out, s, len);
    return len;
  }
  *p = s + 2;
  switch (s[1]) {
    case 'b': *out = '\b'; return 1;
    case 'f': *out = '\f'; return 1;
    case 'n': *out = '\n'; return 1;
    case 'r': *out = '\r'; return 1;
    case 't': *out = '\t'; return 1;
    case 'u': break;
    default: *out = s[1]; return 1;
  }
  uint32_t c = (uint32_t)hex4(s + 2, end);
  *p = s + 6;
  if (c < 0xD800 || c > 0xDFFF) return utf8_put(out, c);
  if (c < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
    uint32_t low = (uint32_t)hex4(*p + 2, end);
    if (low >= 0xDC00 && low <= 0xDFFF) {
      *p += 6;
      return utf8_put(out, 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00));
    }
  }
  if (flags == NULL) return utf8_put(out, 0xFFFD);
  *flags |= JSON_SURROGATE;
  return utf8_put(out, c);
}

/* An escape is never shorter than what it stands for, a malformed sequence is up to two bytes shorter. */
int json_decode(struct json *j, struct arena *a, struct str *out, unsigned *flags) {
  const char *p = j->text.p, *end = p + j->text.n;
  char *copy = j->invalid > SIZE_MAX / 4 - j->text.n ? NULL : arena_alloc(a, j->text.n + 2 * j->invalid);
  if (copy == NULL) return err_memory(j->e);
  char *o = copy;
  while (p < end) {
    const char *special = scan_plain(p, end);
    size_t run = (size_t)(special - p);
    memcpy(o, p, run);
    o += run;
    p = special;
    if (p < end) {
      char c[4];
      size_t n = decode_step(&p, end, c, flags);
      memcpy(o, c, n);
      o += n;
    }
  }
  *out = (struct str){ copy, (size_t)(o - copy) };
  return 0;
}

/* True when a surrogate in WTF-8 begins at p: a low one, or a high one. */
static int surrogate_at(const char *p, const char *end, int low) {
  return end - p >= 3 && (unsigned char)p[0] == 0xED && ((unsigned char)p[1] & 0xF0) == (low ? 0xB0 : 0xA0);
}

/* The ten bits of the surrogate at p. */
static unsigned surrogate_bits(const char *p) {
  return ((unsigned)(p[1] & 0x0F) << 6) | (unsigned)(p[2] & 0x3F);
}

/* Pairs become characters, what has no partner U+FFFD. */
size_t json_join_surrogates(char *p, size_t n) {
  char *out = p;
  const char *end = p + n;
  for (const char *from = p; from < end;) {
    if (surrogate_at(from, end, 0) && surrogate_at(from + 3, end, 1)) {
      unsigned c = 0x10000 + (surrogate_bits(from) << 10) + surrogate_bits(from + 3);
      *out++ = (char)(0xF0 | (c >> 18));
      *out++ = (char)(0x80 | ((c >> 12) & 0x3F));
      *out++ = (char)(0x80 | ((c >> 6) & 0x3F));
      *out++ = (char)(0x80 | (c & 0x3F));
      from += 6;
    } else if (surrogate_at(from, end, 0) || surrogate_at(from, end, 1)) {
      memcpy(out, "\xEF\xBF\xBD", 3);
      out += 3;
      from += 3;
    } else {
      *out++ = *from++;
    }
  }
  return (size_t)(out - p);
}

/* True when the last key or string decodes to the n bytes at z. */
int json_is_(const struct json *j, const char *z, size_t n) {
  if (j->plain) return str_is(j->text, z, n);
  const char *p = j->text.p, *end = p + j->text.n;
  size_t at = 0;
  while (p < end) {
    char c[4];
    size_t len = 1;
    if (scan_special((unsigned char)*p)) len = decode_step(&p, end, c, NULL);
    else c[0] = *p++;
    if (n - at < len || memcmp(z + at, c, len) != 0) return 0;
    at += len;
  }
  return at == n;
}
