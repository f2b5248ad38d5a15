/*
** json.c: what the reader accepts can be written, read again and compared; skipping accepts exactly what reading does.
** Build with -fsanitize=fuzzer,address,undefined.
*/
#include <stdint.h>
#include <stdlib.h>

#include "core/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH 64

static int skips(struct str s) {
  struct json j;
  struct err e;
  json_open(&j, s, DEPTH, &e);
  return json_next(&j) != J_ERROR && json_skip(&j) == 0 && json_next(&j) == J_EOF;
}

/* Written, read and written once more: the same bytes and an equal tree. */
static void check(struct arena *a, const struct node *v, int (*write)(struct buf *, const struct node *,
    struct err *)) {
  struct buf once, twice;
  struct err e;
  buf_init(&once, a->m);
  buf_init(&twice, a->m);
  if (write(&once, v, &e) < 0) abort();
  struct node *w = json_tree(a, buf_str(&once), DEPTH, &e);
  if (w == NULL || write(&twice, w, &e) < 0) abort();
  if (!str_same(buf_str(&once), buf_str(&twice)) || !node_equal(v, w) || !node_equal(w, v)) abort();
  buf_free(&once);
  buf_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct str s = { (const char *)data, size };
  arena_init(&a, &m);
  struct node *v = json_tree(&a, s, DEPTH, &e);
  if (skips(s) != (v != NULL)) abort();
  if (v != NULL) {
    check(&a, v, json_write);
    check(&a, v, json_write_sorted);
    void *block = malloc(node_size(v));
    if (block != NULL && !node_equal(node_pack(block, v), node_copy(&a, v))) abort();
    free(block);
  } else if (e.offset > size) {
    abort();
  }
  arena_free(&a);
  return 0;
}
