/*
** request.c: HTTP requests as Lua tables, and userdata koine.request: the one raw HTTP call (lists, counts, log-in).
** A request owns its transfer.
*/
#include "binding/binding.h"
#include "core/base/clock.h"

#include <stdlib.h>

#define RAW_MAX ((size_t)64 << 10) /* of a body, kept in err.raw */

struct request {
  struct owner owner;        /* of the transfer */
  struct secrets secrets;    /* borrowed from the table in user value 1 */
  int hold_body;             /* user value 2 is the body of its answer */
};

/* {{{ tables */

double field_number(lua_State *L, int idx, const char *key, double otherwise) {
  double v = otherwise;
  if (lua_getfield(L, idx, key) == LUA_TNUMBER) v = lua_tonumber(L, -1);
  else if (!lua_isnil(L, -1)) raise_type(L, key, "a number", -1);
  lua_pop(L, 1);
  return v;
}

const char *field_string(lua_State *L, int idx, const char *key) {
  const char *z = NULL;
  if (lua_getfield(L, idx, key) == LUA_TSTRING) {
    z = c_string(L, -1, key);
  } else if (!lua_isnil(L, -1)) {
    raise_type(L, key, "a string", -1);
  }
  lua_pop(L, 1);
  return z;
}

static int by_name(const void *a, const void *b) {
  const struct header *x = a, *y = b;
  size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
  int c = memcmp(x->name.p, y->name.p, n);
  return c != 0 ? c : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

/* headers = {name = value}: in the order of their names, so that equal requests are equal bytes. */
static void read_headers(lua_State *L, int idx, struct http_request *r, struct arena *a) {
  struct header *v;
  size_t n = 0;
  if (lua_getfield(L, idx, "headers") == LUA_TTABLE) {
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) n++;
    v = arena_alloc(a, (n + 1) * sizeof *v);
    if (v == NULL) {
      luaL_error(L, "not enough memory");
      return;
    }
    n = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING) raise_type(L, "headers", "string keys", -2);
      if (lua_type(L, -1) != LUA_TSTRING) raise_type(L, lua_tostring(L, -2), "a string as header value", -1);
      v[n].name.p = lua_tolstring(L, -2, &v[n].name.n);
      v[n].value.p = lua_tolstring(L, -1, &v[n].value.n);
      n++;
    }
    qsort(v, n, sizeof *v, by_name);
    r->headers = v;
    r->header_count = n;
  }
  lua_pop(L, 1);
}

/* A cap of the table on top. What is more than C can count to is the most that it can. */
static lua_Integer field_cap(lua_State *L, const char *key, lua_Integer otherwise) {
  lua_Integer v = otherwise;
  if (lua_getfield(L, -1, key) != LUA_TNIL) {
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) <= 0) raise_type(L, key, "a positive integer", -1);
    v = lua_tointeger(L, -1);
  }
  lua_pop(L, 1);
  return v;
}

size_t field_size(lua_State *L, const char *key, size_t otherwise) {
  return to_size(field_cap(L, key, (lua_Integer)otherwise));
}

static int field_count(lua_State *L, const char *key, int otherwise) {
  return to_int(field_cap(L, key, otherwise));
}

static void read_limits(lua_State *L, int idx, struct limits *l) {
  limits_default(l);
  if (lua_getfield(L, idx, "limits") == LUA_TTABLE) {
    l->line = field_size(L, "line", l->line);
    l->event = field_size(L, "event", l->event);
    l->body = field_size(L, "body", l->body);
    l->decoded = field_size(L, "decoded", l->decoded);
    l->argument_bytes = field_size(L, "argument_bytes", l->argument_bytes);
    l->high_water = field_size(L, "high_water", l->high_water);
    l->depth = field_count(L, "depth", l->depth);
    l->blocks = field_count(L, "blocks", l->blocks);
    l->tool_calls = field_count(L, "tool_calls", l->tool_calls);
    if (l->depth > ANSWER_DEPTH)
      raise_argument(L, "limits.depth", lua_pushfstring(L, "at most %d", ANSWER_DEPTH), "more");
  }
  lua_pop(L, 1);
}

void read_request(lua_State *L, int idx, struct http_request *r, struct limits *limits, struct arena *a) {
  idx = lua_absindex(L, idx);
  luaL_checktype(L, idx, LUA_TTABLE);
  memset(r, 0, sizeof *r);
  r->url = field_string(L, idx, "url");
  if (r->url == NULL) raise_argument(L, "url", "a string", "nil");
  r->method = field_string(L, idx, "method");
  if (r->method == NULL) r->method = "GET";
  r->proxy = field_string(L, idx, "proxy");
  r->ca_file = field_string(L, idx, "ca_file");
  if (lua_getfield(L, idx, "body") == LUA_TSTRING) r->body = lua_tolstring(L, -1, &r->body_n);
  lua_pop(L, 1);
  lua_getfield(L, idx, "http2");
  r->http2 = lua_toboolean(L, -1);
  lua_pop(L, 1);
  read_headers(L, idx, r, a);
  read_limits(L, idx, limits);
  r->decoded_max = limits->decoded;
  if (lua_getfield(L, idx, "timeouts") == LUA_TTABLE) {
    int t = lua_gettop(L);
    r->timeouts.connect = field_number(L, t, "connect", 0);
    r->timeouts.first_byte = field_number(L, t, "first_byte", 0);
    r->timeouts.idle = field_number(L, t, "idle", 0);
    r->timeouts.total = field_number(L, t, "total", 0);
    r->timeouts.whole = field_number(L, t, "whole", 0);
  }
  lua_pop(L, 1);
}

