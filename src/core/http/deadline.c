/*
** deadline.c: the transfers' own deadlines (first_byte, idle, total, grace) in a binary heap of the engine.
** Keys are lazy: bytes that arrive do not touch the heap; a transfer whose key has passed is asked for its true
** deadline and pushed back if that is later. libcurl keeps the connect deadline. The engine owns the heap; room is
** reserved when a transfer starts, so nothing else can fail.
*/
#include "core/base/clock.h"
#include "private.h"

enum which { TOTAL, FIRST_BYTE, IDLE, GRACE };

/* The earliest deadline of t and its name; negative when it has none. */
static double earliest(const struct transfer *t, enum which *which) {
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

/* Puts t at place i. */
static void place(struct engine *g, size_t i, struct transfer *t) {
  g->heap[i] = t;
  t->heap_i = i + 1;
}

/* Moves t from place i to where its key belongs. */
static void sift(struct engine *g, size_t i, struct transfer *t) {
  while (i > 0 && g->heap[(i - 1) / 2]->due > t->due) {
    place(g, i, g->heap[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
  for (size_t child; (child = 2 * i + 1) < g->heap_n; i = child) {
    if (child + 1 < g->heap_n && g->heap[child + 1]->due < g->heap[child]->due) child++;
    if (g->heap[child]->due >= t->due) break;
    place(g, i, g->heap[child]);
  }
  place(g, i, t);
}

/* Gives t a new key, and a place if it has none. */
static void set(struct engine *g, struct transfer *t, double due) {
  t->due = due;
  sift(g, t->heap_i == 0 ? g->heap_n++ : t->heap_i - 1, t);
}

/* 0, or -1 when out of memory. */
int deadline_reserve(struct engine *g, size_t n) {
  if (n <= g->heap_cap) return 0;
  size_t cap = g->heap_cap == 0 ? 8 : g->heap_cap * 2;
  if (cap < n) cap = n;
  struct transfer **v = mem_realloc(g->m, g->heap, g->heap_cap * sizeof *v, cap * sizeof *v);
  if (v == NULL) return -1;
  g->heap = v;
  g->heap_cap = cap;
  return 0;
}

/* An earlier deadline counts at once, a later one when the key has passed. */
void deadline_update(struct engine *g, struct transfer *t) {
  enum which which;
  double at = earliest(t, &which);
  if (at >= 0 && (t->heap_i == 0 || at < t->due)) set(g, t, at);
}

/* Puts t first. */
void deadline_now(struct engine *g, struct transfer *t) {
  set(g, t, 0);
}

/* Takes t out of the heap; idempotent. */
void deadline_drop(struct engine *g, struct transfer *t) {
  if (t->heap_i == 0) return;
  size_t i = t->heap_i - 1;
  struct transfer *last = g->heap[--g->heap_n];
  t->heap_i = 0;
  if (last != t) sift(g, i, last);
}

/* Fails t for a deadline that has passed; the end of a grace period is no failure. */
static void overdue(struct transfer *t, enum which which) {
  static const char *const names[] = { "total", "first_byte", "idle" };
  static const char *const what[] = { "not finished within", "no answer within", "nothing received for" };
  if (which == GRACE || t->grace_at > 0) return;
  double s = which == TOTAL ? t->timeouts.total : which == FIRST_BYTE ? t->timeouts.first_byte : t->timeouts.idle;
  struct err e;
  err_timeout(&e, names[which], what[which], s);
  transfer_fail(t, &e);
}

/* Ends what is overdue or has failed, pushes back what is not. */
size_t deadline_run(struct engine *g, double now, size_t most) {
  size_t n = 0;
  while (n < most && g->heap_n > 0 && g->heap[0]->due <= now) {
    struct transfer *t = g->heap[0];
    enum which which = TOTAL;
    double at = earliest(t, &which);
    if (!t->failed && (at < 0 || at > now)) {
      if (at < 0) deadline_drop(g, t);
      else set(g, t, at);
      continue;
    }
    if (!t->failed) overdue(t, which);
    transfer_end(t, 0);
    n++;
  }
  return n;
}
