/*
** poll.c: the deltas of a stream, as tables with copies of their strings. See stream.h.
** Raises where memory is short; no delta is lost then.
*/
#include "stream.h"

/* Upvalues of the functions that make deltas: the metatable of streams, and the words that each delta needs. Finding them by
** name takes longer than parsing a delta. */
enum { UP_META = 1, UP_TYPE, UP_NAMES, UP_PROCEED = UP_NAMES + EV_COUNT - EV_TEXT_START };

/* Pushes all of them but UP_PROCEED. */
static void push_upvalues(lua_State *L) {
  luaL_getmetatable(L, TYPE_STREAM);
  lua_pushliteral(L, "type");
  for (int t = EV_TEXT_START; t < EV_COUNT; t++) lua_pushstring(L, event_form((enum event_type)t)->name);
}

/* The stream at index 1. Raises ArgumentError. */
static struct stream *check_stream(lua_State *L) {
  struct stream *s = lua_touserdata(L, 1);
  if (s == NULL || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(UP_META))) return stream_check(L);
  lua_pop(L, 1);
  return stream_checked(s);
}

/* Sets a field where the delta has it. */
static void set_field(lua_State *L, const char *key, struct str s) {
  if (key == NULL) return;
  push_str(L, s);
  lua_setfield(L, -2, key);
}

static void push_delta(lua_State *L, const struct event *d) {
  const struct delta_form *form = event_form(d->type);
  lua_createtable(L, 0, 1 + (form->id != NULL) + (form->word != NULL) + (form->text != NULL));
  lua_pushvalue(L, lua_upvalueindex(UP_TYPE));
  lua_pushvalue(L, lua_upvalueindex(UP_NAMES + (int)(d->type - EV_TEXT_START)));
  lua_rawset(L, -3);
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

/* Pushes the results of m_poll for the stream at 1, which is busy; returns their number. Loses nothing where it raises
** for want of memory: it can be called again. */
static int poll_busy(lua_State *L, struct stream *s, int discard) {
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
        stream_register(L, s);
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

/* Pushes the results of m_poll for the stream at 1; returns their number. */
static int poll(lua_State *L, int discard) {
  struct stream *s = check_stream(L);
  int n;
  check_idle(L, "stream", stream_is_read(L, s));
  s->busy = 1;
  n = poll_busy(L, s, discard);
  s->busy = 0;
  if (s->phase == CLOSED) stream_release(s);
  return n;
}

/* stream:poll([discard]): the next delta (the first one: delta, nil, true); false when nothing has arrived (wait for the
** engine); true when there is more to read, but others should go on before; nil at the end; nil, err when the attempt
** failed. With discard true, deltas are consumed without making tables. */
static int m_poll(lua_State *L) {
  return poll(L, lua_toboolean(L, 2));
}

static int proceeded(lua_State *L, int status, lua_KContext ctx) {
  (void)L;
  (void)status;
  (void)ctx;
  return 1;
}

/* iterate(stream): what poll says where that is a delta but the first; else what proceed(stream, …) makes of what poll says.
** That may wait. */
static int f_iterate(lua_State *L) {
  int n;
  lua_settop(L, 1);
  n = poll(L, 0);
  if (n == 1 && lua_istable(L, -1)) return 1;
  lua_pushvalue(L, lua_upvalueindex(UP_PROCEED));
  lua_insert(L, 1);
  lua_callk(L, n + 1, 1, 0, proceeded);
  return 1;
}

/* core.stream_iterator(proceed): the function of a generic for over the deltas of streams, see iterate. */
static int f_stream_iterator(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  push_upvalues(L);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, f_iterate, UP_PROCEED);
  return 1;
}

void stream_open_poll(lua_State *L) {
  push_upvalues(L);
  lua_pushcclosure(L, m_poll, UP_PROCEED - 1);
  lua_setfield(L, -2, "poll");
  lua_pushcfunction(L, f_stream_iterator);
  lua_setfield(L, -3, "stream_iterator");
}
