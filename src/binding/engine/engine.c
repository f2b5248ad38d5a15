/*
** engine.c: the userdata koine.engine: what a host's loop watches, and settings of the whole state. news.c steps it. Owned by
** Lua; its __gc also runs when the state closes.
*/
#include "engine.h"

/* core.engine(): the engine of this Lua state. */
static int f_engine(lua_State *L) {
  state_get(L, 1);
  return 1;
}

/* core.tell_collector(kib): lets the collector work as if so many KiB, an integer above 0, had been allocated. */
static int f_tell_collector(lua_State *L) {
  tell_collector(L, to_int(luaL_checkinteger(L, 1)));
  return 0;
}

/* core.libcurl(): the version of the libcurl that is running. core.http2_problem: why it may not speak HTTP/2, a string; false
** where it may. */
static int f_libcurl(lua_State *L) {
  lua_pushstring(L, http_library());
  return 1;
}

/* core.offline(on): from now on only loopback hosts can be reached; anything else fails before DNS. */
static int f_offline(lua_State *L) {
  struct state *st = state_get(L, 0);
  st->offline = lua_toboolean(L, 1);
  if (st->http != NULL) http_offline(st->http, st->offline);
  return 0;
}

/* engine:pollfd(): a descriptor that is readable when step has work; valid as long as the engine. */
static int m_pollfd(lua_State *L) {
  lua_pushinteger(L, engine_pollfd(state_engine(L, engine_state(L))));
  return 1;
}

/* engine:events(): what to poll for: "r". */
static int m_events(lua_State *L) {
  engine_state(L);
  lua_pushliteral(L, "r");
  return 1;
}

/* engine:timeout(): seconds until step must be called though the descriptor is silent; nil: there is no such time. */
static int m_timeout(lua_State *L) {
  struct state *st = engine_state(L);
  state_check_process(st);
  double t = st->forked || engine_keeps(L) ? 0 : st->engine == NULL ? -1 : engine_timeout(st->engine);
  if (t < 0) lua_pushnil(L);
  else lua_pushnumber(L, t);
  return 1;
}

static int m_gc(lua_State *L) {
  state_close(engine_state(L));
  return 0;
}

static int m_tostring(lua_State *L) {
  struct state *st = engine_state(L);
  lua_pushfstring(L, TYPE_ENGINE " (%d in flight)", st->http == NULL ? 0 : http_active(st->http));
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "pollfd", m_pollfd },
  { "events", m_events },
  { "timeout", m_timeout },
  { "step", engine_m_step },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__gc", m_gc },
  { "__tostring", m_tostring },
  { NULL, NULL }
};

void open_engine(lua_State *L) {
  open_type(L, TYPE_ENGINE, META, METHODS);
  mark_type(L, TYPE_ENGINE, MARK_ENGINE);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_engine);
  lua_setfield(L, -2, "engine");
  engine_open_news(L);
  lua_pushcfunction(L, f_tell_collector);
  lua_setfield(L, -2, "tell_collector");
  lua_pushcfunction(L, f_offline);
  lua_setfield(L, -2, "offline");
  lua_pushcfunction(L, f_libcurl);
  lua_setfield(L, -2, "libcurl");
  if (http2_problem() != NULL) lua_pushstring(L, http2_problem());
  else lua_pushboolean(L, 0);
  lua_setfield(L, -2, "http2_problem");
}
