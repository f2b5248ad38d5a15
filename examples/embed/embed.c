/*
** embed.c: a C program with its own epoll loop runs a Lua script that chats. Build: make examples.
** Usage: embed SCRIPT [ARGUMENT...]; Lua finds Koine through LUA_PATH and LUA_CPATH. Exit status: 0, 1 after an error.
**
** The script runs as a coroutine; require("embed").spawn(f, ...) starts further ones. A Koine call that waits in one of
** them yields, and the loop continues. It watches Koine's descriptor and its own, a timer that prints a dot on stderr
** twice a second. The program passes park and wake to koine.set_host, calls koine.pump after each sleep, and sleeps at
** most for the engine's timeout.
**
** The program owns each struct task and frees it when its coroutine ends; until then the registry holds the coroutine.
** The first error ends the program, and closing the state closes every connection.
*/
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#ifdef KOINE_STATIC /* linked with libkoine.a: require reads no file of Koine's */
#include <koine.h>
#endif

struct task {
  lua_State *co;
  struct task *next;
  const void *token;  /* that it waits for; NULL = ready to run */
  double until;       /* time when its park ends, INFINITY without a limit */
  int anchor;         /* of the coroutine, in the registry */
  int arguments;      /* on the coroutine's stack, for the next resume */
};

struct host {
  lua_State *L;
  struct task *tasks; /* in order of creation */
  int epoll, ticker, koine;
  int pump, engine;   /* in the registry: koine.pump, koine.engine() */
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Returns the task of a coroutine; NULL for any other coroutine, such as a generator of the script. */
static struct task **task_of(lua_State *L) {
  return lua_getextraspace(L);
}

/* The functions that Lua calls have the host as upvalue. */

static void push_function(lua_State *L, lua_CFunction f, struct host *h) {
  lua_pushlightuserdata(L, h);
  lua_pushcclosure(L, f, 1);
}

static struct host *host_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* enter(token, seconds): true: the caller is parked and must yield; false: it is not a task, or cannot yield. */
static int f_enter(lua_State *L) {
  struct task *t = *task_of(L);
  int can = t != NULL && lua_isyieldable(L);
  if (can) {
    t->until = lua_isnoneornil(L, 2) ? INFINITY : now() + luaL_checknumber(L, 2);
    t->token = lua_topointer(L, 1); /* unique: the token lives as long as the task is parked */
  }
  lua_pushboolean(L, can);
  return 1;
}

/* Marks a parked task as ready; its park returns `woken`. */
static void ready(struct task *t, int woken) {
  t->token = NULL;
  lua_pushboolean(t->co, woken);
  t->arguments = 1;
}

/* wake(token): marks the tasks that wait for it as ready. A program with thousands of tasks should use a table. */
static int f_wake(lua_State *L) {
  const void *token = lua_topointer(L, 1);
  for (struct task *t = host_of(L)->tasks; t != NULL; t = t->next)
    if (t->token != NULL && t->token == token) ready(t, 1);
  return 0;
}

/* spawn(f, ...): runs f(...) as a coroutine, in the next round. */
static int f_spawn(lua_State *L) {
  struct task **last = &host_of(L)->tasks, *t;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_insert(L, 1);
  int n = lua_gettop(L) - 1;
  if (!lua_checkstack(co, n) || (t = calloc(1, sizeof *t)) == NULL) return luaL_error(L, "not enough memory");
  lua_xmove(L, co, n);
  *t = (struct task){ .co = co, .anchor = LUA_NOREF, .arguments = n - 1 };
  while (*last != NULL) last = &(*last)->next;
  *last = *task_of(co) = t;
  t->anchor = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

static void task_free(struct host *h, struct task *t) {
  struct task **p = &h->tasks;
  while (*p != t) p = &(*p)->next;
  *p = t->next;
  luaL_unref(h->L, LUA_REGISTRYINDEX, t->anchor);
  free(t);
}

/* Runs a task until it yields or ends. Raises its error, with the coroutine's traceback. */
static void task_run(struct host *h, struct task *t) {
  int results, arguments = t->arguments;
  t->arguments = 0;
  int status = lua_resume(t->co, h->L, arguments, &results);
  if (status == LUA_YIELD) {
    lua_pop(t->co, results);
    return;
  }
  if (status != LUA_OK) {
    lua_xmove(t->co, h->L, 1); /* the failed coroutine's stack may be full */
    luaL_traceback(h->L, t->co, luaL_tolstring(h->L, -1, NULL), 0);
    lua_resetthread(t->co); /* closes its to-be-closed variables */
  }
  task_free(h, t);
  if (status != LUA_OK) lua_error(h->L);
}

/* Runs every task that is ready or whose time is over. One that yields without parking runs again in the next round. */
static void run_tasks(struct host *h) {
  double time = now();
  for (struct task *t = h->tasks, *next; t != NULL; t = next) {
    next = t->next; /* tasks that it spawns run in the next round */
    if (t->token != NULL && t->until <= time) ready(t, 0);
    if (t->token == NULL) task_run(h, t);
  }
}

/* Returns the seconds that the loop may sleep while no descriptor is ready. */
static double max_sleep(struct host *h) {
  double until = INFINITY;
  lua_State *L = h->L;
  lua_rawgeti(L, LUA_REGISTRYINDEX, h->engine);
  lua_getfield(L, -1, "timeout");
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  if (!lua_isnil(L, -1)) until = now() + lua_tonumber(L, -1);
  lua_pop(L, 1);
  for (struct task *t = h->tasks; t != NULL; t = t->next) until = fmin(until, t->token == NULL ? 0 : t->until);
  return fmax(0, until - now());
}

/* Sleeps until a descriptor is ready or the time is over; at most a minute, in whole milliseconds, rounded up. */
static void sleep_until_ready(struct host *h) {
  struct epoll_event events[2];
  uint64_t ticks;
  int n = epoll_wait(h->epoll, events, 2, (int)ceil(fmin(max_sleep(h), 60) * 1e3));
  for (int i = 0; i < n; i++)
    if (events[i].data.fd == h->ticker && read(h->ticker, &ticks, sizeof ticks) > 0) fputc('.', stderr);
}

/* Runs until every task has ended. Raises the error of a task, and of the pump when the system fails. */
static void loop(struct host *h) {
  for (run_tasks(h); h->tasks != NULL; run_tasks(h)) {
    sleep_until_ready(h);
    lua_rawgeti(h->L, LUA_REGISTRYINDEX, h->pump);
    lua_pushinteger(h->L, 0);
    lua_call(h->L, 1, 0);
  }
}

static int watch(struct host *h, int fd) {
  struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };
  return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e);
}

