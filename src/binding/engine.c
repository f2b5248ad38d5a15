/*
** engine.c: userdata koine.engine, the one engine of a lua_State, its HTTP, and the state's scratch memory.
** Owns all; closed by __gc, which also runs when the state closes. A stream that outlives it is cancelled. In a child made by
** fork the state gets another engine on first use, and what waited for the parent's is told that it is gone.
*/
#include "binding.h"

#define TEXT_KEPT ((size_t)1 << 20) /* a larger scratch buffer is given back */

static const char STATE = 0; /* registry key */

/* The allocator of one state: Lua's own, so a host's limit covers the core too. */
static struct state *state_new(lua_State *L) {
  struct state *st = lua_newuserdatauv(L, sizeof *st, 4);
  memset(st, 0, sizeof *st);
  st->mem.f = lua_getallocf(L, &st->mem.ud);
  for (int i = 0; i < 2; i++) {
    arena_init(&st->scratch[i].arena, &st->mem);
    buf_init(&st->scratch[i].text, &st->mem);
    buf_init(&st->scratch[i].path, &st->mem);
    vector_init(&st->scratch[i].numbers, &st->mem);
  }
  luaL_setmetatable(L, TYPE_ENGINE);
  lua_newtable(L); /* address -> userdata, weak */
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setiuservalue(L, -2, 1);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &STATE);
  return st;
}

struct state *state_get(lua_State *L, int push) {
  struct state *st;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &STATE) == LUA_TUSERDATA) {
    st = lua_touserdata(L, -1);
  } else {
    lua_pop(L, 1);
    st = state_new(L);
  }
  if (!push) lua_pop(L, 1);
  return st;
}

/* Objects older than it are finalized after it: what they allocated here would never be freed. */
static void check_open(lua_State *L, const struct state *st) {
  if (st->closed) luaL_error(L, "Koine was closed with its Lua state");
}

static void free_engine(struct state *st) {
  http_free(st->http);
  engine_free(st->engine);
  st->http = NULL;
  st->engine = NULL;
}

/* Frees the engine of the parent, where this is a child made by fork. */
static void check_process(struct state *st) {
  if (st->engine == NULL || engine_here(st->engine)) return;
  free_engine(st);
  st->forked = 1;
}

struct engine *state_engine(lua_State *L, struct state *st) {
  struct err e;
  check_process(st);
  if (st->engine != NULL) return st->engine;
  check_open(L, st);
  err_clear(&e);
  st->engine = engine_new(&st->mem, &e);
  if (st->engine == NULL) raise_error(L, &e);
  return st->engine;
}

struct http *state_http(lua_State *L, struct state *st) {
  struct err e;
  check_process(st);
  if (st->http != NULL) return st->http;
  err_clear(&e);
  st->http = http_new(state_engine(L, st), &e);
  if (st->http == NULL) raise_error(L, &e);
  http_offline(st->http, st->offline);
  return st->http;
}

struct scratch *state_scratch(lua_State *L) {
  struct state *st = state_get(L, 0);
  struct scratch *s = &st->scratch[in_finalizer(L)];
  check_open(L, st);
  arena_reset(&s->arena);
  if (s->text.cap > TEXT_KEPT) buf_free(&s->text);
  if (s->numbers.cap * sizeof *s->numbers.v > TEXT_KEPT) vector_free(&s->numbers);
  s->text.n = s->path.n = 0;
  return s;
}

/* From Lua 5.5 on LUA_GCSTEP counts bytes. */
void tell_collector(lua_State *L, int kib) {
  if (in_finalizer(L)) return;
#if LUA_VERSION_NUM >= 505
  lua_gc(L, LUA_GCSTEP, (size_t)kib * 1024);
#else
  lua_gc(L, LUA_GCSTEP, kib);
#endif
}

void state_register(lua_State *L, const void *owner, int idx) {
  idx = lua_absindex(L, idx);
  state_get(L, 1);
  lua_getiuservalue(L, -1, 1);
  lua_pushvalue(L, idx);
  lua_rawsetp(L, -2, owner);
  lua_pop(L, 2);
}

static struct state *check_state(lua_State *L) {
  return check_marked(L, 1, MARK_ENGINE, TYPE_ENGINE);
}

/* core.engine(): the engine of this Lua state. */
static int f_engine(lua_State *L) {
  state_get(L, 1);
  return 1;
}

/* core.tell_collector(kib): lets the collector work as if so many KiB, an integer above 0, had been allocated. */
static int f_tell_collector(lua_State *L) {
  tell_collector(L, to_int(luaL_checkinteger(L, 1)));
  return 0;
}

/* core.libcurl(): the version of the libcurl that is running. core.http2_problem: why it may not speak HTTP/2, a string; nil
** where it may. */
static int f_libcurl(lua_State *L) {
  lua_pushstring(L, http_library());
  return 1;
}

/* core.offline(on): from now on only loopback hosts can be reached; anything else fails before DNS. */
static int f_offline(lua_State *L) {
  struct state *st = state_get(L, 0);
  st->offline = lua_toboolean(L, 1);
  if (st->http != NULL) http_offline(st->http, st->offline);
  return 0;
}

/* engine:pollfd(): a descriptor that is readable when step has work; valid as long as the engine. */
static int m_pollfd(lua_State *L) {
  lua_pushinteger(L, engine_pollfd(state_engine(L, check_state(L))));
  return 1;
}

