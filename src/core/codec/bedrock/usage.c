/*
** usage.c: what an answer used, and whether its counts alone say what it cost.
** Scratch lies in the parse's arena. Failure: -1 and an err.
*/
#include "bedrock.h"
#include "core/codec/shared/read.h"

/* cacheDetails: [{ttl, inputTokens}]: what was kept for an hour. */
static int read_details(struct json *j, struct arena *a, int64_t *hour) {
  int more;
  if (json_next(j) != J_ARRAY) return json_skip(j);
  *hour = 0;
  while ((more = codec_next_object(j)) == 1) {
    struct str ttl = STR_NONE;
    int64_t n = 0;
    while (json_next(j) == J_KEY)
      if ((json_is(j, "ttl") ? codec_word(j, a, &ttl) : json_is(j, "inputTokens") ? codec_count(j, &n) : json_skip(j)) != 0)
        return -1;
    if (j->tok != J_OBJECT_END) return -1;
    if (str_eq(ttl, "1h") && n <= COUNT_MAX - *hour) *hour += n;
  }
  return more;
}

/* serverToolUsage: anything in it is charged by itself. */
static int read_server_tools(struct json *j, const char **unpriced) {
  if (json_next(j) != J_OBJECT) return json_skip(j);
  while (json_next(j) == J_KEY) {
    *unpriced = "server_tools";
    if (json_skip(j) != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

int bedrock_usage(struct bedrock *s, struct str json, struct str tier, struct events *out, struct err *e) {
  struct usage u;
  struct event *ev;
  struct json j;
  if (json.n == 0 || json.p[0] != '{') return 0;
  usage_clear(&u);
  json_open(&j, json, s->p->limits->depth, e);
  (void)json_next(&j);
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "inputTokens") ? codec_count(&j, &u.input)
          : json_is(&j, "outputTokens") ? codec_count(&j, &u.output)
          : json_is(&j, "cacheReadInputTokens") ? codec_count(&j, &u.cache_read)
          : json_is(&j, "cacheWriteInputTokens") ? codec_count(&j, &u.cache_creation)
          : json_is(&j, "cacheDetails") ? read_details(&j, s->p->a, &u.cache_hour)
          : json_is(&j, "serverToolUsage") ? read_server_tools(&j, &u.unpriced) : json_skip(&j);
    if (r != 0) return -1;
  }
  if (j.tok != J_OBJECT_END) return -1;
  if (u.unpriced == NULL && s->hosted) u.unpriced = "server_tools";
  if (u.unpriced == NULL) u.unpriced = codec_tier(tier);
  if ((ev = events_push(out, PART_USAGE, 0)) == NULL) return err_memory(e);
  ev->usage = u;
  return 0;
}
