/* Tests of the contract of framings, held against each of them: the list, what a body is, records however it is cut. */
#include "core/framing/framing.h"
#include "support/failing.h"
#include "support/test.h"

#include <stdlib.h>

/* Messages of AWS: an event of the type a, an exception, an error without a payload. */
#define EVENT \
  "\000\000\0008\000\000\000&&~\251\323\015:message-type\007\000\005event\013:event-type\007\000" \
  "\001a{}\017\351\223\253"
#define EXCEPTION \
  "\000\000\000\220\000\000\000a\216\221\251\267\017:exception-type\007\000\023throttlingExcep" \
  "tion\015:content-type\007\000\020application/json\015:message-type\007\000\011exception{\042" \
  "message\042:\042Too many requests\042}\346\177\200\005"
#define FAILURE \
  "\000\000\000J\000\000\000:\261mF3\015:message-type\007\000\005error\013:error-code\007\000\001" \
  "E\016:error-message\007\000\002no\032G\017\331"

/* A framing, a body, and its records: <name|data>, behind $ the one that the end completes, ? when it may be cut, & when
** its data are several lines, ! when it is a fault, #id and ~retry where it says them. */
#define BODY(literal) { literal, sizeof literal - 1 }
static const struct {
  const struct framing *framing;
  struct str body;
  const char *records;
} CASES[] = {
  { &framing_sse, BODY(""), "" },
  { &framing_sse, BODY("data: a\n\n"), "<|a>" },
  { &framing_sse, BODY("event: e\r\ndata: a\r\ndata: b\r\n\r\n: ping\r\n\r\ndata: c\r\n\r\n"), "<e|a\nb&><|c>" },
  { &framing_sse, BODY("data: a\ndata\n\ndata:\n\n"), "<|a\n&><|>" },
  { &framing_sse, BODY("id: 7\nretry: 10\ndata: a\n\nevent: e\n\ndata: b"), "<|a#7~10>$<|b?>" },
  { &framing_sse, BODY("data: a\n\ndata: b\ndata: c\n"), "<|a>$<|b\nc&?>" },
  { &framing_sse, BODY("data: a\n\nevent: e\nid: 7"), "<|a>" },
  { &framing_eventstream, BODY(""), "" },
  { &framing_eventstream, BODY(EVENT), "<a|{}>" },
  { &framing_eventstream, BODY(EVENT EVENT EXCEPTION FAILURE EVENT),
    "<a|{}><a|{}><throttlingException|{\"message\":\"Too many requests\"}!><E|no!><a|{}>" },
  { &framing_eventstream, BODY(EVENT "\0\0\0"), "<a|{}>" },
  { &framing_ndjson, BODY(""), "" },
  { &framing_ndjson, BODY("{}\n{\"a\":[]}\n"), "<|{}><|{\"a\":[]}>" },
  { &framing_ndjson, BODY(" {} \r\n\r\n \t\n7\r\n"), "<|{}><|7>" },
  { &framing_ndjson, BODY("{\"a\":\"}\\\"\"}\n{\nx]\n{}"), "<|{\"a\":\"}\\\"\"}><|{><|x]>$<|{}?>" },
  { &framing_ndjson, BODY("{}\n{\"a\":"), "<|{}>$<|{\"a\":?>" },
  { &framing_ndjson, BODY("{}\r"), "$<|{}?>" },
  { &framing_ndjson, BODY("\n{\n \"a\": 1\n}\n\n"), "$<|{\n \"a\": 1\n}&?>" },
  { &framing_ndjson, BODY("{\"a\": \"\n{}\n"), "$<|{\"a\": \"\n{}&?>" },
  { &framing_ndjson, BODY("}]{\n{}"), "$<|}]{\n{}&?>" },
};
#define CASE_COUNT (sizeof CASES / sizeof CASES[0])

static void show(struct buf *out, const struct record *r) {
  char retry[32];
  snprintf(retry, sizeof retry, "~%ld", r->retry);
  buf_addc(out, '<');
  buf_addstr(out, r->name);
  buf_addc(out, '|');
  buf_addstr(out, r->data);
  if (r->joined) buf_addc(out, '&');
  if (r->fault) buf_addc(out, '!');
  if (r->unclosed) buf_addc(out, '?');
  if (r->id.n > 0 && buf_addc(out, '#') == 0) buf_addstr(out, r->id);
  if (r->retry >= 0) buf_adds(out, retry);
  buf_addc(out, '>');
}

/* The records of a body that comes in pieces of `piece` bytes, handed over or copied by turns: 0, or -1. */
static int run(const struct framing *f, const struct mem *m, struct str body, size_t piece, struct buf *out,
               struct err *e) {
  struct limits limits;
  void *state = calloc(1, f->state_size);
  struct record r;
  struct buf b;
  int got = 0;
  limits_default(&limits);
  buf_init(&b, m);
  out->n = 0;
  f->init(state, m, &limits);
  for (size_t at = 0, i = 0; at < body.n && got >= 0; at += piece, i++) {
    size_t n = piece < body.n - at ? piece : body.n - at;
    if (i % 2 == 1) got = f->feed_copy(state, body.p + at, n, e);
    else if (buf_add(&b, body.p + at, n) != 0) got = err_memory(e);
    else got = f->feed(state, &b, e);
    CHECK(got < 0 || b.n == 0);
    CHECK(got < 0 || f->held(state) > 0);
    while (got >= 0 && (got = f->next(state, &r, e)) == 1) show(out, &r);
  }
  if (got >= 0 && (got = f->eof(state, &r, e)) == 1) {
    buf_addc(out, '$');
    show(out, &r);
    got = f->eof(state, &r, e);
    CHECK(got == 0);
  }
  f->free(state);
  CHECK(f->held(state) == 0);
  buf_free(&b);
  free(state);
  return got;
}

