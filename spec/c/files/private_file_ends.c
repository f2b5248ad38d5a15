/* private_file_ends.c: what a process leaves of a private file when it is killed or cut off: locks, halves, remains. */
#include <errno.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "private_file_test.h"

/* A process that dies leaves its lock free. */
static void test_death(const char *dir) {
  struct file_lock mine = { 0 };
  struct err e;
  char path[200], byte = 0;
  int ready[2], status = 0;
  err_clear(&e);
  snprintf(path, sizeof path, "%s/state", dir);
  CHECK(pipe(ready) == 0);
  pid_t child = fork();
  if (child == 0) {
    byte = file_lock(path, &mine, &e) == 1;
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(1);
  }
  CHECK(read(ready[0], &byte, 1) == 1 && byte == 1);
  CHECK(file_lock(path, &mine, &e) == 0);
  CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  CHECK(file_lock(path, &mine, &e) == 1);
  file_unlock(&mine);
  close(ready[0]);
  close(ready[1]);
  CHECK(unlink(path) == 0);
}

/* Makes a file as it is while somebody writes it. Its descriptor, which holds the lock. */
static int make_remains(const char *dir, int i, int lock) {
  char path[200];
  snprintf(path, sizeof path, "%s/token.new-%d", dir, i);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  CHECK(fd >= 0 && write(fd, "half", 4) == 4 && (!lock || flock(fd, LOCK_EX | LOCK_NB) == 0));
  return fd;
}

/* The file that a killed process left goes with the next writing; one that is being written stays, and so do links. */
static void test_remains(const char *dir) {
  struct err e;
  char path[200], name[200];
  int fd[8];
  err_clear(&e);
  snprintf(path, sizeof path, "%s/token", dir);
  close(make_remains(dir, 0, 0));
  close(make_remains(dir, 5, 0));
  CHECK(private_file_write(path, STR("one"), &e) == 0 && entries(dir, 0) == 1 && holds(path, "one"));
  for (int i = 0; i < 8; i++) fd[i] = make_remains(dir, i, 1);
  CHECK(private_file_write(path, STR("two"), &e) == -1 && strstr(e.message, strerror(EBUSY)) != NULL);
  CHECK(entries(dir, 0) == 9 && holds(path, "one"));
  close(fd[3]);
  CHECK(private_file_write(path, STR("two"), &e) == 0 && entries(dir, 0) == 8 && holds(path, "two"));
  for (int i = 0; i < 8; i++)
    if (i != 3) close(fd[i]);
  CHECK(private_file_remove(path, &e) == 0 && entries(dir, 0) == 0 && private_file_remove(path, &e) == 0);
  snprintf(name, sizeof name, "%s/token.new-0", dir);
  CHECK(symlink("/dev/null", name) == 0 && private_file_write(path, STR("three"), &e) == 0 && entries(dir, 0) == 2);
  CHECK(unlink(name) == 0 && private_file_remove(path, &e) == 0 && entries(dir, 0) == 0);
  CHECK(mkdir(path, 0700) == 0 && private_file_remove(path, &e) == -1 && rmdir(path) == 0);
}

/* Runs f in a process of its own, for what cannot be undone: 77 where the system forbids it. */
static int apart(int (*f)(const char *), const char *path) {
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) _exit(f(path));
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

static char big[100000];

static int write_limited(const char *path) {
  struct err e;
  struct rlimit most = { 1000, 1000 };
  err_clear(&e);
  if (setrlimit(RLIMIT_FSIZE, &most) < 0) return 77;
  return private_file_write(path, (struct str){ big, sizeof big }, &e) == -1 && strstr(e.message, strerror(EFBIG)) != NULL;
}

static int lock_limited(const char *path) {
  struct file_lock lock = { 0 };
  struct err e;
  struct rlimit most = { 1000, 1000 };
  err_clear(&e);
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &most) < 0 || file_lock(path, &lock, &e) != 1) return 77;
  return file_lock_write(&lock, path, (struct str){ big, sizeof big }, &e) == -1 && lock.held && holds(path, "whole");
}

static int write_limited_and_live(const char *path) {
  signal(SIGXFSZ, SIG_IGN);
  return write_limited(path);
}

/* Without /proc a file without a name cannot be given one. */
static int write_without_proc(const char *path) {
  struct err e;
  if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0) return 77;
  if (mount("none", "/proc", "tmpfs", 0, NULL) < 0) return 77;
  if (private_file_write(path, STR("other"), &e) < 0 || !holds(path, "other")) return 1;
  return write_limited_and_live(path) == 1 ? 2 : 3;
}

/* A full disk, and a death in the middle: the file is as it was, and nothing is beside it. */
static void test_cut_off(const char *dir) {
  struct err e;
  char path[200];
  err_clear(&e);
  memset(big, 'x', sizeof big);
  snprintf(path, sizeof path, "%s/token", dir);
  CHECK(private_file_write(path, STR("whole"), &e) == 0);
  int status = apart(write_limited_and_live, path);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1 && holds(path, "whole") && entries(dir, 0) == 1);
  status = apart(lock_limited, path);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1 && holds(path, "whole") && entries(dir, 0) == 1);
  status = apart(write_limited, path);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ && holds(path, "whole"));
  status = apart(write_without_proc, path);
  CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 2 || WEXITSTATUS(status) == 77));
  if (WEXITSTATUS(status) == 77) fprintf(stderr, "without /proc: not allowed here\n");
  CHECK(entries(dir, 0) == 1 && private_file_remove(path, &e) == 0);
}

static int write_forever(const char *path) {
  struct err e;
  for (;;)
    if (private_file_write(path, (struct str){ big, sizeof big }, &e) < 0) return 1;
}

/* Processes that write at the same time are killed at any moment: the file is always whole, and in the end alone. */
static void test_kills(const char *dir) {
  struct err e;
  char path[200];
  unsigned seed = 1;
  err_clear(&e);
  snprintf(path, sizeof path, "%s/token", dir);
  CHECK(private_file_write(path, (struct str){ big, sizeof big }, &e) == 0);
  for (int round = 0; round < 40; round++) {
    pid_t pid[2];
    struct mem m = mem_libc();
    struct buf b;
    for (int i = 0; i < 2; i++)
      if ((pid[i] = fork()) == 0) _exit(write_forever(path));
    seed = seed * 1103515245u + 12345u;
    usleep(seed % 5000);
    buf_init(&b, &m);
    CHECK(private_file_read(path, sizeof big, &b, &e) == 0 && b.n == sizeof big && memcmp(b.p, big, b.n) == 0);
    buf_free(&b);
    for (int i = 0; i < 2; i++) {
      int status = 0;
      CHECK(kill(pid[i], SIGKILL) == 0 && waitpid(pid[i], &status, 0) == pid[i] && WIFSIGNALED(status));
    }
  }
  CHECK(private_file_write(path, STR("x"), &e) == 0 && entries(dir, 0) == 1 && private_file_remove(path, &e) == 0);
}

int main(void) {
  char dir[FOLDER_MAX];
  CHECK(folder_new(dir) == 0);
  test_death(dir);
  test_remains(dir);
  test_cut_off(dir);
  test_kills(dir);
  CHECK(rmdir(dir) == 0);
  return test_done("files/private_file_ends");
}
