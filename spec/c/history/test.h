/*
** test.h: what the tests of the rules share: an allocator that fails on request, and trees compared as JSON.
*/
#ifndef KOINE_SPEC_C_HISTORY_TEST_H
#define KOINE_SPEC_C_HISTORY_TEST_H

#include <stdlib.h>

#include "support/test.h"
#include "core/history/normalise.h"

#define DEPTH 64

/* An allocator that fails once its countdown is over, and knows what is held. */
struct failing {
  long left; /* allocations until failure; negative = never */
  size_t held;
};

static inline void *failing_alloc(void *ud, void *p, size_t osize, size_t nsize) {
  struct failing *f = ud;
  if (nsize == 0) {
    free(p);
    f->held -= p == NULL ? 0 : osize;
    return NULL;
  }
  if (nsize > osize && f->left == 0) return NULL;
  if (nsize > osize && f->left > 0) f->left--;
  p = realloc(p, nsize);
  if (p != NULL) f->held += nsize - osize;
  return p;
}

static inline void expect_json(const char *file, int line, struct arena *a, const struct node *v,
                               const char *expected) {
  struct err e;
  struct buf b;
  err_clear(&e);
  buf_init(&b, a->m);
  CHECK(json_write(&b, v, &e) == 0);
  test_str(file, line, b.p, b.n, expected);
  buf_free(&b);
}

/* Runs f until no allocation fails any more, each time one later; f gives 0, or -1 when memory ran out. */
static inline void each_allocation_failing(int (*f)(const struct mem *m)) {
  struct failing state = { -1, 0 };
  struct mem m = { failing_alloc, &state };
  long i = 0;
  CHECK(f(&m) == 0 && state.held == 0);
  for (int bad = -1; bad != 0 && i < 10000; i++) {
    state.left = i;
    bad = f(&m);
    CHECK(state.held == 0);
  }
  CHECK(i > 3 && i < 10000);
}

#endif
