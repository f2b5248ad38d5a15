/*
** threads.c: eight threads, each with a Lua state of its own, chatting at once; and states, two hundred one after the
** other and then eight side by side in random order, closed while their streams are in flight and their tasks are
** parked, in every way that a host can get there. `make tsan` and `make valgrind` watch them.
*/
#include <errno.h>
#include <pthread.h>

#include "support/provider.h"
#include "support/state.h"
#include "support/test.h"

#define THREADS 8
#define CHATS 200
#define CYCLES 200
#define SLOTS 8
#define STEPS 400

static struct provider provider;
static pthread_barrier_t gate;

static const char CHUNK[] =
  STATE_ADAPTER
  "local function said(n)\n"
  "  local said = ''\n"
  "  for delta in adapter(n, 'text'):stream 'Hi' do said = said .. (delta.text or '') end\n"
  "  return said\n"
  "end\n"
  "local function answer(n) return assert(adapter(n, 'text'):chat 'Hi'):text() end\n"
  /* how many chats it made */
  "local ways = {}\n"
  "ways[0] = function(n) assert(answer(n) == '" PROVIDER_TEXT "') return 1 end\n"
  "ways[1] = function(n) assert(said(n) == '" PROVIDER_TEXT "') return 1 end\n"
  "ways[2] = function(n)\n"
  "  local a, b = koine.gather(function() return said(n) end, function() return answer(n + 1) end)\n"
  "  assert(a == '" PROVIDER_TEXT "' and b == a)\n"
  "  return 2\n"
  "end\n"
  "function chat(n) return ways[n % 3](n) end\n"
  /* a stream that goes no further, past its Kth delta */
  "local function stuck(n, k)\n"
  "  local stream = assert(adapter(n, k == 0 and 'mute' or 'text/4'):open 'Hi')\n"
  "  for _ = 1, k do assert(stream:next()) end\n"
  "  return stream\n"
  "end\n"
  "local function task(n, k)\n"
  "  local stream <close> = stuck(n, k)\n"
  "  while stream:next() do end\n"
  "end\n"
  /* tasks that wait for silent streams, for each other, for a time */
  "local function tasks(n)\n"
  "  for k = 0, 1 do koine.spawn(task, n, k) end\n"
  "  local sleeper = koine.spawn(koine.sleep, 1000)\n"
  "  koine.spawn(sleeper.wait, sleeper)\n"
  "  koine.spawn(koine.gather, function() task(n, 0) end, function() task(n + 1, 1) end)\n"
  "  koine.spawn(koine.timeout, 1000, task, n, 1)\n"
  "end\n"
  "local moments = {}\n"
  /* a stream without a reader; one in the middle; several, some of them closed */
  "moments[0] = function(n) return stuck(n, 0) end\n"
  "moments[1] = function(n) return stuck(n, 1) end\n"
  "moments[2] = function(n)\n"
  "  local streams = {}\n"
  "  for i = 1, 5 do streams[i] = stuck(n + i, i % 2) end\n"
  "  streams[3]:close()\n"
  "  streams[4] = nil\n"
  "  return streams\n"
  "end\n"
  /* a run that stands still because its main task yields to whoever resumed it */
  "moments[3] = function(n)\n"
  "  local thread = coroutine.create(koine.run)\n"
  "  assert(coroutine.resume(thread, function()\n"
  "    tasks(n)\n"
  "    local stream <close> = stuck(n, 1)\n"
  "    koine.sleep(0.001)\n"
  "    coroutine.yield()\n"
  "  end))\n"
  "  return thread\n"
  "end\n"
  /* a run inside a host's loop, parked there */
  "moments[4] = function(n)\n"
  "  local ready = {}\n"
  "  wait.set_host { park = function(token) return coroutine.yield(token) end,\n"
  "    wake = function(token) ready[token] = true end }\n"
  "  local thread = coroutine.create(koine.run)\n"
  "  assert(coroutine.resume(thread, tasks, n))\n"
  "  for _ = 1, 20 do\n"
  "    wait.pump(0.001)\n"
  "    if next(ready) then\n"
  "      ready = {}\n"
  "      assert(coroutine.resume(thread, true))\n"
  "    end\n"
  "  end\n"
  "  return thread\n"
  "end\n"
  /* a run that failed and closed its tasks */
  "moments[5] = function(n)\n"
  "  local stream\n"
  "  local ok, err = pcall(koine.run, function()\n"
  "    tasks(n)\n"
  "    stream = stuck(n, 1)\n"
  "    error 'on purpose'\n"
  "  end)\n"
  "  assert(not ok and tostring(err):find 'on purpose')\n"
  "  return stream\n"
  "end\n"
  /* from here on it waits as plain Lua does; its streams go on, without a reader */
  "function stop() wait.set_host(nil) end\n"
  "function start(n)\n"
  "  kept = nil\n"
  "  stop()\n"
  "  collectgarbage()\n"
  "  kept = moments[n % 6](n)\n"
  "  assert(type(kept) ~= 'thread' or coroutine.status(kept) == 'suspended')\n"
  "  assert(n % 6 == 5 or not tostring(core.engine()):find('(0 in flight)', 1, true))\n"
  "end\n";

