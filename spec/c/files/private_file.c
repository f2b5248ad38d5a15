/* Tests of private files: whole files, private modes, replacement without remains, locks between processes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files/private_file.h"
#include "support/failing.h"
#include "support/test.h"

static int entries(const char *dir) {
  int n = 0;
  DIR *d = opendir(dir);
  if (d == NULL) return -1;
  for (struct dirent *x; (x = readdir(d)) != NULL;) n += x->d_name[0] != '.';
  closedir(d);
  return n;
}

static void test_files(const char *dir) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct buf b, big;
  struct err e;
  struct stat st;
  char path[200], other[200];
  buf_init(&b, &m);
  buf_init(&big, &m);
  err_clear(&e);
  snprintf(path, sizeof path, "%s/token", dir);
  CHECK(fs_read_private(path, 100, &b, &e) == -1 && e.kind == KIND_OTHER && b.n == 0);
  CHECK(strstr(e.message, path) != NULL && strstr(e.message, strerror(ENOENT)) != NULL);
  CHECK(fs_write_private(path, STR("secret\0x"), &e) == 0 && stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
  CHECK(buf_adds(&b, "before ") == 0 && fs_read_private(path, 8, &b, &e) == 0 && b.n == 15 &&
        memcmp(b.p + 7, "secret\0x", 8) == 0);
  CHECK(fs_read_private(path, 7, &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 15);
  CHECK(chmod(path, 0644) == 0 && fs_write_private(path, STR_NONE, &e) == 0 && stat(path, &st) == 0);
  CHECK(st.st_size == 0 && (st.st_mode & 0777) == 0600 && entries(dir) == 1);
  b.n = 0;
  CHECK(fs_read_private(path, 0, &b, &e) == 0 && b.n == 0);
  int full = 1;
  for (int i = 0; i < 300000; i++) full = full && buf_addc(&big, (char)i) == 0;
  CHECK(full && fs_write_private(path, buf_str(&big), &e) == 0 && fs_read_private(path, 300000, &b, &e) == 0);
  CHECK(str_same(buf_str(&b), buf_str(&big)));
  f.fail_at = 1;
  buf_free(&b);
  CHECK(fs_read_private(path, 300000, &b, &e) == -1 && e.kind == KIND_MEMORY);
  snprintf(other, sizeof other, "%s/none/token", dir);
  CHECK(fs_write_private(other, STR("x"), &e) == -1 && e.kind == KIND_OTHER && strstr(e.message, other) != NULL);
  snprintf(other, sizeof other, "%s/dir", dir);
  CHECK(mkdir(other, 0700) == 0 && fs_write_private(other, STR("x"), &e) == -1 && e.kind == KIND_OTHER);
  CHECK(fs_read_private(other, 100, &b, &e) == -1 && e.kind != KIND_LIMIT && entries(dir) == 2);
  buf_free(&b);
  buf_free(&big);
  CHECK(f.live == 0 && rmdir(other) == 0 && unlink(path) == 0);
}

/* A name without a directory, and one that is too long. */
static void test_names(const char *dir) {
  struct err e;
  char path[6000], old[4096];
  memset(path, 'x', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  CHECK(fs_write_private(path, STR("x"), &e) == -1 && e.kind == KIND_OTHER);
  if (getcwd(old, sizeof old) == NULL || chdir(dir) < 0) return;
  CHECK(fs_write_private("plain", STR("x"), &e) == 0 && unlink("plain") == 0 && entries(".") == 0);
  CHECK(chdir(old) == 0);
}

static int has_mode(const char *path, unsigned mode) {
  struct stat st;
  return lstat(path, &st) == 0 && (st.st_mode & 07777) == mode;
}

/* Files with a secret: what is refused, and why. */
static void test_private(const char *dir) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct buf b;
  struct err e;
  char path[200], link[200], pipe_path[200];
  buf_init(&b, &m);
  err_clear(&e);
  snprintf(path, sizeof path, "%s/token", dir);
  snprintf(link, sizeof link, "%s/link", dir);
  snprintf(pipe_path, sizeof pipe_path, "%s/pipe", dir);
  CHECK(fs_read_private(path, 100, &b, &e) == -1 && e.kind == KIND_OTHER && strcmp(e.code, "absent") == 0);
  err_clear(&e);
  CHECK(fs_write_private(path, STR("secret"), &e) == 0 && fs_read_private(path, 100, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "secret");
  CHECK(fs_read_private(path, 5, &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 6);
  static const unsigned OPEN[] = { 0601, 0602, 0644, 0640 };
  for (int i = 0; i < 4; i++) {
    CHECK(chmod(path, OPEN[i]) == 0 && fs_read_private(path, 100, &b, &e) == -1 && e.kind == KIND_OTHER);
    CHECK(strstr(e.message, path) != NULL && strstr(e.message, "others may read") != NULL && e.code[0] == '\0');
  }
  CHECK(strstr(e.message, "0640") != NULL && chmod(path, 0600) == 0);
  CHECK(symlink(path, link) == 0 && fs_read_private(link, 100, &b, &e) == -1);
  CHECK(strstr(e.message, link) != NULL && strstr(e.message, "symbolic link") != NULL);
  CHECK(mkfifo(pipe_path, 0600) == 0 && fs_read_private(pipe_path, 100, &b, &e) == -1);
  CHECK(strstr(e.message, "no regular file") != NULL && b.n == 6);
  CHECK(fs_read_private(dir, 100, &b, &e) == -1 && strstr(e.message, "no regular file") != NULL);
  CHECK(fs_write_private(link, STR("new"), &e) == -1 && strstr(e.message, "symbolic link") != NULL);
  CHECK(fs_write_private(pipe_path, STR("new"), &e) == -1 && strstr(e.message, "no regular file") != NULL);
  CHECK(fs_write_private("/dev/full", STR("new"), &e) == -1 && strstr(e.message, "no regular file") != NULL);
  b.n = 0;
  CHECK(fs_read_private(path, 100, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "secret");
  buf_free(&b);
  CHECK(f.live == 0 && unlink(path) == 0 && unlink(link) == 0 && unlink(pipe_path) == 0);
}

static void test_directories(const char *dir) {
  struct err e;
  char path[200], deep[260], sub[280], under[300];
  err_clear(&e);
  mode_t mask = umask(0);
  snprintf(path, sizeof path, "%s/a", dir);
  snprintf(deep, sizeof deep, "%s//b", path);
  snprintf(sub, sizeof sub, "%s/c/", deep);
  CHECK(fs_directory_private(sub, &e) == 0 && has_mode(path, 0700) && has_mode(deep, 0700) && has_mode(sub, 0700));
  CHECK(chmod(path, 0755) == 0 && fs_directory_private(sub, &e) == 0 && has_mode(path, 0755));
  umask(mask);
  CHECK(rmdir(sub) == 0 && fs_write_private(deep, STR("x"), &e) == -1);
  snprintf(sub, sizeof sub, "%s/file", path);
  CHECK(fs_write_private(sub, STR("x"), &e) == 0);
  snprintf(under, sizeof under, "%s/under", sub);
  CHECK(fs_directory_private(under, &e) == -1 && strstr(e.message, sub) != NULL && e.kind == KIND_OTHER);
  snprintf(under, sizeof under, "%s/link", path);
  CHECK(fs_link("../nowhere", under, &e) == 0 && readlink(under, deep, sizeof deep) == 10);
  CHECK(memcmp(deep, "../nowhere", 10) == 0);
  CHECK(fs_link("elsewhere", under, &e) == -1 && strstr(e.message, under) != NULL && unlink(under) == 0);
  CHECK(unlink(sub) == 0);
  snprintf(deep, sizeof deep, "%s/b", path);
  CHECK(rmdir(deep) == 0 && rmdir(path) == 0);
}

static void test_locks(const char *dir) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct fs_lock mine = { 0 }, other = { 0 };
  struct buf b;
  struct err e;
  char path[200], link[200];
  buf_init(&b, &m);
  err_clear(&e);
  snprintf(path, sizeof path, "%s/state", dir);
  snprintf(link, sizeof link, "%s/link", dir);
  mode_t mask = umask(0);
  CHECK(fs_lock(path, &mine, &e) == 1 && has_mode(path, 0600));
  umask(mask);
  CHECK(fs_lock(path, &other, &e) == 0 && !other.held);
  CHECK((fcntl(mine.fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(fs_lock_read(&mine, path, 100, &b, &e) == 0 && b.n == 0);
  CHECK(fs_lock_write(&mine, path, STR("a longer text"), &e) == 0 && fs_lock_write(&mine, path, STR("short"), &e) == 0);
  CHECK(fs_lock_read(&mine, path, 100, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "short");
  CHECK(fs_lock(path, &other, &e) == 0 && has_mode(path, 0600) && entries(dir) == 1); /* the lock went along */
  CHECK(fs_lock_read(&mine, path, 4, &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 5);
  fs_unlock(&mine);
  fs_unlock(&mine);
  CHECK(fs_lock(path, &other, &e) == 1);
  fs_unlock(&other);
  CHECK(symlink(path, link) == 0 && fs_lock(link, &mine, &e) == -1 && strstr(e.message, "symbolic link") != NULL);
  CHECK(chmod(path, 0644) == 0 && fs_lock(path, &mine, &e) == -1 && strstr(e.message, "others") != NULL);
  CHECK(!mine.held && chmod(path, 0600) == 0);
  buf_free(&b);
  CHECK(f.live == 0 && unlink(path) == 0 && unlink(link) == 0);
}

/* A process that dies leaves its lock free. */
static void test_death(const char *dir) {
  struct fs_lock mine = { 0 };
  struct err e;
  char path[200], byte = 0;
  int ready[2], status = 0;
  err_clear(&e);
  snprintf(path, sizeof path, "%s/state", dir);
  CHECK(pipe(ready) == 0);
  pid_t child = fork();
  if (child == 0) {
    byte = fs_lock(path, &mine, &e) == 1;
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(1);
  }
  CHECK(read(ready[0], &byte, 1) == 1 && byte == 1);
  CHECK(fs_lock(path, &mine, &e) == 0);
  CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  CHECK(fs_lock(path, &mine, &e) == 1);
  fs_unlock(&mine);
  close(ready[0]);
  close(ready[1]);
  CHECK(unlink(path) == 0);
}

/* True when the file at path holds these bytes. */
static int holds(const char *path, const char *text) {
  struct mem m = mem_libc();
  struct buf b;
  struct err e;
  buf_init(&b, &m);
  int same = fs_read(path, 100000, &b, &e) == 0 && b.n == strlen(text) && memcmp(b.p, text, b.n) == 0;
  buf_free(&b);
  return same;
}

/* Makes a file as it is while somebody writes it. Its descriptor, which holds the lock. */
static int make_remains(const char *dir, int i, int lock) {
  char path[200];
  snprintf(path, sizeof path, "%s/token.new-%d", dir, i);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  CHECK(fd >= 0 && write(fd, "half", 4) == 4 && (!lock || flock(fd, LOCK_EX | LOCK_NB) == 0));
  return fd;
}

/* What a killed process left goes with the next writing; what somebody is writing stays, and so do links. */
static void test_remains(const char *dir) {
  struct err e;
  char path[200], name[200];
  int fd[8];
  err_clear(&e);
  snprintf(path, sizeof path, "%s/token", dir);
  close(make_remains(dir, 0, 0));
  close(make_remains(dir, 5, 0));
  CHECK(fs_write_private(path, STR("one"), &e) == 0 && entries(dir) == 1 && holds(path, "one"));
  for (int i = 0; i < 8; i++) fd[i] = make_remains(dir, i, 1);
  CHECK(fs_write_private(path, STR("two"), &e) == -1 && strstr(e.message, strerror(EBUSY)) != NULL);
  CHECK(entries(dir) == 9 && holds(path, "one"));
  close(fd[3]);
  CHECK(fs_write_private(path, STR("two"), &e) == 0 && entries(dir) == 8 && holds(path, "two"));
  for (int i = 0; i < 8; i++)
    if (i != 3) close(fd[i]);
  CHECK(fs_remove_private(path, &e) == 0 && entries(dir) == 0 && fs_remove_private(path, &e) == 0);
  snprintf(name, sizeof name, "%s/token.new-0", dir);
  CHECK(symlink("/dev/null", name) == 0 && fs_write_private(path, STR("three"), &e) == 0 && entries(dir) == 2);
  CHECK(unlink(name) == 0 && fs_remove_private(path, &e) == 0 && entries(dir) == 0);
  CHECK(mkdir(path, 0700) == 0 && fs_remove_private(path, &e) == -1 && rmdir(path) == 0);
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
  return fs_write_private(path, (struct str){ big, sizeof big }, &e) == -1 && strstr(e.message, strerror(EFBIG)) != NULL;
}

static int lock_limited(const char *path) {
  struct fs_lock lock = { 0 };
  struct err e;
  struct rlimit most = { 1000, 1000 };
  err_clear(&e);
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &most) < 0 || fs_lock(path, &lock, &e) != 1) return 77;
  return fs_lock_write(&lock, path, (struct str){ big, sizeof big }, &e) == -1 && lock.held && holds(path, "whole");
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
  if (fs_write_private(path, STR("other"), &e) < 0 || !holds(path, "other")) return 1;
  return write_limited_and_live(path) == 1 ? 2 : 3;
}

/* A full disk, and a death in the middle: the file is as it was, and nothing is beside it. */
static void test_cut_off(const char *dir) {
  struct err e;
  char path[200];
  err_clear(&e);
  memset(big, 'x', sizeof big);
  snprintf(path, sizeof path, "%s/token", dir);
  CHECK(fs_write_private(path, STR("whole"), &e) == 0);
  int status = apart(write_limited_and_live, path);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1 && holds(path, "whole") && entries(dir) == 1);
  status = apart(lock_limited, path);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1 && holds(path, "whole") && entries(dir) == 1);
  status = apart(write_limited, path);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ && holds(path, "whole"));
  status = apart(write_without_proc, path);
  CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 2 || WEXITSTATUS(status) == 77));
  if (WEXITSTATUS(status) == 77) fprintf(stderr, "without /proc: not allowed here\n");
  CHECK(entries(dir) == 1 && fs_remove_private(path, &e) == 0);
}

