/*
** streamed.c: userdata koine.streamed: the answer of a raw request, read while it comes. What waits is
** lua/koine/net/streamed.lua's.
** It owns its transfer and what that received. Failure: nil and an error, with the request's secrets redacted; a record whose
** table raises for want of memory comes again.
*/
#include "binding/binding.h"
#include "core/attempt/streamed.h"

#define DRAIN 1.0 /* seconds that an answer may take to end after `release` */

struct streaming {
  struct owner owner;        /* of a struct streamed */
  struct secrets secrets;    /* borrowed from the table in user value 1 */
  struct record record;
  int taken;                 /* there is no table of `record` yet */
  enum { UNREAD, AS_RECORDS, AS_BODY } reading;
};

static void end(void *streamed) { streamed_close(streamed); }

int streamed_new(lua_State *L) {
  struct state *st = state_get(L, 0);
  struct http *http = state_http(L, st);
  const struct framing *framing = &framing_sse;
  struct streaming *q;
  struct http_request r;
  struct limits limits;
  struct err e;
  lua_settop(L, 2);
  err_clear(&e);
  q = owner_new(L, sizeof *q, 1, TYPE_STREAMED, end);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, 1);
  if (lua_getfield(L, 2, "framing") == LUA_TSTRING) framing = named_framing(L);
  read_request(L, 2, &r, &limits, &state_scratch(L)->arena);
  lua_settop(L, 3);
  read_secrets(L, 2, &q->secrets);
  state_register(L, q, 3);
  q->owner.owned = streamed_start(&st->mem, http, &r, framing, &limits, q, &e);
  lua_settop(L, 3);
  if (q->owner.owned != NULL) return 1;
  if (e.kind == KIND_ARGUMENT) return raise_error(L, &e);
  redact_err(&q->secrets, &e);
  return return_error(L, &e);
}

/* Pushes what a method returns where there is nothing to read: false, nil, or nil and an error. Returns their number. */
static int push_none(lua_State *L, const struct streaming *q, enum streamed_got got, struct err *e) {
  if (got == STREAMED_FAILED) {
    redact_err(&q->secrets, e);
    return return_error(L, e);
  }
  if (got == STREAMED_LATER) lua_pushboolean(L, 0);
  else lua_pushnil(L);
  return 1;
}

static int head(lua_State *L) {
  struct streaming *q = lua_touserdata(L, 1);
  const struct header *v;
  struct err e;
  int status;
  size_t n;
  err_clear(&e);
  enum streamed_got got = streamed_head(q->owner.owned, &status, &v, &n, &e);
  if (got == STREAMED_THERE && head_check(n, &e) != 0) got = STREAMED_FAILED;
  if (got != STREAMED_THERE) return push_none(L, q, got, &e);
  lua_pushinteger(L, status);
  push_headers(L, v, n);
  return 2;
}

/* streamed:head(): the status and {name = value} as soon as they are there; false before; nil, err. Raises ArgumentError
** when a finalizer calls it in the middle of itself, as do the others. */
static int m_head(lua_State *L) {
  return owner_poll(L, TYPE_STREAMED, "request", head);
}

/* Notes how the answer is read: no other way after that. Raises ArgumentError. */
static void read_as(lua_State *L, struct streaming *q, int reading) {
  if (q->reading != UNREAD && (int)q->reading != reading)
    raise_argument(L, "request", "record or body, not both", "the other one");
  q->reading = reading == AS_BODY ? AS_BODY : AS_RECORDS;
}

static void push_record(lua_State *L, const struct record *r) {
  lua_createtable(L, 0, 4);
  if (r->name.n > 0) {
    push_str(L, r->name);
    lua_setfield(L, -2, "name");
  }
  if (r->data.p != NULL) {
    push_str(L, r->data);
    lua_setfield(L, -2, "data");
  }
  if (r->id.n > 0) {
    push_str(L, r->id);
    lua_setfield(L, -2, "id");
  }
  if (r->retry >= 0) {
    lua_pushinteger(L, r->retry);
    lua_setfield(L, -2, "retry");
  }
  if (r->unclosed) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "unclosed");
  }
}

static int record(lua_State *L) {
  struct streaming *q = lua_touserdata(L, 1);
  struct err e;
  read_as(L, q, AS_RECORDS);
  err_clear(&e);
  if (!q->taken) {
    enum streamed_got got = streamed_record(q->owner.owned, &q->record, &e);
    if (got != STREAMED_THERE) return push_none(L, q, got, &e);
    q->taken = 1;
  }
  push_record(L, &q->record);
  q->taken = 0;
  return 1;
}

/* streamed:record(): the next record {name, data, id, retry (milliseconds), unclosed}, each nil when not said: `id` is the last
** one so far; without `data` the record only says id or retry; `unclosed` is true where the end of the body cut it off. false:
** later; nil: the end; nil, err. Raises ArgumentError after `body`. */
static int m_record(lua_State *L) {
  return owner_poll(L, TYPE_STREAMED, "request", record);
}

static int body(lua_State *L) {
  struct streaming *q = lua_touserdata(L, 1);
  struct str bytes = STR_NONE;
  struct err e;
  read_as(L, q, AS_BODY);
  err_clear(&e);
  enum streamed_got got = streamed_body(q->owner.owned, &bytes, &e);
  if (got != STREAMED_THERE) return push_none(L, q, got, &e);
  push_str(L, bytes);
  return 1;
}

/* streamed:body(): all of the body once it is complete, at most limits.body bytes; false before; nil, err. Raises
** ArgumentError after `record`. */
static int m_body(lua_State *L) {
  return owner_poll(L, TYPE_STREAMED, "request", body);
}

/* streamed:release(): closes it; where the answer then ends within a second, its connection serves another request. */
static int m_release(lua_State *L) {
  struct owner *o = luaL_checkudata(L, 1, TYPE_STREAMED);
  struct streamed *s = o->owned;
  int mine = s != NULL && !o->busy;
  o->closed = 1;
  if (!mine) return 0;
  o->owned = NULL;
  streamed_release(s, DRAIN);
  return 0;
}

static const luaL_Reg METHODS[] = {
  { "head", m_head },
  { "record", m_record },
  { "body", m_body },
  { "release", m_release },
  { NULL, NULL }
};

void open_streamed(lua_State *L) {
  open_owner(L, TYPE_STREAMED, METHODS);
  lua_pop(L, 1);
}
