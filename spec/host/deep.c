/*
** deep.c: a message nested more deeply than trees are copied is refused by push_response: a Response always has its message.
** No answer gets so far: limits.depth is bounded. Here the tree is made by hand.
*/
#include "binding/binding.h"
#include "support/state.h"
#include "support/test.h"

/* {"content": [[[…]]]}: so many arrays. */
static struct node *nested(struct arena *a, int levels) {
  struct node *message = node_new(a, NODE_OBJECT), *v = node_new(a, NODE_ARRAY);
  for (int i = 1; i < levels; i++) {
    struct node *outer = node_new(a, NODE_ARRAY);
    CHECK(node_add(outer, v) == 0);
    v = outer;
  }
  CHECK(node_set(message, STR("content"), v) == 0);
  return message;
}

static int push(lua_State *L) {
  push_response(L, lua_touserdata(L, 1));
  return 1;
}

static int try_push(lua_State *L, struct node *message) {
  lua_pushcfunction(L, push);
  lua_pushlightuserdata(L, message);
  return lua_pcall(L, 1, 1, 0);
}

int main(void) {
  struct mem m = mem_libc();
  struct arena a;
  lua_State *L = state_with("require 'koine.core'", "=deep", 0);
  arena_init(&a, &m);
  CHECK(try_push(L, nested(&a, JSON_DEPTH_MAX)) == LUA_OK);
  CHECK(luaL_testudata(L, -1, TYPE_RESPONSE) != NULL);
  lua_getfield(L, -1, "content");
  CHECK(lua_istable(L, -1));
  CHECK(try_push(L, nested(&a, JSON_DEPTH_MAX + 1)) == LUA_ERRRUN);
  CHECK(lua_istable(L, -1));
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "kind");
    CHECK_STR(lua_tostring(L, -1), (size_t)lua_rawlen(L, -1), "limit");
  }
  arena_free(&a);
  lua_close(L);
  return test_done("deep");
}
