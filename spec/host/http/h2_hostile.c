/*
** h2_hostile.c: what a server can do with HTTP/2: frames without end and without content, refusals, silence. Every
** transfer ends in its time, no request is sent twice, and a connection that failed is not used again. Where libcurl
** is too old for this, `http2` is refused, and that is all there is to test.
*/
#include <curl/curl.h>
#include <signal.h>

#include "core/base/clock.h"
#include "support/certificate.h"
#include "support/listener.h"
#include "support/world.h"

#define TOTAL 1.0 /* seconds that a transfer may take */
#define LATE 3.0  /* seconds after which it is certainly over, on a busy machine too */

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING = 6, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8 };

/* The server's ways with a request. */
enum act { ANSWER, SILENCE, PINGS, EMPTY_DATA, PADDING, PRIORITIES, UNKNOWN, UPDATES, CONTINUATIONS, INTERIM, REFUSE, DEMAND_1_1, TURN, CUT,
           LEAVE };

static struct stage {
  struct listener listener;
  struct certificate cert;
  atomic_int act, settings; /* settings: 0 plain, 1 no window for bodies, 2 no streams */
  atomic_int connections, requests, asked; /* asked: the number of the connection that the last request came on */
} stage;

/* {{{ the server */

/* Sends a frame: 1, or 0 when the client has gone. */
static int frame(SSL *ssl, int type, int flags, unsigned stream, const void *p, size_t n) {
  unsigned char out[9 + 256] = {
    0, (unsigned char)(n >> 8), (unsigned char)n, (unsigned char)type, (unsigned char)flags, (unsigned char)(stream >> 24),
    (unsigned char)(stream >> 16), (unsigned char)(stream >> 8), (unsigned char)stream
  };
  if (n > 0) memcpy(out + 9, p, n);
  return SSL_write(ssl, out, (int)(9 + n)) > 0;
}

static int read_all(SSL *ssl, unsigned char *p, size_t n) {
  while (n > 0) {
    int r = SSL_read(ssl, p, (int)n);
    if (r <= 0) return -1;
    p += r;
    n -= (size_t)r;
  }
  return 0;
}

static void reset(SSL *ssl, unsigned stream, unsigned char code) {
  const unsigned char payload[4] = { 0, 0, 0, code };
  frame(ssl, RST_STREAM, 0, stream, payload, sizeof payload);
}

/* HPACK: 0x88 is `:status: 200`; the other one is `:status: 103`, not to be remembered. */
static const unsigned char OK[] = { 0x88 }, EARLY[] = { 0x08, 3, '1', '0', '3' };
static const unsigned char LATER[] = { 0x00, 1, 'x', 1, 'y' };

/* Sends the same frame until the client has gone. */
static void flood(SSL *ssl, int type, int flags, unsigned stream, const void *p, size_t n) {
  while (frame(ssl, type, flags, stream, p, n)) continue;
}

static void act(SSL *ssl, unsigned stream) {
  static const unsigned char NOTHING[8] = { 0 }, PADS[9] = { 8 }, WEIGHT[5] = { 0 }, ONE[4] = { 0, 0, 0, 1 };
  int what = atomic_load(&stage.act);
  if (what == EMPTY_DATA || what == PADDING || what == CUT || what == TURN || what == ANSWER || what == PINGS)
    frame(ssl, HEADERS, END_HEADERS, stream, OK, sizeof OK);
  switch (what) {
    case ANSWER: frame(ssl, DATA, END_STREAM, stream, "alice", 5); break;
    case PINGS: flood(ssl, PING, 0, 0, NOTHING, 8); break;
    case EMPTY_DATA: flood(ssl, DATA, 0, stream, NULL, 0); break;
    case PADDING: flood(ssl, DATA, PADDED, stream, PADS, sizeof PADS); break;
    case PRIORITIES: flood(ssl, PRIORITY, 0, stream, WEIGHT, sizeof WEIGHT); break;
    case UNKNOWN: flood(ssl, 0xfe, 0, stream, NOTHING, 8); break;
    case UPDATES: flood(ssl, WINDOW_UPDATE, 0, stream, ONE, sizeof ONE); break;
    case CONTINUATIONS:
      frame(ssl, HEADERS, 0, stream, OK, sizeof OK);
      flood(ssl, CONTINUATION, 0, stream, LATER, sizeof LATER);
      break;
    case INTERIM: flood(ssl, HEADERS, END_HEADERS, stream, EARLY, sizeof EARLY); break;
    case REFUSE: reset(ssl, stream, 7); break;
    case DEMAND_1_1: case TURN: reset(ssl, stream, 13); break;
    case CUT: reset(ssl, stream, 2); break;
    case LEAVE: frame(ssl, GOAWAY, 0, 0, NOTHING, 8); break;
    default: break; /* SILENCE */
  }
}

