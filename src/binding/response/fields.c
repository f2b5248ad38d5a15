/*
** fields.c: core.response: a Response from a table, for adapters written in Lua. Every field is checked; the tree
** lies in the scratch memory until push_response packs it. Raises an ArgumentError that names the field.
*/
#include "binding/binding.h"
#include "core/history/normalise.h"
#include "core/message/event.h"

/* The fields, the types of those that are no tables of their own kind, and what errors say of them. */
static const struct field {
  const char *name;
  int type, required;
  const char *expected;
} FIELDS[] = {
  { "content", LUA_TNONE, 0, NULL },
  { "tool_calls", LUA_TNONE, 0, NULL },
  { "model", LUA_TSTRING, 1, "a string" },
  { "stop_reason", LUA_TSTRING, 1, "a string" },
  { "raw_stop_reason", LUA_TSTRING, 0, "a string" },
  { "stop_sequence", LUA_TSTRING, 0, "a string" },
  { "usage", LUA_TTABLE, 0, "a table" },
  { "container", LUA_TTABLE, 0, "a table" },
  { "logprobs", LUA_TTABLE, 0, "a table" },
  { "id", LUA_TSTRING, 0, "a string" },
  { "request_id", LUA_TSTRING, 0, "a string" },
  { "provider", LUA_TSTRING, 0, "a string" },
  { "status_code", LUA_TNUMBER, 0, "a number" },
  { "headers", LUA_TTABLE, 0, "a table" },
  { "warnings", LUA_TTABLE, 0, "a table" },
  { "attempts", LUA_TTABLE, 0, "a table" },
  { "partial", LUA_TBOOLEAN, 0, "true or false" },
  { "degenerate", LUA_TBOOLEAN, 0, "true or false" },
  { "output", LUA_TNONE, 0, NULL },
  { "output_error", LUA_TTABLE, 0, "a table" },
  { "output_mode", LUA_TSTRING, 0, "a string" },
  { NULL, LUA_TNONE, 0, NULL }
};

static void check_fields(lua_State *L) {
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
    const struct field *f = FIELDS;
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    while (f->name != NULL && (key == NULL || strcmp(f->name, key) != 0)) f++;
    if (f->name == NULL) raise_argument(L, key ? key : "response", "a field of a Response", "an unknown one");
  }
}

static void set(lua_State *L, struct node *o, const char *key, struct node *v) {
  if (node_set(o, (struct str){ key, strlen(key) }, v) != 0) luaL_error(L, "not enough memory");
}

static int is_empty(const struct node *v) { return v == NULL || v->count == 0; }

/* Pushes a field of the table at 1, whose metatable is not asked: its code would find the scratch memory in use. */
static int field(lua_State *L, const char *key) {
  lua_pushstring(L, key);
  return lua_rawget(L, 1);
}

/* The blocks of tool_calls that content does not hold already (by id). */
static void add_calls(lua_State *L, struct arena *a, struct node *content) {
  struct node *calls;
  if (field(L, "tool_calls") == LUA_TTABLE) {
    calls = value_content(L, -1, a, "tool_calls");
    for (struct node *c = calls->child, *next; c != NULL; c = next) {
      const struct node *b = content->child;
      next = c->next;
      while (b != NULL && !(str_eq(node_str(node_get(b, "type")), "tool_use") &&
                            str_same(node_str(node_get(b, "id")), node_str(node_get(c, "id"))))) b = b->next;
      if (b != NULL) continue;
      node_remove(calls, c);
      if (node_add(content, c) != 0) luaL_error(L, "not enough memory");
    }
  }
  lua_pop(L, 1);
}

/* content as an array of checked blocks. */
static struct node *read_content(lua_State *L, struct arena *a) {
  struct node *content = node_new(a, NODE_ARRAY), *message = node_new(a, NODE_OBJECT);
  struct err e;
  err_clear(&e);
  if (content == NULL || message == NULL) {
    luaL_error(L, "not enough memory");
    return NULL;
  }
  if (field(L, "content") == LUA_TSTRING) {
    struct node *block = node_new(a, NODE_OBJECT);
    struct str s;
    s.p = lua_tolstring(L, -1, &s.n);
    if (block == NULL) luaL_error(L, "not enough memory");
    set(L, block, "type", node_string(a, STR("text")));
    set(L, block, "text", node_string(a, s));
    if (s.n > 0 && node_add(content, block) != 0) luaL_error(L, "not enough memory");
  } else if (!lua_isnil(L, -1)) {
    if (!lua_istable(L, -1)) raise_type(L, "content", "a string or an array of blocks", -1);
    content = value_content(L, -1, a, "content");
  }
  lua_pop(L, 1);
  add_calls(L, a, content);
  set(L, message, "role", node_string(a, STR("assistant")));
  set(L, message, "content", content);
  if (!is_empty(content) && normalise_check_message(message, "response", &e) != 0) raise_error(L, &e);
  return content;
}

