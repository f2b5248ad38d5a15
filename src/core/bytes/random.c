/*
** random.c: bytes that nobody can guess: getentropy, which glibc, musl, macOS and the BSDs have. Owns nothing. Failure:
** -1 for too many bytes, and where the system has none.
** What random_id has drawn and not given yet is a thread's own. It belongs to one process: a fork forgets it.
*/
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include "random.h"

int random_fill(void *bytes, size_t n) {
  return getentropy(bytes, n);
}

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int forks_count; /* whether they do */
static atomic_uint forks; /* above this process */

static void in_child(void) { forks++; }

static void watch_forks(void) { forks_count = pthread_atfork(NULL, NULL, in_child) == 0; }

int random_id(void *bytes, size_t n) {
  static _Thread_local struct {
    char bytes[RANDOM_MAX];
    size_t left;
    unsigned forks;
  } drawn;
  pthread_once(&fork_once, watch_forks);
  if (!forks_count || n > RANDOM_MAX) return random_fill(bytes, n);
  if (drawn.forks != forks || drawn.left < n) {
    drawn.left = 0;
    if (random_fill(drawn.bytes, RANDOM_MAX) != 0) return -1;
    drawn.left = RANDOM_MAX;
    drawn.forks = forks;
  }
  drawn.left -= n;
  memcpy(bytes, drawn.bytes + drawn.left, n);
  return 0;
}