/* Plays one connection, by its number: the client's preface, then every frame of its. */
static void converse(SSL *ssl, int number) {
  static const unsigned char NO_WINDOW[6] = { 0, 4 }, NO_STREAMS[6] = { 0, 3 };
  unsigned char in[9], payload[16384];
  int kind = atomic_load(&stage.settings);
  if (read_all(ssl, payload, 24) != 0) return;
  frame(ssl, SETTINGS, 0, 0, kind == 1 ? NO_WINDOW : NO_STREAMS, kind == 0 ? 0 : 6);
  while (read_all(ssl, in, sizeof in) == 0) {
    size_t n = (size_t)in[0] << 16 | (size_t)in[1] << 8 | in[2];
    unsigned stream = ((unsigned)in[5] & 0x7f) << 24 | (unsigned)in[6] << 16 | (unsigned)in[7] << 8 | in[8];
    if (n > sizeof payload || read_all(ssl, payload, n) != 0) return;
    if (in[3] == SETTINGS && !(in[4] & ACK)) frame(ssl, SETTINGS, ACK, 0, NULL, 0);
    if (in[3] == HEADERS) {
      atomic_fetch_add(&stage.requests, 1);
      atomic_store(&stage.asked, number);
      act(ssl, stream);
    }
  }
}

static void *serve(void *ud) {
  int fd = (int)(intptr_t)ud;
  SSL *ssl = SSL_new(stage.cert.context);
  const unsigned char *protocol;
  unsigned char first;
  unsigned n;
  int number = atomic_fetch_add(&stage.connections, 1) + 1;
  SSL_set_fd(ssl, fd);
  if (SSL_accept(ssl) == 1) {
    SSL_get0_alpn_selected(ssl, &protocol, &n);
    if (n == 2) converse(ssl, number);
    else if (read_all(ssl, &first, 1) == 0) atomic_fetch_add(&stage.requests, 1); /* the demand was heard */
  }
  SSL_free(ssl);
  close(fd);
  return NULL;
}

static int choose(SSL *ssl, const unsigned char **out, unsigned char *outlen, const unsigned char *in, unsigned n, void *ud) {
  static const unsigned char BOTH[] = "\2h2\10http/1.1";
  (void)ssl, (void)ud;
  return SSL_select_next_proto((unsigned char **)(uintptr_t)out, outlen, BOTH, 12, in, n) == OPENSSL_NPN_NEGOTIATED
    ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* }}} */

static void post(struct world *w, enum act what, int settings, struct answer *r) {
  struct ask a;
  atomic_store(&stage.act, what);
  atomic_store(&stage.settings, settings);
  ask(&a, "POST", "/");
  snprintf(a.url, sizeof a.url, "https://localhost:%d/", stage.listener.port);
  a.r.ca_file = stage.cert.file;
  a.r.proxy = "";
  a.r.http2 = 1;
  a.r.body = "{}";
  a.r.body_n = 2;
  a.r.timeouts.total = TOTAL;
  run(w, &a.r, r);
}

/* An honest request, `when` in words. */
static void honest(struct world *w, const char *when) {
  struct answer r;
  post(w, ANSWER, 0, &r);
  CHECK(r.status == 200);
  CHECK_STR(r.body.p, r.body.n, "alice");
  if (r.status != 200) fprintf(stderr, "  %s: %s\n", when, r.failure.message);
  drop(&r);
}

