/*
** engine.c: who works next. Descriptors wait in the pollset, sources in a list; a step waits for the earliest of them,
** then lets each work.
** The engine owns the pollset, and links the sources, which belong to others. Failure: NULL or -1 and an err.
*/
#include <limits.h>

#include "core/base/clock.h"
#include "core/base/io.h"
#include "engine.h"

struct engine {
  const struct mem *m;
  struct pollset *poll;
  struct source *sources;
  struct source *next;    /* the source that works next; NULL: the descriptors do */
  double round_at;        /* when the sources' round began: what is due later waits for the next one */
  unsigned process;       /* io_process of the one that made it */
  int forked;             /* this is another one, and the sources know */
};

/* An engine that watches nothing; NULL and *e when memory or descriptors are short. */
struct engine *engine_new(const struct mem *m, struct err *e) {
  struct engine *g = mem_alloc(m, sizeof *g);
  if (g == NULL) {
    err_memory(e);
    return NULL;
  }
  *g = (struct engine){ .m = m, .poll = pollset_new(m, e), .process = io_process() };
  if (g->poll != NULL) return g;
  mem_free(m, g, sizeof *g);
  return NULL;
}

static void orphan_all(struct engine *g) {
  for (struct source *s; (s = g->sources) != NULL;) {
    engine_remove(g, s);
    s->orphan(s);
  }
}

/* True in the process that made g; elsewhere the sources were orphaned. False for NULL. */
int engine_here(struct engine *g) {
  if (g == NULL || g->forked) return 0;
  if (io_process() == g->process) return 1;
  g->forked = 1;
  pollset_disown(g->poll);
  orphan_all(g);
  return 0;
}

/* Whether sources are orphaned in a child. */
int engine_forked(const struct engine *g) {
  return g->forked;
}

/* KIND_CANCELLED, with the reason. */
void engine_explain(const struct engine *g, struct err *e) {
  err_clear(e);
  err_set(e, KIND_CANCELLED, "%s", g->forked ? "the engine belongs to the process that this one was forked from"
                                             : "the engine was closed");
}

/* Orphans the sources while the pollset is still there. NULL is fine. */
void engine_free(struct engine *g) {
  if (g == NULL) return;
  if (engine_here(g)) orphan_all(g);
  pollset_free(g->poll);
  mem_free(g->m, g, sizeof *g);
}

/* The allocator, for the sources too. */
const struct mem *engine_mem(const struct engine *g) {
  return g->m;
}

/* Where descriptors are watched and news is told. */
struct pollset *engine_pollset(struct engine *g) {
  return g->poll;
}

/* Readable when there is something to do. */
int engine_pollfd(const struct engine *g) {
  return pollset_fd(g->poll);
}

/* Seconds, 0 = now; negative: only the descriptor matters. */
double engine_timeout(struct engine *g) {
  double at = -1;
  if (pollset_has_news(g->poll)) return 0;
  for (struct source *s = g->sources; s != NULL; s = s->next) {
    double due = s->due != NULL ? s->due(s) : -1;
    if (due >= 0 && (at < 0 || due < at)) at = due;
  }
  if (at < 0) return -1;
  double left = at - clock_monotonic();
  return left > 0 ? left : 0;
}

/* Puts s first. */
void engine_add(struct engine *g, struct source *s) {
  s->next = g->sources;
  g->sources = s;
}

/* Takes s out; where it was the next to work, the one behind it is. */
void engine_remove(struct engine *g, struct source *s) {
  struct source **at = &g->sources;
  while (*at != NULL && *at != s) at = &(*at)->next;
  if (*at == NULL) return;
  *at = s->next;
  if (g->next == s) g->next = s->next;
}

/* Begins a round of the sources, which comes after the descriptors'. */
static void begin_round(struct engine *g) {
  g->next = g->sources;
  g->round_at = clock_monotonic();
}

/* Runs the sources of this round that are left, up to the first that does something or fails: what that one returned; 0 when
** none of them has anything to do. A source stays the next one while it may have more to do. */
static int run_sources(struct engine *g, int most, struct err *e) {
  for (struct source *s; (s = g->next) != NULL;) {
    int n = s->run != NULL ? s->run(s, g->round_at, most, e) : 0;
    if (n < most && g->next == s) g->next = s->next;
    if (n != 0) return n;
  }
  return 0;
}

/* Serves one descriptor: 1, 0 when none is ready, -1 and *e. Once each was served, and after a failure, the sources are
** next. */
static int run_descriptor(struct engine *g, struct err *e) {
  int lap, n = pollset_one(g->poll, &lap, e);
  if (n <= 0 || lap) begin_round(g);
  return n;
}

/* One piece of work, of a source or a descriptor: 1, 0 when there is none, -1 and *e. */
static int work(struct engine *g, struct err *e) {
  int n = run_sources(g, 1, e); /* the rest of their round */
  if (n == 0) n = run_descriptor(g, e);
  if (n == 0) n = run_sources(g, 1, e);
  return n;
}

/* Waits, serves all descriptors that are ready, then every source: whatever fails, the others work. Where a source is due
** and no descriptor waits to be served, the system is not asked. */
static int step_once(struct engine *g, double wait, int is_due, int *interrupted, struct err *e) {
  int n, r = 0;
  *interrupted = 0;
  if (!(is_due && pollset_is_idle(g->poll)) && pollset_wait(g->poll, wait, interrupted, e) < 0) r = -1;
  begin_round(g);
  while ((n = run_sources(g, INT_MAX, e)) != 0)
    if (n < 0) r = -1;
  return r;
}

/* Waits, then works piece by piece while there is time. */
static int step_within(struct engine *g, double wait, double budget, int *interrupted, struct err *e) {
  int n, r = 0;
  *interrupted = 0;
  if (wait != 0 && pollset_await(g->poll, wait, interrupted, e) < 0) {
    begin_round(g);
    r = -1;
  }
  double end = clock_monotonic() + budget;
  do n = work(g, e);
  while (n > 0 && clock_monotonic() < end);
  return n < 0 ? -1 : r;
}

/* Waits no longer than until a source is due, then works. */
int engine_step(struct engine *g, double timeout, double budget, int *interrupted, struct err *e) {
  if (!engine_here(g)) {
    engine_explain(g, e);
    return -1;
  }
  double due = engine_timeout(g), wait = due;
  if (timeout >= 0 && (wait < 0 || timeout < wait)) wait = timeout;
  return budget < 0 ? step_once(g, wait, due == 0, interrupted, e) : step_within(g, wait, budget, interrupted, e);
}
