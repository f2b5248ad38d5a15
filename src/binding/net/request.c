/*
** request.c: userdata koine.request: the one raw HTTP call (lists, counts, log-in).
** A request owns its transfer.
*/
#include "binding/binding.h"
#include "core/base/clock.h"

#define RAW_MAX ((size_t)64 << 10) /* of a body, kept in err.raw */

struct request {
  struct owner owner;        /* of the transfer */
  struct secrets secrets;    /* borrowed from the table in user value 1 */
  int hold_body;             /* user value 2 is the body of its answer */
};

static void end(void *transfer) { transfer_close(transfer); }

/* core.request(engine, {method, url, headers, body, timeouts, limits, proxy, ca_file, http2, secrets, hold_body}): a
** request in flight, or nil, err. Where hold_body is true, the answer's `body` is no string but a koine.body, which saves a
** copy of a large answer: core.vectors reads it, # and tostring give its length and text, close frees it. Where stream is
** true, it is a koine.streamed (streamed.c), which is read while the answer comes; `framing` is the name of the one that cuts
** its body into records, "sse" unless given. Raises ArgumentError. */
static int f_request(lua_State *L) {
  struct state *st = check_marked(L, 1, MARK_ENGINE, TYPE_ENGINE);
  struct http *http = state_http(L, st);
  struct request *q;
  struct http_request r;
  struct limits limits;
  struct err e;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  err_clear(&e);
  lua_getfield(L, 2, "stream");
  if (lua_toboolean(L, -1)) return streamed_new(L);
  lua_settop(L, 2);
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
  read_secrets(L, 2, &q->secrets);
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

/* Pushes the results of figures. */
static int figures(lua_State *L) {
  struct request *q = lua_touserdata(L, 1);
  struct transfer_stats s;
  transfer_stats(q->owner.owned, &s);
  push_figures(L, &s);
  return 1;
}

/* request:figures(): what push_figures pushes; nil, err once it is closed. */
static int m_figures(lua_State *L) {
  return owner_poll(L, TYPE_REQUEST, "request", figures);
}

/* Sets the field raw of the table on top of the stack to the beginning of a body, unless that is empty. */
static void set_raw(lua_State *L, struct str body) {
  if (body.n == 0) return;
  push_str(L, (struct str){ body.p, body.n < RAW_MAX ? body.n : RAW_MAX });
  lua_setfield(L, -2, "raw");
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
  set_raw(L, body);
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
  { "figures", m_figures },
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
