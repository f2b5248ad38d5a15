/*
** error.c: errors as Lua sees them: one kind of table, made here and in lua/koine/data/errors.lua.
** Allocates Lua values only. The push and return functions raise on memory, the raise functions always.
*/
#include "binding.h"
#include "core/base/utf8.h"

#define LINE_MAX_BYTES 500 /* of a message that is shown */

static const char OWN_SOURCE = 0; /* registry key: the prefix of the sources of Koine's own Lua files */

/* Pushes "FILE:LINE" of the innermost Lua frame of the thread `of` that is not Koine's own; nil when there is none. */
static void push_where(lua_State *L, lua_State *of) {
  lua_Debug ar;
  size_t n = 0;
  const char *own;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &OWN_SOURCE);
  own = lua_tolstring(L, -1, &n);
  for (int level = 0; lua_getstack(of, level, &ar); level++) {
    lua_getinfo(of, "Sl", &ar);
    if (ar.currentline <= 0 || (own != NULL && strncmp(ar.source, own, n) == 0)) continue;
    char source[LUA_IDSIZE]; /* Lua cuts it anywhere */
    utf8_line(source, sizeof source, ar.short_src, strlen(ar.short_src));
    lua_pushfstring(L, "%s:%d", source, ar.currentline);
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);
  lua_pushnil(L);
}

static void set_string(lua_State *L, const char *key, const char *z) {
  if (z[0] == '\0') return;
  lua_pushstring(L, z);
  lua_setfield(L, -2, key);
}

/* A string of the answer, as one line of legal UTF-8. */
static void set_line(lua_State *L, const char *key, const char *z) {
  char line[ERR_MESSAGE_MAX];
  utf8_line(line, sizeof line, z, strlen(z));
  set_string(L, key, line);
}

static void set_str(lua_State *L, const char *key, struct str s) {
  if (s.n == 0) return;
  push_str(L, s);
  lua_setfield(L, -2, key);
}

void push_error(lua_State *L, const struct err *e, struct str provider, struct str request_id) {
  luaL_checkstack(L, 8, "no room for an error"); /* what failed may have left the stack full */
  lua_createtable(L, 0, 10);
  set_string(L, "class", err_class(e->kind, e->status));
  set_string(L, "kind", kind_name(e->kind));
  set_line(L, "message", e->message[0] != '\0' ? e->message : kind_name(e->kind));
  set_line(L, "code", e->code);
  set_string(L, "field", e->field);
  set_string(L, "expected", e->expected);
  set_str(L, "provider", provider);
  if (request_id.n > 0) set_str(L, "request_id", request_id);
  else set_string(L, "request_id", e->request_id);
  if (e->status != 0) { lua_pushinteger(L, e->status); lua_setfield(L, -2, "status_code"); }
  if (e->retry_after >= 0) { lua_pushnumber(L, e->retry_after); lua_setfield(L, -2, "retry_after"); }
  if (e->server_time > 0) { lua_pushnumber(L, e->server_time); lua_setfield(L, -2, "server_time"); }
  lua_pushboolean(L, err_retryable(e));
  lua_setfield(L, -2, "retryable");
  luaL_setmetatable(L, TYPE_ERROR);
}

/* Puts the position before the message of the error table on top, and into its field `where`. */
static void add_where(lua_State *L) {
  push_where(L, L);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "where");
  lua_pushliteral(L, ": ");
  lua_getfield(L, -3, "message");
  lua_concat(L, 3);
  lua_setfield(L, -2, "message");
}

int raise_error(lua_State *L, const struct err *e) {
  if (e->kind == KIND_MEMORY) return luaL_error(L, "not enough memory");
  push_error(L, e, STR_NONE, STR_NONE);
  if (e->kind == KIND_ARGUMENT || e->kind == KIND_NOT_IMPLEMENTED) add_where(L);
  return lua_error(L);
}

int raise_argument(lua_State *L, const char *field, const char *expected, const char *got) {
  struct err e;
  err_clear(&e);
  err_argument(&e, field, expected, got);
  return raise_error(L, &e);
}

int raise_type(lua_State *L, const char *field, const char *expected, int idx) {
  return raise_argument(L, field, expected, luaL_typename(L, idx));
}

int raise_busy(lua_State *L, const char *what) {
  struct err e;
  err_clear(&e);
  err_argument(&e, what, "one that is not in use", "one in use");
  err_set(&e, KIND_ARGUMENT, "%s: already in use by the code that this finalizer interrupts", what);
  return raise_error(L, &e);
}

