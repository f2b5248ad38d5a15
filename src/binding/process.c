/*
** process.c: userdata koine.process: a program that runs, until everything it started is gone.
** A process owns its core half; created closed, closed by close, __close and __gc alike, which kills what is left.
*/
#include "binding.h"
#include "core/process/process.h"

struct running {
  struct process *process; /* NULL: closed, or never started */
  int busy;                /* its outcome is being read: a finalizer must leave the process alone */
  int closed;              /* by such a finalizer, too: poll closes the process then */
};

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

/* Reads the table at 1; strings are borrowed from it. */
static void read_spec(lua_State *L, struct process_spec *s, struct arena *a) {
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

/* core.process({argv, env, cwd, input, timeout, grace, output_max, merge, protect}): a program that was started, or nil, err.
** `env` is an array of "NAME=value", nil: this program's. `timeout` (0 or nil: none) and `grace` are seconds,
** `output_max` the bytes that are kept of each stream; `protect`: core.protect first, and the program may not trace
** either. Raises ArgumentError. */
static int f_process(lua_State *L) {
  struct state *st = state_get(L, 0);
  struct engine *g = state_engine(L, st);
  struct running *r;
  struct process_spec s;
  struct err e;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  err_clear(&e);
  r = lua_newuserdatauv(L, sizeof *r, 0);
  memset(r, 0, sizeof *r);
  luaL_setmetatable(L, TYPE_PROCESS);
  state_register(L, r, 2);
  read_spec(L, &s, &state_scratch(L)->arena);
  r->process = process_start(g, &s, r, &e);
  return r->process == NULL ? return_error(L, &e) : 1;
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

static void release(struct running *r) {
  process_close(r->process);
  r->process = NULL;
}

/* Pushes the results of poll for a process that is open; returns their number. */
static int poll(lua_State *L) {
  struct running *r = lua_touserdata(L, 1);
  const struct err *failure;
  struct process_result result;
  if (!process_done(r->process, &failure)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (failure != NULL) return return_error(L, failure);
  process_result(r->process, &result);
  lua_createtable(L, 0, 6);
  lua_pushinteger(L, result.signal > 0 ? result.signal : result.code);
  lua_setfield(L, -2, result.signal > 0 ? "signal" : "code");
  lua_pushboolean(L, result.timed_out);
  lua_setfield(L, -2, "timed_out");
  if (result.left != 0) {
    lua_pushinteger(L, result.left);
    lua_setfield(L, -2, "left");
  }
  push_output(L, &result);
  return 1;
}

/* process:poll(): false while anything of it lives; {code or signal, stdout, stderr, timed_out, dropped, left}, `left`
** being nil, a number, or -1 where it is not known; or nil, err. Raises ArgumentError when a finalizer calls it in the
** middle of itself. */
static int m_poll(lua_State *L) {
  struct running *r = luaL_checkudata(L, 1, TYPE_PROCESS);
  int n;
  if (r->closed || r->process == NULL) {
    struct err e;
    err_clear(&e);
    err_set(&e, KIND_CANCELLED, "the process was closed");
    return return_error(L, &e);
  }
  check_idle(L, "process", r->busy);
  n = call_busy(L, poll, &r->busy);
  if (r->closed) release(r);
  return n < 0 ? lua_error(L) : n;
}

/* process:stop(): begins the end: SIGTERM, the grace period, SIGKILL. */
static int m_stop(lua_State *L) {
  struct running *r = luaL_checkudata(L, 1, TYPE_PROCESS);
  if (r->process != NULL) process_stop(r->process);
  return 0;
}

/* process:close(): kills what is left at once, and waits for that: milliseconds, 3 s at most where it holds the
** supervisor up. Where a finalizer interrupts poll, poll does that. */
static int m_close(lua_State *L) {
  struct running *r = luaL_checkudata(L, 1, TYPE_PROCESS);
  r->closed = 1;
  if (!r->busy) release(r);
  return 0;
}

static int m_tostring(lua_State *L) {
  struct running *r = luaL_checkudata(L, 1, TYPE_PROCESS);
  lua_pushstring(L, r->closed || r->process == NULL ? TYPE_PROCESS " (closed)" : TYPE_PROCESS);
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "poll", m_poll },
  { "stop", m_stop },
  { "close", m_close },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__gc", m_close },
  { "__close", m_close },
  { "__tostring", m_tostring },
  { NULL, NULL }
};

void open_process(lua_State *L) {
  open_type(L, TYPE_PROCESS, META, METHODS);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_process);
  lua_setfield(L, -2, "process");
  lua_pushcfunction(L, f_protect);
  lua_setfield(L, -2, "protect");
}
