/*
** lua_value.h: Lua values of any shape out of bytes, for the targets that go through a lua_State. A byte says what
** comes next; strings are mostly the words that requests, blocks and senders are made of, so that many values come
** close to valid ones. The state is made once; its package.path is lua/ of the checkout, from where targets are run.
*/
#ifndef KOINE_LUA_VALUE_H
#define KOINE_LUA_VALUE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#include "binding/binding.h"

int luaopen_koine_core(lua_State *L);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(cond) ((cond) ? (void)0 : abort())
#define DEEPEST 400 /* tables; a little more than twice what a value may have */

/* Bytes that are left to read; past their end all are 0. */
struct bytes {
  const uint8_t *p, *end;
  int depth;
  int odd; /* with what the core must bear: cycles, light userdata, metamethods (none of which may be called) */
};

static unsigned take(struct bytes *b) {
  return b->p < b->end ? *b->p++ : 0;
}

static int is_empty(const struct bytes *b) {
  return b->p == b->end;
}

static const char *const WORDS[] = {
  "type", "text", "content", "role", "user", "assistant", "id", "name", "arguments", "arguments_json", "tool_use",
  "tool_result", "tool_use_id", "is_error", "thinking", "signature", "redacted_thinking", "data", "image", "document",
  "source", "base64", "url", "media_type", "image/png", "refusal", "opaque", "raw", "provider_data", "provider",
  "model", "kind", "cache_control", "ephemeral", "messages", "system", "tools", "tool_choice", "auto", "any",
  "description", "parameters", "properties", "required", "object", "string", "strict", "max_tokens", "stop_reason",
  "usage",
  "input_tokens", "output_tokens", "temperature", "extra", "metadata", "sender", "sender_json", "prompt", "extras",
  "sender_id", "sender_name", "display_name", "channel", "channel_id", "thread_id", "thread_key", "thread_ts", "is_bot",
  "timestamp", "schema", "openab.sender.v1", "slack", "epoch_s", "epoch_ms", "2026-01-31T23:59:59.9Z", "1714204397.123",
  "layout", "split", "combined", "", "\xff", "a\xc3", "\xed\xa0\xbd", "<", "</sender_context>", "\n", "\"\\", "a\0b"
};
#define WORD_COUNT (sizeof WORDS / sizeof *WORDS)

static void push_word(lua_State *L, struct bytes *b) {
  unsigned i = take(b);
  size_t n;
  if (i < WORD_COUNT) {
    lua_pushstring(L, WORDS[i]);
    return;
  }
  n = i % 32;
  if (n > (size_t)(b->end - b->p)) n = (size_t)(b->end - b->p);
  lua_pushlstring(L, (const char *)b->p, n);
  b->p += n;
}

static lua_Integer take_integer(struct bytes *b) {
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v = v << 8 | take(b);
  return (lua_Integer)v;
}

static void push_number(lua_State *L, struct bytes *b) {
  uint64_t bits = (uint64_t)take_integer(b);
  double d;
  memcpy(&d, &bits, sizeof d);
  lua_pushnumber(L, d);
}

static int meta_never(lua_State *L) {
  (void)L;
  abort(); /* a metamethod of the caller's was called */
}

static void push_any(lua_State *L, struct bytes *b);

/* n members: a list, or keys as they come. `kind` 7 marks it, 6 gives it metamethods, 5 makes it hold itself. */
static void push_table(lua_State *L, struct bytes *b, int list, unsigned n, unsigned kind) {
  static const char *const EVENTS[] = { "__index", "__newindex", "__len", "__pairs", "__tostring", "__eq", "__call" };
  lua_newtable(L);
  for (unsigned i = 1; i <= n && !is_empty(b); i++) {
    if (list) lua_pushinteger(L, i);
    else if (take(b) % 16 > 0) push_word(L, b);
    else lua_pushinteger(L, (lua_Integer)take(b) - 8);
    push_any(L, b);
    lua_rawset(L, -3);
  }
  if (kind == 5 && b->odd) {
    push_word(L, b);
    lua_pushvalue(L, -2);
    lua_rawset(L, -3);
  } else if (kind == 6 && b->odd) {
    lua_newtable(L);
    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++) {
      lua_pushcfunction(L, meta_never);
      lua_setfield(L, -2, EVENTS[i]);
    }
    lua_setmetatable(L, -2);
  } else if (kind == 7) {
    luaL_setmetatable(L, TYPE_ARRAY);
  }
}

/* Pushes one value. */
static void push_any(lua_State *L, struct bytes *b) {
  unsigned op = take(b), n = op >> 4;
  luaL_checkstack(L, 8, NULL);
  if (b->depth >= DEEPEST) op = 0;
  b->depth++;
  switch (op & 15) {
    case 0: lua_pushboolean(L, (int)(n & 1)); break;
    case 1: lua_pushinteger(L, (lua_Integer)take(b) - 2); break;
    case 2: lua_pushinteger(L, take_integer(b)); break;
    case 3: push_number(L, b); break;
    case 4: lua_pushlightuserdata(L, NULL); break;
    case 5: lua_pushlightuserdata(L, b->odd ? b : NULL); break;
    case 6: lua_pushcfunction(L, meta_never); break;
    case 7: case 8: push_table(L, b, 1, n, take(b) % 8); break;
    case 9: case 10: case 11: push_table(L, b, 0, n, take(b) % 64); break;
    default: push_word(L, b); break;
  }
  b->depth--;
}

/* A state with Koine's core in it. Never closed: it is the target's for good. */
static lua_State *new_state(void) {
  lua_State *L = luaL_newstate();
  REQUIRE(L != NULL);
  luaL_openlibs(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_koine_core);
  lua_setfield(L, -2, "koine.core");
  lua_pop(L, 1);
  REQUIRE(luaL_dostring(L, "package.path = './lua/?.lua;./lua/?/init.lua;' .. package.path") == LUA_OK);
  return L;
}

/* Loads the target's Lua: one function, which is left on the stack. What it raises is a finding. */
static void load_checks(lua_State *L, const char *source) {
  if (luaL_dostring(L, source) == LUA_OK) return;
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  abort();
}

/* Calls the function at index 1 with the n values on top. */
static void run_checks(lua_State *L, int n) {
  lua_pushvalue(L, 1);
  lua_insert(L, -n - 1);
  if (lua_pcall(L, n, 0, 0) != LUA_OK) {
    fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
    abort();
  }
  lua_settop(L, 1);
}

#endif
