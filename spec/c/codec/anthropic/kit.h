/*
** kit.h: requests and answers of the Anthropic Messages format: literal request bytes, the parts of streams and of
** plain answers. In the texts here ' stands for ", so that JSON can be read.
*/
#ifndef KOINE_SPEC_C_CODEC_ANTHROPIC_KIT_H
#define KOINE_SPEC_C_CODEC_ANTHROPIC_KIT_H

#include "core/codec/codec.h"
#include "support/failing.h"
#include "support/test.h"

/* s with its quotes, in a buffer of that size. */
static inline const char *quoted(char *to, size_t size, const char *s) {
  size_t n = strlen(s);
  CHECK(n < size);
  for (size_t i = 0; i <= n && i < size; i++) to[i] = s[i] == '\'' ? '"' : s[i];
  return to;
}

#define TEXT_MAX 4096

/* Compares what was made with a text of the above kind. */
static inline void same(const char *file, int line, const char *p, size_t n, const char *expect) {
  char text[TEXT_MAX];
  test_str(file, line, p, n, quoted(text, sizeof text, expect));
}

/* {{{ rendering */

/* One request on its way: what a test may look at afterwards. */
struct shot {
  struct mem m;
  struct arena a;
  struct buf body, path, rest; /* rest: warnings, then headers, as JSON */
  struct quirks quirks;
  struct err e;
  int r;
};

/* quirk: a flag, or "route", which becomes "unversioned"; NULL = none. */
static inline void shoot(struct shot *s, const struct mem *m, const char *request, const char *quirk, int count) {
  struct render r = { .provider = STR("anthropic"), .framing = &framing_sse };
  struct node value = { .type = NODE_TRUE };
  struct str copy;
  char text[TEXT_MAX];
  request = quoted(text, sizeof text, request);
  s->m = *m;
  arena_init(&s->a, &s->m);
  buf_init(&s->body, &s->m);
  buf_init(&s->path, &s->m);
  buf_init(&s->rest, &s->m);
  quirks_default(&s->quirks);
  err_clear(&s->e);
  if (quirk != NULL && strcmp(quirk, "route") == 0) value = (struct node){ .type = NODE_STRING, .s = STR("unversioned") };
  if (quirk != NULL) CHECK(quirks_set(&s->quirks, (struct str){ quirk, strlen(quirk) }, &value, &s->e) == 0);
  r.a = &s->a;
  r.quirks = &s->quirks;
  r.body = &s->body;
  r.path = &s->path;
  copy = arena_dup(&s->a, (struct str){ request, strlen(request) });
  if (copy.p == NULL) err_memory(&s->e);
  else r.request = json_tree(&s->a, copy, 64, &s->e);
  r.headers = node_new(&s->a, NODE_OBJECT);
  r.warnings = node_new(&s->a, NODE_ARRAY);
  s->r = -1;
  if (r.headers == NULL || r.warnings == NULL) err_memory(&s->e);
  if (s->e.kind != KIND_NONE) return;
  s->r = (count ? codec_anthropic.render_count : codec_anthropic.render)(&r, &s->e);
  if (s->r == 0) s->r = json_write(&s->rest, r.warnings, &s->e);
  if (s->r == 0) s->r = json_write(&s->rest, r.headers, &s->e);
  CHECK(r.framing == &framing_sse);
}

static inline void shot_free(struct shot *s) {
  buf_free(&s->body);
  buf_free(&s->path);
  buf_free(&s->rest);
  arena_free(&s->a);
}

/* Renders and compares the body, the warnings and the headers. */
static inline void render_check(const char *file, int line, const char *request, const char *quirk, int count, const char *body,
                         const char *rest) {
  struct mem m = mem_libc();
  struct shot s;
  shoot(&s, &m, request, quirk, count);
  if (s.r != 0) fprintf(stderr, "%s:%d: %s\n", file, line, s.e.message);
  CHECK(s.r == 0);
  same(file, line, s.body.p, s.body.n, body);
  same(file, line, s.rest.p, s.rest.n, rest);
  shot_free(&s);
}

/* Renders what must be refused, and compares the message. */
static inline void refuse_check(const char *file, int line, const char *request, const char *quirk, const char *message) {
  struct mem m = mem_libc();
  struct shot s;
  shoot(&s, &m, request, quirk, 0);
  CHECK(s.r == -1 && s.e.kind == KIND_ARGUMENT);
  same(file, line, s.e.message, strlen(s.e.message), message);
  shot_free(&s);
}

