/*
** connect.c: a link of the HTTP room, which moves the bytes, and a pipe, which holds them.
** A connection owns both. The link may go first: with the engine, where libcurl has no memory left, or where libcurl closes
** it before it was used. Each function looks whether it did, because its socket's number may be another file's then.
** Failure: NULL or -1 and an err.
*/
#include "connect.h"

struct connection {
  struct source source;    /* first: a pointer to it is one to the connection */
  struct news news;
  const struct mem *m;
  struct engine *engine;   /* NULL once it is gone */
  struct transfer *link;
  struct pipe pipe;
  int opened;              /* the pipe was */
};

static long read_link(void *ud, char *p, size_t n, struct err *e) {
  return link_read(((struct connection *)ud)->link, p, n, e);
}

static long write_link(void *ud, const char *p, size_t n, struct err *e) {
  return link_write(((struct connection *)ud)->link, p, n, e);
}

static const struct pipe_io LINK = { read_link, write_link, NULL };

/* Opens the pipe once the link is there, loses it when the link is gone. */
static void look(struct connection *c) {
  const struct err *failure;
  (void)engine_here(c->engine);
  int fd = link_socket(c->link);
  if (fd >= 0 && !c->opened) {
    c->opened = 1;
    pipe_open(&c->pipe, &LINK, c, fd, fd);
  }
  if (transfer_done(c->link, &failure) && failure != NULL) pipe_lose(&c->pipe, failure);
}

/* The engine goes: nothing can be read or written any more. */
static void orphan(struct source *s) {
  struct connection *c = (struct connection *)s;
  struct err e;
  look(c);
  engine_explain(c->engine, &e);
  if (c->pipe.in_fd >= 0) pollset_remove(c->pipe.poll, c->pipe.in_fd);
  pipe_lose(&c->pipe, &e);
  pollset_forget(c->pipe.poll, &c->news);
  c->engine = NULL;
}

struct connection *connection_open(struct engine *g, struct http *http, const struct connect_spec *s, void *owner,
                                   struct err *e) {
  const struct mem *m = engine_mem(g);
  struct connection *c = mem_alloc(m, sizeof *c);
  if (c == NULL) {
    err_memory(e);
    return NULL;
  }
  memset(c, 0, sizeof *c);
  c->source = (struct source){ .orphan = orphan };
  c->news.owner = owner;
  c->m = m;
  c->engine = g;
  pipe_init(&c->pipe, m, engine_pollset(g), &c->news, s->high_water, s->line_max);
  c->link = link_start(http, &s->to, owner, e);
  if (c->link == NULL) {
    mem_free(m, c, sizeof *c);
    return NULL;
  }
  engine_add(g, &c->source);
  return c;
}

int connection_ready(struct connection *c, struct err *e) {
  look(c);
  if (c->pipe.in_failure.kind == KIND_NONE) return c->opened;
  *e = c->pipe.in_failure;
  return -1;
}

enum pipe_got connection_read(struct connection *c, size_t n, struct str *bytes, struct err *e) {
  look(c);
  return pipe_read(&c->pipe, n, bytes, e);
}

enum pipe_got connection_line(struct connection *c, struct str *line, struct err *e) {
  look(c);
  return pipe_line(&c->pipe, line, e);
}

void connection_took(struct connection *c) {
  pipe_took(&c->pipe);
}

int connection_write(struct connection *c, struct str bytes, struct err *e) {
  look(c);
  return pipe_write(&c->pipe, bytes, e);
}

size_t connection_waiting(const struct connection *c) {
  return pipe_waiting(&c->pipe);
}

int connection_full(const struct connection *c) {
  return pipe_full(&c->pipe);
}

void connection_close(struct connection *c) {
  if (c == NULL) return;
  look(c);
  pipe_free(&c->pipe);
  if (c->engine != NULL) {
    pollset_forget(c->pipe.poll, &c->news);
    engine_remove(c->engine, &c->source);
  }
  transfer_close(c->link);
  mem_free(c->m, c, sizeof *c);
}
