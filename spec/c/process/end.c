/*
** end.c: how programs end and what is left of them, also of those that stop, trace, limit or blind their
** supervisor. `process_end hold` and `process_end trace` are commands of the test.
*/
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "core/process/private.h"
#include "test.h"

/* {{{ the end */

#define STUBBORN "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ > child; exec sleep 1000' &); " \
                 "echo $$ > parent; while :; do sleep 1000; done"

static void test_timeout(void) {
  struct run x;
  struct process_spec s = spec(SH(STUBBORN));
  s.cwd = dir;
  s.timeout = 0.001;
  s.grace = 0;
  CHECK(start(&x, &s) && finish(&x) == 0 && x.r.timed_out && x.r.code == -1);
  drop(&x);
  forget();
  s.timeout = 0;
  s.argv = SH("sleep 0.05");
  gives(&s, 0, "");
}

static void test_stop(void) {
  struct run x;
  struct process_spec s = spec(SH("trap 'echo bye; exit 3' TERM; echo $$ > parent; while :; do sleep 0.01; done"));
  s.cwd = dir;
  CHECK(start(&x, &s));
  told("parent");
  process_stop(x.p);
  process_stop(x.p);
  int r = finish(&x);
  CHECK(r == 0 && x.r.code == 3 && !x.r.timed_out);
  if (r < 0) fprintf(stderr, "  %s\n", x.e.message);
  if (x.r.code != 3) fprintf(stderr, "  code %d signal %d\n", x.r.code, x.r.signal);
  CHECK_STR(x.r.output[0].p, x.r.output[0].n, "bye\n");
  process_stop(x.p);
  drop(&x);
}

static void test_close(void) {
  struct run x;
  struct process_spec s = spec(SH(STUBBORN));
  s.cwd = dir;
  CHECK(start(&x, &s));
  int parent = told("parent"), child = told("child");
  drop(&x);
  CHECK(gone(parent) && gone(child));
  CHECK(start(&x, &s)); /* at any time, also before it runs */
  drop(&x);
  forget();
  process_close(NULL);
}

/* The engine goes first: the end begins without process_close, which waits for it. */
static void test_engine_gone(void) {
  struct run x;
  const struct err *failure = NULL;
  struct process_spec s = spec(SH(STUBBORN));
  s.cwd = dir;
  CHECK(start(&x, &s) && !process_done(x.p, &failure));
  int parent = told("parent"), child = told("child");
  engine_free(x.g);
  x.g = NULL;
  CHECK(process_done(x.p, &failure) && failure != NULL && failure->kind == KIND_CANCELLED);
  while (!dead(child)) usleep(1000);
  process_stop(x.p);
  drop(&x);
  CHECK(gone(parent));
  s.argv = SH("echo all; exit 4");
  CHECK(start(&x, &s) && finish(&x) == 0);
  engine_free(x.g);
  x.g = NULL;
  CHECK(process_done(x.p, &failure) && failure == NULL);
  process_result(x.p, &x.r);
  CHECK(x.r.code == 4);
  CHECK_STR(x.r.output[PROCESS_OUT].p, x.r.output[PROCESS_OUT].n, "all\n");
  drop(&x);
}

/* The host dies, and another process of its has inherited its end of the socket. */
static void test_host_killed(void) {
  pid_t host = fork();
  if (host == 0) {
    struct run x;
    struct process_spec s = spec(SH(STUBBORN));
    s.cwd = dir;
    s.grace = 0.05;
    if (!start(&x, &s)) _exit(1);
    pid_t holder = fork(); /* holds on to everything the host has */
    char path[100];
    snprintf(path, sizeof path, "%s/holder", dir);
    FILE *f = holder > 0 ? fopen(path, "w") : NULL;
    if (f != NULL && fprintf(f, "%d\n", (int)holder) > 0) fclose(f);
    for (;;) pause();
  }
  int holder = told("holder"), parent = told("parent"), child = told("child");
  kill(host, SIGKILL);
  while (!dead(parent) || !dead(child)) usleep(1000);
  CHECK(waitpid(host, NULL, 0) == host && kill(holder, SIGKILL) == 0);
}

