/*
** http.c: one exchange at a time against a server of its own on 127.0.0.1, without Lua: what is sent, what comes back,
** what is refused, how it fails.
*/
#include "support/world.h"

static void test_answers(struct world *w) {
  struct ask a;
  struct answer r;
  gives(w, ask(&a, "GET", "/hello"), 200, "hello");
  gives(w, ask(&a, "GET", "/nothing"), 404, "none");
  gives(w, ask(&a, "GET", "/empty"), 204, "");
  gives(w, ask(&a, "GET", "/until-close"), 200, "all of it");
  gives(w, ask(&a, "GET", "/gzip"), 200, "hello, gzip");
  gives(w, ask(&a, "GET", "/redirect"), 302, "moved");
  ask(&a, "POST", "/redirect")->body = "x";
  a.r.body_n = 1;
  gives(w, &a.r, 302, "moved");
  run(w, ask(&a, "GET", "/chunked"), &r);
  CHECK_STR(r.body.p, r.body.n, "hello, chunked");
  CHECK(header(r.t, "x-late") == NULL && header(r.t, "trailer") != NULL);
  drop(&r);
}

static void test_head(struct world *w) {
  struct ask a;
  struct answer r;
  const struct header *h = NULL;
  run(w, ask(&a, "GET", "/early"), &r);
  CHECK(r.status == 200);
  CHECK(transfer_headers(r.t, &h) == 5);
  CHECK_STR(r.body.p, r.body.n, "ok");
  CHECK(header(r.t, "x-early") == NULL && header(r.t, "link") == NULL);
  CHECK_STR(header(r.t, "content-length"), strlen(header(r.t, "content-length")), "2");
  CHECK_STR(h[1].name.p, h[1].name.n, "x-mixed-case");
  CHECK_STR(h[1].value.p, h[1].value.n, "Some Value");
  CHECK_STR(h[3].value.p, h[3].value.n, "");
  CHECK_STR(h[4].value.p, h[4].value.n, "again");
  drop(&r);
}

/* The request as the server saw it. */
static void test_request(struct world *w) {
  struct ask a;
  struct answer r;
  static char large[40000];
  memset(large, 'b', sizeof large);
  ask(&a, "POST", "/echo");
  a.r.body = "{\"a\":1}";
  a.r.body_n = 7;
  add(&a, "Content-Type", "application/json");
  add(&a, "X-Empty", "");
  add(&a, "X-Tab", "a\tb \xC3\xA9");
  run(w, &a.r, &r);
  buf_addc(&r.body, '\0');
  CHECK(strncmp(r.body.p, "POST /echo HTTP/1.1\r\nHost: 127.0.0.1:", 37) == 0);
  CHECK(strstr(r.body.p, "\r\nContent-Type: application/json\r\n") != NULL);
  CHECK(strstr(r.body.p, "\r\nX-Empty:\r\n") != NULL);
  CHECK(strstr(r.body.p, "\r\nX-Tab: a\tb \xC3\xA9\r\n") != NULL);
  CHECK(strstr(r.body.p, "\r\nContent-Length: 7\r\n") != NULL);
  CHECK(strstr(r.body.p, "\r\nAccept-Encoding: gzip, deflate\r\n") != NULL);
  CHECK(strstr(r.body.p, "\r\n\r\n{\"a\":1}") != NULL);
  drop(&r);
  ask(&a, "POST", "/echo");
  a.r.body = large;
  a.r.body_n = sizeof large;
  run(w, &a.r, &r);
  CHECK(r.body.n > sizeof large && memcmp(r.body.p + r.body.n - sizeof large, large, sizeof large) == 0);
  buf_addc(&r.body, '\0');
  CHECK(strstr(r.body.p, "Expect") == NULL);
  drop(&r);
  run(w, ask(&a, "DELETE", "/echo"), &r);
  CHECK(r.body.n > 20 && memcmp(r.body.p, "DELETE /echo HTTP/1.1", 21) == 0);
  drop(&r);
  ask(&a, "PUT", "/echo")->body = "";
  run(w, &a.r, &r);
  CHECK(r.body.n > 18 && memcmp(r.body.p, "PUT /echo HTTP/1.1", 18) == 0);
  drop(&r);
  gives(w, ask(&a, "HEAD", "/hello"), 200, "");
}

static int unused_port(void) {
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(bind(fd, (struct sockaddr *)&a, n) == 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0);
  close(fd);
  return ntohs(a.sin_port);
}