#define NONE "[]{}"
#define RENDER(request, body) render_check(__FILE__, __LINE__, request, NULL, 0, body, NONE)
#define RENDER_REST(request, body, rest) render_check(__FILE__, __LINE__, request, NULL, 0, body, rest)
#define RENDER_QUIRK(request, quirk, body, rest) render_check(__FILE__, __LINE__, request, quirk, 0, body, rest)
#define REFUSE(request, message) refuse_check(__FILE__, __LINE__, request, NULL, message)

/* A request with one user message, further fields in front; and its bytes. */
#define ASK(fields) "{'model':'m','stream':false," fields "'messages':[{'role':'user','content':'hi'}]}"
#define HI "'messages':[{'role':'user','content':[{'type':'text','text':'hi'}]}]}"
#define SENT(fields) "{'model':'m','max_tokens':8192," fields HI
#define WARNED(code, field, message) "[{'code':'" code "','field':'" field "','message':'" message "'}]{}"

#define TOOL "{'name':'f','description':'d','parameters':{'type':'object','properties':{'x':{'type':'string'}}}}"
#define TOOL_SENT \
  "{'name':'f','description':'d','input_schema':{'properties':{'x':{'type':'string'}},'type':'object'}"

#define CALLED "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','arguments':{}}]}," \
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}"
#define CALLED_SENT "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','input':{}}]}," \
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}"

#define OWN(raw) "'provider_data':{'provider':'anthropic','model':'m','raw':'" raw "'}"
#define OTHER(raw) "'provider_data':{'provider':'anthropic','model':'n','raw':'" raw "'}"
#define BOXED(id, more) \
  "{'type':'text','text':'t','provider_data':{'provider':'anthropic','model':'m','container':{'id':'" id "'" more "}}}"

/* }}} */

/* {{{ parsing */

/* A codec at work: parts as text, one per line. */
struct scene {
  struct mem m;
  struct arena a;
  struct quirks quirks;
  struct limits limits;
  struct parse p;
  struct events parts;
  struct buf text;
  struct err e;
  void *state;
  int r, oom;
};

static inline void scene_init(struct scene *s, const struct mem *m) {
  memset(s, 0, sizeof *s);
  s->m = *m;
  arena_init(&s->a, &s->m);
  quirks_default(&s->quirks);
  limits_default(&s->limits);
  s->p = (struct parse){ &s->m, &s->a, &s->quirks, &s->limits, NULL, 0, NULL };
  events_init(&s->parts, &s->m);
  buf_init(&s->text, &s->m);
  err_clear(&s->e);
  s->state = mem_alloc(&s->m, codec_anthropic.state_size);
  if (s->state == NULL) { s->oom = 1; return; }
  memset(s->state, 0, codec_anthropic.state_size);
  codec_anthropic.init(s->state, &s->p);
}

static inline void scene_free(struct scene *s) {
  if (s->state != NULL) {
    codec_anthropic.free(s->state);
    mem_free(&s->m, s->state, codec_anthropic.state_size);
  }
  events_free(&s->parts);
  buf_free(&s->text);
  arena_free(&s->a);
}

static inline void say(struct scene *s, const char *fmt, int64_t i) {
  char line[64];
  snprintf(line, sizeof line, fmt, (long long)i);
  s->oom |= buf_adds(&s->text, line);
}

static inline void say_str(struct scene *s, const char *before, struct str v) {
  s->oom |= buf_adds(&s->text, before);
  s->oom |= buf_addstr(&s->text, v);
}

static inline void describe(struct scene *s, const struct event *ev) {
  static const char *const NAME[] = {
    [PART_META] = "meta", [PART_TEXT] = "text", [PART_THINKING] = "thinking", [PART_SIGNATURE] = "signature",
    [PART_REDACTED] = "redacted", [PART_REFUSAL] = "refusal", [PART_OPAQUE] = "opaque", [PART_TOOL] = "tool",
    [PART_ARGS] = "args", [PART_RAW] = "raw", [PART_END] = "end", [PART_USAGE] = "usage", [PART_STOP] = "stop",
    [PART_CONTAINER] = "container", [PART_WARNING] = "warning", [PART_DONE] = "done"
  };
  s->oom |= buf_adds(&s->text, NAME[ev->type]);
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
  s->oom |= buf_adds(&s->text, "\n");
}

static inline void drain(struct scene *s) {
  const struct event *ev;
  while ((ev = events_take(&s->parts)) != NULL) describe(s, ev);
}

/* Hands the codec a record that is one event: 0, or -1. */
static inline int parse(struct scene *s, const char *name, struct str data) {
  const struct record record = { .name = { name, strlen(name) }, .data = data };
  return codec_anthropic.parse_record(s->state, &record, &s->parts, &s->e);
}

/* One event, its data as it is. */
static inline void feed_bytes(struct scene *s, const char *name, struct str data) {
  if (s->r != 0 || s->oom) return;
  arena_reset(&s->a);
  s->r = parse(s, name, data);
  drain(s);
}

