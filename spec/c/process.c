/*
** process.c: programs from an argument vector: what they get, what comes back, what is left of them; a host with odd
** signals, descriptors, many threads, and without memory. `process report`, a command of the test, says what it was
** given.
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process.h"
#include "failing.h"
#include "test.h"

static const char *self; /* this program */
static char dir[] = "/tmp/koine-process-XXXXXX";

/* {{{ running */

static struct process_spec spec(const char *const *argv) {
  return (struct process_spec){ .argv = argv, .grace = 60, .timeout = 60, .output_max = 1 << 20 };
}

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define SH(script) ARGV("/bin/sh", "-c", script)

/* One process, its pollset, and counted memory. */
struct run {
  struct failing f;
  struct mem m;
  struct pollset *poll;
  struct process *p;
  struct process_result r;
  struct err e;
};

static int start(struct run *x, const struct process_spec *s) {
  memset(x, 0, sizeof *x);
  x->m = failing_mem(&x->f);
  err_clear(&x->e);
  x->poll = pollset_new(&x->m, &x->e);
  x->p = process_start(&x->m, x->poll, s, x, &x->e);
  return x->p != NULL;
}

/* Until it is over: 0, or -1 and x->e. */
static int finish(struct run *x) {
  const struct err *failure = NULL;
  struct err e;
  int interrupted;
  while (!process_done(x->p, &failure)) pollset_wait(x->poll, -1, &interrupted, &e);
  CHECK(pollset_ready(x->poll)->owner == x && pollset_ready(x->poll) == NULL);
  process_result(x->p, &x->r);
  if (failure != NULL) x->e = *failure;
  return failure != NULL ? -1 : 0;
}

static void drop(struct run *x) {
  process_close(x->p);
  pollset_free(x->poll);
  CHECK(x->f.live == 0 && x->f.wrong == 0);
}

/* A whole run: the exit code is `code`, and standard output is `text`. */
static void gives(const struct process_spec *s, int code, const char *text) {
  struct run x;
  CHECK(start(&x, s) && finish(&x) == 0);
  CHECK(x.r.code == code && x.r.signal == 0 && !x.r.timed_out && x.r.left == 0);
  CHECK_STR(x.r.output[0].p, x.r.output[0].n, text);
  drop(&x);
}

static void fails(const struct process_spec *s, const char *code, const char *words) {
  struct run x;
  CHECK(start(&x, s) && finish(&x) < 0 && x.e.kind == KIND_OTHER);
  CHECK_STR(x.e.code, strlen(x.e.code), code);
  CHECK(strstr(x.e.message, words) != NULL);
  if (strstr(x.e.message, words) == NULL) fprintf(stderr, "  %s\n", x.e.message);
  drop(&x);
}

/* }}} */

/* {{{ what a command is given */

/* Says in one line: ignored and blocked signals, open descriptors, whether it leads its session and group. */
static int report(void) {
  sigset_t blocked;
  struct sigaction act;
  DIR *d = opendir("/proc/self/fd");
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int sig = 1; sig < NSIG; sig++) {
    if (sigismember(&blocked, sig) == 1) printf("blocked %d ", sig);
    if (sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_IGN) printf("ignored %d ", sig);
  }
  for (struct dirent *e; (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d)) printf("%s ", e->d_name);
  closedir(d);
  printf("%s\n", getsid(0) == getpid() && getpgid(0) == getpid() ? "leads" : "follows");
  return 0;
}

/* The host blocks and ignores signals, and has descriptors that a child would inherit, one of them a large number. */
static void test_surroundings(void) {
  const char *argv[] = { self, "report", NULL };
  struct process_spec s = spec(argv);
  sigset_t odd, before;
  struct rlimit most;
  int open_fd = open("/dev/null", O_RDONLY), high = -1;
  sigemptyset(&odd);
  sigaddset(&odd, SIGTERM);
  sigaddset(&odd, SIGUSR1);
  sigprocmask(SIG_BLOCK, &odd, &before);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur > 2000) high = fcntl(0, F_DUPFD, 1500);
  gives(&s, 0, "0 1 2 leads\n");
  sigset_t after;
  sigprocmask(SIG_SETMASK, NULL, &after);
  CHECK(sigismember(&after, SIGTERM) == 1 && sigismember(&after, SIGHUP) == 0);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, NULL);
  close(open_fd);
  if (high >= 0) close(high);
}