static int write_forever(const char *path) {
  struct err e;
  for (;;)
    if (fs_write_private(path, (struct str){ big, sizeof big }, &e) < 0) return 1;
}

/* Processes that write at the same time are killed at any moment: the file is always whole, and in the end alone. */
static void test_kills(const char *dir) {
  struct err e;
  char path[200];
  unsigned seed = 1;
  err_clear(&e);
  snprintf(path, sizeof path, "%s/token", dir);
  CHECK(fs_write_private(path, (struct str){ big, sizeof big }, &e) == 0);
  for (int round = 0; round < 40; round++) {
    pid_t pid[2];
    struct mem m = mem_libc();
    struct buf b;
    for (int i = 0; i < 2; i++)
      if ((pid[i] = fork()) == 0) _exit(write_forever(path));
    seed = seed * 1103515245u + 12345u;
    usleep(seed % 5000);
    buf_init(&b, &m);
    CHECK(fs_read_private(path, sizeof big, &b, &e) == 0 && b.n == sizeof big && memcmp(b.p, big, b.n) == 0);
    buf_free(&b);
    for (int i = 0; i < 2; i++) {
      int status = 0;
      CHECK(kill(pid[i], SIGKILL) == 0 && waitpid(pid[i], &status, 0) == pid[i] && WIFSIGNALED(status));
    }
  }
  CHECK(fs_write_private(path, STR("x"), &e) == 0 && entries(dir) == 1 && fs_remove_private(path, &e) == 0);
}

