/*
** stream.c: userdata koine.stream: one attempt in flight, polled. Its methods that wait are lua/koine/call/stream.lua's.
** User values: 1 the adapter, 2 the Lua layer's private table, 3 the outcome (a Response or an error) once there is
** one, 4 the attempt, a userdata of its own.
** The attempt is freed as soon as the answer is complete: one Response remains, which the collector can see. It is freed
** by close and __close too, or by its own __gc. The stream has no __gc: what has one lives a cycle longer, and all it
** refers to with it, the Response too; each cycle would then be longer than the one before.
*/
#include "binding.h"

enum phase { CLOSED, OPEN, ENDED, BROKEN };

#define TYPE_ATTEMPT "koine.attempt"

/* What a stream holds outside of Lua is told to the collector, in KiB, from Lua 5.5 on in bytes: dropped ones are then
** collected soon. */
#if LUA_VERSION_NUM >= 505
#define STREAM_HELD ((size_t)16 * 1024)
#else
#define STREAM_HELD 16
#endif

struct stream {
  struct attempt *attempt;       /* in user value 4; its finalizer may have closed it, at the end of the Lua state */
  enum phase phase;
  int delivered;            /* a delta was handed out */
  int busy;                /* values are being made of what the attempt holds: a finalizer must leave it alone */
  int taken;               /* `delta` was taken from the attempt, and has no table yet */
  struct event delta;      /* borrowed from the attempt until the next one is taken */
  unsigned long events;
  size_t peak;             /* most bytes held at once */
};

/* {{{ outcome */

/* Pushes the outcome kept in user value 3. */
static int push_outcome(lua_State *L, int idx) {
  return lua_getiuservalue(L, idx, 3);
}

/* Bytes that the attempt holds. */
static size_t held(const struct attempt *c) {
  if (c->exchange == NULL) return 0;
  return exchange_retained(c->exchange) + (c->transfer ? transfer_body(c->transfer)->cap : 0);
}

static void note_stats(struct stream *s) {
  size_t n = held(s->attempt);
  if (s->attempt->exchange != NULL) s->events = exchange_event_count(s->attempt->exchange);
  if (n > s->peak) s->peak = n;
}

static void release(struct stream *s) {
  note_stats(s);
  attempt_close(s->attempt);
  s->taken = 0;
}

/* The stream at index 1. */
static struct stream *check_stream(lua_State *L) {
  struct stream *s = lua_touserdata(L, 1);
  if (luaL_testudata(L, 1, TYPE_STREAM) == NULL)
    raise_type(L, "self", "a stream (methods are called with a colon)", 1);
  if (s->phase == OPEN && s->attempt->exchange == NULL) s->phase = CLOSED;
  return s;
}

/* True in a finalizer that interrupts poll. Not call_busy, which costs each delta a protected call: where poll raised for
** want of memory, `busy` stays until the next one, and a finalizer that closes the stream then leaves freeing the attempt to
** the attempt's own. */
static int is_read(lua_State *L, const struct stream *s) { return s->busy && in_finalizer(L); }

/* The answer is complete: makes the Response, frees the attempt. */
static void end(lua_State *L, struct stream *s) {
  struct node *message = exchange_message(s->attempt->exchange);
  if (message == NULL) luaL_error(L, "not enough memory");
  push_response(L, message);
  lua_setiuservalue(L, 1, 3);
  s->phase = ENDED;
  release(s);
}

/* The attempt failed: makes the error, with the part that had arrived as `partial`, frees the attempt. */
static void broken(lua_State *L, struct stream *s) {
  struct exchange *x = s->attempt->exchange;
  const struct err *e = exchange_error(x);
  struct node *message;
  struct str raw;
  if (e->kind == KIND_MEMORY) raise_error(L, e);
  lua_getiuservalue(L, 1, 1);
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
  lua_setiuservalue(L, 1, 3);
  lua_pop(L, 1);
  s->phase = BROKEN;
  release(s);
}

/* nil, err: the same error every time; a closed stream was cancelled. */
static int push_failure(lua_State *L, struct stream *s) {
  lua_pushnil(L);
  if (s->phase == CLOSED && push_outcome(L, 1) == LUA_TNIL) {
    struct err e;
    lua_pop(L, 1);
    err_clear(&e);
    err_set(&e, KIND_CANCELLED, "the stream was closed");
    lua_getiuservalue(L, 1, 1);
    push_error(L, &e, lua_isnil(L, -1) ? STR_NONE : ((struct adapter *)lua_touserdata(L, -1))->provider, STR_NONE);
    lua_remove(L, -2);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, 3);
  } else if (s->phase != CLOSED) {
    push_outcome(L, 1);
  }
  return 2;
}

