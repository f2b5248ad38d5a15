/*
** pipe.c: reads when it is asked, writes when it can, and has a descriptor watched only while something is to be done.
** A pipe owns its buffers, and its entries in the pollset; the descriptors belong to its owner. Failure: noted once for each
** direction.
*/
#include <stdio.h>
#include <string.h>

#include "pipe.h"

#define READ_STEP ((size_t)16 << 10)  /* bytes read at a time: a record of TLS */
#define WRITE_STEP ((size_t)16 << 10)
#define STEPS_MAX 64                  /* of either kind before others have their turn */
#define KEPT_MAX ((size_t)256 << 10)  /* a larger buffer is given back when it is empty */

/* {{{ bytes */

static size_t left(const struct pipe_bytes *v) {
  return v->b.n - v->at;
}

/* Takes n bytes off. A large buffer is given back once it is empty. */
static void take(struct pipe_bytes *v, size_t n) {
  v->at += n;
  if (v->at < v->b.n) return;
  v->at = v->b.n = 0;
  if (v->b.cap > KEPT_MAX) buf_free(&v->b);
}

/* Room for n more: 0, or -1. The bytes before `at` are dropped when they are at least half, so that each is moved once at
** most. */
static int reserve(struct pipe_bytes *v, size_t n) {
  if (v->at > 0 && v->at >= v->b.n / 2) {
    buf_drop(&v->b, v->at);
    v->at = 0;
  }
  return buf_reserve(&v->b, n);
}

static struct str all(const struct pipe_bytes *v) {
  return (struct str){ left(v) > 0 ? v->b.p + v->at : "", left(v) };
}

/* }}} */

void pipe_init(struct pipe *p, const struct mem *m, struct pollset *poll, struct news *news, size_t high_water,
               size_t line_max) {
  memset(p, 0, sizeof *p);
  p->poll = poll;
  p->news = news;
  p->in_fd = p->out_fd = -1;
  p->high_water = high_water;
  p->line_max = line_max;
  err_clear(&p->in_failure);
  err_clear(&p->out_failure);
  buf_init(&p->in.b, m);
  buf_init(&p->out.b, m);
  buf_init(&p->next.b, m);
}

/* {{{ descriptors */

static void fail(struct err *failure, const struct err *e) {
  if (failure->kind == KIND_NONE) *failure = *e;
}

/* The queue can never be written. */
static void drop_queue(struct pipe *p) {
  take(&p->out, left(&p->out));
  take(&p->next, left(&p->next));
}

static void on_ready(void *ud, int fd, int events);

/* Has fd watched for these events alone; 0: not at all. Where it cannot be, neither direction goes on. */
static void watch(struct pipe *p, int fd, int events) {
  struct err e;
  if (events == 0) {
    pollset_remove(p->poll, fd);
    return;
  }
  err_clear(&e);
  if (pollset_set(p->poll, fd, events, on_ready, p, &e) == 0) return;
  pollset_remove(p->poll, p->in_fd);
  pollset_remove(p->poll, p->out_fd);
  p->in_events = p->out_events = 0;
  fail(&p->in_failure, &e);
  fail(&p->out_failure, &e);
  drop_queue(p);
  pollset_news(p->poll, p->news);
}

static void watch_for(struct pipe *p, int in, int out) {
  if (in == p->in_events && out == p->out_events) return;
  int in_changed = in != p->in_events, out_changed = out != p->out_events;
  p->in_events = in;
  p->out_events = out;
  if (p->in_fd == p->out_fd) {
    watch(p, p->in_fd, in | out);
  } else {
    if (in_changed) watch(p, p->in_fd, in);
    if (out_changed) watch(p, p->out_fd, out);
  }
}