/* The framing that the string on top of the stack names. Raises ArgumentError. */
static const struct framing *named_framing(lua_State *L) {
  const struct framing *framing;
  struct str name;
  name.p = lua_tolstring(L, -1, &name.n);
  framing = framing_by_name(name);
  if (framing == NULL) raise_argument(L, "framing", "the name of a framing", name.p);
  return framing;
}

void read_exchange(lua_State *L, int idx, const struct adapter *ad, struct http_request *r, struct exchange_spec *spec,
                   struct arena *a) {
  idx = lua_absindex(L, idx);
  read_request(L, idx, r, &spec->limits, a);
  lua_getfield(L, idx, "codec");
  spec->codec = optional_codec(L, -1, ad);
  if (lua_getfield(L, idx, "framing") == LUA_TSTRING) spec->framing = named_framing(L);
  spec->quirks = ad->quirks;
  spec->provider = ad->provider;
  spec->model = ad->model;
  spec->request = (struct str){ r->body, r->body_n };
  spec->id_header = ad->id_header;
  lua_getfield(L, idx, "stream");
  spec->stream = lua_toboolean(L, -1);
  lua_getfield(L, idx, "keep_raw");
  spec->keep_raw = lua_toboolean(L, -1) || !spec->stream;
  lua_getfield(L, idx, "request_messages");
  spec->request_messages = to_size(lua_tointeger(L, -1));
  lua_getfield(L, idx, "max_tokens");
  spec->max_tokens = lua_tointeger(L, -1);
  if (lua_getfield(L, idx, "warnings") == LUA_TTABLE) spec->warnings = value_node(L, -1, a, "warnings");
  if (lua_getfield(L, idx, "tool_names") == LUA_TTABLE)
    spec->tool_names = value_node(L, -1, a, "tool_names");
  if (lua_getfield(L, idx, "output_tool") == LUA_TSTRING)
    spec->output_tool.p = lua_tolstring(L, -1, &spec->output_tool.n);
  lua_pushvalue(L, idx);
  read_secrets(L, lua_gettop(L), &spec->secrets);
}

void read_secrets(lua_State *L, int idx, struct secrets *k) {
  k->n = 0;
  if (lua_getfield(L, idx, "secrets") == LUA_TTABLE)
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
      if (k->n == SECRETS_MAX) raise_argument(L, "headers", "at most 16 credentials, those in URLs included", "more");
      k->v[k->n].p = lua_tolstring(L, -1, &k->v[k->n].n);
      k->n++;
      lua_pop(L, 1);
    }
  lua_settop(L, idx);
}

/* }}} */

static void end(void *transfer) { transfer_close(transfer); }

/* core.request(engine, {method, url, headers, body, timeouts, limits, proxy, ca_file, http2, secrets, hold_body}): a
** request in flight, or nil, err. Where hold_body is true, the answer's `body` is no string but a koine.body, which saves a
** copy of a large answer: core.vectors reads it, # and tostring give its length and text, close frees it. Raises
** ArgumentError. */
static int f_request(lua_State *L) {
  struct state *st = luaL_checkudata(L, 1, TYPE_ENGINE);
  struct http *http = state_http(L, st);
  struct request *q;
  struct http_request r;
  struct limits limits;
  struct err e;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  err_clear(&e);
  q = owner_new(L, sizeof *q, 2, TYPE_REQUEST, end);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, 1);
  lua_getfield(L, 2, "hold_body");
  q->hold_body = lua_toboolean(L, -1);
  if (q->hold_body) {
    body_new(L); /* not when it is filled: what is made while the state closes has no finalizer */
    lua_setiuservalue(L, 3, 2);
  }
  read_request(L, 2, &r, &limits, &state_scratch(L)->arena);
  lua_settop(L, 3);
  lua_pushvalue(L, 2);
  read_secrets(L, 4, &q->secrets);
  r.body_max = limits.body;
  state_register(L, q, 3);
  q->owner.owned = transfer_start(http, &r, q, &e);
  if (q->owner.owned == NULL) {
    if (e.kind == KIND_ARGUMENT) return raise_error(L, &e);
    redact_err(&q->secrets, &e);
    return return_error(L, &e);
  }
  lua_settop(L, 3);
  return 1;
}

