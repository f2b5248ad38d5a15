/* Tests of records that are not one event each: several lines, nothing, and those that the end of the body closed. */
#include "core/codec/shared/read.h"
#include "support/test.h"

/* What a reader was handed: [name|data]… */
struct seen {
  struct buf text;
  const char *fails; /* the data at which it fails; NULL = never */
};

static int reader(void *state, const struct record *r, struct events *out, struct err *e) {
  struct seen *s = state;
  (void)out;
  CHECK(buf_addc(&s->text, '[') == 0 && buf_addstr(&s->text, r->name) == 0 && buf_addc(&s->text, '|') == 0);
  CHECK(buf_addstr(&s->text, r->data) == 0 && buf_addc(&s->text, ']') == 0);
  if (s->fails != NULL && str_is(r->data, s->fails, strlen(s->fails))) return err_set(e, KIND_PROTOCOL, "as asked");
  return 0;
}

/* Reads the record of that data, named "n"; `want` is what the reader then has seen, n how many events. */
static void check(int line, const char *data, int unclosed, const char *fails, unsigned long n, const char *want) {
  struct mem m = mem_libc();
  struct limits limits;
  unsigned long count = 0;
  const struct parse p = { .limits = &limits, .events = &count };
  const struct record r = { .name = STR("n"), .data = { data, strlen(data) }, .retry = -1,
                            .joined = strchr(data, '\n') != NULL, .unclosed = unclosed };
  struct seen s = { .fails = fails };
  struct err e;
  int got;
  limits_default(&limits);
  buf_init(&s.text, &m);
  got = codec_record(&p, &r, reader, &s, NULL, &e);
  if (count != n) fprintf(stderr, "%d: %lu events, not %lu\n", line, count, n);
  CHECK(count == n && got == (fails != NULL ? -1 : 0) && (got == 0 || e.kind == KIND_PROTOCOL));
  test_str(__FILE__, line, s.text.p, s.text.n, want);
  buf_free(&s.text);
}

#define WHOLE(data, n, want) check(__LINE__, data, 0, NULL, n, want)
#define LAST(data, n, want) check(__LINE__, data, 1, NULL, n, want)
#define FAILS(data, at, n, want) check(__LINE__, data, 0, at, n, want)

int main(void) {
  WHOLE("", 0, "");
  WHOLE("{}", 1, "[n|{}]");
  WHOLE("no JSON", 1, "[n|no JSON]");
  WHOLE("{\"a\":\n1}", 1, "[n|{\"a\":\n1}]");
  WHOLE("{\n1}", 1, "[n|{\n1}]");
  WHOLE("{}\n[1]\n\n{}\n", 3, "[|{}][|[1]][|{}]");
  WHOLE("{}\n[DONE]", 2, "[|{}][|[DONE]]");
  WHOLE("\n", 0, "");
  FAILS("no JSON", "no JSON", 1, "[n|no JSON]");
  FAILS("1\n2\n3", "2", 2, "[|1][|2]");
  FAILS("{\n1}", "{\n1}", 1, "[n|{\n1}]");

  LAST("", 0, "");
  LAST("{}", 1, "[n|{}]");
  LAST("{\"a\":\n1}", 1, "[n|{\"a\":\n1}]");
  LAST("{\"a\":", 0, "");
  LAST("no JSON", 0, "");
  LAST("[DONE]", 1, "[|[DONE]]");
  LAST("{}\n[DONE]", 2, "[|{}][|[DONE]]");
  LAST("{}\n{\"a\":", 0, "");
  return test_done("codec/shared/lines");
}
