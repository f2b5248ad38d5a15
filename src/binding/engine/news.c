/*
** news.c: a step of the engine, and the tokens that became ready in it: the array of engine:step, or one by one by core.turn
** and core.ready, for who hands them to waiters. What is kept for them are user values of the engine's userdata. Raises
** what Lua raises where memory ends; nothing is lost then.
*/
#include "engine.h"

/* Pushes the token that core.ready gave last and that is not done: its type, LUA_TNIL where there is none. */
static int push_given(lua_State *L) { return lua_getiuservalue(L, 1, ENGINE_GIVEN); }

int engine_keeps(lua_State *L) {
  int keeps = push_given(L) != LUA_TNIL || (lua_getiuservalue(L, 1, ENGINE_INHERITED) == LUA_TTABLE && lua_rawlen(L, -1) > 0);
  lua_settop(L, 1);
  return keeps;
}

/* Tokens on their way from the pollset to the array that step returns. */
struct tokens { struct pollset *from; lua_Integer n; };

/* Moves the tokens of what has news into the array at 1; at 2 the table of owners, at 3 the struct tokens. The room for
** a token is made before the token is taken: where that raises, those taken before are in the array, the others still
** have their news. */
static int take_tokens(lua_State *L) {
  struct tokens *t = lua_touserdata(L, 3);
  struct news *news;
  for (;;) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, 1, t->n + 1);
    if ((news = pollset_ready(t->from)) == NULL) return 0;
    if (lua_rawgetp(L, 2, news->owner) == LUA_TNIL) lua_pop(L, 1);
    else lua_rawseti(L, 1, ++t->n);
  }
}

/* Fills the array that step returns with the streams, requests and processes that have news, and pushes it. Where
** memory is short it is as many as there is room for, and the next step, which does not wait then, tells of the others;
** raises where there is no room for one. */
static void push_tokens(lua_State *L, struct engine *g) {
  struct tokens t = { engine_pollset(g), 0 };
  lua_getiuservalue(L, 1, ENGINE_STEPPED);
  lua_pushcfunction(L, take_tokens);
  lua_pushvalue(L, -2);
  lua_getiuservalue(L, 1, ENGINE_OWNERS);
  lua_pushlightuserdata(L, &t);
  if (lua_pcall(L, 3, 0, 0) != LUA_OK) {
    if (t.n == 0) lua_error(L);
    lua_pop(L, 1);
  }
  for (lua_Integer i = t.n + 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    lua_pop(L, 1);
    lua_pushnil(L);
    lua_rawseti(L, -2, i);
  }
  lua_pop(L, 1);
}

/* Appends every token to the array at 1; at 2 the table of owners. They look what has become of what they wait for. */
static int take_all(lua_State *L) {
  lua_Integer n = 0;
  for (lua_pushnil(L); lua_next(L, 2);) lua_rawseti(L, 1, ++n);
  for (n++; lua_rawgeti(L, 1, n) != LUA_TNIL; n++) {
    lua_pop(L, 1);
    lua_pushnil(L);
    lua_rawseti(L, 1, n);
  }
  return 0;
}

/* The first step in a forked child: fills the array at the top with all tokens. Raises on memory; the next step does it. */
static void fill_with_all(lua_State *L, struct state *st) {
  lua_pushcfunction(L, take_all);
  lua_pushvalue(L, -2);
  lua_getiuservalue(L, 1, ENGINE_OWNERS);
  lua_call(L, 2, 0);
  st->forked = 0;
}

/* The options of step, at 3: seconds of the budget; -1: none. Raises ArgumentError. */
static double read_budget(lua_State *L) {
  double budget = -1;
  if (lua_isnoneornil(L, 3)) return budget;
  if (lua_type(L, 3) != LUA_TTABLE) raise_type(L, "options", "a table", 3);
  for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) raise_type(L, "options", "names of options", -2);
    if (strcmp(lua_tostring(L, -2), "budget_ms") != 0)
      raise_argument(L, lua_tostring(L, -2), "the option budget_ms", "an unknown option");
    if (lua_type(L, -1) != LUA_TNUMBER || !(lua_tonumber(L, -1) >= 0))
      raise_type(L, "budget_ms", "a number of milliseconds, 0 or more", -1);
    budget = lua_tonumber(L, -1) / 1000;
  }
  return budget;
}