/* Any regular file, and nothing that could be waited for. */
static void test_any(const char *dir) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct buf b;
  struct err e;
  char path[200], link[200], pipe_path[200];
  buf_init(&b, &m);
  err_clear(&e);
  snprintf(path, sizeof path, "%s/file", dir);
  snprintf(link, sizeof link, "%s/link", dir);
  snprintf(pipe_path, sizeof pipe_path, "%s/pipe", dir);
  CHECK(fs_read(path, 100, &b, &e) == -1 && strcmp(e.code, "absent") == 0);
  CHECK(fs_write_private(path, STR("text"), &e) == 0 && chmod(path, 0644) == 0 && symlink(path, link) == 0);
  CHECK(holds(path, "text") && holds(link, "text") && fs_read(path, 3, &b, &e) == -1 && e.kind == KIND_LIMIT);
  CHECK(fs_read(dir, 100, &b, &e) == -1 && strstr(e.message, strerror(EISDIR)) != NULL);
  CHECK(mkfifo(pipe_path, 0600) == 0 && fs_read(pipe_path, 100, &b, &e) == -1);
  CHECK(strstr(e.message, "no regular file") != NULL && fs_read("/dev/zero", 100, &b, &e) == -1 && b.n == 0);
  size_t size = 0;
  err_clear(&e);
  CHECK(fs_read_start(pipe_path, 100, &b, &size, &e) == -1 && b.n == 0);
  err_clear(&e);
  CHECK(fs_read_start(path, 3, &b, &size, &e) == 0 && size == 4 && b.n >= 3 && memcmp(b.p, "tex", 3) == 0);
  b.n = 0;
  CHECK(fs_read_start(path, 100, &b, &size, &e) == 0 && size == 4 && b.n == 4 && e.kind == KIND_NONE);
  b.n = 0;
  CHECK(fs_read_start("/proc/self/status", 10, &b, &size, &e) == 0 && size == b.n && size > 10); /* says 0 bytes */
  buf_free(&b);
  CHECK(f.live == 0 && unlink(path) == 0 && unlink(link) == 0 && unlink(pipe_path) == 0);
}

