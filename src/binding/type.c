/*
** type.c: types of userdata: how they are made, how one is kept from its finalizer while it is in use, and those that own
** one thing of the core.
*/
#include "binding.h"

void open_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods) {
  luaL_newmetatable(L, type);
  luaL_setfuncs(L, meta, 0);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_remove(L, -2);
}

static const char MARKS[MARK_COUNT]; /* their addresses count */

void mark_type(lua_State *L, const char *type, enum mark mark) {
  luaL_getmetatable(L, type);
  lua_pushlightuserdata(L, (void *)(uintptr_t)&MARKS[mark]);
  lua_rawseti(L, -2, 1);
  lua_pop(L, 1);
}

void *marked(lua_State *L, int idx, enum mark mark) {
  void *p = lua_touserdata(L, idx);
  const void *found;
  if (p == NULL || !lua_getmetatable(L, idx)) return NULL;
  lua_rawgeti(L, -1, 1);
  found = lua_touserdata(L, -1);
  lua_pop(L, 2);
  return found == &MARKS[mark] ? p : NULL;
}

void *check_marked(lua_State *L, int idx, enum mark mark, const char *type) {
  void *p = marked(L, idx, mark);
  return p != NULL ? p : luaL_checkudata(L, idx, type);
}

int call_busy(lua_State *L, int args, lua_CFunction f, int *busy) {
  int status;
  lua_settop(L, args);
  lua_pushcfunction(L, f);
  for (int i = 1; i <= args; i++) lua_pushvalue(L, i); /* they live as long as this call, though f may drop its own */
  *busy = 1;
  status = lua_pcall(L, args, LUA_MULTRET, 0);
  *busy = 0;
  return status == LUA_OK ? lua_gettop(L) - args : -1;
}

/* {{{ owners */

static void end(struct owner *o) {
  void *owned = o->owned;
  o->owned = NULL;
  if (owned != NULL) o->end(owned);
}

/* The owner at 1, whose type is this function's upvalue. */
static struct owner *check_owner(lua_State *L) {
  return luaL_checkudata(L, 1, lua_tostring(L, lua_upvalueindex(1)));
}

static int m_close(lua_State *L) {
  struct owner *o = check_owner(L);
  o->closed = 1;
  if (!o->busy) end(o);
  return 0;
}

static int m_tostring(lua_State *L) {
  lua_pushfstring(L, owner_is_closed(check_owner(L)) ? "%s (closed)" : "%s", lua_tostring(L, lua_upvalueindex(1)));
  return 1;
}

void open_owner(lua_State *L, const char *type, const luaL_Reg *methods) {
  static const luaL_Reg NONE[] = { { NULL, NULL } };
  static const luaL_Reg CLOSE[] = { { "close", m_close }, { NULL, NULL } };
  static const luaL_Reg META[] = {
    { "__gc", m_close },
    { "__close", m_close },
    { "__tostring", m_tostring },
    { NULL, NULL }
  };
  open_type(L, type, NONE, methods);
  lua_pushstring(L, type);
  luaL_setfuncs(L, CLOSE, 1);
  luaL_getmetatable(L, type);
  lua_pushstring(L, type);
  luaL_setfuncs(L, META, 1);
  lua_pop(L, 1);
}

void *owner_new(lua_State *L, size_t size, int values, const char *type, void (*end_owned)(void *owned)) {
  struct owner *o = lua_newuserdatauv(L, size, values);
  memset(o, 0, size);
  o->end = end_owned;
  luaL_setmetatable(L, type);
  return o;
}

int return_closed(lua_State *L, const char *what) {
  struct err e;
  err_clear(&e);
  err_set(&e, KIND_CANCELLED, "the %s was closed", what);
  return return_error(L, &e);
}

int owner_lend(lua_State *L, struct owner *o, const char *what, int args, lua_CFunction f) {
  check_idle(L, what, o->busy);
  int n = call_busy(L, args, f, &o->busy);
  if (o->closed) end(o);
  return n < 0 ? lua_error(L) : n;
}

int owner_poll(lua_State *L, const char *type, const char *what, lua_CFunction f) {
  struct owner *o = luaL_checkudata(L, 1, type);
  return owner_is_closed(o) ? return_closed(L, what) : owner_lend(L, o, what, 1, f);
}

/* }}} */