/* Somebody kills the supervisor: that is told, and the command dies with it; other processes are not found. */
static void test_supervisor_killed(void) {
  struct run x;
  struct process_spec s = spec(SH("echo $PPID > parent; echo $$ > child; exec sleep 1000"));
  s.cwd = dir;
  CHECK(start(&x, &s));
  int supervisor = told("parent"), command = told("child");
  kill(supervisor, SIGKILL);
  CHECK(finish(&x) < 0 && x.e.kind == KIND_OTHER && strstr(x.e.message, "supervisor was killed; what it") != NULL);
  while (!dead(command)) usleep(1000);
  drop(&x);
}

/* }}} */

/* {{{ commands that will not be supervised */

/* Writes this process's number to the file `name`. */
static void tell(const char *name) {
  FILE *f = fopen(name, "w");
  if (f != NULL && fprintf(f, "%d\n", (int)getpid()) > 0) fclose(f);
}

/* Stops the supervisor again and again. */
static int hold(void) {
  pid_t parent = getppid();
  kill(parent, SIGSTOP);
  tell("child");
  while (kill(parent, SIGSTOP) == 0) continue;
  return 1;
}

/* Stops pid as a tracer does: 0, or 1 when that is forbidden. */
static int trace(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0) return 1;
  if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0 || waitpid(pid, NULL, __WALL) != pid) return 2;
  tell("child");
  pause();
  return 3;
}

/* A supervisor that is stopped goes on by itself. */
static void test_stopped(void) {
  struct process_spec s = spec(SH("kill -STOP $PPID; echo hi"));
  gives(&s, 0, "hi\n");
  s.timeout = 0;
  gives(&s, 0, "hi\n");
}

/* One that is held up does not save the command from its time-out, nor from close. */
static void test_held(const char *how) {
  struct run x;
  const char *argv[] = { self, how, NULL };
  struct process_spec s = spec(argv);
  s.cwd = dir;
  s.timeout = 0.05;
  s.grace = 0;
  CHECK(start(&x, &s) && finish(&x) == 0 && x.r.timed_out && x.r.signal > 0 && x.r.left == 0);
  drop(&x);
  forget();
  s.timeout = 0;
  CHECK(start(&x, &s));
  int command = told("child");
  drop(&x);
  CHECK(gone(command));
  CHECK(start(&x, &s));
  command = told("child");
  process_stop(x.p);
  CHECK(finish(&x) == 0 && x.r.signal > 0 && !x.r.timed_out && gone(command));
  drop(&x);
}

/* Who runs as the same user may not trace the supervisor; root may. */
static void test_traced(void) {
  const char *argv[] = { self, "trace", NULL };
  struct process_spec s = spec(argv);
  s.cwd = dir;
  if (geteuid() == 0) test_held("trace");
  else gives(&s, 1, "");
}

/* A tracer that is out of reach: the wait for the supervisor ends. */
static void test_traced_from_outside(int closing) {
  struct run x;
  struct process_spec s = spec(SH("echo $PPID > parent; echo $$ > holder; exec sleep 1000"));
  s.cwd = dir;
  s.grace = 0;
  CHECK(start(&x, &s));
  int supervisor = told("parent"), command = told("holder");
  pid_t tracer = fork();
  if (tracer == 0) _exit(prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || chdir(dir) < 0 ? 3 : trace(supervisor));
  CHECK(told("child") == tracer);
  if (!closing) {
    process_stop(x.p);
    CHECK(finish(&x) < 0 && strstr(x.e.message, "supervisor was killed") != NULL);
  }
  drop(&x);
  while (!dead(command)) usleep(1000);
  CHECK(kill(tracer, SIGKILL) == 0 && waitpid(tracer, NULL, 0) == tracer);
}

/* Leaves a process in a session of its own behind, once that has told its number. */
#define LEAVE "setsid sh -c 'echo $$ > child; exec sleep 1000' > /dev/null 2>&1 < /dev/null & " \
              "while [ ! -s child ]; do sleep 0.01; done; "

