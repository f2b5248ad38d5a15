/*
** program.c: userdata koine.program: a program that is talked to while it runs. lua/koine/system/program.lua waits for it.
** It owns the program. Closing kills what is left at once, as koine.process does.
** A Lua string is a copy before its making may run a finalizer, which then may close the program it came from.
*/
#include "core/process/program.h"
#include "process.h"

#define HIGH_WATER ((size_t)256 << 10)
#define LINE_BYTES ((size_t)32 << 20)
#define ERROR_BYTES ((size_t)64 << 10)

static void end(void *program) { program_close(program); }

/* core.program({argv, env, cwd, grace, protect, high_water, line_max, stderr_max, error_lines}): a program that is being
** started, or nil, err. The first five are as core.process has them. `error_lines`: true makes a line of its standard error
** news. Raises ArgumentError. */
static int f_program(lua_State *L) {
  struct state *st = state_get(L, 0);
  struct engine *g = state_engine(L, st);
  struct owner *o;
  struct program_spec s;
  struct err e;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  err_clear(&e);
  o = owner_new(L, sizeof *o, 0, TYPE_PROGRAM, end);
  state_register(L, o, 2);
  memset(&s, 0, sizeof s);
  read_process(L, &s.process, &state_scratch(L)->arena);
  lua_pushvalue(L, 1);
  s.high_water = field_size(L, "high_water", HIGH_WATER);
  s.line_max = field_size(L, "line_max", LINE_BYTES);
  s.error_max = field_size(L, "stderr_max", ERROR_BYTES);
  lua_getfield(L, 1, "error_lines");
  s.error_lines = lua_toboolean(L, -1);
  lua_pop(L, 2);
  o->owned = program_start(g, &s, o, &e);
  return o->owned == NULL ? return_error(L, &e) : 1;
}

/* The program at 1; NULL when it is closed. Raises for another type. */
static struct program *check(lua_State *L) {
  return ((struct owner *)luaL_checkudata(L, 1, TYPE_PROGRAM))->owned;
}

static int closed(lua_State *L) {
  return return_closed(L, "program");
}

/* program:started(): true once it runs, false before; nil, err. */
static int m_started(lua_State *L) {
  struct program *p = check(L);
  struct err e;
  if (p == NULL) return closed(L);
  err_clear(&e);
  int started = program_started(p, &e);
  if (started < 0) return return_error(L, &e);
  lua_pushboolean(L, started);
  return 1;
}

/* program:take_line(): the next line of its output; false when there is none yet; nil at the end; nil, err. Where memory is
** short for the line, it comes again. */
static int m_take_line(lua_State *L) {
  struct program *p = check(L);
  struct str line = STR_NONE;
  struct err e;
  if (p == NULL) return closed(L);
  err_clear(&e);
  enum pipe_got got = program_line(p, &line, &e);
  if (got == PIPE_FAILED) return return_error(L, &e);
  if (got == PIPE_BYTES) {
    push_str(L, line);
    if ((p = check(L)) != NULL) program_took(p);
  } else if (got == PIPE_LATER) {
    lua_pushboolean(L, 0);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/* program:take_error_line(): the next line of its standard error; nil when there is none. */
static int m_take_error_line(lua_State *L) {
  struct program *p = check(L);
  struct str line;
  if (p == NULL || !program_error_line(p, &line)) lua_pushnil(L);
  else push_str(L, line);
  return 1;
}

/* program:put(bytes): queues all of them: true; nil, err: they are not queued, or lost. */
static int m_put(lua_State *L) {
  struct program *p = check(L);
  struct str bytes;
  struct err e;
  bytes.p = luaL_checklstring(L, 2, &bytes.n);
  if (p == NULL) return closed(L);
  err_clear(&e);
  return return_done(L, program_write(p, bytes, &e), &e);
}

/* program:room(): whether no more than high_water bytes wait to be written; nil, err: they are lost. */
static int m_room(lua_State *L) {
  struct program *p = check(L);
  struct err e;
  if (p == NULL) return closed(L);
  err_clear(&e);
  int room = program_room(p, &e);
  if (room < 0) return return_error(L, &e);
  lua_pushboolean(L, room);
  return 1;
}

/* program:close_input(): its input ends behind what is queued. */
static int m_close_input(lua_State *L) {
  struct program *p = check(L);
  if (p != NULL) program_close_input(p);
  return 0;
}

/* program:drop(): reads output of it, and drops it. */
static int m_drop(lua_State *L) {
  struct program *p = check(L);
  if (p != NULL) program_drop(p);
  return 0;
}

/* program:finish(): begins the end: its input ends, the grace period, then as stop. */
static int m_finish(lua_State *L) {
  struct program *p = check(L);
  if (p != NULL) program_end(p);
  return 0;
}

/* program:stop(): begins the end: SIGTERM, the grace period, SIGKILL. */
static int m_stop(lua_State *L) {
  struct program *p = check(L);
  if (p != NULL) program_stop(p);
  return 0;
}

/* Pushes the results of poll for a program that is open; returns their number. */
static int poll(lua_State *L) {
  struct program *p = ((struct owner *)lua_touserdata(L, 1))->owned;
  const struct err *failure;
  struct process_result result;
  if (!program_done(p, &failure)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (failure != NULL) return return_error(L, failure);
  program_result(p, &result);
  return push_result(L, &result);
}

/* program:poll(): as process:poll(), with stdout empty and stderr the end of it. */
static int m_poll(lua_State *L) {
  return owner_poll(L, TYPE_PROGRAM, "program", poll);
}

static const luaL_Reg METHODS[] = {
  { "started", m_started },
  { "take_line", m_take_line },
  { "take_error_line", m_take_error_line },
  { "put", m_put },
  { "room", m_room },
  { "close_input", m_close_input },
  { "drop", m_drop },
  { "finish", m_finish },
  { "stop", m_stop },
  { "poll", m_poll },
  { NULL, NULL }
};

void open_program(lua_State *L) {
  open_owner(L, TYPE_PROGRAM, METHODS);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_program);
  lua_setfield(L, -2, "program");
}
