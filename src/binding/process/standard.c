/*
** standard.c: userdata koine.standard: this process's own standard input and output, taken for a protocol.
** lua/koine/system/standard.lua waits for it. Closing it puts them back.
** A Lua string is a copy before its making may run a finalizer, which then may close what it came from.
*/
#include "binding/binding.h"
#include "core/process/standard.h"

#define HIGH_WATER ((size_t)256 << 10)
#define LINE_BYTES ((size_t)32 << 20)

static void end(void *standard) { standard_close(standard); }

/* core.standard({high_water, line_max}): takes them, or nil, err. Raises ArgumentError. */
static int f_standard(lua_State *L) {
  struct state *st = state_get(L, 0);
  struct engine *g = state_engine(L, st);
  struct owner *o;
  struct err e;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  err_clear(&e);
  size_t high_water = field_size(L, "high_water", HIGH_WATER), line_max = field_size(L, "line_max", LINE_BYTES);
  o = owner_new(L, sizeof *o, 0, TYPE_STANDARD, end);
  state_register(L, o, 2);
  o->owned = standard_open(g, high_water, line_max, o, &e);
  return o->owned == NULL ? return_error(L, &e) : 1;
}

/* What is at 1; NULL when it is closed. Raises for another type. */
static struct standard *check(lua_State *L) {
  return ((struct owner *)luaL_checkudata(L, 1, TYPE_STANDARD))->owned;
}

static int closed(lua_State *L) {
  return return_closed(L, "standard input and output");
}

/* standard:take_line(): the next line; false when there is none yet; nil at the end; nil, err. Where memory is short for the
** line, it comes again. */
static int m_take_line(lua_State *L) {
  struct standard *s = check(L);
  struct str line = STR_NONE;
  struct err e;
  if (s == NULL) return closed(L);
  err_clear(&e);
  enum pipe_got got = standard_line(s, &line, &e);
  if (got == PIPE_FAILED) return return_error(L, &e);
  if (got == PIPE_BYTES) {
    push_str(L, line);
    if ((s = check(L)) != NULL) standard_took(s);
  } else if (got == PIPE_LATER) {
    lua_pushboolean(L, 0);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/* standard:put(bytes): queues all of them: true; nil, err: they are not queued, or lost. */
static int m_put(lua_State *L) {
  struct standard *s = check(L);
  struct str bytes;
  struct err e;
  bytes.p = luaL_checklstring(L, 2, &bytes.n);
  if (s == NULL) return closed(L);
  err_clear(&e);
  return return_done(L, standard_write(s, bytes, &e), &e);
}

/* standard:room(): whether no more than high_water bytes wait to be written, and how many do; nil, err: they are lost. */
static int m_room(lua_State *L) {
  const struct standard *s = check(L);
  struct err e;
  if (s == NULL) return closed(L);
  err_clear(&e);
  int room = standard_room(s, &e);
  if (room < 0) return return_error(L, &e);
  lua_pushboolean(L, room);
  lua_pushinteger(L, (lua_Integer)standard_waiting(s));
  return 2;
}

static const luaL_Reg METHODS[] = {
  { "take_line", m_take_line },
  { "put", m_put },
  { "room", m_room },
  { NULL, NULL }
};

void open_standard(lua_State *L) {
  open_owner(L, TYPE_STANDARD, METHODS);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_standard);
  lua_setfield(L, -2, "standard");
}