/* }}} */

/* {{{ starting */

/* Starts the attempt described by the table at index 2 for the stream at `idx`: 0; or -1 with the error pushed. Raises
** ArgumentError. */
static int start(lua_State *L, struct stream *s, struct adapter *ad, int idx) {
  struct state *st = state_get(L, 0);
  struct http *http = state_http(L, st);
  struct arena *a = &state_scratch(L)->arena;
  struct http_request r;
  struct exchange_spec spec;
  struct err e;
  int top = lua_gettop(L);
  memset(&spec, 0, sizeof spec);
  err_clear(&e);
  read_exchange(L, 2, ad, &r, &spec, a);
  if (!spec.stream) r.body_max = spec.limits.body;
  r.high_water = spec.limits.high_water;
  state_register(L, s->attempt, idx);
  if (attempt_start(s->attempt, &st->mem, http, &r, &spec, s->attempt, &e) != 0) {
    if (e.kind == KIND_ARGUMENT || e.kind == KIND_MEMORY) raise_error(L, &e);
    redact_err(&spec.secrets, &e);
    lua_settop(L, top);
    push_error(L, &e, ad->provider, STR_NONE);
    return -1;
  }
  lua_settop(L, top);
  s->phase = OPEN;
  return 0;
}

/* adapter:start(call): a stream, or nil, err. See lua/koine/call/adapter.lua for the table. Raises ArgumentError. */
static int m_start(lua_State *L) {
  struct adapter *ad = check_adapter(L, 1);
  struct stream *s;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  s = lua_newuserdatauv(L, sizeof *s, 4);
  memset(s, 0, sizeof *s);
  s->attempt = lua_newuserdatauv(L, sizeof *s->attempt, 0);
  memset(s->attempt, 0, sizeof *s->attempt);
  luaL_setmetatable(L, TYPE_ATTEMPT);
  lua_setiuservalue(L, 3, 4);
  luaL_setmetatable(L, TYPE_STREAM);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, 1);
  lua_newtable(L);
  lua_setiuservalue(L, 3, 2);
  if (start(L, s, ad, 3) != 0) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  lua_getfield(L, 2, "stream");
  if (lua_toboolean(L, -1) && !in_finalizer(L)) lua_gc(L, LUA_GCSTEP, STREAM_HELD);
  lua_settop(L, 3);
  return 1;
}