/* A file of another user is refused, also by root. */
static void test_owner(const char *dir) {
  struct mem m = mem_libc();
  struct fs_lock lock = { 0 };
  struct buf b;
  struct err e;
  char path[200];
  snprintf(path, sizeof path, "%s/token", dir);
  CHECK(fs_write_private(path, STR("secret"), &e) == 0);
  if (geteuid() == 0 && chown(path, 65534, 65534) == 0) {
    buf_init(&b, &m);
    CHECK(fs_read_private(path, 100, &b, &e) == -1 && strstr(e.message, "another user") != NULL && b.n == 0);
    CHECK(fs_lock(path, &lock, &e) == -1 && strstr(e.message, "another user") != NULL && !lock.held);
    buf_free(&b);
    CHECK(fs_write_private(path, STR("mine"), &e) == 0 && holds(path, "mine"));
  } else fprintf(stderr, "another user's file: not allowed here\n");
  CHECK(fs_remove_private(path, &e) == 0);
}

int main(void) {
  char dir[] = "/tmp/koine-fs-XXXXXX";
  CHECK(mkdtemp(dir) != NULL);
  test_files(dir);
  test_names(dir);
  test_private(dir);
  test_directories(dir);
  test_locks(dir);
  test_death(dir);
  test_remains(dir);
  test_cut_off(dir);
  test_kills(dir);
  test_any(dir);
  test_owner(dir);
  CHECK(rmdir(dir) == 0);
  return test_done("files/private_file");
}
