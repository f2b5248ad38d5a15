/*
** rss.c: answers of a megabyte that are not kept: the collector sees them, and the process stays small though no one
** ever calls collectgarbage; so too with streams that are dropped unread.
*/
#include <errno.h>

#include "support/provider.h"
#include "support/state.h"
#include "support/test.h"

/* Megabytes. From Lua 5.5 on a step of the collector does not grow with the string that caused it: a loop of Lua alone
** that makes such strings takes five times as much as on 5.4. */
#if LUA_VERSION_NUM >= 505
#define RSS_MAX 300.0
#else
#define RSS_MAX 100.0
#endif

/* Under the sanitizer a megabyte costs the system ten times as much: a fifth of the answers shows the same. */
#ifdef __SANITIZE_ADDRESS__
#define SHARE 5
#else
#define SHARE 1
#endif

static struct provider provider;

/* The sanitizer keeps freed memory to watch over it: a little of it, or all would be kept. Other builds ignore this. */
const char *__asan_default_options(void);
__attribute__((visibility("default")))
const char *__asan_default_options(void) {
  return "quarantine_size_mb=8:malloc_context_size=4";
}

static const char CHUNK[] =
  "local base = ...\n"
  "local koine = require 'koine'\n"
  "local a = koine.anthropic { model = 'some-model', key = 'a-secret-key', base_url = base .. 'big', retry = false }\n"
  "function chat() assert(#assert(a:chat 'Hi'):text() == 1 << 20) end\n"
  "function stream() assert(assert(a:chat('Hi', { stream = true })).usage.output_tokens == 5) end\n"
  "function deltas() for d in a:stream 'Hi' do last = d end end\n"
  "local b = koine.custom_adapter { name = 'wrapper', options = { model = 'm' },\n"
  "  open = function(_, messages) return a:open(messages) end }\n"
  "function wrapped() assert(#assert(b:chat 'Hi'):text() == 1 << 20) end\n"
  "function drop() assert(assert(a:open 'Hi'):next()) end\n";

/* Megabytes of this process that are in memory. */
static double resident(void) {
  FILE *f = fopen("/proc/self/statm", "r");
  long pages = 0;
  CHECK(f != NULL && fscanf(f, "%*s %ld", &pages) == 1);
  if (f != NULL) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* Calls a function many times, in a state of its own; the process stays under RSS_MAX all the while. */
static void test_dropped(const char *function, int times) {
  lua_State *L = state_with(CHUNK, "=rss", provider.port);
  double most = 0;
  times /= SHARE;
  int descriptors = 0;
  for (int i = 1; i <= times; i++) {
    state_call(L, function, 0);
    if (i % 20 != 0) continue;
    double now = resident();
    int open = open_descriptors();
    if (now > most) most = now;
    if (open > descriptors) descriptors = open;
  }
  CHECK(most < RSS_MAX);
  CHECK(descriptors < 100);
  printf("rss: %d x %s: %.1f MB, %d descriptors at most\n", times, function, most, descriptors);
  lua_close(L);
}

int main(void) {
  alarm(200); /* a hang is a failure */
  provider_start(&provider);
  test_dropped("chat", 1000);
  test_dropped("stream", 500);
  test_dropped("deltas", 500);
  test_dropped("wrapped", 500);
  test_dropped("drop", 1000);
  provider_stop(&provider);
  return test_done("rss");
}
