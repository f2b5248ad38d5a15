/*
** test.h: what the tests of programs share: one run with its engine and counted memory, and what commands tell
** in files of the directory `dir`.
*/
#ifndef KOINE_SPEC_C_PROCESS_TEST_H
#define KOINE_SPEC_C_PROCESS_TEST_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process/process.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/test.h"

#define LONGEST 300 /* seconds of a test */

static const char *self; /* this program */
static char dir[FOLDER_MAX];

static inline struct process_spec spec(const char *const *argv) {
  return (struct process_spec){ .argv = argv, .grace = 60, .timeout = 60, .output_max = 1 << 20 };
}

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define SH(script) ARGV("/bin/sh", "-c", script)

/* One process, its engine, and counted memory. */
struct run {
  struct failing f;
  struct mem m;
  struct engine *g;
  struct process *p;
  struct process_result r;
  struct err e;
};

static inline int start(struct run *x, const struct process_spec *s) {
  memset(x, 0, sizeof *x);
  x->m = failing_mem(&x->f);
  err_clear(&x->e);
  x->g = engine_new(&x->m, &x->e);
  x->p = process_start(x->g, s, x, &x->e);
  return x->p != NULL;
}

/* Until it is over: 0, or -1 and x->e. */
static inline int finish(struct run *x) {
  const struct err *failure = NULL;
  struct err e;
  int interrupted;
  while (!process_done(x->p, &failure)) engine_step(x->g, -1, -1, &interrupted, &e);
  const struct news *ready = pollset_ready(engine_pollset(x->g));
  CHECK(ready != NULL && ready->owner == x && pollset_ready(engine_pollset(x->g)) == NULL);
  process_result(x->p, &x->r);
  if (failure != NULL) x->e = *failure;
  return failure != NULL ? -1 : 0;
}

static inline void drop(struct run *x) {
  process_close(x->p);
  engine_free(x->g);
  CHECK(x->f.live == 0 && x->f.wrong == 0);
}

/* A whole run: the exit code is `code`, and standard output is `text`. */
static inline void gives(const struct process_spec *s, int code, const char *text) {
  struct run x;
  CHECK(start(&x, s) && finish(&x) == 0);
  CHECK(x.r.code == code && x.r.signal == 0 && !x.r.timed_out && x.r.left == 0);
  CHECK_STR(x.r.output[0].p, x.r.output[0].n, text);
  drop(&x);
}

static inline void fails(const struct process_spec *s, const char *code, const char *words) {
  struct run x;
  CHECK(start(&x, s) && finish(&x) < 0 && x.e.kind == KIND_OTHER);
  CHECK_STR(x.e.code, strlen(x.e.code), code);
  CHECK(strstr(x.e.message, words) != NULL);
  if (strstr(x.e.message, words) == NULL) fprintf(stderr, "  %s\n", x.e.message);
  drop(&x);
}

/* The number that a command has written to the file `name`; waits for it. */
static inline int told(const char *name) {
  char path[100];
  int pid = 0;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  while (pid == 0) {
    FILE *f = fopen(path, "r");
    char c = 0;
    if (f == NULL || fscanf(f, "%d%c", &pid, &c) != 2 || c != '\n') pid = 0;
    if (f != NULL) fclose(f);
    if (pid == 0) usleep(1000);
  }
  unlink(path);
  return pid;
}

/* No command has told anything yet. */
static inline void forget(void) {
  static const char *const names[] = { "parent", "child", "holder" };
  char path[100];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    unlink(path);
  }
}

/* In a process of its own, for what cannot be undone: f returns 0, or -1 where the system forbids it. */
static inline void apart(const char *what, int (*f)(void)) {
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) _exit(f() < 0 ? 77 : test_failed > 0);
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) fprintf(stderr, "%s: not allowed here\n", what);
  else CHECK(WEXITSTATUS(status) == 0);
}

/* Gives this process mounts of its own: 0, or -1. */
static inline int own_mounts(void) {
  return unshare(CLONE_NEWNS) < 0 ? -1 : mount("", "/", "", MS_REC | MS_PRIVATE, NULL);
}

static inline int gone(int pid) {
  return kill(pid, 0) < 0 && errno == ESRCH;
}

/* Gone, or dead until whoever inherited it asks for its status: the first process of a machine may take its time. */
static inline int dead(int pid) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *f = fopen(path, "r");
  if (f == NULL) return gone(pid);
  int r = fscanf(f, "%*d (%*[^)]) %c", &state);
  fclose(f);
  return r != 1 ? gone(pid) : state == 'Z' || state == 'X';
}

/* The directory, and this program's own path: 0, or -1. A test that hangs is ended. */
static inline int begin(void) {
  static char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n < 0 || folder_new(dir) < 0) return -1;
  self = path;
  alarm(LONGEST);
  return 0;
}

#endif
