/*
** program.c: a process, a pipe that holds its input and output, and a tail that holds the end of its standard error.
** A program owns all three and its ends of the three descriptors. The process may be over before its output was read: what
** it left in the pipe can still be had, and no more, whoever else holds the pipe's other end.
** Failure: NULL or -1 and an err. Where memory is short for standard error, bytes of it are dropped, and counted.
*/
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/io.h"
#include "private.h"
#include "program.h"

#define READ_STEP 65536 /* bytes of standard error read at a time */
#define DROP_STEPS 64

/* The last bytes of a stream: at most `most`, twice as many until there are more. */
struct tail {
  struct buf kept;
  size_t most;
  unsigned long long dropped; /* bytes before those kept */
  unsigned long long told;    /* bytes of the stream that were handed out as lines */
  unsigned long long seen;    /* and that hold no LF behind them */
};

struct program {
  struct source source;    /* first: a pointer to it is one to the program */
  struct news news;
  const struct mem *m;
  struct engine *engine;   /* NULL once it is gone */
  struct pollset *poll;
  struct process *process;
  int over;                /* it was noticed that the process is done */
  size_t left;             /* bytes of output that may be read since then */
  int in, out, err;        /* our ends; -1: closed */
  int error_lines;
  struct pipe pipe;
  struct tail tail;
};

/* {{{ standard error */

static void tail_add(struct tail *t, const char *bytes, size_t n) {
  if (buf_add(&t->kept, bytes, n) < 0) {
    t->dropped += t->kept.n + n; /* what is kept has no gap */
    t->kept.n = 0;
    return;
  }
  if (t->kept.n / 2 < t->most) return;
  size_t more = t->kept.n - t->most;
  buf_drop(&t->kept, more);
  t->dropped += more;
}

/* Hands out the next line; with `end` set, also one without LF. */
static int tail_line(struct tail *t, int end, struct str *line) {
  if (t->told < t->dropped) t->told = t->dropped;
  if (t->seen < t->told) t->seen = t->told;
  if (t->kept.n == 0) return 0;
  const char *first = t->kept.p + (t->told - t->dropped), *from = t->kept.p + (t->seen - t->dropped);
  size_t n = t->kept.n - (size_t)(t->told - t->dropped), unseen = t->kept.n - (size_t)(t->seen - t->dropped);
  const char *lf = unseen > 0 ? memchr(from, '\n', unseen) : NULL;
  t->seen += unseen;
  if (lf == NULL && (!end || n == 0)) return 0;
  *line = (struct str){ first, lf != NULL ? (size_t)(lf - first) : n };
  t->told += line->n + (lf != NULL);
  t->seen = t->told;
  if (lf != NULL && line->n > 0 && line->p[line->n - 1] == '\r') line->n--;
  return 1;
}

static void close_error(struct program *p) {
  if (p->err < 0) return;
  pollset_remove(p->poll, p->err);
  close(p->err);
  p->err = -1;
  if (p->error_lines) pollset_news(p->poll, &p->news);
}

/* Reads once, at most `most` bytes: how many, 0 when there is nothing now, -1 at the end. */
static ssize_t read_error(struct program *p, size_t most) {
  char bytes[READ_STEP];
  ssize_t n = read(p->err, bytes, most < sizeof bytes ? most : sizeof bytes);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n <= 0) return -1;
  tail_add(&p->tail, bytes, (size_t)n);
  if (p->error_lines && memchr(bytes, '\n', (size_t)n) != NULL) pollset_news(p->poll, &p->news);
  return n;
}

static void on_error(void *ud, int fd, int events) {
  struct program *p = ud;
  (void)fd, (void)events;
  if (read_error(p, READ_STEP) < 0) close_error(p);
}

/* }}} */

/* {{{ input and output */

static int in_pipe(int fd) {
  int n = 0;
  return ioctl(fd, FIONREAD, &n) < 0 || n < 0 ? 0 : n;
}

static long read_output(void *ud, char *bytes, size_t n, struct err *e) {
  struct program *p = ud;
  if (p->over && n > p->left) n = p->left;
  if (n == 0) return 0;
  ssize_t got = read(p->out, bytes, n);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return PIPE_AGAIN;
  if (got < 0) return err_system(e, "cannot read the program's output");
  if (p->over) p->left -= (size_t)got;
  return got;
}

static int closed(struct err *e) {
  err_clear(e);
  err_set(e, KIND_OTHER, "the program reads no more");
  snprintf(e->code, sizeof e->code, "closed");
  return -1;
}

static long write_input(void *ud, const char *bytes, size_t n, struct err *e) {
  struct program *p = ud;
  ssize_t put = io_write_quietly(p->in, bytes, n);
  if (put >= 0) return put;
  if (errno == EAGAIN || errno == EINTR) return PIPE_AGAIN;
  return errno == EPIPE ? closed(e) : err_system(e, "cannot write to the program");
}

static void close_input(void *ud) {
  struct program *p = ud;
  if (p->in >= 0) close(p->in);
  p->in = -1;
}

static const struct pipe_io IO = { read_output, write_input, close_input };

/* }}} */

/* {{{ the start and the end */

/* Once the process is done: the input has no reader any more, and no output comes behind what is there. */
static void look(struct program *p) {
  const struct err *failure;
  struct err e;
  if (p->over || !engine_here(p->engine) || p->process == NULL || !process_done(p->process, &failure)) return;
  p->over = 1;
  p->left = (size_t)in_pipe(p->out);
  closed(&e);
  pipe_cut(&p->pipe, &e);
  for (int left = p->err < 0 ? 0 : in_pipe(p->err); left > 0;) {
    ssize_t n = read_error(p, (size_t)left);
    if (n <= 0) break;
    left -= (int)n;
  }
  close_error(p);
}

