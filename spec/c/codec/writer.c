/* writer.c: the fields of a request's body, and what the caller adds to them; its path. */
#include "core/codec/shared/writer.h"
#include "support/failing.h"
#include "support/test.h"

/* Writes the field named, if any, what the request adds, and the last field: the body, with the number of warnings behind
** it. 0, or -1. */
static int write_body(const struct mem *m, const char *request, const char *field, struct buf *out) {
  struct arena a;
  struct buf path;
  struct quirks quirks;
  struct err e;
  struct render r = { .a = &a, .quirks = &quirks, .body = out, .path = &path };
  struct writer w = { .r = &r, .e = &e };
  out->n = 0;
  err_clear(&e);
  arena_init(&a, m);
  buf_init(&path, m);
  quirks_default(&quirks);
  r.request = json_tree(&a, (struct str){ request, strlen(request) }, 8, &e);
  r.warnings = node_new(&a, NODE_ARRAY);
  if (r.request == NULL || r.warnings == NULL) w.failed = 1;
  if (!w.failed) {
    writer_json(&w, "{");
    if (field != NULL) writer_field_word(&w, field, "x");
    writer_extra(&w, "last");
    writer_field(&w, "last");
    writer_json(&w, "[]}");
    writer_int(&w, (int64_t)r.warnings->count);
  }
  CHECK(!w.failed || r.request == NULL || r.warnings == NULL || e.kind == KIND_MEMORY);
  buf_free(&path);
  arena_free(&a);
  return w.failed ? -1 : 0;
}

static const struct { const char *request, *field, *body; } CASES[] = {
  { "{}", NULL, "{\"last\":[]}0" },
  { "{}", "c", "{\"c\":\"x\",\"last\":[]}0" },
  { "{\"extra\":{\"z\":1,\"m\":[]}}", NULL, "{\"m\":[],\"z\":1,\"last\":[]}0" },
  { "{\"extra\":{\"z\":1,\"c\":2}}", "c", "{\"c\":\"x\",\"z\":1,\"last\":[]}1" },
  { "{\"extra\":{\"last\":1,\"stream\":2,\"c\":3}}", "c", "{\"c\":\"x\",\"last\":[]}3" },
  { "{\"extra\":{\"last\":1}}", NULL, "{\"last\":[]}1" },
};

static void test_fields(void) {
  struct mem m = mem_libc();
  struct buf out;
  buf_init(&out, &m);
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    CHECK(write_body(&m, CASES[i].request, CASES[i].field, &out) == 0);
    CHECK_STR(out.p, out.n, CASES[i].body);
    for (size_t at = 1; ; at++) {
      struct failing f = { .fail_at = at };
      struct mem fm = failing_mem(&f);
      struct buf b;
      int r;
      buf_init(&b, &fm);
      r = write_body(&fm, CASES[i].request, CASES[i].field, &b);
      buf_free(&b);
      CHECK(f.live == 0 && f.wrong == 0 && (r == 0) == (f.asked < at));
      if (r == 0) break;
    }
  }
  buf_free(&out);
}

static void test_path(void) {
  static const char SEGMENT[] = "az/AZ.09-_~ %:\xC3\xA4\0?";
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct buf path;
  struct err e;
  struct render r = { .path = &path };
  struct writer w = { .r = &r, .e = &e };
  err_clear(&e);
  buf_init(&path, &m);
  writer_path(&w, (struct str){ SEGMENT, sizeof SEGMENT - 1 });
  CHECK(!w.failed);
  CHECK_STR(path.p, path.n, "az%2FAZ.09-_~%20%25%3A%C3%A4%00%3F");
  buf_free(&path);
  f.fail_at = f.asked + 1;
  writer_path(&w, STR("m"));
  CHECK(w.failed && e.kind == KIND_MEMORY && path.n == 0);
  buf_free(&path);
  CHECK(f.live == 0 && f.wrong == 0);
}

int main(void) {
  test_fields();
  test_path();
  return test_done("codec/writer");
}
