/*
** start.c: how a stream starts: by a request that Lua has made a table of (adapter:start, stream:restart), or as soon as its
** request is rendered (adapter:begin). See stream.h.
*/
#include "stream.h"

#define STREAM_HELD 16 /* KiB that an open stream holds outside of Lua: dropped ones are then collected soon */

/* Pushes a stream of the adapter at an index; the value at the other is the Lua layer's. */
static void push_stream(lua_State *L, int adapter, int call) {
  struct stream *s = lua_newuserdatauv(L, sizeof *s, 4);
  memset(s, 0, sizeof *s);
  s->attempt = lua_newuserdatauv(L, sizeof *s->attempt, 1);
  memset(s->attempt, 0, sizeof *s->attempt);
  luaL_setmetatable(L, TYPE_ATTEMPT);
  lua_pushvalue(L, adapter);
  lua_setiuservalue(L, -2, 1);
  lua_setiuservalue(L, -2, 4);
  luaL_setmetatable(L, TYPE_STREAM);
  lua_pushvalue(L, adapter);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, call);
  lua_setiuservalue(L, -2, 2);
}

/* Starts an attempt for the stream at idx: 0; or -1 with the error pushed, perhaps above other values. Raises ArgumentError. */
static int launch(lua_State *L, int idx, const struct adapter *ad, struct http_request *r, const struct exchange_spec *spec) {
  struct state *st = state_get(L, 0);
  struct stream *s = lua_touserdata(L, idx);
  struct err e;
  err_clear(&e);
  if (!spec->stream) r->body_max = spec->limits.body;
  r->high_water = spec->limits.high_water;
  s->registered = 0;
  if (attempt_start(s->attempt, &st->mem, state_http(L, st), r, spec, s->attempt, &e) == 0) {
    s->phase = OPEN;
    return 0;
  }
  if (e.kind == KIND_ARGUMENT || e.kind == KIND_MEMORY) raise_error(L, &e);
  redact_err(&spec->secrets, &e);
  push_error(L, &e, ad->provider, STR_NONE);
  return -1;
}

/* {{{ a request in a table */

/* Starts the attempt described by the table at index 2 for the stream at `idx`: 0; or -1 with the error pushed. Raises
** ArgumentError. */
static int start(lua_State *L, int idx, struct adapter *ad) {
  struct state *st = state_get(L, 0);
  struct http_request r;
  struct exchange_spec spec;
  int top = lua_gettop(L), started;
  state_http(L, st);
  memset(&spec, 0, sizeof spec);
  read_exchange(L, 2, ad, &r, &spec, &state_scratch(L)->arena);
  started = launch(L, idx, ad, &r, &spec);
  if (started != 0) lua_insert(L, top + 1);
  lua_settop(L, started != 0 ? top + 1 : top);
  return started;
}

/* adapter:start(request, call): a stream, whose state is the table `call`, or nil, err. See lua/koine/call/adapter for the
** request, a table. Raises ArgumentError. */
static int m_start(lua_State *L) {
  struct adapter *ad = check_adapter(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  push_stream(L, 1, 3);
  if (start(L, 4, ad) != 0) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  lua_getfield(L, 2, "stream");
  if (lua_toboolean(L, -1)) tell_collector(L, STREAM_HELD);
  lua_settop(L, 4);
  return 1;
}

/* stream:restart(request): another attempt in the same object, while no delta was handed out: true, or nil, err. */
static int m_restart(lua_State *L) {
  struct stream *s = stream_check(L);
  struct adapter *ad;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  check_idle(L, "stream", stream_is_read(L, s));
  if (s->delivered || s->phase == CLOSED)
    raise_argument(L, "stream", "an open stream that nothing was read from",
                   s->delivered ? "a stream that was read" : "a closed stream");
  lua_getiuservalue(L, 1, 1);
  ad = check_adapter(L, 3);
  stream_release(s);
  s->phase = CLOSED;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 3);
  if (start(L, 1, ad) != 0) {
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, 3);
    s->phase = BROKEN;
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* }}} */

/* {{{ a request that is rendered first */

static int is_as_expected(const struct render *r, const struct adapter *ad, const struct target *t) {
  return r->headers->count == 0 && r->warnings->count == 0 && r->framing == ad->codec->framing &&
         str_same(buf_str(r->path), t->path);
}

static lua_Integer int_member(const struct node *request, const char *name) {
  const struct node *v = node_get_(request, name, strlen(name));
  return node_is(v, NODE_INT) ? v->u.i : 0;
}

/* adapter:begin(request, messages, target, call): renders the request, with these messages (an array, or the text of a user's
** one message; nil: its own), and starts the first attempt at the target: the stream, whose state is the table `call`, and of
** what adapter:render returns the body's bytes and, as fifth result, what the request could do without. nil, err when it
** does not start. Where the request needs headers, warnings, a framing or a path beside the target's: false, and what
** adapter:render returns. Raises ArgumentError, NotImplementedError. */
static int m_begin(lua_State *L) {
  struct adapter *ad = check_adapter(L, 1);
  const struct target *t = check_target(L, 4);
  struct state *st = state_get(L, 0);
  const struct node *messages;
  struct exchange_spec spec;
  struct http_request request = t->request;
  struct render r;
  lua_settop(L, 5);
  state_http(L, st);
  memset(&spec, 0, sizeof spec);
  begin_render(L, ad, ad->codec, lua_isnil(L, 3) ? 0 : 3, &r);
  spec.stream = node_is(node_get(r.request, "stream"), NODE_TRUE);
  messages = node_get(r.request, "messages");
  spec.request_messages = messages != NULL ? messages->count : 0;
  spec.max_tokens = int_member(r.request, "max_tokens");
  finish_render(L, ad->codec, ad->codec->render, &r);
  if (!is_as_expected(&r, ad, t)) {
    lua_pushboolean(L, 0);
    return 1 + push_rendered(L, ad->codec, &r);
  }
  spec.codec = ad->codec;
  spec.quirks = &ad->quirks;
  spec.provider = ad->provider;
  spec.model = ad->model;
  spec.id_header = ad->id_header;
  spec.limits = t->limits;
  spec.secrets = t->secrets;
  spec.keep_raw = !spec.stream;
  spec.request = buf_str(r.body);
  request.body = r.body->p;
  request.body_n = r.body->n;
  push_stream(L, 1, 5);
  if (launch(L, 6, ad, &request, &spec) != 0) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  push_str(L, buf_str(r.body));
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushinteger(L, (lua_Integer)r.remedies);
  if (spec.stream) tell_collector(L, STREAM_HELD);
  return 5;
}

/* }}} */

void stream_open_start(lua_State *L) {
  lua_pushcfunction(L, m_begin);
  lua_setfield(L, -2, "begin");
  lua_pushcfunction(L, m_start);
  lua_setfield(L, -2, "start");
}

void stream_open_restart(lua_State *L) {
  lua_pushcfunction(L, m_restart);
  lua_setfield(L, -2, "restart");
}
