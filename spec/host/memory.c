/*
** memory.c: every allocation of Lua, of the core and of libcurl fails in turn, alone and with those after it. A turn
** then gives its whole answer or an error, never a wrong answer and no crash; the state goes on to work; nothing is left
** when it is closed.
*/
#include "support/memory_turns.h"

static const char PRELUDE[] =
  "local base = ...\n"
  "local koine, core = require 'koine', require 'koine.core'\n"
  "local _ = koine.anthropic, koine.compatible, koine.openai, koine.response, koine.errors, require 'koine.call.models'\n"
  "local TEXT = '" PROVIDER_TEXT "'\n"
  "local tools = { { name = 'weather', description = 'Tells it.', parameters = { type = 'object',\n"
  "  properties = { city = { type = 'string' } } } } }\n"
  "local history = { { role = 'user', content = 'Weather?' },\n"
  "  { role = 'assistant', content = {\n"
  "    { type = 'tool_use', id = 'toolu_0', name = 'weather', arguments = { city = 'Rome' } } } },\n"
  "  { role = 'user', content = { { type = 'tool_result', tool_use_id = 'toolu_0', content = 'Sun.' } } } }\n"
  "local function options(what)\n"
  "  return { model = 'some-model', key = 'a-secret-key', base_url = base .. what,\n"
  "    retry = { max = 1, max_delay = 0.1 } }\n"
  "end\n"
  "local function same(got, expected)\n"
  "  if got ~= expected then error('wrong answer: ' .. tostring(got)) end\n"
  "end\n"
  "local function answered(r, err)\n"
  "  if not r then return nil, err end\n"
  "  same(r:text(), TEXT)\n"
  "  same(r.stop_reason, 'end_turn')\n"
  "  same(r.usage.output_tokens, 5)\n"
  "  return true\n"
  "end\n"
  "local function called(r, err)\n"
  "  if not r then return nil, err end\n"
  "  local call = r.tool_calls[1]\n"
  "  same(#r.tool_calls, 1)\n"
  "  same(call.name, 'weather')\n"
  "  same(call.arguments.city, 'Paris')\n"
  "  same(r:message().content, r.content)\n"
  "  return true\n"
  "end\n"
  "local function chat(new, what) return answered(new(options(what)):chat 'Hi') end\n"
  "local function stream(new, opts)\n"
  "  local opened, err = new(options 'text'):open('Hi', opts)\n"
  "  if not opened then return nil, err end\n"
  "  local said = ''\n"
  "  while true do\n"
  "    local delta, err = opened:next()\n"
  "    if err then return nil, err end\n"
  "    if not delta then break end\n"
  "    if delta.type == 'text_delta' then said = said .. delta.text end\n"
  "  end\n"
  "  same(said, TEXT)\n"
  "  return answered(opened:response())\n"
  "end\n"
  "local function loop(new)\n"
  "  local said = ''\n"
  "  for delta in new(options 'text'):stream 'Hi' do said = said .. (delta.text or '') end\n"
  "  same(said, TEXT)\n"
  "  return true\n"
  "end\n"
  "local function tool(new, streaming)\n"
  "  return called(new(options 'tool'):chat(history, { system = 'Be brief.', tools = tools, stream = streaming }))\n"
  "end\n"
  "local function refused(adapter)\n"
  "  local r, err = (adapter or koine.anthropic(options 'refused')):chat 'Hi'\n"
  "  if r then error 'wrong answer: a Response' end\n"
  "  if err.kind ~= 'invalid_request' then return nil, err end\n"
  "  same(err.message, 'no such luck')\n"
  "  return true\n"
  "end\n"
  "local function cancelled()\n"
  "  local opened, err = koine.anthropic(options 'tool/4'):open 'Hi'\n"
  "  if not opened then return nil, err end\n"
  "  for _ = 1, 2 do\n"
  "    local delta, err = opened:next()\n"
  "    if not delta then return nil, err end\n"
  "  end\n"
  "  opened:close()\n"
  "  local delta, err = opened:next()\n"
  "  same(delta, nil)\n"
  "  same(err.kind, 'cancelled')\n"
  "  return true\n"
  "end\n"
  "local function two()\n"
  "  local a, err = koine.anthropic(options 'text'):open 'Hi'\n"
  "  if not a then return nil, err end\n"
  "  local b, err = koine.compatible(options 'text'):open 'Hi'\n"
  "  if not b then return nil, err end\n"
  "  local good, err = answered(a:response())\n"
  "  if not good then return nil, err end\n"
  "  return answered(b:response())\n"
  "end\n"
  "local function refuse_argument()\n"
  "  local a = koine.anthropic(options 'text')\n"
  "  local ok, err = pcall(a.chat, a, { { role = 'nobody' } })\n"
  "  same(ok, false)\n"
  "  if type(err) ~= 'table' then error(err, 0) end\n"
  "  same(err.field, 'messages[1].role')\n"
  "  return true\n"
  "end\n"
  "local function from_table()\n"
  "  return answered(koine.response { content = TEXT, model = 'm', stop_reason = 'end_turn',\n"
  "    usage = { output_tokens = 5 } })\n"
  "end\n"
  "local function json()\n"
  "  local text = core.encode { b = { 1, 2.5, 'x', core.null, { c = true } }, a = core.array {} }\n"
  "  same(text, '{\"a\":[],\"b\":[1,2.5,\"x\",null,{\"c\":true}]}')\n"
  "  local v, err = core.decode(text)\n"
  "  if not v then return nil, err end\n"
  "  same(core.encode(v), text)\n"
  "  return true\n"
  "end\n"
  "local function count()\n"
  "  local n, err = koine.anthropic(options 'count'):count_tokens 'Hi'\n"
  "  if not n then return nil, err end\n"
  "  same(n, 7)\n"
  "  return true\n"
  "end\n"
  "function again() return chat(koine.anthropic, 'text') end\n";

