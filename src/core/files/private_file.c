/*
** private_file.c: reading whole files, replacing private ones so that no reader sees half of one, and files under a lock.
** A file is written without a name where the system has that, else under a name beside its own (NAME.new-0 to -7), and
** locked meanwhile. So a process that is killed leaves nothing, or a file without a lock, which the next one to
** write there removes. Descriptors are closed before it returns, but for a lock's. Failure: -1 and an err; a file that was
** to be replaced is then as it was, and none is left beside it.
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

#define BESIDE 8 /* names beside a file, for as many processes that write it at the same time */

/* A disk, a quota or a limit on files that leaves no room. */
static int is_full(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

/* Rights, or a file system that is read-only. */
static int is_denied(int reason) { return reason == EACCES || reason == EPERM || reason == EROFS; }

int file_fail(struct err *e, const char *path, int reason) {
  if (is_denied(reason)) memcpy(e->code, "denied", sizeof "denied");
  if (reason == ENOENT || reason == ENOTDIR) memcpy(e->code, "absent", sizeof "absent");
  if (is_full(reason)) memcpy(e->code, "full", sizeof "full");
  return err_set(e, is_full(reason) ? KIND_LIMIT : KIND_OTHER, "%s: %s", path, strerror(reason));
}

/* Appends all that the descriptor has: 0, or -1. */
static int read_all(int fd, const char *path, size_t max, struct buf *b, struct err *e) {
  switch (io_read(fd, max, b)) {
    case IO_DONE: return 0;
    case IO_LARGER: return err_set(e, KIND_LIMIT, "%s: larger than %zu bytes", path, max);
    case IO_MEMORY: return err_memory(e);
    default: return file_fail(e, path, errno);
  }
}

/* Opens a file that is ours alone; `flags` beside those that make it safe. The descriptor, or -1. */
static int open_private(const char *path, int flags, struct err *e) {
  struct stat st;
  int fd = io_open(path, flags | O_NOFOLLOW | O_NONBLOCK, 0600); /* a pipe would block */
  if (fd < 0 && errno == ELOOP) return err_set(e, KIND_OTHER, "%s: refused: it is a symbolic link", path);
  if (fd < 0) return file_fail(e, path, errno);
  if (fstat(fd, &st) < 0) file_fail(e, path, errno);
  else if (!S_ISREG(st.st_mode)) err_set(e, KIND_OTHER, "%s: refused: it is no regular file", path);
  else if (st.st_uid != geteuid()) err_set(e, KIND_OTHER, "%s: refused: it belongs to another user", path);
  else if ((st.st_mode & 077) != 0)
    err_set(e, KIND_OTHER, "%s: refused: others may read or write it (its mode is %04o, 0600 is needed)", path,
            (unsigned)(st.st_mode & 07777));
  else return fd;
  close(fd);
  return -1;
}

/* Appends the bytes of a file that is the owner's alone to b: 0, or -1 and b as long as before. */
int private_file_read(const char *path, size_t max, struct buf *b, struct err *e) {
  size_t before = b->n;
  int fd = open_private(path, O_RDONLY, e), r;
  if (fd < 0) return -1;
  r = read_all(fd, path, max, b, e);
  close(fd);
  if (r < 0) b->n = before;
  return r;
}

/* Opens a regular file to read; *size: its bytes. The descriptor, or -1. */
static int open_regular(const char *path, size_t *size, struct err *e) {
  struct stat st;
  int fd = io_open(path, O_RDONLY | O_NONBLOCK, 0); /* a pipe would block */
  if (fd < 0) return file_fail(e, path, errno);
  if (fstat(fd, &st) < 0) file_fail(e, path, errno);
  else if (S_ISDIR(st.st_mode)) file_fail(e, path, EISDIR);
  else if (!S_ISREG(st.st_mode)) err_set(e, KIND_OTHER, "%s: it is no regular file", path);
  else {
    *size = (size_t)st.st_size;
    return fd;
  }
  close(fd);
  return -1;
}

/* Appends the bytes of a regular file to b: 0, or -1 and b as long as before. */
int file_read(const char *path, size_t max, struct buf *b, struct err *e) {
  size_t before = b->n, size;
  int fd = open_regular(path, &size, e), r;
  if (fd < 0) return -1;
  r = read_all(fd, path, max, b, e);
  close(fd);
  if (r < 0) b->n = before;
  return r;
}

/* A file that the system makes up as it is read says that it has no bytes: then those that came count. */
int file_read_start(const char *path, size_t max, struct buf *b, size_t *size, struct err *e) {
  size_t before = b->n;
  int fd = open_regular(path, size, e), r;
  if (fd < 0) return -1;
  r = read_all(fd, path, max, b, e);
  close(fd);
  if (r < 0 && e->kind != KIND_LIMIT) {
    b->n = before;
    return -1;
  }
  if (b->n - before > *size) *size = b->n - before;
  err_clear(e);
  return 0;
}

/* {{{ replacing */

/* True when the path still names the file of this descriptor. */
static int is_current(int fd, const char *path) {
  struct stat mine, there;
  return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

/* Writes the i-th name beside path: 0, or -1 where it is too long. */
static int name_beside(char *name, const char *path, int i) {
  int n = snprintf(name, PATH_MAX, "%s.new-%d", path, i);
  return n < 0 || n >= PATH_MAX ? -1 : 0;
}

/* Removes what processes that were killed have left beside path: files of ours that are not locked. */
static void remove_remains(const char *path) {
  char name[PATH_MAX];
  struct stat st;
  for (int i = 0; i < BESIDE && name_beside(name, path, i) == 0; i++) {
    int fd = io_open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) continue;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        io_lock(fd, LOCK_EX | LOCK_NB) == 0 && is_current(fd, name))
      unlink(name);
    close(fd);
  }
}

