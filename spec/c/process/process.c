/*
** process.c: programs from an argument vector: what they get, what comes back. `process report`, a command of the test,
** says what it was given. Beside it process_end (how they end) and process_host (what the host is like).
*/
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "test.h"

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

/* A time-out beyond what the system can wait: the supervisor sleeps. */
static void test_long_timeout(void) {
  struct process_spec s = spec(SH("for i in $(seq 1000); do read -r a b state rest < /proc/$PPID/stat; "
                                  "[ $state = S ] && exit 0; done; exit 1"));
  s.timeout = 1e19;
  s.grace = 1e300;
  gives(&s, 0, "");
}

/* A long name is cut between characters. */
static void test_long_name(void) {
  char name[140] = "", words[140] = "";
  memset(name, 'x', 126);
  memset(words, 'x', 126);
  memcpy(name + 126, "\xC3\xA9 more", 8);
  memcpy(words + 126, ": ", 3);
  struct process_spec s = spec(ARGV(name));
  fails(&s, "absent", words);
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
  char path[100], text[64] = "";
  struct process_spec s = spec(SH("echo $$; while [ ! -e taken ]; do sleep 0.01; done; echo end"));
  s.cwd = dir;
  CHECK(start(&x, &s));
  while (strchr(text, '\n') == NULL) {
    engine_step(x.g, -1, -1, &interrupted, &e);
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

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "report") == 0) return report();
  if (begin() < 0) return 1;
  test_given();
  test_surroundings();
  test_high_numbers();
  test_no_streams();
  test_refused();
  test_output();
  test_foreign_writer();
  test_long_timeout();
  test_long_name();
  CHECK(rmdir(dir) == 0);
  return test_done("process/process");
}
