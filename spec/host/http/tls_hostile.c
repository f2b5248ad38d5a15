/*
** tls_hostile.c: what a server can do inside of TLS: leave bytes decrypted and unread for the next request, and send
** records that hold no data for as long as it likes. The server is OpenSSL's, in a thread; what is tested is what Koine
** asks of OpenSSL behind libcurl's back, so with a libcurl of another library this says so and ends.
*/
#include <curl/curl.h>
#include <sched.h>
#include <signal.h>

#include "core/base/clock.h"
#include "support/certificate.h"
#include "support/listener.h"
#include "support/world.h"

static struct stage {
  struct listener listener;
  struct certificate cert;
  atomic_int connections, flooding;
} stage;

/* {{{ the server */

/* Reads a request without a body: its path's first byte behind the slash, 0 at the end. */
static char read_request(SSL *ssl) {
  char in[4096];
  int n = 0;
  while (n < (int)sizeof in - 1) {
    int r = SSL_read(ssl, in + n, (int)sizeof in - 1 - n);
    if (r <= 0) return 0;
    n += r;
    in[n] = '\0';
    if (strstr(in, "\r\n\r\n") != NULL) return in[5];
  }
  return 0;
}

/* One record: an answer of 8,000 bytes, and an answer too many behind it. libcurl reads no further than the first. */
static void answer_twice(SSL *ssl) {
  static const char BOB[] = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbob";
  char record[8000 + 256];
  int n = snprintf(record, sizeof record, "HTTP/1.1 200 OK\r\ncontent-length: 8000\r\n\r\n");
  memset(record + n, 'a', 8000);
  memcpy(record + n + 8000, BOB, sizeof BOB - 1);
  SSL_write(ssl, record, n + 8000 + (int)sizeof BOB - 1);
}

/* A head, then new keys without end. */
static void flood(SSL *ssl) {
  static const char HEAD[] = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
  SSL_write(ssl, HEAD, (int)sizeof HEAD - 1);
  atomic_store(&stage.flooding, 1);
  while (SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1) continue;
}

static void *serve(void *ud) {
  int fd = (int)(intptr_t)ud;
  SSL *ssl = SSL_new(stage.cert.context);
  char what;
  atomic_fetch_add(&stage.connections, 1);
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) == 1)
    while ((what = read_request(ssl)) != 0) {
      if (what == 't') answer_twice(ssl);
      else if (what == 'f') flood(ssl);
      else SSL_write(ssl, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nalice", 43);
    }
  SSL_free(ssl);
  close(fd);
  return NULL;
}

/* }}} */

static struct http_request *to(struct ask *a, const char *path) {
  ask(a, "GET", path);
  snprintf(a->url, sizeof a->url, "https://localhost:%d%s", stage.listener.port, path);
  a->r.ca_file = stage.cert.file;
  a->r.proxy = "";
  return &a->r;
}

/* The bytes that OpenSSL holds are not the next request's answer. */
static void test_unread(struct world *w) {
  struct ask a;
  struct answer r;
  run(w, to(&a, "/twice"), &r);
  CHECK(r.failure.kind == KIND_NONE && r.body.n == 8000);
  if (r.failure.kind != KIND_NONE) fprintf(stderr, "  %s\n", r.failure.message);
  drop(&r);
  run(w, to(&a, "/alice"), &r);
  CHECK_STR(r.body.p, r.body.n, "alice");
  drop(&r);
  CHECK(atomic_load(&stage.connections) == 2);
  run(w, to(&a, "/alice"), &r); /* an honest connection is kept */
  CHECK_STR(r.body.p, r.body.n, "alice");
  drop(&r);
  CHECK(atomic_load(&stage.connections) <= 3);
}

/* New keys cost time, but no more than the call may take. */
static void test_flood(struct world *w) {
  struct ask a;
  struct answer r;
  double began = clock_monotonic();
  to(&a, "/flood")->timeouts.total = 1;
  run(w, &a.r, &r);
  CHECK(r.failure.kind == KIND_TIMEOUT);
  CHECK_STR(r.failure.code, strlen(r.failure.code), "total");
  CHECK(atomic_load(&stage.flooding) == 1);
  CHECK(clock_monotonic() - began < 3);
  drop(&r);
}

int main(void) {
  struct world w;
  alarm(120); /* a hang is a failure */
  signal(SIGPIPE, SIG_IGN); /* the server writes to who has gone */
  unsetenv("https_proxy"), unsetenv("HTTPS_PROXY"), unsetenv("all_proxy"), unsetenv("ALL_PROXY");
  if (certificate_make(&stage.cert) != 0) return 1;
  if (strncmp(curl_version_info(CURLVERSION_NOW)->ssl_version, "OpenSSL/", 8) == 0) {
    CHECK(listener_start(&stage.listener, serve) == 0);
    open_world(&w, 0);
    test_unread(&w);
    test_flood(&w);
    close_world(&w);
    listener_stop(&stage.listener);
  } else {
    puts("http/tls_hostile: skipped, libcurl speaks TLS without OpenSSL");
  }
  certificate_free(&stage.cert);
  return test_done("http/tls_hostile");
}
