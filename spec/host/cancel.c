/*
** cancel.c: a turn is cancelled before each of its events, in every way there is, with the rest of its answer missing.
** No socket stays open, no memory in use, no Lua value referenced; so too with a collector that never rests, and when
** the Lua state closes in the middle.
*/
#include <errno.h>

#include "support/meter.h"
#include "support/provider.h"
#include "support/state.h"
#include "support/test.h"

static struct provider provider;

static const char WATCH[] =
  "local base = ...\n"
  /* older than Koine, so finalised after it when the state closes */
  "late = setmetatable({}, { __gc = function(t) if t.stream then t.run(t.stream) end end })\n"
  "local koine, core, wait = require 'koine', require 'koine.core', require 'koine.task.wait'\n"
  "seen = setmetatable({}, { __mode = 'k' })\n"
  "local makers = { koine.anthropic, koine.compatible, koine.openai }\n"
  "function adapter(wire, what, retry)\n"
  "  local a = makers[wire] { model = 'some-model', key = 'a-secret-key', base_url = base .. what,\n"
  "    retry = retry or false }\n"
  "  seen[a] = true\n"
  "  return a\n"
  "end\n"
  /* for each delta of a turn, how many events it took; those that come with the very end are left out */
  "local events = {}\n"
  "for wire = 1, 3 do\n"
  "  local s, list = assert(adapter(wire, 'tool'):open 'Weather?'), { [0] = 0 }\n"
  "  while s:next() do list[#list + 1] = s:stats().events end\n"
  "  while list[#list] == s:stats().events do list[#list] = nil end\n"
  "  events[wire] = list\n"
  "end\n"
  "function deltas(wire) return #events[wire] end\n"
  /* what is left of the values that were watched */
  "function left()\n"
  "  local n = 0\n"
  "  for _ in pairs(seen) do n = n + 1 end\n"
  "  seen = setmetatable({}, { __mode = 'k' })\n" /* of the same size every time */
  "  return n\n"
  "end\n"
  /* moment -2: nothing was sent yet; -1: no answer yet; 0: its head is there; n: n deltas were read, and silence */
  "function what(wire, moment) return moment < 0 and 'mute/00' or ('tool/%02d'):format(events[wire][moment]) end\n"
  "local function reach(s, moment)\n"
  "  if moment == -1 then\n"
  "    while requests() == 0 do wait.pump(0.001) end\n"
  "  elseif moment == 0 then\n"
  "    while s:stats().bytes == 0 do wait.pump() end\n"
  "  end\n"
  "  for _ = 1, moment do assert(s:next()) end\n"
  "end\n"
  "function opened(wire, moment)\n"
  "  local a = adapter(wire, what(wire, moment))\n"
  "  local s = assert(a:open 'Weather?')\n"
  "  seen[s], seen[core.state(s)] = true, true\n"
  "  reach(s, moment)\n"
  "  return a, s\n"
  "end\n";