/* Pushes "end_turn, tool_use, … or context_overflow" and returns it. */
static const char *push_stops(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int s = STOP_END_TURN; s < STOP_ERROR; s++) {
    if (s > STOP_END_TURN) luaL_addstring(&b, s == STOP_ERROR - 1 ? " or " : ", ");
    luaL_addstring(&b, stop_name((enum stop)s));
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/* Raises unless the value on top is one of the words; "error" alone needs partial = true. */
static void check_stop(lua_State *L) {
  struct str word;
  enum stop stop;
  int partial;
  word.p = lua_tolstring(L, -1, &word.n);
  stop = stop_by_name(word);
  (void)field(L, "partial");
  partial = lua_toboolean(L, -1);
  lua_pop(L, 1);
  if (stop != STOP_NONE && (stop != STOP_ERROR || partial)) return;
  raise_argument(L, "stop_reason", push_stops(L),
                 stop == STOP_ERROR ? "\"error\", which only a partial Response has"
                                    : lua_pushfstring(L, "\"%s\"", word.p));
}

/* Raises unless the counts of the table on top are what they should be. */
static void check_usage(lua_State *L) {
  static const char *const COUNTS[] = { "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens",
                                        "reasoning_tokens" };
  for (size_t i = 0; i < sizeof COUNTS / sizeof *COUNTS; i++) {
    int is_whole, type;
    lua_pushstring(L, COUNTS[i]);
    type = lua_rawget(L, -2);
    if (type != LUA_TNIL && (type != LUA_TNUMBER || lua_tointegerx(L, -1, &is_whole) < 0 || !is_whole)) {
      const char *got = type == LUA_TNUMBER ? lua_tostring(L, -1) : luaL_typename(L, -1);
      raise_argument(L, lua_pushfstring(L, "usage.%s", COUNTS[i]), "integer, 0 or more", got);
    }
    lua_pop(L, 1);
  }
}

/* Raises unless the elements of the table on top are tables with a token. */
static void check_logprobs(lua_State *L) {
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    const char *field = lua_pushfstring(L, "logprobs[%I].token", (LUAI_UACINT)i);
    if (!lua_istable(L, -2)) raise_type(L, field, "a string", -2);
    lua_pushliteral(L, "token");
    if (lua_rawget(L, -3) != LUA_TSTRING) raise_type(L, field, "a string", -1);
    lua_pop(L, 3);
  }
  lua_pop(L, 1);
}

/* Adds the field of the table at 1 to o, checked. usage and warnings are there also when nothing was given. */
static void add_field(lua_State *L, struct arena *a, struct node *o, const struct field *f) {
  int type = field(L, f->name), usage = strcmp(f->name, "usage") == 0, list = strcmp(f->name, "warnings") == 0;
  if (f->type != LUA_TNONE && type != f->type && (f->required || type != LUA_TNIL)) raise_type(L, f->name, f->expected, -1);
  if (strcmp(f->name, "stop_reason") == 0) check_stop(L);
  if (usage && type != LUA_TNIL) check_usage(L);
  if (strcmp(f->name, "logprobs") == 0 && type != LUA_TNIL) check_logprobs(L);
  if (type != LUA_TNIL) {
    struct node *v = value_node(L, -1, a, f->name);
    if (list && is_empty(v)) v = node_new(a, NODE_ARRAY);
    if (usage && is_empty(v)) v = node_new(a, NODE_OBJECT);
    if (usage && v != NULL && !node_is(v, NODE_OBJECT)) raise_argument(L, f->name, "a table of counts", "an array");
    set(L, o, f->name, v);
  } else if (usage || list) {
    set(L, o, f->name, node_new(a, usage ? NODE_OBJECT : NODE_ARRAY));
  }
  lua_pop(L, 1);
}

/* core.response{content, model, stop_reason, usage, …}: a Response from the table at 1 (for adapters written in Lua).
** content: a string or an array of blocks; tool_calls may add tool_use blocks that content lacks. model and stop_reason are
** required. Raises an ArgumentError that names the field. */
static int f_response(lua_State *L) {
  struct arena *a = &state_scratch(L)->arena;
  struct node *o;
  if (!lua_istable(L, 1)) return raise_type(L, "response", "a table", 1);
  lua_settop(L, 1);
  check_fields(L);
  o = node_new(a, NODE_OBJECT);
  if (o == NULL) luaL_error(L, "not enough memory");
  set(L, o, "content", read_content(L, a));
  for (const struct field *f = FIELDS + 2; f->name != NULL; f++) add_field(L, a, o, f);
  push_response(L, o);
  return 1;
}

void open_fields(lua_State *L) {
  lua_pushcfunction(L, f_response);
  lua_setfield(L, -2, "response");
}
