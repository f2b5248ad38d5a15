/* Tests of records that are not one event each: several lines, nothing, and those that the end of the body closed. */
#include "core/codec/shared/read.h"
#include "support/test.h"
#include "support/text.h"

/* The records that a reader was handed: [name|data]… */
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

static const struct {
  const char *data;
  int unclosed;          /* the end of the body closed the record */
  const char *fails;     /* the data at which the reader fails; NULL = never */
  unsigned long events;  /* how many it counts */
  const char *seen;      /* what the reader was handed */
} CASES[] = {
  { "", 0, NULL, 0, "" },
  { "{}", 0, NULL, 1, "[n|{}]" },
  { "no JSON", 0, NULL, 1, "[n|no JSON]" },
  { "{\"a\":\n1}", 0, NULL, 1, "[n|{\"a\":\n1}]" },
  { "{\n1}", 0, NULL, 1, "[n|{\n1}]" },
  { "{}\n[1]\n\n{}\n", 0, NULL, 3, "[|{}][|[1]][|{}]" },
  { "{}\n[DONE]", 0, NULL, 2, "[|{}][|[DONE]]" },
  { "\n", 0, NULL, 0, "" },
  { "no JSON", 0, "no JSON", 1, "[n|no JSON]" },
  { "1\n2\n3", 0, "2", 2, "[|1][|2]" },
  { "{\n1}", 0, "{\n1}", 1, "[n|{\n1}]" },
  { "", 1, NULL, 0, "" },
  { "{}", 1, NULL, 1, "[n|{}]" },
  { "{\"a\":\n1}", 1, NULL, 1, "[n|{\"a\":\n1}]" },
  { "{\"a\":", 1, NULL, 0, "" },
  { "no JSON", 1, NULL, 0, "" },
  { "[DONE]", 1, NULL, 1, "[|[DONE]]" },
  { "{}\n[DONE]", 1, NULL, 2, "[|{}][|[DONE]]" },
  { "{}\n{\"a\":", 1, NULL, 0, "" },
};

/* Reads the record of that case, named "n". */
static void check(size_t i) {
  struct mem m = mem_libc();
  struct limits limits;
  unsigned long count = 0;
  const struct parse p = { .limits = &limits, .events = &count };
  const struct record r = { .name = STR("n"), .data = z(CASES[i].data), .retry = -1,
                            .joined = strchr(CASES[i].data, '\n') != NULL, .unclosed = CASES[i].unclosed };
  struct seen s = { .fails = CASES[i].fails };
  struct err e;
  int got;
  limits_default(&limits);
  buf_init(&s.text, &m);
  got = codec_record(&p, &r, reader, &s, NULL, &e);
  if (count != CASES[i].events) fprintf(stderr, "case %zu: %lu events, not %lu\n", i, count, CASES[i].events);
  CHECK(count == CASES[i].events && got == (CASES[i].fails != NULL ? -1 : 0) && (got == 0 || e.kind == KIND_PROTOCOL));
  CHECK_STR(s.text.p, s.text.n, CASES[i].seen);
  buf_free(&s.text);
}

int main(void) {
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) check(i);
  return test_done("codec/shared/lines");
}
