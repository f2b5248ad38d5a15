/* flow.c: transfers in time, against a server of its own on 127.0.0.1, without Lua: reuse, many at once, a host's loop,
** signals, threads, memory. */
#include <poll.h>

#include "support/ticks.h"
#include "support/world.h"

/* Begins /gated and releases it before its end, as one does who has all that he wants. */
static void release_early(struct world *w) {
  struct ask a;
  atomic_store(&server.go, 0);
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/gated"), NULL, &w->e);
  while (transfer_body(t)->n == 0 && step(w) == 0) ready(w->g);
  CHECK(http_active(w->http) == 1 && !over(t));
  transfer_release(t, 30);
  CHECK(http_active(w->http) == 0 && ready(w->g) == NULL);
  atomic_store(&server.go, 1);
}

/* One connection serves one request after the other; a cancelled one loses it. */
static void test_keep_alive(struct world *w) {
  struct ask a;
  struct answer r;
  int first = -1;
  for (int i = 0; i < 5; i++) {
    run(w, ask(&a, i % 2 ? "POST" : "GET", "/hello"), &r);
    if (i == 0) first = r.connection;
    CHECK(r.connection == first && r.failure.kind == KIND_NONE);
    drop(&r);
  }
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/stall-body"), NULL, &w->e);
  while (transfer_body(t)->n == 0 && step(w) == 0) ready(w->g);
  transfer_close(t);
  run(w, ask(&a, "GET", "/hello"), &r);
  CHECK(r.connection > first);
  first = r.connection;
  drop(&r);
  /* released before its end was seen: the engine reads on, and the connection lives */
  release_early(w);
  while (engine_timeout(w->g) >= 0) step(w);
  run(w, ask(&a, "GET", "/hello"), &r);
  CHECK(r.connection == first);
  drop(&r);
}

/* The end of a released answer is there, and the engine has not looked: the next request looks, and has its connection. */
static void test_rest(struct world *w) {
  struct ask a;
  struct answer r;
  gives(w, ask(&a, "GET", "/hello"), 200, "hello");
  int before = atomic_load(&server.connections);
  for (int i = 0; i < 3; i++) {
    struct pollfd end = { .fd = pollset_fd(engine_pollset(w->g)), .events = POLLIN };
    release_early(w);
    CHECK(poll(&end, 1, -1) == 1);
    run(w, ask(&a, "GET", "/hello"), &r);
    CHECK(r.failure.kind == KIND_NONE);
    drop(&r);
  }
  CHECK(atomic_load(&server.connections) == before);
}

/* Before its answer a transfer has received nothing, though libcurl's handle served another one before. */
static void test_figures(struct world *w) {
  struct ask a;
  struct answer r;
  struct transfer_stats s;
  run(w, ask(&a, "GET", "/big?5000"), &r);
  transfer_stats(r.t, &s);
  CHECK(s.received > 5000 && s.peak > 0);
  drop(&r);
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/hello"), NULL, &w->e);
  transfer_stats(t, &s);
  CHECK(s.received == 0 && s.peak == 0 && s.idle >= 0);
  transfer_close(t);
}

/* A kept connection that the server has closed meanwhile is replaced without a word. */
static void test_stale(struct world *w) {
  struct ask a;
  for (int i = 0; i < 10; i++) {
    gives(w, ask(&a, "POST", "/hello-and-close"), 200, "hello");
    gives(w, ask(&a, "POST", "/hello"), 200, "hello");
  }
}

static void test_many(struct world *w) {
  enum { N = 60 };
  struct ask a;
  struct transfer *t[N];
  int done = 0;
  const struct err *f;
  for (int i = 0; i < N; i++) {
    t[i] = transfer_start(w->http, ask(&a, "GET", i % 3 ? "/big?5000" : "/gzip"), &t[i], &w->e);
    CHECK(t[i] != NULL);
  }
  CHECK(http_active(w->http) == N);
  while (done < N && step(w) == 0)
    for (struct news *n; (n = ready(w->g)) != NULL;) {
      struct transfer **mine = n->owner;
      CHECK(mine >= t && mine < t + N);
      done += over(*mine);
    }
  for (int i = 0; i < N; i++) {
    CHECK(transfer_done(t[i], &f) && f == NULL);
    CHECK(transfer_body(t[i])->n == (i % 3 ? 5000u : 11u));
  }
  CHECK(http_active(w->http) == 0 && engine_timeout(w->g) < 0);
  for (int i = 0; i < N; i++) transfer_close(t[i]);
}