/* Calls a function until it does not run out of memory, but not for ever. */
#define PATIENT \
  "local function patient(f, ...)\n" \
  "  for left = 100, 0, -1 do\n" \
  "    local r = table.pack(pcall(f, ...))\n" \
  "    if r[1] then return table.unpack(r, 2, r.n) end\n" \
  "    if left == 0 or not tostring(r[2]):find('not enough memory', 1, true) then error(r[2], 0) end\n" \
  "  end\n" \
  "end\n"

/* A stream goes on where memory was short for a delta, and loses none. */
#define POLL_AGAIN PATIENT \
  "local function poll_again(new)\n" \
  "  local opened, err = new(options 'text'):open 'Hi'\n" \
  "  if not opened then return nil, err end\n" \
  "  local said, firsts = '', 0\n" \
  "  while true do\n" \
  "    same(opened:delivered(), firsts == 1)\n" \
  "    local delta, err, first = patient(opened.poll, opened)\n" \
  "    if err then return nil, err end\n" \
  "    if delta == nil then break end\n" \
  "    if first then firsts = firsts + 1 end\n" \
  "    if delta then said = said .. (delta.text or '') else patient(core.engine().step, core.engine(), 10) end\n" \
  "  end\n" \
  "  same(said, TEXT)\n" \
  "  same(firsts, 1)\n" \
  "  return answered(opened:finish())\n" \
  "end\n"

/* Where memory was short for the tokens of a step, the next ones tell of what is over. */
#define TOKENS PATIENT \
  "local function tokens()\n" \
  "  local engine, all, told, left = core.engine(), {}, {}, 9\n" \
  "  for i = 1, left do\n" \
  "    local q, err = core.request(engine, { url = 'http://127.0.0.1:9/' })\n" \
  "    if not q then return nil, err end\n" \
  "    all[i] = q\n" \
  "  end\n" \
  "  while left > 0 do\n" \
  "    local over = true\n" \
  "    for _, q in ipairs(all) do\n" \
  "      local ok, v = pcall(q.poll, q)\n" \
  "      over = over and not (ok and v == false)\n" \
  "    end\n" \
  "    local ready = patient(engine.step, engine, over and 0 or 10)\n" \
  "    if over and #ready == 0 then error('wrong answer: tokens missing: ' .. left) end\n" \
  "    for _, q in ipairs(ready) do\n" \
  "      if not told[q] then told[q], left = true, left - 1 end\n" \
  "    end\n" \
  "  end\n" \
  "  return true\n" \
  "end\n"

