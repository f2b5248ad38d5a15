/*
** usage.c: what an answer used. The counts of a chunk replace all that were told before: a stream in which tools run at
** the provider counts each of its rounds anew (recorded: 447, then 8, then 1767).
** Owns nothing. Failure: -1 and an err.
*/
#include "gemini.h"

/* A count: a number, or its digits as a string, as proto-JSON has 64-bit integers. */
static int read_count(struct json *j, int64_t *to) {
  int64_t n = 0;
  if (json_next(j) != J_STRING) return codec_count_read(j, to);
  for (size_t i = 0; i < j->text.n; i++) {
    if (j->text.p[i] < '0' || j->text.p[i] > '9' || n > COUNT_MAX / 10) return 0;
    n = n * 10 + (j->text.p[i] - '0');
  }
  if (j->text.n > 0) *to = n;
  return 0;
}

/* A count that grows from chunk to chunk: one of those that gemini_parse_counts takes. */
static int read_growing(struct gemini *s, struct json *j, int which, int64_t *to) {
  struct said *said = s->p->said;
  int r = read_count(j, to);
  if (said != NULL) said->digits[which] = j->tok == J_INT && j->i == *to ? j->text : STR_NONE;
  return r;
}

/* Tokens by modality: what is no text has a price of its own. */
static int read_modalities(struct json *j, struct arena *a, const char **unpriced) {
  int more;
  if (json_next(j) != J_ARRAY) return json_skip(j);
  while ((more = codec_next_object(j)) == 1) {
    struct str modality = STR_NONE;
    int64_t n = 0;
    while (json_next(j) == J_KEY)
      if ((json_is(j, "modality") ? codec_word(j, a, &modality)
           : json_is(j, "tokenCount") ? read_count(j, &n) : json_skip(j)) != 0) return -1;
    if (j->tok != J_OBJECT_END) return -1;
    if (n > 0 && str_eq(modality, "AUDIO")) *unpriced = "audio";
    if (n > 0 && str_eq(modality, "IMAGE")) *unpriced = "image";
  }
  return more;
}

enum { CANDIDATES, THOUGHTS, TOTAL };
_Static_assert(TOTAL < SAID_COUNTS, "there is room for the counts that grow");

static int read(struct gemini *s, struct json *j) {
  struct gemini_counts *c = &s->counts;
  struct arena *a = s->p->a;
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "promptTokenCount") ? read_count(j, &c->prompt)
          : json_is(j, "cachedContentTokenCount") ? read_count(j, &c->cached)
          : json_is(j, "candidatesTokenCount") ? read_growing(s, j, CANDIDATES, &c->candidates)
          : json_is(j, "thoughtsTokenCount") ? read_growing(s, j, THOUGHTS, &c->thoughts)
          : json_is(j, "toolUsePromptTokenCount") ? read_count(j, &c->tools)
          : json_is(j, "totalTokenCount") ? read_growing(s, j, TOTAL, &c->total)
          : json_is(j, "promptTokensDetails") || json_is(j, "candidatesTokensDetails")
            ? read_modalities(j, a, &c->unpriced)
          : json_is(j, "serviceTier") ? codec_read_tier(j, a, &c->unpriced) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* Zero, which this wire leaves out, for what was not said. */
static int64_t or_none(int64_t v) { return v > 0 ? v : 0; }

int gemini_read_usage(struct gemini *s, struct json *j) {
  enum token t = json_next(j);
  s->counts = (struct gemini_counts){ t == J_OBJECT, -1, -1, -1, -1, -1, -1, NULL };
  if (s->p->said != NULL) memset(s->p->said->digits, 0, sizeof s->p->said->digits);
  if (t != J_OBJECT) return t == J_ERROR ? -1 : json_skip(j);
  return read(s, j);
}

int gemini_push_usage(struct gemini *s) {
  const struct gemini_counts *c = &s->counts;
  struct usage u;
  struct event *ev;
  if (!c->is_there) return 0;
  usage_clear(&u);
  if (c->prompt >= 0 || c->tools >= 0 || c->total >= 0) {
    int64_t input = or_none(c->prompt) - or_none(c->cached);
    u.input = or_none(input) + or_none(c->tools);
  }
  if (c->candidates >= 0 || c->thoughts >= 0 || c->total >= 0) u.output = or_none(c->candidates) + or_none(c->thoughts);
  u.cache_read = c->total >= 0 ? or_none(c->cached) : c->cached;
  u.reasoning = c->total >= 0 ? or_none(c->thoughts) : c->thoughts;
  if (u.input < 0 && u.output < 0) return 0;
  u.unpriced = c->unpriced != NULL ? c->unpriced : s->hosted || c->tools > 0 ? "server_tools" : NULL;
  if ((ev = gemini_push(s, PART_USAGE, 0, STR_NONE)) == NULL) return -1;
  ev->usage = u;
  return 0;
}

/* A count without a gap of its own is what it was. */
int gemini_parse_counts(void *state, const int64_t *counts, struct events *out, struct err *e) {
  struct gemini *s = state;
  s->out = out;
  s->e = e;
  if (counts[CANDIDATES] >= 0) s->counts.candidates = counts[CANDIDATES];
  if (counts[THOUGHTS] >= 0) s->counts.thoughts = counts[THOUGHTS];
  if (counts[TOTAL] >= 0) s->counts.total = counts[TOTAL];
  return gemini_push_usage(s);
}
