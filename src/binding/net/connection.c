/*
** connection.c: userdata koine.connection: bytes to and from a server. What waits is added by lua/koine/net/connect.lua, in
** core.connection_methods.
** A Lua string is a copy before its making may run a finalizer, which then may close the connection it came from.
*/
#include "binding/binding.h"
#include "core/connect/connect.h"

#define PORT_MAX 65535
#define HIGH_WATER ((size_t)256 << 10)
#define LINE_BYTES ((size_t)32 << 20)

static void end(void *connection) { connection_close(connection); }

/* Reads the table at 1; strings are borrowed from it. */
static void read_spec(lua_State *L, struct connect_spec *s) {
  memset(s, 0, sizeof *s);
  s->to.path = field_string(L, 1, "path");
  s->to.host = field_string(L, 1, "host");
  if (s->to.host == NULL && s->to.path == NULL) raise_argument(L, "host", "a string", "nil");
  if (s->to.host == NULL) s->to.host = "localhost";
  s->to.ca_file = field_string(L, 1, "ca_file");
  s->to.timeout = field_number(L, 1, "timeout", 0);
  lua_getfield(L, 1, "tls");
  s->to.tls = lua_toboolean(L, -1);
  lua_pushvalue(L, 1);
  size_t port = field_size(L, "port", 0);
  if (port > PORT_MAX || (port == 0 && s->to.path == NULL))
    raise_argument(L, "port", "an integer from 1 to 65535", port == 0 ? "nil" : "more");
  s->to.port = (int)port;
  s->high_water = field_size(L, "high_water", HIGH_WATER);
  s->line_max = field_size(L, "line_max", LINE_BYTES);
  lua_pop(L, 2);
}

/* core.connect({host, port, path, tls, ca_file, timeout, high_water, line_max}): a connection that is being made, or nil,
** err. Raises ArgumentError. */
static int f_connect(lua_State *L) {
  struct state *st = state_get(L, 0);
  struct http *http = state_http(L, st);
  struct connect_spec s;
  struct owner *o;
  struct err e;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  err_clear(&e);
  o = owner_new(L, sizeof *o, 0, TYPE_CONNECTION, end);
  state_register(L, o, 2);
  read_spec(L, &s);
  o->owned = connection_open(state_engine(L, st), http, &s, o, &e);
  if (o->owned != NULL) return 1;
  return e.kind == KIND_ARGUMENT ? raise_error(L, &e) : return_error(L, &e);
}

static struct owner *check(lua_State *L) {
  return luaL_checkudata(L, 1, TYPE_CONNECTION);
}

/* connection:ready(): true once it is there, false before; nil, err. */
static int m_ready(lua_State *L) {
  struct owner *o = check(L);
  struct err e;
  if (o->owned == NULL) return return_closed(L, "connection");
  err_clear(&e);
  int ready = connection_ready(o->owned, &e);
  if (ready < 0) return return_error(L, &e);
  lua_pushboolean(L, ready);
  return 1;
}

/* Pushes what came of a call; returns its number: bytes; false: later; nil: the end; nil, err. Where memory is short for the
** bytes, they come again. */
static int push_got(lua_State *L, struct owner *o, enum pipe_got got, struct str bytes, const struct err *e) {
  if (got == PIPE_FAILED) return return_error(L, e);
  if (got == PIPE_BYTES) {
    push_str(L, bytes);
    if (o->owned != NULL) connection_took(o->owned);
  } else if (got == PIPE_LATER) {
    lua_pushboolean(L, 0);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/* connection:take(n): what is there, at most n bytes; false when there is nothing yet; nil at the end; nil, err. */
static int m_take(lua_State *L) {
  struct owner *o = check(L);
  lua_Integer n = luaL_checkinteger(L, 2);
  struct str bytes = STR_NONE;
  struct err e;
  if (n < 1) return raise_argument(L, "n", "an integer, 1 or more", "less");
  if (o->owned == NULL) return return_closed(L, "connection");
  err_clear(&e);
  enum pipe_got got = connection_read(o->owned, to_size(n), &bytes, &e);
  return push_got(L, o, got, bytes, &e);
}

/* connection:take_line(): the same for a line, without what ends it. */
static int m_take_line(lua_State *L) {
  struct owner *o = check(L);
  struct str line = STR_NONE;
  struct err e;
  if (o->owned == NULL) return return_closed(L, "connection");
  err_clear(&e);
  enum pipe_got got = connection_line(o->owned, &line, &e);
  return push_got(L, o, got, line, &e);
}

/* connection:put(bytes): queues all of them: true; nil, err: the queue is lost, but where there was no memory for them. */
static int m_put(lua_State *L) {
  struct owner *o = check(L);
  struct str bytes;
  struct err e;
  bytes.p = luaL_checklstring(L, 2, &bytes.n);
  if (o->owned == NULL) return return_closed(L, "connection");
  err_clear(&e);
  return return_done(L, connection_write(o->owned, bytes, &e), &e);
}

/* connection:waiting(): bytes that are queued, and whether they are more than high_water; nil, err. What was queued before a
** failure is not. */
static int m_waiting(lua_State *L) {
  struct owner *o = check(L);
  struct err e;
  if (o->owned == NULL) return return_closed(L, "connection");
  err_clear(&e);
  if (connection_write(o->owned, STR_NONE, &e) < 0) return return_error(L, &e);
  lua_pushinteger(L, (lua_Integer)connection_waiting(o->owned));
  lua_pushboolean(L, connection_full(o->owned));
  return 2;
}

static const luaL_Reg METHODS[] = {
  { "ready", m_ready },
  { "take", m_take },
  { "take_line", m_take_line },
  { "put", m_put },
  { "waiting", m_waiting },
  { NULL, NULL }
};

void open_connection(lua_State *L) {
  open_owner(L, TYPE_CONNECTION, METHODS);
  lua_setfield(L, -2, "connection_methods");
  lua_pushcfunction(L, f_connect);
  lua_setfield(L, -2, "connect");
}
