/*
** services.h: a process that serves what turns call beside the provider: GitHub with Copilot (koine.testing's) and an
** executor. Its Lua is services.lua; it ends with this process.
*/
#ifndef KOINE_SPEC_HOST_SUPPORT_SERVICES_H
#define KOINE_SPEC_HOST_SUPPORT_SERVICES_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/state.h"

struct services { pid_t pid; int port, executor_port, redis_port; };

/* The child: tells its ports on `out`, and serves. */
static void services_child(const char *folder, int out) {
  struct mem m = mem_libc();
  lua_State *L = state_open(m.f, m.ud);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(out, STDOUT_FILENO);
  state_must(L, luaL_loadfile(L, "./spec/host/support/services.lua"));
  lua_pushstring(L, folder);
  state_must(L, lua_pcall(L, 1, 0, 0));
  _exit(0);
}

/* Starts the process, before any thread; the executor's directory is `folder`. 0, or -1. */
static inline int services_start(struct services *s, const char *folder) {
  int line[2];
  char text[64] = "";
  if (pipe(line) != 0 || (s->pid = fork()) < 0) return -1;
  if (s->pid == 0) {
    close(line[0]);
    services_child(folder, line[1]);
  }
  close(line[1]);
  ssize_t n = read(line[0], text, sizeof text - 1);
  close(line[0]);
  return n > 0 && sscanf(text, "%d %d %d", &s->port, &s->executor_port, &s->redis_port) == 3 ? 0 : -1;
}

static inline void services_stop(struct services *s) {
  kill(s->pid, SIGKILL);
  waitpid(s->pid, NULL, 0);
}

#endif
