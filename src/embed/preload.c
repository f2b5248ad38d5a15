/*
** preload.c: koine_preload, for programs that carry Koine in themselves (libkoine.a). The modules' text is in a table
** that tools/embed.lua writes at build time; it is never freed.
*/
#include <lua.h>
#include <lauxlib.h>

#include "koine.h"
#include "modules.h"

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default"))) /* the rest of libkoine.a keeps to itself */
#else
#define EXPORT
#endif

/* The loader of a module, its entry in upvalue 1: returns what the module returns. */
static int load(lua_State *L) {
  const struct koine_module *m = lua_touserdata(L, lua_upvalueindex(1));
  if (luaL_loadbufferx(L, (const char *)m->text, m->size, m->chunk, "t") != LUA_OK) return lua_error(L);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

EXPORT void koine_preload(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_koine_core);
  lua_setfield(L, -2, "koine.core");
  for (const struct koine_module *m = koine_modules; m->name != NULL; m++) {
    lua_pushlightuserdata(L, (void *)(size_t)m);
    lua_pushcclosure(L, load, 1);
    lua_setfield(L, -2, m->name);
  }
  lua_pop(L, 1);
}
