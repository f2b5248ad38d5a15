/* Tests of sse: every line end, ids and retry times, every way to cut the input, caps, the exchange of buffers, and memory that runs out. */
#include <limits.h>

#include "core/framing/sse.h"
#include "support/failing.h"
#include "support/test.h"

#define NO_CAP ((size_t)1 << 30)

/* Appends a record to `out` as <event|data>, <event|data#id>, <event|data~retry>; without data as <event#id>. */
static void show(struct buf *out, const struct record *r) {
  char retry[32];
  snprintf(retry, sizeof retry, "~%ld", r->retry);
  CHECK(buf_addc(out, '<') == 0 && buf_addstr(out, r->name) == 0);
  CHECK(r->data.p == NULL || (buf_addc(out, '|') == 0 && buf_addstr(out, r->data) == 0));
  CHECK(r->id.n == 0 || (buf_addc(out, '#') == 0 && buf_addstr(out, r->id) == 0));
  CHECK((r->retry < 0 || buf_adds(out, retry) == 0) && buf_addc(out, '>') == 0);
}

/* Takes all whole records: 0, or -1 on error. */
static int take(struct sse *s, struct buf *out, struct err *e) {
  struct record r;
  int got;
  while ((got = sse_next(s, &r, e)) == 1) show(out, &r);
  return got;
}

static int take_last(struct sse *s, struct buf *out, struct err *e) {
  struct record r;
  int got = sse_eof(s, &r, e);
  if (got != 1) return got;
  CHECK(buf_addc(out, '$') == 0);
  show(out, &r);
  return sse_eof(s, &r, e);
}

/* The records of `in`, fed in pieces of `piece` bytes but with one cut at `cut`; those of the end of input after $. */
static int run(struct buf *out, struct str in, size_t piece, size_t cut, int by_buf) {
  struct mem m = mem_libc();
  struct sse s;
  struct buf b;
  struct err e;
  int r = 0;
  sse_init(&s, &m, NO_CAP, NO_CAP);
  buf_init(&b, &m);
  out->n = 0;
  for (size_t at = 0; at < in.n && r == 0;) {
    size_t n = piece < in.n - at ? piece : in.n - at;
    if (at < cut && at + n > cut) n = cut - at;
    if (by_buf) {
      CHECK(buf_add(&b, in.p + at, n) == 0 && sse_feed_buf(&s, &b, &e) == 0 && b.n == 0);
    } else {
      CHECK(sse_feed(&s, in.p + at, n, &e) == 0);
    }
    r = take(&s, out, &e);
    at += n;
  }
  if (r == 0) r = take_last(&s, out, &e);
  CHECK(s.late.m == &m);
  sse_free(&s);
  buf_free(&b);
  return r;
}

