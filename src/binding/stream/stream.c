/*
** stream.c: userdata koine.stream: one attempt in flight, polled: how it closes, what it tells. Its methods that wait are
** lua/koine/call/stream.lua's. See stream.h.
*/
#include "stream.h"
#include "core/base/clock.h"

/* stream:finish(): the Response, once poll has said nil; nil before; nil, err after a failure, or a close before the
** end. */
static int m_finish(lua_State *L) {
  struct stream *s = stream_check(L);
  if (s->phase == BROKEN || s->phase == CLOSED) return stream_push_failure(L, 1, s);
  stream_push_outcome(L, 1);
  return 1;
}

/* stream:settle(seconds[, to_delta]): reads the rest of the answer, without deltas, or with to_delta true what comes before the
** next one, and steps the engine meanwhile, for at most so many seconds and as long as nobody else is told of anything.
** Returns whether poll has more to say than that something is to be waited for. Raises when the system fails. */
static int m_settle(lua_State *L) {
  struct stream *s = stream_check(L);
  struct state *st = state_get(L, 0);
  double until = clock_monotonic() + luaL_checknumber(L, 2);
  int to_delta = lua_toboolean(L, 3);
  enum progress r = s->taken ? EXCHANGE_DELTA : EXCHANGE_MORE;
  struct err e;
  if (s->phase != OPEN || stream_is_read(L, s)) return 0;
  err_clear(&e);
  while (r == EXCHANGE_MORE || (r == EXCHANGE_DELTA && !to_delta)) {
    r = attempt_await(s->attempt, state_engine(L, st), until, &s->delta, &e);
    if (r == EXCHANGE_MORE) break;
  }
  s->taken = r == EXCHANGE_DELTA;
  stream_note(s);
  if (e.kind != KIND_NONE) return raise_error(L, &e);
  lua_pushboolean(L, r != EXCHANGE_MORE);
  return 1;
}

/* stream:delivered(): whether a delta was handed out: from then on there is no other attempt. */
static int m_delivered(lua_State *L) {
  struct stream *s = stream_check(L);
  lua_pushboolean(L, s->delivered);
  return 1;
}

/* stream:close(): cancels what is in flight and frees it; where a finalizer interrupts poll, poll does that. Idempotent;
** also __close. */
static int m_close(lua_State *L) {
  struct stream *s = stream_check(L);
  if (!stream_is_read(L, s)) stream_release(s);
  if (s->phase != ENDED) s->phase = CLOSED;
  return 0;
}

/* The finalizer of the attempt. A stream that is collected is not in use. */
static int attempt_gc(lua_State *L) {
  attempt_close(luaL_checkudata(L, 1, TYPE_ATTEMPT));
  return 0;
}

/* stream:stats(): {bytes, events, peak, retained, first_delta, idle}: bytes received on the wire and stream events parsed
** in the latest attempt, most and present bytes held, seconds from that attempt's start to its first delta (nil before),
** seconds since its last byte or its start (nil after the end); and what set_route says. */
static int m_stats(lua_State *L) {
  struct stream *s = stream_check(L);
  struct transfer_stats t;
  size_t retained = stream_held(s->attempt);
  stream_note(s);
  attempt_stats(s->attempt, &t);
  lua_createtable(L, 0, 12);
  lua_pushinteger(L, (lua_Integer)t.received);
  lua_setfield(L, -2, "bytes");
  set_route(L, &t.route, "sent");
  lua_pushinteger(L, (lua_Integer)s->events);
  lua_setfield(L, -2, "events");
  lua_pushinteger(L, (lua_Integer)s->peak);
  lua_setfield(L, -2, "peak");
  lua_pushinteger(L, (lua_Integer)retained);
  lua_setfield(L, -2, "retained");
  if (s->attempt->first > 0) {
    lua_pushnumber(L, s->attempt->first - s->attempt->started);
    lua_setfield(L, -2, "first_delta");
  }
  if (s->attempt->transfer != NULL) {
    lua_pushnumber(L, t.idle);
    lua_setfield(L, -2, "idle");
  }
  return 1;
}

/* core.figures(stream): what push_figures pushes of the latest attempt; and first_delta, as in stats. */
static int f_figures(lua_State *L) {
  struct stream *s = stream_check(L);
  struct transfer_stats t;
  attempt_stats(s->attempt, &t);
  push_figures(L, &t);
  if (s->attempt->first <= 0) return 1;
  lua_pushnumber(L, s->attempt->first - s->attempt->started);
  return 2;
}

static int m_tostring(lua_State *L) {
  static const char *const NAMES[] = { "closed", "open", "ended", "failed" };
  struct stream *s = stream_check(L);
  lua_pushfstring(L, TYPE_STREAM " (%s)", NAMES[s->phase]);
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "finish", m_finish },
  { "settle", m_settle },
  { "delivered", m_delivered },
  { "close", m_close },
  { "stats", m_stats },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__close", m_close },
  { "__tostring", m_tostring },
  { NULL, NULL }
};

void open_stream(lua_State *L) {
  luaL_newmetatable(L, TYPE_ATTEMPT);
  lua_pushcfunction(L, attempt_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  open_type(L, TYPE_STREAM, META, METHODS);
  stream_open_restart(L);
  mark_type(L, TYPE_STREAM, MARK_STREAM);
  stream_open_poll(L);
  lua_setfield(L, -2, "stream_methods");
  lua_pushcfunction(L, f_figures);
  lua_setfield(L, -2, "figures");
  lua_getfield(L, -1, "adapter_methods");
  stream_open_start(L);
  lua_pop(L, 1);
}
