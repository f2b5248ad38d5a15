/*
** test.h: what the tests of the rules share: trees compared as JSON, and every allocation failing in turn.
*/
#ifndef KOINE_SPEC_C_HISTORY_TEST_H
#define KOINE_SPEC_C_HISTORY_TEST_H

#include "core/history/normalise.h"
#include "support/failing.h"
#include "support/test.h"

#define DEPTH 64

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
  size_t at = 1;
  for (int bad = -1; bad != 0 && at < 10000; at++) {
    struct failing x = { .fail_at = at };
    struct mem m = failing_mem(&x);
    bad = f(&m);
    CHECK(x.live == 0 && x.wrong == 0 && (bad == 0) == (x.asked < at));
  }
  CHECK(at > 4 && at < 10000);
}

#endif
