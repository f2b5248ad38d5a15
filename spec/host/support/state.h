/* state.h: Lua states with Koine linked in, as a host makes them. */
#ifndef KOINE_SPEC_HOST_SUPPORT_STATE_H
#define KOINE_SPEC_HOST_SUPPORT_STATE_H

#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "support/descriptors.h"

int luaopen_koine_core(lua_State *L);

/* Prints what the chunk raised and gives up: for chunks that cannot fail. */
static inline void state_must(lua_State *L, int status) {
  if (status == LUA_OK) return;
  fprintf(stderr, "lua: %s\n", luaL_tolstring(L, -1, NULL));
  exit(1);
}

/* A state with Lua's libraries; koine.core is this program's own, the Lua files are the checkout's. */
static inline lua_State *state_open(lua_Alloc f, void *ud) {
#if LUA_VERSION_NUM >= 505
  lua_State *L = lua_newstate(f, ud, 0);
#else
  lua_State *L = lua_newstate(f, ud);
#endif
  if (L == NULL) {
    fputs("no Lua state\n", stderr);
    exit(1);
  }
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushliteral(L, "./lua/?.lua;./lua/?/init.lua");
  lua_setfield(L, -2, "path");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, luaopen_koine_core);
  lua_setfield(L, -2, "koine.core");
  lua_pop(L, 2);
  return L;
}

/* Runs a chunk with one argument, the provider's address; what it sets is global. */
static inline void state_run(lua_State *L, const char *chunk, const char *name, int port) {
  char address[64];
  snprintf(address, sizeof address, "http://127.0.0.1:%d/", port);
  state_must(L, luaL_loadbuffer(L, chunk, strlen(chunk), name));
  lua_pushstring(L, address);
  state_must(L, lua_pcall(L, 1, 0, 0));
}

/* A state in libc's memory that has run a chunk: see state_run. */
static inline lua_State *state_with(const char *chunk, const char *name, int port) {
  struct mem m = mem_libc();
  lua_State *L = state_open(m.f, m.ud);
  state_run(L, chunk, name, port);
  return L;
}

/* The beginning of a chunk: adapter(n, what) is one of three wires' for the answer `what` of the provider. */
#define STATE_ADAPTER \
  "local base = ...\n" \
  "local koine, core, wait = require 'koine', require 'koine.core', require 'koine.task.wait'\n" \
  "local makers = { koine.anthropic, koine.compatible, koine.openai }\n" \
  "local function adapter(n, what)\n" \
  "  return makers[n % 3 + 1] { model = 'some-model', key = 'a-secret-key', base_url = base .. what, retry = false }\n" \
  "end\n"

/* Calls the global function `name` with an integer: its first result, an integer (0 when it returns none). */
static inline lua_Integer state_call(lua_State *L, const char *name, lua_Integer argument) {
  lua_getglobal(L, name);
  lua_pushinteger(L, argument);
  state_must(L, lua_pcall(L, 1, 1, 0));
  lua_Integer r = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return r;
}

#endif
