/* cost.c: what the tokens of an answer cost. */
#include <math.h>

#include "core/message/cost.h"
#include "support/test.h"

static const struct prices PRICES = { 3, 15, 0.3, 3.75, 6 };

static int near(double a, double b) { return fabs(a - b) < 1e-12; }

/* The total; -1: not known. */
static double total(struct counts n, struct prices p) {
  struct cost c;
  return cost_of(&n, &p, &c) ? c.total : -1;
}

static void test_parts(void) {
  struct counts n = { 1e6, 2e6, 1e6, 3e6, 1e6 };
  struct cost c;
  CHECK(cost_of(&n, &PRICES, &c));
  CHECK(near(c.input, 3) && near(c.output, 30) && near(c.cache_read, 0.3) && near(c.cache_write, 2 * 3.75 + 6));
  CHECK(near(c.total, c.input + c.output + c.cache_read + c.cache_write));
  /* kept for an hour: all of it, or more than is said to be written */
  CHECK(near(total((struct counts){ 0, 0, 0, 1e6, 1e6 }, PRICES), 6));
  CHECK(near(total((struct counts){ 0, 0, 0, 0, 1e6 }, PRICES), 6));
  CHECK(near(total((struct counts){ 0, 0, 0, COST_UNKNOWN, 1e6 }, PRICES), 6));
}

/* What was not counted costs nothing; all else has to be known. */
static void test_unknown(void) {
  const struct prices none = { COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN };
  const struct counts some = { 10, 10, 10, 10, 5 };
  CHECK(total((struct counts){ 0, 0, 0, 0, 0 }, none) == 0);
  for (size_t i = 0; i < 4; i++) {
    struct counts n = some;
    ((double *)&n)[i] = COST_UNKNOWN;
    if (i < 3) CHECK(total(n, PRICES) < 0);
    n.cache_write_1h = 0;
    CHECK(total(n, PRICES) < 0);
  }
  for (size_t i = 0; i < 5; i++) {
    struct prices p = PRICES;
    ((double *)&p)[i] = COST_UNKNOWN;
    CHECK(total(some, p) < 0);
  }
  /* a provider without prices of a cache counts none */
  CHECK(total((struct counts){ 0, 0, COST_UNKNOWN, COST_UNKNOWN, 0 }, none) == 0);
  CHECK(total((struct counts){ 0, 0, COST_UNKNOWN, 0, 0 }, PRICES) < 0);
}

/* A price may be anything where nothing was counted. */
static void test_odd_prices(void) {
  const struct prices odd = { INFINITY, -INFINITY, NAN, -1, INFINITY };
  CHECK(total((struct counts){ 0, 0, 0, 0, 0 }, odd) == 0);
  CHECK(total((struct counts){ 1, 1, 0, 0, 0 }, odd) < 0); /* infinity less infinity */
}

int main(void) {
  test_parts();
  test_unknown();
  test_odd_prices();
  return test_done("message/cost");
}