/* The first request of an engine makes a connection, the second is a stream on it. */
static void test_figures(void) {
  struct world w;
  struct answer r;
  struct transfer_stats s;
  open_world(&w, 0);
  for (int i = 0; i < 2; i++) {
    post(&w, ANSWER, 0, &r);
    transfer_stats(r.t, &s);
    CHECK(s.route.carrier == (i == 0 ? CARRIER_NEW : CARRIER_REUSED) && s.route.sent == 2 && s.route.first_byte > 0);
    CHECK((s.route.tls > 0) == (i == 0) && (s.route.connect >= 0) == (i == 0) && (s.route.dns >= 0) == (i == 0));
    drop(&r);
  }
  close_world(&w);
}

/* An engine whose connection is a good one, a hostile request on it, and an honest one behind, on another connection. With
** settings that allow nothing the hostile one is the first. */
static void test_hostile(const char *name, enum act what, int settings) {
  struct world w;
  struct answer r;
  int failed = test_failed;
  open_world(&w, 0);
  if (settings == 0) honest(&w, "before");
  int requests = atomic_load(&stage.requests);
  double began = clock_monotonic();
  post(&w, what, settings, &r);
  double took = clock_monotonic() - began;
  int sent = atomic_load(&stage.requests) - requests;
  CHECK(r.failure.kind != KIND_NONE);
  CHECK(took < LATE);
  CHECK(sent == 1 || (sent == 0 && settings == 2)); /* the client may have asked before it knew */
  if (failed != test_failed)
    fprintf(stderr, "  %s: %.2f s, sent %d times: %s\n", name, took, sent, r.failure.message);
  drop(&r);
  int asked = atomic_load(&stage.asked);
  honest(&w, name);
  int again = atomic_load(&stage.asked) == asked;
  CHECK(!again);
  if (again) fprintf(stderr, "  %s: its connection was used again\n", name);
  close_world(&w);
}

int main(void) {
  alarm(120); /* a hang is a failure */
  signal(SIGPIPE, SIG_IGN); /* the server writes to who has gone */
  unsetenv("https_proxy"), unsetenv("HTTPS_PROXY"), unsetenv("all_proxy"), unsetenv("ALL_PROXY");
  if (certificate_make(&stage.cert) != 0) return 1;
  SSL_CTX_set_alpn_select_cb(stage.cert.context, choose, NULL);
  CHECK(listener_start(&stage.listener, serve) == 0);
  if (http2_problem() == NULL) {
    test_figures();
    test_hostile("silence", SILENCE, 0);
    test_hostile("pings", PINGS, 0);
    test_hostile("data without bytes", EMPTY_DATA, 0);
    test_hostile("padding", PADDING, 0);
    test_hostile("priorities", PRIORITIES, 0);
    test_hostile("unknown frames", UNKNOWN, 0);
    test_hostile("window updates", UPDATES, 0);
    test_hostile("a head without end", CONTINUATIONS, 0);
    test_hostile("interim answers", INTERIM, 0);
    test_hostile("a refusal", REFUSE, 0);
    test_hostile("a demand for HTTP/1.1", DEMAND_1_1, 0);
    test_hostile("a demand for HTTP/1.1 behind a head", TURN, 0);
    test_hostile("an answer cut off", CUT, 0);
    test_hostile("a goodbye", LEAVE, 0);
    test_hostile("no window", SILENCE, 1);
    test_hostile("no streams", SILENCE, 2);
  } else {
    struct world w;
    struct answer r;
    open_world(&w, 0);
    post(&w, ANSWER, 0, &r);
    CHECK(r.t == NULL && r.failure.kind == KIND_ARGUMENT && strcmp(r.failure.field, "http2") == 0);
    CHECK(atomic_load(&stage.connections) == 0);
    close_world(&w);
    puts("http/h2_hostile: libcurl older than 8.14: http2 is refused, the rest was skipped");
  }
  listener_stop(&stage.listener);
  certificate_free(&stage.cert);
  return test_done("http/h2_hostile");
}
