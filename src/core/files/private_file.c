/*
** private_file.c: reading whole private files, replacing them so that nobody ever sees half of one, and files under a lock.
** Descriptors are closed before it returns, but for a lock's. Failure: -1 and an err; a file that was to be replaced is
** then as it was, and no temporary file is left.
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private_file.h"
#include "core/base/io.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

static int fail(struct err *e, const char *path, int reason) {
  if (reason == ENOENT) memcpy(e->code, "absent", sizeof "absent");
  return err_set(e, KIND_OTHER, "%s: %s", path, strerror(reason));
}

/* Appends all that the descriptor has: 0, or -1. */
static int read_all(int fd, const char *path, size_t max, struct buf *b, struct err *e) {
  switch (io_read(fd, max, b)) {
    case IO_DONE: return 0;
    case IO_LARGER: return err_set(e, KIND_LIMIT, "%s: larger than %zu bytes", path, max);
    case IO_MEMORY: return err_memory(e);
    default: return fail(e, path, errno);
  }
}

/* Opens a file that is the owner's alone; `flags` beside those that make it safe. The descriptor, or -1. */
static int open_private(const char *path, int flags, struct err *e) {
  struct stat st;
  int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600); /* a pipe would block */
  if (fd < 0 && errno == ELOOP) return err_set(e, KIND_OTHER, "%s: refused: it is a symbolic link", path);
  if (fd < 0) return fail(e, path, errno);
  if (fstat(fd, &st) < 0) fail(e, path, errno);
  else if (!S_ISREG(st.st_mode)) err_set(e, KIND_OTHER, "%s: refused: it is no regular file", path);
  else if ((st.st_mode & 077) != 0)
    err_set(e, KIND_OTHER, "%s: refused: others may read or write it (its mode is %04o, 0600 is needed)", path,
            (unsigned)(st.st_mode & 07777));
  else return fd;
  close(fd);
  return -1;
}

/* Appends the bytes of a file that is the owner's alone to b: 0, or -1 and b as long as before. */
int fs_read_private(const char *path, size_t max, struct buf *b, struct err *e) {
  size_t before = b->n;
  int fd = open_private(path, O_RDONLY, e), r;
  if (fd < 0) return -1;
  r = read_all(fd, path, max, b, e);
  close(fd);
  if (r < 0) b->n = before;
  return r;
}

/* Flushes the directory that holds path, so that the rename survives a crash; where that is impossible, nothing. */
static void flush_directory(char *path) {
  char *slash = strrchr(path, '/');
  if (slash != NULL) slash[slash == path] = '\0';
  int fd = open(slash != NULL ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  close(fd);
}

/* Replaces the file at path by one that only its owner can read: 0, or -1. */
int fs_write_private(const char *path, struct str bytes, struct err *e) {
  char tmp[PATH_MAX];
  int n = snprintf(tmp, sizeof tmp, "%s.XXXXXX", path);
  if (n < 0 || (size_t)n >= sizeof tmp) return fail(e, path, ENAMETOOLONG);
  int fd = mkostemp(tmp, O_CLOEXEC); /* makes it with mode 0600 */
  if (fd < 0) return fail(e, path, errno);
  int reason = io_write(fd, bytes) < 0 || fsync(fd) < 0 ? errno : 0;
  if (close(fd) < 0 && reason == 0) reason = errno;
  if (reason == 0 && rename(tmp, path) < 0) reason = errno;
  if (reason != 0) {
    unlink(tmp);
    return fail(e, path, reason);
  }
  flush_directory(tmp);
  return 0;
}

/* {{{ directories, locks */

/* Makes one directory, or finds it there: 0, or -1 and errno. */
static int make_directory(const char *path) {
  struct stat st;
  if (mkdir(path, 0700) == 0) return 0;
  if (errno != EEXIST || stat(path, &st) < 0) return -1;
  errno = ENOTDIR;
  return S_ISDIR(st.st_mode) ? 0 : -1;
}

/* Makes the directory and those above it that are missing: 0, or -1. */
int fs_directory_private(const char *path, struct err *e) {
  char part[PATH_MAX];
  size_t n = strlen(path);
  if (n >= sizeof part) return fail(e, path, ENAMETOOLONG);
  memcpy(part, path, n + 1);
  for (size_t i = 1; i <= n; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    char end = part[i];
    part[i] = '\0';
    if (make_directory(part) < 0) return fail(e, part, errno);
    part[i] = end;
  }
  return 0;
}

int fs_link(const char *target, const char *path, struct err *e) {
  return symlink(target, path) < 0 ? fail(e, path, errno) : 0;
}

/* True when the path still names the file of this descriptor. */
static int is_current(int fd, const char *path) {
  struct stat mine, there;
  return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

/* 1 when the file is ours alone from now on, 0 when it is someone else's, or -1. */
int fs_lock(const char *path, struct fs_lock *l, struct err *e) {
  int fd = open_private(path, O_RDWR | O_CREAT, e);
  if (fd < 0) return -1;
  int locked = flock(fd, LOCK_EX | LOCK_NB) == 0, reason = errno;
  if (locked && is_current(fd, path)) {
    *l = (struct fs_lock){ .fd = fd, .held = 1 };
    return 1;
  }
  close(fd);
  return locked || reason == EWOULDBLOCK || reason == EINTR ? 0 : fail(e, path, reason);
}

/* Appends the locked file to b: 0, or -1 and b as long as before. */
int fs_lock_read(const struct fs_lock *l, const char *path, size_t max, struct buf *b, struct err *e) {
  size_t before = b->n;
  if (lseek(l->fd, 0, SEEK_SET) < 0) return fail(e, path, errno);
  if (read_all(l->fd, path, max, b, e) == 0) return 0;
  b->n = before;
  return -1;
}

/* Replaces the locked file's bytes: 0, or -1 and the file may hold anything. */
int fs_lock_write(const struct fs_lock *l, const char *path, struct str bytes, struct err *e) {
  if (lseek(l->fd, 0, SEEK_SET) < 0 || io_write(l->fd, bytes) < 0 || ftruncate(l->fd, (off_t)bytes.n) < 0)
    return fail(e, path, errno);
  return 0;
}

void fs_unlock(struct fs_lock *l) {
  if (l->held) close(l->fd);
  l->held = 0;
}

/* }}} */
