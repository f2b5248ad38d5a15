/*
** connect.c: connections over TCP and UNIX sockets, to a peer in this program: bytes both ways, whoever ends it and however,
** whoever of engine, HTTP and connection goes first, and where memory ends.
*/
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "kit.h"
#include "support/descriptors.h"

static void hears(const char *text) {
  char c[256];
  ssize_t n = recv(w.peer, c, sizeof c, 0);
  CHECK_STR(c, n < 0 ? 0 : (size_t)n, text);
}

static void test_bytes(void) {
  struct connect_spec s = to();
  struct str bytes;
  begin(0);
  w.c = connection_open(w.g, w.http, &s, &w, &w.e);
  CHECK(w.c != NULL && connection_ready(w.c, &w.e) == 0);
  CHECK(connection_read(w.c, 9, &bytes, &w.e) == PIPE_LATER && connection_line(w.c, &bytes, &w.e) == PIPE_LATER);
  CHECK(writes("early ") == 0 && connection_waiting(w.c) == 6);
  CHECK(settle() == 1 && writes("late") == 0 && connection_waiting(w.c) == 0 && !connection_full(w.c));
  CHECK((w.peer = accept(listening, NULL, NULL)) >= 0);
  CHECK(http_active(w.http) == 0 && engine_timeout(w.g) < 0);
  char c[16] = "";
  CHECK(recv(w.peer, c, 10, MSG_WAITALL) == 10 && strcmp(c, "early late") == 0);
  say("one\r\ntwo\n");
  IS("=one");
  IS("=two");
  CHECK(connection_read(w.c, 9, &bytes, &w.e) == PIPE_LATER);
  for (const char *p = "dribbled\n"; *p != '\0'; p++) {
    CHECK(send(w.peer, p, 1, 0) == 1);
    if (p[1] != '\0') CHECK(step(10) >= 0 && connection_line(w.c, &bytes, &w.e) == PIPE_LATER);
  }
  IS("=dribbled");
  close(w.peer);
  w.peer = -1;
  IS("end");
  IS("end");
  end();
}

static void test_local(void) {
  char name[100];
  struct connect_spec s = to();
  snprintf(name, sizeof name, "%s/socket", path);
  s.to.host = "localhost";
  s.to.port = 0;
  s.to.path = name;
  open_with(&s, local);
  CHECK(writes("abc") == 0);
  hears("abc");
  say("x\n");
  IS("=x");
  end();
  s.to.path = "/nonexistent/socket";
  begin(0);
  w.c = connection_open(w.g, w.http, &s, &w, &w.e);
  CHECK(w.c != NULL && settle() == -1 && w.e.kind == KIND_CONNECT);
  end();
}

/* A peer that reads nothing is written to as far as it goes; then it reads all. */
static void test_backpressure(void) {
  enum { N = 8 << 20 };
  static char all[N], got[N];
  size_t heard = 0;
  for (size_t i = 0; i < N; i++) all[i] = (char)('a' + i % 23 + i / 4096 % 3);
  open_tcp();
  CHECK(connection_write(w.c, (struct str){ all, N }, &w.e) == 0 && connection_full(w.c));
  CHECK(step(0) == 0);
  while (heard < N) {
    ssize_t n = recv(w.peer, got + heard, N - heard, MSG_DONTWAIT);
    if (n > 0) heard += (size_t)n;
    CHECK(step(0) >= 0);
  }
  CHECK(memcmp(all, got, N) == 0 && connection_waiting(w.c) == 0);
  end();
}

