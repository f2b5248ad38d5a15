/*
** host.c: hosts of programs: with children, many threads and an environment that changes, without memory,
** descriptors, /proc; and in a namespace of their own.
*/
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "core/process/private.h"
#include "support/descriptors.h"
#include "test.h"

static volatile sig_atomic_t children;

static void on_child(int sig) {
  (void)sig;
  children++;
}

/* The host's own children and its way with them are its own business. */
static void test_children(void) {
  struct process_spec s = spec(SH("sleep 0 & exit 5"));
  struct sigaction act = { 0 };
  act.sa_handler = on_child;
  sigaction(SIGCHLD, &act, NULL);
  gives(&s, 5, "");
  CHECK(children == 0);
  struct run x;
  CHECK(start(&x, &s));
  CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* not seen */
  CHECK(finish(&x) == 0 && x.r.code == 5);
  drop(&x);
  signal(SIGCHLD, SIG_IGN);
  gives(&s, 5, "");
  signal(SIGCHLD, SIG_DFL);
  CHECK(start(&x, &s));
  while (waitpid(-1, NULL, __WALL) > 0) continue; /* a host that takes all there is */
  CHECK(finish(&x) == 0 && x.r.code == 5);
  drop(&x);
  CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
}

/* Runs one program after the other: NULL when all was well. */
static void *worker(void *ud) {
  static char poison[1];
  struct process_spec s = spec(SH("cat; echo $0"));
  struct err e;
  int interrupted, bad = 0;
  (void)ud;
  s.input = STR("in ");
  for (int i = 0; i < 20; i++) {
    struct mem m = mem_libc();
    const struct err *failure;
    struct process_result r;
    struct engine *g = engine_new(&m, &e);
    struct process *p = process_start(g, &s, NULL, &e);
    while (!process_done(p, &failure)) engine_step(g, -1, -1, &interrupted, &e);
    process_result(p, &r);
    bad += failure != NULL || r.code != 0 || r.output[0].n != 11 || memcmp(r.output[0].p, "in /bin/sh\n", 11) != 0;
    process_close(p);
    engine_free(g);
  }
  return bad ? poison : NULL;
}

/* Many threads start programs at once: no lock is in the way, no pipe stays open in another's. */
static void test_threads(void) {
  enum { N = 4 };
  pthread_t t[N];
  void *bad;
  int before = open_descriptors();
  for (int i = 0; i < N; i++) CHECK(pthread_create(&t[i], NULL, worker, NULL) == 0);
  for (int i = 0; i < N; i++) CHECK(pthread_join(t[i], &bad) == 0 && bad == NULL);
  CHECK(open_descriptors() == before);
}