static void test_failures(struct world *w) {
  struct ask a;
  struct answer r;
  ask(&a, "GET", "/");
  snprintf(a.url, sizeof a.url, "http://user:s3cret@127.0.0.1:%d/", unused_port());
  run(w, &a.r, &r);
  CHECK(r.failure.kind == KIND_CONNECT && err_retryable(&r.failure) && strstr(r.failure.message, "s3cret") == NULL);
  drop(&r);
  fails(w, ask(&a, "GET", "/close"), KIND_CONNECT, "", "");
  fails(w, ask(&a, "GET", "/reset"), KIND_CONNECT, "", "");
  fails(w, ask(&a, "GET", "/short"), KIND_STREAM_TRUNCATED, "", "the answer was cut off: ");
  fails(w, ask(&a, "GET", "/short-chunked"), KIND_STREAM_TRUNCATED, "", "cut off");
  fails(w, ask(&a, "GET", "/garbage"), KIND_PROTOCOL, "", "");
  fails(w, ask(&a, "GET", "/upgrade"), KIND_PROTOCOL, "", "another protocol");
  fails(w, ask(&a, "GET", "/bad-gzip"), KIND_PROTOCOL, "", "");
  fails(w, ask(&a, "GET", "/odd-encoding"), KIND_PROTOCOL, "", "");
  /* what came before the break can be read */
  run(w, ask(&a, "GET", "/short"), &r);
  CHECK(r.status == 200);
  CHECK_STR(r.body.p, r.body.n, "hello");
  drop(&r);
  atomic_store(&server.go, 0);
  struct transfer *t = transfer_start(w->http, ask(&a, "GET", "/reset-body"), NULL, &w->e);
  while (transfer_body(t)->n < 5 && step(w) == 0) ready(w->g);
  atomic_store(&server.go, 1);
  while (!over(t) && step(w) == 0) ready(w->g);
  const struct err *f = NULL;
  CHECK(transfer_done(t, &f) && f != NULL && f->kind == KIND_STREAM_TRUNCATED && transfer_body(t)->n == 5);
  transfer_close(t);
}

static void test_limits(struct world *w) {
  struct ask a;
  struct answer r;
  ask(&a, "GET", "/big?100000")->body_max = 99999;
  fails(w, &a.r, KIND_LIMIT, "body", "99999 bytes");
  a.r.body_max = 100000;
  a.r.decoded_max = 100000;
  run(w, &a.r, &r);
  CHECK(r.failure.kind == KIND_NONE && r.body.n == 100000);
  drop(&r);
  ask(&a, "GET", "/big-chunked?100000")->decoded_max = 99999;
  fails(w, &a.r, KIND_LIMIT, "decoded", "99999 bytes");
  ask(&a, "GET", "/head?300")->head_max = 8192;
  fails(w, &a.r, KIND_LIMIT, "head", "8192 bytes");
  fails(w, ask(&a, "GET", "/head?6000"), KIND_LIMIT, "head", "262144 bytes");
  fails(w, ask(&a, "GET", "/line?150000"), KIND_LIMIT, "", "");
  gives(w, ask(&a, "GET", "/head?300"), 200, "");
  /* 25,800,000 zeros in 162 KB: the decoded cap stops it at the first chunk beyond */
  ask(&a, "GET", "/gzip?25800000")->decoded_max = 1 << 20;
  a.r.body_max = 1 << 20;
  run(w, &a.r, &r);
  CHECK(r.failure.kind == KIND_LIMIT);
  if (r.failure.kind != KIND_LIMIT) fprintf(stderr, "  %s: %s\n", kind_name(r.failure.kind), r.failure.message);
  CHECK_STR(r.failure.code, strlen(r.failure.code), "decoded");
  CHECK(r.body.n <= 1 << 20);
  drop(&r);
  /* the wire's cap counts compressed bytes */
  ask(&a, "GET", "/gzip?2580000")->body_max = 15000;
  fails(w, &a.r, KIND_LIMIT, "body", "15000 bytes");
  a.r.body_max = 30000;
  run(w, &a.r, &r);
  CHECK(r.failure.kind == KIND_NONE && r.body.n == 2580012);
  struct transfer_stats s;
  transfer_stats(r.t, &s);
  CHECK(s.received > 16000 && s.received < 30000 && s.idle >= 0);
  drop(&r);
}

