/*
** fork.c: what a child made by fork, without exec, shares with its parent. Koine is loaded and used in the parent, as by a
** server that forks its workers. The child works on connections of its own, whatever it closes or collects ends nothing of
** the parent's, and what it got from the parent fails there with an error that says so.
*/
#include <errno.h>

#include "support/provider.h"
#include "support/state.h"
#include "support/test.h"

static struct provider provider;

static const char CHUNK[] =
  STATE_ADAPTER
  "local a = adapter(0, 'text')\n"
  "local calm = adapter(0, 'text/3')\n"
  "local big = adapter(0, 'big')\n"
  "local process = require 'koine.system.process'\n"
  "local connect = require 'koine.net.connect'\n"
  "local port = math.tointeger(tonumber(base:match ':(%d+)'))\n"
  "function ask() return assert(a:chat 'Hi'):text() == 'Hello, h\\xC3\\xA9llo!' and 1 or 0 end\n"
  "function pollfd() return koine.engine():pollfd() end\n"
  /* everything that the parent may have under way */
  "function begin()\n"
  "  stream = assert(big:open 'Hi')\n"
  "  assert(stream:next())\n"
  "  silent = assert(calm:open 'Hi')\n"
  "  for _ = 1, 2 do assert(silent:next()) end\n"
  "  cat = assert(process.open { 'cat' })\n"
  "  assert(cat:write 'one\\n')\n"
  "  assert(cat:line() == 'one')\n"
  "  line = assert(connect.open { host = '127.0.0.1', port = port })\n"
  "end\n"
  /* and what becomes of it there */
  "function finish()\n"
  "  assert(cat:write 'two\\n')\n"
  "  assert(cat:line() == 'two')\n"
  "  assert(#assert(stream:response()):text() == 1 << 20)\n"
  "  assert(line:write 'POST /text/ HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\n{}')\n"
  "  assert(assert(line:line()):find '^HTTP/1.1 200')\n"
  "  return koine.timeout(0.2, function() return silent:response() end) == nil and 1 or 0\n"
  "end\n"
  /* the child: how each of them fails */
  "local function says(value, err)\n"
  "  assert(value == nil and err.class == 'CancelledError', tostring(err))\n"
  "  assert(tostring(err):find('the process that this one was forked from', 1, true), tostring(err))\n"
  "end\n"
  "function inherited(which)\n"
  "  local tries = {\n"
  "    function() says(silent:response()) end,\n"
  "    function() says(stream:response()) end,\n"
  "    function() says(cat:line()) end,\n"
  "    function() says(cat:write 'three\\n') end,\n"
  "    function() says(cat:result()) end,\n"
  "    function() says(line:write 'x') end,\n"
  "    function() says(line:line()) end\n"
  "  }\n"
  "  tries[which]()\n"
  "  return #tries\n"
  "end\n"
  /* a fork in the middle of a run: what waits in the child is told */
  "function fork_within()\n"
  "  return koine.run(function()\n"
  "    local waits = koine.spawn(function() return silent:response() end)\n"
  "    local calls = koine.spawn(function() return a:chat 'Hi' end)\n"
  "    koine.sleep(0)\n"
  "    if not fork() then return 0 end\n"
  "    says(waits:wait())\n"
  "    local answer, err = calls:wait()\n"
  "    if not answer then says(nil, err) end\n"
  "    return 1\n"
  "  end)\n"
  "end\n"
  /* the same, where a host's waiters step the engine themselves while others are not told yet */
  "function fork_with_host()\n"
  "  local waiting, told = {}, 0\n"
  "  koine.set_host { park = function(token) waiting[token] = coroutine.running() return coroutine.yield() end,\n"
  "    wake = function(token)\n"
  "      local co = waiting[token]\n"
  "      waiting[token] = nil\n"
  "      if co then assert(coroutine.resume(co, true)) end\n"
  "    end }\n"
  "  for _ = 1, 4 do coroutine.wrap(function()\n"
  "    says(assert(big:open 'Hi'):response())\n"
  "    told = told + 1\n"
  "    for _, token in ipairs((koine.engine():step(0))) do koine.wake(token) end\n"
  "  end)() end\n"
  "  if not fork() then return 0 end\n"
  "  while koine.engine():timeout() do koine.pump(0) end\n"
  "  koine.set_host(nil)\n"
  "  return told == 4 and 1 or 0\n"
  "end\n"
  "function close(how)\n"
  "  if how == 0 then silent:close() stream:close() cat:close() line:close()\n"
  "  else silent, stream, cat, line = nil collectgarbage() collectgarbage() end\n"
  "end\n";

enum child { CHILD_ASKS, CHILD_CLOSES, CHILD_COLLECTS, CHILD_ENDS, CHILD_READS };

/* The child: 0 when all is as it should be. */
static int live(lua_State *L, enum child what, int which) {
  alarm(60);
  test_failed = 0;
  switch (what) {
    case CHILD_ASKS: break;
    case CHILD_CLOSES: case CHILD_COLLECTS: state_call(L, "close", what == CHILD_COLLECTS); break;
    case CHILD_READS: state_call(L, "inherited", which); break;
    case CHILD_ENDS:
      lua_close(L);
      return 0;
  }
  CHECK(state_call(L, "ask", 0) == 1);
  CHECK(state_call(L, "ask", 0) == 1);
  lua_close(L);
  return test_failed;
}

