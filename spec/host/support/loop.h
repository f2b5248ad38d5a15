/*
** loop.h: a loop on poll(2), a program's own, that runs Lua scripts (see loop.lua) beside a timer of the program's. The
** program's poll, epoll_wait and nanosleep stand before libc's: who sleeps there while Lua runs stops the loop, and is
** counted. One loop at a time. What fails is a failed check, or ends the program.
*/
#ifndef KOINE_SPEC_HOST_SUPPORT_LOOP_H
#define KOINE_SPEC_HOST_SUPPORT_LOOP_H

#include <dlfcn.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "support/state.h"
#include "support/test.h"

#define LOOP_TICK 1000000 /* nanoseconds */

static struct {
  int ticker;
  long turns, ticks;   /* of the loop, of its timer */
  int engine;          /* Koine's descriptor */
  long sleeps;         /* calls that waited for the engine while Lua ran */
  double elsewhere;    /* seconds of those that waited for something else, such as the last moment of a process */
} loop;

static _Thread_local int loop_in_lua; /* libcurl has threads, which may sleep */

static inline double loop_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((visibility("default"))) int poll(struct pollfd *list, nfds_t n, int ms) {
  union { void *p; int (*f)(struct pollfd *, nfds_t, int); } libc = { dlsym(RTLD_NEXT, "poll") };
  double began = loop_now();
  int got = libc.f(list, n, ms);
  if (!loop_in_lua || ms == 0) return got;
  if (n == 0 || list[0].fd == loop.engine) loop.sleeps++;
  else loop.elsewhere += loop_now() - began;
  return got;
}

__attribute__((visibility("default"))) int epoll_wait(int fd, struct epoll_event *list, int n, int ms) {
  union { void *p; int (*f)(int, struct epoll_event *, int, int); } libc = { dlsym(RTLD_NEXT, "epoll_wait") };
  loop.sleeps += loop_in_lua && ms != 0;
  return libc.f(fd, list, n, ms);
}

__attribute__((visibility("default"))) int nanosleep(const struct timespec *wish, struct timespec *left) {
  union { void *p; int (*f)(const struct timespec *, struct timespec *); } libc = { dlsym(RTLD_NEXT, "nanosleep") };
  double began = loop_now();
  int got = libc.f(wish, left);
  if (loop_in_lua) loop.elsewhere += loop_now() - began;
  return got;
}

/* A state for the loop. */
static inline lua_State *loop_open(void) {
  struct itimerspec every = { { 0, LOOP_TICK }, { 0, LOOP_TICK } };
  struct mem m = mem_libc();
  lua_State *L = state_open(m.f, m.ud);
  state_must(L, luaL_dofile(L, "./spec/host/support/loop.lua"));
  lua_setglobal(L, "turn");
  lua_setglobal(L, "play");
  memset(&loop, 0, sizeof loop);
  loop.ticker = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  CHECK(loop.ticker >= 0 && timerfd_settime(loop.ticker, 0, &every, NULL) == 0);
  return L;
}

/* Begins a script, with the arguments; what it prints is the function `name` then. */
static inline void loop_play(lua_State *L, const char *name, const char *script, const char *const *arguments, int n) {
  lua_getglobal(L, "play");
  lua_pushstring(L, script);
  for (int i = 0; i < n; i++) lua_pushstring(L, arguments[i]);
  state_must(L, lua_pcall(L, n + 1, 1, 0));
  lua_setglobal(L, name);
}

/* What it printed: valid until the state is closed. */
static inline const char *loop_said(lua_State *L, const char *name) {
  lua_getglobal(L, name);
  state_must(L, lua_pcall(L, 0, 1, 0));
  return lua_tostring(L, -1);
}

/* Turns until all scripts have ended, `most` times at most: how many have not. */
static inline int loop_run(lua_State *L, long most) {
  for (int left = 1; loop.turns < most && left > 0; loop.turns++) {
    uint64_t ticks;
    lua_getglobal(L, "turn");
    loop_in_lua = 1;
    int status = lua_pcall(L, 0, 3, 0);
    loop_in_lua = 0;
    state_must(L, status);
    left = (int)lua_tointeger(L, -3);
    loop.engine = (int)lua_tointeger(L, -2);
    struct pollfd watched[2] = { { loop.engine, POLLIN, 0 }, { loop.ticker, POLLIN, 0 } };
    int ms = (int)lua_tointeger(L, -1);
    lua_pop(L, 3);
    if (left == 0) return 0;
    poll(watched, 2, ms);
    if (read(loop.ticker, &ticks, sizeof ticks) > 0) loop.ticks++;
  }
  return 1;
}

static inline void loop_close(lua_State *L) {
  lua_close(L);
  close(loop.ticker);
}

#endif