/* Takes p out of its engine, where it still has one, and closes its descriptors. What was read stays. */
static void leave(struct program *p) {
  const struct err *failure;
  struct err e;
  if (p->engine == NULL) return;
  if (p->process != NULL && process_done(p->process, &failure) && failure == NULL) look(p);
  engine_explain(p->engine, &e);
  pipe_cut(&p->pipe, &e);
  if (p->out >= 0) {
    pollset_remove(p->poll, p->out);
    close(p->out);
  }
  pipe_lose(&p->pipe, &e);
  close_input(p);
  close_error(p);
  pollset_forget(p->poll, &p->news);
  engine_remove(p->engine, &p->source);
  p->out = -1;
  p->engine = NULL;
}

static void orphan(struct source *s) {
  leave((struct program *)s);
}

/* Makes the pipes; the command's ends in theirs[]. 0, or -1 and *e; who calls closes all. */
static int open_pipes(struct program *p, int *theirs, struct err *e) {
  if (launch_pipe(&theirs[0], &p->in, 1) < 0 || launch_pipe(&p->out, &theirs[1], 0) < 0 ||
      launch_pipe(&p->err, &theirs[2], 0) < 0) return err_system(e, "cannot make a pipe");
  pipe_open(&p->pipe, &IO, p, p->out, p->in);
  return pollset_set(p->poll, p->err, POLLSET_IN, on_error, p, e);
}

/* 0, or -1 and *e. */
static int start(struct program *p, const struct program_spec *s, void *owner, struct err *e) {
  int theirs[3] = { -1, -1, -1 };
  struct process_spec spec = s->process;
  spec.streams = theirs;
  if (open_pipes(p, theirs, e) == 0) p->process = process_start(p->engine, &spec, owner, e);
  for (int i = 0; i < 3; i++)
    if (theirs[i] >= 0) close(theirs[i]);
  return p->process == NULL ? -1 : 0;
}

struct program *program_start(struct engine *g, const struct program_spec *s, void *owner, struct err *e) {
  const struct mem *m = engine_mem(g);
  struct program *p = mem_alloc(m, sizeof *p);
  if (p == NULL) {
    err_memory(e);
    return NULL;
  }
  memset(p, 0, sizeof *p);
  p->source = (struct source){ .orphan = orphan };
  p->news.owner = owner;
  p->m = m;
  p->engine = g;
  p->poll = engine_pollset(g);
  p->in = p->out = p->err = -1;
  p->error_lines = s->error_lines;
  p->tail.most = s->error_max;
  buf_init(&p->tail.kept, m);
  pipe_init(&p->pipe, m, p->poll, &p->news, s->high_water, s->line_max);
  engine_add(g, &p->source);
  if (start(p, s, owner, e) == 0) return p;
  program_close(p);
  return NULL;
}

int program_started(struct program *p, struct err *e) {
  const struct err *failure;
  if (!process_done(p->process, &failure) || failure == NULL) return process_started(p->process);
  *e = *failure;
  return -1;
}

/* }}} */

enum pipe_got program_line(struct program *p, struct str *line, struct err *e) {
  const struct err *failure = NULL;
  look(p);
  enum pipe_got got = pipe_line(&p->pipe, line, e);
  if (got == PIPE_FAILED && e->kind == KIND_LIMIT) process_stop(p->process);
  if (got != PIPE_END || !process_done(p->process, &failure) || failure == NULL) return got;
  *e = *failure;
  return PIPE_FAILED;
}

void program_took(struct program *p) {
  pipe_took(&p->pipe);
}

int program_write(struct program *p, struct str bytes, struct err *e) {
  look(p);
  return pipe_write(&p->pipe, bytes, e);
}

int program_room(struct program *p, struct err *e) {
  look(p);
  return pipe_room(&p->pipe, e);
}

void program_close_input(struct program *p) {
  look(p);
  pipe_finish(&p->pipe);
}

void program_drop(struct program *p) {
  struct str bytes;
  struct err e;
  look(p);
  for (int steps = DROP_STEPS; steps > 0; steps--) {
    if (pipe_read(&p->pipe, SIZE_MAX, &bytes, &e) != PIPE_BYTES) return;
    pipe_took(&p->pipe);
  }
  pollset_news(p->poll, &p->news);
}

int program_error_line(struct program *p, struct str *line) {
  look(p);
  return tail_line(&p->tail, p->err < 0, line);
}

void program_end(struct program *p) {
  look(p);
  pipe_finish(&p->pipe);
  process_end(p->process);
}

void program_stop(struct program *p) {
  look(p);
  pipe_finish(&p->pipe);
  process_stop(p->process);
}

int program_done(struct program *p, const struct err **failure) {
  look(p);
  return process_done(p->process, failure);
}

void program_result(struct program *p, struct process_result *r) {
  const struct tail *t = &p->tail;
  size_t n = t->kept.n < t->most ? t->kept.n : t->most;
  process_result(p->process, r);
  r->output[PROCESS_ERR] = (struct str){ t->kept.n > 0 ? t->kept.p + (t->kept.n - n) : "", n };
  r->dropped[PROCESS_ERR] = t->dropped + (t->kept.n - n);
}

void program_close(struct program *p) {
  if (p == NULL) return;
  if (engine_here(p->engine)) leave(p);
  process_close(p->process);
  pipe_free(&p->pipe);
  buf_free(&p->tail.kept);
  mem_free(p->m, p, sizeof *p);
}
