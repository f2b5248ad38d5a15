/* parts.h: what a codec makes of answers, as lines of text: the harness of the tests of answers. CODEC names it. */
#ifndef KOINE_SPEC_C_CODEC_PARTS_H
#define KOINE_SPEC_C_CODEC_PARTS_H

#include <stdarg.h>

#include "kit.h"

/* {{{ running the codec */

#define LOG_MAX 8192

/* The parts that came out, one line for each: behind its name "!" when it replaces what was there, "~" when it ends or
** begins with half a surrogate pair. */
struct log {
  char s[LOG_MAX];
  size_t n;
  struct err e;
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

static void say_bytes(struct log *log, const char *before, struct str s) {
  if (s.n > 0) say(log, "%s%.*s", before, BYTES(s));
}

static void say_count(struct log *log, const char *name, int64_t v) {
  if (v >= 0) say(log, " %s=%lld", name, (long long)v);
}

static void say_part(struct log *log, const struct event *p) {
  static const char *const NAMES[EV_COUNT] = {
    [PART_TEXT] = "text", [PART_THINKING] = "thinking", [PART_SIGNATURE] = "signature", [PART_REFUSAL] = "refusal",
    [PART_REDACTED] = "redacted", [PART_ARGS] = "args", [PART_RAW] = "raw", [PART_END] = "end"
  };
  char words[256];
  switch (p->type) {
    case PART_META:
      say(log, "meta");
      say_bytes(log, " ", p->id);
      say_bytes(log, " model ", p->name);
      say(log, "\n");
      return;
    case PART_TOOL: say(log, "tool %d %.*s %.*s\n", (int)p->key, BYTES(p->id), BYTES(p->name)); return;
    case PART_OPAQUE: say(log, "opaque %d %.*s %.*s\n", (int)p->key, BYTES(p->name), BYTES(p->text)); return;
    case PART_CONTAINER: say(log, "container %.*s\n", BYTES(p->text)); return;
    case PART_LOGPROBS: say(log, "logprobs %.*s\n", BYTES(p->text)); return;
    case PART_WARNING:
      say(log, "warning %.*s", BYTES(p->id));
      say_bytes(log, " ", p->name);
      snprintf(words, sizeof words, "%.*s", BYTES(p->text));
      say_bytes(log, " ", z(json(words))); /* which may hold an apostrophe: cases cannot */
      say(log, "\n");
      return;
    case PART_DONE: say(log, "done\n"); return;
    case PART_STOP:
      say(log, "stop %s", stop_name(p->stop));
      say_bytes(log, " ", p->name);
      say(log, " %.*s\n", BYTES(p->text));
      return;
    case PART_USAGE:
      say(log, "usage");
      say_count(log, "in", p->usage.input);
      say_count(log, "out", p->usage.output);
      say_count(log, "read", p->usage.cache_read);
      say_count(log, "written", p->usage.cache_creation);
      say_count(log, "reasoning", p->usage.reasoning);
      if (p->usage.cache_hour > 0) say_count(log, "hour", p->usage.cache_hour);
      if (p->usage.cost >= 0) say(log, " cost=%g", p->usage.cost);
      if (p->usage.unpriced != NULL) say(log, " unpriced=%s", p->usage.unpriced);
      say(log, "\n");
      return;
    default:
      /* NULL: a part that is new. */
      say(log, "%s%s%s %d", NAMES[p->type] != NULL ? NAMES[p->type] : "unnamed", p->flags & EVENT_REPLACE ? "!" : "",
          p->flags & EVENT_SURROGATE ? "~" : "", (int)p->key);
      say_bytes(log, " ", p->text);
      say(log, "\n");
  }
}

static void say_error(struct log *log, const struct err *e) {
  say(log, "error %s %d %s%s\n", kind_name(e->kind), e->status, e->code, err_retryable(e) ? " retryable" : "");
}

static void drain(struct log *log, struct events *q) {
  const struct event *p;
  while ((p = events_take(q)) != NULL) say_part(log, p);
}

struct input {
  const char *quirks;        /* NULL = defaults */
  const char *const *chunks; /* a stream's data, behind "event:NAME " or "event:!NAME " (a fault), NULL at the end; or */
  const char *body;          /* a plain answer */
};

/* Hands the codec a chunk as in struct input: 0, or -1. */
static int feed_chunk(struct parsing *x, const char *chunk) {
  const char *d = json(chunk);
  char of[64] = "";
  if (sscanf(d, "event:%63s ", of) == 1) d += 7 + strlen(of);
  return parsing_record(x, of, z(d));
}

/* Feeds it all; log gets the parts and how it ended. together: no part is taken before all was fed. Returns the kind of
** the error. */
static enum kind run(const struct input *in, const struct quirks *q, const struct mem *m, struct log *log,
                     int together) {
  struct parsing x;
  int r = 0;
  log->n = 0;
  log->s[0] = '\0';
  parsing_open(&x, &CODEC, m);
  x.quirks = *q;
  parsing_begin(&x);
  for (size_t i = 0; r == 0 && in->chunks != NULL && in->chunks[i] != NULL; i++) {
    if (!together) arena_reset(&x.a);
    r = feed_chunk(&x, in->chunks[i]);
    if (r == 0 && !together) drain(log, &x.parts);
  }
  if (r == 0 && in->body != NULL) r = CODEC.parse_body(x.state, z(json(in->body)), &x.parts, &x.e);
  if (r == 0 && !together) {
    drain(log, &x.parts);
    arena_reset(&x.a);
  }
  if (r == 0 && !CODEC.ended(x.state)) {
    drain(log, &x.parts);
    say(log, "open\n");
  } else if (r == 0) r = CODEC.parse_end(x.state, &x.parts, &x.e);
  if (r == 0) drain(log, &x.parts);
  else say_error(log, &x.e);
  log->e = x.e;
  parsing_close(&x);
  return r == 0 ? KIND_NONE : x.e.kind;
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
    struct mem moving = moving_mem();
    CHECK(run(in, &q, &moving, &again, 1) == KIND_NONE);
    test_str(file, line, again.s, again.n, log.s);
  }
  for (size_t at = 1; at < 10000; at += test_every()) {
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

/* The error that reading ends with. */
static inline struct err error_of(const struct input *in) {
  static struct log log;
  struct mem m = mem_libc();
  struct quirks q;
  quirks_default(&q);
  CHECK(run(in, &q, &m, &log, 0) != KIND_NONE);
  return log.e;
}

static inline void expect_error(const char *file, int line, const struct input *in, enum kind kind, int status,
                                const char *message) {
  struct err e = error_of(in);
  if (e.kind != kind || e.status != status) fprintf(stderr, "%s:%d: %s %d\n", file, line, kind_name(e.kind), e.status);
  CHECK(e.kind == kind && e.status == status);
  test_str(file, line, e.message, strlen(e.message), message);
}

#define CHUNKS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define STREAM(parts, ...) expect(__FILE__, __LINE__, &(struct input){ NULL, CHUNKS(__VA_ARGS__), NULL }, parts)
#define STREAM_Q(quirks, parts, ...) \
  expect(__FILE__, __LINE__, &(struct input){ quirks, CHUNKS(__VA_ARGS__), NULL }, parts)
#define BODY(parts, body) expect(__FILE__, __LINE__, &(struct input){ NULL, NULL, body }, parts)

#define STREAM_FAILS(kind, status, message, ...) \
  expect_error(__FILE__, __LINE__, &(struct input){ NULL, CHUNKS(__VA_ARGS__), NULL }, kind, status, message)
#define BODY_FAILS(kind, status, message, body) \
  expect_error(__FILE__, __LINE__, &(struct input){ NULL, NULL, body }, kind, status, message)

/* Feeds events under these limits; the kind of the first error. */
static inline enum kind limited(const struct limits *limits, const char *const *chunks) {
  struct mem m = mem_libc();
  struct parsing x;
  int r = 0;
  parsing_open(&x, &CODEC, &m);
  x.limits = *limits;
  parsing_begin(&x);
  for (size_t i = 0; chunks[i] != NULL && r == 0; i++) r = feed_chunk(&x, chunks[i]);
  parsing_close(&x);
  return r == 0 ? KIND_NONE : x.e.kind;
}

/* }}} */

#endif