/* Pushes {name = value}; what came several times joined. */
static void push_headers(lua_State *L, const struct header *v, size_t n) {
  struct scratch *s = state_scratch(L);
  lua_createtable(L, 0, (int)n);
  for (size_t i = 0; i < n; i++) {
    push_str(L, v[i].name);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) == LUA_TNIL) {
      if (head_join(v + i, n - i, &s->text) != 0) luaL_error(L, "not enough memory");
      lua_pop(L, 1);
      push_str(L, buf_str(&s->text));
      lua_rawset(L, -3);
    } else {
      lua_pop(L, 2);
    }
  }
}

/* Pushes the body of the answer, each time the same. */
static void push_body(lua_State *L, const struct request *q, struct transfer *t) {
  if (!q->hold_body) {
    push_str(L, buf_str(transfer_body(t)));
    return;
  }
  lua_getiuservalue(L, 1, 2);
  body_fill(L, -1, transfer_body(t));
}

/* Pushes the results of poll for a request that is open; returns their number. */
static int poll(lua_State *L) {
  struct request *q = lua_touserdata(L, 1);
  struct transfer *t = q->owner.owned;
  const struct err *failure;
  const struct header *v;
  struct err e;
  size_t n;
  if (!transfer_done(t, &failure)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  n = transfer_headers(t, &v);
  err_clear(&e);
  if (failure != NULL) e = *failure;
  if (failure != NULL || head_check(n, &e) != 0) {
    redact_err(&q->secrets, &e);
    return return_error(L, &e);
  }
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, transfer_status(t));
  lua_setfield(L, -2, "status");
  push_body(L, q, t);
  lua_setfield(L, -2, "body");
  push_headers(L, v, n);
  lua_setfield(L, -2, "headers");
  return 1;
}

/* request:poll(): false while the answer is not complete; {status, headers, body}; or nil, err. Raises ArgumentError
** when a finalizer calls it in the middle of itself. */
static int m_poll(lua_State *L) {
  return owner_poll(L, TYPE_REQUEST, "request", poll);
}

/* core.answer_error(provider, {status, headers, body} [, secrets [, id_header [, codec]]]): the error that an answer
** outside 200–299 stands for, read as a chat's would be: kind, class, code, message, retry_after, retryable, request_id
** (id_header: head.h), raw (at most 64 KiB), secrets redacted. codec: the name of the wire format, nil = one that has
** nothing of its own to say of errors. */
static int f_answer_error(lua_State *L) {
  struct arena *a = &state_scratch(L)->arena;
  struct http_request r;
  struct secrets k;
  struct str provider, body, id_header, name;
  const struct codec *codec;
  struct head head;
  int status;
  struct err e;
  provider.p = luaL_checklstring(L, 1, &provider.n);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 5);
  id_header.p = luaL_optlstring(L, 4, "", &id_header.n);
  name.p = luaL_optlstring(L, 5, "chat", &name.n);
  codec = codec_by_name(name);
  luaL_argcheck(L, codec != NULL, 5, "the name of a wire format expected");
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, 3);
  lua_setfield(L, 6, "secrets");
  read_secrets(L, 6, &k);
  memset(&r, 0, sizeof r);
  read_headers(L, 2, &r, a);
  err_clear(&e);
  lua_getfield(L, 2, "status");
  status = to_int(luaL_checkinteger(L, -1));
  head_read(&head, status, r.headers, r.header_count, id_header, clock_wall());
  lua_getfield(L, 2, "body");
  body.p = luaL_optlstring(L, -1, "", &body.n);
  body = redact(&k, a, body);
  if (body.p == NULL) return luaL_error(L, "not enough memory");
  codec_read_error(codec, a, status, redact(&k, a, head_find(r.headers, r.header_count, codec->error_header)), body, &e);
  if (e.kind == KIND_MEMORY) return raise_error(L, &e);
  head_complete(&head, &e);
  redact_err(&k, &e);
  push_error(L, &e, provider, redact(&k, a, head.request_id));
  if (body.n > 0) {
    push_str(L, (struct str){ body.p, body.n < RAW_MAX ? body.n : RAW_MAX });
    lua_setfield(L, -2, "raw");
  }
  return 1;
}

/* core.redact(text, secrets): the text without what it says of these, an array of at most 16 strings; those under 8 bytes stay.
** Raises ArgumentError. */
static int f_redact(lua_State *L) {
  struct arena *a = &state_scratch(L)->arena;
  struct secrets k;
  struct str text;
  text.p = luaL_checklstring(L, 1, &text.n);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, 2);
  lua_setfield(L, 3, "secrets");
  read_secrets(L, 3, &k);
  text = redact(&k, a, text);
  if (text.p == NULL) return luaL_error(L, "not enough memory");
  push_str(L, text);
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "poll", m_poll },
  { NULL, NULL }
};

void open_request(lua_State *L) {
  open_owner(L, TYPE_REQUEST, METHODS);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_request);
  lua_setfield(L, -2, "request");
  lua_pushcfunction(L, f_answer_error);
  lua_setfield(L, -2, "answer_error");
  lua_pushcfunction(L, f_redact);
  lua_setfield(L, -2, "redact");
}
