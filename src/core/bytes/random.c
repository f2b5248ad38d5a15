/*
** random.c: bytes that nobody can guess: getentropy, which glibc, musl, macOS and the BSDs have. Owns nothing. Failure:
** -1 for too many bytes, and where the system has none.
*/
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include "random.h"

int random_fill(void *bytes, size_t n) {
  return getentropy(bytes, n);
}
