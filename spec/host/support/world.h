/* world.h: one engine and its HTTP in counted memory, one exchange with the test server: shared by the programs here. */
#ifndef KOINE_SPEC_HOST_SUPPORT_WORLD_H
#define KOINE_SPEC_HOST_SUPPORT_WORLD_H

#include "core/http/http.h"
#include "server.h"
#include "support/test.h"
#include "support/failing.h"

static struct server server;

/* An engine, its HTTP and the memory they live in. */
struct world { struct failing f; struct mem m; struct engine *g; struct http *http; struct err e; };

/* Allocation `fail_at` and all after it fail; 0 = none. w->http is NULL when that was enough to stop one of them. */
static inline void open_world(struct world *w, size_t fail_at) {
  memset(w, 0, sizeof *w);
  w->f.fail_at = fail_at;
  w->m = failing_mem(&w->f);
  err_clear(&w->e);
  w->g = engine_new(&w->m, &w->e);
  w->http = w->g == NULL ? NULL : http_new(w->g, &w->e);
  CHECK(w->http != NULL || (fail_at != 0 && w->e.kind == KIND_MEMORY));
}

static inline void check_empty(const struct world *w) {
  CHECK(w->f.live == 0 && w->f.wrong == 0);
}

static inline void close_world(struct world *w) {
  http_free(w->http);
  engine_free(w->g);
  check_empty(w);
}

/* --- one exchange --- */

/* A request for a path of the server; `url` holds the URL. */
struct ask { struct http_request r; struct header headers[4]; char url[256]; };

static inline struct http_request *ask(struct ask *a, const char *method, const char *path) {
  memset(a, 0, sizeof *a);
  snprintf(a->url, sizeof a->url, "http://127.0.0.1:%d%s", server.port, path);
  a->r.method = method;
  a->r.url = a->url;
  a->r.headers = a->headers;
  return &a->r;
}

static inline void add(struct ask *a, const char *name, const char *value) {
  struct header *h = &a->headers[a->r.header_count++];
  h->name = (struct str){ name, strlen(name) };
  h->value = (struct str){ value, strlen(value) };
}

/* The answer to a request. */
struct answer { int status, connection; struct buf body; struct err failure; struct transfer *t; };

static inline void take(struct answer *a) {
  struct buf *b = transfer_body(a->t);
  buf_add(&a->body, b->p, b->n);
  b->n = 0;
  transfer_taken(a->t);
  a->status = transfer_status(a->t);
}

static inline const char *header(const struct transfer *t, const char *name) {
  const struct header *h;
  size_t n = transfer_headers(t, &h);
  for (size_t i = 0; i < n; i++)
    if (h[i].name.n == strlen(name) && memcmp(h[i].name.p, name, h[i].name.n) == 0) return h[i].value.p;
  return NULL;
}

static inline int step(struct world *w) {
  int interrupted;
  err_clear(&w->e);
  return engine_step(w->g, -1, -1, &interrupted, &w->e);
}

/* Returns the token that has news, its owner in it; NULL when none has. */
static inline struct news *ready(struct engine *g) { return pollset_ready(engine_pollset(g)); }

static inline int over(const struct transfer *t) {
  const struct err *f;
  return transfer_done(t, &f);
}

/* Starts and runs to the end; the transfer stays open in a->t. failure.kind is KIND_NONE for a clean end. */
static inline void run(struct world *w, const struct http_request *r, struct answer *a) {
  const struct err *failure = NULL;
  int told = 0, failed = 0;
  memset(a, 0, sizeof *a);
  err_clear(&a->failure);
  buf_init(&a->body, &w->m);
  a->t = transfer_start(w->http, r, w, &a->failure);
  if (a->t == NULL) return;
  while (!over(a->t)) {
    if ((failed = step(w) < 0)) break;
    for (struct news *n; (n = ready(w->g)) != NULL; take(a)) told |= n->owner == w;
  }
  CHECK(told || failed);
  take(a);
  if (transfer_done(a->t, &failure) && failure != NULL) a->failure = *failure;
  const char *c = header(a->t, "x-connection");
  a->connection = c ? atoi(c) : -1;
}

static inline void drop(struct answer *a) {
  transfer_close(a->t);
  a->t = NULL;
  buf_free(&a->body);
}

/* A whole exchange: the kind of its failure is `kind`, the code `code`, and the message contains `words`. */
static inline void fails(struct world *w, const struct http_request *r, enum kind kind, const char *code,
                         const char *words) {
  struct answer a;
  run(w, r, &a);
  CHECK(a.failure.kind == kind);
  if (a.failure.kind != kind) fprintf(stderr, "  %s: %s: %s\n", r->url, kind_name(a.failure.kind), a.failure.message);
  CHECK_STR(a.failure.code, strlen(a.failure.code), code);
  CHECK(strstr(a.failure.message, words) != NULL);
  if (strstr(a.failure.message, words) == NULL) fprintf(stderr, "  %s\n", a.failure.message);
  drop(&a);
}

static inline void gives(struct world *w, const struct http_request *r, int status, const char *body) {
  struct answer a;
  run(w, r, &a);
  CHECK(a.failure.kind == KIND_NONE);
  CHECK(a.status == status);
  CHECK_STR(a.body.p, a.body.n, body);
  drop(&a);
}

#endif
