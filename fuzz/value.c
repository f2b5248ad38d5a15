/*
** value.c: whatever Lua value is handed in, it becomes JSON that reads back as the same value, or an ArgumentError; the
** core runs no metamethod; a value that is a request is the same bytes twice on every wire; records accept what they
** made. The first byte picks: encode, decode, request, content, records. Build as tools/fuzz.sh does.
*/
#include "lua_value.h"

/* check(pick, value): see above. Every error that comes out of the library must be one of its own. */
static const char CHECKS[] =
  "local core = require 'koine.core'\n"
  "local errors = require 'koine.data.errors'\n"
  "local records = require 'koine.data.records'\n"
  "local NAMES = { 'text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking',\n"
  "  'refusal', 'message', 'tool_definition', 'response', 'usage', 'usage_cost', 'delta', 'model_info',\n"
  "  'model_pricing', 'usage_window', 'usage_amount', 'usage_limit_entry', 'usage_report' }\n"
  "local adapters = {}\n"
  "for i, codec in ipairs { 'anthropic', 'chat', 'responses' } do\n"
  "  adapters[i] = core.adapter { provider = 'here', title = 'Here', model = 'm', codec = codec }\n"
  "end\n"
  /* f's results, or nil when it refused in words */
  "local function try(f, ...)\n"
  "  local r = table.pack(pcall(f, ...))\n"
  "  if r[1] then return table.unpack(r, 2, r.n) end\n"
  "  local err = r[2]\n"
  "  assert(errors.is_error(err), tostring(err))\n"
  "  assert(err.class == 'ArgumentError' or err.class == 'NotImplementedError', err.class)\n"
  "  assert(err.class ~= 'ArgumentError' or type(err.expected) == 'string', tostring(err))\n"
  "  assert(#tostring(err) <= 500 and not tostring(err):find '[\\r\\n]', 'no line')\n"
  "end\n"
  "local function read(text)\n"
  "  local value, err = core.decode(text)\n"
  "  assert(err == nil, tostring(err))\n"
  "  return value\n"
  "end\n"
  "local checks = {}\n"
  "function checks.encode(value)\n"
  "  local once = try(core.encode, value)\n"
  "  if not once then return end\n"
  "  assert(utf8.len(once), 'no UTF-8')\n"
  "  local twice = core.encode(read(once))\n"
  "  assert(core.encode(read(twice)) == twice, 'not stable')\n"
  "  if not once:find '\\u{FFFD}' then assert(once == twice, 'not the same') end\n"
  "end\n"
  /* what grows out of the text in pieces of n bytes is what is read of it whole, large integers as floats */
  "local function grow(text, n, value)\n"
  "  local growing, path = core.growing()\n"
  "  for i = 1, #text, n do\n"
  "    path = growing:feed(text:sub(i, i + n - 1), n)\n"
  "    while path do path = growing:feed(nil, n) end\n"
  "  end\n"
  "  growing:finish()\n"
  "  local state, at = growing:state()\n"
  "  if value == nil then return assert(state ~= 'whole' or at, state) end\n"
  "  if state == 'limit' then return end\n" /* a value may have more levels where it is read whole */
  "  assert(state == 'whole' and not at and core.encode(growing:value()) == core.encode(value), state)\n"
  "end\n"
  "function checks.decode(text)\n"
  "  if type(text) ~= 'string' then return end\n"
  "  local value, err = core.decode(text)\n"
  "  local numbers = core.decode(text, true)\n"
  "  grow(text, 1, numbers)\n"
  "  grow(text, #text % 13 + 2, numbers)\n"
  "  if value == nil then return assert(errors.is_error(err) and err.kind ~= 'argument') end\n"
  "  checks.encode(value)\n"
  "  assert(core.encode(value), 'cannot be written again')\n"
  "end\n"
  "function checks.request(value)\n"
  "  if type(value) ~= 'table' then return end\n"
  "  local request = { model = 'm', max_tokens = 10 }\n"
  "  for _, name in ipairs { 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'extra', 'metadata' } do\n"
  "    request[name] = rawget(value, name)\n"
  "  end\n"
  "  try(core.check, request)\n"
  "  for _, adapter in ipairs(adapters) do\n"
  "    local body = try(adapter.render, adapter, request)\n"
  "    if body then\n"
  "      assert(adapter:render(request) == body, 'not the same bytes')\n"
  "      assert(type(read(body)) == 'table', 'no object')\n"
  "    end\n"
  "  end\n"
  "end\n"
  "function checks.content(value)\n"
  "  local response = try(core.response, { content = value })\n"
  "  if not response then return end\n"
  "  local copy = core.response(response:to_table())\n"
  "  assert(response == copy, 'another Response')\n"
  "  assert(type(response:text()) == 'string' and response.tool_calls)\n"
  "  checks.request { messages = { { role = 'user', content = 'q' }, response:message() } }\n"
  "end\n"
  "function checks.records(value, pick)\n"
  "  if type(value) ~= 'table' then return end\n"
  "  local make = records[NAMES[pick % #NAMES + 1]]\n"
  "  local record = try(make, value)\n"
  "  if record == nil then return end\n"
  "  local plain = records.to_table(record)\n"
  "  if not try(core.encode, plain) then return end\n" /* what JSON has no word for: a NaN is equal to nothing */
  "  assert(records.equal(record, make(plain)) or NAMES[pick % #NAMES + 1] == 'response', 'another record')\n"
  "  checks.encode(plain)\n"
  "end\n"
  "local ORDER = { checks.encode, checks.decode, checks.request, checks.content, checks.records }\n"
  "return function(pick, value) ORDER[pick % 5 + 1](value, pick // 5) end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static lua_State *L;
  struct bytes b = { data, data + size, 0, 1 };
  unsigned pick = take(&b);
  if (L == NULL) {
    L = new_state();
    load_checks(L, CHECKS);
  }
  b.odd = pick % 5 != 4; /* records are made in Lua, which reads tables as their owner wants */
  lua_pushinteger(L, pick);
  if (pick % 5 == 1) lua_pushlstring(L, (const char *)b.p, (size_t)(b.end - b.p));
  else push_any(L, &b);
  run_checks(L, 2);
  return 0;
}
