/*
** cost.c: what the tokens of an answer cost. See cost.h.
*/
#include "cost.h"

/* USD for `count` tokens at `price`; unknown when either is. */
static double part(double count, double price) { return count == 0 ? 0 : count * price / 1e6; }

/* The same of the cache: a count that is unknown and has no price is none. */
static double cached(double count, double price) { return isnan(count) && isnan(price) ? 0 : part(count, price); }

/* What was written to the cache, where some of it is kept for an hour. */
static double written(const struct counts *n, const struct prices *p) {
  double hour = n->cache_write_1h, rest = isnan(n->cache_write) ? 0 : n->cache_write - hour;
  return part(rest > 0 ? rest : 0, p->cache_write) + part(hour, p->cache_write_1h);
}

int cost_of(const struct counts *n, const struct prices *p, struct cost *out) {
  out->input = part(n->input, p->input);
  out->output = part(n->output, p->output);
  out->cache_read = cached(n->cache_read, p->cache_read);
  out->cache_write = n->cache_write_1h == 0 ? cached(n->cache_write, p->cache_write) : written(n, p);
  out->total = out->input + out->output + out->cache_read + out->cache_write;
  return !isnan(out->total);
}