/* Makes a locked file without a name, for link_beside: its descriptor, or -1 where the system has none. */
static int open_unnamed(const char *path) {
#ifdef O_TMPFILE
  char directory[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
  if (n >= sizeof directory) return -1;
  memcpy(directory, n == 0 ? "." : path, n == 0 ? 1 : n);
  directory[n == 0 ? 1 : n] = '\0';
  int fd = io_open(directory, O_TMPFILE | O_RDWR, 0600);
  if (fd >= 0) (void)io_lock(fd, LOCK_EX | LOCK_NB);
  return fd;
#else
  (void)path;
  return -1;
#endif
}

/* Gives a file without a name one beside path: 0 and the name, or -1 and errno. */
static int link_beside(int fd, const char *path, char *name) {
  char own[40];
  snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
  errno = ENAMETOOLONG;
  for (int i = 0; i < BESIDE && name_beside(name, path, i) == 0; i++) {
    if (linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != EEXIST) return -1;
  }
  return -1;
}

/* Makes a locked file with a name beside path: its descriptor and the name, or -1 and errno. */
static int open_beside(const char *path, char *name) {
  errno = ENAMETOOLONG;
  for (int i = 0; i < BESIDE && name_beside(name, path, i) == 0; i++) {
    int fd = io_open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST) return -1;
    if (fd < 0) continue;
    if (io_lock(fd, LOCK_EX | LOCK_NB) == 0 ? is_current(fd, name) : errno != EWOULDBLOCK) return fd;
    close(fd); /* someone else took it for remains before it was locked */
    errno = EEXIST;
  }
  return -1;
}

/* Writes a new file that is on the disk: 0, or -1 and errno. */
static int fill(int fd, struct str bytes) {
  return fchmod(fd, 0600) < 0 || io_write(fd, bytes) < 0 || io_sync(fd, 0) < 0 ? -1 : 0;
}

/* Makes a file of these bytes beside path, locked: its descriptor and its name, or -1 and errno. */
static int make_beside(const char *path, struct str bytes, char *name) {
  int fd = open_unnamed(path), reason;
  if (fd >= 0 && fill(fd, bytes) == 0 && link_beside(fd, path, name) == 0) return fd;
  if (fd >= 0) close(fd); /* there may be no /proc to link it by */
  fd = open_beside(path, name);
  if (fd < 0 || fill(fd, bytes) == 0) return fd;
  reason = errno;
  unlink(name);
  close(fd);
  errno = reason;
  return -1;
}

/* Flushes the directory that holds path, so that the rename survives a crash; where that is impossible, nothing. */
static void flush_directory(char *path) {
  char *slash = strrchr(path, '/');
  if (slash != NULL) slash[slash == path] = '\0';
  int fd = io_open(slash != NULL ? path : ".", O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0) return;
  (void)io_sync(fd, 0);
  close(fd);
}

/* 0 where there is a regular file, or nothing: anything else of that name belongs to another program, and stays. Else -1. */
static int check_replaced(const char *path, struct err *e) {
  struct stat st;
  if (lstat(path, &st) < 0 || S_ISREG(st.st_mode)) return 0;
  if (S_ISDIR(st.st_mode)) return file_fail(e, path, EISDIR);
  return err_set(e, KIND_OTHER, "%s: refused: it is %s", path,
                 S_ISLNK(st.st_mode) ? "a symbolic link" : "no regular file");
}