/* Reads the arguments of step at 1, steps, and leaves the engine at 1: true when a signal cut the wait short. Where the engine
** is a parent's and nobody knows, st->forked stays set. */
static int take_step(lua_State *L, struct state *st, int is_due) {
  double seconds = luaL_optnumber(L, 2, -1), budget = read_budget(L);
  int interrupted = 0;
  struct err e;
  if (seconds != seconds) return raise_argument(L, "seconds", "a number", "NaN");
  err_clear(&e);
  lua_settop(L, 1);
  struct engine *g = state_engine(L, st);
  if (!st->forked && engine_step(g, is_due ? 0 : seconds, budget, &interrupted, &e) != 0) raise_error(L, &e);
  return interrupted;
}

/* Moves the token that core.ready gave and was not told is done behind the array at the top: who steps the engine takes it. */
static void add_given(lua_State *L) {
  if (push_given(L) != LUA_TNIL) lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  else lua_pop(L, 1);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, ENGINE_GIVEN);
}

int engine_m_step(lua_State *L) {
  struct state *st = engine_state(L);
  int interrupted = take_step(L, st, 0);
  if (st->forked) {
    lua_getiuservalue(L, 1, ENGINE_STEPPED);
    fill_with_all(L, st);
  } else {
    push_tokens(L, st->engine);
  }
  add_given(L);
  lua_pushboolean(L, interrupted);
  return 2;
}

/* core.turn(engine, seconds, options): a step for who asks core.ready for the tokens, one by one; without a wait while one
** that it gave is not done. Raises as step does. */
static int f_turn(lua_State *L) {
  struct state *st = engine_state(L);
  int is_due = push_given(L) != LUA_TNIL;
  lua_pop(L, 1);
  take_step(L, st, is_due);
  if (st->forked) {
    lua_newtable(L);
    fill_with_all(L, st);
    lua_setiuservalue(L, 1, ENGINE_INHERITED);
  }
  pollset_begin_turn(engine_pollset(st->engine));
  return 0;
}

/* Pushes an inherited token that is still to be told, and forgets it: false where there is none. */
static int push_inherited(lua_State *L) {
  lua_Integer n = lua_getiuservalue(L, 1, ENGINE_INHERITED) == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : 0;
  if (n == 0) return 0;
  lua_rawgeti(L, -1, n);
  lua_pushnil(L);
  lua_rawseti(L, -3, n);
  return 1;
}

/* Pushes the next token that became ready before the turn began: false where there is none. */
static int push_ready(lua_State *L, struct state *st) {
  struct news *news;
  if (push_inherited(L)) return 1;
  lua_getiuservalue(L, 1, ENGINE_OWNERS);
  while (st->engine != NULL && (news = pollset_ready_in_turn(engine_pollset(st->engine))) != NULL) {
    if (lua_rawgetp(L, -1, news->owner) != LUA_TNIL) return 1;
    lua_pop(L, 1);
  }
  return 0;
}

/* core.ready(engine, done): the next token of this turn, nil where there is none. `done` is the one before, nil for none: a
** token is given again, with true, until it is done, as who was told of it may have raised, or step the engine within. In one
** call of C, so that nothing that interrupts the caller, a hook say, can lose a token. Raises nothing. */
static int f_ready(lua_State *L) {
  struct state *st = engine_state(L);
  lua_settop(L, 2);
  if (push_given(L) != LUA_TNIL && !lua_rawequal(L, 2, -1)) {
    lua_pushboolean(L, 1);
    return 2;
  }
  if (!push_ready(L, st)) lua_pushnil(L);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, ENGINE_GIVEN);
  return 1;
}

void engine_open_news(lua_State *L) {
  lua_pushcfunction(L, f_turn);
  lua_setfield(L, -2, "turn");
  lua_pushcfunction(L, f_ready);
  lua_setfield(L, -2, "ready");
}
