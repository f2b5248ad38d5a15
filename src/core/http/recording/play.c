/*
** play.c: transfers whose answer is a recording: nothing is sent, and libcurl is not asked. The engine runs them like any
** deadline, so readers, limits, pauses and deadlines are those of every transfer.
** Time is the recorded one divided by the speed; at speed 0 all is there at once. A recording without waits (`unwaited`) is
** played as fast as it is read, a piece at a time, and the transfer's clock says the recorded times: a deadline that
** lies before the next piece is missed as it was then. Failure: noted in the transfer, which ends.
*/
#include <math.h>

#include "core/http/private.h"

/* The head of the recording becomes t's. */
static void give_head(struct transfer *t) {
  const struct recording *r = t->play;
  t->head_bytes = r->head.n;
  if (r->head.n > t->head_max) {
    transfer_too_much(t, "the response's head", "head", t->head_max);
    return;
  }
  t->head.n = 0;
  t->header_count = r->header_count;
  if (buf_addstr(&t->head, buf_str(&r->head)) < 0 || transfer_index_head(t, r->status) < 0) transfer_no_memory(t);
}

/* The next piece of the body becomes t's, where there is room for it. */
static void give_piece(struct transfer *t) {
  const struct recording *r = t->play;
  size_t n = r->pieces[t->play_piece].n;
  if (transfer_on_body(r->body.p + t->play_byte, 1, n, t) != n) return;
  t->received += n;
  t->play_byte += n;
  t->play_piece++;
  if (r->unwaited && t->high_water > 0) t->paused = 1; /* until it is read */
}

/* Moves t's clock to the time of what comes next: true, unless t ended before, or nothing comes. */
static int advance(struct transfer *t) {
  double at = t->started + recording_next(t->play, t->play_piece);
  if (at < t->play_now) at = t->play_now;
  if (deadline_missed(t, at)) {
    transfer_end(t, 0);
    return 0;
  }
  t->paused = isinf(at) != 0;
  if (t->paused) return 0;
  t->play_now = at;
  t->play->reached = at - t->started;
  return 1;
}

void play_on(struct transfer *t, double now) {
  const struct recording *r = t->play;
  if (r->unwaited) {
    if (!advance(t)) return;
    now = t->play_now;
  }
  t->http->now = now;
  if (!t->head_done && r->status != 0) {
    t->last = now;
    give_head(t);
  } else if (t->play_piece < r->piece_n) {
    give_piece(t);
  } else {
    if (r->failure.kind != KIND_NONE) transfer_fail(t, &r->failure);
    transfer_end(t, 1);
    return;
  }
  if (t->failed) transfer_end(t, 0);
  else deadline_update(t->http, t);
}
