/* Tests of private files: whole files, private modes, replacement without remains, locks between processes. */
#include <errno.h>

#include "private_file_test.h"

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
  CHECK(private_file_read(path, 100, &b, &e) == -1 && e.kind == KIND_OTHER && b.n == 0);
  CHECK(strstr(e.message, path) != NULL && strstr(e.message, strerror(ENOENT)) != NULL);
  CHECK(private_file_write(path, STR("secret\0x"), &e) == 0 && stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
  CHECK(buf_adds(&b, "before ") == 0 && private_file_read(path, 8, &b, &e) == 0 && b.n == 15 &&
        memcmp(b.p + 7, "secret\0x", 8) == 0);
  CHECK(private_file_read(path, 7, &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 15);
  CHECK(chmod(path, 0644) == 0 && private_file_write(path, STR_NONE, &e) == 0 && stat(path, &st) == 0);
  CHECK(st.st_size == 0 && (st.st_mode & 0777) == 0600 && entries(dir, 0) == 1);
  b.n = 0;
  CHECK(private_file_read(path, 0, &b, &e) == 0 && b.n == 0);
  int full = 1;
  for (int i = 0; i < 300000; i++) full = full && buf_addc(&big, (char)i) == 0;
  CHECK(full && private_file_write(path, buf_str(&big), &e) == 0 && private_file_read(path, 300000, &b, &e) == 0);
  CHECK(str_same(buf_str(&b), buf_str(&big)));
  f.fail_at = 1;
  buf_free(&b);
  CHECK(private_file_read(path, 300000, &b, &e) == -1 && e.kind == KIND_MEMORY);
  snprintf(other, sizeof other, "%s/none/token", dir);
  CHECK(private_file_write(other, STR("x"), &e) == -1 && e.kind == KIND_OTHER && strstr(e.message, other) != NULL);
  snprintf(other, sizeof other, "%s/dir", dir);
  CHECK(mkdir(other, 0700) == 0 && private_file_write(other, STR("x"), &e) == -1 && e.kind == KIND_OTHER);
  CHECK(private_file_read(other, 100, &b, &e) == -1 && e.kind != KIND_LIMIT && entries(dir, 0) == 2);
  buf_free(&b);
  buf_free(&big);
  CHECK(f.live == 0 && rmdir(other) == 0 && unlink(path) == 0);
}

/* What the caller may do about a failure, by its code. */
static void test_reasons(void) {
  static const struct { int reason; const char *code; enum kind kind; } cases[] = {
    { ENOENT, "absent", KIND_OTHER }, { ENOTDIR, "absent", KIND_OTHER }, { EACCES, "denied", KIND_OTHER },
    { EPERM, "denied", KIND_OTHER }, { EROFS, "denied", KIND_OTHER }, { ENOSPC, "full", KIND_LIMIT },
    { EDQUOT, "full", KIND_LIMIT }, { EFBIG, "full", KIND_LIMIT }, { EIO, "", KIND_OTHER },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct err e;
    err_clear(&e);
    CHECK(file_fail(&e, "/a/path", cases[i].reason) == -1 && e.kind == cases[i].kind);
    CHECK(strcmp(e.code, cases[i].code) == 0 && strncmp(e.message, "/a/path: ", 9) == 0);
  }
}

/* A name without a directory, and one that is too long. */
static void test_names(const char *dir) {
  struct err e;
  char path[6000], old[4096];
  memset(path, 'x', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  CHECK(private_file_write(path, STR("x"), &e) == -1 && e.kind == KIND_OTHER);
  if (getcwd(old, sizeof old) == NULL || chdir(dir) < 0) return;
  CHECK(private_file_write("plain", STR("x"), &e) == 0 && unlink("plain") == 0 && entries(".", 0) == 0);
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
  CHECK(private_file_read(path, 100, &b, &e) == -1 && e.kind == KIND_OTHER && strcmp(e.code, "absent") == 0);
  err_clear(&e);
  CHECK(private_file_write(path, STR("secret"), &e) == 0 && private_file_read(path, 100, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "secret");
  CHECK(private_file_read(path, 5, &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 6);
  static const unsigned OPEN[] = { 0601, 0602, 0644, 0640 };
  for (int i = 0; i < 4; i++) {
    CHECK(chmod(path, OPEN[i]) == 0 && private_file_read(path, 100, &b, &e) == -1 && e.kind == KIND_OTHER);
    CHECK(strstr(e.message, path) != NULL && strstr(e.message, "others may read") != NULL && e.code[0] == '\0');
  }
  CHECK(strstr(e.message, "0640") != NULL && chmod(path, 0600) == 0);
  CHECK(symlink(path, link) == 0 && private_file_read(link, 100, &b, &e) == -1);
  CHECK(strstr(e.message, link) != NULL && strstr(e.message, "symbolic link") != NULL);
  CHECK(mkfifo(pipe_path, 0600) == 0 && private_file_read(pipe_path, 100, &b, &e) == -1);
  CHECK(strstr(e.message, "no regular file") != NULL && b.n == 6);
  CHECK(private_file_read(dir, 100, &b, &e) == -1 && strstr(e.message, "no regular file") != NULL);
  CHECK(private_file_write(link, STR("new"), &e) == -1 && strstr(e.message, "symbolic link") != NULL);
  CHECK(private_file_write(pipe_path, STR("new"), &e) == -1 && strstr(e.message, "no regular file") != NULL);
  CHECK(private_file_write("/dev/full", STR("new"), &e) == -1 && strstr(e.message, "no regular file") != NULL);
  b.n = 0;
  CHECK(private_file_read(path, 100, &b, &e) == 0);
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
  CHECK(private_directory(sub, &e) == 0 && has_mode(path, 0700) && has_mode(deep, 0700) && has_mode(sub, 0700));
  CHECK(chmod(path, 0755) == 0 && private_directory(sub, &e) == 0 && has_mode(path, 0755));
  umask(mask);
  CHECK(rmdir(sub) == 0 && private_file_write(deep, STR("x"), &e) == -1);
  snprintf(sub, sizeof sub, "%s/file", path);
  CHECK(private_file_write(sub, STR("x"), &e) == 0);
  snprintf(under, sizeof under, "%s/under", sub);
  CHECK(private_directory(under, &e) == -1 && strstr(e.message, sub) != NULL && e.kind == KIND_OTHER);
  snprintf(under, sizeof under, "%s/link", path);
  CHECK(file_link("../nowhere", under, &e) == 0 && readlink(under, deep, sizeof deep) == 10);
  CHECK(memcmp(deep, "../nowhere", 10) == 0);
  CHECK(file_link("elsewhere", under, &e) == -1 && strstr(e.message, under) != NULL && unlink(under) == 0);
  CHECK(unlink(sub) == 0);
  snprintf(deep, sizeof deep, "%s/b", path);
  CHECK(rmdir(deep) == 0 && rmdir(path) == 0);
}

static void test_locks(const char *dir) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct file_lock mine = { 0 }, other = { 0 };
  struct buf b;
  struct err e;
  char path[200], link[200];
  buf_init(&b, &m);
  err_clear(&e);
  snprintf(path, sizeof path, "%s/state", dir);
  snprintf(link, sizeof link, "%s/link", dir);
  mode_t mask = umask(0);
  CHECK(file_lock(path, &mine, &e) == 1 && has_mode(path, 0600));
  umask(mask);
  CHECK(file_lock(path, &other, &e) == 0 && !other.held);
  CHECK((fcntl(mine.fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(file_lock_read(&mine, path, 100, &b, &e) == 0 && b.n == 0);
  CHECK(file_lock_write(&mine, path, STR("a longer text"), &e) == 0 && file_lock_write(&mine, path, STR("short"), &e) == 0);
  CHECK(file_lock_read(&mine, path, 100, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "short");
  CHECK(file_lock(path, &other, &e) == 0 && has_mode(path, 0600) && entries(dir, 0) == 1); /* the lock went along */
  CHECK(file_lock_read(&mine, path, 4, &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 5);
  file_unlock(&mine);
  file_unlock(&mine);
  CHECK(file_lock(path, &other, &e) == 1);
  file_unlock(&other);
  CHECK(symlink(path, link) == 0 && file_lock(link, &mine, &e) == -1 && strstr(e.message, "symbolic link") != NULL);
  CHECK(chmod(path, 0644) == 0 && file_lock(path, &mine, &e) == -1 && strstr(e.message, "others") != NULL);
  CHECK(!mine.held && chmod(path, 0600) == 0);
  buf_free(&b);
  CHECK(f.live == 0 && unlink(path) == 0 && unlink(link) == 0);
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
  CHECK(file_read(path, 100, &b, &e) == -1 && strcmp(e.code, "absent") == 0);
  CHECK(private_file_write(path, STR("text"), &e) == 0 && chmod(path, 0644) == 0 && symlink(path, link) == 0);
  CHECK(file_read(path, 100, &b, &e) == 0 && file_read(link, 100, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "texttext");
  b.n = 0;
  CHECK(file_read(path, 3, &b, &e) == -1 && e.kind == KIND_LIMIT);
  CHECK(file_read(dir, 100, &b, &e) == -1 && strstr(e.message, strerror(EISDIR)) != NULL);
  CHECK(mkfifo(pipe_path, 0600) == 0 && file_read(pipe_path, 100, &b, &e) == -1);
  CHECK(strstr(e.message, "no regular file") != NULL && file_read("/dev/zero", 100, &b, &e) == -1 && b.n == 0);
  size_t size = 0;
  err_clear(&e);
  CHECK(file_read_start(pipe_path, 100, &b, &size, &e) == -1 && b.n == 0);
  err_clear(&e);
  CHECK(file_read_start(path, 3, &b, &size, &e) == 0 && size == 4 && b.n >= 3 && memcmp(b.p, "tex", 3) == 0);
  b.n = 0;
  CHECK(file_read_start(path, 100, &b, &size, &e) == 0 && size == 4 && b.n == 4 && e.kind == KIND_NONE);
  b.n = 0;
  CHECK(file_read_start("/proc/self/status", 10, &b, &size, &e) == 0 && size == b.n && size > 10); /* says 0 bytes */
  buf_free(&b);
  CHECK(f.live == 0 && unlink(path) == 0 && unlink(link) == 0 && unlink(pipe_path) == 0);
}

/* A file of another user is refused, also by root. */
static void test_owner(const char *dir) {
  struct mem m = mem_libc();
  struct file_lock lock = { 0 };
  struct buf b;
  struct err e;
  char path[200];
  snprintf(path, sizeof path, "%s/token", dir);
  CHECK(private_file_write(path, STR("secret"), &e) == 0);
  if (geteuid() == 0 && chown(path, 65534, 65534) == 0) {
    buf_init(&b, &m);
    CHECK(private_file_read(path, 100, &b, &e) == -1 && strstr(e.message, "another user") != NULL && b.n == 0);
    CHECK(file_lock(path, &lock, &e) == -1 && strstr(e.message, "another user") != NULL && !lock.held);
    buf_free(&b);
    CHECK(private_file_write(path, STR("mine"), &e) == 0 && holds(path, "mine"));
  } else fprintf(stderr, "another user's file: not allowed here\n");
  CHECK(private_file_remove(path, &e) == 0);
}

int main(void) {
  char dir[FOLDER_MAX];
  CHECK(folder_new(dir) == 0);
  test_files(dir);
  test_reasons();
  test_names(dir);
  test_private(dir);
  test_directories(dir);
  test_locks(dir);
  test_any(dir);
  test_owner(dir);
  CHECK(rmdir(dir) == 0);
  return test_done("files/private_file");
}
