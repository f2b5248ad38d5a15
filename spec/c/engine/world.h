/* world.h: what the tests of pipes share: both ends of a socket, the pipe at one of them, and counted memory. */
#ifndef KOINE_SPEC_C_ENGINE_WORLD_H
#define KOINE_SPEC_C_ENGINE_WORLD_H

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/engine/pipe.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/test.h"

/* Both ends of a socket, and the pipe at one of them. */
static struct world {
  struct failing f;
  struct mem m;
  struct pollset *poll;
  struct news news;
  struct pipe pipe;
  int near, far;
  const char *put_off;     /* what the last write put off, and how much */
  size_t put_off_n, most;  /* bytes that a read or write takes at most */
  int moved, reads;        /* put-off bytes that came from elsewhere; calls */
  int finished;            /* calls */
} w;

static inline long read_near(void *ud, char *p, size_t n, struct err *e) {
  (void)ud;
  w.reads++;
  long got = recv(w.near, p, n < w.most ? n : w.most, 0);
  if (got >= 0) return got;
  return errno == EAGAIN ? PIPE_AGAIN : err_set(e, KIND_CONNECT, "cannot read");
}

static inline long write_near(void *ud, const char *p, size_t n, struct err *e) {
  (void)ud;
  if (w.put_off != NULL && (p != w.put_off || n != w.put_off_n)) w.moved++;
  long put = send(w.near, p, n < w.most ? n : w.most, MSG_NOSIGNAL);
  w.put_off = put < 0 && errno == EAGAIN ? p : NULL;
  w.put_off_n = n;
  if (put >= 0) return put;
  return errno == EAGAIN ? PIPE_AGAIN : err_set(e, KIND_CONNECT, "cannot write");
}

static inline void finish_near(void *ud) {
  (void)ud;
  w.finished++;
}

static const struct pipe_io NEAR = { read_near, write_near, finish_near };

static inline void begin(size_t high_water, size_t line_max) {
  int fd[2] = { -1, -1 };
  struct err e;
  memset(&w, 0, sizeof w);
  w.m = failing_mem(&w.f);
  w.most = SIZE_MAX;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0);
  w.near = fd[0], w.far = fd[1];
  w.poll = pollset_new(&w.m, &e);
  pipe_init(&w.pipe, &w.m, w.poll, &w.news, high_water, line_max);
  pipe_open(&w.pipe, &NEAR, &w, w.near, w.near);
}

static inline void end(void) {
  pipe_free(&w.pipe);
  pollset_forget(w.poll, &w.news);
  pollset_free(w.poll);
  close(w.near);
  if (w.far >= 0) close(w.far);
  CHECK(w.f.live == 0 && w.f.wrong == 0 && w.moved == 0);
}

static inline void say(const char *p, size_t n) {
  CHECK(send(w.far, p, n, MSG_NOSIGNAL) == (ssize_t)n);
}

static inline void hang_up(void) {
  close(w.far);
  w.far = -1;
}

/* Serves what is ready: whether there were news. */
static inline int step(void) {
  struct err e;
  int interrupted;
  CHECK(pollset_wait(w.poll, 0, &interrupted, &e) >= 0);
  return pollset_ready(w.poll) != NULL;
}

/* The next line, 'L' later, 'E' the end, 'F' a failure in front. */
static inline const char *line(void) {
  static char text[ERR_MESSAGE_MAX + 2];
  struct str s;
  struct err e;
  enum pipe_got got = pipe_line(&w.pipe, &s, &e);
  if (got == PIPE_LATER) return "L";
  if (got == PIPE_END) return "E";
  if (got == PIPE_FAILED) snprintf(text, sizeof text, "F%s", e.message);
  else snprintf(text, sizeof text, "=%.*s", (int)s.n, s.p);
  if (got == PIPE_BYTES) pipe_took(&w.pipe);
  return text;
}

#define IS(expected) CHECK(strcmp(line(), expected) == 0)

static inline char pattern(size_t i) {
  return (char)('a' + i % 23 + i / 4096 % 3);
}

/* Reads at the far end: how many bytes of the pattern, from the one of number `at` on. */
static inline size_t hear(size_t at) {
  char c[8192];
  size_t n = 0, wrong = 0;
  for (ssize_t got; (got = recv(w.far, c, 1 + below(sizeof c), 0)) > 0;)
    for (ssize_t i = 0; i < got; i++, n++) wrong += c[i] != pattern(at + n);
  CHECK(wrong == 0);
  return n;
}

#endif
