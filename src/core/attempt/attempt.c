/*
** attempt.c: moves what a transfer received into its exchange. See attempt.h.
*/
#include "attempt.h"
#include "core/base/clock.h"

#define GRACE 5.0 /* seconds that usage may still take after the message is complete */
#define DRAIN 1.0 /* seconds that a finished answer may take to end, so that its connection is reused */
#define SLICE ((size_t)256 << 10) /* bytes that the exchange gets at once */
#define WORK 0.01 /* seconds of reading without a delta, at the end of a slice, after which others go on */

int attempt_start(struct attempt *c, const struct mem *m, struct http *http, const struct http_request *r,
                  const struct exchange_spec *s, void *owner, struct err *e) {
  struct exchange *x = exchange_new(m, s, e);
  struct transfer *t = x == NULL ? NULL : transfer_start(http, r, owner, e);
  if (t == NULL) {
    exchange_free(x);
    return -1;
  }
  memset(c, 0, sizeof *c);
  c->exchange = x;
  c->transfer = t;
  c->total = r->timeouts.total;
  c->whole = r->timeouts.whole > 0 ? r->timeouts.whole : c->total;
  c->started = transfer_started(t);
  return 0;
}

void attempt_stats(const struct attempt *c, struct transfer_stats *s) {
  if (c->transfer != NULL) transfer_stats(c->transfer, s);
  else *s = c->last;
}

/* Lets go of the socket; a finished answer gets the chance to end by itself. */
static void drop_transfer(struct attempt *c, int cancel) {
  if (c->transfer == NULL) return;
  attempt_stats(c, &c->last);
  if (cancel) transfer_close(c->transfer);
  else transfer_release(c->transfer, DRAIN);
  c->transfer = NULL;
}

/* Hands the exchange what the transfer has received, a slice of it where that is much: how many bytes. */
static size_t feed(struct attempt *c) {
  struct buf *b = transfer_body(c->transfer);
  size_t n = b->n - c->fed;
  if (n == 0) return 0;
  if (b->n <= SLICE) {
    exchange_feed(c->exchange, b);
  } else {
    if (n > SLICE) n = SLICE;
    exchange_feed_copy(c->exchange, b->p + c->fed, n);
    c->fed += n;
    if (c->fed < b->n) return n;
    b->n = c->fed = 0;
  }
  transfer_taken(c->transfer);
  return n;
}

/* Moves news from the transfer to the exchange: 0 when there was none, else 1 more than bytes of the body. A body without
** a head belongs to no answer. */
static size_t pump(struct attempt *c) {
  const struct header *h;
  const struct err *failure;
  size_t moved = 0;
  if (c->over) return 0;
  if (!c->head && transfer_status(c->transfer) != 0) {
    size_t n = transfer_headers(c->transfer, &h);
    c->head = 1;
    moved = 1;
    exchange_head(c->exchange, transfer_status(c->transfer), h, n);
    transfer_forget_headers(c->transfer);
  }
  if (c->head) moved += feed(c);
  if (transfer_done(c->transfer, &failure) && (!c->head || transfer_body(c->transfer)->n == 0)) {
    exchange_eof(c->exchange, failure);
    c->over = 1;
    moved++;
  } else if (exchange_ended(c->exchange) && !c->graced) {
    c->graced = 1;
    transfer_grace(c->transfer, GRACE);
  }
  return moved;
}

/* True once the attempt has taken longer than it may. The engine ends a transfer at that time; this holds whatever the
** attempt waits for. */
static int overdue(const struct attempt *c, double now) {
  return c->total > 0 && now - c->started >= c->total && !exchange_ended(c->exchange);
}

/* Ends an overdue attempt. */
static void give_up(struct attempt *c) {
  struct err e;
  err_timeout(&e, "total", "not finished within", c->whole);
  exchange_eof(c->exchange, &e);
  c->over = 1;
  drop_transfer(c, 1);
}

enum progress attempt_next(struct attempt *c, struct event *delta) {
  double began = 0;
  size_t work = 0;
  for (;;) {
    enum progress r = exchange_next(c->exchange, delta);
    if (r == EXCHANGE_DELTA) {
      if (c->first == 0) c->first = c->transfer != NULL ? transfer_now(c->transfer) : clock_monotonic();
      return r;
    }
    if (r != EXCHANGE_MORE) {
      if (r == EXCHANGE_FAILED && c->transfer != NULL && transfer_status(c->transfer) / 100 == 2)
        transfer_distrust(c->transfer); /* whatever was wrong with the answer, the server may have more of it to say */
      drop_transfer(c, r == EXCHANGE_FAILED);
      return r;
    }
    size_t moved = pump(c);
    work += moved;
    if (moved > 0 && (work <= SLICE || c->over)) continue;
    double now = clock_monotonic();
    if (overdue(c, now)) give_up(c);
    else if (moved == 0) return EXCHANGE_MORE;
    else if (began == 0) began = now;
    else if (now - began >= WORK) return EXCHANGE_BUSY;
  }
}

enum progress attempt_await(struct attempt *c, struct engine *g, double until, struct event *delta, struct err *e) {
  int interrupted = 0;
  for (;;) {
    enum progress r = attempt_next(c, delta);
    double left;
    if (r != EXCHANGE_MORE || c->transfer == NULL || !transfer_is_all_news(c->transfer)) return r;
    left = until - clock_monotonic();
    if (left <= 0 || engine_step(g, left, -1, &interrupted, e) != 0 || interrupted) return r;
  }
}

void attempt_close(struct attempt *c) {
  drop_transfer(c, 1);
  exchange_free(c->exchange);
  c->exchange = NULL;
}