static void test_cases(struct buf *out) {
  static const struct { const char *in, *want; } cases[] = {
    { "data: a\n\n", "<|a>" }, { "data:a\r\n\r\n", "<|a>" }, { "data: a\r\r", "<|a>" }, { "data:  a\n\n", "<| a>" },
    { "data: a\r\ndata: b\rdata: c\ndata: d\n\r\n", "<|a\nb\nc\nd>" },
    { "event: e\ndata: a\n\ndata: b\n\n", "<e|a><|b>" }, { "data: a\nevent: e\n\n", "<e|a>" },
    { "data: a\nevent: late\ndata: much longer than the gap between the two of them\n\ndata: n\n\n",
      "<late|a\nmuch longer than the gap between the two of them><|n>" },
    { "event: one\ndata: a\nevent: two\ndata: b\nevent: 3\n\n", "<3|a\nb>" },
    { "event: x\nevent: y\ndata: a\n\n", "<y|a>" },
    { "event: gone\n\ndata: a\n\n", "<|a>" }, { "event\ndata: a\n\n", "<|a>" },
    { "event: e\nevent:\ndata: a\n\n", "<|a>" },
    { "data\n\n", "<|>" }, { "data:\n\n", "<|>" }, { "data: \n\n", "<|>" }, { "data\ndata\n\n", "<|\n>" },
    { "data: a\ndata\ndata: b\n\n", "<|a\n\nb>" }, { ": comment\n\n:\n\n\n\ndata: a\n: more\n\n", "<|a>" },
    { "foo: bar\nfoo\ndatax: 1\ndat: 2\nevents: 3\n data: 4\nDATA: 5\nids: 6\nretrying: 7\ni\n\n", "" },
    { "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", "<|a#1><|b#1><|c>" }, { "data: a\nid:a b \n\n", "<|a#a b >" },
    { "id: 1\nretry: 10\n\n", "<#1~10>" }, { "id: 1\n\ndata: a\n\n", "<#1><|a#1>" },
    { "event: e\nid: 1\n\ndata: a\n\n", "<e#1><|a#1>" }, { "id: 1\ndata: \n\n", "<|#1>" },
    { "id: 1\nid: 2\ndata: a\n\nid:\n\ndata: b\n\n", "<|a#2><><|b>" },
    { "retry: 010\ndata: a\n\ndata: b\n\n", "<|a~10><|b>" }, { "retry: 1\nretry: 2\n\n", "<~2>" },
    { "retry: 1s\nretry: -1\nretry: +1\nretry: \nretry\nretry:  1\nretry: 1 \ndata: a\n\n", "<|a>" },
    { "retry: 99999999999999999999999\n\n", LONG_MAX > 2147483647L ? "<~9223372036854775807>" : "<~2147483647>" },
    { "id: 1\ndata: a\n\nid: 2\ndata: cut", "<|a#1>$<|cut>" }, { "data: a\nid: 2\nretry: 3\n", "$<|a~3>" },
    { "id: 2\nretry: 3\n", "" }, { "id: 2", "" }, { "{\"e\":\nid: 2\n}\ndata: a\n\n", "<|{\"e\":\nid: 2\n}><|a>" },
    { "data: {\ndata: \"a\": 1\ndata: }\n\n", "<|{\n\"a\": 1\n}>" }, { "\n\n\r\r\n\n", "" }, { "", "" },
    { "\xEF\xBB\xBF" "data: a\n\n", "<|a>" }, { "\xEF\xBB\xBF\xEF\xBB\xBF" "data: a\n\n", "" },
    { "data: a\n\n\xEF\xBB\xBF" "data: b\n\n", "<|a>" },
    { "data: a\xE2\x80\xA8" "b\x0B\x0C\xC2\x85\n\n", "<|a\xE2\x80\xA8" "b\x0B\x0C\xC2\x85>" },
    { "data: a", "$<|a>" }, { "data: a\n", "$<|a>" }, { "data: a\r", "$<|a>" },
    { "data: a\n\ndata: b\ndata: c", "<|a>$<|b\nc>" },
    { "event: e\n", "" }, { "event: e", "" }, { "\xEF\xBB", "" }, { "\xEF\xBB\xBF", "" },
    { "\xEF\xBB\xBF" "data: a", "$<|a>" },
    { "data: a\nevent: e", "$<e|a>" }, { "data: a\n:", "$<|a>" }, { "dat", "" }, { "data: [DONE]", "$<|[DONE]>" },
    { "data: a\n\n{\n  \"e\": {\"x\": \"}\\\"{\"\n\n  }\n}\ndata: b\n\n", "<|a><|{\n  \"e\": {\"x\": \"}\\\"{\"\n  }\n}><|b>" },
    { "[{\"e\":1}\r\n,\r\n{}]\r\n\r\ndata: b\n\n", "<|[{\"e\":1}\n,\n{}]><|b>" }, { "  {\"e\":1}\n{}\n", "<|  {\"e\":1}><|{}>" },
    { "event: error\n{\"e\":1}\n", "<error|{\"e\":1}>" }, { "data: a\n{\"e\":1}\n\n", "<|a>" },
    { "{\"e\":\n\ndata: a\n\n", "<|a>" }, { "{\"e\":\nevent: x\ndata: a\n\n", "<x|a>" },
    { "{\"e\":\n1", "$<|{\"e\":\n1>" }, { "{\"e\":\n1}", "$<|{\"e\":\n1}>" },
    { "data: a:b: c\n\n", "<|a:b: c>" }, { "data:: a\n\n", "<|: a>" }, { "data : a\n\n", "" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct str in = { cases[i].in, strlen(cases[i].in) };
    for (size_t piece = 1; piece <= in.n; piece++) {
      CHECK(run(out, in, piece, 0, (int)(piece & 1)) == 0);
      CHECK_STR(out->p, out->n, cases[i].want);
    }
  }
  CHECK(run(out, STR("data: a\0b\n\n"), 99, 0, 0) == 0 && out->n == 6 && memcmp(out->p, "<|a\0b>", 6) == 0);
  CHECK(run(out, STR("id: 1\nid: 2\0\ndata: a\n\n"), 99, 0, 0) == 0);
  CHECK_STR(out->p, out->n, "<|a#1>");
  CHECK(run(out, STR("retry: 1\0\nid: \0\n\n"), 99, 0, 0) == 0 && out->n == 0);
}

/* Everything that is awkward, in one stream: all two-way cuts and all sizes of pieces give the same records. */
static void test_cuts(struct buf *out) {
  static const char corpus[] =
    "\xEF\xBB\xBF: hello\r\n\r\nevent: message_start\r\ndata: {\"a\":1}\r\n\r\n"
    "event: ping\n\ndata: one\ndata:two\rdata: three\r\n\r: c\r\rdata\r\r\rdata: x\nevent: after\n"
    "data: a longer line than before\n\n"
    "id: 7\nretry: 3\ndata: \xF0\x9F\x98\x80 \xE2\x80\xA8\n\n\nevent: e\nevent: ee\ndata:  two spaces\n\r\n"
    "data: [DONE]\r\n\r\nevent: tail\ndata: never closed";
  struct mem m = mem_libc();
  struct buf want;
  struct str in = { corpus, sizeof corpus - 1 };
  buf_init(&want, &m);
  CHECK(run(&want, in, in.n, 0, 0) == 0 && buf_addc(&want, '\0') == 0);
  CHECK_STR(want.p, want.n - 1,
            "<message_start|{\"a\":1}><|one\ntwo\nthree><|><after|x\na longer line than before>"
            "<|\xF0\x9F\x98\x80 \xE2\x80\xA8#7~3><ee| two spaces#7><|[DONE]#7>$<tail|never closed>");
  for (int by_buf = 0; by_buf <= 1; by_buf++) {
    for (size_t cut = 0; cut <= in.n; cut++) {
      CHECK(run(out, in, in.n, cut, by_buf) == 0);
      CHECK_STR(out->p, out->n, want.p);
      CHECK(run(out, in, 7, cut, by_buf) == 0);
      CHECK_STR(out->p, out->n, want.p);
    }
    for (size_t piece = 1; piece <= in.n; piece++) {
      CHECK(run(out, in, piece, 0, by_buf) == 0);
      CHECK_STR(out->p, out->n, want.p);
    }
  }
  buf_free(&want);
}

/* Feeds all of it piece by piece: 0, or -1 and the err. */
static int run_capped(struct buf *out, const char *in, size_t piece, size_t line_max, size_t event_max, struct err *e) {
  struct mem m = mem_libc();
  struct sse s;
  struct record rec;
  int r = 0;
  out->n = 0;
  err_clear(e);
  sse_init(&s, &m, line_max, event_max);
  for (size_t at = 0, n = strlen(in); at < n && r == 0; at += piece) {
    r = sse_feed(&s, in + at, piece < n - at ? piece : n - at, e);
    if (r == 0) r = take(&s, out, e);
  }
  if (r < 0) { /* and it stays in error */
    struct err again;
    struct buf b;
    buf_init(&b, &m);
    err_clear(&again);
    CHECK(sse_next(&s, &rec, &again) == -1 && again.kind == e->kind && strcmp(again.message, e->message) == 0);
    CHECK(sse_feed(&s, "data: a\n\n", 9, &again) == -1 && sse_eof(&s, &rec, &again) == -1);
    CHECK(buf_adds(&b, "data: a\n\n") == 0 && sse_feed_buf(&s, &b, &again) == -1);
    buf_free(&b);
  }
  sse_free(&s);
  return r;
}

static void test_caps(struct buf *out) {
  struct err e;
  for (size_t piece = 1; piece < 40; piece++) {
    CHECK(run_capped(out, "data: ab\n\ndata: 0123\n\n", piece, 10, 99, &e) == 0);
    CHECK_STR(out->p, out->n, "<|ab><|0123>");
    CHECK(run_capped(out, "data: ab\n\ndata: 01234\n\n", piece, 10, 99, &e) == -1 && e.kind == KIND_LIMIT);
    CHECK_STR(out->p, out->n, "<|ab>");
    CHECK_STR(e.message, strlen(e.message), "event stream: a line is longer than 10 bytes");
    CHECK(run_capped(out, "data: ab\n\n:34567890123", piece, 10, 99, &e) == -1 && e.kind == KIND_LIMIT);
    CHECK_STR(out->p, out->n, "<|ab>");
    CHECK(run_capped(out, "data: abc\r\n\ndata: a\rdata: b\r\r", piece, 99, 3, &e) == 0);
    CHECK_STR(out->p, out->n, "<|abc><|a\nb>");
    CHECK(run_capped(out, "data: abcd\n\n", piece, 99, 3, &e) == -1 && e.kind == KIND_LIMIT);
    CHECK(run_capped(out, "data: x\n\ndata: a\ndata: b\ndata\n\n", piece, 99, 3, &e) == -1 && e.kind == KIND_LIMIT);
    CHECK_STR(out->p, out->n, "<|x>");
    CHECK_STR(e.message, strlen(e.message), "event stream: a record is longer than 3 bytes");
  }
}

/* A record that stays open for ever while comments arrive holds what it has and no more. */
static void test_bounded(void) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct sse s;
  struct record r;
  struct err e;
  sse_init(&s, &m, 1000, 1000);
  CHECK(sse_feed(&s, "event: e\ndata: begin\n", 21, &e) == 0 && sse_next(&s, &r, &e) == 0);
  for (int i = 0; i < 20000; i++)
    CHECK(sse_feed(&s, ": keep-alive comment\n", 21, &e) == 0 && sse_next(&s, &r, &e) == 0);
  CHECK(s.comments == 20000 && f.live < 1024);
  CHECK(sse_feed(&s, "data: end\n\n", 11, &e) == 0 && sse_next(&s, &r, &e) == 1);
  CHECK_STR(r.data.p, r.data.n, "begin\nend");
  CHECK_STR(r.name.p, r.name.n, "e");
  size_t asked = f.asked;
  for (int i = 0; i < 20000; i++) { /* the steady state allocates nothing */
    CHECK(sse_feed(&s, "data: 0123456789\n\nda", 20, &e) == 0 && sse_next(&s, &r, &e) == 1 && r.data.n == 10);
    CHECK(sse_next(&s, &r, &e) == 0 && sse_feed(&s, "ta: x\n\n", 7, &e) == 0 && sse_next(&s, &r, &e) == 1);
    CHECK_STR(r.data.p, r.data.n, "x");
  }
  CHECK(f.asked == asked);
  sse_free(&s);
  sse_free(&s);
  CHECK(f.live == 0 && f.wrong == 0);
}

