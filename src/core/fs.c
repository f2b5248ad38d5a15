/*
** fs.c: reading whole files, and replacing private ones so that nobody ever sees half of one.
** May call: mem, err, the system. Descriptors are closed before it returns. Failure: -1 and an err; a file that was to
** be replaced is then as it was, and no temporary file is left.
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

#define READ_STEP 16384

static int fail(struct err *e, const char *path, int reason) {
  return err_set(e, KIND_OTHER, "%s: %s", path, strerror(reason));
}

static int read_all(int fd, const char *path, size_t max, struct buf *b, struct err *e) {
  size_t before = b->n;
  for (;;) {
    if (buf_reserve(b, READ_STEP) < 0) return err_memory(e);
    ssize_t n = read(fd, b->p + b->n, READ_STEP);
    if (n == 0) return 0;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(e, path, errno);
    b->n += (size_t)n;
    if (b->n - before > max) return err_set(e, KIND_LIMIT, "%s: larger than %zu bytes", path, max);
  }
}

/* Appends the file's bytes to b: 0, or -1 and b as long as before. */
int fs_read(const char *path, size_t max, struct buf *b, struct err *e) {
  size_t before = b->n;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(e, path, errno);
  int r = read_all(fd, path, max, b, e);
  close(fd);
  if (r < 0) b->n = before;
  return r;
}

/* Writes everything and flushes it to the disk: 0, or -1 and errno. */
static int write_all(int fd, struct str bytes) {
  while (bytes.n > 0) {
    ssize_t n = write(fd, bytes.p, bytes.n);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    bytes.p += n;
    bytes.n -= (size_t)n;
  }
  return fsync(fd);
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
  int reason = write_all(fd, bytes) < 0 ? errno : 0;
  if (close(fd) < 0 && reason == 0) reason = errno;
  if (reason == 0 && rename(tmp, path) < 0) reason = errno;
  if (reason != 0) {
    unlink(tmp);
    return fail(e, path, reason);
  }
  flush_directory(tmp);
  return 0;
}
