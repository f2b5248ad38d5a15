/*
** states.c: many Lua states in one process, one after the other, side by side and on threads of their own: each has its
** engine, none knows of another, and closing one in the middle of its turns leaves nothing behind.
*/
#include <errno.h>
#include <pthread.h>

#include "support/provider.h"
#include "support/state.h"
#include "support/test.h"

#define STATES 50
#define THREADS 4
#define CHATS 50

static struct provider provider;

static const char CHUNK[] =
  STATE_ADAPTER
  /* a turn at one of several moments, kept alive */
  "function start(n)\n"
  "  local what = { 'mute', 'tool/0', 'text/5', 'text' }\n"
  "  local s = assert(adapter(n, what[n % 4 + 1]):open 'Weather?')\n"
  "  if n % 4 == 1 then wait.pump() end\n"
  "  if n % 4 >= 2 then assert(s:next()) end\n"
  "  kept = s\n"
  "end\n"
  "function chat(n)\n"
  "  local r = assert(adapter(n, 'text'):chat 'Hi')\n"
  "  assert(r:text() == '" PROVIDER_TEXT "' and r.usage.output_tokens == 5)\n"
  "  local said = ''\n"
  "  for delta in adapter(n, 'text'):stream 'Hi' do said = said .. (delta.text or '') end\n"
  "  assert(said == r:text())\n"
  "  return 1\n"
  "end\n";

static lua_State *open_state(void) { return state_with(CHUNK, "=states", provider.port); }

/* One after the other. */
static void test_in_turn(void) {
  int descriptors = open_descriptors();
  for (int i = 0; i < STATES; i++) {
    lua_State *L = open_state();
    state_call(L, "start", i);
    lua_close(L);
    CHECK(open_descriptors() == descriptors);
  }
  CHECK(provider_wait(&provider, 0));
}

/* Side by side, closed in an order that is not theirs; those that remain go on. */
static void test_side_by_side(void) {
  lua_State *L[STATES];
  int descriptors = open_descriptors();
  for (int i = 0; i < STATES; i++) {
    L[i] = open_state();
    state_call(L[i], "start", i);
  }
  for (int k = 0; k < STATES; k++) {
    int i = k * 7 % STATES, next = (k + 1) * 7 % STATES;
    lua_close(L[i]);
    if (k + 1 < STATES) CHECK(state_call(L[next], "chat", next) == 1);
  }
  CHECK(open_descriptors() == descriptors);
  CHECK(provider_wait(&provider, 0));
}

static void *work(void *ud) {
  int *good = ud;
  lua_State *L = open_state();
  state_call(L, "start", *good);
  int n = *good;
  *good = 0;
  for (int i = 0; i < CHATS; i++) *good += (int)state_call(L, "chat", i + n);
  lua_close(L);
  return NULL;
}

/* A state per thread. */
static void test_threads(void) {
  pthread_t thread[THREADS];
  int good[THREADS], descriptors = open_descriptors();
  for (int i = 0; i < THREADS; i++) {
    good[i] = i;
    CHECK(pthread_create(&thread[i], NULL, work, &good[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    CHECK(good[i] == CHATS);
  }
  CHECK(open_descriptors() == descriptors);
  CHECK(provider_wait(&provider, 0));
}

static void *visit(void *ud) {
  for (int i = 0; i < 3; i++) state_call(ud, "chat", i);
  return NULL;
}

/* One state that several threads use, one at a time. */
static void test_handed_on(void) {
  lua_State *L = open_state();
  state_call(L, "start", 2);
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, visit, L) == 0);
    pthread_join(thread, NULL);
    CHECK(state_call(L, "chat", i) == 1);
  }
  lua_close(L);
  CHECK(provider_wait(&provider, 0));
}

int main(void) {
  alarm(100); /* a hang is a failure */
  provider_start(&provider);
  test_threads(); /* first: the threads meet while libcurl is started */
  test_in_turn();
  test_side_by_side();
  test_handed_on();
  provider_stop(&provider);
  return test_done("states");
}