/* Chats of an adapter that has made some: they begin in one step. */
#define LATER \
  "local function warmed(what)\n" \
  "  local adapter = koine.anthropic(options(what))\n" \
  "  for _, streaming in ipairs { false, true } do\n" \
  "    for _ = 1, 2 do adapter:chat('Hi', { stream = streaming }) end\n" \
  "  end\n" \
  "  return adapter\n" \
  "end\n" \
  "local good, bad = warmed 'text', warmed 'refused'\n" \
  "function again() return answered(good:chat 'Hi') and answered(koine.anthropic(options 'text'):chat 'Hi') end\n"

static const struct turn TURNS[] = {
  { "loading the core", "again = function() return require 'koine.core' ~= nil end", "go = again" },
  { "a plain chat", PRELUDE, "function go() return chat(koine.anthropic, 'text') end" },
  { "a stream", PRELUDE, "function go() return stream(koine.anthropic) end" },
  { "a loop over a stream of Chat", PRELUDE, "function go() return loop(koine.compatible) end" },
  { "a loop over a stream of Responses", PRELUDE, "function go() return loop(koine.openai) end" },
  { "a plain chat of Chat", PRELUDE, "function go() return chat(koine.compatible, 'text') end" },
  { "a plain chat of Responses", PRELUDE, "function go() return chat(koine.openai, 'text') end" },
  { "a turn with tools", PRELUDE, "function go() return tool(koine.anthropic, false) end" },
  { "a stream with tools", PRELUDE, "function go() return tool(koine.anthropic, true) end" },
  { "a stream with tools of Chat", PRELUDE, "function go() return tool(koine.compatible, true) end" },
  { "a stream with tools of Responses", PRELUDE, "function go() return tool(koine.openai, true) end" },
  { "a stream that is paused", PRELUDE,
    "function go() return stream(koine.anthropic, { limits = { high_water = 1 } }) end" },
  { "a stream whose bytes are kept", PRELUDE,
    "function go() return stream(koine.compatible, { keep_raw = true }) end" },
  { "a stream that is cancelled", PRELUDE, "go = cancelled" },
  { "two streams at once", PRELUDE, "go = two" },
  { "a stream that is polled again", PRELUDE,
    POLL_AGAIN "function go() return poll_again(koine.anthropic) end" },
  { "a stream of Chat that is polled again", PRELUDE,
    POLL_AGAIN "function go() return poll_again(koine.compatible) end" },
  { "the tokens of a step", PRELUDE, TOKENS "go = tokens" },
  { "an error answer", PRELUDE, "function go() return refused() end" },
  { "a second attempt", PRELUDE, "function go() return chat(koine.anthropic, 'busy-once') end" },
  { "a later chat", PRELUDE, LATER "function go() return answered(good:chat('Hi', { stream = false })) end" },
  { "a later stream", PRELUDE, LATER "function go() return stream(function() return good end) end" },
  { "a later loop", PRELUDE, LATER "function go() return loop(function() return good end) end" },
  { "a later error answer", PRELUDE, LATER "function go() return refused(bad) end" },
  { "a later second attempt", PRELUDE,
    LATER "local busy = warmed 'busy-once' function go() return answered(busy:chat 'Hi') end" },
  { "a count of tokens", PRELUDE, "go = count" },
  { "a wrong argument", PRELUDE, "go = refuse_argument" },
  { "a Response from a table", PRELUDE, "go = from_table" },
  { "JSON", PRELUDE, "go = json" }
};

int main(void) {
  static const long MANY[] = { 1, 2, 1L << 30 }; /* one, that and Lua's second try, all from there on */
  test_turns_start(1200, NULL);
  for (size_t i = 0; i < sizeof TURNS / sizeof *TURNS && test_failed == 0; i++)
    for (size_t k = 0; k < sizeof MANY / sizeof *MANY; k++) test_turn(&TURNS[i], MANY[k]);
  return test_turns_done("memory");
}
