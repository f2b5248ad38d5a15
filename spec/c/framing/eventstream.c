/* Tests of AWS's event streams: damage anywhere, lengths that lie, every type of header, caps, ends. How records come
** out however the body is cut: framing.c. */
#include "core/framing/framing.h"
#include "support/failing.h"
#include "support/frame.h"
#include "support/test.h"

#include <stdlib.h>

static const struct mem *libc_mem(void) {
  static struct mem m;
  m = mem_libc();
  return &m;
}

/* The result of reading a body: the number of records; then 0, or -1 and e. `out` (or NULL) gets "name|data;". */
static int run(const struct mem *m, struct str body, size_t cap, int *records, struct buf *out, struct err *e) {
  struct limits limits = { .line = 16, .event = cap };
  void *state = calloc(1, framing_eventstream.state_size);
  struct record r;
  int got;
  *records = 0;
  err_clear(e);
  framing_eventstream.init(state, m, &limits);
  got = framing_eventstream.feed_copy(state, body.p, body.n, e);
  while (got >= 0 && (got = framing_eventstream.next(state, &r, e)) == 1) {
    ++*records;
    if (out == NULL) continue;
    buf_addstr(out, r.name);
    buf_adds(out, r.fault ? "!" : "|");
    buf_addstr(out, r.data);
    buf_addc(out, ';');
  }
  if (got == 0) got = framing_eventstream.eof(state, &r, e);
  if (got < 0) { /* it stays in error */
    struct err again;
    CHECK(framing_eventstream.next(state, &r, &again) == -1 && again.kind == e->kind);
    CHECK(framing_eventstream.feed_copy(state, "x", 1, &again) == -1 && again.kind == e->kind);
    CHECK(framing_eventstream.eof(state, &r, &again) == -1 && strcmp(again.message, e->message) == 0);
  }
  framing_eventstream.free(state);
  free(state);
  return got;
}

/* Each bit of a message flipped: an error, whatever follows, and the message before is still read. */
static void test_damage(void) {
  struct buf b;
  struct err e;
  size_t second, end;
  int records;
  buf_init(&b, libc_mem());
  frame_add(&b, "event", STR("first"), STR("{\"a\":1}"));
  second = b.n;
  frame_add(&b, "event", STR("second"), STR("{\"text\":\"abc\"}"));
  end = b.n;
  frame_add(&b, "event", STR("third"), STR("{}"));
  CHECK(run(libc_mem(), buf_str(&b), 1 << 20, &records, NULL, &e) == 0 && records == 3);
  for (size_t i = second; i < end; i++)
    for (int bit = 0; bit < 8; bit++) {
      b.p[i] = (char)(b.p[i] ^ 1 << bit);
      CHECK(run(libc_mem(), buf_str(&b), 1 << 20, &records, NULL, &e) == -1 && e.kind == KIND_PROTOCOL && records == 1);
      b.p[i] = (char)(b.p[i] ^ 1 << bit);
    }
  buf_free(&b);
}

/* Cut anywhere: the whole messages and nothing else. */
static void test_cut(void) {
  struct buf b;
  struct err e;
  size_t first;
  int records;
  buf_init(&b, libc_mem());
  frame_add(&b, "event", STR("first"), STR("{\"a\":1}"));
  first = b.n;
  frame_add(&b, "event", STR("second"), STR("{}"));
  for (size_t n = 0; n <= b.n; n++) {
    CHECK(run(libc_mem(), (struct str){ b.p, n }, 1 << 20, &records, NULL, &e) == 0);
    CHECK(records == (n >= first) + (n == b.n));
  }
  buf_free(&b);
}

/* A prelude alone, whose checksum is right. */
static int prelude(uint32_t total, uint32_t headers, size_t cap, struct failing *f, struct err *e) {
  struct mem m = failing_mem(f);
  struct buf b;
  int got, records;
  buf_init(&b, libc_mem());
  frame_put32(&b, total);
  frame_put32(&b, headers);
  frame_put32(&b, crc32_add(0, buf_str(&b)));
  got = run(&m, buf_str(&b), cap, &records, NULL, e);
  buf_free(&b);
  return got;
}

static void test_lengths(void) {
  static const struct { uint32_t total, headers; enum kind kind; } CASES[] = {
    { 0, 0, KIND_PROTOCOL }, { 15, 0, KIND_PROTOCOL }, { 16, 1, KIND_PROTOCOL }, { 100, 85, KIND_PROTOCOL },
    { 100, 0xFFFFFFFF, KIND_PROTOCOL }, { 0xFFFFFFFF, 0, KIND_LIMIT }, { 1025, 0, KIND_LIMIT },
    { 1024, 0, KIND_NONE }, { 16, 0, KIND_NONE }, { 100, 84, KIND_NONE },
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    struct failing f = { 0 };
    struct err e;
    int got = prelude(CASES[i].total, CASES[i].headers, 1024, &f, &e);
    CHECK((got == 0) == (CASES[i].kind == KIND_NONE) && (got == 0 || e.kind == CASES[i].kind));
    CHECK(f.asked == 1 && f.live == 0 && f.wrong == 0); /* the twelve bytes, and nothing for what they promise */
  }
}