static const char CANCEL[] =
  "local core, wait = require 'koine.core', require 'koine.task.wait'\n"
  "local ways = {}\n"
  "function over(s)\n"
  "  for _ = 1, 2 do\n"
  "    local delta, err = s:next()\n"
  "    assert(delta == nil and err.kind == 'cancelled' and err:is 'CancelledError')\n"
  "    assert(select(2, s:response()) == err)\n"
  "    s:close()\n"
  "  end\n"
  "end\n"
  /* the deltas of the last event that came; then there is nothing, and no end */
  "local function rest(s)\n"
  "  local delta\n"
  "  repeat delta = s:poll() until not delta\n"
  "  assert(delta == false)\n"
  "end\n"
  "function ways.close(wire, moment)\n"
  "  local _, s = opened(wire, moment)\n"
  "  s:close()\n"
  "  over(s)\n"
  "end\n"
  "function ways.drop(wire, moment) opened(wire, moment) end\n"
  "function ways.scope(wire, moment)\n"
  "  local ok, err = pcall(function()\n"
  "    local _, s <close> = opened(wire, moment)\n"
  "    error('out', 0)\n"
  "  end)\n"
  "  assert(not ok and err == 'out')\n"
  "end\n"
  "function ways.loop(wire, moment)\n"
  "  if moment < 1 then return end\n"
  "  local n = 0\n"
  "  for delta in adapter(wire, what(wire, moment)):stream 'Weather?' do\n"
  "    n = n + 1\n"
  "    seen[delta] = true\n"
  "    if n == moment then break end\n"
  "  end\n"
  "end\n"
  "function ways.callback(wire, moment)\n"
  "  if moment < 1 then return end\n"
  "  local n, reason = 0, {}\n"
  "  seen[reason] = true\n"
  "  local a = adapter(wire, what(wire, moment))\n"
  "  local ok, err = pcall(a.chat, a, 'Weather?', { on_delta = function()\n"
  "    n = n + 1\n"
  "    if n == moment then error(reason) end\n"
  "  end })\n"
  "  assert(not ok and err == reason)\n"
  "end\n"
  "ways['adapter'] = function(wire, moment)\n"
  "  local a, s = opened(wire, moment)\n"
  "  a:close()\n"
  "  local ok, err = pcall(a.open, a, 'Weather?')\n"
  "  assert(not ok and err.kind == 'argument')\n"
  "  rest(s)\n"
  "  s:close()\n"
  "  over(s)\n"
  "end\n"
  "ways['adapter dropped'] = function(wire, moment)\n"
  "  local a, s = opened(wire, moment)\n"
  "  a:close()\n"
  "  a = nil\n"
  "  collectgarbage()\n"
  "  rest(s)\n"
  "end\n"
  "ways['coroutine dropped'] = function(wire, moment)\n"
  "  local co = coroutine.create(function()\n"
  "    local _, s <close> = opened(wire, moment)\n"
  "    coroutine.yield()\n"
  "  end)\n"
  "  seen[co] = true\n"
  "  assert(coroutine.resume(co))\n"
  "end\n"
  /* parked in a host: the coroutine waits for a delta that does not come */
  "function parked(wire, moment)\n"
  "  local co = coroutine.create(function()\n"
  "    local _, s <close> = opened(wire, moment)\n"
  "    wait.set_host { park = coroutine.yield, wake = function() end }\n"
  "    while s:next() do end\n"
  "    error 'woken'\n"
  "  end)\n"
  "  seen[co] = true\n"
  "  assert(coroutine.resume(co))\n"
  "  assert(coroutine.status(co) == 'suspended')\n"
  "  wait.set_host(nil)\n"
  "  return co\n"
  "end\n"
  "ways['parked coroutine'] = function(wire, moment) assert(coroutine.close(parked(wire, moment))) end\n"
  "ways['parked coroutine dropped'] = parked\n"
  "ways['between attempts'] = function(wire, moment)\n"
  "  if moment > 0 then return end\n"
  "  local co = coroutine.create(function()\n"
  "    local a = adapter(wire, 'so-busy', { max = 2 })\n"
  "    local s <close> = assert(a:open 'Weather?')\n"
  "    seen[s] = true\n"
  "    wait.set_host { park = function(token, seconds)\n"
  "      if seconds then coroutine.yield(seconds) end\n" /* it sleeps */
  "      return wait.block(token, seconds)\n"
  "    end, wake = function() end }\n"
  "    s:next()\n"
  "    error 'woken'\n"
  "  end)\n"
  "  seen[co] = true\n"
  "  local ok, seconds = coroutine.resume(co)\n"
  "  wait.set_host(nil)\n"
  "  assert(ok and seconds == 30)\n"
  "  if moment == 0 then assert(coroutine.close(co)) end\n"
  "end\n"
  /* a finaliser closes the stream while it is read */
  "function ways.finalizer(wire, moment)\n"
  "  local _, s = opened(wire, moment)\n"
  "  local closed\n"
  "  while not closed do\n"
  "    setmetatable({}, { __gc = function()\n"
  "      s:close()\n"
  "      closed = true\n"
  "    end })\n"
  "    s:poll()\n"
  "  end\n"
  "  over(s)\n"
  "end\n"
  "function cancel(way, wire, moment) ways[way](wire, moment) end\n";

