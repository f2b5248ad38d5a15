/* think.c: reasoning written into the text. Every case whole, cut in two at every place, in single characters, with
** empty pieces between, and with each allocation failing in turn. */
#include "support/test.h"
#include "support/failing.h"
#include "core/codec/shared/leaked/think.h"

/* The output: "T" and "R" before a run of text or reasoning, "/" where a block of reasoning was closed. */
struct log {
  char s[1024];
  size_t n;
  int kind;
};

static void say(struct log *l, const char *p, size_t n) {
  if (n > sizeof l->s - l->n) n = sizeof l->s - l->n;
  memcpy(l->s + l->n, p, n);
  l->n += n;
}

static void piece(struct log *l, int kind, struct str s) {
  if (kind == THINK_CLOSED) say(l, "/", 1);
  else if (kind != THINK_NONE && kind != THINK_OPENED && kind != l->kind) say(l, kind == THINK_TEXT ? "T:" : "R:", 2);
  if (kind == THINK_TEXT || kind == THINK_THOUGHT) {
    CHECK(s.n > 0);
    say(l, s.p, s.n);
  }
  if (kind != THINK_NONE) l->kind = kind;
}

/* 0, or -1: out of memory. */
static int feed(struct think *t, struct arena *a, const char *p, size_t n, struct log *l) {
  struct str in = { p, n }, out;
  int kind;
  arena_reset(a);
  do {
    kind = think_next(t, a, &in, &out);
    if (kind < 0) return -1;
    piece(l, kind, out);
  } while (kind != THINK_NONE);
  CHECK(in.n == 0 && out.n == 0);
  return 0;
}

static int finish(struct think *t, struct arena *a, struct log *l) {
  struct str out;
  int kind = think_end(t, a, &out);
  if (kind < 0) return -1;
  piece(l, kind, out);
  return 0;
}

/* Feeds s in pieces of `size` bytes after a first one of `first`. */
static int run(const struct mem *m, const char *s, size_t first, size_t size, struct log *l) {
  struct think t;
  struct arena a;
  size_t n = strlen(s), at = 0;
  int r = 0;
  memset(l, 0, sizeof *l);
  arena_init(&a, m);
  think_init(&t, m);
  while (r == 0 && at < n) {
    size_t k = at == 0 && first > 0 ? first : size;
    if (k > n - at) k = n - at;
    r = feed(&t, &a, s + at, k, l);
    if (r == 0) r = feed(&t, &a, s + at, 0, l);
    at += k;
  }
  if (r == 0) r = finish(&t, &a, l);
  think_free(&t);
  arena_free(&a);
  return r;
}

static void expect(const char *file, int line, const char *s, const char *wanted) {
  struct mem m = mem_libc();
  struct log l;
  CHECK(run(&m, s, 0, strlen(s) + 1, &l) == 0);
  test_str(file, line, l.s, l.n, wanted);
  for (size_t i = 1; i < strlen(s); i++) {
    CHECK(run(&m, s, i, strlen(s), &l) == 0);
    test_str(file, line, l.s, l.n, wanted);
  }
  for (size_t size = 1; size <= 9; size++) {
    CHECK(run(&m, s, 0, size, &l) == 0);
    test_str(file, line, l.s, l.n, wanted);
  }
  for (size_t at = 1; at < 100; at++) {
    struct failing f = { .fail_at = at };
    struct mem fm = failing_mem(&f);
    int r = run(&fm, s, 0, 1, &l);
    CHECK(f.live == 0 && f.wrong == 0 && (r == -1) == (f.asked >= at));
    if (r == 0) break;
  }
}

#define CASE(s, wanted) expect(__FILE__, __LINE__, s, wanted)

static void test_leading(void) {
  CASE("<think>why</think>because", "R:why/T:because");
  CASE("<think>why</think>", "R:why/");
  CASE("<THINK>why</Think>because", "R:why/T:because");
  CASE("<think></think>because", "/T:because");
  CASE("", "");
}

static void test_no_tag(void) {
  CASE("because", "T:because");
  CASE(" \n because \n", "T: \n because \n");
  CASE(" \n", "T: \n");
  CASE("<thin>k", "T:<thin>k");
  CASE("<thinking>a</thinking>b", "T:<thinking>a</thinking>b");
  CASE("<<think>a</think>", "T:<<think>a</think>");
  CASE("< think>a", "T:< think>a");
  CASE("</think>a", "T:</think>a");
}

/* White space round the blocks: before the text it stays with the text, alone it goes. */
static void test_space(void) {
  CASE("\n<think>why</think>\n\nbecause", "R:why/T:\n\n\nbecause");
  CASE("\n<think>why</think>\n\n", "R:why/");
  CASE("<think>\n why \n</think>because", "R:\n why \n/T:because");
}

