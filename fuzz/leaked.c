/*
** leaked.c: the calls and the text do not depend on how the answer is cut; only tools that were offered are called,
** what is made of tagged values is a JSON object, what is shown is the answer's beginning, and without calls nothing is
** lost. The first byte chooses the size of the pieces and whether the answer was cut off. Build with
** -fsanitize=fuzzer,address,undefined.
*/
#include <stdint.h>
#include <stdlib.h>

#include "core/codec/shared/leaked/leaked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH 32
#define REQUIRE(cond) ((cond) ? (void)0 : abort())

/* `tags`: no call in the answer can be written in JSON. */
static void check_call(const struct leaked_call *call, int cut, int tags, struct arena *a) {
  struct err e;
  REQUIRE(str_eq(call->name, "f") || str_eq(call->name, "g"));
  if (tags && !cut) REQUIRE(node_is(json_tree(a, call->arguments, DEPTH, &e), NODE_OBJECT));
}

/* Everything the answer gave goes to `out`; returns how much of it was text shown at once. */
static size_t run(struct str in, size_t piece, int cut, struct buf *out, int *calls) {
  struct mem m = mem_libc();
  struct leaked k;
  struct leaked_call *call;
  struct arena a;
  struct str text;
  struct node g = { .type = NODE_STRING, .s = STR("g") };
  struct node f = { .type = NODE_STRING, .s = STR("f"), .next = &g };
  struct node names = { .type = NODE_ARRAY, .child = &f, .last = &g, .count = 2 };
  size_t shown;
  arena_init(&a, &m);
  leaked_init(&k, &m);
  for (size_t at = 0; at < in.n; at += piece) {
    struct str s = { in.p + at, in.n - at < piece ? in.n - at : piece };
    arena_reset(&a);
    REQUIRE(leaked_feed(&k, &a, s, &text) == 0 && buf_addstr(out, text) == 0);
  }
  shown = out->n;
  REQUIRE(leaked_recover(&k, &a, &names, DEPTH, cut, &call, &text) == 0);
  *calls = call != NULL;
  if (call == NULL) REQUIRE(leaked_release(&k, &a, &text) == 0);
  for (; call != NULL; call = call->next) {
    check_call(call, cut, memchr(in.p, '{', in.n) == NULL, &a);
    REQUIRE(buf_addstr(out, call->name) == 0 && buf_addc(out, '\0') == 0 && buf_addstr(out, call->arguments) == 0);
  }
  REQUIRE(buf_addstr(out, text) == 0);
  leaked_free(&k);
  arena_free(&a);
  return shown;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct buf whole, pieces, all;
  int calls, again;
  size_t shown;
  if (size < 2) return 0;
  struct str in = { (const char *)data + 1, size - 1 };
  buf_init(&whole, &m);
  buf_init(&pieces, &m);
  buf_init(&all, &m);
  shown = run(in, in.n, data[0] & 1, &whole, &calls);
  REQUIRE(run(in, (size_t)(data[0] >> 1) % 32 + 1, data[0] & 1, &pieces, &again) == shown && calls == again);
  REQUIRE(str_same(buf_str(&whole), buf_str(&pieces)));
  REQUIRE(shown <= in.n && (shown == 0 || memcmp(whole.p, in.p, shown) == 0));
  if (!calls) {
    REQUIRE(buf_addstr(&all, in) == 0);
    all.n = json_join_surrogates(all.p, all.n);
    whole.n = json_join_surrogates(whole.p, whole.n);
    REQUIRE(str_same(buf_str(&all), buf_str(&whole)));
  }
  buf_free(&whole);
  buf_free(&pieces);
  buf_free(&all);
  return 0;
}
