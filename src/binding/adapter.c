/*
** adapter.c: userdata koine.adapter: a codec with one provider's quirks. Its methods that wait are
** lua/koine/call/adapter's. User values: 1 the engine, 2 the Lua layer's private table, 3 the table its strings are
** borrowed from. Owns nothing outside Lua.
*/
#include "binding.h"
#include "core/history/normalise.h"

struct adapter *check_adapter(lua_State *L, int idx) {
  struct adapter *a = check_marked(L, idx, MARK_ADAPTER, TYPE_ADAPTER);
  if (!a->open) raise_argument(L, "adapter", "an open adapter", "a closed one");
  return a;
}

/* The string at `key` of the spec (index 1), borrowed: the spec is kept in user value 3. */
static struct str spec_string(lua_State *L, const char *key) {
  struct str s;
  if (lua_getfield(L, 1, key) != LUA_TSTRING) raise_type(L, key, "a string", -1);
  s.p = lua_tolstring(L, -1, &s.n);
  lua_pop(L, 1);
  return s;
}

const struct codec *optional_codec(lua_State *L, int idx, const struct adapter *a) {
  const struct codec *codec = a->codec;
  if (!lua_isnoneornil(L, idx)) {
    struct str name;
    name.p = luaL_checklstring(L, idx, &name.n);
    codec = codec_by_name(name);
    if (codec == NULL) raise_argument(L, "codec", "the name of a codec", name.p);
  }
  return codec;
}

static void read_quirks(lua_State *L, struct quirks *q) {
  struct scratch *s = state_scratch(L);
  struct node *v;
  struct err e;
  quirks_default(q);
  if (lua_getfield(L, 1, "quirks") == LUA_TTABLE) {
    v = value_node(L, -1, &s->arena, "quirks");
    err_clear(&e);
    for (v = v->child; v != NULL; v = v->next)
      if (quirks_set(q, v->key, v, &e) != 0) raise_error(L, &e);
  }
  lua_pop(L, 1);
}

/* core.adapter{provider, title, codec, model, quirks, state [, id_header]}: see lua/koine/call/adapter. Raises ArgumentError. */
static int f_adapter(lua_State *L) {
  struct adapter *a;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  a = lua_newuserdatauv(L, sizeof *a, 3);
  memset(a, 0, sizeof *a);
  luaL_setmetatable(L, TYPE_ADAPTER);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, 3);
  a->provider = spec_string(L, "provider");
  a->title = spec_string(L, "title");
  a->model = spec_string(L, "model");
  a->codec = codec_by_name(spec_string(L, "codec"));
  if (a->codec == NULL) return raise_argument(L, "codec", "the name of a codec", spec_string(L, "codec").p);
  if (lua_getfield(L, 1, "id_header") == LUA_TSTRING) a->id_header = spec_string(L, "id_header");
  lua_pop(L, 1);
  read_quirks(L, &a->quirks);
  state_get(L, 1);
  lua_setiuservalue(L, 2, 1);
  lua_getfield(L, 1, "state");
  lua_setiuservalue(L, 2, 2);
  a->open = 1;
  return 1;
}

void begin_render(lua_State *L, const struct adapter *ad, const struct codec *codec, int messages, struct render *r) {
  struct scratch *s = state_scratch(L);
  memset(r, 0, sizeof *r);
  r->a = &s->arena;
  r->quirks = &ad->quirks;
  r->provider = ad->provider;
  r->request = value_request(L, 2, messages, &s->arena);
  r->body = &s->text;
  r->path = &s->path;
  r->framing = codec->framing;
}

void finish_render(lua_State *L, const struct codec *codec, int (*render)(struct render *, struct err *), struct render *r) {
  struct err e;
  err_clear(&e);
  r->headers = node_new(r->a, NODE_OBJECT);
  r->warnings = node_new(r->a, NODE_ARRAY);
  if (r->headers == NULL || r->warnings == NULL) err_memory(&e);
  else if (render(r, &e) == 0 && codec_warn_options(codec, r) != 0) err_memory(&e);
  if (e.kind != KIND_NONE) raise_error(L, &e);
}

int push_rendered(lua_State *L, const struct codec *codec, const struct render *r) {
  push_str(L, buf_str(r->body));
  push_node(L, r->headers, 0);
  push_node(L, r->warnings, 0);
  lua_pushinteger(L, (lua_Integer)r->remedies);
  push_str(L, buf_str(r->path));
  lua_pushstring(L, r->framing != codec->framing ? r->framing->name : NULL);
  return 6;
}

