/*
** record.c: tables of which only the known members count, as all others are the caller's own: messages, blocks, tools, a
** request. See value.h. The nodes are the arena's, their strings are borrowed from Lua. Raises ArgumentError.
*/
#include "core/json/schema.h"
#include "value.h"

/* The names of what a kind of record holds; the last one is NULL. */
static const struct str BLOCK_KEYS[] = {
  STR_INIT("type"), STR_INIT("text"), STR_INIT("id"), STR_INIT("name"), STR_INIT("arguments"),
  STR_INIT("arguments_json"), STR_INIT("arguments_error"), STR_INIT("tool_use_id"), STR_INIT("content"),
  STR_INIT("is_error"), STR_INIT("thinking"), STR_INIT("signature"), STR_INIT("data"), STR_INIT("kind"),
  STR_INIT("provider_data"), STR_INIT("cache_control"), STR_INIT("source"), STR_INIT("media_type"),
  STR_INIT("title"), STR_INIT("context"), STR_INIT("citations"), STR_INIT("output"), { NULL, 0 }
};
static const struct str MESSAGE_KEYS[] = { STR_INIT("role"), STR_INIT("content"), { NULL, 0 } };
static const struct str TOOL_KEYS[] = {
  STR_INIT("type"), STR_INIT("name"), STR_INIT("description"), STR_INIT("parameters"), STR_INIT("strict"),
  STR_INIT("cache_control"), { NULL, 0 }
};

/* The layout of a kind of record. `at`: where its names lie on the stack as strings, for members that are asked for one
** by one, which takes less than walking them where there are few; 0: they are walked. */
struct layout {
  const struct str *keys;
  int at;
};

static const struct layout BLOCK = { BLOCK_KEYS, 0 }, TOOL = { TOOL_KEYS, 0 };

/* The name of a member, at idx, among those of the layout; NULL: none of them. */
static const struct str *known_key(lua_State *L, int idx, const struct layout *layout) {
  const struct str *keys = layout->keys;
  struct str s;
  if (lua_type(L, idx) != LUA_TSTRING) return NULL;
  s.p = lua_tolstring(L, idx, &s.n);
  for (; keys->p != NULL; keys++)
    if (keys->n == s.n && keys->p[0] == s.p[0] && memcmp(keys->p, s.p, s.n) == 0) return keys;
  return NULL;
}

static struct node *to_content(lua_State *L, int idx, struct arena *a, const struct path *p, int depth);

/* Names that other libraries have for a tool's schema, which would be lost in silence. */
static void refuse_misnomers(lua_State *L, int idx, const struct path *p) {
  static const char *const MISNOMERS[] = { "input_schema", "inputSchema" };
  for (size_t i = 0; i < sizeof MISNOMERS / sizeof *MISNOMERS; i++) {
    struct path here = { p, MISNOMERS[i], 0 };
    lua_pushstring(L, MISNOMERS[i]);
    if (lua_rawget(L, idx) != LUA_TNIL)
      raise_at(L, &here, "parameters (the JSON Schema of the arguments, under this name)", MISNOMERS[i]);
    lua_pop(L, 1);
  }
}

/* Raises for a tool in the form of the Chat API, whose fields are one level down. */
static void refuse_wrapped(lua_State *L, int idx, const struct path *p) {
  struct path here = { p, "function", 0 };
  lua_pushliteral(L, "name");
  lua_rawget(L, idx);
  lua_pushliteral(L, "function");
  if (lua_rawget(L, idx) == LUA_TTABLE && lua_isnil(L, -2))
    raise_at(L, &here, "no table here, but its name, description and parameters in the tool itself", "a table");
  lua_pop(L, 2);
}

/* Raises for what can be no record; others that are no tables are the check's to complain about. */
static void refuse_record(lua_State *L, int idx, const struct path *p) {
  if (marked(L, idx, MARK_RESPONSE) != NULL) raise_at(L, p, "a table, such as response:message()", "a Response");
  if (lua_isnil(L, idx)) raise_at(L, p, "a table", "nothing");
}