static lua_State *open_state(void) { return state_with(CHUNK, "=threads", provider.port); }

/* One thread: the chats that came out right. They all begin at once, so that they meet while libcurl is started. */
static void *work(void *ud) {
  int *good = ud, n = *good;
  lua_State *L = open_state();
  *good = 0;
  pthread_barrier_wait(&gate);
  while (*good < CHATS) *good += (int)state_call(L, "chat", n++);
  lua_close(L);
  return NULL;
}

static void test_threads(void) {
  pthread_t thread[THREADS];
  int good[THREADS], descriptors = open_descriptors();
  pthread_barrier_init(&gate, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    good[i] = i;
    CHECK(pthread_create(&thread[i], NULL, work, &good[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    CHECK(good[i] >= CHATS);
  }
  pthread_barrier_destroy(&gate);
  CHECK(open_descriptors() == descriptors);
  CHECK(provider_wait(&provider, 0));
}

/* Opened, begun, closed. */
static void test_cycles(void) {
  int descriptors = open_descriptors();
  for (int i = 0; i < CYCLES; i++) {
    lua_State *L = open_state();
    state_call(L, "start", i);
    lua_close(L);
    CHECK(open_descriptors() == descriptors);
    CHECK(provider_wait(&provider, 0));
  }
}

/* The next of a fixed sequence of numbers below n. */
static int pick(unsigned *seed, int n) {
  *seed = *seed * 1103515245u + 12345u;
  return (int)((*seed >> 16) % (unsigned)n);
}

/* Side by side: each opens, begins something, drops it for something else, chats in between, is closed. */
static void test_random(void) {
  lua_State *L[SLOTS] = { NULL };
  unsigned seed = 1;
  int descriptors = open_descriptors();
  for (int k = 0; k < STEPS; k++) {
    int i = pick(&seed, SLOTS), what = pick(&seed, 4);
    if (L[i] == NULL) {
      L[i] = open_state();
    } else if (what == 0) {
      lua_close(L[i]);
      L[i] = NULL;
    } else if (what == 1) {
      state_call(L[i], "stop", 0);
      CHECK(state_call(L[i], "chat", k) > 0);
    } else {
      state_call(L[i], "start", pick(&seed, 6));
    }
  }
  for (int i = 0; i < SLOTS; i++)
    if (L[i] != NULL) lua_close(L[i]);
  CHECK(open_descriptors() == descriptors);
  CHECK(provider_wait(&provider, 0));
}

int main(void) {
  alarm(1200); /* a hang is a failure */
  provider_start(&provider);
  test_threads(); /* first: nothing has started libcurl */
  test_cycles();
  test_random();
  provider_stop(&provider);
  return test_done("threads");
}