static void test_several(void) {
  CASE("<think>a</think><think>b</think>c", "R:a/R:b/T:c");
  CASE("<think>a</think>\n<think>b</think>\nc", "R:a/R:b/T:\n\nc");
  CASE("<think>a</think>\n<think>b", "R:a/R:b");
}

static void test_later_is_text(void) {
  CASE("see <think>a</think>", "T:see <think>a</think>");
  CASE("<think>a</think>b <think>c</think>", "R:a/T:b <think>c</think>");
  CASE("b</think>c", "T:b</think>c");
}

static void test_fence(void) {
  CASE("```\n<think>a</think>\n```", "T:```\n<think>a</think>\n```");
  CASE("<think>```\nx</think>y", "R:```\nx/T:y");
  CASE("<think>a</think>```xml\n<think>b</think>\n```", "R:a/T:```xml\n<think>b</think>\n```");
}

static void test_inside(void) {
  CASE("<think>a<think>b</think>c", "R:a<think>b/T:c");
  CASE("<think>a</thin>b</think>c", "R:a</thin>b/T:c");
  CASE("<think>a<</think>b", "R:a</T:b");
  CASE("<think>1 < 2 </ 3</</think>b", "R:1 < 2 </ 3<//T:b");
  CASE("<think>\xC3\xA9\xF0\x9F\x98\x80</think>\xC3\xA9", "R:\xC3\xA9\xF0\x9F\x98\x80/T:\xC3\xA9");
}

static void test_unterminated(void) {
  CASE("<think>why", "R:why");
  CASE("<think>", "");
  CASE("<think>why</thi", "R:why</thi");
  CASE(" <think>why</", "R:why</");
  CASE(" <thi", "T: <thi");
  CASE("<", "T:<");
}

/* At most seven bytes of reasoning wait for the rest of a tag; nothing waits once the text has begun. */
static void test_holds_little(void) {
  struct mem m = mem_libc();
  struct think t;
  struct arena a;
  struct log l = { .n = 0 };
  arena_init(&a, &m);
  think_init(&t, &m);
  CHECK(feed(&t, &a, "<think>abc", 10, &l) == 0);
  CHECK_STR(l.s, l.n, "R:abc");
  CHECK(feed(&t, &a, "</think", 7, &l) == 0 && t.held.n == 7);
  CHECK(feed(&t, &a, "x", 1, &l) == 0 && t.held.n == 0);
  CHECK_STR(l.s, l.n, "R:abc</thinkx");
  CHECK(feed(&t, &a, "</think>yes<think", 17, &l) == 0 && t.held.n == 0);
  CHECK_STR(l.s, l.n, "R:abc</thinkx/T:yes<think");
  think_free(&t);
  arena_free(&a);
}

/* Feeds a, pauses, feeds b, ends. */
static void paused(const char *file, int line, const char *a, const char *b, const char *wanted) {
  struct mem m = mem_libc();
  struct think t;
  struct arena scratch;
  struct log l = { .n = 0 };
  struct str out;
  int kind;
  arena_init(&scratch, &m);
  think_init(&t, &m);
  CHECK(feed(&t, &scratch, a, strlen(a), &l) == 0);
  kind = think_pause(&t, &scratch, &out);
  CHECK(kind >= 0);
  piece(&l, kind, out);
  say(&l, "|", 1);
  l.kind = THINK_NONE;
  CHECK(feed(&t, &scratch, b, strlen(b), &l) == 0 && finish(&t, &scratch, &l) == 0);
  test_str(file, line, l.s, l.n, wanted);
  think_free(&t);
  arena_free(&scratch);
}

#define PAUSED(a, b, wanted) paused(__FILE__, __LINE__, a, b, wanted)

/* Where another block comes between, a tag that has begun goes on waiting; white space does not. */
static void test_pause(void) {
  PAUSED("<thi", "nk>why</think>yes", "|R:why/T:yes");
  PAUSED("<think>why</thi", "nk>yes", "R:why|/T:yes");
  PAUSED("<think>why", " now</think>yes", "R:why|R: now/T:yes");
  PAUSED("\n", "<think>why</think>yes", "T:\n|R:why/T:yes");
  PAUSED("<think>why</think>\n", "yes", "R:why/|T:yes");
  PAUSED("<think>why</think>\n", "<think>how</think>", "R:why/|R:how/");
  PAUSED("yes", "no", "T:yes|T:no");
  PAUSED("", "", "|");
}

int main(void) {
  test_leading();
  test_no_tag();
  test_space();
  test_several();
  test_later_is_text();
  test_fence();
  test_inside();
  test_unterminated();
  test_holds_little();
  test_pause();
  return test_done("codec/shared/think");
}
