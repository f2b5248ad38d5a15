/*
** flow.c: transfers in time, against a server of its own on 127.0.0.1, without Lua: reuse, many at once,
** deadlines, pauses, closing at every stage, descriptors, signals, threads, memory. `flow fds`, a child of the
** test, counts the descriptors that it inherited.
*/
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "support/world.h"

static const char *self;

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
  atomic_store(&server.go, 0);
  t = transfer_start(w->http, ask(&a, "GET", "/gated"), NULL, &w->e);
  while (transfer_body(t)->n == 0 && step(w) == 0) ready(w->g);
  CHECK(http_active(w->http) == 1 && !over(t));
  transfer_release(t, 30);
  CHECK(http_active(w->http) == 0 && ready(w->g) == NULL);
  atomic_store(&server.go, 1);
  while (engine_timeout(w->g) >= 0) step(w);
  run(w, ask(&a, "GET", "/hello"), &r);
  CHECK(r.connection == first);
  drop(&r);
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

/* Each deadline is the only one that can end its exchange. */
static void test_deadlines(struct world *w) {
  struct ask a;
  ask(&a, "GET", "/stall")->timeouts = (struct timeouts){ 30, 0.05, 0.001, 30, 0 };
  fails(w, &a.r, KIND_TIMEOUT, "first_byte", "no answer within 0.050 s (first_byte)");
  ask(&a, "GET", "/stall-head")->timeouts = (struct timeouts){ 30, 0.05, 0.001, 0, 0 };
  fails(w, &a.r, KIND_TIMEOUT, "first_byte", "first_byte");
  ask(&a, "GET", "/stall-body")->timeouts = (struct timeouts){ 30, 30, 0.05, 30, 0 };
  fails(w, &a.r, KIND_TIMEOUT, "idle", "nothing received for 0.050 s (idle)");
  ask(&a, "GET", "/drip")->timeouts = (struct timeouts){ 30, 30, 30, 0.1, 0 };
  fails(w, &a.r, KIND_TIMEOUT, "total", "not finished within 0.100 s (total)");
  ask(&a, "GET", "/stall")->timeouts = (struct timeouts){ 30, 30, 30, 1, 0 };
  fails(w, &a.r, KIND_TIMEOUT, "total", "within 1 s");
  /* TLS counts as connecting, and this server never says a word of it */
  ask(&a, "GET", "/stall")->timeouts = (struct timeouts){ 0.1, 30, 30, 30, 0 };
  snprintf(a.url, sizeof a.url, "https://127.0.0.1:%d/", server.port);
  fails(w, &a.r, KIND_TIMEOUT, "connect", "no connection within 0.100 s (connect)");
  /* without limits nothing but the server ends it */
  ask(&a, "GET", "/hello")->timeouts = (struct timeouts){ 0, 0, 0, 0, 0 };
  gives(w, &a.r, 200, "hello");
}

/* The earliest of many deadlines comes first, whatever the order of their starts. */
static void test_deadline_order(struct world *w) {
  enum { N = 20 };
  struct ask a;
  struct transfer *t[N];
  double from[N], to[N], last = 0; /* a deadline lies somewhere between these two */
  int done = 0;
  for (int i = 0; i < N; i++) {
    ask(&a, "GET", "/stall")->timeouts.total = 0.05 + (i * 7 % N) * 0.01;
    from[i] = clock_monotonic() + a.r.timeouts.total;
    t[i] = transfer_start(w->http, &a.r, &t[i], &w->e);
    to[i] = clock_monotonic() + a.r.timeouts.total;
  }
  transfer_close(t[3]);
  transfer_close(t[0]);
  while (done < N - 2 && step(w) == 0) {
    for (struct news *n; (n = ready(w->g)) != NULL;) {
      const struct err *f = NULL;
      size_t i = (size_t)((struct transfer **)n->owner - t);
      if (!transfer_done(t[i], &f)) continue;
      CHECK(f != NULL && strcmp(f->code, "total") == 0 && to[i] >= last && clock_monotonic() >= from[i]);
      last = from[i];
      done++;
    }
  }
  for (int i = 0; i < N; i++)
    if (i != 0 && i != 3) transfer_close(t[i]);
}

/* The end of a grace period is a clean end. */
static void test_grace(struct world *w) {
  struct ask a;
  const struct err *f;
  ask(&a, "GET", "/stall-body")->timeouts = (struct timeouts){ 30, 30, 30, 30, 0 };
  struct transfer *t = transfer_start(w->http, &a.r, NULL, &w->e);
  while (transfer_body(t)->n == 0 && step(w) == 0) ready(w->g);
  transfer_grace(t, 0.02);
  CHECK(!over(t) && engine_timeout(w->g) <= 0.02);
  while (!over(t) && step(w) == 0) ready(w->g);
  CHECK(transfer_done(t, &f) && f == NULL && transfer_status(t) == 200 && transfer_body(t)->n == 1);
  transfer_close(t);
  /* released: the same, and it frees itself */
  t = transfer_start(w->http, &a.r, NULL, &w->e);
  while (transfer_body(t)->n == 0 && step(w) == 0) ready(w->g);
  transfer_release(t, 0.02);
  while (engine_timeout(w->g) >= 0) step(w);
  t = transfer_start(w->http, ask(&a, "GET", "/hello"), NULL, &w->e);
  while (!over(t)) step(w);
  transfer_release(t, 1);
}

