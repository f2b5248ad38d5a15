/*
** dns_task.c: a task of koine.run ends while the name lookup of its call hangs: by task:cancel, by koine.timeout, by a
** failure beside it in koine.gather. None of them waits for the lookup, and other tasks go on meanwhile.
*/
#include <errno.h>

#include "support/resolver.h"
#include "support/state.h"
#include "support/test.h"

static const char CHUNK[] =
  "local koine = require 'koine'\n"
  "local function chat()\n"
  "  return koine.anthropic { model = 'm', key = 'k', base_url = 'http://stub.test', retry = false, proxy = '' }\n"
  "    :chat 'Hi'\n"
  "end\n"
  "local function hung()\n"
  "  while entered() == 0 do koine.sleep(0.001) end\n"
  "end\n"
  "local function kind(r, err, expected)\n"
  "  assert(r == nil and err.kind == expected, tostring(err))\n"
  "end\n"
  "function cancel()\n"
  "  local task, turns = koine.spawn(chat), 0\n"
  "  hung()\n"
  "  koine.gather(function()\n"
  "    for _ = 1, 3 do\n"
  "      koine.sleep(0.001)\n"
  "      turns = turns + 1\n"
  "    end\n"
  "  end)\n"
  "  assert(turns == 3 and task:cancel())\n"
  "  local r, err = task:wait()\n"
  "  kind(r, err, 'cancelled')\n"
  "end\n"
  "function timeout()\n"
  "  local r, err = koine.timeout(0.05, chat)\n"
  "  kind(r, err, 'timeout')\n"
  "end\n"
  "function gather()\n"
  "  local ok, err = pcall(koine.gather, chat, function()\n"
  "    hung()\n"
  "    error('out', 0)\n"
  "  end)\n"
  "  assert(not ok and err == 'out', tostring(err))\n"
  "end\n"
  "function run(name) koine.run(_G[name]) end\n";

/* Runs one case in koine.run and closes the state; then the lookup ends. */
static void test_case(const char *name) {
  struct mem m = mem_libc();
  lua_State *L = state_open(m.f, m.ud);
  int returned = resolver.returned;
  lua_register(L, "entered", resolver_entered);
  state_must(L, luaL_loadbuffer(L, CHUNK, sizeof CHUNK - 1, "=dns_task"));
  state_must(L, lua_pcall(L, 0, 0, 0));
  lua_getglobal(L, "run");
  lua_pushstring(L, name);
  state_must(L, lua_pcall(L, 1, 0, 0));
  CHECK(resolver.returned == returned);
  lua_close(L);
  CHECK(resolver.returned == returned);
  CHECK(resolver_finish());
}

int main(void) {
  alarm(60); /* a wait for the lookup would be one for ever */
  resolver_start();
  test_case("cancel");
  test_case("timeout");
  test_case("gather");
  return test_done("dns_task");
}
