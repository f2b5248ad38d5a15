/* Tests of mem: old sizes, failure without change, alignment, and arenas that keep one chunk. */
#include <stdint.h>

#include "support/failing.h"
#include "support/test.h"

static void test_buf(void) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct buf b, c;
  buf_init(&b, &m);
  buf_init(&c, &m);
  CHECK(b.p == NULL && f.asked == 0);
  CHECK(buf_add(&b, NULL, 0) == 0 && b.p == NULL);
  CHECK(buf_adds(&b, "hello") == 0 && buf_addc(&b, ' ') == 0 && buf_addstr(&b, STR("world")) == 0);
  CHECK_STR(b.p, b.n, "hello world");
  buf_drop(&b, 6);
  CHECK_STR(b.p, b.n, "world");
  buf_swap(&b, &c);
  CHECK(b.n == 0 && c.n == 5);
  buf_drop(&c, 99);
  CHECK(c.n == 0 && c.cap > 0);
  size_t asked = f.asked;
  int full = 1;
  for (int i = 0; i < 100000; i++) full = full && buf_addc(&b, 'x') == 0;
  CHECK(full && b.n == 100000 && f.asked - asked < 16);
  CHECK(buf_reserve(&b, SIZE_MAX - 10) == -1 && b.n == 100000);
  CHECK(buf_str(&b).n == 100000);
  f.fail_at = 1;
  size_t cap = b.cap;
  CHECK(buf_reserve(&b, cap) == -1 && b.cap == cap && b.n == 100000 && b.p[99999] == 'x');
  buf_free(&b);
  buf_free(&c);
  buf_free(&c);
  CHECK(f.live == 0 && f.wrong == 0);
}

static void test_raw(void) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f), libc = mem_libc();
  char *p = mem_alloc(&m, 10);
  CHECK(p != NULL);
  p[9] = 'z';
  p = mem_realloc(&m, p, 10, 100);
  CHECK(p != NULL && p[9] == 'z' && f.live == 100);
  f.fail_at = f.asked + 1;
  CHECK(mem_realloc(&m, p, 100, 200) == NULL && p[9] == 'z');
  mem_free(&m, p, 100);
  mem_free(&m, NULL, 0);
  f.fail_at = 0;
  p = mem_realloc(&m, NULL, 77, 8); /* Lua passes a type tag as the old size of a new block; we pass 0 */
  mem_free(&m, p, 8);
  CHECK(f.live == 0 && f.wrong == 0);
  p = mem_alloc(&libc, 8);
  CHECK(p != NULL);
  p = mem_realloc(&libc, p, 8, 1000);
  CHECK(p != NULL);
  mem_free(&libc, p, 1000);
}

static void test_arena(void) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct arena a;
  arena_init(&a, &m);
  arena_reset(&a);
  for (size_t i = 0; i < 5000; i++) {
    char *p = arena_alloc(&a, i % 77);
    CHECK(p != NULL && (uintptr_t)p % _Alignof(max_align_t) == 0);
    if (p != NULL) memset(p, (int)i, i % 77);
  }
  CHECK(a.total == f.live && f.asked < 10);
  char *big = arena_alloc(&a, 3 << 20);
  CHECK(big != NULL && a.total > 3 << 20);
  if (big != NULL) memset(big, 1, 3 << 20);
  size_t asked = f.asked;
  CHECK(arena_alloc(&a, 8) != NULL && f.asked == asked); /* the large one did not displace the chunk being filled */
  struct str d = arena_dup(&a, STR("copy"));
  CHECK_STR(d.p, d.n, "copy");
  CHECK(d.p[4] == '\0');
  d = arena_dup(&a, STR_NONE);
  CHECK(d.p != NULL && d.n == 0);
  const char *z = arena_zero(&a, 40);
  for (int i = 0; i < 40; i++) CHECK(z[i] == 0);
  CHECK(arena_alloc(&a, SIZE_MAX) == NULL && arena_alloc(&a, SIZE_MAX - 20) == NULL);
  arena_reset(&a);
  CHECK(a.total == f.live && a.total <= 1 << 20 && a.head != NULL);
  asked = f.asked;
  CHECK(arena_alloc(&a, 1000) != NULL && f.asked == asked);
  f.fail_at = 1;
  CHECK(arena_alloc(&a, 2 << 20) == NULL && arena_zero(&a, 2 << 20) == NULL);
  CHECK(arena_dup(&a, (struct str){ a.next, 1 << 21 }).p == NULL);
  arena_free(&a);
  CHECK(f.live == 0 && f.wrong == 0 && a.total == 0);
  CHECK(arena_alloc(&a, 1) == NULL);
  f.fail_at = 0;
  CHECK(arena_alloc(&a, 5 << 20) != NULL);
  arena_reset(&a); /* an oversized chunk is not worth keeping */
  CHECK(f.live == 0 && a.head == NULL);
}

