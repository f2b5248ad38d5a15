/*
** hostile.c: a server that answers what no honest one would: folded lines, odd status lines, one answer too many. Every
** transfer ends, in time and with an answer or an error; no answer belongs to another request.
*/
#include <sched.h>

#include "support/listener.h"
#include "support/world.h"

#define TOTAL 2.0 /* seconds that a transfer may take */

/* {{{ a server with a script: connection i gets the answers of plays[i], one for each request, the last play again */

struct play {
  const char *answer[4]; /* NULL ends; sent when a request has come */
  const char *more;      /* sent once the test says `go`, after the answers */
  int closes;            /* the server closes after the last answer */
};

static struct stage {
  struct listener listener;
  const struct play *plays;
  int n;
  const char *bytes; /* sent in place of the first answer, NULL = not */
  size_t byte_n;
  atomic_int connections, requests, go, sent_more;
} stage;

/* Reads a request without a body: 0, or -1 at the end. */
static int read_request(int fd) {
  char in[4096];
  size_t n = 0;
  while (n < sizeof in - 1) {
    ssize_t r = recv(fd, in + n, sizeof in - 1 - n, 0);
    if (r <= 0) return -1;
    n += (size_t)r;
    in[n] = '\0';
    if (strstr(in, "\r\n\r\n") != NULL) return 0;
  }
  return -1;
}

static void *serve(void *ud) {
  int fd = (int)(intptr_t)ud;
  int i = atomic_fetch_add(&stage.connections, 1);
  const struct play copy = stage.plays[i < stage.n ? i : stage.n - 1], *p = &copy; /* the test may be over before this */
  for (int k = 0; k < 4 && p->answer[k] != NULL; k++) {
    if (read_request(fd) != 0) break;
    atomic_fetch_add(&stage.requests, 1);
    if (stage.bytes != NULL) server_write(fd, stage.bytes, stage.byte_n);
    else server_puts(fd, p->answer[k]);
  }
  if (p->more != NULL) {
    while (!atomic_load(&stage.go)) sched_yield();
    server_puts(fd, p->more);
    if (p->closes) shutdown(fd, SHUT_RDWR); /* before the test goes on */
    atomic_store(&stage.sent_more, 1);
  }
  if (!p->closes) server_wait(fd);
  close(fd);
  return NULL;
}

static void set_stage(const struct play *plays, int n) {
  stage.plays = plays;
  stage.n = n;
  atomic_store(&stage.connections, 0);
  atomic_store(&stage.requests, 0);
  atomic_store(&stage.go, 0);
  atomic_store(&stage.sent_more, 0);
}

/* Gets the next answer of the script. */
static void get(struct world *w, struct answer *r) {
  struct ask a;
  ask(&a, "GET", "/");
  snprintf(a.url, sizeof a.url, "http://127.0.0.1:%d/", stage.listener.port);
  a.r.timeouts.total = TOTAL;
  run(w, &a.r, r);
}

/* }}} */

static const char OK[] = "HTTP/1.1 200 OK\r\nx-first: 1\r\ncontent-length: 2\r\n\r\nok";

/* The second answer of a connection begins with a folded line that holds a colon: libcurl before 8.3 goes on in the
** memory of the first answer's last header when its handle is used again. */
static void test_folded_first_line(void) {
  struct world w;
  static char folded[4096];
  struct answer r;
  char *p = folded + snprintf(folded, sizeof folded, "HTTP/1.1 200 OK\r\n A: ");
  memset(p, 'A', 3000);
  snprintf(p + 3000, sizeof folded - 3100, "\r\ncontent-length: 2\r\n\r\nok");
  const struct play play = { .answer = { OK, folded, OK }, .closes = 1 };
  open_world(&w, 0);
  set_stage(&play, 1);
  get(&w, &r);
  CHECK(r.status == 200);
  drop(&r);
  get(&w, &r);
  CHECK(r.status == 200 || r.failure.kind != KIND_NONE);
  drop(&r);
  get(&w, &r);
  CHECK(r.status == 200);
  drop(&r);
  close_world(&w);
}

