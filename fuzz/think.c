/*
** think.c: what is text and what is reasoning does not depend on how the answer is cut, and is what a reader of the
** whole answer finds. The first byte chooses the size of the pieces. Build with -fsanitize=fuzzer,address,undefined.
*/
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#include "core/codec/shared/leaked/think.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(cond) ((cond) ? (void)0 : abort())

struct answer {
  struct buf text, thoughts; /* blocks of reasoning end with a NUL */
};

static void take(struct answer *o, int kind, struct str s) {
  REQUIRE(kind >= 0);
  if (kind == THINK_TEXT) REQUIRE(s.n > 0 && buf_addstr(&o->text, s) == 0);
  if (kind == THINK_THOUGHT) REQUIRE(s.n > 0 && buf_addstr(&o->thoughts, s) == 0);
  if (kind == THINK_CLOSED) REQUIRE(buf_addc(&o->thoughts, '\0') == 0);
}

static void filter(const struct mem *m, struct str in, size_t piece, struct answer *o) {
  struct think t;
  struct arena a;
  struct str out;
  arena_init(&a, m);
  think_init(&t, m);
  while (in.n > 0) {
    struct str s = { in.p, in.n < piece ? in.n : piece };
    int kind;
    in.p += s.n;
    in.n -= s.n;
    arena_reset(&a);
    do take(o, kind = think_next(&t, &a, &s, &out), out); while (kind != THINK_NONE);
  }
  take(o, think_end(&t, &a, &out), out);
  think_free(&t);
  arena_free(&a);
}

static int begins(struct str s, const char *tag) {
  return s.n >= strlen(tag) && strncasecmp(s.p, tag, strlen(tag)) == 0;
}

/* The same, read from the whole answer. */
static void read_whole(struct str in, struct answer *o) {
  int seen = 0;
  while (in.n > 0) {
    if (begins(in, "<think>")) {
      seen = 1;
      in.p += 7;
      in.n -= 7;
      for (; in.n > 0 && !begins(in, "</think>"); in.p++, in.n--) REQUIRE(buf_addc(&o->thoughts, in.p[0]) == 0);
      if (in.n == 0) break;
      REQUIRE(buf_addc(&o->thoughts, '\0') == 0);
      in.p += 8;
      in.n -= 8;
    } else if (memchr(" \t\n\v\f\r", in.p[0], 6) != NULL) {
      REQUIRE(buf_addc(&o->text, in.p[0]) == 0);
      in.p++;
      in.n--;
    } else {
      REQUIRE(buf_addstr(&o->text, in) == 0);
      return;
    }
  }
  if (seen) o->text.n = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct answer whole, cut;
  if (size < 1) return 0;
  struct str in = { (const char *)data + 1, size - 1 };
  buf_init(&whole.text, &m);
  buf_init(&whole.thoughts, &m);
  buf_init(&cut.text, &m);
  buf_init(&cut.thoughts, &m);
  read_whole(in, &whole);
  filter(&m, in, (size_t)data[0] % 32 + 1, &cut);
  REQUIRE(str_same(buf_str(&whole.text), buf_str(&cut.text)));
  REQUIRE(str_same(buf_str(&whole.thoughts), buf_str(&cut.thoughts)));
  buf_free(&whole.text);
  buf_free(&whole.thoughts);
  buf_free(&cut.text);
  buf_free(&cut.thoughts);
  return 0;
}
