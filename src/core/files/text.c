/*
** text.c: searching and counting in linear time.
** A search begins with memchr, which is fastest on what people write. When bytes that begin like the part are so many
** that comparing them costs more than the text's length, the rest is searched by Crochemore's and Perrin's two-way
** algorithm (Journal of the ACM 38, 1991), which never looks at a byte more than a few times.
*/
#include "text.h"

#define WASTED_MAX 4 /* bytes compared in vain, for each byte of the text */

/* The two halves in which a part is compared: the right one, from `cut` on, forwards; then the left one, backwards. */
struct halves {
  size_t cut, period;
  int repeats; /* the whole part has that period */
};

/* Where the greatest suffix begins in one of the two orders of bytes, and its period. */
static size_t greatest_suffix(const unsigned char *x, size_t n, int backwards, size_t *period) {
  size_t from = 0, next = 1, k = 0, p = 1; /* x[from..] is the greatest so far, x[next..] is compared with it */
  while (next + k < n) {
    unsigned char a = x[next + k], b = x[from + k];
    if (a == b) {
      if (++k < p) continue;
      next += p;
      k = 0;
    } else if ((a < b) == !backwards) {
      next += k + 1;
      k = 0;
      p = next - from;
    } else {
      from = next++;
      k = 0;
      p = 1;
    }
  }
  *period = p;
  return from;
}

static struct halves cut_part(const unsigned char *x, size_t n) {
  size_t p, q;
  size_t a = greatest_suffix(x, n, 0, &p), b = greatest_suffix(x, n, 1, &q);
  struct halves h = { a > b ? a : b, a > b ? p : q, 0 };
  h.repeats = memcmp(x, x + h.period, h.cut) == 0;
  if (!h.repeats) h.period = (h.cut > n - h.cut ? h.cut : n - h.cut) + 1;
  return h;
}

/* The search that is linear for every text and part. */
static size_t find_two_way(struct str text, struct str part, size_t at) {
  const unsigned char *y = (const unsigned char *)text.p, *x = (const unsigned char *)part.p;
  struct halves h = cut_part(x, part.n);
  size_t known = 0; /* bytes at the part's beginning that are known to match here */
  while (at + part.n <= text.n) {
    size_t i = h.cut > known ? h.cut : known;
    while (i < part.n && x[i] == y[at + i]) i++;
    if (i < part.n) {
      at += i - h.cut + 1;
      known = 0;
      continue;
    }
    i = h.cut;
    while (i > known && x[i - 1] == y[at + i - 1]) i--;
    if (i <= known) return at;
    at += h.period;
    known = h.repeats ? part.n - h.period : 0;
  }
  return TEXT_NONE;
}

size_t text_find(struct str text, struct str part, size_t from) {
  size_t wasted = 0;
  for (size_t at = from; at < text.n && part.n <= text.n - at; at++) {
    const char *first = memchr(text.p + at, part.p[0], text.n - at - part.n + 1);
    size_t same = 1;
    if (first == NULL) return TEXT_NONE;
    at = (size_t)(first - text.p);
    while (same < part.n && text.p[at + same] == part.p[same]) same++;
    if (same == part.n) return at;
    wasted += same;
    if (wasted / WASTED_MAX > at - from + part.n) return find_two_way(text, part, at + 1);
  }
  return TEXT_NONE;
}

size_t text_ends(struct str text, size_t *windows) {
  size_t n = 0;
  *windows = 0;
  for (size_t at = 0; at < text.n; at++) {
    const char *end = memchr(text.p + at, '\n', text.n - at);
    if (end == NULL) break;
    at = (size_t)(end - text.p);
    n++;
    if (at > 0 && end[-1] == '\r') (*windows)++;
  }
  return n;
}

size_t text_after(struct str text, size_t n) {
  size_t at = 0;
  for (; n > 0; n--) {
    const char *end = at < text.n ? memchr(text.p + at, '\n', text.n - at) : NULL;
    if (end != NULL) at = (size_t)(end - text.p) + 1;
    else if (n == 1 && at < text.n) at = text.n;
    else return TEXT_NONE;
  }
  return at;
}
