/*
** lost.c: connections that libcurl gives up before a byte went over them, because the peer has ended them: their owner is told,
** and other connections, which may get their sockets' numbers, go on.
*/
#include "kit.h"

/* A request to the peer, and the peer's end of it. */
static struct transfer *ask(int *peer) {
  char url[64];
  struct http_request r = { .method = "GET", .url = url };
  struct transfer *t;
  snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
  CHECK((t = transfer_start(w.http, &r, &w, &w.e)) != NULL);
  for (struct pollfd p = { listening, POLLIN, 0 }; poll(&p, 1, 0) == 0;) CHECK(step(0.01) >= 0);
  CHECK((*peer = accept(listening, NULL, NULL)) >= 0);
  return t;
}

static void answer(struct transfer *t, int peer) {
  static const char ANSWER[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  const struct err *failure;
  CHECK(send(peer, ANSWER, sizeof ANSWER - 1, MSG_NOSIGNAL) == sizeof ANSWER - 1);
  while (!transfer_done(t, &failure)) CHECK(step(10) >= 0);
  CHECK(failure == NULL && transfer_status(t) == 200);
  transfer_close(t);
  close(peer);
}

/* libcurl looks for such connections when it makes another, at most once in a second. */
static void test_unused(void) {
  struct transfer *t;
  int peer, tries = 0;
  open_tcp();
  close(w.peer);
  w.peer = -1;
  while (t = ask(&peer), connection_ready(w.c, &w.e) == 1 && tries++ < 200) {
    usleep(10000);
    transfer_close(t);
    close(peer);
  }
  if (tries < 200) { /* else this libcurl keeps them */
    CHECK(w.e.kind == KIND_CONNECT && err_retryable(&w.e));
    CHECK_STR(w.e.message, strlen(w.e.message), "the connection was closed before it was used");
    IS("connect");
    CHECK(writes("x") == -1 && w.e.kind == KIND_CONNECT);
  }
  for (double s; (s = engine_timeout(w.g)) >= 0 && s < 60;) CHECK(step(s) >= 0); /* from now on only the socket tells */
  connection_close(w.c);
  w.c = NULL;
  answer(t, peer);
  end();
}

int main(void) {
  alarm(20); /* a hang is a failure */
  start_listening();
  test_unused();
  stop_listening();
  return test_done("connect/lost");
}
