/* writer.c: the fields of a request's body, and what the caller adds to them; its path. */
#include "codec/kit.h"
#include "core/codec/shared/writer.h"

/* The request, the field before what it adds (NULL: none), the body, the number of warnings. */
static const struct { const char *request, *field, *body; size_t warnings; } CASES[] = {
  { "{}", NULL, "{'last':[]}", 0 },
  { "{}", "c", "{'c':'x','last':[]}", 0 },
  { "{'extra':{'z':1,'m':[]}}", NULL, "{'m':[],'z':1,'last':[]}", 0 },
  { "{'extra':{'z':1,'c':2}}", "c", "{'c':'x','z':1,'last':[]}", 1 },
  { "{'extra':{'last':1,'stream':2,'c':3}}", "c", "{'c':'x','last':[]}", 3 },
  { "{'extra':{'last':1}}", NULL, "{'last':[]}", 1 },
};

/* Writes the body of a case: 0, or -1. */
static int write_body(size_t at, const struct mem *m) {
  struct rendering x;
  int bad = rendering_open(&x, &codec_chat, m, CASES[at].request);
  struct writer w = { .r = &x.r, .e = &x.e, .failed = bad != 0 };
  if (bad == 0) {
    writer_json(&w, "{");
    if (CASES[at].field != NULL) writer_field_word(&w, CASES[at].field, "x");
    writer_extra(&w, "last");
    writer_field(&w, "last");
    writer_json(&w, "[]}");
  }
  if (w.failed) CHECK(x.e.kind == KIND_MEMORY);
  else {
    CHECK_STR(x.body.p, x.body.n, json(CASES[at].body));
    CHECK(x.r.warnings->count == CASES[at].warnings);
  }
  rendering_close(&x);
  return w.failed ? -1 : 0;
}

static void test_fields(size_t i) {
  struct mem m = mem_libc();
  CHECK(write_body(i, &m) == 0);
  for (size_t at = 1; ; at++) {
    struct failing f = { .fail_at = at };
    struct mem fm = failing_mem(&f);
    int r = write_body(i, &fm);
    CHECK(f.live == 0 && f.wrong == 0 && (r == 0) == (f.asked < at));
    if (r == 0) return;
  }
}

static void test_path(void) {
  static const char SEGMENT[] = "az/AZ.09-_~ %:\xC3\xA4\0?";
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct rendering x;
  struct writer w = { .r = &x.r, .e = &x.e };
  CHECK(rendering_open(&x, &codec_chat, &m, "{}") == 0);
  writer_path(&w, "model", (struct str){ SEGMENT, sizeof SEGMENT - 1 });
  CHECK(!w.failed);
  CHECK_STR(x.path.p, x.path.n, "az%2FAZ.09-_~%20%25%3A%C3%A4%00%3F");
  buf_free(&x.path);
  f.fail_at = f.asked + 1;
  writer_path(&w, "model", STR("m"));
  CHECK(w.failed && x.e.kind == KIND_MEMORY && x.path.n == 0);
  rendering_close(&x);
  CHECK(f.live == 0 && f.wrong == 0);
}

int main(void) {
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) test_fields(i);
  test_path();
  return test_done("codec/shared/writer");
}
