/*
** journal.c: the end of a locked file: read from where a reader stopped, replaced by a record that is on the disk when it
** returns. Owns nothing; the descriptor is the lock's.
*/
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/io.h"
#include "journal.h"

#define READ_STEP 65536

int journal_read(const struct file_lock *l, const char *path, size_t offset, size_t max, struct buf *b, struct err *e) {
  size_t before = b->n;
  while (b->n - before < max) {
    size_t step = max - (b->n - before);
    if (step > READ_STEP) step = READ_STEP;
    ssize_t n = -1;
    int room = buf_reserve(b, step);
    if (room == 0) n = pread(l->fd, b->p + b->n, step, (off_t)(offset + (b->n - before)));
    if (room == 0 && n < 0 && errno == EINTR) continue;
    if (n == 0) break;
    if (n < 0) {
      b->n = before;
      return room < 0 ? err_memory(e) : file_fail(e, path, errno);
    }
    b->n += (size_t)n;
  }
  return 0;
}

/* Writes all at an offset: 0, or -1 and errno. */
static int write_at(int fd, struct str bytes, size_t offset) {
  while (bytes.n > 0) {
    ssize_t n = pwrite(fd, bytes.p, bytes.n, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    bytes.p += n;
    bytes.n -= (size_t)n;
    offset += (size_t)n;
  }
  return 0;
}

/* Ends the file at an offset: 0, or -1 and errno. */
static int cut(int fd, size_t offset) {
  int r;
  do r = ftruncate(fd, (off_t)offset);
  while (r < 0 && errno == EINTR);
  return r;
}

int journal_append(const struct file_lock *l, const char *path, size_t mark, size_t offset, struct str bytes, struct err *e) {
  char whole[8];
  struct stat st;
  for (int i = 0; i < 8; i++) whole[i] = (char)((uint64_t)offset >> (8 * i) & 0xff);
  if (fstat(l->fd, &st) < 0 || (st.st_size > (off_t)offset && cut(l->fd, offset) < 0))
    return file_fail(e, path, errno);
  if (write_at(l->fd, (struct str){ whole, sizeof whole }, mark) == 0 && write_at(l->fd, bytes, offset) == 0 &&
      io_sync(l->fd, 1) == 0)
    return 0;
  int reason = errno;
  (void)cut(l->fd, offset); /* where that fails too, the file ends with a cut record */
  return file_fail(e, path, reason);
}

int journal_stamp(const char *path, char *stamp, struct err *e) {
  struct stat st;
  if (stat(path, &st) < 0) return file_fail(e, path, errno);
#ifdef __APPLE__
  long part = st.st_mtimespec.tv_nsec;
#else
  long part = st.st_mtim.tv_nsec;
#endif
  snprintf(stamp, STAMP_MAX, "%llu:%lld:%lld.%ld", (unsigned long long)st.st_ino, (long long)st.st_size,
           (long long)st.st_mtime, part);
  return 0;
}
