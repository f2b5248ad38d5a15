/*
** sse_alike.c: records of an event stream that differ in their data alone are taken the short way, and say what they say
** line by line. Streams that a seeded generator makes of pieces of records are read whole, and byte by byte, where no
** record is there at once. Records that went the short way are counted, so that it cannot fall out of use unseen.
*/
#include "core/framing/sse.h"
#include "support/random.h"
#include "support/test.h"

enum { CASES = 20000 };

static unsigned long taken; /* the short way */

static void show(struct buf *out, const struct record *r) {
  char rest[64];
  snprintf(rest, sizeof rest, "~%ld %d%d>", r->retry, r->joined, r->unclosed);
  CHECK(buf_addc(out, '<') == 0 && buf_addstr(out, r->name) == 0 && buf_addc(out, r->data.p == NULL ? '!' : '|') == 0);
  CHECK(buf_addstr(out, r->data) == 0 && buf_addc(out, '#') == 0 && buf_addstr(out, r->id) == 0);
  CHECK(buf_adds(out, rest) == 0);
}

/* The records of `in`, which comes in pieces of so many bytes, then why it ended. */
static void run(struct buf *out, struct str in, size_t piece, size_t cap) {
  struct mem m = mem_libc();
  struct sse s;
  struct buf b;
  struct record r;
  struct err e;
  int got = 0;
  sse_init(&s, &m, cap, cap);
  buf_init(&b, &m);
  out->n = 0;
  for (size_t at = 0; at < in.n && got >= 0; at += piece) {
    size_t n = in.n - at < piece ? in.n - at : piece;
    CHECK(buf_add(&b, in.p + at, n) == 0);
    got = sse_feed_buf(&s, &b, &e);
    while (got >= 0 && (got = sse_next(&s, &r, &e)) == 1) {
      taken += r.data.p != NULL && r.data.p != s.in.p + s.data; /* where the lines' own way leaves it */
      show(out, &r);
    }
  }
  if (got >= 0 && (got = sse_eof(&s, &r, &e)) == 1) show(out, &r);
  CHECK(buf_addc(out, (char)('0' + got)) == 0 && buf_addc(out, '\0') == 0);
  sse_free(&s);
  buf_free(&b);
}

#define ANY(list) ((list)[below(sizeof (list) / sizeof *(list))])

/* A stream of records, many of which open as the one before and end in the same way. */
static void make(struct buf *b) {
  static const char *const OPENINGS[] = {
    "data: ", "data:", "data:  ", "data", "data :", "event: e{data: ", "event: other{data: ", "event:e{data:", "event: e{data",
    "event{data: ", "event: {data: ", ": c{data: ", "id: 3{data: ", "retry: 5{data: ", "{data: ", "data: x{data: ",
    "event: x{event: y{data: ", "event: e{id: 4{data: ", "[", "event: x:{data: ", "x:",
    "event: a name that is too long to be kept with its record as an opening{data: ",
  };
  static const char *const VALUES[] = {
    "a", "", "b", " c", ":", "a longer one, of more than sixteen bytes: data: x", "\r", "a\rb", "\n", "a\nb", "[]", "{data: x{data: y",
    "event: e", "{{{", "{\"a\":1}"
  };
  static const char *const ENDS[] = { "\n", "\r\n", "\r" }, *const CLOSINGS[] = { "{{", "{", "{{{", "{}", "}" };
  const char *opening = "", *end = "\n", *closing = "";
  b->n = 0;
  for (unsigned i = 2 + below(12); i > 0; i--) {
    if (opening[0] == '\0' || below(5) == 0) {
      opening = below(3) > 0 ? OPENINGS[below(2) * 5] : ANY(OPENINGS);
      closing = below(4) > 0 ? CLOSINGS[0] : ANY(CLOSINGS);
      end = ANY(ENDS);
    }
    const char *parts[] = { opening, VALUES[below(below(3) > 0 ? 3 : sizeof VALUES / sizeof *VALUES)], closing };
    for (int k = 0; k < 3; k++)
      for (const char *p = parts[k]; *p != '\0'; p++)
        CHECK((*p == '{' ? buf_adds(b, end) : *p == '}' ? buf_adds(b, ANY(ENDS)) : buf_addc(b, *p)) == 0);
    if (below(30) == 0 && b->n > 0) b->p[below((unsigned)b->n)] = "\r\n:d \0"[below(6)];
  }
}

int main(void) {
  struct mem m = mem_libc();
  struct buf in, whole, pieces;
  size_t bad = 0;
  buf_init(&in, &m);
  buf_init(&whole, &m);
  buf_init(&pieces, &m);
  for (int i = 0; i < CASES; i++) {
    size_t cap = below(6) == 0 ? 1 + below(40) : 1 << 20, before = taken;
    make(&in);
    run(&pieces, buf_str(&in), 1, cap);
    CHECK(taken == before);
    run(&whole, buf_str(&in), in.n + 1, cap);
    bad += !str_same(buf_str(&whole), buf_str(&pieces));
    run(&pieces, buf_str(&in), 1 + below(40), cap);
    if (!str_same(buf_str(&whole), buf_str(&pieces)) && bad++ == 0)
      fprintf(stderr, "case %d differs:\n%.*s\n---\n%s\n---\n%s\n", i, (int)in.n, in.p, whole.p, pieces.p);
  }
  CHECK(bad == 0);
  CHECK(taken > CASES);
  printf("sse: %lu records by the short way in %d streams\n", taken, CASES);
  buf_free(&in);
  buf_free(&whole);
  buf_free(&pieces);
  return test_done("framing/sse_alike");
}
