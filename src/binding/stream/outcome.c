/*
** outcome.c: how a stream ends: with a Response, with an error, or closed; and what it holds until then. See stream.h.
** Raises where memory is short; nothing leaks then, as all belongs to userdata.
*/
#include "stream.h"

struct stream *stream_check(lua_State *L) {
  struct stream *s = marked(L, 1, MARK_STREAM);
  if (s != NULL) return stream_checked(s);
  raise_type(L, "self", "a stream (methods are called with a colon)", 1);
  return NULL;
}

/* Not call_busy, which costs each delta a protected call: where poll raised for
** want of memory, `busy` stays until the next one, and a finalizer that closes the stream then leaves freeing the attempt to
** the attempt's own. */
int stream_is_read(lua_State *L, const struct stream *s) { return s->busy && in_finalizer(L); }

void stream_register(lua_State *L, int at, struct stream *s) {
  if (s->registered) return;
  state_register(L, s->attempt, at);
  s->registered = 1;
}

void stream_push_outcome(lua_State *L, int at) {
  lua_getiuservalue(L, at, 3);
}

size_t stream_held(const struct attempt *c) {
  if (c->exchange == NULL) return 0;
  return exchange_retained(c->exchange) + (c->transfer ? transfer_body(c->transfer)->cap : 0);
}

void stream_note(struct stream *s) {
  size_t n = stream_held(s->attempt);
  if (s->attempt->exchange != NULL) s->events = exchange_event_count(s->attempt->exchange);
  if (n > s->peak) s->peak = n;
}

void stream_release(struct stream *s) {
  stream_note(s);
  attempt_close(s->attempt);
  s->taken = 0;
}

void stream_end(lua_State *L, int at, struct stream *s) {
  struct node *message = exchange_message(s->attempt->exchange);
  if (message == NULL) luaL_error(L, "not enough memory");
  push_response(L, message);
  lua_setiuservalue(L, at, 3);
  s->phase = ENDED;
  stream_release(s);
}

void stream_break(lua_State *L, int at, struct stream *s) {
  struct exchange *x = s->attempt->exchange;
  const struct err *e = exchange_error(x);
  struct node *message;
  struct str raw;
  if (e->kind == KIND_MEMORY) raise_error(L, e);
  lua_getiuservalue(L, at, 1);
  push_error(L, e, ((struct adapter *)lua_touserdata(L, -1))->provider, exchange_request_id(x));
  message = exchange_message(x);
  if (message != NULL) {
    push_response(L, message);
    lua_setfield(L, -2, "partial");
  }
  raw = exchange_raw(x);
  if (raw.n > 0) {
    push_str(L, raw);
    lua_setfield(L, -2, "raw");
  }
  lua_setiuservalue(L, at, 3);
  lua_pop(L, 1);
  s->phase = BROKEN;
  stream_release(s);
}

int stream_push_failure(lua_State *L, int at, struct stream *s) {
  lua_pushnil(L);
  stream_push_outcome(L, at);
  if (s->phase == CLOSED && lua_isnil(L, -1)) {
    struct err e;
    lua_pop(L, 1);
    err_clear(&e);
    err_set(&e, KIND_CANCELLED, "the stream was closed");
    lua_getiuservalue(L, at, 1);
    push_error(L, &e, lua_isnil(L, -1) ? STR_NONE : ((struct adapter *)lua_touserdata(L, -1))->provider, STR_NONE);
    lua_remove(L, -2);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, at, 3);
  }
  return 2;
}