/* The memory that the state keeps until it closes. */
static const char KEEP[] =
  "local core = require 'koine.core'\n"
  "function keep(wire, moment) kept = { opened(wire, moment) } end\n"
  "function keep_parked(wire, moment) kept = parked(wire, moment) end\n"
  "function keep_finalized(wire, moment)\n"
  "  kept = setmetatable({ opened(wire, moment) }, { __gc = function(t)\n"
  "    t[2]:close()\n"
  "    over(t[2])\n"
  "    finalized()\n"
  "  end })\n"
  "end\n"
  /* the stream, the adapter and the engine are finalised when this runs */
  "function keep_late(wire, moment)\n"
  "  late.stream = select(2, opened(wire, moment))\n"
  "  function late.run(s)\n"
  "    over(s)\n"
  "    local ok, err = pcall(function() return adapter(wire, 'text'):chat 'Hi' end)\n"
  "    assert(not ok and tostring(err):find 'closed')\n"
  "    finalized()\n"
  "  end\n"
  "end\n"
  "function keep_adapter_closed(wire, moment)\n"
  "  keep(wire, moment)\n"
  "  kept[1]:close()\n"
  "end\n"
  "function keep_result(wire)\n"
  "  local s = assert(adapter(wire, 'tool'):open 'Weather?')\n"
  "  assert(s:next())\n"
  "  kept = { s, assert(s:response()), (assert(adapter(wire, 'text'):chat 'Hi')) }\n"
  "end\n";

static const char *const WAYS[] = {
  "close", "drop", "scope", "loop", "callback", "adapter", "adapter dropped", "coroutine dropped", "parked coroutine",
  "parked coroutine dropped", "between attempts", "finalizer"
};
static const struct { const char *name; int finalizes; } KEEPS[] = {
  { "keep", 0 }, { "keep_parked", 0 }, { "keep_adapter_closed", 0 }, { "keep_result", 0 }, { "keep_finalized", 1 },
  { "keep_late", 1 }
};

#define COUNT(v) (sizeof (v) / sizeof *(v))

/* {{{ what a cancelled turn must not change */

struct level { long lua, lua_blocks, curl, curl_blocks; int descriptors; };

static struct level level_now(void) {
  return (struct level){ meter.lua, meter.lua_blocks, meter.curl, meter.curl_blocks, open_descriptors() };
}

static int same_level(const struct level *a, const struct level *b) {
  return a->lua == b->lua && a->lua_blocks == b->lua_blocks && a->curl == b->curl && a->curl_blocks == b->curl_blocks &&
         a->descriptors == b->descriptors;
}

static void print_level(const char *what, const struct level *l) {
  fprintf(stderr, "  %s: Lua %ld bytes in %ld blocks, libcurl %ld in %ld, %d descriptors\n", what, l->lua,
          l->lua_blocks, l->curl, l->curl_blocks, l->descriptors);
}

static void check_level(const struct level *before, const char *what, int wire, int moment) {
  struct level after = level_now();
  CHECK(same_level(&after, before));
  if (same_level(&after, before)) return;
  fprintf(stderr, "  %s, wire %d, moment %d\n", what, wire, moment);
  print_level("before", before);
  print_level("after", &after);
}

/* }}} */

/* {{{ Lua */

static int requests_before;

/* requests(): how many requests the provider has seen since the turn began. */
static int f_requests(lua_State *L) {
  lua_pushinteger(L, atomic_load(&provider.seen->requests) - requests_before);
  return 1;
}

static int finalized; /* a finaliser ran to its end */

static int f_finalized(lua_State *L) {
  (void)L;
  finalized = 1;
  return 0;
}

static void on_warning(void *ud, const char *text, int more) {
  (void)ud;
  fprintf(stderr, "%s%s", text, more ? "" : "\n");
}

static lua_State *open_state(void) {
  lua_State *L = state_open(meter_lua, NULL);
  lua_setwarnf(L, on_warning, NULL);
  lua_register(L, "requests", f_requests);
  lua_register(L, "finalized", f_finalized);
  state_run(L, WATCH, "=watch", provider.port);
  state_run(L, CANCEL, "=cancel", provider.port);
  state_run(L, KEEP, "=keep", provider.port);
  return L;
}

