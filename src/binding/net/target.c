/*
** target.c: userdata koine.target: where the chats of an adapter go and by which rules, read from a table and checked once
** for all of them. Its strings are borrowed from the table, which user value 1 keeps. Owns nothing outside Lua. Failure:
** ArgumentError.
*/
#include "binding/binding.h"

const struct target *check_target(lua_State *L, int idx) {
  return check_marked(L, idx, MARK_TARGET, TYPE_TARGET);
}

/* core.target{url, path, headers, secrets, timeouts, limits, proxy, ca_file, http2}: for adapter:begin. As in core.request, but
** `path`, which is what the adapter's render has to say. The table and those in it must not change. Raises ArgumentError. */
static int f_target(lua_State *L) {
  struct http_request r;
  struct limits limits;
  struct target *t;
  struct err e;
  lua_settop(L, 1);
  err_clear(&e);
  read_request(L, 1, &r, &limits, &state_scratch(L)->arena);
  r.method = "POST";
  if (http_check(&r, &e) != 0) return raise_error(L, &e);
  t = lua_newuserdatauv(L, sizeof *t + r.header_count * sizeof *t->headers, 1);
  memset(t, 0, sizeof *t);
  t->request = r;
  t->limits = limits;
  if (r.header_count > 0) memcpy(t->headers, r.headers, r.header_count * sizeof *t->headers);
  t->request.headers = t->headers;
  t->request.checked = 1;
  if (lua_getfield(L, 1, "path") == LUA_TSTRING) t->path.p = lua_tolstring(L, -1, &t->path.n);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, 1);
  lua_settop(L, 2);
  read_secrets(L, 1, &t->secrets);
  luaL_setmetatable(L, TYPE_TARGET);
  return 1;
}

void open_target(lua_State *L) {
  luaL_newmetatable(L, TYPE_TARGET);
  lua_pop(L, 1);
  mark_type(L, TYPE_TARGET, MARK_TARGET);
  lua_pushcfunction(L, f_target);
  lua_setfield(L, -2, "target");
}
