/*
** apart.c: core.apart: functions that run apart from the program, which they cannot yield for. The coroutine that one runs
** in is a value of Lua's, held by the closure and used again after each call that came to its end.
*/
#include "binding.h"

struct apart {
  lua_State *co; /* at rest where not busy, and held by the upvalue; NULL: none yet */
  int busy;
};

/* The upvalues of what core.apart returns. */
enum { APART = 1, FUNCTION, CLOSE, COROUTINE };

/* Makes the coroutine. Raises on memory. A finalizer that runs meanwhile may make one too, which this one replaces. */
static void make_coroutine(lua_State *L, struct apart *a) {
  lua_State *co = lua_newthread(L);
  lua_replace(L, lua_upvalueindex(COROUTINE));
  a->co = co;
}

/* Closes the coroutine, whose function raised or yielded, and drops it. Pushes the error; nothing where it yielded. The
** function is busy meanwhile: what is closed cannot call it. */
static void drop(lua_State *L, struct apart *a, int status) {
  int raised = status != LUA_YIELD;
  if (raised) lua_xmove(a->co, L, 1);
  lua_pushvalue(L, lua_upvalueindex(CLOSE));
  lua_pushvalue(L, lua_upvalueindex(COROUTINE));
  lua_pcall(L, 1, 0, 0);
  lua_settop(L, 1 + raised);
  lua_pushnil(L);
  lua_replace(L, lua_upvalueindex(COROUTINE));
  a->co = NULL;
}

/* What core.apart returns. */
static int run(lua_State *L) {
  struct apart *a = lua_touserdata(L, lua_upvalueindex(APART));
  int results, status;
  if (a->busy) {
    lua_pushliteral(L, "busy");
    return 1;
  }
  lua_settop(L, 1);
  if (a->co == NULL) make_coroutine(L, a);
  lua_pushvalue(L, lua_upvalueindex(FUNCTION));
  lua_pushvalue(L, 1);
  lua_xmove(L, a->co, 2);
  a->busy = 1;
  status = lua_resume(a->co, L, 1, &results);
  if (status != LUA_OK) drop(L, a, status);
  else lua_settop(a->co, 0);
  a->busy = 0;
  if (status == LUA_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushstring(L, status == LUA_YIELD ? "yielded" : "raised");
  lua_replace(L, 1);
  return lua_gettop(L);
}

static int is_busy(lua_State *L) {
  struct apart *a = lua_touserdata(L, lua_upvalueindex(APART));
  lua_pushboolean(L, a->busy);
  return 1;
}

/* core.apart(f, close): a function that calls f with one value, in a coroutine of its own. It returns true; or "raised" and
** what f raised, or "yielded", once `close`, which is coroutine.close, has closed what f had to close, whose own errors are
** lost; or "busy", without a call, while f runs. And a function that returns whether f runs. Raises on memory; an
** ArgumentError for what is no function. */
static int f_apart(lua_State *L) {
  struct apart *a;
  for (int i = 1; i <= 2; i++)
    if (lua_type(L, i) != LUA_TFUNCTION) return raise_type(L, i == 1 ? "f" : "close", "a function", i);
  lua_settop(L, 2);
  a = lua_newuserdatauv(L, sizeof *a, 0);
  a->co = NULL;
  a->busy = 0;
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, is_busy, 1);
  lua_insert(L, 1);
  lua_insert(L, 2);
  lua_pushnil(L);
  lua_pushcclosure(L, run, 4);
  lua_insert(L, 1);
  return 2;
}

void open_apart(lua_State *L) {
  lua_pushcfunction(L, f_apart);
  lua_setfield(L, -2, "apart");
}
