/*
** log.c: lines at the end of a file, and the file's renaming where it is long. Two processes that find it long at once
** rename it once: the second one sees under the lock that the file at the path is another one. A line that was cut off, by a
** full disk or the end of its process, is ended before the next one, so that it costs no other. Owns the descriptor.
*/
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/io.h"
#include "log.h"

#define PATH_SIZE 4096

#define LOOKS 5 /* at a line without an end, a millisecond apart */

/* Whether the file ends within a line, and not because another process is writing it just now. */
static int is_cut(int fd) {
  static const struct timespec PAUSE = { 0, 1000000 };
  struct stat st;
  char last = '\n';
  for (int i = 0; i < LOOKS; i++) {
    if (i > 0) nanosleep(&PAUSE, NULL);
    if (fstat(fd, &st) < 0 || st.st_size == 0 || pread(fd, &last, 1, st.st_size - 1) != 1 || last == '\n') return 0;
  }
  return 1;
}

int log_open(struct log *l, const char *path, struct err *e) {
  struct stat st;
  int fd = io_open(path, O_RDWR | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0600);
  if (fd < 0) return file_fail(e, path, errno);
  int reason = fstat(fd, &st) < 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
  if (reason != 0) {
    close(fd);
    return file_fail(e, path, reason);
  }
  l->fd = fd;
  l->open = 1;
  l->cut = is_cut(fd);
  return 0;
}

void log_close(struct log *l) {
  if (l->open) close(l->fd);
  l->open = 0;
}

/* Whether the open file is the one at the path; *size: how many bytes it has. */
static int in_place(const struct log *l, const char *path, off_t *size) {
  struct stat own, there;
  if (fstat(l->fd, &own) < 0 || stat(path, &there) < 0) return 0;
  *size = own.st_size;
  return own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

/* Renames the file at the path, unless somebody else did: 0, or -1. */
static int rename_away(const struct log *l, const char *path, struct err *e) {
  char older[PATH_SIZE];
  off_t size;
  int failed = 0;
  if (snprintf(older, sizeof older, "%s.1", path) >= (int)sizeof older) return file_fail(e, path, ENAMETOOLONG);
  (void)io_lock(l->fd, LOCK_EX);
  if (in_place(l, path, &size) && rename(path, older) < 0) failed = errno;
  io_lock(l->fd, LOCK_UN);
  return failed ? file_fail(e, path, failed) : 0;
}

static int reopen(struct log *l, const char *path, struct err *e) {
  log_close(l);
  return log_open(l, path, e);
}

/* Ends a line that was cut off. A line end too many harms nobody: 0, or -1. */
static int end_line(struct log *l) {
  if (io_write(l->fd, (struct str){ "\n", 1 }) < 0) return -1;
  l->cut = 0;
  return 0;
}

/* Adds whole lines: 0, or -1 and errno. */
static int add(struct log *l, struct str bytes) {
  if (l->cut && end_line(l) < 0) return -1;
  if (io_write(l->fd, bytes) == 0) return 0;
  int reason = errno;
  l->cut = 1;
  (void)end_line(l); /* else before the next one */
  errno = reason;
  return -1;
}

int log_append(struct log *l, const char *path, struct str bytes, size_t rotate, struct err *e) {
  off_t size = 0;
  if (!l->open && log_open(l, path, e) < 0) return -1;
  if (!in_place(l, path, &size)) {
    if (reopen(l, path, e) < 0) return -1;
  } else if (rotate > 0 && size >= (off_t)rotate) {
    if (rename_away(l, path, e) < 0 || reopen(l, path, e) < 0) return -1;
  }
  return add(l, bytes) < 0 ? file_fail(e, path, errno) : 0;
}
