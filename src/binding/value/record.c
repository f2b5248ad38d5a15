/*
** record.c: tables of which only the known members count, as all others are the caller's own: messages, blocks, tools, a
** request. See value.h. The nodes are the arena's, their strings are borrowed from Lua. Raises ArgumentError.
*/
#include "core/json/schema.h"
#include "value.h"

static const char *const BLOCK_KEYS[] = {
  "type", "text", "id", "name", "arguments", "arguments_json", "arguments_error", "tool_use_id", "content", "is_error",
  "thinking", "signature", "data", "kind", "provider_data", "cache_control", "source", "media_type", "title",
  "context", "citations", "output", NULL
};
static const char *const MESSAGE_KEYS[] = { "role", "content", NULL };
static const char *const TOOL_KEYS[] = { "type", "name", "description", "parameters", "strict", "cache_control", NULL };

static const char *known_key(const char *const *keys, const char *z) {
  for (; *keys != NULL; keys++)
    if (strcmp(*keys, z) == 0) return *keys;
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

/* Raises for what can be no record. */
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

/* A member of a record. */
static struct node *to_member(lua_State *L, int idx, struct arena *a, const struct path *p, const char *const *keys,
                              int depth) {
  if (keys == TOOL_KEYS)
    return strcmp(p->name, "parameters") == 0 ? to_parameters(L, idx, a, p, depth) : to_node(L, idx, a, p, depth);
  return strcmp(p->name, "content") == 0 ? to_content(L, idx, a, p, depth) : to_node(L, idx, a, p, depth);
}

/* The known members of the record at idx; a value that is no table stays what it is, for the check to complain about. */
static struct node *to_record(lua_State *L, int idx, struct arena *a, const struct path *p, const char *const *keys,
                              int depth) {
  struct node *o;
  idx = lua_absindex(L, idx);
  refuse_record(L, idx, p);
  if (!lua_istable(L, idx)) return to_node(L, idx, a, p, depth);
  luaL_checkstack(L, 6, "too many nested tables");
  if (keys == TOOL_KEYS && (o = to_server_tool(L, idx, a, p, depth)) != NULL) return o;
  if (keys == TOOL_KEYS) refuse_misnomers(L, idx, p);
  if (keys == TOOL_KEYS) refuse_wrapped(L, idx, p);
  o = value_need(L, node_new(a, NODE_OBJECT));
  lua_pushnil(L);
  while (lua_next(L, idx)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? known_key(keys, lua_tostring(L, -2)) : NULL;
    if (key != NULL) {
      struct path here = { p, key, 0 };
      struct node *v = to_member(L, -1, a, &here, keys, depth + 1);
      if (v->type != NODE_NULL) {
        v->key = (struct str){ key, strlen(key) };
        append(o, v);
      }
    }
    lua_pop(L, 1);
  }
  return o;
}

/* An array of records, but for the first `known`, the last of which is one; anything else as it is. */
static struct node *to_records_after(lua_State *L, int idx, struct arena *a, const struct path *p,
                                     const char *const *keys, int depth, lua_Integer known) {
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
    append(list, to_record(L, -1, a, &here, keys, depth + 1));
    lua_pop(L, 1);
  }
  return list;
}

static struct node *to_records(lua_State *L, int idx, struct arena *a, const struct path *p, const char *const *keys,
                               int depth) {
  return to_records_after(L, idx, a, p, keys, depth, 0);
}

static struct node *to_content(lua_State *L, int idx, struct arena *a, const struct path *p, int depth) {
  return to_records(L, idx, a, p, BLOCK_KEYS, depth);
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

static struct node *to_messages(lua_State *L, int idx, struct arena *a, lua_Integer known) {
  const struct path here = { NULL, "messages", 0 };
  if (lua_type(L, idx) == LUA_TSTRING) return to_question(L, idx, a);
  return to_records_after(L, idx, a, &here, MESSAGE_KEYS, 0, known);
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
  struct node *o = value_need(L, node_new(a, NODE_OBJECT));
  idx = lua_absindex(L, idx);
  luaL_checktype(L, idx, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, idx)) {
    struct path here = { NULL, luaL_checkstring(L, -2), 0 };
    struct node *v;
    if (strcmp(here.name, "messages") == 0) v = to_messages(L, -1, a, known);
    else if (strcmp(here.name, "tools") == 0) v = to_records(L, -1, a, &here, TOOL_KEYS, 0);
    else if (strcmp(here.name, "system") == 0) v = to_records(L, -1, a, &here, BLOCK_KEYS, 0);
    else v = to_node(L, -1, a, &here, 0);
    if (v->type != NODE_NULL) {
      v->key.p = lua_tolstring(L, -2, &v->key.n);
      append(o, v);
    }
    lua_pop(L, 1);
  }
  if (messages != 0) set(o, STR("messages"), to_messages(L, messages, a, 0));
  sort_object(o);
  return o;
}

struct node *value_request(lua_State *L, int idx, int messages, struct arena *a) {
  return to_request(L, idx, messages, 0, a);
}

struct node *value_request_after(lua_State *L, int idx, lua_Integer known, struct arena *a) {
  return to_request(L, idx, 0, known, a);
}