/* Replaces the file at path by one of these bytes, which is locked: its descriptor, or -1. */
static int replace(const char *path, struct str bytes, struct err *e) {
  char name[PATH_MAX];
  if (check_replaced(path, e) < 0) return -1;
  remove_remains(path);
  int fd = make_beside(path, bytes, name);
  if (fd < 0) return file_fail(e, path, errno == EEXIST ? EBUSY : errno);
  if (rename(name, path) < 0) {
    int reason = errno;
    unlink(name);
    close(fd);
    return file_fail(e, path, reason);
  }
  flush_directory(name);
  return fd;
}

/* Replaces the file at path by one that only its owner can read: 0, or -1. */
int private_file_write(const char *path, struct str bytes, struct err *e) {
  int fd = replace(path, bytes, e);
  if (fd < 0) return -1;
  return close(fd) < 0 ? file_fail(e, path, errno) : 0;
}

/* Removes the file, and what was left beside it: 0, also where there is none, or -1. */
int private_file_remove(const char *path, struct err *e) {
  remove_remains(path);
  return unlink(path) == 0 || errno == ENOENT ? 0 : file_fail(e, path, errno);
}

/* }}} */

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
int private_directory(const char *path, struct err *e) {
  char part[PATH_MAX];
  size_t n = strlen(path);
  if (n >= sizeof part) return file_fail(e, path, ENAMETOOLONG);
  memcpy(part, path, n + 1);
  for (size_t i = 1; i <= n; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    char end = part[i];
    part[i] = '\0';
    if (make_directory(part) < 0) return file_fail(e, part, errno);
    part[i] = end;
  }
  return 0;
}

/* Bytes of the path up to the end of its last name: with a slash or a "/." behind it, a link would be followed. */
static size_t last_name_end(const char *path) {
  size_t n = strlen(path);
  while (n > 1 && (path[n - 1] == '/' || (path[n - 1] == '.' && path[n - 2] == '/'))) n--;
  return n;
}

int private_directory_only(const char *path, struct err *e) {
  struct stat st;
  char name[PATH_MAX];
  if (private_directory(path, e) < 0) return -1;
  snprintf(name, sizeof name, "%.*s", (int)last_name_end(path), path);
  int fd = io_open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0), r = -1;
  if (fd < 0 && (errno == ELOOP || (lstat(name, &st) == 0 && S_ISLNK(st.st_mode))))
    return err_set(e, KIND_OTHER, "%s: refused: it is a symbolic link", path);
  if (fd < 0) return file_fail(e, path, errno);
  if (fstat(fd, &st) < 0) file_fail(e, path, errno);
  else if (st.st_uid != geteuid()) err_set(e, KIND_OTHER, "%s: refused: it belongs to another user", path);
  else if ((st.st_mode & 077) != 0)
    err_set(e, KIND_OTHER, "%s: refused: others may read or write it (its mode is %04o, 0700 is needed)", path,
            (unsigned)(st.st_mode & 07777));
  else r = 0;
  close(fd);
  return r;
}

int file_link(const char *target, const char *path, struct err *e) {
  return symlink(target, path) < 0 ? file_fail(e, path, errno) : 0;
}

/* 1 when the file is ours alone from now on, 0 when it is someone else's, or -1. */
int file_lock(const char *path, struct file_lock *l, struct err *e) {
  int fd = open_private(path, O_RDWR | O_CREAT, e);
  if (fd < 0) return -1;
  int locked = io_lock(fd, LOCK_EX | LOCK_NB) == 0, reason = errno;
  if (locked && is_current(fd, path)) {
    *l = (struct file_lock){ .fd = fd, .held = 1 };
    return 1;
  }
  close(fd);
  return locked || reason == EWOULDBLOCK ? 0 : file_fail(e, path, reason);
}

/* Appends the locked file to b: 0, or -1 and b as long as before. */
int file_lock_read(const struct file_lock *l, const char *path, size_t max, struct buf *b, struct err *e) {
  size_t before = b->n;
  if (lseek(l->fd, 0, SEEK_SET) < 0) return file_fail(e, path, errno);
  if (read_all(l->fd, path, max, b, e) == 0) return 0;
  b->n = before;
  return -1;
}

/* Replaces the locked file by another, which is locked before it has the name: 0, or -1 and the file as it was. */
int file_lock_write(struct file_lock *l, const char *path, struct str bytes, struct err *e) {
  int fd = replace(path, bytes, e);
  if (fd < 0) return -1;
  close(l->fd);
  l->fd = fd;
  return 0;
}

void file_unlock(struct file_lock *l) {
  if (l->held) close(l->fd);
  l->held = 0;
}

/* }}} */