/* Nothing a caller passes can become a second header or another request. */
static void test_injection(struct world *w) {
  static const char *const urls[] = {
    "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: y", "http://127.0.0.1/\n", "http://127.0.0.1/\x01",
    "http://127.0.0.1/\x7F", "ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1/hello", "",
    "http://", "http://user:s3cret@:99999999/", "gopher://x/"
  };
  static const struct { const char *name, *value; } headers[] = {
    { "X\r\nY", "v" }, { "X Y", "v" }, { "X:Y", "v" }, { "", "v" }, { "X\xC3\xA9", "v" }, { "X", "s3cret\r\nY: z" },
    { "X", "s3cret\n" }, { "X", "\r" }, { "X", "a\x01" }, { "X", "a\x7F" }, { "Content-Length", "3" },
    { "transfer-ENCODING", "chunked" }
  };
  struct ask a;
  struct err e;
  for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
    ask(&a, "GET", "/")->url = urls[i];
    CHECK(transfer_start(w->http, &a.r, NULL, &e) == NULL && e.kind == KIND_ARGUMENT && strcmp(e.field, "url") == 0);
    CHECK(strstr(e.message, "s3cret") == NULL);
  }
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    add((ask(&a, "GET", "/hello"), &a), headers[i].name, headers[i].value);
    CHECK(transfer_start(w->http, &a.r, NULL, &e) == NULL && e.kind == KIND_ARGUMENT);
    CHECK(strncmp(e.field, "headers", 7) == 0);
    CHECK(strstr(e.message, "s3cret") == NULL);
  }
  ask(&a, "GET", "/hello")->header_count = 1;
  a.headers[0] = (struct header){ STR("X"), { "a\0b", 3 } };
  CHECK(transfer_start(w->http, &a.r, NULL, &e) == NULL && e.kind == KIND_ARGUMENT && strcmp(e.field, "headers.X") == 0);
  ask(&a, "GET /x HTTP/1.1\r\nX: y", "/hello");
  CHECK(transfer_start(w->http, &a.r, NULL, &e) == NULL && e.kind == KIND_ARGUMENT && strcmp(e.field, "method") == 0);
  CHECK(transfer_start(w->http, ask(&a, "", "/hello"), NULL, &e) == NULL && e.kind == KIND_ARGUMENT);
  ask(&a, "GET", "/hello")->proxy = "http://a\r\nb";
  CHECK(transfer_start(w->http, &a.r, NULL, &e) == NULL && e.kind == KIND_ARGUMENT && strcmp(e.field, "proxy") == 0);
  CHECK(http_active(w->http) == 0);
}

static void test_proxy(struct world *w) {
  struct ask a;
  struct answer r;
  char proxy[64];
  snprintf(proxy, sizeof proxy, "http://user:s3cret@127.0.0.1:%d", server.port);
  ask(&a, "GET", "/");
  snprintf(a.url, sizeof a.url, "http://nowhere.invalid/echo");
  a.r.proxy = proxy;
  run(w, &a.r, &r);
  CHECK(r.body.n > 31 && memcmp(r.body.p, "GET http://nowhere.invalid/echo", 31) == 0);
  drop(&r);
  /* one from the environment serves other hosts, never this one */
  setenv("http_proxy", proxy, 1);
  setenv("no_proxy", "", 1);
  a.r.proxy = NULL;
  run(w, &a.r, &r);
  CHECK(r.body.n > 31 && memcmp(r.body.p, "GET http://nowhere.invalid/echo", 31) == 0);
  drop(&r);
  static const char *const hosts[] = { "127.0.0.1", "LOCALHOST", "127.1" };
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    snprintf(a.url, sizeof a.url, "http://%s:%d/echo", hosts[i], server.port);
    run(w, &a.r, &r);
    CHECK(r.body.n > 9 && memcmp(r.body.p, "GET /echo", 9) == 0);
    drop(&r);
  }
  /* unless given, whatever the environment excepts */
  setenv("no_proxy", "*", 1);
  a.r.proxy = proxy;
  run(w, &a.r, &r);
  CHECK(r.body.n > 16 && memcmp(r.body.p, "GET http://127.", 15) == 0);
  drop(&r);
  /* a bad one is not repeated in the error */
  a.r.proxy = "bogus://user:s3cret@127.0.0.1:1";
  run(w, &a.r, &r);
  CHECK(r.failure.kind != KIND_NONE && strstr(r.failure.message, "s3cret") == NULL);
  drop(&r);
  unsetenv("http_proxy");
  unsetenv("no_proxy");
}

static void test_offline(struct world *w) {
  static const char *const urls[] = {
    "http://nowhere.invalid/", "https://192.0.2.1/", "http://[2001:db8::1]/", "http://localhost.example.invalid/",
    "http://126.0.0.1/"
  };
  struct ask a;
  struct err e;
  http_offline(w->http, 1);
  for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
    ask(&a, "GET", "/")->url = urls[i];
    CHECK(transfer_start(w->http, &a.r, NULL, &e) == NULL && e.kind == KIND_CONNECT);
    CHECK_STR(e.code, strlen(e.code), "offline");
  }
  gives(w, ask(&a, "GET", "/hello"), 200, "hello");
  ask(&a, "GET", "/hello")->proxy = "192.0.2.1:3128";
  CHECK(transfer_start(w->http, &a.r, NULL, &e) == NULL && strcmp(e.code, "offline") == 0);
  snprintf(a.url, sizeof a.url, "http://localhost:%d/hello", server.port);
  a.r.proxy = "";
  gives(w, &a.r, 200, "hello");
  http_offline(w->http, 0);
}

int main(void) {
  struct world w;
  alarm(120); /* a hang is a failure */
  unsetenv("http_proxy"), unsetenv("all_proxy"), unsetenv("ALL_PROXY"), unsetenv("no_proxy"), unsetenv("NO_PROXY");
  server_start(&server);
  open_world(&w, 0);
  test_answers(&w);
  test_head(&w);
  test_request(&w);
  test_failures(&w);
  test_limits(&w);
  test_injection(&w);
  test_proxy(&w);
  test_offline(&w);
  close_world(&w);
  server_stop(&server);
  return test_done("http");
}
