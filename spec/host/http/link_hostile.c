/*
** link_hostile.c: connections with TLS: certificates are verified, no protocol is offered, bytes that OpenSSL holds while the socket
** is quiet are not forgotten, a peer that reads nothing, one that cuts the connection, new keys in the middle. The server is
** OpenSSL's, in threads.
*/
#include <curl/curl.h>
#include <poll.h>
#include <signal.h>

#include "core/base/clock.h"
#include "core/connect/connect.h"
#include "support/certificate.h"
#include "support/failing.h"
#include "support/listener.h"
#include "support/test.h"

static struct stage {
  struct listener listener;
  struct certificate cert;
  atomic_int offered, go;
} stage;

/* {{{ the server: does what the first byte that it reads says */

enum { BIG = 3 << 20, LOTS = 16 << 20 /* more than the system takes for one that is not read */ };

static char pattern(size_t i) {
  return (char)('a' + i % 23 + i / 4096 % 3);
}

/* Says `n` bytes of the pattern. */
static void pour(SSL *ssl, size_t n) {
  char c[16384];
  for (size_t at = 0; at < n;) {
    size_t k = 0;
    for (; k < sizeof c && at + k < n; k++) c[k] = pattern(at + k);
    if (SSL_write(ssl, c, (int)k) <= 0) return;
    at += k;
  }
}

/* Reads LOTS of bytes once it may, and says whether they were the pattern. */
static void drink(SSL *ssl) {
  size_t at = 0, wrong = 0;
  char c[20000];
  while (!atomic_load(&stage.go)) usleep(200);
  for (int n; at < LOTS && (n = SSL_read(ssl, c, sizeof c)) > 0; at += (size_t)n)
    for (int i = 0; i < n; i++) wrong += c[i] != pattern(at + (size_t)i);
  SSL_write(ssl, wrong == 0 && at == LOTS ? "right\n" : "wrong\n", 6);
}

static void *serve(void *ud) {
  int fd = (int)(intptr_t)ud;
  SSL *ssl = SSL_new(stage.cert.context);
  sigset_t broken_pipe;
  char what;
  sigemptyset(&broken_pipe); /* what the client would get ends the program */
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, NULL);
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) == 1)
    while (SSL_read(ssl, &what, 1) == 1) {
      if (what == 'p') pour(ssl, BIG);
      if (what == 'r') SSL_write(ssl, "0123456789\nabc\n", 15); /* one record */
      if (what == 'd') drink(ssl);
      if (what == 'k') for (int i = 0; i < 100; i++) {
        SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_write(ssl, "key\n", 4);
      }
      if (what == 'e') { SSL_shutdown(ssl); break; }
      if (what == 'c') break; /* without a word of TLS's */
    }
  SSL_free(ssl);
  close(fd);
  return NULL;
}

/* Called where the client offers protocols inside of TLS. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *n, const unsigned char *in, unsigned in_n, void *ud) {
  (void)ssl, (void)out, (void)n, (void)in, (void)in_n, (void)ud;
  atomic_fetch_add(&stage.offered, 1);
  return SSL_TLSEXT_ERR_NOACK;
}

/* }}} */

static struct world {
  struct failing f;
  struct mem m;
  struct engine *g;
  struct http *http;
  struct connection *c;
  struct err e;
} w;

static int step(void) {
  int interrupted;
  if (engine_step(w.g, 10, -1, &interrupted, &w.e) < 0) return -1;
  while (pollset_ready(engine_pollset(w.g)) != NULL) continue;
  return 0;
}

/* Connects: what connection_ready says. */
static int connect_to(const char *host, const char *ca_file) {
  struct connect_spec s = { .to = { .host = host, .port = stage.listener.port, .tls = 1, .ca_file = ca_file, .timeout = 30 },
                            .high_water = 1 << 16, .line_max = 1 << 20 };
  int ready = -1;
  memset(&w, 0, sizeof w);
  w.m = failing_mem(&w.f);
  err_clear(&w.e);
  w.g = engine_new(&w.m, &w.e);
  w.http = http_new(w.g, &w.e);
  w.c = connection_open(w.g, w.http, &s, &w, &w.e);
  CHECK(w.c != NULL);
  while (w.c != NULL && (ready = connection_ready(w.c, &w.e)) == 0) CHECK(step() == 0);
  return ready;
}

static void end(void) {
  connection_close(w.c);
  http_free(w.http);
  engine_free(w.g);
  CHECK(w.f.live == 0 && w.f.wrong == 0);
}

