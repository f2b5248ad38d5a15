/*
** growing_text.c: see growing_text.h. Bytes that stand for themselves are borrowed from the piece. An escape or a
** character of which a part is still to come is held, 12 bytes at most; what a string may not say becomes U+FFFD where
** text.c puts one. Owns nothing and allocates nothing.
*/
#include "growing_text.h"
#include "scan.h"

#define REPLACEMENT 0xFFFD

/* The decoded character, and a U+FFFD before it where `lone` is set. */
static enum text_step give(struct growing *g, struct str *text, int lone, uint32_t c) {
  size_t n = lone ? utf8_put(g->decoded, REPLACEMENT) : 0;
  n += utf8_put(g->decoded + n, c >= 0xD800 && c <= 0xDFFF ? REPLACEMENT : c);
  *text = (struct str){ g->decoded, n };
  return TEXT_SOME;
}

/* Forgets the first n bytes that are held. */
static void let_go(struct growing *g, size_t n) {
  g->held_n -= n;
  memmove(g->held, g->held + n, g->held_n);
}

static void hold(struct growing *g) { g->held[g->held_n++] = *g->p++; }

/* --- characters of several bytes --- */

/* True where n bytes begin a character, or a surrogate, for which text.c looks at three bytes. */
static int is_beginning(const char *s, size_t n) {
  unsigned char lead = (unsigned char)s[0];
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (n == 2 && lead == 0xED && ((unsigned char)s[1] & 0xC0) == 0x80) return 1;
  return utf8_length(s, s + n) == -(int)n && !utf8_surrogate(s, s + n);
}

/* A U+FFFD for each malformed sequence that is held. */
static enum text_step give_malformed(struct growing *g, struct str *text) {
  size_t n = 0;
  for (const char *s = g->held, *end = s + g->held_n; s < end; s -= utf8_length(s, end))
    n += utf8_put(g->decoded + n, REPLACEMENT);
  g->held_n = 0;
  *text = (struct str){ g->decoded, n };
  return TEXT_SOME;
}

/* The byte at hand goes on with the character that is held, or shows that there is none. */
static enum text_step read_character(struct growing *g, struct str *text) {
  size_t n = g->held_n + 1;
  g->held[n - 1] = *g->p;
  if (is_beginning(g->held, n)) {
    hold(g);
    return TEXT_MORE;
  }
  int is_whole = utf8_length(g->held, g->held + n) == (int)n;
  int is_surrogate = n == 3 && utf8_surrogate(g->held, g->held + n);
  if (!is_whole && !is_surrogate) return give_malformed(g, text);
  g->p++;
  g->held_n = 0;
  if (is_surrogate) return give(g, text, 0, REPLACEMENT);
  *text = (struct str){ memcpy(g->decoded, g->held, n), n };
  return TEXT_SOME;
}

/* --- escapes --- */

/* Returns the character that the escape \c stands for, or 0. */
static char plain_escape(char c) {
  switch (c) {
    case '"': case '\\': case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
  }
}

static int is_half(uint32_t c, int low) { return (c & 0xFC00) == (low ? 0xDC00 : 0xD800); }

/* \uXXXX is held, or two of them of which the first is a high surrogate. */
static enum text_step take_unicode(struct growing *g, struct str *text) {
  uint32_t c = (uint32_t)hex4(g->held + 2, g->held + 6);
  if (g->held_n == 6) {
    if (is_half(c, 0)) return TEXT_MORE;
    g->held_n = 0;
    return give(g, text, 0, c);
  }
  uint32_t second = (uint32_t)hex4(g->held + 8, g->held + 12);
  if (is_half(second, 0)) { /* which may have its partner still */
    let_go(g, 6);
    return give(g, text, 0, REPLACEMENT);
  }
  g->held_n = 0;
  if (!is_half(second, 1)) return give(g, text, 1, second);
  return give(g, text, 0, 0x10000 + ((c - 0xD800) << 10) + (second - 0xDC00));
}

/* The byte at hand goes on with the escape that is held. */
static enum text_step read_escape(struct growing *g, struct str *text) {
  size_t at = g->held_n % 6;
  char c = *g->p;
  if (g->held_n >= 6 && ((at == 0 && c != '\\') || (at == 1 && c != 'u'))) { /* no second half of a pair */
    let_go(g, 6);
    return give(g, text, 0, REPLACEMENT);
  }
  if (at == 1 && c != 'u') {
    char plain = plain_escape(c);
    if (plain == 0) return TEXT_ESCAPE;
    g->p++;
    g->held_n = 0;
    return give(g, text, 0, (unsigned char)plain);
  }
  if (at > 1 && hex_digit((unsigned char)c) < 0) return TEXT_ESCAPE;
  hold(g);
  return g->held_n % 6 == 0 ? take_unicode(g, text) : TEXT_MORE;
}

/* --- strings --- */

/* The end of the bytes from p on that stand for themselves. */
static const char *scan_text(const char *p, const char *end) {
  for (int n; (p = scan_plain(p, end)) < end && (unsigned char)*p >= 0x80 && (n = utf8_length(p, end)) > 0;) p += n;
  return p;
}

enum text_step growing_text(struct growing *g, struct str *text) {
  while (g->p < g->end) {
    if (g->held_n > 0) {
      enum text_step r = g->held[0] == '\\' ? read_escape(g, text) : read_character(g, text);
      if (r != TEXT_MORE) return r;
      continue;
    }
    const char *first = g->p;
    g->p = scan_text(first, g->end);
    *text = (struct str){ first, (size_t)(g->p - first) };
    if (text->n > 0) return TEXT_SOME;
    if (*g->p == '"') {
      g->p++;
      return TEXT_END;
    }
    if ((unsigned char)*g->p < 0x20) return TEXT_CONTROL;
    hold(g);
  }
  return TEXT_MORE;
}
