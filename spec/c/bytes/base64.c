/* Tests of base64: the vectors of RFC 4648, what else is read, what is refused, every length there and back. */
#include "core/bytes/base64.h"
#include "support/failing.h"
#include "support/test.h"

static struct str text(const char *s) { return (struct str){ s, strlen(s) }; }

static void test_vectors(void) {
  static const struct { const char *bytes, *text; } CASES[] = {
    { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
    { "foobar", "Zm9vYmFy" }, { "\xFB\xEF\xFF", "++//" },
  };
  struct mem m = mem_libc();
  struct arena a;
  struct buf b;
  arena_init(&a, &m);
  buf_init(&b, &m);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    struct str bytes = STR_NONE;
    CHECK(base64_decode(&a, text(CASES[i].text), &bytes) == 0);
    CHECK_STR(bytes.p, bytes.n, CASES[i].bytes);
    b.n = 0;
    CHECK(base64_encode(&b, text(CASES[i].bytes)) == 0);
    CHECK_STR(b.p, b.n, CASES[i].text);
  }
  buf_free(&b);
  arena_free(&a);
}

static void test_read(void) {
  static const char *const GOOD[] = { "--__", "++//", "++\r\n//\n", "++//\r\n" }, *const BAD[] = { "A", "AAAAA", "A!", " AA" };
  struct mem m = mem_libc();
  struct str bytes;
  struct arena a;
  arena_init(&a, &m);
  for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
    CHECK(base64_decode(&a, text(GOOD[i]), &bytes) == 0);
    CHECK_STR(bytes.p, bytes.n, "\xFB\xEF\xFF");
  }
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) CHECK(base64_decode(&a, text(BAD[i]), &bytes) == -1);
  arena_free(&a);
}

static void test_lengths(void) {
  char all[256];
  for (int i = 0; i < 256; i++) all[i] = (char)i;
  for (size_t n = 0; n <= sizeof all; n++) {
    struct mem m = mem_libc();
    struct str bytes = STR_NONE;
    struct arena a;
    struct buf b;
    arena_init(&a, &m);
    buf_init(&b, &m);
    CHECK(base64_encode(&b, (struct str){ all, n }) == 0 && b.n == (n + 2) / 3 * 4);
    CHECK(base64_decode(&a, buf_str(&b), &bytes) == 0 && str_same(bytes, (struct str){ all, n }));
    buf_free(&b);
    arena_free(&a);
  }
}

static void test_no_memory(void) {
  struct failing f = { .fail_at = 1 };
  struct mem m = failing_mem(&f);
  struct str bytes;
  struct arena a;
  struct buf b;
  arena_init(&a, &m);
  buf_init(&b, &m);
  CHECK(base64_decode(&a, STR("AAAA"), &bytes) == -2 && base64_encode(&b, STR("abc")) == -1);
  buf_free(&b);
  arena_free(&a);
  CHECK(f.live == 0 && f.wrong == 0);
}

int main(void) {
  test_vectors();
  test_read();
  test_lengths();
  test_no_memory();
  return test_done("bytes/base64");
}