/* A buffer is taken over, not copied, when nothing waits. */
static void test_swap(void) {
  struct mem m = mem_libc();
  struct sse s;
  struct buf b;
  struct record r;
  struct err e;
  sse_init(&s, &m, NO_CAP, NO_CAP);
  buf_init(&b, &m);
  CHECK(buf_adds(&b, "data: a\n\n") == 0);
  const char *p = b.p;
  CHECK(sse_feed_buf(&s, &b, &e) == 0 && s.in.p == p && b.n == 0 && sse_next(&s, &r, &e) == 1 && r.data.p == p + 6);
  CHECK(buf_adds(&b, "data: b\n\ndata: c") == 0 && b.p != p);
  p = b.p;
  CHECK(sse_feed_buf(&s, &b, &e) == 0 && s.in.p == p && sse_next(&s, &r, &e) == 1 && sse_next(&s, &r, &e) == 0);
  CHECK(buf_adds(&b, "d\n\n") == 0 && sse_feed_buf(&s, &b, &e) == 0 && b.n == 0 && sse_next(&s, &r, &e) == 1);
  CHECK_STR(r.data.p, r.data.n, "cd");
  sse_free(&s);
  buf_free(&b);
}

/* With the n-th allocation failing: 0 when all went well. */
static int with_failure(struct failing *f) {
  static const char in[] =
    "data: 1\nevent: late name\ndata: 2\n\nid: an id\ndata\n\nevent: e\ndata: a rather long line that needs a larger buffer ";
  struct mem m = failing_mem(f);
  struct sse s;
  struct buf b;
  struct record r;
  struct err e;
  int got = 0;
  err_clear(&e);
  sse_init(&s, &m, NO_CAP, NO_CAP);
  buf_init(&b, &m);
  for (int i = 0; i < 50 && got >= 0; i++) {
    got = i % 5 > 0 ? sse_feed(&s, in, sizeof in - 1, &e)
        : buf_add(&b, in, sizeof in - 1) < 0 ? err_memory(&e) : sse_feed_buf(&s, &b, &e);
    while (got >= 0 && (got = sse_next(&s, &r, &e)) == 1) continue;
  }
  if (got >= 0) got = sse_eof(&s, &r, &e);
  CHECK(got >= 0 || e.kind == KIND_MEMORY);
  sse_free(&s);
  buf_free(&b);
  CHECK(f->live == 0 && f->wrong == 0);
  return got < 0 ? -1 : 0;
}

static void test_no_memory(void) {
  struct failing f = { 0 };
  CHECK(with_failure(&f) == 0 && f.asked > 3);
  size_t all = f.asked;
  for (size_t n = 1; n <= all; n++) {
    f = (struct failing){ .fail_at = n };
    CHECK(with_failure(&f) == -1);
  }
}

int main(void) {
  struct mem m = mem_libc();
  struct buf out;
  buf_init(&out, &m);
  test_cases(&out);
  test_cuts(&out);
  test_caps(&out);
  test_bounded();
  test_swap();
  test_no_memory();
  buf_free(&out);
  return test_done("framing/sse");
}
