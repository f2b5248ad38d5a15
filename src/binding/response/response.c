/*
** response.c: userdata koine.response: a finished message, compacted into the userdata itself so that the collector sees
** all of it. User value 1: the Lua values made from it so far, by field; at PRICES the koine.prices that its usage is priced by.
** Nothing outside the userdata is owned.
**
** Fields (nil unless said): content (array of blocks, always), tool_calls (array of the tool_use tables among them, always,
** but for one that holds the answer itself: `output`), model (string), stop_reason (string), raw_stop_reason,
** stop_sequence, usage (table), container (table), logprobs (array), id, request_id, provider, status_code, headers (table),
** warnings (array, always), attempts (array), partial (true), degenerate (true); where an answer of a shape was asked for:
** output (a value), output_error (table), output_mode (string).
*/
#include "core/exchange/head.h"
#include "response.h"

#define TYPE_BLOCK "koine.block"
#define TYPE_USAGE "koine.usage"

#define PRICES 1 /* an index that no field has */
#define COST_FIELDS 2 /* cost and cost_source, which are added to usage */

struct response {
  const struct node *root; /* inside this very userdata */
};

const struct node *response_root(lua_State *L, int idx) {
  struct response *r = check_marked(L, idx, MARK_RESPONSE, TYPE_RESPONSE);
  return r->root;
}

/* Raises unless the value at 1 is a Response. */
static void check_response(lua_State *L) { check_marked(L, 1, MARK_RESPONSE, TYPE_RESPONSE); }

void push_response(lua_State *L, const struct node *message) {
  size_t size = node_size(message);
  struct response *r;
  if (size == 0) {
    struct err e;
    err_clear(&e);
    err_set(&e, KIND_LIMIT, "the message is nested more than %d levels deep", JSON_DEPTH_MAX);
    raise_error(L, &e);
  }
  r = lua_newuserdatauv(L, sizeof *r + size, 1);
  r->root = node_pack(r + 1, message);
  luaL_setmetatable(L, TYPE_RESPONSE);
  lua_createtable(L, 0, 4);
  lua_setiuservalue(L, -2, 1);
}

/* {{{ fields */

/* True for a call to make: a tool_use block that does not hold the answer itself. */
static int is_tool_call(lua_State *L, int idx) {
  const char *type;
  int r;
  if (!lua_istable(L, idx)) return 0;
  lua_getfield(L, idx, "type");
  type = lua_tostring(L, -1);
  r = type != NULL && strcmp(type, "tool_use") == 0;
  lua_pop(L, 1);
  if (!r) return 0;
  lua_getfield(L, idx, "output");
  r = !lua_toboolean(L, -1);
  lua_pop(L, 1);
  return r;
}

static void push_field(lua_State *L, int self, const char *key);

/* The calls among the tables of content, the very same ones. */
static void push_tool_calls(lua_State *L, int self) {
  lua_Integer n = 0;
  int content;
  push_field(L, self, "content");
  content = lua_gettop(L);
  lua_newtable(L);
  for (lua_Integer i = 1; lua_rawgeti(L, content, i) != LUA_TNIL; i++)
    if (is_tool_call(L, -1)) lua_rawseti(L, -2, ++n);
    else lua_pop(L, 1);
  lua_pop(L, 1);
  lua_remove(L, content);
}

