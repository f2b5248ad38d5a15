/*
** stream.h: the userdata koine.stream, for the files of this folder.
** User values: 1 the adapter, 2 the Lua layer's call, a table, 3 the outcome (a Response or an error) once there is
** one, 4 the attempt, a userdata of its own, whose user value is the adapter: its exchange uses the quirks.
** The attempt is freed as soon as the answer is complete: one Response remains, which the collector can see. It is freed
** by close and __close too, or by its own __gc. The stream has no __gc: what has one lives a cycle longer, and all it
** refers to with it, the Response too; each cycle would then be longer than the one before.
*/
#ifndef KOINE_BINDING_STREAM_H
#define KOINE_BINDING_STREAM_H

#include "binding/binding.h"

#pragma GCC visibility push(hidden)

enum phase { CLOSED, OPEN, ENDED, BROKEN };

struct stream {
  struct attempt *attempt;       /* in user value 4; its finalizer may have closed it, at the end of the Lua state */
  enum phase phase;
  int registered;          /* the engine's news of the attempt find the stream */
  int delivered;            /* a delta was handed out */
  int busy;                /* values are being made of what the attempt holds: a finalizer must leave it alone */
  int taken;               /* `delta` was taken from the attempt, and has no table yet */
  struct event delta;      /* borrowed from the attempt until the next one is taken */
  unsigned long events;
  size_t peak;             /* most bytes held at once */
};

/* {{{ outcome.c; `at`: the index of the stream */

/* The stream at index 1. Raises ArgumentError. */
struct stream *stream_check(lua_State *L);
/* The same of a value that is one. */
static inline struct stream *stream_checked(struct stream *s) {
  if (s->phase == OPEN && s->attempt->exchange == NULL) s->phase = CLOSED;
  return s;
}
/* True in a finalizer that interrupts poll. */
int stream_is_read(lua_State *L, const struct stream *s);
/* Sees to it that the engine tells of news of the stream, which somebody is going to wait for. */
void stream_register(lua_State *L, int at, struct stream *s);
/* Bytes that the attempt holds. */
size_t stream_held(const struct attempt *c);
/* Brings `events` and `peak` up to date. */
void stream_note(struct stream *s);
/* Frees the attempt. */
void stream_release(struct stream *s);
/* The answer is complete: makes the Response, frees the attempt. Raises on memory. */
void stream_end(lua_State *L, int at, struct stream *s);
/* The attempt failed: makes the error, with the part that had arrived as `partial`, frees the attempt. Raises on memory. */
void stream_break(lua_State *L, int at, struct stream *s);
/* Pushes the outcome, or nil. */
void stream_push_outcome(lua_State *L, int at);
/* Pushes nil and the error, the same every time: 2. A closed stream was cancelled. */
int stream_push_failure(lua_State *L, int at, struct stream *s);

/* }}} */

/* start.c: adds begin and start to the methods of adapters, restart to those of streams, on top of the stack. */
void stream_open_start(lua_State *L);
void stream_open_restart(lua_State *L);
/* poll.c: adds poll to the methods on top of the stack, and stream_iterator to the table core below them. */
void stream_open_poll(lua_State *L);

#pragma GCC visibility pop

#endif
