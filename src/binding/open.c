/*
** open.c: luaopen_koine_core, the one exported symbol, and how types of userdata are made. Pins the module on first
** load: a resolver thread of libcurl may still run its code when a state that closed would have unloaded it.
*/
#include "binding.h"
#include "core/base/clock.h"

#include <dlfcn.h>

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

EXPORT int luaopen_koine_core(lua_State *L);

/* core.monotonic(): seconds for durations. */
static int f_monotonic(lua_State *L) {
  lua_pushnumber(L, clock_monotonic());
  return 1;
}

/* core.wall(): Unix seconds. */
static int f_wall(lua_State *L) {
  lua_pushnumber(L, clock_wall());
  return 1;
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

static const luaL_Reg FUNCTIONS[] = {
  { "monotonic", f_monotonic },
  { "wall", f_wall },
  { NULL, NULL }
};

static void pin(void) {
  Dl_info self;
  union { void (*f)(void); void *p; } here = { pin }; /* not luaopen_koine_core: a host may have one of its own */
  if (dladdr(here.p, &self) != 0 && self.dli_fname != NULL)
    (void)dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE); /* no handle is kept: nothing to close */
}

void open_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods) {
  luaL_newmetatable(L, type);
  luaL_setfuncs(L, meta, 0);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_remove(L, -2);
}

int luaopen_koine_core(lua_State *L) {
  luaL_checkversion(L);
  pin();
  luaL_newlib(L, FUNCTIONS);
  open_error(L);
  open_value(L);
  open_engine(L);
  open_adapter(L);
  open_stream(L);
  open_response(L);
  open_request(L);
  open_file(L);
  open_workdir(L);
  open_text(L);
  open_process(L);
  return 1;
}
