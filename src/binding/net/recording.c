/*
** recording.c: userdata koine.recording: an answer to be kept while it comes, or to be played in the network's place. The
** field `recording` of a request's table names it, see read_request; the field `view` names one that is kept beside it.
** It holds a struct recording together with the transfers that use it. Failure: ArgumentError.
*/
#include "binding/binding.h"
#include <stdio.h>

struct kept { struct recording *recording; };

static struct recording *check(lua_State *L, int idx) {
  struct kept *k = luaL_checkudata(L, idx, TYPE_RECORDING);
  if (k->recording == NULL) raise_argument(L, "recording", "an open recording", "a closed one");
  return k->recording;
}

/* {{{ an answer to play, from the table at 1 */

static void no_memory(lua_State *L) { luaL_error(L, "not enough memory"); }

static double number_of(lua_State *L, const char *key, double otherwise) {
  if (lua_getfield(L, 1, key) != LUA_TNIL) otherwise = luaL_checknumber(L, -1);
  lua_pop(L, 1);
  return otherwise;
}

static struct str to_str(lua_State *L, int idx, const char *field) {
  struct str s = STR_NONE;
  if (lua_type(L, idx) != LUA_TSTRING) raise_type(L, field, "a string", idx);
  else s.p = lua_tolstring(L, idx, &s.n);
  return s;
}

/* A string of the head, without the NUL that would end it. */
static struct str head_str(lua_State *L, int idx) {
  struct str s = to_str(L, idx, "headers");
  if (s.n > 0 && memchr(s.p, '\0', s.n) != NULL) raise_argument(L, "headers", "strings without NUL", "one with a NUL");
  return s;
}

static void read_head(lua_State *L, struct recording *r) {
  lua_Integer status = 0;
  if (lua_getfield(L, 1, "status") != LUA_TNIL) status = luaL_checkinteger(L, -1);
  if (status != 0 && (status < 200 || status > 999)) raise_argument(L, "status", "200 to 999", "another number");
  r->status = (int)status;
  if (lua_getfield(L, 1, "headers") == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
      if (recording_header(r, head_str(L, -2), head_str(L, -1)) < 0) no_memory(L);
  lua_settop(L, 2);
}

/* The pieces of a body of n bytes: `pieces`, {seconds, bytes, seconds, bytes, …}; one where there is none. */
static void read_pieces(lua_State *L, struct recording *r, size_t n) {
  size_t sum = 0;
  double last = 0;
  if (lua_getfield(L, 1, "pieces") != LUA_TTABLE) {
    if (n > 0 && recording_piece(r, 0, n) < 0) no_memory(L);
    return;
  }
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i += 2) {
    double at = luaL_checknumber(L, -1);
    lua_rawgeti(L, -2, i + 1);
    size_t size = to_size(luaL_checkinteger(L, -1));
    if (!(at >= last) || size > n - sum) raise_argument(L, "pieces", "times that rise, and sizes that make up the body", "others");
    if (recording_piece(r, at, size) < 0) no_memory(L);
    last = at;
    sum += size;
    lua_pop(L, 2);
  }
  if (sum != n) raise_argument(L, "pieces", "sizes that make up the body", "others");
  r->end_at = last;
}

/* How it ends: `error` = {kind, code, message, retryable}; nil: properly. `after`: when. */
static void read_end(lua_State *L, struct recording *r) {
  double after = number_of(L, "after", r->end_at);
  if (after > r->end_at) r->end_at = after;
  if (lua_getfield(L, 1, "error") != LUA_TTABLE) return;
  int at = lua_gettop(L);
  lua_getfield(L, at, "kind");
  lua_getfield(L, at, "code");
  lua_getfield(L, at, "message");
  const char *kind = lua_tostring(L, at + 1), *code = lua_tostring(L, at + 2), *message = lua_tostring(L, at + 3);
  enum kind k = kind == NULL ? KIND_NONE : kind_by_name(kind);
  if (k == KIND_NONE) raise_argument(L, "error.kind", "the kind of an error", kind == NULL ? "nil" : kind);
  err_set(&r->failure, k, "%s", message == NULL ? "the connection broke" : message);
  snprintf(r->failure.code, sizeof r->failure.code, "%s", code == NULL ? "" : code);
  if (lua_getfield(L, at, "retryable") == LUA_TBOOLEAN) r->failure.retryable = lua_toboolean(L, -1);
}

static void read_played(lua_State *L, struct recording *r) {
  struct str body = STR_NONE;
  r->played = 1;
  read_head(L, r);
  if (lua_getfield(L, 1, "body") != LUA_TNIL) body = to_str(L, -1, "body");
  if (buf_add(&r->body, body.p == NULL ? "" : body.p, body.n) < 0) no_memory(L);
  lua_settop(L, 2);
  read_pieces(L, r, body.n);
  lua_settop(L, 2);
  read_end(L, r);
  lua_settop(L, 2);
  r->speed = number_of(L, "speed", 0);
  lua_getfield(L, 1, "unwaited");
  r->unwaited = lua_toboolean(L, -1) != 0;
  lua_settop(L, 2);
}

/* }}} */