/* Gives the table of this field on top what prints it: the blocks of content, usage. */
static void name_tables(lua_State *L, const char *key) {
  if (strcmp(key, "usage") == 0) luaL_setmetatable(L, TYPE_USAGE);
  if (strcmp(key, "content") != 0) return;
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; i++) {
    luaL_setmetatable(L, TYPE_BLOCK);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Pushes the value of a field of the message. Headers of an answer that came are text. */
static void push_value(lua_State *L, const struct node *v, struct str key) {
  if (node_is(v, NODE_STRING) && str_eq(key, "headers")) {
    size_t n = head_count(v->s);
    struct header *h = lua_newuserdatauv(L, (n + 1) * sizeof *h, 0);
    head_list(v->s, h);
    push_headers(L, h, n);
    lua_remove(L, -2);
  } else {
    push_node(L, v, str_eq(key, "output"));
  }
}

void response_push_usage(lua_State *L, int self, int made) {
  const struct node *response = response_root(L, self);
  lua_rawgeti(L, made, PRICES);
  push_members(L, node_get(response, "usage"), 0, COST_FIELDS);
  response_add_cost(L, response, -2);
  lua_remove(L, -2);
}

/* Pushes the attempts of an answer that was priced: but for those noted, which were more, the one that it came by. */
static void push_attempts(lua_State *L, int self, int made) {
  if (lua_rawgeti(L, made, PRICES) == LUA_TNIL) return;
  lua_pop(L, 1);
  lua_createtable(L, 1, 0);
  lua_createtable(L, 0, 2);
  push_field(L, self, "status_code");
  lua_setfield(L, -2, "status_code");
  lua_pushinteger(L, 0);
  lua_setfield(L, -2, "waited");
  lua_rawseti(L, -2, 1);
}

/* Pushes a field: from the values made before, else made now and kept. */
static void push_field(lua_State *L, int self, const char *key) {
  const struct node *v;
  lua_getiuservalue(L, self, 1);
  if (lua_getfield(L, -1, key) != LUA_TNIL) {
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);
  v = strcmp(key, "raw") == 0 ? NULL : node_get_(response_root(L, self), key, strlen(key));
  if (strcmp(key, "tool_calls") == 0) push_tool_calls(L, self);
  else if (v == NULL && strcmp(key, "attempts") == 0) push_attempts(L, self, lua_gettop(L));
  else if (v == NULL) lua_pushnil(L);
  else {
    if (strcmp(key, "usage") == 0) response_push_usage(L, self, lua_gettop(L));
    else push_value(L, v, (struct str){ key, strlen(key) });
    name_tables(L, key);
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, key);
  lua_remove(L, -2);
}

/* response[key]: a method or a field. */
static int m_index(lua_State *L) {
  check_response(L);
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  push_field(L, 1, lua_tostring(L, 2));
  return 1;
}

static int m_newindex(lua_State *L) {
  return raise_argument(L, luaL_tolstring(L, 2, NULL), "no assignment: a Response is read-only", "one");
}

/* core.annotate(response, key, value): what the Lua layer knows beside the message (attempts). */
static int f_annotate(lua_State *L) {
  check_response(L);
  luaL_checkstring(L, 2);
  lua_settop(L, 3);
  lua_getiuservalue(L, 1, 1);
  lua_insert(L, 2);
  lua_rawset(L, 2);
  return 0;
}

/* core.price(response, prices): an answer that came; a koine.prices knows what it costs. Where no attempts are noted, it came
** by the first. */
static int f_price(lua_State *L) {
  check_response(L);
  check_prices(L, 2);
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 1);
  lua_insert(L, 2);
  lua_rawseti(L, 2, PRICES);
  return 0;
}

/* }}} */

/* {{{ methods */

/* Pushes the `field` of all blocks of this type, joined. */
static int join(lua_State *L, const char *type, const char *field) {
  int n = 0;
  check_response(L);
  lua_settop(L, 1);
  push_field(L, 1, "content");
  for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TTABLE; i++) {
    const char *t = lua_getfield(L, -1, "type") == LUA_TSTRING ? lua_tostring(L, -1) : "";
    int same = strcmp(t, type) == 0 && lua_getfield(L, -2, field) == LUA_TSTRING;
    luaL_checkstack(L, 4, "too many blocks");
    if (same) lua_replace(L, 3 + n++);
    lua_settop(L, 2 + n);
  }
  lua_settop(L, 2 + n);
  lua_concat(L, n);
  return 1;
}

/* response:text(): the text blocks joined without a separator; "" when there are none. */
static int m_text(lua_State *L) { return join(L, "text", "text"); }

/* response:thinking(): the thinking blocks joined; "" when there are none. */
static int m_thinking(lua_State *L) { return join(L, "thinking", "thinking"); }

/* response:message(): {role = "assistant", content = response.content}: for the next call's history, lossless. */
static int m_message(lua_State *L) {
  check_response(L);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "assistant");
  lua_setfield(L, -2, "role");
  push_field(L, 1, "content");
  lua_setfield(L, -2, "content");
  return 1;
}

/* response:raw(): the body as it came, at most 64 KiB; nil for a stream without keep_raw. */
static int m_raw(lua_State *L) {
  const struct node *v = node_get(response_root(L, 1), "raw");
  if (v == NULL) lua_pushnil(L);
  else push_str(L, v->s);
  return 1;
}

/* Whether the table at idx is marked as an array. */
static int is_array(lua_State *L, int idx) {
  int same;
  if (!lua_getmetatable(L, idx)) return 0;
  luaL_getmetatable(L, TYPE_ARRAY);
  same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

void response_copy(lua_State *L, int idx, int depth) {
  int n = 0;
  idx = lua_absindex(L, idx);
  luaL_checkstack(L, 4, "too many nested values");
  if (!lua_istable(L, idx) || depth >= JSON_DEPTH_MAX) {
    lua_pushvalue(L, idx);
    return;
  }
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) n++;
  lua_createtable(L, 0, n);
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    response_copy(L, -2, depth + 1);
    lua_rawset(L, -5);
  }
  if (is_array(L, idx)) luaL_setmetatable(L, TYPE_ARRAY);
}

