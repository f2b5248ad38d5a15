/*
** growing.c: what a value of 100 kB holds while it grows out of pieces of 4 bytes: at most four times what it holds in
** the end, with the reader and the string that is open. Every byte of Lua and of the core is counted, garbage is not.
*/
#include "support/meter.h"
#include "support/state.h"
#include "support/test.h"

#define BYTES 100000
#define PERCENT_MAX 400

/* A shape is how the text begins, what is repeated (# is a number), how it ends. ratio(n) is the most that was held at
** any look, in percent of what the value holds in the end. */
static const char CHUNK[] =
  "local core = require 'koine.core'\n"
  "local SHAPES = {\n"
  "  { '{\"a\":\"', 'plain text of a string ', '\"}' },\n"
  "  { '{\"a\":\"', '\\\\u00e9\\\\n', '\"}' },\n"
  "  { '{\"a\":0', ',\"#\":1', '}' },\n"
  "  { '{\"a\":[0', ',{\"n\":[1,\"two\"]}', ']}' },\n"
  "  { '{\"a\":[0', ',\"words of some length\"', ']}' },\n"
  "  { '{\"a\":[', '#,', '1]}' },\n"
  "}\n"
  "function shapes() return #SHAPES end\n"
  "local function text(shape)\n"
  "  local list = { shape[1] }\n"
  "  for i = 1, BYTES // #shape[2] do list[i + 1] = (shape[2]:gsub('#', tostring(i * 7919 % 10007))) end\n"
  "  return table.concat(list) .. shape[3]\n"
  "end\n"
  "local function held()\n"
  "  collectgarbage()\n"
  "  collectgarbage() -- what finalizers let go\n"
  "  return count()\n"
  "end\n"
  "local function grow(whole)\n"
  "  local growing, most = core.growing(), 0\n"
  "  for i = 1, #whole, 4 do\n"
  "    growing:feed(whole:sub(i, i + 3))\n"
  "    if i % 1024 == 1 then most = math.max(most, held()) end\n"
  "  end\n"
  "  assert(growing:state() == 'whole')\n"
  "  return growing:value(), math.max(most, held())\n"
  "end\n"
  "function ratio(n)\n"
  "  local whole = text(SHAPES[n])\n"
  "  local before = held()\n"
  "  local value, most = grow(whole)\n"
  "  local own = held() - before\n"
  "  assert(type(value) == 'table' and own > #whole / 10)\n"
  "  return (most - before) * 100 // own\n"
  "end\n";

static int f_count(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)meter.lua);
  return 1;
}

int main(void) {
  lua_State *L = state_open(meter_lua, NULL);
  lua_pushinteger(L, BYTES);
  lua_setglobal(L, "BYTES");
  lua_pushcfunction(L, f_count);
  lua_setglobal(L, "count");
  state_run(L, CHUNK, "=growing", 0);
  for (lua_Integer i = 1, n = state_call(L, "shapes", 0); i <= n; i++) {
    int percent = (int)state_call(L, "ratio", i);
    printf("  shape %d: %d%% of the value\n", (int)i, percent);
    CHECK(percent >= 99 && percent <= PERCENT_MAX);
  }
  lua_close(L);
  CHECK(meter.lua == 0 && meter.wrong == 0);
  return test_done("growing");
}