static int open_descriptors(struct host *h) {
  struct itimerspec twice_a_second = { { 0, 500000000 }, { 0, 500000000 } };
  h->epoll = epoll_create1(EPOLL_CLOEXEC);
  h->ticker = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (h->epoll < 0 || h->ticker < 0 || timerfd_settime(h->ticker, 0, &twice_a_second, NULL) < 0) return -1;
  return watch(h, h->ticker) < 0 || watch(h, h->koine) < 0 ? -1 : 0;
}

static const char CONNECT[] =
  "local enter, wake, spawn = ...\n"
  "local koine = require 'koine'\n"
  "local function park(token, seconds)\n"
  "  if not enter(token, seconds) then return koine.block(token, seconds) end\n"
  "  local woken = coroutine.yield()\n" /* not a tail call: this frame holds the token */
  "  return woken\n"
  "end\n"
  "koine.set_host { park = park, wake = wake }\n"
  "package.loaded.embed = { spawn = spawn }\n"
  "return koine.engine(), koine.pump, koine.engine():pollfd()\n";

static void connect_koine(struct host *h) {
  lua_State *L = h->L;
  if (luaL_loadbuffer(L, CONNECT, sizeof CONNECT - 1, "=connect") != LUA_OK) lua_error(L);
  push_function(L, f_enter, h);
  push_function(L, f_wake, h);
  push_function(L, f_spawn, h);
  lua_call(L, 3, 3);
  h->koine = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  h->pump = luaL_ref(L, LUA_REGISTRYINDEX);
  h->engine = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* main(script's name, argument...): spawns the script with its arguments and runs the loop. */
static int f_main(lua_State *L) {
  struct host *h = host_of(L);
  luaL_openlibs(L);
#ifdef KOINE_STATIC
  koine_preload(L);
#endif
  connect_koine(h);
  if (open_descriptors(h) != 0) return luaL_error(L, "%s", strerror(errno));
  if (luaL_loadfile(L, lua_tostring(L, 1)) != LUA_OK) return lua_error(L);
  lua_replace(L, 1);
  push_function(L, f_spawn, h);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 0);
  loop(h);
  return 0;
}

int main(int argc, char **argv) {
  struct host h = { .L = luaL_newstate(), .epoll = -1, .ticker = -1 };
  if (h.L == NULL || argc < 2) {
    fputs("usage: embed SCRIPT [ARGUMENT...]\n", stderr);
    return 1;
  }
  *task_of(h.L) = NULL; /* new threads copy it */
  push_function(h.L, f_main, &h);
  luaL_checkstack(h.L, argc, NULL);
  for (int i = 1; i < argc; i++) lua_pushstring(h.L, argv[i]);
  int status = lua_pcall(h.L, argc - 1, 0, 0);
  if (status != LUA_OK) fprintf(stderr, "embed: %s\n", luaL_tolstring(h.L, -1, NULL));
  while (h.tasks != NULL) task_free(&h, h.tasks);
  lua_close(h.L);
  if (h.ticker >= 0) close(h.ticker);
  if (h.epoll >= 0) close(h.epoll);
  return status == LUA_OK ? 0 : 1;
}
