/*
** deadline.c: the transfers' own deadlines (first_byte, idle, total, grace) in a binary heap, and when recordings go on.
** Keys are lazy: bytes that arrive do not touch the heap; a transfer whose key has passed is asked for its true
** deadline and pushed back if that is later. libcurl keeps the connect deadline. The http owns the heap; room is
** reserved when a transfer starts, so nothing else can fail.
*/
#include <math.h>

#include "core/base/clock.h"
#include "private.h"

enum which { TOTAL, FIRST_BYTE, IDLE, GRACE, PLAY };

/* The earliest deadline of t and its name; negative when it has none. */
static double earliest_deadline(const struct transfer *t, enum which *which) {
  double at = -1;
  const struct timeouts *s = &t->timeouts;
  if (s->total > 0) {
    at = t->started + s->total;
    *which = TOTAL;
  }
  if (t->decoded == 0) {
    if (s->first_byte > 0 && (at < 0 || t->started + s->first_byte < at)) {
      at = t->started + s->first_byte;
      *which = FIRST_BYTE;
    }
  } else if (s->idle > 0 && !t->paused && (at < 0 || t->last + s->idle < at)) {
    at = t->last + s->idle;
    *which = IDLE;
  }
  if (t->grace_at > 0 && (at < 0 || t->grace_at < at)) {
    at = t->grace_at;
    *which = GRACE;
  }
  return at;
}

/* Nothing comes before what is there was read. */
double deadline_of_play(const struct transfer *t) {
  const struct recording *r = t->play;
  if (!t->playing || t->paused) return -1;
  double at = recording_next(r, t->play_piece);
  if (r->unwaited) return t->started;
  return isinf(at) ? -1 : r->speed <= 0 ? t->started : t->started + at / r->speed;
}

/* The same of deadlines and of the next part of a recording, whose name is PLAY. */
static double earliest(const struct transfer *t, enum which *which) {
  double at = earliest_deadline(t, which);
  double next = deadline_of_play(t);
  if (next < 0 || (at >= 0 && at < next)) return at;
  *which = PLAY;
  return next;
}

/* Puts t at place i. */
static void place(struct http *http, size_t i, struct transfer *t) {
  http->heap[i] = t;
  t->heap_i = i + 1;
}

/* Moves t from place i to where its key belongs. */
static void sift(struct http *http, size_t i, struct transfer *t) {
  while (i > 0 && http->heap[(i - 1) / 2]->due > t->due) {
    place(http, i, http->heap[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
  for (size_t child; (child = 2 * i + 1) < http->heap_n; i = child) {
    if (child + 1 < http->heap_n && http->heap[child + 1]->due < http->heap[child]->due) child++;
    if (http->heap[child]->due >= t->due) break;
    place(http, i, http->heap[child]);
  }
  place(http, i, t);
}

/* Gives t a new key, and a place if it has none. */
static void set(struct http *http, struct transfer *t, double due) {
  t->due = due;
  sift(http, t->heap_i == 0 ? http->heap_n++ : t->heap_i - 1, t);
}

/* 0, or -1 when out of memory. */
int deadline_reserve(struct http *http, size_t n) {
  if (n <= http->heap_cap) return 0;
  size_t cap = http->heap_cap == 0 ? 8 : http->heap_cap * 2;
  if (cap < n) cap = n;
  struct transfer **v = mem_realloc(http->m, http->heap, http->heap_cap * sizeof *v, cap * sizeof *v);
  if (v == NULL) return -1;
  http->heap = v;
  http->heap_cap = cap;
  return 0;
}

/* An earlier deadline counts at once, a later one when the key has passed. */
void deadline_update(struct http *http, struct transfer *t) {
  enum which which;
  double at = earliest(t, &which);
  if (at >= 0 && (t->heap_i == 0 || at < t->due)) set(http, t, at);
}

/* Puts t first. */
void deadline_now(struct http *http, struct transfer *t) {
  set(http, t, 0);
}

/* Takes t out of the heap; idempotent. */
void deadline_drop(struct http *http, struct transfer *t) {
  if (t->heap_i == 0) return;
  size_t i = t->heap_i - 1;
  struct transfer *last = http->heap[--http->heap_n];
  t->heap_i = 0;
  if (last != t) sift(http, i, last);
}

/* Fails t for a deadline that has passed; the end of a grace period is no failure. */
static void overdue(struct transfer *t, enum which which) {
  static const char *const names[] = { "total", "first_byte", "idle" };
  static const char *const what[] = { "not finished within", "no answer within", "nothing received for" };
  if (which == GRACE || which == PLAY || t->grace_at > 0) return;
  double s = which == TOTAL ? t->timeouts.whole : which == FIRST_BYTE ? t->timeouts.first_byte : t->timeouts.idle;
  struct err e;
  if (t->link) failure_late(t, s, &e);
  else err_timeout(&e, names[which], what[which], s);
  transfer_fail(t, &e);
}

int deadline_missed(struct transfer *t, double now) {
  enum which which = TOTAL;
  double at = earliest_deadline(t, &which);
  if (at < 0 || at > now) return 0;
  if (t->play != NULL && t->play->unwaited) t->play->reached = at - t->started;
  overdue(t, which);
  return 1;
}

/* The first one that is overdue or has failed, or whose recording goes on; pushes back what is not. */
struct transfer *deadline_next(struct http *http, double now) {
  while (http->heap_n > 0 && http->heap[0]->due <= now) {
    struct transfer *t = http->heap[0];
    enum which which = TOTAL;
    double at = earliest(t, &which);
    if (!t->failed && at >= 0 && at <= now) overdue(t, which);
    if (t->failed || (at >= 0 && at <= now)) return t;
    if (at < 0) deadline_drop(http, t);
    else set(http, t, at);
  }
  return NULL;
}
