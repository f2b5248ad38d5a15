/*
** koine.h: Koine inside a C program. Link libkoine.a, Lua 5.4 and libcurl (`pkg-config --libs koine`), then, once for
** each lua_State, before a script says require "koine":
**
**   lua_State *L = luaL_newstate();
**   luaL_openlibs(L);
**   koine_preload(L);
**
** Nothing is read from files then, and nothing is shared between states but libcurl's one-time initialisation, so that
** each thread may have states of its own. lua-cjson, which some of the modules use, is required by them as usual.
*/
#ifndef KOINE_H
#define KOINE_H

#ifdef __cplusplus
extern "C" {
#endif

struct lua_State;

/* Puts the modules of Koine, but for koine.testing and the command line, into package.preload: they are loaded on first
** use. Raises a Lua error when out of memory. */
void koine_preload(struct lua_State *L);

/* The C module: what require "koine.core" calls. */
int luaopen_koine_core(struct lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