static void test_grow(void) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  size_t cap = 0;
  int *v = mem_grow(&m, NULL, 0, &cap, sizeof *v), *same;
  CHECK(v != NULL && cap == 1 && f.live == sizeof *v);
  for (int i = 0; i < 4; i++) {
    v = mem_grow(&m, v, (size_t)i, &cap, sizeof *v);
    v[i] = i;
  }
  CHECK(cap == 4 && f.live == 4 * sizeof *v && f.asked == 3);
  CHECK((same = mem_grow(&m, v, 3, &cap, sizeof *v)) == v && cap == 4);
  f.fail_at = f.asked + 1;
  CHECK(mem_grow(&m, v, 4, &cap, sizeof *v) == NULL && cap == 4 && v[3] == 3);
  f.fail_at = 0;
  CHECK((v = mem_grow(&m, v, 4, &cap, sizeof *v)) != NULL && cap == 8 && v[3] == 3);
  mem_free(&m, v, cap * sizeof *v);
  CHECK(f.live == 0 && f.wrong == 0);
  cap = SIZE_MAX / 4;
  CHECK(mem_grow(&m, NULL, cap, &cap, sizeof *v) == NULL && cap == SIZE_MAX / 4);
}

/* Every byte at every place of a word, and behind whole words. */
static void test_lower_copy(void) {
  char from[21], to[21];
  for (int c = 0; c < 256; c++)
    for (size_t at = 0; at < sizeof from; at++) {
      memset(from, at % 2 == 0 ? 'Z' : '[', sizeof from);
      from[at] = (char)c;
      str_lower_copy(to, from, sizeof from);
      for (size_t i = 0; i < sizeof from; i++) CHECK(to[i] == str_lower(from[i]));
    }
}

static void test_text(void) {
  static const char *const IN[] = { "a b", " a b", "a b\t", "\r\n a b \t\n" };
  for (size_t i = 0; i < sizeof IN / sizeof IN[0]; i++) {
    struct str s = str_trim((struct str){ IN[i], strlen(IN[i]) });
    CHECK_STR(s.p, s.n, "a b");
  }
  CHECK(str_trim(STR(" \t\r\n")).n == 0 && str_trim(STR_NONE).n == 0);
  CHECK(str_trim(STR("\0 ")).n == 1 && str_trim(STR("\va\f")).n == 3); /* JSON's white space only */
  CHECK(str_is_blank(STR(" \t\n\v\f\r")) && str_is_blank(STR_NONE) && !str_is_blank(STR(" \b")) && !str_is_blank(STR("a ")));
  CHECK(str_contains(STR("Too MANY requests"), "many") && str_contains(STR("quota"), "quota"));
  CHECK(str_contains(STR("a quota"), "quota") && !str_contains(STR("quot"), "quota"));
  CHECK(!str_contains(STR("quot\xC1"), "quota") && !str_contains(STR_NONE, "quota"));
  CHECK(str_contains(STR("ququota"), "quota") && !str_contains((struct str){ "quota", 4 }, "quota"));
}

int main(void) {
  test_raw();
  test_buf();
  test_arena();
  test_grow();
  test_lower_copy();
  test_text();
  CHECK(str_eq(STR("ab"), "ab") && !str_eq(STR("ab"), "abc") && !str_eq(STR("ac"), "ab"));
  CHECK(str_same(STR_NONE, STR("")) && str_same(STR("x"), STR("x")) && !str_same(STR("x"), STR("y")));
  return test_done("base/mem");
}