/* engine:events(): what to poll for: "r". */
static int m_events(lua_State *L) {
  check_state(L);
  lua_pushliteral(L, "r");
  return 1;
}

/* Pushes the token that f_ready gave last and that is not done: its type, LUA_TNIL where there is none. */
static int push_given(lua_State *L) { return lua_getiuservalue(L, 1, 3); }

/* engine:timeout(): seconds until step must be called though the descriptor is silent; nil: there is no such time. */
static int m_timeout(lua_State *L) {
  struct state *st = check_state(L);
  check_process(st);
  int is_due = st->forked || st->orphans > 0 || push_given(L) != LUA_TNIL;
  double t = is_due ? 0 : st->engine == NULL ? -1 : engine_timeout(st->engine);
  if (t < 0) lua_pushnil(L);
  else lua_pushnumber(L, t);
  return 1;
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
  lua_getiuservalue(L, 1, 2);
  lua_pushcfunction(L, take_tokens);
  lua_pushvalue(L, -2);
  lua_getiuservalue(L, 1, 1);
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
  lua_getiuservalue(L, 1, 1);
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
  lua_setiuservalue(L, 1, 3);
}

/* engine:step([seconds [, {budget_ms = n}]]): waits at most so long (nil: until something happens; 0: not at all), does
** what there is to do, and returns the array of tokens that became ready (reused by the next step) and true when a
** signal cut the wait short. With a budget it works for so many milliseconds after the wait, and ends with the piece of
** work it is at then; with 0 it does one piece, a descriptor's or a source's. Raises ArgumentError, and when the system
** fails. */
static int m_step(lua_State *L) {
  struct state *st = check_state(L);
  int interrupted = take_step(L, st, 0);
  if (st->forked) {
    lua_getiuservalue(L, 1, 2);
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
  struct state *st = check_state(L);
  int is_due = push_given(L) != LUA_TNIL;
  lua_pop(L, 1);
  take_step(L, st, is_due);
  if (st->forked) {
    lua_newtable(L);
    fill_with_all(L, st);
    st->orphans = (lua_Integer)lua_rawlen(L, -1);
    lua_setiuservalue(L, 1, 4);
  }
  pollset_turn(engine_pollset(st->engine));
  return 0;
}

/* Pushes the next token that became ready before the turn began: false when there is none. */
static int push_ready(lua_State *L, struct state *st) {
  struct news *news;
  if (st->orphans > 0) {
    lua_getiuservalue(L, 1, 4);
    lua_rawgeti(L, -1, st->orphans);
    lua_pushnil(L);
    lua_rawseti(L, -3, st->orphans--);
    return 1;
  }
  lua_getiuservalue(L, 1, 1);
  while (st->engine != NULL && (news = pollset_told(engine_pollset(st->engine))) != NULL) {
    if (lua_rawgetp(L, -1, news->owner) != LUA_TNIL) return 1;
    lua_pop(L, 1);
  }
  return 0;
}

/* core.ready(engine, done): the next token of this turn, nil where there is none. `done` is the one before, nil for none: a
** token is given again, with true, until it is done, as who was told of it may have raised, or step the engine within. In one
** call of C, so that nothing that interrupts the caller, a hook say, can lose a token. Raises nothing. */
static int f_ready(lua_State *L) {
  struct state *st = check_state(L);
  lua_settop(L, 2);
  if (push_given(L) != LUA_TNIL && !lua_rawequal(L, 2, -1)) {
    lua_pushboolean(L, 1);
    return 2;
  }
  if (!push_ready(L, st)) lua_pushnil(L);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, 3);
  return 1;
}

static int m_gc(lua_State *L) {
  struct state *st = check_state(L);
  free_engine(st);
  st->closed = 1;
  for (int i = 0; i < 2; i++) {
    arena_free(&st->scratch[i].arena);
    buf_free(&st->scratch[i].text);
    buf_free(&st->scratch[i].path);
    vector_free(&st->scratch[i].numbers);
  }
  return 0;
}

static int m_tostring(lua_State *L) {
  struct state *st = check_state(L);
  lua_pushfstring(L, TYPE_ENGINE " (%d in flight)", st->http == NULL ? 0 : http_active(st->http));
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "pollfd", m_pollfd },
  { "events", m_events },
  { "timeout", m_timeout },
  { "step", m_step },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__gc", m_gc },
  { "__tostring", m_tostring },
  { NULL, NULL }
};

void open_engine(lua_State *L) {
  open_type(L, TYPE_ENGINE, META, METHODS);
  mark_type(L, TYPE_ENGINE, MARK_ENGINE);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_engine);
  lua_setfield(L, -2, "engine");
  lua_pushcfunction(L, f_turn);
  lua_setfield(L, -2, "turn");
  lua_pushcfunction(L, f_ready);
  lua_setfield(L, -2, "ready");
  lua_pushcfunction(L, f_tell_collector);
  lua_setfield(L, -2, "tell_collector");
  lua_pushcfunction(L, f_offline);
  lua_setfield(L, -2, "offline");
  lua_pushcfunction(L, f_libcurl);
  lua_setfield(L, -2, "libcurl");
  if (http2_problem() != NULL) {
    lua_pushstring(L, http2_problem());
    lua_setfield(L, -2, "http2_problem");
  }
}
