/*
** poll.c: the deltas of a stream, as tables with copies of their strings. See stream.h.
** Raises where memory is short; no delta is lost then.
*/
#include "stream.h"

/* Sets a field where the delta has it. */
static void set_field(lua_State *L, const char *key, struct str s) {
  if (key == NULL) return;
  push_str(L, s);
  lua_setfield(L, -2, key);
}

static void push_delta(lua_State *L, const struct event *d) {
  const struct delta_form *form = event_form(d->type);
  lua_createtable(L, 0, 1 + (form->id != NULL) + (form->word != NULL) + (form->text != NULL));
  lua_pushstring(L, form->name);
  lua_setfield(L, -2, "type");
  set_field(L, form->id, d->id);
  set_field(L, form->word, d->name);
  set_field(L, form->text, d->text);
}

/* The next delta, kept until there is a table of it: where that raises for want of memory, the next poll makes it. */
static enum progress take(struct stream *s) {
  enum progress r = s->taken ? EXCHANGE_DELTA : attempt_next(s->attempt, &s->delta);
  s->taken = r == EXCHANGE_DELTA;
  return r;
}

/* What m_poll says of the stream at 1. Nothing is lost where this raises for want of memory: it can be called again. */
static int poll(lua_State *L, struct stream *s, int discard) {
  int first = !s->delivered;
  while (s->phase == OPEN) {
    enum progress r = take(s);
    switch (r) {
      case EXCHANGE_DELTA:
        if (!discard) push_delta(L, &s->delta);
        s->taken = 0;
        if (discard) continue;
        s->delivered = 1;
        if (!first) return 1;
        lua_pushnil(L);
        lua_pushboolean(L, 1);
        return 3;
      case EXCHANGE_MORE: case EXCHANGE_BUSY:
        stream_note(s);
        lua_pushboolean(L, r == EXCHANGE_BUSY);
        return 1;
      case EXCHANGE_DONE: stream_end(L, s); break;
      case EXCHANGE_FAILED: stream_break(L, s); break;
    }
  }
  if (s->phase == ENDED) {
    lua_pushnil(L);
    return 1;
  }
  return stream_push_failure(L, s);
}

/* stream:poll([discard]): the next delta (the first one: delta, nil, true); false when nothing has arrived (wait for the
** engine); true when there is more to read, but others should go on before; nil at the end; nil, err when the attempt
** failed. With discard true, deltas are consumed without making tables. */
static int m_poll(lua_State *L) {
  struct stream *s = stream_check(L);
  int n;
  check_idle(L, "stream", stream_is_read(L, s));
  s->busy = 1;
  n = poll(L, s, lua_toboolean(L, 2));
  s->busy = 0;
  if (s->phase == CLOSED) stream_release(s);
  return n;
}

void stream_open_poll(lua_State *L) {
  lua_pushcfunction(L, m_poll);
  lua_setfield(L, -2, "poll");
}