/* The host has used up its low numbers, so that every descriptor of ours is beyond what select knows. */
static void test_high_numbers(void) {
  struct process_spec s = spec(SH("cat; exit 3"));
  struct rlimit most;
  static int fd[1100];
  int n = 0;
  s.input = STR("through");
  if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur < 1200) return;
  while (n < 1100 && (fd[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) n++;
  gives(&s, 3, "through");
  while (n > 0) close(fd[--n]);
}

/* The host runs without standard streams: ours get their numbers. */
static void test_no_streams(void) {
  struct process_spec s = spec(SH("cat; echo out; echo err >&2"));
  int kept[3];
  s.input = STR("in ");
  s.merge = 1;
  for (int i = 0; i < 3; i++) {
    kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
    close(i);
  }
  struct run x;
  int ok = start(&x, &s) && finish(&x) == 0;
  for (int i = 0; i < 3; i++) {
    dup2(kept[i], i);
    close(kept[i]);
  }
  CHECK(ok);
  CHECK_STR(x.r.output[0].p, x.r.output[0].n, "in out\nerr\n");
  drop(&x);
}

static void test_given(void) {
  struct process_spec s = spec(ARGV("/bin/sh", "-c", "printf '%s|' \"$@\"", "sh", "a b", "", "*"));
  gives(&s, 0, "a b||*|");
  s = spec(SH("pwd; echo $A"));
  s.cwd = dir;
  s.env = ARGV("A=x y");
  char text[100];
  snprintf(text, sizeof text, "%s\nx y\n", dir);
  gives(&s, 0, text);
  s = spec(ARGV("sh", "-c", "exit 7"));
  gives(&s, 7, "");
  s.env = ARGV("B=1"); /* no PATH in it: the host's counts */
  gives(&s, 7, "");
  s.env = ARGV("PATH=/nowhere::/bin");
  gives(&s, 7, "");
  s = spec(ARGV("sh", "-c", "echo local"));
  s.cwd = "/bin"; /* an empty element of PATH is the directory it starts in */
  s.env = ARGV("PATH=");
  gives(&s, 0, "local\n");
}

static void test_refused(void) {
  struct process_spec s = spec(ARGV("koine-no-such-program"));
  char file[100];
  fails(&s, "absent", "cannot run koine-no-such-program: ");
  s = spec(ARGV("/bin/sh/none"));
  fails(&s, "absent", strerror(ENOTDIR));
  s = spec(ARGV(""));
  fails(&s, "absent", strerror(ENOENT));
  s = spec(ARGV(dir));
  fails(&s, "", strerror(EACCES));
  s = spec(ARGV("sh"));
  s.env = ARGV("PATH=/etc/passwd:/nowhere");
  fails(&s, "absent", strerror(ENOENT));
  s = spec(SH("true"));
  s.cwd = "/nowhere";
  fails(&s, "", "cannot run /bin/sh in /nowhere: ");
  snprintf(file, sizeof file, "%s/empty", dir);
  int fd = open(file, O_WRONLY | O_CREAT, 0700);
  close(fd);
  s = spec(ARGV(file)); /* no shell is asked to make sense of it */
  fails(&s, "", strerror(ENOEXEC));
  unlink(file);
}

/* }}} */

/* {{{ output */

static void test_output(void) {
  struct run x;
  struct process_spec s = spec(SH("echo out; echo err >&2; kill -USR2 $$"));
  CHECK(start(&x, &s) && finish(&x) == 0 && x.r.code == -1 && x.r.signal == SIGUSR2);
  CHECK_STR(x.r.output[PROCESS_OUT].p, x.r.output[PROCESS_OUT].n, "out\n");
  CHECK_STR(x.r.output[PROCESS_ERR].p, x.r.output[PROCESS_ERR].n, "err\n");
  drop(&x);
  s = spec(SH("head -c 3000000 /dev/zero; head -c 100 /dev/zero >&2"));
  s.output_max = 100;
  CHECK(start(&x, &s) && finish(&x) == 0);
  CHECK(x.r.output[0].n == 100 && x.r.output[1].n == 100 && x.r.dropped[0] == 2999900 && x.r.dropped[1] == 0);
  CHECK(x.f.live < 10000);
  drop(&x);
}

/* Somebody else has opened the pipe for writing and keeps it: only what the tree wrote is waited for. */
static void test_foreign_writer(void) {
  struct run x;
  struct err e;
  int interrupted, command = 0, fd;
  char path[64], text[64] = "";
  struct process_spec s = spec(SH("echo $$; while [ ! -e taken ]; do sleep 0.01; done; echo end"));
  s.cwd = dir;
  CHECK(start(&x, &s));
  while (strchr(text, '\n') == NULL) {
    pollset_wait(x.poll, -1, &interrupted, &e);
    process_result(x.p, &x.r);
    snprintf(text, sizeof text, "%.*s", (int)x.r.output[0].n, x.r.output[0].n > 0 ? x.r.output[0].p : "");
  }
  CHECK(sscanf(text, "%d", &command) == 1);
  snprintf(path, sizeof path, "/proc/%d/fd/1", command);
  fd = open(path, O_WRONLY | O_CLOEXEC);
  snprintf(path, sizeof path, "%s/taken", dir);
  CHECK(fd >= 0 && close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
  CHECK(finish(&x) == 0 && x.r.code == 0);
  CHECK(x.r.output[0].n > 4 && memcmp(x.r.output[0].p + x.r.output[0].n - 4, "end\n", 4) == 0);
  if (fd >= 0) close(fd);
  unlink(path);
  drop(&x);
}

/* }}} */

/* {{{ the end */

/* The number that a command has written to the file `name`; waits for it. */
static int told(const char *name) {
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
static void forget(void) {
  static const char *const names[] = { "parent", "child", "holder" };
  char path[100];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    unlink(path);
  }
}

static int gone(int pid) {
  return kill(pid, 0) < 0 && errno == ESRCH;
}

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
  while (!gone(parent) || !gone(child)) usleep(1000);
  CHECK(waitpid(host, NULL, 0) == host && kill(holder, SIGKILL) == 0);
}

/* Somebody kills the supervisor: that is told, and the command dies with it. */
static void test_supervisor_killed(void) {
  struct run x;
  struct process_spec s = spec(SH("echo $PPID > parent; echo $$ > child; exec sleep 1000"));
  s.cwd = dir;
  CHECK(start(&x, &s));
  int supervisor = told("parent"), command = told("child");
  kill(supervisor, SIGKILL);
  CHECK(finish(&x) < 0 && x.e.kind == KIND_OTHER && strstr(x.e.message, "supervisor was killed") != NULL);
  while (!gone(command)) usleep(1000);
  drop(&x);
}

/* }}} */

/* {{{ the host */

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

static int descriptors(void) {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  while (readdir(d) != NULL) n++;
  closedir(d);
  return n;
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
    struct pollset *poll = pollset_new(&m, &e);
    struct process *p = process_start(&m, poll, &s, NULL, &e);
    while (!process_done(p, &failure)) pollset_wait(poll, -1, &interrupted, &e);
    process_result(p, &r);
    bad += failure != NULL || r.code != 0 || r.output[0].n != 11 || memcmp(r.output[0].p, "in /bin/sh\n", 11) != 0;
    process_close(p);
    pollset_free(poll);
  }
  return bad ? poison : NULL;
}