/* A tool of the provider's own: its type is neither absent nor "function". What Lua alone can use of it is left out. NULL:
** it is none. */
static struct node *to_server_tool(lua_State *L, int idx, struct arena *a, const struct path *p, int depth) {
  struct node *o;
  int is_function;
  lua_pushliteral(L, "type");
  is_function = lua_rawget(L, idx) != LUA_TSTRING || strcmp(lua_tostring(L, -1), "function") == 0;
  lua_pop(L, 1);
  if (is_function) return NULL;
  o = value_need(L, node_new(a, NODE_OBJECT));
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    struct path here = { p, NULL, 0 };
    struct node *v;
    if (lua_type(L, -2) != LUA_TSTRING) raise_at(L, p, "a table with only string keys", "another kind of key");
    if (lua_isfunction(L, -1)) continue;
    here.name = lua_tostring(L, -2);
    v = to_node(L, -1, a, &here, depth + 1);
    v->key.p = lua_tolstring(L, -2, &v->key.n);
    append(o, v);
  }
  sort_object(o);
  return o;
}

/* A tool's schema, which may be JSON text. */
static struct node *to_parameters(lua_State *L, int idx, struct arena *a, const struct path *p, int depth) {
  struct node *v;
  struct str text;
  struct err e;
  if (lua_type(L, idx) != LUA_TSTRING) return to_node(L, idx, a, p, depth);
  text.p = lua_tolstring(L, idx, &text.n);
  err_clear(&e);
  v = json_schema_read(a, text, VALUE_DEPTH - depth, &e);
  if (v == NULL && e.kind == KIND_MEMORY) luaL_error(L, "not enough memory");
  if (v == NULL) raise_at(L, p, "JSON Schema, a table or JSON text", e.message);
  return v;
}

/* Adds the member on top to the record o, unless it is null. */
static void add_member(lua_State *L, struct node *o, struct arena *a, const struct path *p, const struct layout *layout,
                       const struct str *key, int depth) {
  struct path here = { p, key->p, 0 };
  struct node *v;
  if (layout == &TOOL && str_eq(*key, "parameters")) v = to_parameters(L, -1, a, &here, depth);
  else if (layout != &TOOL && lua_istable(L, -1) && str_eq(*key, "content")) v = to_content(L, -1, a, &here, depth);
  else v = to_node(L, -1, a, &here, depth);
  if (v->type == NODE_NULL) return;
  v->key = *key;
  append(o, v);
}

/* The known members of the record at idx; a value that is no table stays what it is, for the check to complain about. */
static struct node *to_record(lua_State *L, int idx, struct arena *a, const struct path *p,
                              const struct layout *layout, int depth) {
  struct node *o;
  idx = lua_absindex(L, idx);
  if (!lua_istable(L, idx)) {
    refuse_record(L, idx, p);
    return to_node(L, idx, a, p, depth);
  }
  luaL_checkstack(L, 6, "too many nested tables");
  if (layout == &TOOL && (o = to_server_tool(L, idx, a, p, depth)) != NULL) return o;
  if (layout == &TOOL) refuse_misnomers(L, idx, p);
  if (layout == &TOOL) refuse_wrapped(L, idx, p);
  o = value_need(L, node_new(a, NODE_OBJECT));
  for (int i = 0; layout->at > 0 && layout->keys[i].p != NULL; i++) {
    lua_pushvalue(L, layout->at + i);
    if (lua_rawget(L, idx) != LUA_TNIL) add_member(L, o, a, p, layout, &layout->keys[i], depth + 1);
    lua_pop(L, 1);
  }
  if (layout->at > 0) return o;
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    const struct str *key = known_key(L, -2, layout);
    if (key != NULL) add_member(L, o, a, p, layout, key, depth + 1);
  }
  return o;
}

/* An array of records, but for the first `known`, the last of which is one; anything else as it is. */
static struct node *to_records_after(lua_State *L, int idx, struct arena *a, const struct path *p,
                                     const struct layout *layout, int depth, lua_Integer known) {
  struct node *list;
  struct items e;
  int more;
  idx = lua_absindex(L, idx);
  if (!lua_istable(L, idx)) return to_node(L, idx, a, p, depth);
  items_begin(L, &e, known);
  more = items_next(L, idx, &e);
  if (e.n == 0) raise_at(L, p, "an array", "a table with other keys"); /* {role = …} instead of {{role = …}} */
  if (depth >= VALUE_DEPTH) raise_depth(L, p);
  list = value_need(L, node_new(a, NODE_ARRAY));
  for (; more; more = items_next(L, idx, &e)) {
    struct path here = { p, NULL, e.i };
    append(list, to_record(L, -1, a, &here, layout, depth + 1));
    lua_pop(L, 1);
  }
  return list;
}