/* Forks, and waits for the child's end: true when it ended well. */
static int child(lua_State *L, enum child what, int which) {
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) _exit(live(L, what, which));
  waitpid(pid, &status, 0);
  if (status != 0) fprintf(stderr, "  child %d, %d: status %x\n", (int)what, which, (unsigned)status);
  return pid > 0 && status == 0;
}

/* A child that only loaded Koine, and one whose parent has a connection left: each has its own. */
static void test_workers(void) {
  lua_State *L = state_with(CHUNK, "=fork", provider.port);
  CHECK(child(L, CHILD_ASKS, 0));
  CHECK(state_call(L, "ask", 0) == 1);
  int opened = atomic_load(&provider.seen->opened), fd = (int)state_call(L, "pollfd", 0);
  CHECK(child(L, CHILD_ASKS, 0));
  CHECK(atomic_load(&provider.seen->opened) == opened + 1);
  CHECK(state_call(L, "ask", 0) == 1); /* on the connection that it had */
  CHECK(atomic_load(&provider.seen->opened) == opened + 1);
  CHECK(state_call(L, "pollfd", 0) == fd);
  lua_close(L);
  CHECK(provider_wait(&provider, 0));
}

static pid_t within;

/* fork(): true in the child. The parent waits for its end, and has its run end with an error. */
static int f_fork(lua_State *L) {
  int status = -1;
  if ((within = fork()) == 0) {
    alarm(60);
    lua_pushboolean(L, 1);
    return 1;
  }
  waitpid(within, &status, 0);
  CHECK(status == 0);
  return luaL_error(L, "enough");
}

static void test_fork_within_run(void) {
  lua_State *L = state_with(CHUNK, "=fork", provider.port);
  lua_register(L, "fork", f_fork);
  state_call(L, "begin", 0);
  lua_getglobal(L, "fork_within");
  int status = lua_pcall(L, 0, 1, 0);
  if (within == 0) {
    if (status != LUA_OK) fprintf(stderr, "  child: %s\n", luaL_tolstring(L, -1, NULL));
    _exit(status != LUA_OK || lua_tointeger(L, -1) != 1 || state_call(L, "ask", 0) != 1);
  }
  CHECK(status == LUA_ERRRUN && strstr(lua_tostring(L, -1), "enough") != NULL);
  lua_pop(L, 1);
  CHECK(state_call(L, "finish", 0) == 1);
  lua_close(L);
}

static void test_fork_with_host(void) {
  lua_State *L = state_with(CHUNK, "=fork", provider.port);
  lua_register(L, "fork", f_fork);
  lua_getglobal(L, "fork_with_host");
  int status = lua_pcall(L, 0, 1, 0);
  if (within == 0) {
    if (status != LUA_OK) fprintf(stderr, "  child: %s\n", luaL_tolstring(L, -1, NULL));
    _exit(status != LUA_OK || lua_tointeger(L, -1) != 1);
  }
  CHECK(status == LUA_ERRRUN && strstr(lua_tostring(L, -1), "enough") != NULL);
  lua_close(L);
}

/* A parent that ends first: its connections close though the child lives. */
static void test_end_of_parent(void) {
  int gate[2], done[2];
  char byte;
  CHECK(pipe(gate) == 0 && pipe(done) == 0);
  lua_State *L = state_with(CHUNK, "=fork", provider.port);
  CHECK(state_call(L, "ask", 0) == 1);
  pid_t pid = fork();
  if (pid == 0) {
    close(gate[1]);
    int r = live(L, CHILD_ASKS, 0);
    if (r == 0 && write(done[1], "x", 1) == 1) r = read(gate[0], &byte, 1) != 0;
    _exit(r);
  }
  CHECK(read(done[0], &byte, 1) == 1);
  lua_close(L);
  CHECK(provider_wait(&provider, 0)); /* the child has not kept a copy open */
  close(gate[1]), close(gate[0]), close(done[0]), close(done[1]);
  int status = -1;
  waitpid(pid, &status, 0);
  CHECK(status == 0);
}

/* Whatever a child does, the parent's work goes on. */
static void test_work_under_way(enum child what, int which) {
  lua_State *L = state_with(CHUNK, "=fork", provider.port);
  state_call(L, "begin", 0);
  CHECK(child(L, what, which));
  CHECK(state_call(L, "finish", 0) == 1);
  lua_close(L);
  CHECK(provider_wait(&provider, 0));
}

int main(void) {
  alarm(300); /* a hang is a failure */
  provider_start(&provider);
  int own = open_descriptors();
  test_workers();
  test_end_of_parent();
  test_work_under_way(CHILD_ASKS, 0);
  test_work_under_way(CHILD_CLOSES, 0);
  test_work_under_way(CHILD_COLLECTS, 0);
  test_work_under_way(CHILD_ENDS, 0);
  for (int i = 1; i <= 7; i++) test_work_under_way(CHILD_READS, i);
  test_fork_within_run();
  test_fork_with_host();
  CHECK(open_descriptors() == own);
  provider_stop(&provider);
  return test_done("fork");
}