static inline void feed(struct scene *s, const char *name, const char *data) {
  char text[TEXT_MAX];
  quoted(text, sizeof text, data);
  feed_bytes(s, name, (struct str){ text, strlen(text) });
}

static inline void end(struct scene *s) {
  if (s->r != 0 || s->oom || !codec_anthropic.ended(s->state)) return;
  arena_reset(&s->a);
  s->r = codec_anthropic.parse_end(s->state, &s->parts, &s->e);
  drain(s);
}

/* Runs events (a NULL ends them) to the end. */
static inline void run(struct scene *s, const struct mem *m, const char *const *events) {
  scene_init(s, m);
  for (; *events != NULL; events++) feed(s, "", *events);
  end(s);
}

/* Moves whatever grows and writes over what it gives back: a part whose strings lie there shows. */
static inline void *moving_f(void *ud, void *p, size_t osize, size_t nsize) {
  char *fresh = nsize > 0 ? malloc(nsize) : NULL;
  volatile char *old = p;
  (void)ud;
  if (nsize > 0 && fresh == NULL) return NULL;
  if (p != NULL && nsize > 0) memcpy(fresh, p, osize < nsize ? osize : nsize);
  for (size_t i = 0; p != NULL && i < osize; i++) old[i] = '#';
  free(p);
  return fresh;
}

/* The parts are the same when none is taken before the codec has read all. */
static inline void run_together(const char *file, int line, const char *const *events, const char *expect) {
  static char texts[32][TEXT_MAX];
  struct mem m = { moving_f, NULL };
  struct scene s;
  scene_init(&s, &m);
  for (size_t i = 0; events[i] != NULL && s.r == 0 && i < 32; i++) {
    quoted(texts[i], sizeof texts[i], events[i]);
    s.r = parse(&s, "", (struct str){ texts[i], strlen(texts[i]) });
  }
  if (s.r == 0) s.r = codec_anthropic.parse_end(s.state, &s.parts, &s.e);
  drain(&s);
  CHECK(s.r == 0);
  same(file, line, s.text.p, s.text.n, expect);
  scene_free(&s);
}

/* Reads a plain answer to the end. */
static inline void run_bytes(struct scene *s, const struct mem *m, struct str body) {
  scene_init(s, m);
  s->r = codec_anthropic.parse_body(s->state, body, &s->parts, &s->e);
  drain(s);
  end(s);
}

static inline void run_body(struct scene *s, const struct mem *m, const char *body) {
  char text[TEXT_MAX];
  quoted(text, sizeof text, body);
  run_bytes(s, m, (struct str){ text, strlen(text) });
}

#define STREAM(expect, ...) do { \
    static const char *const EVENTS_[] = { __VA_ARGS__, NULL }; \
    struct mem m_ = mem_libc(); \
    struct scene s_; \
    run(&s_, &m_, EVENTS_); \
    CHECK(s_.r == 0 && codec_anthropic.ended(s_.state)); \
    if (s_.r != 0) fprintf(stderr, "  %s\n", s_.e.message); \
    same(__FILE__, __LINE__, s_.text.p, s_.text.n, expect); \
    scene_free(&s_); \
    run_together(__FILE__, __LINE__, EVENTS_, expect); \
  } while (0)

#define STREAM_FAILS(k, st, text, ...) do { \
    static const char *const EVENTS_[] = { __VA_ARGS__, NULL }; \
    struct mem m_ = mem_libc(); \
    struct scene s_; \
    run(&s_, &m_, EVENTS_); \
    CHECK(s_.r == -1 && s_.e.kind == (k) && s_.e.status == (st)); \
    CHECK_STR(s_.e.message, strlen(s_.e.message), text); \
    scene_free(&s_); \
  } while (0)

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

#define BODY(expect, body) do { \
    struct mem m_ = mem_libc(); \
    struct scene s_; \
    run_body(&s_, &m_, body); \
    CHECK(s_.r == 0 && codec_anthropic.ended(s_.state)); \
    if (s_.r != 0) fprintf(stderr, "  %s\n", s_.e.message); \
    same(__FILE__, __LINE__, s_.text.p, s_.text.n, expect); \
    scene_free(&s_); \
  } while (0)

#define BODY_FAILS(k, st, text, body) do { \
    struct mem m_ = mem_libc(); \
    struct scene s_; \
    run_body(&s_, &m_, body); \
    CHECK(s_.r == -1 && s_.e.kind == (k) && s_.e.status == (st)); \
    CHECK_STR(s_.e.message, strlen(s_.e.message), text); \
    scene_free(&s_); \
  } while (0)

/* }}} */

#endif