/* Whatever the status line looks like, the transfer ends: with a failure, or with a status and the body behind it. */
static void test_status_lines(void) {
  static const char *const LINES[] = {
    "HTTP/1.1 200 OK", "HTTP/1.1  200 OK", "HTTP/1.1\t200 OK", "http/1.1 200 OK", "Http/1.1 200", "HTTP/1.1 200",
    "HTTP/1.0 200 OK", "HTTP/1.1 200OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 099 Odd", "HTTP/1.1 000 Odd",
    "HTTP/1.1 600 Odd", "HTTP/1.1 999 Odd", "HTTP/1.1 -200 OK", "HTTP/1.1 OK", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.2 200 OK",
    "HTTP/2 200", "HTTP/2.0 200 OK", "HTTP/3 200", "HTTP/0.9 200 OK", "HTTP/ 200", "HTTP 200 OK", "ICY 200 OK", "RTSP/1.0 200 OK",
    " HTTP/1.1 200 OK", "\r\nHTTP/1.1 200 OK", "\nHTTP/1.1 200 OK", "HTTP/1.1 200 OK\r", "HTTP/1.1\v200 OK", "", "hello"
  };
  for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
    static char text[256]; /* its connection's thread may end after the test */
    struct world w;
    struct answer r;
    snprintf(text, sizeof text, "%s\r\ncontent-length: 2\r\n\r\nok", LINES[i]);
    const struct play play = { .answer = { text }, .closes = 1 };
    open_world(&w, 0);
    set_stage(&play, 1);
    get(&w, &r);
    int answered = r.failure.kind == KIND_NONE;
    CHECK(!answered || (r.status >= 200 && r.status <= 999 && r.body.n == 2));
    CHECK(answered || r.failure.kind != KIND_TIMEOUT);
    if (answered ? r.status < 200 || r.body.n != 2 : r.failure.kind == KIND_TIMEOUT)
      fprintf(stderr, "  \"%s\": status %d, %zu bytes, %s\n", LINES[i], r.status, r.body.n, r.failure.message);
    drop(&r);
    close_world(&w);
  }
}

/* One answer too many on a connection that is kept: the next request must not get it. */
static void test_one_too_many(void) {
  static const char BOB[] = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbob";
  static const char CHUNKED[] = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
  static char with_bob[512], chunked_with_bob[512];
  snprintf(with_bob, sizeof with_bob, "%s%s", OK, BOB);
  snprintf(chunked_with_bob, sizeof chunked_with_bob, "%s%s", CHUNKED, BOB);
  const struct play plays[][2] = {
    { { .answer = { OK }, .more = BOB }, { .answer = { OK } } },                /* after it, by itself */
    { { .answer = { with_bob } }, { .answer = { OK } } },                       /* in the same packet */
    { { .answer = { chunked_with_bob, OK } }, { .answer = { OK } } },           /* read with it, and dropped */
    { { .answer = { CHUNKED }, .more = BOB }, { .answer = { OK } } },
    { { .answer = { OK }, .more = "\r\n" }, { .answer = { OK } } },             /* not even an answer */
    { { .answer = { OK }, .more = "", .closes = 1 }, { .answer = { OK } } },    /* closed while it was idle */
  };
  for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
    struct world w;
    struct answer r;
    open_world(&w, 0);
    set_stage(plays[i], 2);
    get(&w, &r);
    CHECK(r.failure.kind == KIND_NONE);
    CHECK_STR(r.body.p, r.body.n, "ok");
    drop(&r);
    atomic_store(&stage.go, 1);
    while (plays[i][0].more != NULL && !atomic_load(&stage.sent_more)) sched_yield();
    get(&w, &r);
    CHECK(r.failure.kind == KIND_NONE);
    if (r.failure.kind != KIND_NONE) fprintf(stderr, "  play %zu: %s\n", i, r.failure.message);
    CHECK_STR(r.body.p, r.body.n, "ok");
    drop(&r);
    CHECK(atomic_load(&stage.connections) == (plays[i][0].answer[1] == NULL ? 2 : 1));
    CHECK(atomic_load(&stage.requests) == 2);
    close_world(&w);
  }
}

/* A connection whose answer was found wrong when it had ended is not used again; a new one is. */
static void test_distrust(void) {
  struct world w;
  const struct play plays[] = { { .answer = { OK, OK } }, { .answer = { OK, OK, OK } } };
  struct answer r;
  open_world(&w, 0);
  set_stage(plays, 2);
  get(&w, &r);
  transfer_distrust(r.t);
  drop(&r);
  for (int i = 0; i < 2; i++) {
    get(&w, &r);
    CHECK_STR(r.body.p, r.body.n, "ok");
    drop(&r);
  }
  CHECK(atomic_load(&stage.connections) == 2 && atomic_load(&stage.requests) == 3);
  close_world(&w);
}

