/*
** body.c: userdata koine.body: the bytes of an answer, which a request with hold_body gives in place of a string. They
** are moved out of the transfer, not copied, and core.vectors reads them where they are.
** A body owns its bytes until it is closed. The collector does not see how many there are: whoever is done with a body
** closes it. Failure: ArgumentError.
*/
#include "binding/binding.h"

struct body {
  struct owner owner;        /* of `bytes` */
  struct buf bytes;
};

static void end(void *bytes) { buf_free(bytes); }

void body_new(lua_State *L) {
  owner_new(L, sizeof(struct body), 0, TYPE_BODY, end);
}

void body_fill(lua_State *L, int idx, struct buf *from) {
  struct body *b = lua_touserdata(L, idx);
  if (b->owner.owned != NULL || b->owner.closed) return;
  buf_init(&b->bytes, from->m);
  buf_swap(&b->bytes, from);
  b->owner.owned = &b->bytes;
}

int is_body(lua_State *L, int idx) {
  return luaL_testudata(L, idx, TYPE_BODY) != NULL;
}

/* The body at idx. Raises ArgumentError when it is closed. */
static struct body *check_open(lua_State *L, int idx) {
  struct body *b = luaL_checkudata(L, idx, TYPE_BODY);
  if (owner_is_closed(&b->owner)) raise_argument(L, "body", "an open body", "a closed one");
  return b;
}

struct str body_bytes(lua_State *L, int idx) {
  struct str s = buf_str(&check_open(L, idx)->bytes);
  if (s.n == 0) s.p = "";
  return s;
}

int body_lend(lua_State *L, int args, lua_CFunction f) {
  return owner_lend(L, &check_open(L, 1)->owner, "body", args, f);
}

/* #body: the number of bytes. Raises ArgumentError when it is closed. */
static int m_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)body_bytes(L, 1).n);
  return 1;
}

/* tostring(body): the bytes, a copy. Raises ArgumentError when it is closed. */
static int m_tostring(lua_State *L) {
  push_str(L, body_bytes(L, 1));
  return 1;
}

void open_body(lua_State *L) {
  static const luaL_Reg NONE[] = { { NULL, NULL } };
  static const luaL_Reg META[] = {
    { "__len", m_len },
    { "__tostring", m_tostring },
    { NULL, NULL }
  };
  open_owner(L, TYPE_BODY, NONE);
  lua_pop(L, 1);
  luaL_getmetatable(L, TYPE_BODY);
  luaL_setfuncs(L, META, 0);
  lua_pop(L, 1);
}