static struct node *to_records(lua_State *L, int idx, struct arena *a, const struct path *p,
                               const struct layout *layout, int depth) {
  return to_records_after(L, idx, a, p, layout, depth, 0);
}

static struct node *to_content(lua_State *L, int idx, struct arena *a, const struct path *p, int depth) {
  return to_records(L, idx, a, p, &BLOCK, depth);
}

struct node *value_content(lua_State *L, int idx, struct arena *a, const char *name) {
  struct path p = { NULL, name, 0 };
  return to_content(L, idx, a, &p, 0);
}

/* Adds a member to a record of ours. */
static void set(struct node *o, struct str key, struct node *v) {
  v->key = key;
  append(o, v);
}

/* The text at idx as a user's one message. */
static struct node *to_question(lua_State *L, int idx, struct arena *a) {
  struct node *list = value_need(L, node_new(a, NODE_ARRAY)), *message = value_need(L, node_new(a, NODE_OBJECT));
  struct str text;
  text.p = lua_tolstring(L, idx, &text.n);
  set(message, STR("role"), value_need(L, node_string(a, STR("user"))));
  set(message, STR("content"), value_need(L, node_string(a, text)));
  append(list, message);
  return list;
}

static struct node *to_messages(lua_State *L, int idx, struct arena *a, const struct layout *message,
                                lua_Integer known) {
  const struct path here = { NULL, "messages", 0 };
  if (lua_type(L, idx) == LUA_TSTRING) return to_question(L, idx, a);
  return to_records_after(L, idx, a, &here, message, 0, known);
}

/* True when the element i of the table on top is a message of the user. */
static int is_users(lua_State *L, lua_Integer i) {
  int is = 0;
  if (lua_rawgeti(L, -1, i) == LUA_TTABLE) {
    lua_pushliteral(L, "role");
    is = lua_rawget(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "user") == 0;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return is;
}

lua_Integer value_known(lua_State *L, int idx, lua_Integer known) {
  luaL_checktype(L, idx, LUA_TTABLE);
  idx = lua_absindex(L, idx);
  lua_pushliteral(L, "messages");
  if (lua_rawget(L, idx) != LUA_TTABLE) known = 0;
  while (known > 0 && !is_users(L, known)) known--;
  lua_pop(L, 1);
  return known;
}

static struct node *to_request(lua_State *L, int idx, int messages, lua_Integer known, struct arena *a) {
  struct layout message = { MESSAGE_KEYS, 0 };
  struct node *o = value_need(L, node_new(a, NODE_OBJECT));
  idx = lua_absindex(L, idx);
  luaL_checktype(L, idx, LUA_TTABLE);
  lua_pushliteral(L, "role"); /* as in MESSAGE_KEYS; before any string is borrowed, for a collector may run */
  lua_pushliteral(L, "content");
  message.at = lua_gettop(L) - 1;
  lua_pushnil(L);
  while (lua_next(L, idx)) {
    struct path here = { NULL, luaL_checkstring(L, -2), 0 };
    struct node *v;
    if (strcmp(here.name, "messages") == 0) v = to_messages(L, -1, a, &message, known);
    else if (strcmp(here.name, "tools") == 0) v = to_records(L, -1, a, &here, &TOOL, 0);
    else if (strcmp(here.name, "system") == 0) v = to_records(L, -1, a, &here, &BLOCK, 0);
    else v = to_node(L, -1, a, &here, 0);
    if (v->type != NODE_NULL) {
      v->key.p = lua_tolstring(L, -2, &v->key.n);
      append(o, v);
    }
    lua_pop(L, 1);
  }
  if (messages != 0) set(o, STR("messages"), to_messages(L, messages, a, &message, 0));
  lua_pop(L, 2);
  sort_object(o);
  return o;
}

struct node *value_request(lua_State *L, int idx, int messages, struct arena *a) {
  return to_request(L, idx, messages, 0, a);
}

struct node *value_request_after(lua_State *L, int idx, lua_Integer known, struct arena *a) {
  return to_request(L, idx, 0, known, a);
}