/* adapter:render(request [, what [, codec]]): the body's bytes, headers it needs, warnings, an integer for core.remedy
** (what the request could do without), the path behind the base URL, and the name of a streamed answer's framing, for
** adapter:start; nil where it is the codec's. Raises ArgumentError, NotImplementedError. request:
** codec.h's canonical request as a table; what: "chat" (the default) or "count": nil is returned when the wire cannot
** count; codec: the name of another wire format than the adapter's own. */
static int m_render(lua_State *L) {
  struct adapter *ad = check_adapter(L, 1);
  static const char *const WHAT[] = { "chat", "count", NULL };
  int what = luaL_checkoption(L, 3, "chat", WHAT);
  const struct codec *codec = optional_codec(L, 4, ad);
  int (*render)(struct render *, struct err *) = what == 0 ? codec->render : codec->render_count;
  struct render r;
  if (render == NULL) {
    lua_pushnil(L);
    return 1;
  }
  begin_render(L, ad, codec, 0, &r);
  finish_render(L, codec, render, &r);
  return push_rendered(L, codec, &r);
}

/* core.remedy(adapter, remedies, codec, status, code, message): the member of the request that, set to true,
** leaves out what the provider refused, and whether it will always be refused; nil when there is none. remedies:
** what render gave; codec as for render; status (integer or nil), code and message (strings or nil): the
** refusal's. */
static int f_remedy(lua_State *L) {
  const struct codec *codec = optional_codec(L, 3, check_adapter(L, 1));
  lua_Integer mask = luaL_checkinteger(L, 2);
  const struct remedy *x;
  struct str code, message;
  luaL_argcheck(L, mask >= 0 && (lua_Unsigned)mask <= UINT_MAX, 2, "what render gave expected");
  code.p = luaL_optlstring(L, 5, "", &code.n);
  message.p = luaL_optlstring(L, 6, "", &message.n);
  x = codec_remedy(codec, (unsigned)mask, to_int(luaL_optinteger(L, 4, 0)), code, message);
  if (x == NULL) return 0;
  lua_pushstring(L, x->without);
  lua_pushboolean(L, x->lasts);
  return 2;
}

/* core.check(request[, known]): raises ArgumentError when messages, system, tools or tool_choice are malformed. The first
** `known` messages passed an earlier check, as those of a request, and are as they were: they need not be looked at. */
static int f_check(lua_State *L) {
  struct scratch *s = state_scratch(L);
  lua_Integer known = luaL_optinteger(L, 2, 0);
  struct err e;
  err_clear(&e);
  if (known > 0) known = value_known(L, 1, known);
  if (normalise_check_after(value_request_after(L, 1, known, &s->arena), known > 0 ? (size_t)known : 0, &e) != 0)
    return raise_error(L, &e);
  return 0;
}

/* core.state(adapter | stream): the Lua layer's private table. Raises ArgumentError for anything else. */
static int f_state(lua_State *L) {
  if (marked(L, 1, MARK_STREAM) == NULL && marked(L, 1, MARK_ADAPTER) == NULL)
    raise_type(L, "self", "an adapter or a stream (methods are called with a colon)", 1);
  lua_getiuservalue(L, 1, 2);
  return 1;
}

/* adapter:close(): no further requests; streams that are open go on. Idempotent; also __close and __gc. */
static int m_close(lua_State *L) {
  struct adapter *a = check_marked(L, 1, MARK_ADAPTER, TYPE_ADAPTER);
  a->open = 0;
  return 0;
}

/* adapter:closed() */
static int m_closed(lua_State *L) {
  struct adapter *a = check_marked(L, 1, MARK_ADAPTER, TYPE_ADAPTER);
  lua_pushboolean(L, !a->open);
  return 1;
}

/* "koine.adapter (anthropic/claude-sonnet-4-5)": never a credential. */
static int m_tostring(lua_State *L) {
  struct adapter *a = check_marked(L, 1, MARK_ADAPTER, TYPE_ADAPTER);
  if (!a->open) lua_pushliteral(L, TYPE_ADAPTER " (closed)");
  else lua_pushfstring(L, TYPE_ADAPTER " (%s/%s)", a->provider.p, a->model.p);
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "render", m_render },
  { "close", m_close },
  { "closed", m_closed },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__gc", m_close },
  { "__close", m_close },
  { "__tostring", m_tostring },
  { NULL, NULL }
};

void open_adapter(lua_State *L) {
  open_type(L, TYPE_ADAPTER, META, METHODS);
  mark_type(L, TYPE_ADAPTER, MARK_ADAPTER);
  lua_setfield(L, -2, "adapter_methods");
  lua_pushcfunction(L, f_adapter);
  lua_setfield(L, -2, "adapter");
  lua_pushcfunction(L, f_remedy);
  lua_setfield(L, -2, "remedy");
  lua_pushcfunction(L, f_check);
  lua_setfield(L, -2, "check");
  lua_pushcfunction(L, f_state);
  lua_setfield(L, -2, "state");
}