/* A body that inflates well holds no step for long: one read of libcurl's at a time, and no copies of what waits. */
static void test_inflated(void) {
  struct world w;
  enum { ZEROS = 258 * 200000 };
  static unsigned char bomb[ZEROS / 150] /* 13 bits for 258 bytes */;
  static char answer[sizeof bomb + 256];
  size_t n = gzip("x", ZEROS, bomb), seen = 0, most = 0;
  int head = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %zu\r\n\r\n", n);
  memcpy(answer + head, bomb, n);
  struct ask a;
  struct transfer_stats s;
  const size_t bound = (256 << 10) + 4096 * 1032 + 16384; /* high_water, what a read may inflate to, a piece of that */
  ask(&a, "GET", "/");
  snprintf(a.url, sizeof a.url, "http://127.0.0.1:%d/", stage.listener.port);
  a.r.high_water = 256 << 10;
  stage.bytes = answer;
  stage.byte_n = (size_t)head + n;
  const struct play play = { .answer = { "" }, .closes = 1 };
  open_world(&w, 0);
  set_stage(&play, 1);
  struct transfer *t = transfer_start(w.http, &a.r, NULL, &w.e);
  struct buf *b = transfer_body(t);
  while (!over(t) || b->n > 0) {
    int interrupted;
    size_t before = b->n;
    if (!over(t) && engine_step(w.g, -1, 0, &interrupted, &w.e) != 0) break;
    while (ready(w.g) != NULL) continue;
    if (b->n - before > most) most = b->n - before;
    if (b->n < a.r.high_water && !over(t)) continue;
    seen += b->n;
    b->n = 0;
    transfer_taken(t);
    if (b->n > most) most = b->n; /* what libcurl had kept */
  }
  transfer_stats(t, &s);
  CHECK(seen == ZEROS + 2);
  CHECK(most <= bound && s.peak <= bound);
  if (most > bound) fprintf(stderr, "  %zu bytes in one step\n", most);
  transfer_close(t);
  stage.bytes = NULL;
  close_world(&w);
}

/* A folded line is more of the header before it. */
static void test_folded(void) {
  static const char ANSWER[] = "HTTP/1.1 200 OK\r\nx-a: one\r\n  two \r\n\tthree\r\nx-b:\r\n four\r\n"
                               "x-c: five\r\n \r\ncontent-length: 2\r\n\r\nok";
  static const char *const EXPECT[] = { "one two three", " four", "five", "2" };
  const struct play play = { .answer = { ANSWER }, .closes = 1 };
  const struct header *h;
  struct world w;
  struct answer r;
  open_world(&w, 0);
  set_stage(&play, 1);
  get(&w, &r);
  CHECK(transfer_headers(r.t, &h) == 4);
  for (size_t i = 0; i < transfer_headers(r.t, &h) && i < 4; i++) CHECK_STR(h[i].value.p, h[i].value.n, EXPECT[i]);
  drop(&r);
  close_world(&w);
}

/* A coding that was not asked for is not unpacked: a read of libcurl's could become gigabytes. Newer libcurls refuse a
** coded transfer themselves. */
static void test_codings(void) {
  static const char REFUSED[] = "Unsolicited Transfer-Encoding";
  static const struct { const char *headers, *why; } CASES[] = {
    { "content-encoding: br", "not asked for" }, { "content-encoding: zstd", "not asked for" },
    { "content-encoding: gzip, zstd", "not asked for" }, { "Content-Encoding:\tcompress", "not asked for" },
    { "content-encoding: gzip, gzip", "twice" }, { "content-encoding: deflate,X-GZIP", "twice" },
    { "content-encoding: gzip\r\ncontent-encoding: gzip", "twice" },
    { "transfer-encoding: gzip\r\ncontent-encoding: gzip", "twice" }, { "transfer-encoding: br", "not asked for" },
    { "content-encoding: identity", NULL }, { "content-encoding:", NULL }, { "content-encoding: ,", NULL }
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    static char text[256]; /* its connection's thread may end after the test */
    struct world w;
    struct answer r;
    snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n%s\r\ncontent-length: 2\r\n\r\nok", CASES[i].headers);
    const struct play play = { .answer = { text }, .closes = 1 };
    open_world(&w, 0);
    set_stage(&play, 1);
    get(&w, &r);
    const char *why = CASES[i].why;
    int right = why == NULL ? r.failure.kind == KIND_NONE && r.body.n == 2
                            : r.failure.kind == KIND_PROTOCOL && (strstr(r.failure.message, why) != NULL ||
                                                                  strstr(r.failure.message, REFUSED) != NULL);
    CHECK(right);
    if (!right) fprintf(stderr, "  %s: %s\n", CASES[i].headers, r.failure.message);
    drop(&r);
    close_world(&w);
  }
}

int main(void) {
  alarm(120); /* a hang is a failure */
  unsetenv("http_proxy"), unsetenv("all_proxy"), unsetenv("ALL_PROXY");
  CHECK(listener_start(&stage.listener, serve) == 0);
  test_folded_first_line();
  test_status_lines();
  test_one_too_many();
  test_distrust();
  test_codings();
  test_folded();
  test_inflated();
  listener_stop(&stage.listener);
  return test_done("http/hostile");
}