/* Writes one piece of the queue: 1, 0 where nothing more can be written now. */
static int write_some(struct pipe *p) {
  struct err e;
  struct str s = all(&p->out);
  if (s.n == 0) return 0;
  err_clear(&e);
  long n = p->io->write(p->ud, s.p, s.n < WRITE_STEP ? s.n : WRITE_STEP, &e);
  if (n == -1) {
    fail(&p->out_failure, &e);
    drop_queue(p);
  }
  if (n <= 0) return 0;
  take(&p->out, (size_t)n);
  if (left(&p->out) == 0) { /* what follows may move as long as it is not being written */
    struct pipe_bytes empty = p->out;
    p->out = p->next;
    p->next = empty;
  }
  return 1;
}

/* Gives out_fd back to its owner, once nothing is to be written any more. */
static void let_go(struct pipe *p) {
  if (!p->finishing || p->out_fd < 0 || left(&p->out) > 0) return;
  watch_for(p, p->in_events, 0);
  p->out_fd = -1;
  if (p->io->finish != NULL) p->io->finish(p->ud);
}

static void flush(struct pipe *p) {
  if (p->out_fd < 0 || p->out_failure.kind != KIND_NONE) return;
  for (int steps = STEPS_MAX; steps > 0 && write_some(p); steps--) continue;
  watch_for(p, p->in_events, left(&p->out) > 0 ? POLLSET_OUT : 0);
  let_go(p);
}

/* Who waits for bytes is told once, and asks then; who waits for room, once there is some. */
static void on_ready(void *ud, int fd, int events) {
  struct pipe *p = ud;
  int readable = fd == p->in_fd && p->in_events != 0 && (events & (POLLSET_IN | POLLSET_ERR)) != 0;
  if (fd == p->out_fd && p->out_events != 0 && (events & (POLLSET_OUT | POLLSET_ERR)) != 0) {
    int full = pipe_full(p);
    flush(p);
    if (p->out_events == 0 || (full && !pipe_full(p))) pollset_news(p->poll, p->news);
  }
  if (!readable) return;
  watch_for(p, 0, p->out_events);
  pollset_news(p->poll, p->news);
}

void pipe_open(struct pipe *p, const struct pipe_io *io, void *ud, int in_fd, int out_fd) {
  p->io = io;
  p->ud = ud;
  p->in_fd = in_fd;
  p->out_fd = out_fd;
  flush(p);
  let_go(p);
}

void pipe_lose(struct pipe *p, const struct err *e) {
  p->in_fd = p->out_fd = -1;
  p->in_events = p->out_events = 0;
  fail(&p->in_failure, e);
  fail(&p->out_failure, e);
  drop_queue(p);
}

void pipe_free(struct pipe *p) {
  if (p->in_fd >= 0) pollset_remove(p->poll, p->in_fd);
  if (p->out_fd >= 0) pollset_remove(p->poll, p->out_fd);
  p->in_fd = p->out_fd = -1;
  p->in_events = p->out_events = 0;
  buf_free(&p->in.b);
  buf_free(&p->out.b);
  buf_free(&p->next.b);
  p->in.at = p->out.at = p->next.at = p->seen = 0;
}

/* }}} */

/* {{{ in */

/* Reads once: PIPE_BYTES, PIPE_END, PIPE_LATER where there is nothing now, PIPE_FAILED and *e. A failure leaves what was
** read before. */
static enum pipe_got fill(struct pipe *p, struct err *e) {
  if (p->ended) return PIPE_END;
  if (p->in_failure.kind != KIND_NONE) {
    *e = p->in_failure;
    return PIPE_FAILED;
  }
  if (p->in_fd < 0) return PIPE_LATER;
  take(&p->in, 0);
  if (reserve(&p->in, READ_STEP) < 0) {
    err_memory(e); /* asking again may help */
    return PIPE_FAILED;
  }
  err_clear(e);
  long n = p->io->read(p->ud, p->in.b.p + p->in.b.n, READ_STEP, e);
  if (n > 0) {
    p->in.b.n += (size_t)n;
    return PIPE_BYTES;
  }
  if (n == PIPE_AGAIN) {
    watch_for(p, POLLSET_IN, p->out_events);
    if (p->in_failure.kind == KIND_NONE) return PIPE_LATER;
    *e = p->in_failure;
    return PIPE_FAILED;
  }
  p->ended = n == 0;
  if (n < 0) fail(&p->in_failure, e);
  return n == 0 ? PIPE_END : PIPE_FAILED;
}