/* A reader that stops pulling stops the sender; nothing is lost, and the idle deadline waits with it. */
static void test_pause(struct world *w, const char *path) {
  enum { HIGH = 65536, CHUNK = 16384, TOTAL = 3000000 };
  struct ask a;
  struct transfer_stats s;
  size_t seen = 0, resumed = 0;
  int good = 1, interrupted;
  ask(&a, "GET", path)->high_water = HIGH;
  a.r.timeouts.idle = 0.02;
  struct transfer *t = transfer_start(w->http, &a.r, NULL, &w->e);
  struct buf *b = transfer_body(t);
  while (!over(t) || b->n > 0) {
    while (!over(t) && b->n < HIGH && step(w) == 0) ready(w->g);
    for (int i = 0; i < 20 && resumed == 0; i++) {
      CHECK(engine_step(w->g, 0, -1, &interrupted, &w->e) == 0);
      while (ready(w->g) != NULL) continue;
    }
    /* the idle deadline of before the pause passes without harm, and no other is left */
    while (resumed == 0 && engine_timeout(w->g) >= 0 && engine_timeout(w->g) < 60) CHECK(step(w) == 0);
    CHECK(resumed > 0 || !over(t));
    CHECK(b->n <= HIGH + CHUNK);
    for (size_t i = 0; i < b->n; i++) good &= b->p[i] == pattern(seen + i);
    seen += b->n;
    b->n = 0;
    resumed++;
    transfer_taken(t);
  }
  const struct err *f = NULL;
  transfer_stats(t, &s);
  CHECK(transfer_done(t, &f) && f == NULL && good && seen == TOTAL && resumed > 4);
  CHECK(s.peak >= HIGH && s.peak <= HIGH + CHUNK && s.received > TOTAL);
  transfer_close(t);
}

/* The same where libcurl decodes: every byte comes, however the reader pauses. */
static void test_pause_gzip(struct world *w) {
  struct ask a;
  size_t seen = 0, zeros = 0;
  const struct err *f = NULL;
  ask(&a, "GET", "/gzip?2580000")->high_water = 20000;
  struct transfer *t = transfer_start(w->http, &a.r, NULL, &w->e);
  struct buf *b = transfer_body(t);
  while (!over(t) || b->n > 0) {
    while (!over(t) && b->n < 20000 && step(w) == 0) ready(w->g);
    CHECK(b->n < 20000 + 4096 * 1032); /* and what one read may inflate to */
    for (size_t i = 0; i < b->n; i++) zeros += b->p[i] == 0;
    seen += b->n;
    b->n = 0;
    transfer_taken(t);
  }
  CHECK(transfer_done(t, &f) && f == NULL && seen == 2580012 && zeros == 2580001);
  transfer_close(t);
}

/* A paused transfer can be closed, released, cut by its total deadline and lose its engine. */
static void test_pause_ends(void) {
  struct world w;
  struct ask a;
  struct transfer *t[4];
  const struct err *f = NULL;
  int interrupted;
  open_world(&w, 0);
  for (int i = 0; i < 4; i++) {
    ask(&a, "GET", "/big?3000000")->high_water = 1;
    a.r.timeouts.total = i == 0 ? 0.2 : 0;
    t[i] = transfer_start(w.http, &a.r, NULL, &w.e);
    while (transfer_body(t[i])->n == 0 && step(&w) == 0) ready(w.g);
    for (int k = 0; k < 20; k++) engine_step(w.g, 0, -1, &interrupted, &w.e);
  }
  while (!over(t[0]) && step(&w) == 0)
    while (ready(w.g) != NULL) continue;
  CHECK(transfer_done(t[0], &f) && f != NULL && strcmp(f->code, "total") == 0);
  transfer_close(t[0]);
  transfer_close(t[1]);
  transfer_release(t[2], 30);
  while (engine_timeout(w.g) >= 0 && engine_timeout(w.g) < 60) step(&w);
  engine_free(w.g);
  CHECK(transfer_done(t[3], &f) && f != NULL && f->kind == KIND_CANCELLED && transfer_body(t[3])->n > 0);
  CHECK(transfer_start(w.http, ask(&a, "GET", "/hello"), NULL, &w.e) == NULL && w.e.kind == KIND_CANCELLED);
  CHECK(http_active(w.http) == 0);
  http_free(w.http);
  transfer_taken(t[3]);
  transfer_grace(t[3], 1);
  transfer_close(t[3]);
  check_empty(&w);
}

