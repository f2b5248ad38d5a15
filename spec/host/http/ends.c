/* ends.c: how transfers end: deadlines, grace periods, closing at every stage; no descriptor is left. `ends fds`, a
** child of the test, counts the descriptors that it inherited. */
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/clock.h"
#include "support/world.h"

static const char *self;

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
  /* TLS counts as connecting, and this server never says a word of it; libcurl, which counts whole milliseconds, does not
  ** end it before its time */
  ask(&a, "GET", "/stall")->timeouts = (struct timeouts){ 0.5009, 30, 30, 30, 0 };
  snprintf(a.url, sizeof a.url, "https://127.0.0.1:%d/", server.port);
  fails(w, &a.r, KIND_TIMEOUT, "connect", "no TLS handshake within 0.501 s (connect)");
  /* without limits nothing but the server ends it */
  ask(&a, "GET", "/hello")->timeouts = (struct timeouts){ 0, 0, 0, 0, 0 };
  gives(w, &a.r, 200, "hello");
}

/* A program that is busy until the time for the connection is over sees neither that it came nor that nobody answers. What
** it is told does not depend on that. */
static void test_busy(struct world *w) {
  const struct timespec pause = { 0, 80000000l };
  const struct err *f = NULL;
  struct ask a;
  struct transfer *t;
  int interrupted;
  ask(&a, "GET", "/stall")->timeouts.connect = 0.05;
  snprintf(a.url, sizeof a.url, "https://127.0.0.1:%d/", server.port);
  t = transfer_start(w->http, &a.r, w, &w->e);
  CHECK(t != NULL && engine_step(w->g, 0, -1, &interrupted, &w->e) == 0);
  nanosleep(&pause, NULL);
  while (!transfer_done(t, &f) && engine_step(w->g, 1, -1, &interrupted, &w->e) == 0) {}
  CHECK(f != NULL && f->kind == KIND_TIMEOUT);
  if (f != NULL) CHECK_STR(f->message, strlen(f->message), "no TLS handshake within 0.050 s (connect)");
  transfer_close(t);
}

/* A socket that hears on a port of this machine and is not looked at: the system connects it. */
static int listen_silently(int *port) {
  struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof in;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(bind(fd, (struct sockaddr *)&in, n) == 0 && listen(fd, 4) == 0);
  CHECK(getsockname(fd, (struct sockaddr *)&in, &n) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  *port = ntohs(in.sin_port);
  return fd;
}

/* Fails with this message while a proxy hears on `fd`, which says `answer` to who connects, if anything. */
static void fails_behind(struct world *w, struct ask *a, int fd, const char *answer, const char *message) {
  const struct err *f = NULL;
  struct transfer *t = transfer_start(w->http, &a->r, w, &w->e);
  int peer = -1, interrupted;
  char c;
  CHECK(t != NULL);
  while (!transfer_done(t, &f) && engine_step(w->g, 0.02, -1, &interrupted, &w->e) == 0) {
    if (peer < 0) peer = accept(fd, NULL, NULL);
    if (peer < 0 || answer == NULL || recv(peer, &c, 1, MSG_DONTWAIT) != 1) continue;
    CHECK(write(peer, answer, strlen(answer)) == (ssize_t)strlen(answer));
    answer = NULL;
  }
  CHECK(f != NULL && f->kind == KIND_TIMEOUT && strcmp(f->code, "connect") == 0);
  if (f != NULL) CHECK_STR(f->message, strlen(f->message), message);
  transfer_close(t);
  if (peer >= 0) close(peer);
}

/* A proxy that says nothing is told from a server behind one that does not speak TLS. */
static void test_silent_proxy(struct world *w) {
  static const char SILENT[] = "no answer of the proxy, or no TLS handshake behind it, within 0.200 s (connect)";
  static const char *const VARIABLES[] = { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY" };
  struct ask a;
  char proxy[64];
  int port, fd = listen_silently(&port);
  for (size_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++) unsetenv(VARIABLES[i]);
  ask(&a, "GET", "/")->timeouts.connect = 0.2;
  snprintf(a.url, sizeof a.url, "https://192.0.2.1/");
  a.r.proxy = proxy;
  snprintf(proxy, sizeof proxy, "socks5://127.0.0.1:%d", port);
  fails_behind(w, &a, fd, NULL, SILENT);
  snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", port);
  fails_behind(w, &a, fd, NULL, SILENT);
  fails_behind(w, &a, fd, "HTTP/1.1 200 OK\r\n\r\n", "no TLS handshake within 0.200 s (connect)");
  setenv("https_proxy", proxy, 1);
  a.r.proxy = NULL;
  fails_behind(w, &a, fd, NULL, SILENT);
  unsetenv("https_proxy");
  close(fd);
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

int main(int argc, char **argv) {
  struct world w;
  if (argc > 1 && strcmp(argv[1], "fds") == 0) return inherited();
  self = argv[0];
  alarm(120); /* a hang is a failure */
  server_start(&server);
  test_descriptors();
  open_world(&w, 0);
  test_deadlines(&w);
  test_busy(&w);
  test_silent_proxy(&w);
  test_deadline_order(&w);
  test_grace(&w);
  close_world(&w);
  test_close();
  server_stop(&server);
  return test_done("http/ends");
}
