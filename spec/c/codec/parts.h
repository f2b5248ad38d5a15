/* parts.h: what a codec makes of answers, as lines of text: the harness of chat/ and responses/. CODEC names it. */
#ifndef KOINE_SPEC_C_CODEC_PARTS_H
#define KOINE_SPEC_C_CODEC_PARTS_H

#include <stdarg.h>
#include <stdlib.h>

#include "core/codec/codec.h"
#include "support/failing.h"
#include "support/test.h"

/* {{{ running the codec */

#define LOG_MAX 8192

/* What came out, one line per part. */
struct log {
  char s[LOG_MAX];
  size_t n;
};

static void say(struct log *log, const char *fmt, ...) {
  va_list args;
  int n;
  va_start(args, fmt);
  n = vsnprintf(log->s + log->n, LOG_MAX - log->n, fmt, args);
  va_end(args);
  if (n > 0) log->n += (size_t)n < LOG_MAX - log->n ? (size_t)n : LOG_MAX - log->n - 1;
}

#define BYTES(s) (int)(s).n, (s).n > 0 ? (s).p : ""

static void say_count(struct log *log, const char *name, int64_t v) {
  if (v >= 0) say(log, " %s=%lld", name, (long long)v);
}

static void say_part(struct log *log, const struct event *p) {
  static const char *const NAMES[] = {
    [PART_TEXT] = "text", [PART_THINKING] = "thinking", [PART_REFUSAL] = "refusal", [PART_REDACTED] = "redacted",
    [PART_ARGS] = "args", [PART_RAW] = "raw", [PART_END] = "end"
  };
  switch (p->type) {
    case PART_META: 
      say(log, "meta %.*s%s%s%.*s\n", BYTES(p->id), p->id.n > 0 && p->name.n > 0 ? " " : "",
          p->name.n > 0 ? "model " : "", BYTES(p->name));
      return;
    case PART_TOOL: say(log, "tool %d %.*s %.*s\n", (int)p->key, BYTES(p->id), BYTES(p->name)); return;
    case PART_OPAQUE: say(log, "opaque %d %.*s %.*s\n", (int)p->key, BYTES(p->name), BYTES(p->text)); return;
    case PART_WARNING: say(log, "warning %.*s\n", BYTES(p->id)); return;
    case PART_DONE: say(log, "done\n"); return;
    case PART_STOP: say(log, "stop %s %.*s\n", stop_name(p->stop), BYTES(p->text)); return;
    case PART_USAGE:
      say(log, "usage");
      say_count(log, "in", p->usage.input);
      say_count(log, "out", p->usage.output);
      say_count(log, "read", p->usage.cache_read);
      say_count(log, "written", p->usage.cache_creation);
      say_count(log, "reasoning", p->usage.reasoning);
      if (p->usage.cost >= 0) say(log, " cost=%g", p->usage.cost);
      if (p->usage.unpriced != NULL) say(log, " unpriced=%s", p->usage.unpriced);
      say(log, "\n");
      return;
    default:
      say(log, "%s%s %d%s%.*s\n", NAMES[p->type], p->flags & EVENT_REPLACE ? "!" : "", (int)p->key,
          p->text.n > 0 ? " " : "", BYTES(p->text));
  }
}

static void say_error(struct log *log, const struct err *e) {
  say(log, "error %s %d %s%s\n", kind_name(e->kind), e->status, e->code, err_retryable(e) ? " retryable" : "");
}

static void drain(struct log *log, struct events *q) {
  const struct event *p;
  while ((p = events_take(q)) != NULL) say_part(log, p);
}

/* Cases are written with ' where JSON has ": a copy with the latter, in a ring of buffers. */
static const char *json(const char *s) {
  static char ring[32][4096];
  static int next;
  char *to = ring[next++ % 32];
  size_t n = strlen(s);
  if (n >= sizeof ring[0]) abort();
  for (size_t i = 0; i <= n; i++) to[i] = s[i] == '\'' ? '"' : s[i];
  return to;
}

/* {'quirk': value, …} */
static void set_quirks(struct quirks *q, const char *values) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *o;
  arena_init(&a, &m);
  o = json_tree(&a, (struct str){ json(values), strlen(values) }, 8, &e);
  CHECK(o != NULL);
  for (const struct node *v = o ? o->child : NULL; v != NULL; v = v->next) CHECK(quirks_set(q, v->key, v, &e) == 0);
  arena_free(&a);
}

struct input {
  const char *quirks;        /* NULL = defaults */
  const char *const *chunks; /* a stream's data, NULL at the end; or */
  const char *body;          /* a plain answer */
};

