/*
** cost.h: what the tokens of an answer cost: counts times prices. Owns nothing, cannot fail.
*/
#ifndef KOINE_COST_H
#define KOINE_COST_H

#include <math.h>

#pragma GCC visibility push(hidden)

#define COST_UNKNOWN ((double)NAN) /* of a count or a price */

/* Of tokens that went in beside the cache, came out, were read from the cache, were written to it; of the written ones those
** that are kept for an hour. */
struct counts {
  double input, output, cache_read, cache_write;
  double cache_write_1h; /* 0: none, or not told apart */
};

/* USD per 1,000,000 tokens of each. `cache_write` is the price of those that are kept for the usual time. */
struct prices {
  double input, output, cache_read, cache_write, cache_write_1h;
};

/* USD. */
struct cost {
  double input, output, cache_read, cache_write, total;
};

/* The cost of the counts: 1, or 0 where it is not known: a count is unknown, or it is more than 0 and its price is unknown.
** What was not counted costs nothing, whatever its price. A count of the cache may be unknown where its price is, too: the
** provider does not charge for it. */
int cost_of(const struct counts *n, const struct prices *p, struct cost *out);

#pragma GCC visibility pop

#endif
