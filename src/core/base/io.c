/*
** io.c: reading and writing descriptors to the end. Owns nothing. Failure: a word for it, or -1, and errno.
*/
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io.h"

#define READ_STEP 16384

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int forks_count; /* whether they do; written once */
static atomic_uint forks; /* above this process */

static void in_child(void) { forks++; }

static void watch_forks(void) { forks_count = pthread_atfork(NULL, NULL, in_child) == 0; }

/* The process's own id where forks cannot be counted. */
unsigned io_process(void) {
  pthread_once(&fork_once, watch_forks);
  return forks_count ? atomic_load_explicit(&forks, memory_order_relaxed) : (unsigned)getpid();
}

int io_open_at(int dir, const char *path, int flags, mode_t mode) {
  int fd;
  do fd = openat(dir, path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

int io_open(const char *path, int flags, mode_t mode) { return io_open_at(AT_FDCWD, path, flags, mode); }

int io_peer_port(int fd) {
  union { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; struct sockaddr_storage room; } a = { { 0 } };
  socklen_t n = sizeof a;
  if (getpeername(fd, &a.any, &n) != 0) return 0;
  switch (a.any.sa_family) {
    case AF_INET: return ntohs(a.v4.sin_port);
    case AF_INET6: return ntohs(a.v6.sin6_port);
    default: return -1;
  }
}

#ifdef __linux__
#define SYNC_DATA fdatasync
#else
#define SYNC_DATA fsync
#endif

int io_sync(int fd, int data_only) {
  int r;
  do r = data_only ? SYNC_DATA(fd) : fsync(fd);
  while (r < 0 && errno == EINTR);
  return r;
}

int io_lock(int fd, int operation) {
  int r;
  do r = flock(fd, operation);
  while (r < 0 && errno == EINTR);
  return r;
}

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

static int is_pending(int sig) {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, sig) == 1;
}

ssize_t io_write_quietly(int fd, const char *bytes, size_t n) {
  sigset_t broken, before;
  int sig;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  int pending = is_pending(SIGPIPE);
  ssize_t put = write(fd, bytes, n);
  int reason = errno;
  if (put < 0 && reason == EPIPE && !pending && is_pending(SIGPIPE)) sigwait(&broken, &sig);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = reason;
  return put;
}

static pthread_mutex_t quiet_lock = PTHREAD_MUTEX_INITIALIZER;
static int quiet_count; /* under quiet_lock */

/* A handler in place of SIG_IGN, which programs that the host starts would inherit. */
static void do_nothing(int sig) { (void)sig; }

static void replace_handler(void (*expected)(int), void (*handler)(int)) {
  struct sigaction act;
  if (sigaction(SIGPIPE, NULL, &act) != 0 || (act.sa_flags & SA_SIGINFO) || act.sa_handler != expected) return;
  act.sa_handler = handler;
  act.sa_flags = SA_RESTART;
  sigemptyset(&act.sa_mask);
  (void)sigaction(SIGPIPE, &act, NULL);
}

void io_begin_quiet(void) {
  pthread_mutex_lock(&quiet_lock);
  if (quiet_count++ == 0) replace_handler(SIG_DFL, do_nothing);
  pthread_mutex_unlock(&quiet_lock);
}

void io_end_quiet(void) {
  pthread_mutex_lock(&quiet_lock);
  if (--quiet_count == 0) replace_handler(do_nothing, SIG_DFL);
  pthread_mutex_unlock(&quiet_lock);
}