int return_error(lua_State *L, const struct err *e) {
  if (e->kind == KIND_MEMORY) return raise_error(L, e);
  lua_pushnil(L);
  push_error(L, e, STR_NONE, STR_NONE);
  return 2;
}

int return_done(lua_State *L, int r, const struct err *e) {
  if (r < 0) return return_error(L, e);
  lua_pushboolean(L, 1);
  return 1;
}

const char *c_string(lua_State *L, int idx, const char *field) {
  const char *z = lua_tostring(L, idx);
  if (strlen(z) != lua_rawlen(L, idx)) raise_argument(L, field, "a string without NUL", "one with NUL");
  return z;
}

/* core.raise_argument(field, expected, got): never returns. */
static int f_raise_argument(lua_State *L) {
  return raise_argument(L, luaL_checkstring(L, 1), luaL_checkstring(L, 2), luaL_optstring(L, 3, "nothing"));
}

/* core.raise(err): raises an error table with the caller's position before its message. */
static int f_raise(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  add_where(L);
  return lua_error(L);
}

/* core.error_class(kind [, status]): the class's name; an unknown kind is "Error". */
static int f_error_class(lua_State *L) {
  lua_pushstring(L, err_class(kind_by_name(luaL_checkstring(L, 1)), to_int(luaL_optinteger(L, 2, 0))));
  return 1;
}

/* core.error_retryable(kind): whether errors of this kind are worth another try by themselves. */
static int f_error_retryable(lua_State *L) {
  struct err e;
  err_clear(&e);
  e.kind = kind_by_name(luaL_checkstring(L, 1));
  lua_pushboolean(L, err_retryable(&e));
  return 1;
}

/* core.error_line(text): the text as the message of an error: one line of legal UTF-8, of at most 500 bytes. */
static int f_error_line(lua_State *L) {
  char line[LINE_MAX_BYTES + 1];
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n);
  n = utf8_line(line, sizeof line, text, n);
  lua_pushlstring(L, line, n);
  return 1;
}

/* core.where([coroutine]): "FILE:LINE" of the innermost Lua frame that is not Koine's own; nil when there is none. */
static int f_where(lua_State *L) {
  lua_State *of = lua_tothread(L, 1);
  push_where(L, of != NULL ? of : L);
  return 1;
}

/* core.own_source(prefix): chunks whose source begins so are Koine's own: positions in errors pass over them. */
static int f_own_source(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &OWN_SOURCE);
  return 0;
}

/* core.frame(level): of the function at that level, 1 being the caller: "Lua", "C" or "main", the function, its source; nothing
** where there is no such level. For hosts that leave Lua's debug out. */
static int f_frame(lua_State *L) {
  lua_Debug ar;
  if (!lua_getstack(L, to_int(luaL_checkinteger(L, 1)), &ar)) return 0;
  lua_getinfo(L, "fS", &ar);
  lua_pushstring(L, ar.what);
  lua_insert(L, -2);
  lua_pushstring(L, ar.source);
  return 3;
}

/* core.traceback(coroutine or nil, message or nil, level): what debug.traceback gives. The level is 1 for the caller, 0 in a
** coroutine. */
static int f_traceback(lua_State *L) {
  lua_State *of = lua_tothread(L, 1);
  luaL_traceback(L, of != NULL ? of : L, luaL_optstring(L, 2, NULL), to_int(luaL_optinteger(L, 3, of == NULL)));
  return 1;
}

/* core.metatable(value): its metatable, whatever its field __metatable says; nil where it has none. */
static int f_metatable(lua_State *L) {
  luaL_checkany(L, 1);
  if (!lua_getmetatable(L, 1)) lua_pushnil(L);
  return 1;
}

static const luaL_Reg FUNCTIONS[] = {
  { "raise_argument", f_raise_argument },
  { "raise", f_raise },
  { "error_class", f_error_class },
  { "error_retryable", f_error_retryable },
  { "error_line", f_error_line },
  { "own_source", f_own_source },
  { "where", f_where },
  { "frame", f_frame },
  { "traceback", f_traceback },
  { "metatable", f_metatable },
  { NULL, NULL }
};

/* __tostring of an error: its message, before lua/koine/data/errors.lua is loaded too. */
static int error_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushliteral(L, "message");
  lua_rawget(L, 1);
  luaL_tolstring(L, -1, NULL);
  return 1;
}

void open_error(lua_State *L) {
  luaL_setfuncs(L, FUNCTIONS, 0);
  luaL_newmetatable(L, TYPE_ERROR);
  lua_pushcfunction(L, error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_setfield(L, -2, "error_mt");
}