/* It is found, though the supervisor may open nothing any more, or cannot see /proc. */
static void test_blinded(const char *script) {
  struct run x;
  struct process_spec s = spec(SH(script));
  s.cwd = dir;
  s.grace = 0;
  CHECK(start(&x, &s) && finish(&x) == 0 && x.r.code == 0 && x.r.left == 0 && gone(told("child")));
  drop(&x);
}

static int covered_by_command(void) {
  if (own_mounts() < 0) return -1;
  test_blinded(LEAVE "mount -t tmpfs none /proc");
  return 0;
}

/* Without a view of /proc the processes left cannot be counted, and that is told. */
static int covered_before(void) {
  struct run x;
  struct process_spec s = spec(SH(LEAVE));
  s.cwd = dir;
  s.grace = 0;
  if (own_mounts() < 0 || mount("none", "/proc", "tmpfs", 0, NULL) < 0) return -1;
  CHECK(start(&x, &s) && finish(&x) == 0 && x.r.code == 0 && x.r.left == -1);
  CHECK(kill(told("child"), SIGKILL) == 0);
  drop(&x);
  return 0;
}

/* A signal goes to the process that was seen, not to another that has its number. */
static void test_same_number(void) {
  pid_t pid = fork();
  if (pid == 0) for (;;) pause();
  struct member x = { .pid = pid };
  int proc = proc_open(), status = 0;
  CHECK(proc >= 0 && proc_read(proc, &x) == 0 && x.parent == getpid() && x.start > 0);
  CHECK(proc_signal(proc, &x, 0) == 0);
  x.start--;
  CHECK(proc_signal(proc, &x, SIGKILL) == -1);
  x.start++;
  CHECK(waitpid(pid, &status, WNOHANG) == 0 && proc_signal(proc, &x, SIGTERM) == 0);
  CHECK(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGTERM);
  CHECK(proc_signal(proc, &x, 0) == -1 && proc_read(proc, &x) == -1 && errno == ESRCH);
  close(proc);
}

/* }}} */

/* {{{ what a host does once a second */

static void held(void) { test_held("hold"); }

static void traced_and_stopped(void) {
  if (geteuid() == 0) test_traced_from_outside(0);
}

static void traced_and_closed(void) {
  if (geteuid() == 0) test_traced_from_outside(1);
}

/* Each takes seconds, in which it waits: all at once, in processes and folders of their own. */
static void test_held_up(void) {
  static void (*const cases[])(void) = { test_stopped, held, test_traced, traced_and_stopped, traced_and_closed };
  enum { CASES = sizeof cases / sizeof *cases };
  pid_t pid[CASES];
  for (int i = 0; i < CASES; i++) {
    pid[i] = fork();
    if (pid[i] != 0) continue;
    test_failed = folder_new(dir) < 0;
    alarm(LONGEST);
    cases[i]();
    CHECK(rmdir(dir) == 0);
    _exit(test_failed > 0);
  }
  for (int i = 0; i < CASES; i++) {
    int status = -1;
    CHECK(waitpid(pid[i], &status, 0) == pid[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

/* }}} */

int main(int argc, char **argv) {
  if (argc > 1) return strcmp(argv[1], "hold") == 0 ? hold() : trace(getppid());
  if (begin() < 0) return 1;
  test_timeout();
  test_stop();
  test_close();
  test_engine_gone();
  test_host_killed();
  test_supervisor_killed();
  test_held_up();
  if (system("command -v prlimit >/dev/null") == 0) test_blinded(LEAVE "prlimit --pid $PPID --nofile=0:0");
  else fprintf(stderr, "process_end: no prlimit here: the supervisor keeps its descriptors\n");
  apart("process_end: a command that covers /proc", covered_by_command);
  apart("process_end: a host without /proc", covered_before);
  test_same_number();
  CHECK(rmdir(dir) == 0);
  return test_done("process/end");
}