/* Calls a global function with (way,) wire and moment; in a coroutine, whose stack then goes too. */
static void call(lua_State *L, const char *function, const char *way, int wire, int moment) {
  lua_State *co = lua_newthread(L);
  requests_before = atomic_load(&provider.seen->requests);
  lua_getglobal(co, function);
  if (way != NULL) lua_pushstring(co, way);
  lua_pushinteger(co, wire);
  lua_pushinteger(co, moment);
  state_must(co, lua_pcall(co, way != NULL ? 3 : 2, 0, 0));
  lua_pop(L, 1);
}

static void collect(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT);
}

static void on_count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_gc(L, LUA_GCCOLLECT);
}

/* }}} */

/* One turn, cancelled. No value of it is left after two collections, and no connection. */
static void cancel(lua_State *L, const char *way, int wire, int moment) {
  call(L, "cancel", way, wire, moment);
  collect(L);
  CHECK(state_call(L, "left", 0) == 0);
  CHECK(provider_wait(&provider, 0));
  collect(L); /* what the check itself needed */
}

/* Every way at every moment in one state. The engine's own memory is there from the first times: a spare handle, and
** the last URL, of one length for all of a wire. */
static void test_ways(lua_State *L, int wire) {
  int last = (int)state_call(L, "deltas", wire);
  for (size_t w = 0; w < COUNT(WAYS); w++) {
    cancel(L, WAYS[w], wire, last);
    cancel(L, WAYS[w], wire, 0);
    cancel(L, WAYS[w], wire, last);
    struct level before = level_now();
    for (int moment = -2; moment <= last; moment++) {
      cancel(L, WAYS[w], wire, moment);
      check_level(&before, WAYS[w], wire, moment);
    }
  }
}

/* The same with a collector that has odd habits; `every`: a full collection after so many instructions, 0 = none. */
static void test_collector(int what, int pause, int every) {
  lua_State *L = open_state();
#if LUA_VERSION_NUM >= 505
  lua_gc(L, what);
  if (what == LUA_GCINC) lua_gc(L, LUA_GCPARAM, LUA_GCPSTEPMUL, 1000);
  if (pause > 0) lua_gc(L, LUA_GCPARAM, LUA_GCPPAUSE, 0);
#else
  if (what == LUA_GCGEN) lua_gc(L, LUA_GCGEN, 0, 0);
  else lua_gc(L, LUA_GCINC, pause, 1000, 0);
  if (pause > 0) lua_gc(L, LUA_GCSETPAUSE, 0);
#endif
  if (every > 0) lua_sethook(L, on_count, LUA_MASKCOUNT, every);
  for (size_t w = 0; w < COUNT(WAYS); w++)
    for (int moment = -2; moment <= 2; moment++)
      for (int wire = 1; wire <= 3; wire++) call(L, "cancel", WAYS[w], wire, moment);
  lua_sethook(L, NULL, 0, 0);
  collect(L);
  CHECK(state_call(L, "left", 0) == 0);
  CHECK(provider_wait(&provider, 0));
  lua_close(L);
}

/* The state closes with the turn alive. */
static void test_states(void) {
  struct level before;
  lua_close(open_state());
  before = level_now();
  for (size_t k = 0; k < COUNT(KEEPS); k++)
    for (int wire = 1; wire <= 3; wire++)
      for (int moment = -2, last = 0; moment <= last; moment++) {
        lua_State *L = open_state();
        last = (int)state_call(L, "deltas", wire);
        call(L, KEEPS[k].name, NULL, wire, moment);
        finalized = 0;
        lua_close(L);
        CHECK(finalized == KEEPS[k].finalizes);
        check_level(&before, KEEPS[k].name, wire, moment);
        CHECK(provider_wait(&provider, 0));
      }
}

int main(void) {
  alarm(200); /* a hang is a failure */
  CHECK(meter_curl() == 0);
  provider_start(&provider);
  test_states();
  lua_State *L = open_state();
  for (int wire = 1; wire <= 3; wire++) test_ways(L, wire);
  lua_close(L);
  test_collector(LUA_GCGEN, 0, 0);
  test_collector(LUA_GCINC, 1, 0);
  test_collector(LUA_GCINC, 0, 200);
  CHECK(meter.lua == 0 && meter.lua_blocks == 0 && meter.wrong == 0);
  provider_stop(&provider);
  curl_global_cleanup();
  return test_done("cancel");
}