/* stream:restart(call): another attempt in the same object, while no delta was handed out: true, or nil, err. */
static int m_restart(lua_State *L) {
  struct stream *s = check_stream(L);
  struct adapter *ad;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  check_idle(L, "stream", is_read(L, s));
  if (s->delivered || s->phase == CLOSED)
    raise_argument(L, "stream", "an open stream that nothing was read from",
                   s->delivered ? "a stream that was read" : "a closed stream");
  lua_getiuservalue(L, 1, 1);
  ad = check_adapter(L, 3);
  release(s);
  s->phase = CLOSED;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 3);
  if (start(L, s, ad, 1) != 0) {
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

/* {{{ polling */

/* Sets a field where the delta has it. */
static void set_field(lua_State *L, const char *key, struct str s) {
  if (key == NULL) return;
  push_str(L, s);
  lua_setfield(L, -2, key);
}

static void push_delta(lua_State *L, const struct event *d) {
  const struct delta_form *form = event_form(d->type);
  lua_createtable(L, 0, 1 + (form->id != NULL) + (form->word != NULL) + (form->text != NULL));
  lua_pushstring(L, form->name);
  lua_setfield(L, -2, "type");
  set_field(L, form->id, d->id);
  set_field(L, form->word, d->name);
  set_field(L, form->text, d->text);
}

/* The next delta, kept until there is a table of it: where that raises for want of memory, the next poll makes it. */
static enum progress take(struct stream *s) {
  enum progress r = s->taken ? EXCHANGE_DELTA : attempt_next(s->attempt, &s->delta);
  s->taken = r == EXCHANGE_DELTA;
  return r;
}

/* What m_poll says of the stream at 1. Nothing is lost where this raises for want of memory: it can be called again. */
static int poll(lua_State *L, struct stream *s, int discard) {
  int first = !s->delivered;
  while (s->phase == OPEN) {
    enum progress r = take(s);
    switch (r) {
      case EXCHANGE_DELTA:
        if (!discard) push_delta(L, &s->delta);
        s->taken = 0;
        if (discard) continue;
        s->delivered = 1;
        if (!first) return 1;
        lua_pushnil(L);
        lua_pushboolean(L, 1);
        return 3;
      case EXCHANGE_MORE: case EXCHANGE_BUSY:
        note_stats(s);
        lua_pushboolean(L, r == EXCHANGE_BUSY);
        return 1;
      case EXCHANGE_DONE: end(L, s); break;
      case EXCHANGE_FAILED: broken(L, s); break;
    }
  }
  if (s->phase == ENDED) {
    lua_pushnil(L);
    return 1;
  }
  return push_failure(L, s);
}

/* stream:poll([discard]): the next delta (the first one: delta, nil, true); false when nothing has arrived (wait for the
** engine); true when there is more to read, but others should go on before; nil at the end; nil, err when the attempt
** failed. With discard true, deltas are consumed without making tables. */
static int m_poll(lua_State *L) {
  struct stream *s = check_stream(L);
  int n;
  check_idle(L, "stream", is_read(L, s));
  s->busy = 1;
  n = poll(L, s, lua_toboolean(L, 2));
  s->busy = 0;
  if (s->phase == CLOSED) release(s);
  return n;
}

/* stream:finish(): the Response, once poll has said nil; nil before; nil, err after a failure, or a close before the
** end. */
static int m_finish(lua_State *L) {
  struct stream *s = check_stream(L);
  if (s->phase == BROKEN || s->phase == CLOSED) return push_failure(L, s);
  push_outcome(L, 1);
  return 1;
}

/* }}} */

/* stream:delivered(): whether a delta was handed out: from then on there is no other attempt. */
static int m_delivered(lua_State *L) {
  struct stream *s = check_stream(L);
  lua_pushboolean(L, s->delivered);
  return 1;
}

/* stream:close(): cancels what is in flight and frees it; where a finalizer interrupts poll, poll does that. Idempotent;
** also __close. */
static int m_close(lua_State *L) {
  struct stream *s = check_stream(L);
  if (!is_read(L, s)) release(s);
  if (s->phase != ENDED) s->phase = CLOSED;
  return 0;
}

/* The finalizer of the attempt. A stream that is collected is not in use. */
static int attempt_gc(lua_State *L) {
  attempt_close(luaL_checkudata(L, 1, TYPE_ATTEMPT));
  return 0;
}

/* stream:stats(): {bytes, events, peak, retained, first_delta, idle}: bytes received on the wire and stream events parsed
** in the latest attempt, most and present bytes held, seconds from that attempt's start to its first delta (nil before),
** seconds since its last byte or its start (nil after the end). */
static int m_stats(lua_State *L) {
  struct stream *s = check_stream(L);
  struct transfer_stats t;
  size_t retained = held(s->attempt);
  note_stats(s);
  attempt_stats(s->attempt, &t);
  lua_createtable(L, 0, 6);
  lua_pushinteger(L, (lua_Integer)t.received);
  lua_setfield(L, -2, "bytes");
  lua_pushinteger(L, (lua_Integer)s->events);
  lua_setfield(L, -2, "events");
  lua_pushinteger(L, (lua_Integer)s->peak);
  lua_setfield(L, -2, "peak");
  lua_pushinteger(L, (lua_Integer)retained);
  lua_setfield(L, -2, "retained");
  if (s->attempt->first > 0) {
    lua_pushnumber(L, s->attempt->first - s->attempt->started);
    lua_setfield(L, -2, "first_delta");
  }
  if (s->attempt->transfer != NULL) {
    lua_pushnumber(L, t.idle);
    lua_setfield(L, -2, "idle");
  }
  return 1;
}

static int m_tostring(lua_State *L) {
  static const char *const NAMES[] = { "closed", "open", "ended", "failed" };
  struct stream *s = check_stream(L);
  lua_pushfstring(L, TYPE_STREAM " (%s)", NAMES[s->phase]);
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "poll", m_poll },
  { "finish", m_finish },
  { "restart", m_restart },
  { "delivered", m_delivered },
  { "close", m_close },
  { "stats", m_stats },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__close", m_close },
  { "__tostring", m_tostring },
  { NULL, NULL }
};

void open_stream(lua_State *L) {
  luaL_newmetatable(L, TYPE_ATTEMPT);
  lua_pushcfunction(L, attempt_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  open_type(L, TYPE_STREAM, META, METHODS);
  lua_setfield(L, -2, "stream_methods");
  lua_getfield(L, -1, "adapter_methods");
  lua_pushcfunction(L, m_start);
  lua_setfield(L, -2, "start");
  lua_pop(L, 1);
}