static void ask(const char *what) {
  CHECK(connection_write(w.c, (struct str){ what, 1 }, &w.e) == 0);
}

/* Reads at most `most` bytes at a time, without a step while there are any: how many until the end or `n`. */
static size_t reads(size_t n, size_t most, size_t *wrong) {
  size_t at = 0;
  *wrong = 0;
  while (at < n) {
    struct str s;
    enum pipe_got got = connection_read(w.c, most, &s, &w.e);
    if (got == PIPE_LATER && step() == 0) continue;
    if (got != PIPE_BYTES) break;
    for (size_t i = 0; i < s.n; i++) *wrong += s.p[i] != pattern(at + i);
    at += s.n;
    connection_took(w.c);
  }
  return at;
}

static const char *line(void) {
  static char text[64];
  struct str s;
  enum pipe_got got;
  while ((got = connection_line(w.c, &s, &w.e)) == PIPE_LATER)
    if (step() < 0) break;
  if (got == PIPE_END) return "end";
  if (got != PIPE_BYTES) return kind_name(w.e.kind);
  snprintf(text, sizeof text, "=%.*s", (int)s.n, s.p);
  connection_took(w.c);
  return text;
}

static void test_certificates(void) {
  CHECK(connect_to("127.0.0.1", stage.cert.file) == -1 && w.e.kind == KIND_CONNECT && !err_retryable(&w.e));
  CHECK(strcmp(w.e.code, "connect") == 0);
  end();
  CHECK(connect_to("localhost", NULL) == -1 && w.e.kind == KIND_CONNECT && !err_retryable(&w.e));
  CHECK(strstr(w.e.message, "certificate") != NULL);
  end();
  CHECK(connect_to("localhost", "/nonexistent/ca.pem") == -1 && w.e.kind == KIND_CONNECT && !err_retryable(&w.e));
  end();
  CHECK(connect_to("localhost", stage.cert.file) == 1 && atomic_load(&stage.offered) == 0);
  end();
}

/* Much, in pieces of any size: nothing is left behind in OpenSSL. */
static void test_pour(void) {
  static const size_t SIZES[] = { 1000, 5, 16384, 1 << 20 };
  CHECK(connect_to("localhost", stage.cert.file) == 1);
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    size_t wrong;
    ask("p");
    CHECK(reads(BIG, SIZES[i], &wrong) == BIG && wrong == 0);
  }
  ask("r");
  CHECK(strcmp(line(), "=0123456789") == 0 && strcmp(line(), "=abc") == 0);
  ask("k");
  for (int i = 0; i < 100; i++) CHECK(strcmp(line(), "=key") == 0);
  ask("r");
  CHECK(strcmp(line(), "=0123456789") == 0 && strcmp(line(), "=abc") == 0);
  end();
}

/* A peer that reads nothing for a while, and more that is queued meanwhile: all of it arrives as it was. */
static void test_drink(void) {
  static char all[LOTS];
  for (size_t i = 0; i < LOTS; i++) all[i] = pattern(i);
  atomic_store(&stage.go, 0);
  CHECK(connect_to("localhost", stage.cert.file) == 1);
  ask("d");
  for (size_t at = 0; at < LOTS; at += LOTS / 16)
    CHECK(connection_write(w.c, (struct str){ all + at, LOTS / 16 }, &w.e) == 0);
  CHECK(connection_full(w.c));
  atomic_store(&stage.go, 1);
  CHECK(strcmp(line(), "=right") == 0 && connection_waiting(w.c) == 0);
  end();
}

/* An end that TLS tells of is one; a connection that is cut ends too. */
static void test_ends(void) {
  CHECK(connect_to("localhost", stage.cert.file) == 1);
  ask("e");
  CHECK(strcmp(line(), "end") == 0 && strcmp(line(), "end") == 0);
  end();
  CHECK(connect_to("localhost", stage.cert.file) == 1);
  ask("c");
  const char *got = line(); /* libcurl 7.88 has OpenSSL call this an end */
  CHECK(strcmp(got, "connect") == 0 || strcmp(got, "end") == 0);
  end();
}

int main(void) {
  alarm(120); /* a hang is a failure */
  signal(SIGPIPE, SIG_DFL);
  if (certificate_make(&stage.cert) != 0) return 1;
  SSL_CTX_set_alpn_select_cb(stage.cert.context, on_alpn, NULL);
  CHECK(listener_start(&stage.listener, serve) == 0);
  test_certificates();
  test_pour();
  test_drink();
  test_ends();
  listener_stop(&stage.listener);
  certificate_free(&stage.cert);
  return test_done("http/link_hostile");
}
