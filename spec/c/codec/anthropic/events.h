/* events.h: events of the Anthropic Messages format and the parts of answers, as the tests write them: ' stands for ". */
#ifndef KOINE_SPEC_C_CODEC_ANTHROPIC_EVENTS_H
#define KOINE_SPEC_C_CODEC_ANTHROPIC_EVENTS_H

#include "codec/kit.h"

/* {{{ running the codec */

/* An answer on its way: its parts as text, one per line. */
struct answer {
  struct parsing x;
  struct mem sure;
  struct buf text;
  int r;
};

static inline void answer_open(struct answer *s, const struct mem *m) {
  s->r = 0;
  s->sure = mem_libc();
  buf_init(&s->text, &s->sure);
  parsing_open(&s->x, &codec_anthropic, m);
  parsing_begin(&s->x);
}

static inline void answer_close(struct answer *s) {
  buf_free(&s->text);
  parsing_close(&s->x);
}

static inline void say(struct answer *s, const char *fmt, int64_t i) {
  char line[64];
  snprintf(line, sizeof line, fmt, (long long)i);
  buf_adds(&s->text, line);
}

static inline void say_str(struct answer *s, const char *before, struct str v) {
  buf_adds(&s->text, before);
  buf_addstr(&s->text, v);
}

static inline void describe(struct answer *s, const struct event *ev) {
  static const char *const NAME[] = {
    [PART_META] = "meta", [PART_TEXT] = "text", [PART_THINKING] = "thinking", [PART_SIGNATURE] = "signature",
    [PART_REDACTED] = "redacted", [PART_REFUSAL] = "refusal", [PART_OPAQUE] = "opaque", [PART_TOOL] = "tool",
    [PART_ARGS] = "args", [PART_RAW] = "raw", [PART_END] = "end", [PART_USAGE] = "usage", [PART_STOP] = "stop",
    [PART_CONTAINER] = "container", [PART_WARNING] = "warning", [PART_DONE] = "done"
  };
  buf_adds(&s->text, NAME[ev->type]);
  if (ev->type >= PART_TEXT && ev->type <= PART_END) say(s, " %lld", ev->key);
  if (ev->type == PART_USAGE) {
    say(s, " %lld", ev->usage.input);
    say(s, " %lld", ev->usage.output);
    say(s, " %lld", ev->usage.cache_read);
    say(s, " %lld", ev->usage.cache_creation);
    say(s, " %lld", ev->usage.reasoning);
    if (ev->usage.cache_hour > 0) say(s, " hour=%lld", ev->usage.cache_hour);
    if (ev->usage.unpriced != NULL) say_str(s, " ", (struct str){ ev->usage.unpriced, strlen(ev->usage.unpriced) });
  }
  if (ev->type == PART_STOP) say_str(s, " ", (struct str){ stop_name(ev->stop), strlen(stop_name(ev->stop)) });
  if (ev->flags) say(s, " flags=%lld", ev->flags);
  if (ev->id.n > 0) say_str(s, " ", ev->id);
  if (ev->name.n > 0) say_str(s, " ", ev->name);
  if (ev->text.n > 0) say_str(s, " ", ev->text);
  buf_adds(&s->text, "\n");
}

static inline void drain(struct answer *s) {
  const struct event *ev;
  while ((ev = events_take(&s->x.parts)) != NULL) describe(s, ev);
}

/* One event, its data as it is. */
static inline void feed_bytes(struct answer *s, const char *name, struct str data) {
  if (s->r != 0) return;
  arena_reset(&s->x.a);
  s->r = parsing_record(&s->x, name, data);
  drain(s);
}

static inline void feed(struct answer *s, const char *name, const char *data) { feed_bytes(s, name, z(json(data))); }

static inline void end(struct answer *s) {
  if (s->r != 0 || !codec_anthropic.ended(s->x.state)) return;
  arena_reset(&s->x.a);
  s->r = codec_anthropic.parse_end(s->x.state, &s->x.parts, &s->x.e);
  drain(s);
}

/* Runs events (a NULL ends them) to the end. */
static inline void run(struct answer *s, const struct mem *m, const char *const *events) {
  answer_open(s, m);
  for (; *events != NULL; events++) feed(s, "", *events);
  end(s);
}