/* Many threads start programs at once: no lock is in the way, no pipe stays open in another's. */
static void test_threads(void) {
  enum { N = 4 };
  pthread_t t[N];
  void *bad;
  int before = descriptors();
  for (int i = 0; i < N; i++) CHECK(pthread_create(&t[i], NULL, worker, NULL) == 0);
  for (int i = 0; i < N; i++) CHECK(pthread_join(t[i], &bad) == 0 && bad == NULL);
  CHECK(descriptors() == before);
}

/* Every allocation fails in turn; then every descriptor. */
static void test_want(void) {
  struct process_spec s = spec(SH("cat; head -c 100000 /dev/zero"));
  const struct err *failure = NULL;
  struct err e;
  int before = descriptors(), interrupted, done = 0;
  s.input = STR("in");
  s.env = ARGV("A=B");
  s.cwd = "/";
  for (size_t n = 1; !done && n < 100; n++) {
    struct failing f = { .fail_at = n };
    struct mem m = failing_mem(&f);
    err_clear(&e);
    struct pollset *poll = pollset_new(&m, &e);
    struct process *p = poll == NULL ? NULL : process_start(&m, poll, &s, NULL, &e);
    if (p == NULL) CHECK(e.kind == KIND_MEMORY);
    while (p != NULL && !process_done(p, &failure)) pollset_wait(poll, -1, &interrupted, &e);
    done = p != NULL && failure == NULL;
    if (p != NULL && failure != NULL) CHECK(failure->kind == KIND_MEMORY);
    process_close(p);
    pollset_free(poll);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(done && descriptors() == before);
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
    x.poll = pollset_new(&x.m, &x.e);
    setrlimit(RLIMIT_NOFILE, &few);
    x.p = process_start(&x.m, x.poll, &s, &x, &x.e);
    setrlimit(RLIMIT_NOFILE, &most);
    if (x.p == NULL) refused += x.e.kind == KIND_OTHER;
    else if (finish(&x) < 0) refused += x.e.kind == KIND_OTHER;
    drop(&x);
  }
  CHECK(refused > 0 && descriptors() == before);
}

/* }}} */

int main(int argc, char **argv) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (argc > 1 && strcmp(argv[1], "report") == 0) return report();
  if (n < 0 || mkdtemp(dir) == NULL) return 1;
  path[n] = '\0';
  self = path;
  alarm(300); /* a hang is a failure */
  test_given();
  test_surroundings();
  test_high_numbers();
  test_no_streams();
  test_refused();
  test_output();
  test_foreign_writer();
  test_timeout();
  test_stop();
  test_close();
  test_host_killed();
  test_supervisor_killed();
  test_children();
  test_threads();
  test_want();
  CHECK(rmdir(dir) == 0);
  return test_done("process");
}
