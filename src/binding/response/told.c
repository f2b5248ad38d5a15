/*
** told.c: core.told: what records tell of a Response. A field that no Lua value was made of is read from the message, so
** observing makes none. Nothing is owned; raises what Lua raises where memory ends.
*/
#include "response.h"

/* The fields. Each chat that is observed has them set: their names are upvalues, so that Lua need not look for them. */
static const char *const NAMES[] = { "response_model", "response_id", "request_id", "stop_reason", "raw_stop_reason",
                                     "usage", "cost", "tool_calls", "warnings" };
enum {
  ARRAY_MT = 1, RESPONSE_MODEL, RESPONSE_ID, REQUEST_ID, STOP_REASON, RAW_STOP_REASON, USAGE, COST, TOOL_CALLS, WARNINGS
};

/* Sets the field of this upvalue in the table at 3 to the value on top, which is popped. */
static void set(lua_State *L, int name) {
  lua_pushvalue(L, lua_upvalueindex(name));
  lua_insert(L, -2);
  lua_rawset(L, 3);
}

/* Sets a field to a member of the response; nothing where it has none. */
static void tell(lua_State *L, const struct node *v, int name) {
  if (v == NULL) return;
  lua_pushvalue(L, lua_upvalueindex(name));
  push_node(L, v, 0);
  lua_rawset(L, 3);
}

/* Sets usage, a copy, and its cost. */
static void tell_usage(lua_State *L) {
  const struct node *usage = node_get(response_root(L, 1), "usage");
  if (lua_getfield(L, 2, "usage") != LUA_TNIL || usage == NULL) {
    response_copy(L, 4, 0);
  } else {
    response_push_usage(L, 1, 2);
  }
  if (lua_istable(L, 5)) {
    if (lua_getfield(L, 5, "cost") == LUA_TTABLE) {
      lua_getfield(L, 6, "total");
      set(L, COST);
    }
    lua_settop(L, 5);
    set(L, USAGE);
  }
  lua_settop(L, 3);
}

/* Pushes an empty array: its metatable is the upvalue. */
static void push_array(lua_State *L) {
  lua_newtable(L);
  lua_pushvalue(L, lua_upvalueindex(ARRAY_MT));
  lua_setmetatable(L, -2);
}

/* Sets tool_calls: the names of the tools that the answer calls. */
static void tell_tool_calls(lua_State *L) {
  const struct node *content = node_get(response_root(L, 1), "content");
  lua_Integer n = 0;
  push_array(L);
  for (const struct node *b = content != NULL ? content->child : NULL; b != NULL; b = b->next) {
    if (!str_eq(node_str(node_get(b, "type")), "tool_use") || node_is(node_get(b, "output"), NODE_TRUE)) continue;
    push_str(L, node_str(node_get(b, "name")));
    lua_rawseti(L, 4, ++n);
  }
  set(L, TOOL_CALLS);
}

/* Sets warnings: their codes. */
static void tell_warnings(lua_State *L) {
  const struct node *warnings = node_get(response_root(L, 1), "warnings");
  lua_Integer n = 0;
  push_array(L);
  if (lua_getfield(L, 2, "warnings") == LUA_TTABLE) {
    for (lua_Integer i = 1; lua_rawgeti(L, 5, i) == LUA_TTABLE; i++) {
      lua_getfield(L, -1, "code");
      lua_rawseti(L, 4, ++n);
      lua_settop(L, 5);
    }
  } else {
    for (const struct node *w = warnings != NULL ? warnings->child : NULL; w != NULL; w = w->next) {
      push_str(L, node_str(node_get(w, "code")));
      lua_rawseti(L, 4, ++n);
    }
  }
  lua_settop(L, 4);
  set(L, WARNINGS);
}

/* core.told(response): what records tell of an answer, a table with room for more: response_model, response_id, request_id,
** stop_reason, raw_stop_reason, usage (a copy), cost (USD), tool_calls (array of names), warnings (array of codes); all but
** the arrays nil where unknown. And its status code (nil: unknown). No field of the Response is made for that. */
static int f_told(lua_State *L) {
  const struct node *response = response_root(L, 1), *status;
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, 1);
  lua_createtable(L, 0, 20);
  tell(L, node_get(response, "model"), RESPONSE_MODEL);
  tell(L, node_get(response, "id"), RESPONSE_ID);
  tell(L, node_get(response, "request_id"), REQUEST_ID);
  tell(L, node_get(response, "stop_reason"), STOP_REASON);
  tell(L, node_get(response, "raw_stop_reason"), RAW_STOP_REASON);
  tell_usage(L);
  tell_tool_calls(L);
  tell_warnings(L);
  status = node_get(response, "status_code");
  if (status == NULL) return 1;
  push_node(L, status, 0);
  return 2;
}

void open_told(lua_State *L) {
  luaL_getmetatable(L, TYPE_ARRAY);
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) lua_pushstring(L, NAMES[i]);
  lua_pushcclosure(L, f_told, 1 + sizeof NAMES / sizeof *NAMES);
  lua_setfield(L, -2, "told");
}