/* Headers of every type before the one that matters. */
static void test_headers(void) {
  static const size_t SIZES[] = { 0, 0, 1, 2, 4, 8, 5, 5, 8, 16 };
  for (int type = 0; type < 12; type++) {
    struct buf headers, b, out;
    struct err e;
    int records, known = type < 10;
    buf_init(&headers, libc_mem());
    buf_init(&b, libc_mem());
    buf_init(&out, libc_mem());
    buf_add(&headers, "\005thing", 6);
    buf_addc(&headers, (char)type);
    if (type == 6 || type == 7) buf_add(&headers, "\0\003abc", 5);
    else for (size_t i = 0; known && i < SIZES[type]; i++) buf_addc(&headers, (char)(0xF0 + i));
    frame_header(&headers, ":message-type", STR("event"));
    frame_header(&headers, ":event-type", STR("e"));
    frame_raw(&b, buf_str(&headers), STR("p"));
    CHECK((run(libc_mem(), buf_str(&b), 1 << 20, &records, &out, &e) == 0) == known);
    if (known) CHECK_STR(out.p, out.n, "e|p;");
    else CHECK(e.kind == KIND_PROTOCOL);
    buf_free(&headers);
    buf_free(&b);
    buf_free(&out);
  }
}

/* Headers cut short are malformed; where a header ends, there are fewer of them. */
static void test_headers_cut(void) {
  struct buf headers, b;
  struct err e;
  int records;
  size_t ends[2];
  buf_init(&headers, libc_mem());
  buf_init(&b, libc_mem());
  frame_header(&headers, ":event-type", STR("e"));
  ends[0] = headers.n;
  frame_header(&headers, ":message-type", STR("event"));
  ends[1] = headers.n;
  for (size_t n = 0; n <= headers.n; n++) {
    int whole = n == 0 || n == ends[0] || n == ends[1];
    b.n = 0;
    frame_raw(&b, (struct str){ headers.p, n }, STR("payload"));
    CHECK((run(libc_mem(), buf_str(&b), 1 << 20, &records, NULL, &e) == 0) == whole);
    if (!whole) CHECK(e.kind == KIND_PROTOCOL);
  }
  buf_free(&headers);
  buf_free(&b);
}

/* A header that is no text does not count as a type; an error's payload wins over its message. */
static void test_kinds(void) {
  struct buf headers, b, out;
  struct err e;
  int records;
  buf_init(&headers, libc_mem());
  buf_init(&b, libc_mem());
  buf_init(&out, libc_mem());
  buf_add(&headers, "\013:event-type\005\0\0\0\0\0\0\0\1", 21);
  frame_raw(&b, buf_str(&headers), STR("1"));
  headers.n = 0;
  frame_header(&headers, ":message-type", STR("error"));
  frame_header(&headers, ":error-code", STR("E"));
  frame_header(&headers, ":error-message", STR("m"));
  frame_raw(&b, buf_str(&headers), STR_NONE);
  frame_raw(&b, buf_str(&headers), STR("{}"));
  headers.n = 0;
  frame_header(&headers, ":message-type", STR("news"));
  frame_raw(&b, buf_str(&headers), STR("2"));
  CHECK(run(libc_mem(), buf_str(&b), 1 << 20, &records, &out, &e) == 0);
  CHECK_STR(out.p, out.n, "|1;E!m;E!{};|2;");
  buf_free(&headers);
  buf_free(&b);
  buf_free(&out);
}

/* The framing keeps no more than waits, however much came. */
static void test_bounded(void) {
  void *state = calloc(1, framing_eventstream.state_size);
  struct limits limits;
  struct record r;
  struct buf b;
  struct err e;
  int records = 0, got = 0;
  limits_default(&limits);
  buf_init(&b, libc_mem());
  frame_add(&b, "event", STR("e"), STR("{\"some\":\"payload\"}"));
  framing_eventstream.init(state, libc_mem(), &limits);
  for (size_t i = 0; i < 2000 && got >= 0; i++) {
    got = framing_eventstream.feed_copy(state, b.p, b.n - 1, &e);
    while (got >= 0 && (got = framing_eventstream.next(state, &r, &e)) == 1) records++;
    if (got >= 0) got = framing_eventstream.feed_copy(state, b.p + b.n - 1, 1, &e);
  }
  while (got >= 0 && (got = framing_eventstream.next(state, &r, &e)) == 1) records++;
  CHECK(got == 0 && records == 2000 && framing_eventstream.held(state) < 8 * b.n);
  framing_eventstream.free(state);
  free(state);
  buf_free(&b);
}

int main(void) {
  test_damage();
  test_cut();
  test_lengths();
  test_headers();
  test_headers_cut();
  test_kinds();
  test_bounded();
  return test_done("framing/eventstream");
}
