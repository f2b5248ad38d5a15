/* figures.c: what a transfer tells of how its request went out: on a new connection or on one that was there, how long name,
** connection and first byte took; and of one that went nowhere, that it tells nothing. */
#include "support/world.h"

static struct route route_of(const struct transfer *t) {
  struct transfer_stats s;
  transfer_stats(t, &s);
  return s.route;
}

static int is_unknown(const struct route *r) {
  return r->carrier == CARRIER_NONE && r->dns < 0 && r->connect < 0 && r->tls < 0 && r->first_byte < 0;
}

/* The first request makes a connection, the second finds it; neither has TLS. */
static void test_carrier(struct world *w) {
  struct ask a;
  struct answer answer;
  struct http_request *r = ask(&a, "POST", "/hello");
  r->body = "twelve bytes";
  r->body_n = 12;
  for (int i = 0; i < 2; i++) {
    run(w, r, &answer);
    struct route route = route_of(answer.t);
    CHECK(answer.failure.kind == KIND_NONE && route.sent == 12 && route.first_byte > 0 && route.tls < 0);
    CHECK(route.carrier == (i == 0 ? CARRIER_NEW : CARRIER_REUSED));
    CHECK((route.dns >= 0) == (i == 0) && (route.connect >= 0) == (i == 0));
    if (i == 0) CHECK(route.dns + route.connect <= route.first_byte);
    drop(&answer);
  }
}

/* The first byte is the answer's, not the request's. */
static void test_first_byte(struct world *w) {
  enum { N = 60000 };
  static char body[N];
  struct ask a;
  struct transfer_stats s;
  memset(body, 'x', N);
  struct http_request *r = ask(&a, "POST", "/gated");
  r->body = body;
  r->body_n = N;
  atomic_store(&server.go, 0);
  struct transfer *t = transfer_start(w->http, r, NULL, &w->e);
  CHECK(route_of(t).sent == 0 && route_of(t).first_byte < 0);
  while (route_of(t).sent < N && step(w) == 0) {
    CHECK(transfer_status(t) != 0 || route_of(t).first_byte < 0);
    ready(w->g);
  }
  while (transfer_status(t) == 0 && step(w) == 0) ready(w->g);
  transfer_stats(t, &s);
  CHECK(s.route.sent == N && s.route.first_byte > 0);
  atomic_store(&server.go, 1);
  while (!over(t) && step(w) == 0) ready(w->g);
  CHECK(route_of(t).first_byte == s.route.first_byte && route_of(t).sent == N); /* kept behind the end */
  transfer_close(t);
}

/* A spare handle tells nothing of its last transfer. */
static void test_fresh(struct world *w) {
  struct ask a;
  struct answer answer;
  run(w, ask(&a, "GET", "/hello"), &answer);
  drop(&answer);
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/hello"), NULL, &w->e);
  struct route route = route_of(t);
  CHECK(is_unknown(&route) && route.sent == 0);
  transfer_close(t);
}

/* A connection that was not made has no carrier; a name that was not found has not even a time. */
static void test_nowhere(struct world *w) {
  struct ask a;
  struct answer answer;
  struct http_request *r = ask(&a, "GET", "/");
  snprintf(a.url, sizeof a.url, "http://127.0.0.1:1/");
  run(w, r, &answer);
  struct route route = route_of(answer.t);
  CHECK(answer.failure.kind == KIND_CONNECT && route.carrier == CARRIER_NONE);
  CHECK(route.connect < 0 && route.tls < 0 && route.first_byte < 0 && route.sent == 0);
  drop(&answer);
  snprintf(a.url, sizeof a.url, "http://name.invalid/");
  run(w, r, &answer);
  route = route_of(answer.t);
  CHECK(answer.failure.kind == KIND_CONNECT && is_unknown(&route) && route.sent == 0);
  drop(&answer);
}

/* Broken off behind its head, and by the end of the engine. */
static void test_broken_off(struct world *w) {
  struct ask a;
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/stall-body"), NULL, &w->e);
  while (transfer_body(t)->n == 0 && step(w) == 0) ready(w->g);
  CHECK(route_of(t).carrier != CARRIER_NONE && route_of(t).first_byte > 0);
  http_free(w->http);
  w->http = NULL;
  CHECK(over(t) && route_of(t).carrier != CARRIER_NONE && route_of(t).first_byte > 0);
  transfer_close(t);
}

/* A recording went out on nothing. */
static void test_played(struct world *w) {
  static const struct str NAME = { "a", 1 }, VALUE = { "b", 1 };
  struct ask a;
  struct answer answer;
  struct recording *played = recording_new(&w->m);
  CHECK(recording_header(played, NAME, VALUE) == 0 && recording_add(played, 0, "hello", 5) == 0);
  played->status = 200;
  played->end_at = 0;
  played->played = 1;
  struct http_request *r = ask(&a, "GET", "/hello");
  r->play = played;
  run(w, r, &answer);
  struct route route = route_of(answer.t);
  CHECK(answer.status == 200 && answer.body.n == 5 && is_unknown(&route) && route.sent < 0);
  drop(&answer);
  recording_free(played);
}

int main(void) {
  static void (*const tests[])(struct world *) = { test_carrier, test_first_byte, test_fresh, test_nowhere,
    test_broken_off, test_played };
  alarm(60);
  unsetenv("http_proxy"), unsetenv("all_proxy"), unsetenv("ALL_PROXY");
  server_start(&server);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    struct world w;
    open_world(&w, 0);
    tests[i](&w);
    close_world(&w);
  }
  server_stop(&server);
  return test_done("http/figures");
}