/* Feeds it all; log gets the parts and how it ended. together: no part is taken before all was fed. Returns the kind of
** the error. */
static enum kind run(const struct input *in, const struct quirks *q, const struct mem *m, struct log *log,
                     int together) {
  struct limits limits;
  struct arena a;
  struct events out;
  struct parse p = { .m = m, .a = &a, .quirks = q, .limits = &limits };
  struct err e;
  void *state = calloc(1, CODEC.state_size);
  int r = 0;
  log->n = 0;
  log->s[0] = '\0';
  limits_default(&limits);
  err_clear(&e);
  arena_init(&a, m);
  events_init(&out, m);
  CODEC.init(state, &p);
  for (size_t i = 0; r == 0 && in->chunks != NULL && in->chunks[i] != NULL; i++) {
    const char *d = json(in->chunks[i]);
    struct record record = { .name = STR_NONE };
    if (strncmp(d, "event:error ", 12) == 0) { record.name = STR("error"); d += 12; }
    record.data = (struct str){ d, strlen(d) };
    if (!together) arena_reset(&a);
    r = CODEC.parse_record(state, &record, &out, &e);
    if (r == 0 && !together) drain(log, &out);
  }
  if (r == 0 && in->body != NULL)
    r = CODEC.parse_body(state, (struct str){ json(in->body), strlen(in->body) }, &out, &e);
  if (r == 0 && !together) {
    drain(log, &out);
    arena_reset(&a);
  }
  if (r == 0 && !CODEC.ended(state)) {
    drain(log, &out);
    say(log, "open\n");
  } else if (r == 0) r = CODEC.parse_end(state, &out, &e);
  if (r == 0) drain(log, &out);
  else say_error(log, &e);
  CODEC.free(state);
  free(state);
  events_free(&out);
  arena_free(&a);
  return r == 0 ? KIND_NONE : e.kind;
}

/* Moves whatever grows and writes over what it gives back: a part whose strings lie there shows. */
static void *moving_f(void *ud, void *p, size_t osize, size_t nsize) {
  char *fresh = nsize > 0 ? malloc(nsize) : NULL;
  volatile char *old = p;
  (void)ud;
  if (nsize > 0 && fresh == NULL) return NULL;
  if (p != NULL && nsize > 0) memcpy(fresh, p, osize < nsize ? osize : nsize);
  for (size_t i = 0; p != NULL && i < osize; i++) old[i] = '#';
  free(p);
  return fresh;
}

static int every(void) {
  const char *s = getenv("KOINE_EVERY");
  return s != NULL && atoi(s) > 0 ? atoi(s) : 1;
}

/* The parts are these, also when they wait while the codec goes on; and when each allocation in turn fails, that is
** said and nothing leaks (what the provider reported as an error stays one, perhaps read less well). */
static void expect(const char *file, int line, const struct input *in, const char *parts) {
  static struct log log, again;
  struct mem m = mem_libc();
  struct quirks q;
  quirks_default(&q);
  if (in->quirks != NULL) set_quirks(&q, in->quirks);
  enum kind kind = run(in, &q, &m, &log, 0);
  test_str(file, line, log.s, log.n, json(parts));
  if (kind == KIND_NONE) {
    struct mem moving = { moving_f, NULL };
    CHECK(run(in, &q, &moving, &again, 1) == KIND_NONE);
    test_str(file, line, again.s, again.n, log.s);
  }
  for (size_t at = 1; at < 10000; at += (size_t)every()) {
    struct failing f = { 0, at, 0, 0 };
    struct mem fm = failing_mem(&f);
    enum kind k = run(in, &q, &fm, &again, 0);
    if (f.live != 0 || f.wrong != 0 || (f.asked >= at && k != KIND_MEMORY && (kind == KIND_NONE || k == KIND_NONE)) ||
        (f.asked < at && strcmp(log.s, again.s) != 0)) {
      fprintf(stderr, "%s:%d: allocation %zu: live %zu, wrong %zu, kind %s\n", file, line, at, f.live, f.wrong,
              kind_name(k));
      test_failed++;
    }
    if (f.asked < at) return;
  }
}

#define CHUNKS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define STREAM(parts, ...) expect(__FILE__, __LINE__, &(struct input){ NULL, CHUNKS(__VA_ARGS__), NULL }, parts)
#define STREAM_Q(quirks, parts, ...) \
  expect(__FILE__, __LINE__, &(struct input){ quirks, CHUNKS(__VA_ARGS__), NULL }, parts)
#define BODY(parts, body) expect(__FILE__, __LINE__, &(struct input){ NULL, NULL, body }, parts)

/* Feeds events under these limits; the kind of the first error. */
static inline enum kind limited(const struct limits *limits, const char *const *chunks) {
  struct mem m = mem_libc();
  struct quirks q;
  struct arena a;
  struct events out;
  struct err e;
  struct parse p = { .m = &m, .a = &a, .quirks = &q, .limits = limits };
  void *state = calloc(1, CODEC.state_size);
  int r = 0;
  err_clear(&e);
  quirks_default(&q);
  arena_init(&a, &m);
  events_init(&out, &m);
  CODEC.init(state, &p);
  for (size_t i = 0; chunks[i] != NULL && r == 0; i++) {
    const struct record record = { .data = { json(chunks[i]), strlen(chunks[i]) } };
    r = CODEC.parse_record(state, &record, &out, &e);
  }
  CODEC.free(state);
  free(state);
  events_free(&out);
  arena_free(&a);
  return r == 0 ? KIND_NONE : e.kind;
}

/* }}} */

#endif