/* A host's loop: only poll(2) on the engine's descriptor and its time-out. */
static void test_pollable(struct world *w) {
  struct ask a;
  int interrupted;
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/chunked"), NULL, &w->e);
  while (!over(t)) {
    double s = engine_timeout(w->g);
    struct pollfd p = { engine_pollfd(w->g), POLLIN, 0 };
    poll(&p, 1, s < 0 ? -1 : (int)(s * 1000) + 1);
    CHECK(engine_step(w->g, 0, -1, &interrupted, &w->e) == 0);
    while (ready(w->g) != NULL) continue;
  }
  CHECK_STR(transfer_body(t)->p, transfer_body(t)->n, "hello, chunked");
  transfer_close(t);
}

static void test_interrupted(struct world *w) {
  struct ask a;
  int interrupted = 0;
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/stall-body"), NULL, &w->e);
  while (transfer_body(t)->n == 0 && step(w) == 0) ready(w->g);
  while (ready(w->g) != NULL) continue;
  ticks_start();
  while (!interrupted) CHECK(engine_step(w->g, -1, -1, &interrupted, &w->e) == 0);
  ticks_stop();
  CHECK(!over(t));
  transfer_close(t);
}

/* Engines on several threads know nothing of each other. */
static void *work(void *ud) {
  struct mem m = mem_libc();
  struct err e;
  struct ask a;
  int *good = ud, interrupted;
  const struct err *f = NULL;
  struct engine *g = engine_new(&m, &e);
  struct http *http = g == NULL ? NULL : http_new(g, &e);
  for (int i = 0; http != NULL && i < 25; i++) {
    struct transfer *t = transfer_start(http, ask(&a, "GET", i % 2 ? "/hello" : "/gzip"), NULL, &e);
    while (!transfer_done(t, &f) && engine_step(g, -1, -1, &interrupted, &e) == 0) ready(g);
    *good += f == NULL && transfer_body(t)->n == (i % 2 ? 5u : 11u);
    transfer_close(t);
  }
  http_free(http);
  engine_free(g);
  return NULL;
}

static void test_threads(void) {
  enum { N = 4 };
  pthread_t thread[N];
  int good[N] = { 0 };
  for (int i = 0; i < N; i++) CHECK(pthread_create(&thread[i], NULL, work, &good[i]) == 0);
  for (int i = 0; i < N; i++) {
    pthread_join(thread[i], NULL);
    CHECK(good[i] == 25);
  }
}

/* One exchange while allocation n and all after it fail: an error that says so, or success (1), and no leak. */
static int starved(size_t n, const char *path) {
  struct world w;
  struct ask a;
  struct answer r;
  int done = 0;
  open_world(&w, n);
  if (w.http != NULL) {
    ask(&a, "POST", path);
    a.r.body = "body";
    a.r.body_n = 4;
    a.r.timeouts.first_byte = 30;
    add(&a, "X-A", "b");
    run(&w, &a.r, &r);
    done = r.failure.kind == KIND_NONE;
    CHECK(done || r.failure.kind == KIND_MEMORY);
    drop(&r);
  }
  close_world(&w);
  return done;
}

static void test_memory(void) {
  static const char *const paths[] = { "/hello", "/early", "/chunked" };
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    size_t n = 1;
    while (n < 100 && !starved(n, paths[i])) n++;
    CHECK(n > 5 && n < 100);
  }
}

int main(void) {
  struct world w;
  alarm(120); /* a hang is a failure */
  server_start(&server);
  open_world(&w, 0);
  test_keep_alive(&w);
  test_rest(&w);
  test_figures(&w);
  test_stale(&w);
  test_many(&w);
  test_pollable(&w);
  test_interrupted(&w);
  close_world(&w);
  test_threads();
  test_memory();
  server_stop(&server);
  return test_done("http/flow");
}
