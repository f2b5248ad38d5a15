/*
** open.c: luaopen_koine_core, the one exported symbol, the clocks, and the signal of broken pipes. Pins the module on
** first load: a resolver thread of libcurl may still run its code when a state that closed would have unloaded it, and
** so may a signal.
*/
#include "binding.h"
#include "core/base/clock.h"
#include "core/base/io.h"

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

/* core.nanoseconds(): Unix nanoseconds, an integer. */
static int f_nanoseconds(lua_State *L) {
  lua_pushinteger(L, clock_wall_ns());
  return 1;
}

/* core.begin_quiet(): until core.end_quiet() was called as often, SIGPIPE does not end the process. */
static int f_begin_quiet(lua_State *L) {
  (void)L;
  io_begin_quiet();
  return 0;
}

/* core.end_quiet(): the end of what one begin_quiet began. */
static int f_end_quiet(lua_State *L) {
  (void)L;
  io_end_quiet();
  return 0;
}

static const luaL_Reg FUNCTIONS[] = {
  { "begin_quiet", f_begin_quiet },
  { "end_quiet", f_end_quiet },
  { "monotonic", f_monotonic },
  { "wall", f_wall },
  { "nanoseconds", f_nanoseconds },
  { NULL, NULL }
};

static void pin(void) {
  Dl_info self;
  union { void (*f)(void); void *p; } here = { pin }; /* not luaopen_koine_core: a host may have one of its own */
  if (dladdr(here.p, &self) != 0 && self.dli_fname != NULL)
    (void)dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE); /* no handle is kept: nothing to close */
}

int luaopen_koine_core(lua_State *L) {
  luaL_checkversion(L);
  pin();
  luaL_newlib(L, FUNCTIONS);
  open_vocabulary(L);
  open_error(L);
  open_apart(L);
  open_value(L);
  open_engine(L);
  open_adapter(L);
  open_stream(L);
  open_target(L);
  open_response(L);
  open_told(L);
  open_cost(L);
  open_fields(L);
  open_request(L);
  open_body(L);
  open_streamed(L);
  open_recording(L);
  open_connection(L);
  open_file(L);
  open_log(L);
  open_workdir(L);
  open_text(L);
  open_bytes(L);
  open_growing(L);
  open_vector(L);
  open_process(L);
  open_program(L);
  open_standard(L);
  return 1;
}
