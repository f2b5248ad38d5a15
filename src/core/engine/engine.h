/*
** engine.h: the loop: one descriptor for everything that waits, and the sources, which have work at a time of their own.
** HTTP, processes and pipes register here; the engine knows none of them. An engine owns its pollset; a source belongs to
** its caller. Either may go first. One engine serves one thread at a time; engines share nothing.
** An engine belongs to the process that made it. A child made by fork has its descriptors and connections too, but the
** parent goes on with them: the child only gives up its copies.
** Failure: NULL or -1 and an err.
*/
#ifndef KOINE_ENGINE_ENGINE_H
#define KOINE_ENGINE_ENGINE_H

#include "core/base/mem.h"
#include "core/base/err.h"
#include "pollset.h"

#pragma GCC visibility push(hidden)

struct engine;

/* Embedded in whatever has timers or work besides its descriptors, or must know when the engine goes; with no such work, due
** and run are NULL. The engine links it. */
struct source {
  /* When run must be called: seconds of clock_monotonic, or negative: not before a descriptor is ready. */
  double (*due)(struct source *s);
  /* Does what was due at `now`, when its round began, at most `most` pieces of work: how many it did, or -1 and *e. As long
  ** as it does `most` it is called again, with the same `now`. It may remove any source. */
  int (*run)(struct source *s, double now, int most, struct err *e);
  /* The engine goes, its pollset still there: s takes its descriptors and its news out. It is unlinked already. In a child
  ** made by fork (engine_forked) s also closes its copies of descriptors, and neither tells the other side nor waits. */
  void (*orphan)(struct source *s);
  struct source *next;
};

/* An engine that watches nothing, or NULL and *e: memory, descriptors. m outlives it. */
struct engine *engine_new(const struct mem *m, struct err *e);
/* Orphans the sources and closes the engine's own descriptor. NULL is fine. */
void engine_free(struct engine *g);
const struct mem *engine_mem(const struct engine *g);
/* Descriptors watched here are served by engine_step. Its pollset_ready tells who has news. */
struct pollset *engine_pollset(struct engine *g);
/* True in the process that made g; false for NULL, which an orphaned source has. The first call in a child made by fork
** orphans all sources there: from then on they fail as engine_explain says, and g watches nothing. A source asks before it
** touches what it shares with the parent. */
int engine_here(struct engine *g);
/* True within an orphan that engine_here calls. */
int engine_forked(const struct engine *g);
/* Says in *e why the engine of a source is gone: KIND_CANCELLED. */
void engine_explain(const struct engine *g, struct err *e);
/* Readable when there is something to do; valid as long as the engine. */
int engine_pollfd(const struct engine *g);
/* Seconds until engine_step must be called though the descriptor is silent; 0 = now, negative = no such time. */
double engine_timeout(struct engine *g);

/* Puts s, not linked yet, before the other sources. */
void engine_add(struct engine *g, struct source *s);
/* Takes s out; idempotent. */
void engine_remove(struct engine *g, struct source *s);

/* Waits at most `timeout` seconds (negative = for ever, 0 = not at all) for anything to happen, and does it: 0, or -1 and
** *e. Returns early on EINTR, with *interrupted set. KIND_CANCELLED in a child made by fork.
** With a negative budget every ready descriptor is served once, then every source does all that is due. Otherwise the
** step works for `budget` seconds after the wait, and ends with the piece of work it is at then: a descriptor's or a
** source's; budget 0 is one piece. The next step goes on where this one stopped: descriptors and sources take turns, and
** every ready descriptor is served before one is served a second time. */
int engine_step(struct engine *g, double timeout, double budget, int *interrupted, struct err *e);

#pragma GCC visibility pop

#endif