enum pipe_got pipe_read(struct pipe *p, size_t n, struct str *bytes, struct err *e) {
  p->given = 0;
  if (left(&p->in) == 0) {
    enum pipe_got got = fill(p, e);
    if (got != PIPE_BYTES) return got;
  }
  *bytes = all(&p->in);
  if (bytes->n > n) bytes->n = n;
  p->given = bytes->n;
  return PIPE_BYTES;
}

void pipe_took(struct pipe *p) {
  if (p->given == 0) return;
  p->in.at += p->given; /* not take: the bytes stay where they are until the next call */
  p->given = p->seen = 0;
}

/* Hands out a line of n bytes and what ends it. */
static enum pipe_got cut(struct pipe *p, size_t n, size_t end, struct str *line) {
  *line = all(&p->in);
  line->n = n;
  if (end > 0 && n > 0 && line->p[n - 1] == '\r') line->n--;
  p->given = n + end;
  return PIPE_BYTES;
}

static enum pipe_got too_long(struct pipe *p, struct err *e) {
  err_clear(e);
  err_set(e, KIND_LIMIT, "a line exceeds %zu bytes", p->line_max);
  snprintf(e->code, sizeof e->code, "line");
  fail(&p->in_failure, e);
  return PIPE_FAILED;
}

enum pipe_got pipe_line(struct pipe *p, struct str *line, struct err *e) {
  p->given = 0;
  for (int steps = STEPS_MAX; steps > 0; steps--) {
    struct str s = all(&p->in);
    const char *lf = s.n > p->seen ? memchr(s.p + p->seen, '\n', s.n - p->seen) : NULL;
    size_t n = lf != NULL ? (size_t)(lf - s.p) : s.n;
    if (n - (n > 0 && s.p[n - 1] == '\r') > p->line_max) return too_long(p, e);
    if (lf != NULL) return cut(p, n, 1, line);
    p->seen = s.n;
    enum pipe_got got = fill(p, e);
    if (got == PIPE_END && s.n > 0) return cut(p, s.n, 0, line);
    if (got != PIPE_BYTES) return got;
  }
  pollset_news(p->poll, p->news);
  return PIPE_LATER;
}

/* }}} */

/* {{{ out */

void pipe_finish(struct pipe *p) {
  p->finishing = 1;
  let_go(p);
}

void pipe_cut(struct pipe *p, const struct err *e) {
  fail(&p->out_failure, e);
  drop_queue(p);
  pipe_finish(p);
}

int pipe_room(const struct pipe *p, struct err *e) {
  if (p->out_failure.kind == KIND_NONE) return !pipe_full(p);
  *e = p->out_failure;
  return -1;
}

size_t pipe_waiting(const struct pipe *p) {
  return left(&p->out) + left(&p->next);
}

int pipe_full(const struct pipe *p) {
  return pipe_waiting(p) > p->high_water;
}

static int closed(struct err *e) {
  err_clear(e);
  err_set(e, KIND_OTHER, "the pipe was closed for writing");
  snprintf(e->code, sizeof e->code, "closed");
  return -1;
}

int pipe_write(struct pipe *p, struct str bytes, struct err *e) {
  if (p->out_failure.kind != KIND_NONE) {
    *e = p->out_failure;
    return -1;
  }
  if (p->finishing) return closed(e);
  struct pipe_bytes *to = left(&p->out) == 0 ? &p->out : &p->next;
  if (reserve(to, bytes.n) < 0 || buf_addstr(&to->b, bytes) < 0) return err_memory(e);
  if (p->out_events == 0) flush(p); /* else it was put off, and goes on when the descriptor is ready */
  if (p->out_failure.kind == KIND_NONE) return 0;
  *e = p->out_failure;
  return -1;
}

/* }}} */
