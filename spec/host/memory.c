/*
** memory.c: every allocation of Lua, of the core and of libcurl fails in turn, alone and with those after it. A turn
** then gives its whole answer or an error, never a wrong answer and no crash; the state goes on to work; nothing is left
** when it is closed.
*/
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "support/meter.h"
#include "support/provider.h"
#include "support/state.h"
#include "support/test.h"

static struct provider provider;

/* {{{ what is done while memory fails: `go` returns true, or nil and an error; `again` must work whatever came first */

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
  "local function refused()\n"
  "  local r, err = koine.anthropic(options 'refused'):chat 'Hi'\n"
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
  "    same(opened:surfaced(), firsts == 1)\n" \
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

static const struct { const char *name, *prelude, *go; } TURNS[] = {
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
  { "an error answer", PRELUDE, "go = refused" },
  { "a second attempt", PRELUDE, "function go() return chat(koine.anthropic, 'busy-once') end" },
  { "a count of tokens", PRELUDE, "go = count" },
  { "a wrong argument", PRELUDE, "go = refuse_argument" },
  { "a Response from a table", PRELUDE, "go = from_table" },
  { "JSON", PRELUDE, "go = json" }
};

/* }}} */

/* {{{ Koine's Lua files, compiled once: thousands of fresh states would spend their time in the parser */

static struct chunk { char name[48]; char *p; size_t n; } chunks[64];

static int keep(lua_State *L, const void *p, size_t n, void *ud) {
  struct chunk *c = ud;
  (void)L;
  c->p = realloc(c->p, c->n + n);
  memcpy(c->p + c->n, p, n);
  c->n += n;
  return 0;
}

/* A searcher for require: the loader of a module, from its first compilation. */
static int load_chunk(lua_State *L) {
  const char *name = luaL_checkstring(L, 1), *file = luaL_gsub(L, name, ".", "/");
  struct chunk *c = chunks;
  while (c->p != NULL && strcmp(c->name, name) != 0)
    if (++c == chunks + sizeof chunks / sizeof *chunks) return luaL_error(L, "more modules than chunks");
  if (c->p != NULL) return luaL_loadbufferx(L, c->p, c->n, name, "b") == LUA_OK ? 1 : lua_error(L);
  if (luaL_loadfile(L, lua_pushfstring(L, "./lua/%s.lua", file)) != LUA_OK &&
      luaL_loadfile(L, lua_pushfstring(L, "./lua/%s/init.lua", file)) != LUA_OK) return lua_error(L);
  lua_dump(L, keep, c, 0);
  snprintf(c->name, sizeof c->name, "%s", name);
  return 1;
}

static void use_chunks(lua_State *L) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchers");
  lua_pushcfunction(L, load_chunk);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
}

/* }}} */

/* What a process holds outside of Lua. */
struct level { long curl, curl_blocks; int descriptors; };

static struct level level_now(void) {
  return (struct level){ meter.curl, meter.curl_blocks, open_descriptors() };
}

static int same_level(const struct level *a, const struct level *b) {
  return a->curl == b->curl && a->curl_blocks == b->curl_blocks && a->descriptors == b->descriptors;
}

/* The level, once it is as before or will not come back: a name lookup that was cut short ends in a thread of its own. */
static struct level level_settled(const struct level *before) {
  struct level now = level_now();
  for (int i = 0; i < 5000 && !same_level(&now, before); i++) {
    usleep(1000);
    now = level_now();
  }
  return now;
}

static lua_State *open_turn(size_t i) {
  char chunk[sizeof PRELUDE + 2048];
  lua_State *L = state_open(meter_lua, NULL);
  use_chunks(L);
  snprintf(chunk, sizeof chunk, "%s\n%s", TURNS[i].prelude, TURNS[i].go);
  state_run(L, chunk, "=turn", provider.port);
  lua_settop(L, 0);
  return L;
}

/* Calls the function at `index`: 1 when it returned true. The error or message is on top otherwise. */
static int turn(lua_State *L, int index) {
  lua_pushvalue(L, index);
  if (lua_pcall(L, 0, 2, 0) != LUA_OK) return 0;
  return lua_toboolean(L, -2);
}

/* True when the value on top is what may come of a lack of memory. */
static int is_memory_error(lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING) return strstr(lua_tostring(L, -1), "not enough memory") != NULL;
  if (!lua_istable(L, -1)) return 0;
  lua_getfield(L, -1, "kind");
  const char *kind = lua_tostring(L, -1);
  lua_pop(L, 1);
  return kind != NULL && (strcmp(kind, "limit") == 0 || strcmp(kind, "connect") == 0);
}

/* Turn i while allocation n fails (and so many in all): 1 when the turn never got so far. */
static int round_of(size_t i, long n, long many, const struct level *before) {
  lua_State *L = open_turn(i);
  lua_getglobal(L, "again");
  lua_getglobal(L, "go");
  int failed = test_failed;
  meter_arm(n, many);
  int good = turn(L, 2);
  int reached = meter.asked >= n;
  meter_arm(0, 0);
  CHECK(good || (reached && is_memory_error(L)));
  if (test_failed > failed) fprintf(stderr, "  got %s\n", luaL_tolstring(L, -1, NULL));
  lua_settop(L, 2);
  CHECK(turn(L, 1));
  if (test_failed > failed) fprintf(stderr, "  then %s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  struct level after = level_settled(before);
  CHECK(meter.lua == 0 && meter.lua_blocks == 0 && meter.wrong == 0);
  CHECK(after.curl == before->curl && after.curl_blocks == before->curl_blocks);
  CHECK(after.descriptors == before->descriptors);
  if (test_failed > failed)
    fprintf(stderr, "  %s, allocation %ld%s: Lua holds %ld in %ld, libcurl %ld in %ld (before: %ld in %ld), "
            "%d descriptors (%d)\n", TURNS[i].name, n, many > 2 ? " and after" : many == 2 ? " and the next" : "", meter.lua, meter.lua_blocks,
            after.curl, after.curl_blocks, before->curl, before->curl_blocks, after.descriptors, before->descriptors);
  meter.lua = meter.lua_blocks = meter.wrong = 0;
  return !reached;
}

/* Every allocation of turn i. */
static void test_turn(size_t i, long many) {
  struct level before;
  long n = 1;
  lua_close(open_turn(i));
  before = level_now();
  CHECK(round_of(i, 1000000, many, &before));
  before = level_now();
  while (!round_of(i, n, many, &before) && test_failed < 20) n++;
  CHECK(n > 20);
  if (getenv("KOINE_VERBOSE") != NULL) printf("memory: %s: %ld allocations\n", TURNS[i].name, n - 1);
}

int main(void) {
  static const long MANY[] = { 1, 2, 1L << 30 }; /* one, that and Lua's second try, all from there on */
  alarm(300); /* a hang is a failure */
  CHECK(meter_curl() == 0);
  provider_start(&provider);
  for (size_t i = 0; i < sizeof TURNS / sizeof *TURNS && test_failed == 0; i++)
    for (size_t k = 0; k < sizeof MANY / sizeof *MANY; k++) test_turn(i, MANY[k]);
  provider_stop(&provider);
  curl_global_cleanup();
  return test_done("memory");
}
