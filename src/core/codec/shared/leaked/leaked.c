/*
** leaked.c: what of a growing text may be shown, because it cannot become the markup of a call. See leaked.h.
** Owns one buffer. Failure: -1, out of memory.
*/
#include "private.h"

/* Markers that show that a call may follow. */
static const char *const MARKERS[] = {
  LEAKED_TOKEN, LEAKED_LIST, "<minimax:tool_call>", "<tool_call>", "<invoke name="
};

#define MARKER_COUNT (sizeof MARKERS / sizeof MARKERS[0])

const struct thought leaked_thoughts[THOUGHT_COUNT] = {
  { "<think>", "</think>" }, { "<thinking>", "</thinking>" },
  { "<reasoning>", "</reasoning>" }, { "<thought>", "</thought>" }
};

enum fit leaked_fits(struct str s, const char *mark) {
  for (size_t i = 0; mark[i] != '\0'; i++) {
    if (i == s.n) return FIT_BEGUN;
    if (str_lower(s.p[i]) != str_lower(mark[i])) return FIT_NONE;
  }
  return FIT_WHOLE;
}

void leaked_init(struct leaked *k, const struct mem *m) {
  memset(k, 0, sizeof *k);
  buf_init(&k->held, m);
}

void leaked_free(struct leaked *k) {
  buf_free(&k->held);
}

/* The tag that begins or ends a thought at the front of s: how it fits; *n is its length when it is whole. */
static enum fit thought_tag(struct leaked *k, struct str s, size_t *n) {
  enum fit best = FIT_NONE;
  for (size_t i = 0; i < THOUGHT_COUNT; i++) {
    const char *tag = k->thought == 0 ? leaked_thoughts[i].open : leaked_thoughts[i].close;
    enum fit fit;
    if (k->thought != 0 && k->thought != (int)i + 1) continue;
    fit = leaked_fits(s, tag);
    if (fit == FIT_WHOLE) {
      k->thought = k->thought == 0 ? (int)i + 1 : 0;
      *n = strlen(tag);
      return fit;
    }
    if (fit > best) best = fit;
  }
  return best;
}

/* A mark at the front of s: how it fits. A marker sets `found`. */
static enum fit look(struct leaked *k, struct str s, size_t *n) {
  enum fit best = FIT_NONE;
  for (size_t i = 0; i < MARKER_COUNT && k->thought == 0; i++) {
    enum fit fit = leaked_fits(s, MARKERS[i]);
    if (fit == FIT_WHOLE) {
      k->found = 1;
      return fit;
    }
    if (fit > best) best = fit;
  }
  if (s.p[0] == '<') {
    enum fit fit = thought_tag(k, s, n);
    if (fit > best) best = fit;
  }
  return best;
}

/* Looks at s, whose first *at bytes are white space. Returns how many bytes may be shown; *at: where to look next. */
static size_t scan(struct leaked *k, struct str s, size_t *at) {
  size_t shown = 0, i = *at;
  while (i < s.n) {
    char c = s.p[i];
    size_t n = 1;
    if (is_space(c)) { i++; continue; }
    if (c == '<' || c == '[' || c == ']') {
      enum fit fit = look(k, from(s, i), &n);
      if (fit == FIT_BEGUN || k->found) break;
    }
    shown = i += n;
    k->said = 1;
  }
  *at = i;
  return shown;
}

int leaked_feed(struct leaked *k, struct arena *a, struct str s, struct str *out) {
  size_t shown, at = 0;
  *out = STR_NONE;
  if (s.n == 0) return 0;
  if (k->held.n == 0) {
    shown = scan(k, s, &at);
    *out = (struct str){ s.p, shown };
    k->from = at - shown;
    return buf_addstr(&k->held, from(s, shown));
  }
  if (buf_addstr(&k->held, s) != 0) return -1;
  if (k->found) return 0;
  shown = scan(k, buf_str(&k->held), &k->from);
  if (shown == 0) return 0;
  *out = arena_dup(a, (struct str){ k->held.p, shown });
  if (out->p == NULL) return -1;
  buf_drop(&k->held, shown);
  k->from -= shown;
  return 0;
}

int leaked_release(struct leaked *k, struct arena *a, struct str *out) {
  *out = STR_NONE;
  if (k->held.n == 0) return 0;
  k->held.n = json_join_surrogates(k->held.p, k->held.n);
  *out = arena_dup(a, buf_str(&k->held));
  if (out->p == NULL) return -1;
  k->held.n = k->from = 0;
  k->found = 0;
  k->said = 1;
  return 0;
}
