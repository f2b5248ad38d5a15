/*
** type.c: types of userdata: how they are made, and how one is kept from its finalizer while it is in use.
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

int call_busy(lua_State *L, lua_CFunction f, int *busy) {
  int status;
  lua_settop(L, 1);
  lua_pushcfunction(L, f);
  lua_pushvalue(L, 1); /* the userdata lives as long as this call, though f may drop its own */
  *busy = 1;
  status = lua_pcall(L, 1, LUA_MULTRET, 0);
  *busy = 0;
  return status == LUA_OK ? lua_gettop(L) - 1 : -1;
}