/* Adds to the table at `copy` what Lua noted in the tables at `made`: fields that the message has none of, what stands
** in usage beside the counts (cost), and warnings of its own. */
static void copy_notes(lua_State *L, const struct node *o, int copy, int made) {
  for (lua_pushnil(L); lua_next(L, made); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    const char *key = lua_tostring(L, -2);
    int amended = strcmp(key, "usage") == 0 || strcmp(key, "warnings") == 0;
    if ((!amended && node_get_(o, key, strlen(key)) != NULL) || strcmp(key, "tool_calls") == 0) continue;
    response_copy(L, -1, 0);
    lua_setfield(L, copy, key);
  }
}

/* response:to_table(): a plain table of every field that is set, sharing nothing with the Response; its tool_calls are
** the tables of its content. */
static int m_to_table(lua_State *L) {
  const struct node *o = response_root(L, 1);
  lua_Integer n = 0;
  lua_settop(L, 1);
  lua_newtable(L);
  for (const struct node *v = o->child; v != NULL; v = v->next) {
    if (str_eq(v->key, "raw")) continue;
    push_str(L, v->key);
    push_value(L, v, v->key);
    lua_rawset(L, 2);
  }
  push_field(L, 1, "usage");
  push_field(L, 1, "attempts");
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 1);
  copy_notes(L, o, 2, 3);
  lua_newtable(L);
  lua_getfield(L, 2, "content");
  for (lua_Integer i = 1; lua_istable(L, 5) && lua_rawgeti(L, 5, i) != LUA_TNIL; i++)
    if (is_tool_call(L, -1)) lua_rawseti(L, 4, ++n);
    else lua_pop(L, 1);
  lua_settop(L, 4);
  lua_setfield(L, 2, "tool_calls");
  return lua_settop(L, 2), 1;
}

/* Two Responses are equal when they say the same: content, model, reasons for stopping, usage. */
static int m_eq(lua_State *L) {
  static const char *const KEYS[] = { "content", "model", "stop_reason", "raw_stop_reason", "stop_sequence", "usage" };
  const struct node *a, *b;
  int same = 1;
  if (marked(L, 1, MARK_RESPONSE) == NULL || marked(L, 2, MARK_RESPONSE) == NULL) return 0;
  a = response_root(L, 1);
  b = response_root(L, 2);
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS && same; i++) {
    const struct node *x = node_get_(a, KEYS[i], strlen(KEYS[i])), *y = node_get_(b, KEYS[i], strlen(KEYS[i]));
    same = x == NULL || y == NULL ? x == y : node_equal(x, y);
  }
  lua_pushboolean(L, same);
  return 1;
}

/* "koine.response (end_turn, 12 output tokens)": nothing the model or the user wrote. */
static int m_tostring(lua_State *L) {
  const struct node *o = response_root(L, 1), *stop = node_get(o, "stop_reason");
  const struct node *out = node_get(node_get(o, "usage"), "output_tokens");
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, TYPE_RESPONSE " (");
  if (stop != NULL) luaL_addlstring(&b, stop->s.p, stop->s.n);
  if (node_is(out, NODE_INT)) {
    lua_pushfstring(L, ", %I output tokens", (LUAI_UACINT)out->u.i);
    luaL_addvalue(&b);
  }
  luaL_addchar(&b, ')');
  luaL_pushresult(&b);
  return 1;
}

/* }}} */

static const luaL_Reg METHODS[] = {
  { "text", m_text },
  { "thinking", m_thinking },
  { "message", m_message },
  { "raw", m_raw },
  { "to_table", m_to_table },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__newindex", m_newindex },
  { "__eq", m_eq },
  { "__tostring", m_tostring },
  { NULL, NULL }
};

void open_response(lua_State *L) {
  luaL_newmetatable(L, TYPE_RESPONSE);
  luaL_setfuncs(L, META, 0);
  luaL_newlib(L, METHODS);
  lua_pushcclosure(L, m_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  mark_type(L, TYPE_RESPONSE, MARK_RESPONSE);
  luaL_newmetatable(L, TYPE_BLOCK);
  lua_setfield(L, -2, "block_mt"); /* of the blocks and the usage of Responses; lua/koine fills in __tostring */
  luaL_newmetatable(L, TYPE_USAGE);
  lua_setfield(L, -2, "usage_mt");
  lua_pushcfunction(L, f_annotate);
  lua_setfield(L, -2, "annotate");
  lua_pushcfunction(L, f_price);
  lua_setfield(L, -2, "price");
}
