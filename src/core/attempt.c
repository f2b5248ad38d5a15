/*
** attempt.c: moves what a transfer received into its exchange. See attempt.h.
*/
#include "attempt.h"
#include "core/base/clock.h"

#define GRACE 5.0 /* seconds that usage may still take after the turn is complete */
#define DRAIN 1.0 /* seconds that a finished answer may take to end, so that its connection is reused */

int call_start(struct call *c, const struct mem *m, struct engine *g, const struct http_request *r,
               const struct exchange_spec *s, void *owner, struct err *e) {
  struct exchange *x = exchange_new(m, s, e);
  struct transfer *t = x == NULL ? NULL : transfer_start(g, r, owner, e);
  if (t == NULL) {
    exchange_free(x);
    return -1;
  }
  memset(c, 0, sizeof *c);
  c->exchange = x;
  c->transfer = t;
  c->started = clock_monotonic();
  return 0;
}

void call_stats(const struct call *c, struct transfer_stats *s) {
  if (c->transfer != NULL) transfer_stats(c->transfer, s);
  else *s = c->last;
}

/* Lets go of the socket; a finished answer gets the chance to end by itself. */
static void drop_transfer(struct call *c, int cancel) {
  if (c->transfer == NULL) return;
  call_stats(c, &c->last);
  if (cancel) transfer_close(c->transfer);
  else transfer_release(c->transfer, DRAIN);
  c->transfer = NULL;
}

/* Moves news from the transfer to the exchange: 1 when there was any. */
static int pump(struct call *c) {
  const struct header *h;
  const struct err *failure;
  struct buf *b;
  int moved = 0;
  if (c->transfer == NULL) return 0;
  if (!c->head && transfer_status(c->transfer) != 0) {
    size_t n = transfer_headers(c->transfer, &h);
    c->head = moved = 1;
    exchange_head(c->exchange, transfer_status(c->transfer), h, n);
  }
  b = transfer_body(c->transfer);
  if (c->head && b->n > 0) {
    moved = 1;
    exchange_feed(c->exchange, b);
    transfer_taken(c->transfer);
  }
  if (transfer_done(c->transfer, &failure) && transfer_body(c->transfer)->n == 0) {
    exchange_eof(c->exchange, failure);
    drop_transfer(c, 0);
    moved = 1;
  } else if (exchange_ended(c->exchange) && !c->graced) {
    c->graced = 1;
    transfer_grace(c->transfer, GRACE);
  }
  return moved;
}

enum progress call_next(struct call *c, struct event *delta) {
  for (;;) {
    enum progress r = exchange_next(c->exchange, delta);
    if (r == EXCHANGE_DELTA) {
      if (c->first == 0) c->first = clock_monotonic();
      return r;
    }
    if (r != EXCHANGE_MORE) {
      drop_transfer(c, r == EXCHANGE_FAILED);
      return r;
    }
    if (!pump(c)) return EXCHANGE_MORE;
  }
}

void call_close(struct call *c) {
  drop_transfer(c, 1);
  exchange_free(c->exchange);
  c->exchange = NULL;
}