static void test_records(void) {
  struct mem m = mem_libc();
  struct buf out;
  struct err e;
  buf_init(&out, &m);
  for (size_t i = 0; i < CASE_COUNT; i++) {
    struct str body = CASES[i].body;
    for (size_t piece = 1; piece <= body.n + 1; piece++) {
      CHECK(run(CASES[i].framing, &m, body, piece, &out, &e) == 0);
      CHECK_STR(out.p, out.n, CASES[i].records);
    }
  }
  buf_free(&out);
}

static void test_no_memory(void) {
  struct mem m = mem_libc();
  struct buf out;
  buf_init(&out, &m);
  for (size_t i = 0; i < CASE_COUNT; i++) {
    struct str body = CASES[i].body;
    for (size_t at = 1; ; at++) {
      struct failing f = { .fail_at = at };
      struct mem fm = failing_mem(&f);
      struct err e;
      int r;
      err_clear(&e);
      r = run(CASES[i].framing, &fm, body, 7, &out, &e);
      CHECK(f.live == 0 && f.wrong == 0 && (r == 0) == (f.asked < at) && (r == 0 || e.kind == KIND_MEMORY));
      if (r == 0) break;
    }
  }
  buf_free(&out);
}

static void test_limits(void) {
  struct mem m = mem_libc();
  struct limits limits = { .line = 8, .event = 8 };
  void *state = calloc(1, framing_sse.state_size);
  struct record r;
  struct err e;
  framing_sse.init(state, &m, &limits);
  CHECK(framing_sse.feed_copy(state, "data: 0123", 10, &e) == 0 && framing_sse.next(state, &r, &e) == -1);
  CHECK(e.kind == KIND_LIMIT && framing_sse.eof(state, &r, &e) == -1 && e.kind == KIND_LIMIT);
  CHECK(framing_sse.feed_copy(state, "\n", 1, &e) == -1);
  framing_sse.free(state);
  free(state);
}

/* A line; all of a value that a proxy printed over several. */
static void test_line_limits(void) {
  static const char *const BODIES[] = { "{\"a\":0123", "{}\n{}\n123456789\n", "{\n\n\n\n\n\n\n\n\n\n\n\n\n" };
  struct mem m = mem_libc();
  struct limits limits = { .line = 8, .event = 12 };
  for (size_t i = 0; i < 3; i++) {
    void *state = calloc(1, framing_ndjson.state_size);
    struct record r;
    struct err e;
    int got;
    framing_ndjson.init(state, &m, &limits);
    CHECK(framing_ndjson.feed_copy(state, BODIES[i], strlen(BODIES[i]), &e) == 0);
    while ((got = framing_ndjson.next(state, &r, &e)) == 1) {}
    CHECK(got == -1 && e.kind == KIND_LIMIT && framing_ndjson.eof(state, &r, &e) == -1);
    CHECK(framing_ndjson.feed_copy(state, "\n", 1, &e) == -1 && e.kind == KIND_LIMIT);
    framing_ndjson.free(state);
    free(state);
  }
}

static void test_list(void) {
#define NAMED(name) CHECK(framing_by_name(STR(#name)) == &framing_##name);
  FRAMING_LIST(NAMED)
#undef NAMED
  CHECK(framing_by_name(STR("ss")) == NULL && framing_by_name(STR("sse2")) == NULL && framing_by_name(STR_NONE) == NULL);
  for (size_t i = 0; i < CASE_COUNT; i++) {
    const struct framing *f = CASES[i].framing;
    CHECK(framing_by_name((struct str){ f->name, strlen(f->name) }) == f && strchr(f->media_type, '/') != NULL);
  }
}

/* Beginnings of event streams, and bodies that are none whatever their content type says. */
static void test_begins(void) {
  for (int c = 1; c < 256; c++) {
    int json = strchr("{[<", c) != NULL, field = strchr("deir:", c) != NULL;
    CHECK(framing_sse.begins((char)c, 1) == !json);
    CHECK(framing_sse.begins((char)c, 0) == field);
  }
  for (int c = 1; c < 256; c++) {
    CHECK(framing_eventstream.begins((char)c, 1) == (strchr("{[<", c) == NULL));
    CHECK(framing_eventstream.begins((char)c, 0) == 0);
  }
  CHECK(framing_eventstream.begins('\0', 1) == 1 && framing_eventstream.begins('\0', 0) == -1);
  CHECK(framing_sse.begins('\0', 0) == -1 && framing_sse.begins('\0', 1) == -1);
}

/* A stream of lines begins as a plain answer does; an array or HTML is neither's. */
static void test_line_begins(void) {
  for (int c = 1; c < 256; c++) {
    int neither = strchr("[<", c) != NULL;
    CHECK(framing_ndjson.begins((char)c, 1) == !neither);
    CHECK(framing_ndjson.begins((char)c, 0) == (neither ? 0 : FRAMING_ASKED));
  }
  CHECK(framing_ndjson.begins('\0', 0) == FRAMING_UNKNOWN && framing_ndjson.begins('\0', 1) == FRAMING_UNKNOWN);
}

int main(void) {
  test_records();
  test_no_memory();
  test_limits();
  test_line_limits();
  test_list();
  test_begins();
  test_line_begins();
  return test_done("framing/framing");
}
