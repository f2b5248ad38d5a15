/*
** process.c: userdata koine.process: a program that runs, until everything it started is gone.
** It owns the process. Closing kills what is left at once, and waits for that: milliseconds, 3 s at most where it holds the
** supervisor up.
*/
#include "process.h"

/* A string without NUL; NULL when the value on top is nil. */
static const char *top_string(lua_State *L, const char *field) {
  if (lua_isnil(L, -1)) return NULL;
  if (lua_type(L, -1) != LUA_TSTRING) raise_type(L, field, "a string", -1);
  return c_string(L, -1, field);
}

/* The array of strings in a field of the table at 1, borrowed from it; NULL when there is none. */
static const char *const *read_strings(lua_State *L, const char *field, struct arena *a) {
  const char **v = NULL;
  if (lua_getfield(L, 1, field) == LUA_TTABLE) {
    lua_Integer n = array_count(L, -1);
    v = arena_alloc(a, ((size_t)n + 1) * sizeof *v);
    if (v == NULL) {
      luaL_error(L, "not enough memory");
      return NULL;
    }
    for (lua_Integer i = 1; i <= n; i++) {
      lua_rawgeti(L, -1, i);
      if ((v[i - 1] = top_string(L, field)) == NULL) raise_type(L, field, "an array of strings", -1);
      lua_pop(L, 1);
    }
    v[n] = NULL;
  } else if (!lua_isnil(L, -1)) {
    raise_type(L, field, "an array of strings", -1);
  }
  lua_pop(L, 1);
  return (const char *const *)v;
}

static double read_seconds(lua_State *L, const char *field) {
  double v = 0;
  if (lua_getfield(L, 1, field) != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TNUMBER || !(lua_tonumber(L, -1) >= 0)) raise_type(L, field, "seconds, 0 or more", -1);
    v = lua_tonumber(L, -1);
  }
  lua_pop(L, 1);
  return v;
}

void read_process(lua_State *L, struct process_spec *s, struct arena *a) {
  memset(s, 0, sizeof *s);
  s->argv = read_strings(L, "argv", a);
  if (s->argv == NULL || s->argv[0] == NULL) raise_argument(L, "argv", "an array of strings, not empty", "none");
  s->env = read_strings(L, "env", a);
  s->timeout = read_seconds(L, "timeout");
  s->grace = read_seconds(L, "grace");
  lua_getfield(L, 1, "cwd");
  s->cwd = top_string(L, "cwd");
  if (lua_getfield(L, 1, "input") == LUA_TSTRING) s->input.p = lua_tolstring(L, -1, &s->input.n);
  else if (!lua_isnil(L, -1)) raise_type(L, "input", "a string", -1);
  if (lua_getfield(L, 1, "output_max") != LUA_TNIL) {
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0) raise_type(L, "output_max", "bytes, 0 or more", -1);
    s->output_max = to_size(lua_tointeger(L, -1));
  }
  lua_getfield(L, 1, "merge");
  s->merge = lua_toboolean(L, -1);
  lua_getfield(L, 1, "protect");
  s->protect = lua_toboolean(L, -1);
  lua_pop(L, 5);
}

/* core.protect(): keeps this process from other processes of its user; see process_protect. */
static int f_protect(lua_State *L) {
  (void)L;
  process_protect();
  return 0;
}

static void end(void *process) { process_close(process); }

/* core.process({argv, env, cwd, input, timeout, grace, output_max, merge, protect}): a program that was started, or nil, err.
** `env` is an array of "NAME=value", nil: this program's. `timeout` (0 or nil: none) and `grace` are seconds,
** `output_max` the bytes that are kept of each stream; `protect`: core.protect first, and the program may not trace
** either. Raises ArgumentError. */
static int f_process(lua_State *L) {
  struct state *st = state_get(L, 0);
  struct engine *g = state_engine(L, st);
  struct owner *o;
  struct process_spec s;
  struct err e;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  err_clear(&e);
  o = owner_new(L, sizeof *o, 0, TYPE_PROCESS, end);
  state_register(L, o, 2);
  read_process(L, &s, &state_scratch(L)->arena);
  o->owned = process_start(g, &s, o, &e);
  return o->owned == NULL ? return_error(L, &e) : 1;
}

/* The bytes of each stream and what was dropped, into the table on top. */
static void push_output(lua_State *L, const struct process_result *result) {
  static const char *const NAMES[] = { "stdout", "stderr" };
  lua_createtable(L, 0, PROCESS_STREAMS);
  for (int i = 0; i < PROCESS_STREAMS; i++) {
    push_str(L, result->output[i]);
    lua_setfield(L, -3, NAMES[i]);
    lua_pushinteger(L, (lua_Integer)result->dropped[i]);
    lua_setfield(L, -2, NAMES[i]);
  }
  lua_setfield(L, -2, "dropped");
}

int push_result(lua_State *L, const struct process_result *result) {
  lua_createtable(L, 0, 6);
  lua_pushinteger(L, result->signal > 0 ? result->signal : result->code);
  lua_setfield(L, -2, result->signal > 0 ? "signal" : "code");
  lua_pushboolean(L, result->timed_out);
  lua_setfield(L, -2, "timed_out");
  if (result->left != 0) {
    lua_pushinteger(L, result->left);
    lua_setfield(L, -2, "left");
  }
  push_output(L, result);
  return 1;
}

/* Pushes the results of poll for a process that is open; returns their number. */
static int poll(lua_State *L) {
  struct process *p = ((struct owner *)lua_touserdata(L, 1))->owned;
  const struct err *failure;
  struct process_result result;
  if (!process_done(p, &failure)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (failure != NULL) return return_error(L, failure);
  process_result(p, &result);
  return push_result(L, &result);
}

/* process:poll(): false while anything of it lives; {code or signal, stdout, stderr, timed_out, dropped, left}, `left`
** being nil, a number, or -1 where it is not known; or nil, err. Raises ArgumentError when a finalizer calls it in the
** middle of itself. */
static int m_poll(lua_State *L) {
  return owner_poll(L, TYPE_PROCESS, "process", poll);
}

/* process:stop(): begins the end: SIGTERM, the grace period, SIGKILL. */
static int m_stop(lua_State *L) {
  struct owner *o = luaL_checkudata(L, 1, TYPE_PROCESS);
  if (o->owned != NULL) process_stop(o->owned);
  return 0;
}

static const luaL_Reg METHODS[] = {
  { "poll", m_poll },
  { "stop", m_stop },
  { NULL, NULL }
};

void open_process(lua_State *L) {
  open_owner(L, TYPE_PROCESS, METHODS);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_process);
  lua_setfield(L, -2, "process");
  lua_pushcfunction(L, f_protect);
  lua_setfield(L, -2, "protect");
}
