/*
** stream.c: userdata koine.stream: one attempt in flight, polled: how it starts and closes, what it tells. Its methods
** that wait are lua/koine/call/stream.lua's. See stream.h.
*/
#include "stream.h"

#define TYPE_ATTEMPT "koine.attempt"

/* The memory of a stream outside of Lua, told to the collector in KiB, from Lua 5.5 on in bytes: dropped streams are
** then collected soon. */
#if LUA_VERSION_NUM >= 505
#define STREAM_HELD ((size_t)16 * 1024)
#else
#define STREAM_HELD 16
#endif

/* {{{ starting */

/* Starts the attempt described by the table at index 2 for the stream at `idx`: 0; or -1 with the error pushed. Raises
** ArgumentError. */
static int start(lua_State *L, struct stream *s, struct adapter *ad, int idx) {
  struct state *st = state_get(L, 0);
  struct http *http = state_http(L, st);
  struct arena *a = &state_scratch(L)->arena;
  struct http_request r;
  struct exchange_spec spec;
  struct err e;
  int top = lua_gettop(L);
  memset(&spec, 0, sizeof spec);
  err_clear(&e);
  read_exchange(L, 2, ad, &r, &spec, a);
  if (!spec.stream) r.body_max = spec.limits.body;
  r.high_water = spec.limits.high_water;
  state_register(L, s->attempt, idx);
  if (attempt_start(s->attempt, &st->mem, http, &r, &spec, s->attempt, &e) != 0) {
    if (e.kind == KIND_ARGUMENT || e.kind == KIND_MEMORY) raise_error(L, &e);
    redact_err(&spec.secrets, &e);
    lua_settop(L, top);
    push_error(L, &e, ad->provider, STR_NONE);
    return -1;
  }
  lua_settop(L, top);
  s->phase = OPEN;
  return 0;
}

/* adapter:start(call): a stream, or nil, err. See lua/koine/call/adapter.lua for the table. Raises ArgumentError. */
static int m_start(lua_State *L) {
  struct adapter *ad = check_adapter(L, 1);
  struct stream *s;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  s = lua_newuserdatauv(L, sizeof *s, 4);
  memset(s, 0, sizeof *s);
  s->attempt = lua_newuserdatauv(L, sizeof *s->attempt, 0);
  memset(s->attempt, 0, sizeof *s->attempt);
  luaL_setmetatable(L, TYPE_ATTEMPT);
  lua_setiuservalue(L, 3, 4);
  luaL_setmetatable(L, TYPE_STREAM);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, 1);
  lua_newtable(L);
  lua_setiuservalue(L, 3, 2);
  if (start(L, s, ad, 3) != 0) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  lua_getfield(L, 2, "stream");
  if (lua_toboolean(L, -1) && !in_finalizer(L)) lua_gc(L, LUA_GCSTEP, STREAM_HELD);
  lua_settop(L, 3);
  return 1;
}

/* stream:restart(call): another attempt in the same object, while no delta was handed out: true, or nil, err. */
static int m_restart(lua_State *L) {
  struct stream *s = stream_check(L);
  struct adapter *ad;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  check_idle(L, "stream", stream_is_read(L, s));
  if (s->delivered || s->phase == CLOSED)
    raise_argument(L, "stream", "an open stream that nothing was read from",
                   s->delivered ? "a stream that was read" : "a closed stream");
  lua_getiuservalue(L, 1, 1);
  ad = check_adapter(L, 3);
  stream_release(s);
  s->phase = CLOSED;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 3);
  if (start(L, s, ad, 1) != 0) {
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, 3);
    s->phase = BROKEN;
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* }}} */

/* stream:finish(): the Response, once poll has said nil; nil before; nil, err after a failure, or a close before the
** end. */
static int m_finish(lua_State *L) {
  struct stream *s = stream_check(L);
  if (s->phase == BROKEN || s->phase == CLOSED) return stream_push_failure(L, s);
  stream_push_outcome(L);
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
  set_route(L, &t.route);
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

static int m_tostring(lua_State *L) {
  static const char *const NAMES[] = { "closed", "open", "ended", "failed" };
  struct stream *s = stream_check(L);
  lua_pushfstring(L, TYPE_STREAM " (%s)", NAMES[s->phase]);
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "finish", m_finish },
  { "restart", m_restart },
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
  mark_type(L, TYPE_STREAM, MARK_STREAM);
  stream_open_poll(L);
  lua_setfield(L, -2, "stream_methods");
  lua_getfield(L, -1, "adapter_methods");
  lua_pushcfunction(L, m_start);
  lua_setfield(L, -2, "start");
  lua_pop(L, 1);
}
