/*
** random.c: bytes that nobody can guess: getentropy, which glibc, musl, macOS and the BSDs have. Owns nothing. Failure:
** -1 for too many bytes, and where the system has none.
** What random_id has drawn and not given yet is a thread's own. It belongs to one process: a fork forgets it.
*/
#include <string.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include "core/base/io.h"
#include "random.h"

int random_fill(void *bytes, size_t n) {
  return getentropy(bytes, n);
}

int random_id(void *bytes, size_t n) {
  static _Thread_local struct {
    char bytes[RANDOM_MAX];
    size_t left;
    unsigned process;
  } drawn;
  if (n > RANDOM_MAX) return random_fill(bytes, n);
  if (drawn.process != io_process() || drawn.left < n) {
    drawn.left = 0;
    if (random_fill(drawn.bytes, RANDOM_MAX) != 0) return -1;
    drawn.left = RANDOM_MAX;
    drawn.process = io_process();
  }
  drawn.left -= n;
  memcpy(bytes, drawn.bytes + drawn.left, n);
  return 0;
}