/* A peer that closes one half; that ends it while bytes wait; that resets it. */
static void test_peer_ends(void) {
  static char all[8 << 20];
  struct linger hard = { 1, 0 };
  open_tcp();
  CHECK(shutdown(w.peer, SHUT_WR) == 0);
  IS("end");
  CHECK(writes("still") == 0);
  hears("still");
  end();
  open_tcp();
  CHECK(connection_write(w.c, (struct str){ all, sizeof all }, &w.e) == 0 && connection_full(w.c));
  close(w.peer);
  w.peer = -1;
  while (connection_waiting(w.c) > 0) CHECK(step(10) >= 0);
  CHECK(writes("more") == -1 && w.e.kind == KIND_CONNECT && err_retryable(&w.e) && w.e.code[0] == '\0');
  end();
  open_tcp();
  say("last words\n");
  IS("=last words");
  setsockopt(w.peer, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close(w.peer);
  w.peer = -1;
  IS("connect");
  CHECK(writes("x") == -1 && w.e.kind == KIND_CONNECT);
  IS("connect");
  end();
}

static void test_no_connection(void) {
  struct connect_spec s = to();
  struct str bytes;
  s.to.port = 1;
  begin(0);
  w.c = connection_open(w.g, w.http, &s, &w, &w.e);
  CHECK(w.c != NULL && writes("kept for nobody") == 0);
  CHECK(settle() == -1 && w.e.kind == KIND_CONNECT && strcmp(w.e.code, "connect") == 0 && err_retryable(&w.e));
  CHECK(writes("x") == -1 && w.e.kind == KIND_CONNECT && connection_waiting(w.c) == 0);
  CHECK(connection_read(w.c, 1, &bytes, &w.e) == PIPE_FAILED && w.e.kind == KIND_CONNECT);
  end();
  static const char *const HOSTS[] = { "", "a b", "a/b", "user:secret@host", "host#", "h\xC3\xA9", "a:b", "::::",
                                      "[::1]" };
  for (size_t i = 0; i < sizeof HOSTS / sizeof *HOSTS; i++) {
    begin(0);
    s.to.host = HOSTS[i];
    CHECK(connection_open(w.g, w.http, &s, &w, &w.e) == NULL && w.e.kind == KIND_ARGUMENT && strcmp(w.e.field, "host") == 0);
    CHECK(strstr(w.e.message, "secret") == NULL);
    end();
  }
  begin(0);
  http_offline(w.http, 1);
  s.to.host = "example.com";
  CHECK(connection_open(w.g, w.http, &s, &w, &w.e) == NULL && w.e.kind == KIND_CONNECT && strcmp(w.e.code, "offline") == 0);
  s = to();
  w.c = connection_open(w.g, w.http, &s, &w, &w.e);
  CHECK(w.c != NULL && settle() == 1);
  end();
  close(accept(listening, NULL, NULL));
}

/* The time of a connection with TLS ends, after so many milliseconds in which the program did something else. */
static void times_out(const struct sockaddr_in *in, int busy, const char *words) {
  const struct timespec pause = { 0, busy * 1000000l };
  int interrupted;
  struct connect_spec s = to();
  s.to.port = ntohs(in->sin_port);
  s.to.tls = 1;
  s.to.timeout = 0.0509; /* no whole number of milliseconds, as libcurl counts them */
  begin(0);
  w.c = connection_open(w.g, w.http, &s, &w, &w.e);
  if (busy) { /* libcurl is called once: it asks for the connection, and cannot see that it comes */
    CHECK(w.c != NULL && engine_step(w.g, 0, -1, &interrupted, &w.e) == 0);
    nanosleep(&pause, NULL);
  }
  CHECK(w.c != NULL && settle() == -1 && w.e.kind == KIND_TIMEOUT);
  CHECK_STR(w.e.message, strlen(w.e.message), words);
  CHECK_STR(w.e.code, strlen(w.e.code), "connect");
  end();
}

/* A server that takes the connection and says nothing; one whose queue of connections is full, which takes none. */
static void test_timeout(void) {
  struct sockaddr_in in = { .sin_family = AF_INET };
  socklen_t n = sizeof in;
  int waiting[4];
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = listen_at((struct sockaddr *)&in, n);
  CHECK(getsockname(fd, (struct sockaddr *)&in, &n) == 0);
  times_out(&in, 0, "no TLS handshake within 0.051 s (connect)");
  times_out(&in, 80, "no TLS handshake within 0.051 s (connect)");
  CHECK(listen(fd, 0) == 0);
  for (int i = 0; i < 4; i++) {
    waiting[i] = socket(AF_INET, SOCK_STREAM, 0);
    fcntl(waiting[i], F_SETFL, O_NONBLOCK);
    CHECK(connect(waiting[i], (struct sockaddr *)&in, n) == 0 || errno == EINPROGRESS);
  }
  times_out(&in, 0, "no connection within 0.051 s (connect)");
  times_out(&in, 80, "no connection within 0.051 s (connect)");
  for (int i = 0; i < 4; i++) close(waiting[i]);
  close(fd);
}

/* Either side goes first, at any stage. Bytes that were read stay. */
static void test_orders(void) {
  for (int first = 0; first < 3; first++)
    for (int stage = 0; stage < 3; stage++) {
      struct connect_spec s = to();
      struct str bytes;
      begin(0);
      w.c = connection_open(w.g, w.http, &s, &w, &w.e);
      CHECK(w.c != NULL);
      if (stage > 0) CHECK(settle() == 1 && (w.peer = accept(listening, NULL, NULL)) >= 0);
      if (stage == 2) {
        say("one\ntwo\n");
        IS("=one");
        CHECK(connection_read(w.c, 1, &bytes, &w.e) == PIPE_BYTES);
        connection_took(w.c);
      }
      if (first == 0) connection_close(w.c), w.c = NULL;
      if (first <= 1) http_free(w.http), w.http = NULL;
      if (first <= 2) {
        engine_free(w.g);
        w.g = NULL;
        if (first == 2) http_free(w.http), w.http = NULL;
      }
      if (first > 0) {
        if (stage == 2) IS("=wo");
        IS("cancelled");
        CHECK(writes("x") == -1 && w.e.kind == KIND_CANCELLED && connection_ready(w.c, &w.e) == -1);
      }
      end();
    }
  for (struct pollfd p = { listening, POLLIN, 0 }; poll(&p, 1, 100) > 0;) close(accept(listening, NULL, NULL));
}

/* Many at once, with connections of HTTP's library in one set: each has its own bytes. Close-on-exec, all of them. */
static void test_many(void) {
  enum { N = 50 };
  struct connection *c[N];
  int peer[N], before = open_descriptors(), others[400];
  for (int fd = 0; fd < 400; fd++) others[fd] = fcntl(fd, F_GETFD) >= 0;
  struct connect_spec s = to();
  begin(0);
  for (int i = 0; i < N; i++) CHECK((c[i] = connection_open(w.g, w.http, &s, &w, &w.e)) != NULL);
  for (int i = 0; i < N; i++) {
    w.c = c[i];
    CHECK(settle() == 1);
    CHECK(writes("x") == 0);
  }
  for (int i = 0; i < N; i++) {
    char bytes[16];
    peer[i] = accept(listening, NULL, NULL);
    CHECK(recv(peer[i], bytes, 1, 0) == 1);
    snprintf(bytes, sizeof bytes, "%d\n", i);
    CHECK(send(peer[i], bytes, strlen(bytes), 0) > 0);
  }
  int seen[N] = { 0 };
  for (int i = 0; i < N; i++) {
    w.c = c[i];
    int k = atoi(line() + 1);
    CHECK(k >= 0 && k < N && !seen[k]++);
  }
  for (int fd = 3; fd < 400; fd++) {
    int flags = fcntl(fd, F_GETFD), ours = !others[fd];
    for (int i = 0; i < N; i++) ours &= fd != peer[i];
    if (flags >= 0 && ours) CHECK((flags & FD_CLOEXEC) != 0);
  }
  for (int i = 0; i < N; i++) connection_close(c[i]), close(peer[i]);
  w.c = NULL;
  end();
  CHECK(open_descriptors() == before);
}

/* Every allocation fails in turn, with all that follow: a failure that says so, or all as it should be. */
static void test_memory(void) {
  for (size_t n = 1; n < 60; n++) {
    struct connect_spec s = to();
    int told = 0;
    begin(n);
    if (w.http != NULL) w.c = connection_open(w.g, w.http, &s, &w, &w.e);
    if (w.c == NULL) {
      CHECK(w.e.kind == KIND_MEMORY);
      end();
      continue;
    }
    int ready;
    while ((ready = connection_ready(w.c, &w.e)) == 0 && told++ < 1000) (void)step(10);
    if (ready == 1) {
      int wrote = writes("abc");
      CHECK(wrote == 0 || w.e.kind == KIND_MEMORY);
      w.peer = accept(listening, NULL, NULL);
      say("line\n");
      struct str l;
      enum pipe_got got;
      while ((got = connection_line(w.c, &l, &w.e)) == PIPE_LATER && told++ < 1000) (void)step(10);
      CHECK(got == PIPE_BYTES || (got == PIPE_FAILED && w.e.kind == KIND_MEMORY));
      w.f.fail_at = 0;
      if (got == PIPE_FAILED) IS("=line");
    } else {
      CHECK(ready == -1 && (w.e.kind == KIND_MEMORY || w.e.kind == KIND_CONNECT || w.e.kind == KIND_LIMIT));
    }
    end();
    for (struct pollfd p = { listening, POLLIN, 0 }; poll(&p, 1, 0) > 0;) close(accept(listening, NULL, NULL));
  }
}

int main(void) {
  alarm(60); /* a hang is a failure */
  setenv("http_proxy", "http://127.0.0.1:1", 1); /* no connection goes there */
  setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
  start_listening();
  test_bytes();
  test_local();
  test_backpressure();
  test_peer_ends();
  test_no_connection();
  test_timeout();
  test_orders();
  test_many();
  test_memory();
  connection_close(NULL);
  stop_listening();
  return test_done("connect/connect");
}
