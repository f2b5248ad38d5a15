/*
** usage.c: what an answer used, and whether its counts alone say what it cost: they do not where a
** tool ran at the provider, another model helped, or the tier, the speed or the region has a price of its own.
** Scratch lies in the parse's arena. Failure: -1 and an err.
*/
#include "anthropic.h"
#include "core/codec/shared/read.h"

/* A details object, read for one count: without the field it says 0. */
static int read_thinking_tokens(struct json *j, int64_t *to) {
  if (json_next(j) != J_OBJECT) return json_skip(j);
  if (*to < 0) *to = 0;
  while (json_next(j) == J_KEY)
    if ((json_is(j, "thinking_tokens") ? codec_count(j, to) : json_skip(j)) != 0) return -1;
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* cache_creation, by lifetime: its sum, and what is kept for an hour. A number that would make the sum more than a
** count can be is left out; a lifetime that is not known leaves the hour unknown. */
static int read_cache_creation(struct json *j, int64_t *sum, int64_t *hour) {
  int strange = 0;
  if (json_next(j) != J_OBJECT) return json_skip(j);
  *sum = *hour = 0;
  while (json_next(j) == J_KEY) {
    int is_hour = json_is(j, "ephemeral_1h_input_tokens"), known = is_hour || json_is(j, "ephemeral_5m_input_tokens");
    int64_t n = 0;
    if (codec_count(j, &n) != 0) return -1;
    if (n <= COUNT_MAX - *sum) *sum += n;
    if (is_hour) *hour = n;
    strange |= !known && n > 0;
  }
  if (strange) *hour = -1;
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* iterations: the model's own are in the totals; those of compaction, an adviser or a fallback are not, and may be
** another model's. */
static int read_iterations(struct json *j, struct arena *a, const char **unpriced) {
  int more;
  if (json_next(j) != J_ARRAY) return json_skip(j);
  while ((more = codec_next_object(j)) == 1) {
    struct str type = STR("message");
    while (json_next(j) == J_KEY)
      if ((json_is(j, "type") ? codec_word(j, a, &type) : json_skip(j)) != 0) return -1;
    if (j->tok != J_OBJECT_END) return -1;
    if (!str_eq(type, "message")) *unpriced = "iterations";
  }
  return more;
}

/* server_tool_use: how often a tool ran at the provider. A fetch costs tokens alone, the rest has fees. */
static int read_server_tools(struct json *j, const char **unpriced) {
  if (json_next(j) != J_OBJECT) return json_skip(j);
  while (json_next(j) == J_KEY) {
    int is_free = json_is(j, "web_fetch_requests");
    int64_t n = 0;
    if (codec_count(j, &n) != 0) return -1;
    if (n > 0 && !is_free) *unpriced = "server_tools";
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* A word that says where or how fast the answer was made: but for the words given, that has a price of its own. */
static int read_surcharge(struct json *j, struct arena *a, const char *plain, const char *why, const char **unpriced) {
  struct str word = STR_NONE;
  if (codec_word(j, a, &word) != 0) return -1;
  if (word.n > 0 && !str_eq(word, "not_available") && !str_is(word, plain, strlen(plain))) *unpriced = why;
  return 0;
}

int anthropic_usage(struct anthropic *s, struct str json, struct events *out, struct err *e) {
  int64_t created = -1;
  struct usage u;
  struct event *ev;
  struct json j;
  if (json.n == 0 || json.p[0] != '{') return 0;
  usage_clear(&u);
  json_open(&j, json, s->p->limits->depth, e);
  json_next(&j);
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "input_tokens") ? codec_count(&j, &u.input)
          : json_is(&j, "output_tokens") ? codec_count(&j, &u.output)
          : json_is(&j, "cache_read_input_tokens") ? codec_count(&j, &u.cache_read)
          : json_is(&j, "cache_creation_input_tokens") ? codec_count(&j, &u.cache_creation)
          : json_is(&j, "output_tokens_details") ? read_thinking_tokens(&j, &u.reasoning)
          : json_is(&j, "cache_creation") ? read_cache_creation(&j, &created, &u.cache_hour)
          : json_is(&j, "iterations") ? read_iterations(&j, s->p->a, &u.unpriced)
          : json_is(&j, "server_tool_use") ? read_server_tools(&j, &u.unpriced)
          : json_is(&j, "service_tier") ? codec_read_tier(&j, s->p->a, &u.unpriced)
          : json_is(&j, "inference_geo") ? read_surcharge(&j, s->p->a, "global", "region", &u.unpriced)
          : json_is(&j, "speed") ? read_surcharge(&j, s->p->a, "standard", "speed", &u.unpriced) : json_skip(&j);
    if (r != 0) return -1;
  }
  if (u.unpriced == NULL && s->hosted) u.unpriced = "server_tools";
  if (u.cache_creation < 0) u.cache_creation = created;
  if ((ev = events_push(out, PART_USAGE, 0)) == NULL) return err_memory(e);
  ev->usage = u;
  return 0;
}