/* Reads a plain answer to the end. */
static inline void run_body(struct answer *s, const struct mem *m, struct str body) {
  answer_open(s, m);
  s->r = codec_anthropic.parse_body(s->x.state, body, &s->x.parts, &s->x.e);
  drain(s);
  end(s);
}

/* The parts are the same when none is taken before the codec has read all. */
static inline void expect_together(const char *file, int line, const char *const *events, const char *parts) {
  struct mem m = moving_mem();
  struct answer s;
  answer_open(&s, &m);
  for (; *events != NULL && s.r == 0; events++) s.r = parsing_record(&s.x, "", z(json(*events)));
  if (s.r == 0) s.r = codec_anthropic.parse_end(s.x.state, &s.x.parts, &s.x.e);
  drain(&s);
  CHECK(s.r == 0);
  test_str(file, line, s.text.p, s.text.n, json(parts));
  answer_close(&s);
}

/* The answer was read to its end and gave these parts. */
static inline void expect_parts(const char *file, int line, struct answer *s, const char *parts) {
  CHECK(s->r == 0 && codec_anthropic.ended(s->x.state));
  if (s->r != 0) fprintf(stderr, "%s:%d: %s\n", file, line, s->x.e.message);
  test_str(file, line, s->text.p, s->text.n, json(parts));
  answer_close(s);
}

/* Reading it failed so. */
static inline void expect_failure(const char *file, int line, struct answer *s, enum kind kind, int status,
                                  const char *message) {
  CHECK(s->r == -1 && s->x.e.kind == kind && s->x.e.status == status);
  if (s->x.e.kind != kind) fprintf(stderr, "%s:%d: got %s\n", file, line, kind_name(s->x.e.kind));
  test_str(file, line, s->x.e.message, strlen(s->x.e.message), message);
  answer_close(s);
}

#define EVENTS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define STREAM(parts, ...) do { \
    struct mem m_ = mem_libc(); \
    struct answer s_; \
    run(&s_, &m_, EVENTS(__VA_ARGS__)); \
    expect_parts(__FILE__, __LINE__, &s_, parts); \
    expect_together(__FILE__, __LINE__, EVENTS(__VA_ARGS__), parts); \
  } while (0)
#define STREAM_FAILS(kind, status, message, ...) do { \
    struct mem m_ = mem_libc(); \
    struct answer s_; \
    run(&s_, &m_, EVENTS(__VA_ARGS__)); \
    expect_failure(__FILE__, __LINE__, &s_, kind, status, message); \
  } while (0)
#define BODY(parts, body) do { \
    struct mem m_ = mem_libc(); \
    struct answer s_; \
    run_body(&s_, &m_, z(json(body))); \
    expect_parts(__FILE__, __LINE__, &s_, parts); \
  } while (0)
#define BODY_FAILS(kind, status, message, body) do { \
    struct mem m_ = mem_libc(); \
    struct answer s_; \
    run_body(&s_, &m_, z(json(body))); \
    expect_failure(__FILE__, __LINE__, &s_, kind, status, message); \
  } while (0)

/* }}} */

/* {{{ events */

#define START "{'type':'message_start','message':{'type':'message','id':'msg_1','role':'assistant','model':'claude'," \
  "'content':[],'stop_reason':null,'stop_sequence':null,'usage':{'input_tokens':10,'output_tokens':1}}}"
#define STARTED "meta msg_1 claude\nusage 10 1 -1 -1 -1\n"
#define BLOCK(i, block) "{'type':'content_block_start','index':" #i ",'content_block':" block "}"
#define DELTA(i, delta) "{'type':'content_block_delta','index':" #i ",'delta':" delta "}"
#define TEXT(i, text) DELTA(i, "{'type':'text_delta','text':'" text "'}")
#define JSON(i, text) DELTA(i, "{'type':'input_json_delta','partial_json':'" text "'}")
#define STOP(i) "{'type':'content_block_stop','index':" #i "}"
#define ENDING(reason) \
  "{'type':'message_delta','delta':{'stop_reason':'" reason "','stop_sequence':null},'usage':{'output_tokens':5}}"
#define END "{'type':'message_stop'}"
#define PING "{'type':'ping'}"
#define ENDED(reason) "usage -1 5 -1 -1 -1\ndone\nstop " reason " " reason "\n"

/* }}} */

#endif
