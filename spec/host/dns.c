/*
** dns.c: a turn is cancelled while the name lookup hangs. Nothing waits for the lookup: not close, not the collector,
** not the end of the Lua state; and when the lookup ends at last, in its own thread, what it needs is still there.
*/
#include <errno.h>

#include "support/meter.h"
#include "support/provider.h"
#include "support/resolver.h"
#include "support/state.h"
#include "support/test.h"

static struct provider provider;

static const char CHUNK[] =
  "local base = ...\n"
  "local koine, core, wait = require 'koine', require 'koine.core', require 'koine.task.wait'\n"
  "local function adapter(url, timeout)\n"
  "  return koine.anthropic { model = 'some-model', key = 'a-secret-key', base_url = url, retry = false, proxy = '',\n"
  "    timeout = timeout }\n"
  "end\n"
  "local function hung()\n"
  "  local s = assert(adapter 'http://stub.test':open 'Hi')\n"
  "  while entered() == 0 do wait.pump(0.01) end\n"
  "  return s\n"
  "end\n"
  "local function kind(what, expected)\n"
  "  local ok, err = what()\n"
  "  assert(ok == nil and err.kind == expected, tostring(err))\n"
  "end\n"
  "function close()\n"
  "  local s = hung()\n"
  "  s:close()\n"
  "  kind(function() return s:next() end, 'cancelled')\n"
  "end\n"
  "function scope() local s <close> = hung() end\n"
  "function drop()\n"
  "  hung()\n"
  "  collectgarbage()\n"
  "  collectgarbage()\n"
  "end\n"
  "function keep() kept = hung() end\n"
  "function deadline()\n"
  "  kind(function() return adapter('http://stub.test', { total = 0.05 }):chat 'Hi' end, 'timeout')\n"
  "end\n"
  "function connect_deadline()\n"
  "  kind(function() return adapter('http://stub.test', { connect = 0.05 }):chat 'Hi' end, 'timeout')\n"
  "end\n"
  "function link()\n"
  "  local conn = assert(core.connect { host = 'stub.test', port = 80 })\n"
  "  while entered() == 0 do wait.pump(0.01) end\n"
  "  conn:close()\n"
  "end\n"
  "function link_deadline()\n"
  "  local connect = require 'koine.net.connect'\n"
  "  kind(function() return connect.open { host = 'stub.test', port = 80, timeout = 0.05 } end, 'timeout')\n"
  "end\n"
  "function others_go_on()\n"
  "  kept = hung()\n"
  "  assert(adapter(base .. 'text'):chat('Hi'):text() == '" PROVIDER_TEXT "')\n"
  "end\n"
  "function fails()\n"
  "  kind(function() return adapter 'http://stub.test':chat 'Hi' end, 'connect')\n"
  "end\n";

static const char *const CASES[] = { "close", "scope", "drop", "keep", "deadline", "connect_deadline", "link",
                                    "link_deadline", "others_go_on" };

#define COUNT(v) (sizeof (v) / sizeof *(v))

static lua_State *open_state(int module) {
  lua_State *L = state_open(meter_lua, NULL);
  lua_register(L, "entered", resolver_entered);
  if (module) { /* the module that was built, not the code in this program */
    state_must(L, luaL_dostring(L, "package.preload['koine.core'] = nil"));
    if (getenv("LUA_CPATH") == NULL) state_must(L, luaL_dostring(L, "package.cpath = './build/?.so'"));
  }
  state_run(L, CHUNK, "=dns", provider.port);
  return L;
}

/* Runs one case and closes the state; then the lookup ends. */
static void test_case(const char *name, int module) {
  lua_State *L = open_state(module);
  int returned = resolver.returned;
  lua_getglobal(L, name);
  state_must(L, lua_pcall(L, 0, 0, 0));
  for (int i = 0; i < 50000 && resolver.entered == returned; i++) usleep(200); /* a deadline may end before it begins */
  CHECK(resolver.entered == returned + 1 && resolver.returned == returned);
  lua_close(L);
  CHECK(resolver.returned == returned);
  CHECK(meter.lua == 0 && meter.lua_blocks == 0 && meter.wrong == 0);
  CHECK(resolver_finish());
  CHECK(resolver.returned == returned + 1);
}

/* The lookup gives its memory back when it has ended. */
static void test_cases(int module) {
  int descriptors;
  long curl, blocks;
  lua_close(open_state(module));
  test_case(CASES[0], module);
  descriptors = open_descriptors();
  curl = meter.curl;
  blocks = meter.curl_blocks;
  for (size_t i = 0; i < COUNT(CASES); i++) {
    test_case(CASES[i], module);
    CHECK(open_descriptors() == descriptors);
    CHECK(meter.curl == curl && meter.curl_blocks == blocks);
    if (meter.curl_blocks != blocks || open_descriptors() != descriptors)
      fprintf(stderr, "  %s: libcurl holds %ld bytes in %ld blocks (before: %ld in %ld), %d descriptors (%d)\n",
              CASES[i], meter.curl, meter.curl_blocks, curl, blocks, open_descriptors(), descriptors);
  }
}

/* The module stays loaded after its last state: a lookup's thread may return into it. */
static void test_pinned(void) {
  lua_State *L = open_state(1);
  state_must(L, luaL_dostring(L, "return assert(package.searchpath('koine.core', package.cpath))"));
  char *path = strdup(lua_tostring(L, -1));
  state_must(L, luaL_dostring(L, "keep()"));
  lua_close(L);
  void *module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  CHECK(module != NULL);
  if (module != NULL) dlclose(module);
  CHECK(resolver_finish());
  free(path);
}

/* A lookup that fails in time is an error like another: the stub is what libcurl calls. */
static void test_failure(void) {
  lua_State *L = open_state(0);
  resolver_gate(1);
  state_must(L, luaL_dostring(L, "fails()"));
  lua_close(L);
  CHECK(resolver.entered == 1 && resolver_finish());
}

int main(void) {
  alarm(60); /* a wait for the lookup would be one for ever */
  CHECK(meter_curl() == 0);
  provider_start(&provider);
  resolver_start();
  test_failure();
  test_cases(0);
  test_cases(1);
  test_pinned();
  provider_stop(&provider);
  curl_global_cleanup();
  return test_done("dns");
}
