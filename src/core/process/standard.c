/*
** standard.c: two descriptors put aside, others in their places, and a pipe that holds the bytes. What C's stdio has in
** its buffer when they are taken, or gets meanwhile, is a stray print: it goes to standard error.
** Owns the descriptors that it made. Failure: NULL or -1 and an err.
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/io.h"
#include "standard.h"

#define FIRST_FREE 3     /* above the standard descriptors */
#ifdef PIPE_BUF
#define PIECE PIPE_BUF   /* bytes that a pipe has room for when it says that it is writable */
#else
#define PIECE 512        /* POSIX's least */
#endif

struct standard {
  struct source source;  /* first: a pointer to it is one to the standard */
  struct news news;
  const struct mem *m;
  struct engine *engine; /* NULL once it is gone */
  int in, out;           /* the descriptors put aside; -1: there is none */
  int in_socket, out_socket;
  struct pipe pipe;
};

/* {{{ bytes */

static int is_ready(int fd, short events) {
  struct pollfd p = { fd, events, 0 };
  return poll(&p, 1, 0) > 0; /* also where it failed or ended: then the call says so, and does not block */
}

static long read_in(void *ud, char *bytes, size_t n, struct err *e) {
  const struct standard *s = ud;
  ssize_t got;
  if (s->in_socket) got = recv(s->in, bytes, n, MSG_DONTWAIT);
  else if (!is_ready(s->in, POLLIN)) return PIPE_AGAIN;
  else got = read(s->in, bytes, n);
  if (got >= 0) return got;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return PIPE_AGAIN;
  if (errno == EIO || errno == ECONNRESET) return 0; /* the terminal is gone, or the other side with bytes unread */
  return err_system(e, "cannot read the standard input");
}

static ssize_t put(const struct standard *s, const char *bytes, size_t n) {
#ifdef MSG_NOSIGNAL
  if (s->out_socket) return send(s->out, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
#endif
  if (!is_ready(s->out, POLLOUT)) {
    errno = EAGAIN;
    return -1;
  }
  return io_write_quietly(s->out, bytes, n < PIECE ? n : PIECE);
}

static long write_out(void *ud, const char *bytes, size_t n, struct err *e) {
  ssize_t done = put(ud, bytes, n);
  if (done >= 0) return done;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return PIPE_AGAIN;
  if (errno != EPIPE && errno != ECONNRESET) return err_system(e, "cannot write to the standard output");
  err_clear(e);
  err_set(e, KIND_OTHER, "the standard output has no reader any more");
  snprintf(e->code, sizeof e->code, "closed");
  return -1;
}

static const struct pipe_io IO = { read_in, write_out, NULL };

/* }}} */

/* {{{ descriptors */

static int is_socket(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* A descriptor for what fd is, which no program inherits: it, or -1 and *e. */
static int aside(int fd, struct err *e) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
  return copy >= 0 ? copy : err_system(e, fd == 0 ? "cannot take the standard input" : "cannot take the standard output");
}

/* Has fd stand for what `other` is, or for nothing where that is none: 0, or -1 and *e. */
static int stand_for(int fd, int other, struct err *e) {
  if (other >= 0 && dup2(other, fd) >= 0) return 0;
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return err_system(e, "cannot open /dev/null");
  int r = dup2(null, fd) < 0 ? err_system(e, "cannot replace a standard descriptor") : 0;
  close(null);
  return r;
}

static void put_back(int *copy, int fd) {
  if (*copy < 0) return;
  (void)dup2(*copy, fd);
  close(*copy);
  *copy = -1;
}

static void put_all_back(struct standard *s) {
  (void)fflush(stdout);
  put_back(&s->in, STDIN_FILENO);
  put_back(&s->out, STDOUT_FILENO);
}

/* 0, or -1 and *e. A process that was started without them may have the engine's descriptor in their place. */
static int take(struct standard *s, struct err *e) {
  if (engine_pollfd(s->engine) < FIRST_FREE) {
    errno = EBADF;
    return err_system(e, "cannot take the standard input and output");
  }
  if ((s->in = aside(STDIN_FILENO, e)) < 0 || (s->out = aside(STDOUT_FILENO, e)) < 0) return -1;
  s->in_socket = is_socket(s->in);
  s->out_socket = is_socket(s->out);
  return stand_for(STDIN_FILENO, -1, e) < 0 ? -1 : stand_for(STDOUT_FILENO, STDERR_FILENO, e);
}

/* }}} */

/* {{{ the engine */

/* The engine goes: nothing can be read or written any more. */
static void orphan(struct source *source) {
  struct standard *s = (struct standard *)source;
  struct err e;
  engine_explain(s->engine, &e);
  pollset_remove(s->pipe.poll, s->in);
  pollset_remove(s->pipe.poll, s->out);
  pipe_lose(&s->pipe, &e);
  pollset_forget(s->pipe.poll, &s->news);
  s->engine = NULL;
}

struct standard *standard_open(struct engine *g, size_t high_water, size_t line_max, void *owner, struct err *e) {
  const struct mem *m = engine_mem(g);
  struct standard *s = mem_alloc(m, sizeof *s);
  if (s == NULL) {
    err_memory(e);
    return NULL;
  }
  memset(s, 0, sizeof *s);
  s->source = (struct source){ .orphan = orphan };
  s->news.owner = owner;
  s->m = m;
  s->engine = g;
  s->in = s->out = -1;
  pipe_init(&s->pipe, m, engine_pollset(g), &s->news, high_water, line_max);
  engine_add(g, &s->source);
  if (take(s, e) < 0) {
    standard_close(s);
    return NULL;
  }
  pipe_open(&s->pipe, &IO, s, s->in, s->out);
  return s;
}

/* }}} */

enum pipe_got standard_line(struct standard *s, struct str *line, struct err *e) {
  (void)engine_here(s->engine);
  return pipe_line(&s->pipe, line, e);
}

void standard_took(struct standard *s) {
  pipe_took(&s->pipe);
}

int standard_write(struct standard *s, struct str bytes, struct err *e) {
  (void)engine_here(s->engine);
  return pipe_write(&s->pipe, bytes, e);
}

int standard_room(const struct standard *s, struct err *e) {
  (void)engine_here(s->engine);
  return pipe_room(&s->pipe, e);
}

size_t standard_waiting(const struct standard *s) {
  return pipe_waiting(&s->pipe);
}

void standard_close(struct standard *s) {
  if (s == NULL) return;
  (void)engine_here(s->engine);
  pipe_free(&s->pipe); /* takes the descriptors from the pollset */
  if (s->engine != NULL) {
    pollset_forget(s->pipe.poll, &s->news);
    engine_remove(s->engine, &s->source);
  }
  put_all_back(s);
  mem_free(s->m, s, sizeof *s);
}
