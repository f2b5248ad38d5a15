/*
** attempt.h: one request in flight: a transfer feeding an exchange. Owns both; never waits.
*/
#ifndef KOINE_ATTEMPT_H
#define KOINE_ATTEMPT_H

#include "core/exchange/exchange.h"
#include "core/http/http.h"

#pragma GCC visibility push(hidden)

struct attempt {
  struct transfer *transfer; /* NULL once the socket is no longer needed */
  struct exchange *exchange;
  int head, graced, over;    /* the exchange has seen the head; the end was given its time limit; it has seen the end */
  size_t fed;                /* bytes of the transfer's body that the exchange has, and the transfer still holds */
  double total, whole;       /* seconds for all of it, 0 = no limit; what an error says instead of them */
  double started, first;     /* clock_monotonic at the start and at the first delta; 0 = none yet */
  struct transfer_stats last;/* the transfer's figures when it was closed */
};

/* Starts a zeroed attempt: 0, or -1 and nothing held. */
int attempt_start(struct attempt *c, const struct mem *m, struct http *http, const struct http_request *r,
                  const struct exchange_spec *s, void *owner, struct err *e);
/* As exchange_next, after moving what has arrived from the transfer. EXCHANGE_MORE: wait for the engine. EXCHANGE_BUSY: a
** hundredth of a second's work gave no delta, and there is more of it: ask again, and let others go on before. Once the
** seconds of `total` are over an attempt that has no delta at hand fails, whatever state it is in. */
enum progress attempt_next(struct attempt *c, struct event *delta);
/* As attempt_next, but the engine works as long as there is nothing, until a time of clock_monotonic. MORE and BUSY are then to
** be waited for in another way: the time is over, a signal came, the engine has news for others, or it failed, which *e
** says. */
enum progress attempt_await(struct attempt *c, struct engine *g, double until, struct event *delta, struct err *e);
/* The transfer's figures, also after its end. */
void attempt_stats(const struct attempt *c, struct transfer_stats *s);
/* Cancels and frees; idempotent. */
void attempt_close(struct attempt *c);

#pragma GCC visibility pop

#endif
