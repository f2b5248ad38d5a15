/*
** utf8.c: see utf8.h. Leaf: libc only, owns nothing, nothing can fail.
*/
#include <string.h>

#include "utf8.h"

size_t utf8_cut(const char *s, size_t n) {
  size_t i = n;
  while (i > 0 && n - i < 3 && ((unsigned char)s[i - 1] & 0xC0) == 0x80) i--;
  if (i == 0) return n;
  unsigned char lead = (unsigned char)s[i - 1];
  size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return n - (i - 1) < need ? i - 1 : n;
}

/* True for a legal character of n bytes that would end a line, or be obeyed by what shows it. */
static int is_control(const char *p, size_t n) {
  unsigned char c = (unsigned char)p[0];
  if (n == 1) return c < 0x20 || c == 0x7F;
  if (n == 2) return c == 0xC2 && (unsigned char)p[1] < 0xA0;
  return n == 3 && (memcmp(p, "\xE2\x80\xA8", 3) == 0 || memcmp(p, "\xE2\x80\xA9", 3) == 0);
}

size_t utf8_line(char *to, size_t room, const char *s, size_t n) {
  size_t written = 0;
  const char *end = s + n;
  while (s < end) {
    int step = utf8_length(s, end);
    const char *p = step < 0 ? "\xEF\xBF\xBD" : s;
    size_t most = step < 0 ? 3 : (size_t)step;
    if (step > 0 && is_control(s, most)) {
      p = " ";
      most = 1;
    }
    if (most >= room - written) break;
    memcpy(to + written, p, most);
    written += most;
    s += step < 0 ? -step : step;
  }
  to[written] = '\0';
  return written;
}
