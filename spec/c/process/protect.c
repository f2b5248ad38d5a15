/*
** protect.c: what a command can read of its host and of its supervisor, with `protect` and without, as an unprivileged
** user and as root. `protect host WHAT` is a host whose environment holds a secret, `protect look` its command, which
** says in letters what it could read: of the host e(nvironment), m(emory), f(iles); of the supervisor E, M, F.
*/
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "test.h"

#define SECRET "KOINE_TEST_KEY=sk-very-secret"
#define NOBODY 65534

/* {{{ the command */

static int parent_of(pid_t pid) {
  char path[40], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *f = fopen(path, "r");
  size_t n = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f != NULL) fclose(f);
  text[n] = '\0';
  const char *p = strrchr(text, ')');
  return p != NULL ? atoi(p + 4) : 0;
}

/* True when the secret shows in the environment of pid. */
static int shows(pid_t pid) {
  static char text[1 << 16];
  char path[40];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC), found = 0;
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
  for (char *p = text; p < text + n; p += strlen(p) + 1) found = found || strcmp(p, SECRET) == 0;
  return found;
}

static int opens(pid_t pid, const char *what) {
  char path[40], target[8];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
  if (readlink(path, target, sizeof target) >= 0) return 1;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static int look(void) {
  int of[2] = { parent_of(getppid()), getppid() };
  for (int i = 0; i < 2; i++)
    printf("%s%s%s", shows(of[i]) ? &"e\0E"[2 * i] : "", opens(of[i], "mem") ? &"m\0M"[2 * i] : "",
           opens(of[i], "fd/0") ? &"f\0F"[2 * i] : "");
  printf(".%s\n", getenv("KOINE_TEST_KEY") != NULL ? " inherited" : "");
  return 0;
}

/* }}} */

/* {{{ the host */

/* A command that is not kept from it reads all that its host has. */
static void open_to_all(void) {
  struct run x;
  struct process_spec s = spec(ARGV("/proc/self/exe", "look"));
  const char *none[] = { NULL };
  s.env = none;
  CHECK(start(&x, &s) && finish(&x) == 0 && x.r.output[0].n >= 3);
  CHECK_STR(x.r.output[0].p, 3, "emf");
  CHECK(prctl(PR_GET_DUMPABLE) == 1);
  drop(&x);
}

/* Checks the output of a command of this host; its own getenv goes on working. */
static void says(int protect, const char *const *env, const char *expect) {
  struct process_spec s = spec(ARGV("/proc/self/exe", "look"));
  s.protect = protect;
  s.env = env;
  gives(&s, 0, expect);
  const char *value = getenv("KOINE_TEST_KEY");
  CHECK(value != NULL && strcmp(value, "sk-very-secret") == 0);
}

static void *sleeper(void *ud) {
  pause();
  return ud;
}

static int host(const char *what) {
  const char *none[] = { NULL };
  int root = strcmp(what, "root") == 0, threads = strcmp(what, "threads") == 0;
  pthread_t other;
  open_to_all();
  if (threads) CHECK(pthread_create(&other, NULL, sleeper, NULL) == 0);
  says(1, none, ".\n");
  says(1, NULL, ". inherited\n"); /* what is given is given */
  CHECK(prctl(PR_GET_DUMPABLE) == 0);
  process_protect();
  says(1, none, ".\n");
  if (!root) says(0, none, ".\n"); /* it stays so */
  free(malloc(1 << 20)); /* the heap grows as before */
  CHECK(strcmp(getenv("HOME"), "/here") == 0);
  return test_done(what);
}

/* }}} */

/* Becomes `protect host WHAT`; by a descriptor, because another user may not be able to walk to this file. */
static int become_host(const char *what) {
  const char *argv[] = { "protect", "host", what, NULL }, *env[] = { SECRET, "HOME=/here", NULL };
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  fexecve(fd, (char *const *)argv, (char *const *)env);
  return 1;
}

static int bounded_by(unsigned long capability) { return prctl(PR_CAPBSET_READ, capability) == 1; }

/* Not where root may trace and cannot give that up, and not in a 32-bit process on a 64-bit kernel, which reads the map
** of an environment in its own layout only. */
static int as_root(void) {
  unsigned size = 0;
  int able = (!bounded_by(CAP_SYS_PTRACE) || bounded_by(CAP_SETPCAP)) &&
             prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0UL, 0UL) == 0 && size == sizeof(struct prctl_mm_map);
  return geteuid() == 0 && able ? become_host("root") : -1;
}

static int as_user(void) {
  if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)) return -1;
  return become_host("user");
}

static int with_threads(void) {
  if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)) return -1;
  return become_host("threads");
}

int main(int argc, char **argv) {
  alarm(300);
  if (argc == 2 && strcmp(argv[1], "look") == 0) return look();
  if (argc == 3) return host(argv[2]);
  apart("as an unprivileged user", as_user);
  apart("as an unprivileged user with threads", with_threads);
  apart("as root", as_root);
  return test_done("process/protect");
}