/* Every allocation fails in turn; then every descriptor. */
static void test_want(void) {
  struct process_spec s = spec(SH("cat; head -c 100000 /dev/zero"));
  const struct err *failure = NULL;
  struct err e;
  int before = open_descriptors(), interrupted, done = 0;
  s.input = STR("in");
  s.env = ARGV("A=B");
  s.cwd = "/";
  for (size_t n = 1; !done && n < 100; n++) {
    struct failing f = { .fail_at = n };
    struct mem m = failing_mem(&f);
    err_clear(&e);
    struct engine *g = engine_new(&m, &e);
    struct process *p = g == NULL ? NULL : process_start(g, &s, NULL, &e);
    if (p == NULL) CHECK(e.kind == KIND_MEMORY);
    while (p != NULL && !process_done(p, &failure)) engine_step(g, -1, -1, &interrupted, &e);
    done = p != NULL && failure == NULL;
    if (p != NULL && failure != NULL) CHECK(failure->kind == KIND_MEMORY);
    process_close(p);
    engine_free(g);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(done && open_descriptors() == before);
  struct rlimit most, few;
  int refused = 0;
  getrlimit(RLIMIT_NOFILE, &most);
  few = most;
  for (rlim_t n = 5; n < 40; n++) {
    struct run x;
    few.rlim_cur = n;
    memset(&x, 0, sizeof x);
    x.m = failing_mem(&x.f);
    err_clear(&x.e);
    x.g = engine_new(&x.m, &x.e);
    setrlimit(RLIMIT_NOFILE, &few);
    x.p = process_start(x.g, &s, &x, &x.e);
    setrlimit(RLIMIT_NOFILE, &most);
    if (x.p == NULL) refused += x.e.kind == KIND_OTHER;
    else if (finish(&x) < 0) refused += x.e.kind == KIND_OTHER;
    drop(&x);
  }
  CHECK(refused > 0 && open_descriptors() == before);
}

/* Another thread changes PATH while plans are made: each has one whole value of it. Only where values that were replaced
** stay: musl frees them, and a program's threads cannot do this at all. */
static volatile int setting;

static void *set_path(void *ud) {
  char path[4096];
  (void)ud;
  memset(path, 'x', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  while (setting) {
    setenv("PATH", path, 1);
    setenv("PATH", "/bin", 1);
  }
  return NULL;
}

static void test_changing_path(void) {
  struct process_spec s = spec(ARGV("true"));
  struct mem m = mem_libc();
  struct launch launch;
  struct err e;
  pthread_t t;
  char *before = strdup(getenv("PATH"));
  int odd = 0;
  setting = 1;
  setenv("PATH", "/bin", 1);
  CHECK(pthread_create(&t, NULL, set_path, NULL) == 0);
  for (int i = 0; i < 20000; i++) {
    CHECK(launch_init(&launch, &m, &s, &e) == 0);
    size_t n = strlen(launch.paths[0]);
    odd += (n != 9 && n != 4100) || strcmp(launch.paths[0] + n - 5, "/true") != 0 || launch.paths[1] != NULL;
    launch_free(&launch);
  }
  setting = 0;
  CHECK(odd == 0 && pthread_join(t, NULL) == 0);
  setenv("PATH", before, 1);
  free(before);
}

/* The host's children live in a namespace where they have other numbers. */
static int other_numbers(void) {
  struct process_spec s = spec(SH("sleep 0 & exit 5"));
  if (unshare(CLONE_NEWPID) < 0) return -1;
  gives(&s, 5, "");
  return 0;
}

/* Neither close_range nor /proc is there to close what the host has open. */
static int nothing_to_close_with(void) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { sizeof code / sizeof *code, code };
  struct process_spec s = spec(SH("for i in 3 4 5 6 7 8 9; do (: <&$i) 2>/dev/null && echo $i; done; exit 0"));
  if (own_mounts() < 0 || mount("none", "/proc", "tmpfs", 0, NULL) < 0) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) return -1;
  CHECK(open("/dev/null", O_RDONLY) >= 0 && dup(0) >= 0);
  gives(&s, 0, "");
  return 0;
}

/* A system that has no child without a signal, as an emulated one: clone(0) is EINVAL, fork is not. */
static int no_silent_clone(void) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { sizeof code / sizeof *code, code };
  struct process_spec s = spec(SH("sleep 60 & echo out; exit 5"));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) return -1;
  CHECK(syscall(SYS_clone, 0, NULL, NULL, NULL, 0) < 0 && errno == EINVAL);
  gives(&s, 5, "out\n");
  CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
  return 0;
}

int main(void) {
  if (begin() < 0) return 1;
  test_children();
  test_threads();
  test_want();
#ifdef __GLIBC__
  test_changing_path();
#else
  (void)test_changing_path;
  puts("process/host: another thread's setenv: skipped, only glibc keeps what it replaces");
#endif
  apart("process_host: a namespace of processes", other_numbers);
  apart("process_host: a process without /proc and close_range", nothing_to_close_with);
  apart("process_host: a system without silent children", no_silent_clone);
  CHECK(rmdir(dir) == 0);
  return test_done("process/host");
}
