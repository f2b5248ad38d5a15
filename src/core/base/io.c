/*
** io.c: reading and writing descriptors to the end. Owns nothing. Failure: a word for it, or -1, and errno.
*/
#include <errno.h>
#include <unistd.h>

#include "io.h"

#define READ_STEP 16384

enum io io_read(int fd, size_t max, struct buf *b) {
  size_t before = b->n;
  for (;;) {
    if (buf_reserve(b, READ_STEP) < 0) return IO_MEMORY;
    ssize_t n = read(fd, b->p + b->n, READ_STEP);
    if (n == 0) return IO_DONE;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IO_FAILED;
    b->n += (size_t)n;
    if (b->n - before > max) return IO_LARGER;
  }
}

int io_write(int fd, struct str bytes) {
  while (bytes.n > 0) {
    ssize_t n = write(fd, bytes.p, bytes.n);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    bytes.p += n;
    bytes.n -= (size_t)n;
  }
  return 0;
}