/* core.recording([answer]): without an argument one that a request fills; else one that is played: {status, headers ({name =
** value}), body, pieces ({seconds, bytes, …}), error ({kind, code, message, retryable}), after (seconds, of the end; math.huge: there is none), speed (0:
** all is there at once), unwaited (true: the times are those recorded, and pass at once)}. Raises ArgumentError. */
static int f_recording(lua_State *L) {
  struct state *st = state_get(L, 0);
  struct kept *k;
  lua_settop(L, 1);
  k = lua_newuserdatauv(L, sizeof *k, 0);
  k->recording = NULL;
  luaL_setmetatable(L, TYPE_RECORDING);
  k->recording = recording_new(&st->mem);
  if (k->recording == NULL) return luaL_error(L, "not enough memory");
  if (!lua_isnil(L, 1)) {
    luaL_checktype(L, 1, LUA_TTABLE);
    read_played(L, k->recording);
  }
  return 1;
}

void read_recording(lua_State *L, int idx, struct http_request *r) {
  if (lua_getfield(L, idx, "recording") != LUA_TNIL) {
    struct recording *given = check(L, -1);
    if (given->played) r->play = given;
    else r->keep = given;
  }
  lua_pop(L, 1);
  if (lua_getfield(L, idx, "view") != LUA_TNIL && r->keep == NULL) {
    r->keep = check(L, -1);
    if (r->keep->played) raise_argument(L, "view", "a recording that is kept", "one that is played");
  }
  lua_pop(L, 1);
}

/* {{{ what was kept */

/* Pushes {{name, value}, …} as they came. */
static void push_pairs(lua_State *L, const struct recording *r) {
  const char *p = r->head.p;
  lua_newtable(L);
  for (size_t i = 1; i <= r->header_count; i++) {
    lua_createtable(L, 2, 0);
    for (int j = 1; j <= 2; j++, p += strlen(p) + 1) {
      lua_pushstring(L, p);
      lua_rawseti(L, -2, j);
    }
    lua_rawseti(L, -2, (lua_Integer)i);
  }
}

/* Pushes {seconds, bytes, …} of the first n pieces, `left` bytes. A finalizer may add to r meanwhile, to the last of them too. */
static void push_pieces(lua_State *L, const struct recording *r, size_t n, size_t left) {
  lua_newtable(L);
  for (size_t i = 0; i < n; i++) {
    lua_pushnumber(L, r->pieces[i].at);
    lua_rawseti(L, -2, 2 * (lua_Integer)i + 1);
    size_t size = i + 1 < n ? r->pieces[i].n : left;
    left -= size;
    lua_pushinteger(L, (lua_Integer)size);
    lua_rawseti(L, -2, 2 * (lua_Integer)i + 2);
  }
}

/* recording:read(): what was kept so far: {status (nil: no head came), headers ({{name, value}, …}), body, pieces ({seconds,
** bytes, …}), over, left (the reader went before the end), after (seconds), error (nil: it ended properly)}. */
static int m_read(lua_State *L) {
  const struct recording *r = check(L, 1);
  size_t pieces = r->piece_n;
  struct str body = buf_str(&r->body);
  lua_settop(L, 1);
  push_str(L, body);
  lua_createtable(L, 0, 8);
  lua_insert(L, 2);
  lua_setfield(L, 2, "body");
  push_pieces(L, r, pieces, body.n);
  lua_setfield(L, 2, "pieces");
  if (r->status != 0) {
    lua_pushinteger(L, r->status);
    lua_setfield(L, 2, "status");
    push_pairs(L, r);
    lua_setfield(L, 2, "headers");
  }
  lua_pushboolean(L, r->over);
  lua_setfield(L, 2, "over");
  lua_pushboolean(L, r->left);
  lua_setfield(L, 2, "left");
  lua_pushnumber(L, r->end_at);
  lua_setfield(L, 2, "after");
  if (r->failure.kind != KIND_NONE && r->failure.kind != KIND_MEMORY) {
    push_error(L, &r->failure, STR_NONE, STR_NONE);
    lua_setfield(L, 2, "error");
  }
  return 1;
}

/* }}} */

/* recording:take([from]): what came of the body, the status (nil: no head came yet), whether it is over. Without `from`
** all that is there, which the recording then forgets; with it (an integer) what is behind so many bytes, which stays. */
static int m_take(lua_State *L) {
  struct recording *r = check(L, 1);
  lua_Integer from = luaL_optinteger(L, 2, 0);
  int drop = lua_isnoneornil(L, 2);
  size_t at = from < 0 ? 0 : (size_t)from;
  struct str body = buf_str(&r->body);
  if (at > body.n) at = body.n;
  lua_pushlstring(L, at < body.n ? body.p + at : "", body.n - at);
  if (drop) recording_drop(r, body.n); /* a finalizer may have added to r meanwhile */
  if (r->status == 0) lua_pushnil(L);
  else lua_pushinteger(L, r->status);
  lua_pushboolean(L, r->over);
  return 3;
}

/* recording:is_played(): whether it is one to play. */
static int m_is_played(lua_State *L) {
  lua_pushboolean(L, check(L, 1)->played);
  return 1;
}

/* recording:reached(): the seconds after the request, as recorded, that its playing without waits has come to. */
static int m_reached(lua_State *L) {
  lua_pushnumber(L, check(L, 1)->reached);
  return 1;
}

static int m_close(lua_State *L) {
  struct kept *k = luaL_checkudata(L, 1, TYPE_RECORDING);
  recording_free(k->recording);
  k->recording = NULL;
  return 0;
}

static const luaL_Reg METHODS[] = {
  { "read", m_read },
  { "take", m_take },
  { "is_played", m_is_played },
  { "reached", m_reached },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__gc", m_close },
  { NULL, NULL }
};

void open_recording(lua_State *L) {
  open_type(L, TYPE_RECORDING, META, METHODS);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_recording);
  lua_setfield(L, -2, "recording");
}