/* Closing at every stage, in every order. */
static void test_close(void) {
  struct world w;
  struct ask a;
  struct transfer *t, *u;
  const struct err *f = NULL;
  open_world(&w, 0);
  t = transfer_start(w.http, ask(&a, "GET", "/hello"), NULL, &w.e);
  transfer_close(t);
  CHECK(http_active(w.http) == 0 && ready(w.g) == NULL);
  for (int steps = 1; steps < 6; steps++) {
    int interrupted;
    t = transfer_start(w.http, ask(&a, "GET", "/stall-body"), NULL, &w.e);
    for (int i = 0; i < steps; i++) engine_step(w.g, 0, -1, &interrupted, &w.e);
    transfer_close(t);
    CHECK(http_active(w.http) == 0 && ready(w.g) == NULL);
  }
  transfer_close(NULL);
  transfer_release(NULL, 1);
  http_free(NULL);
  engine_free(NULL);
  t = transfer_start(w.http, ask(&a, "GET", "/stall-body"), NULL, &w.e);
  while (transfer_body(t)->n == 0 && step(&w) == 0) ready(w.g);
  u = transfer_start(w.http, ask(&a, "GET", "/hello"), NULL, &w.e);
  while (!over(u)) step(&w);
  struct transfer *released = transfer_start(w.http, ask(&a, "GET", "/stall"), NULL, &w.e);
  transfer_release(released, 30);
  http_free(w.http);
  CHECK(ready(w.g) == NULL && engine_timeout(w.g) < 0);
  CHECK(transfer_done(t, &f) && f != NULL && f->kind == KIND_CANCELLED);
  CHECK(transfer_done(u, &f) && f == NULL && transfer_body(u)->n == 5 && transfer_status(u) == 200);
  transfer_release(t, 1);
  transfer_close(u);
  engine_free(w.g);
  check_empty(&w);
}

/* --- descriptors --- */

static int inherited(void) {
  int n = 0;
  for (int fd = 3; fd < 200; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

/* How many descriptors a program started now would see. */
static int child_sees(void) {
  int status = 0;
  pid_t pid = fork();
  if (pid == 0) {
    execl(self, self, "fds", (char *)NULL);
    _exit(255);
  }
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void test_descriptors(void) {
  struct world w;
  struct ask a;
  struct answer r;
  int before = child_sees(), open_before = inherited();
  open_world(&w, 0);
  run(&w, ask(&a, "GET", "/hello"), &r);
  drop(&r);
  struct transfer *t = transfer_start(w.http, ask(&a, "GET", "/stall-body"), NULL, &w.e);
  while (transfer_body(t)->n == 0 && step(&w) == 0) ready(w.g);
  CHECK(child_sees() == before);
  transfer_close(t);
  close_world(&w);
  for (int i = 0; i < 1000 && inherited() > open_before; i++) usleep(1000); /* the server's ends close by themselves */
  CHECK(inherited() == open_before);
}

/* --- signals, memory --- */

static void on_alarm(int sig) {
  (void)sig;
}

static void test_interrupted(struct world *w) {
  struct sigaction act = { 0 }, old;
  struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, off = { { 0, 0 }, { 0, 0 } };
  struct ask a;
  int interrupted = 0;
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/stall-body"), NULL, &w->e);
  while (transfer_body(t)->n == 0 && step(w) == 0) ready(w->g);
  while (ready(w->g) != NULL) continue;
  act.sa_handler = on_alarm;
  sigaction(SIGALRM, &act, &old);
  setitimer(ITIMER_REAL, &every, NULL);
  while (!interrupted) CHECK(engine_step(w->g, -1, -1, &interrupted, &w->e) == 0);
  setitimer(ITIMER_REAL, &off, NULL);
  sigaction(SIGALRM, &old, NULL);
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

int main(int argc, char **argv) {
  struct world w;
  if (argc > 1 && strcmp(argv[1], "fds") == 0) return inherited();
  self = argv[0];
  alarm(120); /* a hang is a failure */
  server_start(&server);
  test_descriptors();
  open_world(&w, 0);
  test_keep_alive(&w);
  test_figures(&w);
  test_stale(&w);
  test_many(&w);
  test_pollable(&w);
  test_deadlines(&w);
  test_deadline_order(&w);
  test_grace(&w);
  test_pause(&w, "/big?3000000");
  test_pause(&w, "/big-chunked?3000000");
  test_pause_gzip(&w);
  test_interrupted(&w);
  close_world(&w);
  test_pause_ends();
  test_close();
  test_threads();
  test_memory();
  server_stop(&server);
  return test_done("http/flow");
}
