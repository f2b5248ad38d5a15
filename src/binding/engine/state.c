/*
** state.c: the core's data of a lua_State, which the userdata koine.engine holds: its engine, HTTP and scratch memory.
** Owns all; closed by __gc, which also runs when the state closes. A stream that outlives it is cancelled. In a child made by
** fork the state gets another engine on first use, and what waited for the parent's is told that it is gone.
*/
#include "engine.h"

#define TEXT_KEPT ((size_t)1 << 20) /* a larger scratch buffer is given back */

static const char STATE = 0; /* registry key */

/* The allocator of one state: Lua's own, so a host's limit covers the core too. */
static struct state *state_new(lua_State *L) {
  struct state *st = lua_newuserdatauv(L, sizeof *st, ENGINE_VALUES);
  memset(st, 0, sizeof *st);
  st->mem.f = lua_getallocf(L, &st->mem.ud);
  for (int i = 0; i < 2; i++) {
    arena_init(&st->scratch[i].arena, &st->mem);
    buf_init(&st->scratch[i].text, &st->mem);
    buf_init(&st->scratch[i].path, &st->mem);
    vector_init(&st->scratch[i].numbers, &st->mem);
  }
  luaL_setmetatable(L, TYPE_ENGINE);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_setiuservalue(L, -2, ENGINE_OWNERS);
  lua_newtable(L);
  lua_setiuservalue(L, -2, ENGINE_STEPPED);
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

void state_check_process(struct state *st) {
  if (st->engine == NULL || engine_here(st->engine)) return;
  free_engine(st);
  st->forked = 1;
}

struct engine *state_engine(lua_State *L, struct state *st) {
  struct err e;
  state_check_process(st);
  if (st->engine != NULL) return st->engine;
  check_open(L, st);
  err_clear(&e);
  st->engine = engine_new(&st->mem, &e);
  if (st->engine == NULL) raise_error(L, &e);
  return st->engine;
}

struct http *state_http(lua_State *L, struct state *st) {
  struct err e;
  state_check_process(st);
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
  lua_getiuservalue(L, -1, ENGINE_OWNERS);
  lua_pushvalue(L, idx);
  lua_rawsetp(L, -2, owner);
  lua_pop(L, 2);
}

struct state *engine_state(lua_State *L) { return check_marked(L, 1, MARK_ENGINE, TYPE_ENGINE); }

void state_close(struct state *st) {
  free_engine(st);
  st->closed = 1;
  for (int i = 0; i < 2; i++) {
    arena_free(&st->scratch[i].arena);
    buf_free(&st->scratch[i].text);
    buf_free(&st->scratch[i].path);
    vector_free(&st->scratch[i].numbers);
  }
}
