/*
** http.c: fuzzes the linked libcurl and the room around it: a server on 127.0.0.1, in this thread, answers with the input.
** The first byte says how many requests are made (1 to 4), whether reading pauses, and whether the server closes after
** each answer; the rest is cut into answers at each "\n--\n". Connections are kept and used again as ever. Every transfer
** must end, with a failure or with a status and its headers.
*/
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/http/http.h"

#define ANSWERS 4
#define IDLE_ROUNDS 3 /* rounds without news after which the server closes */

static const char CUT[] = "\n--\n";

/* The answers, and the one connection that is being served. */
static struct stage {
  int listener, port, fd;
  struct { const char *p; size_t n; } answer[ANSWERS];
  int n, next;
  int closes;
  size_t sent;             /* bytes of answer[next - 1] */
  char request[1024];
  size_t read;
} s;

static void stage_open(void) {
  struct sockaddr_in a = { .sin_family = AF_INET };
  socklen_t n = sizeof a;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  s.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (bind(s.listener, (struct sockaddr *)&a, n) != 0 || listen(s.listener, 8) != 0 ||
      getsockname(s.listener, (struct sockaddr *)&a, &n) != 0) abort();
  s.port = ntohs(a.sin_port);
}

static void hang_up(void) {
  if (s.fd >= 0) close(s.fd);
  s.fd = -1;
  s.read = 0;
}

/* Serves what there is to serve without waiting: 1 when something happened. */
static int serve(void) {
  int fd = accept4(s.listener, NULL, NULL, SOCK_NONBLOCK);
  if (fd >= 0) {
    hang_up();
    s.fd = fd;
    s.sent = s.next > 0 ? s.answer[s.next - 1].n : 0;
    return 1;
  }
  if (s.fd < 0) return 0;
  if (s.next > 0 && s.sent < s.answer[s.next - 1].n) {
    ssize_t w = send(s.fd, s.answer[s.next - 1].p + s.sent, s.answer[s.next - 1].n - s.sent, MSG_NOSIGNAL);
    if (w > 0) s.sent += (size_t)w;
    if (s.closes && s.sent == s.answer[s.next - 1].n) hang_up();
    return w > 0;
  }
  ssize_t r = recv(s.fd, s.request + s.read, sizeof s.request - s.read, 0);
  if (r <= 0) {
    if (r == 0) hang_up();
    return r == 0;
  }
  s.read += (size_t)r;
  if (memmem(s.request, s.read, "\r\n\r\n", 4) != NULL) {
    s.read = 0;
    s.sent = 0;
    if (s.next < s.n) s.next++;
    else hang_up();
  }
  return 1;
}

/* One request to its end. */
static void ask(struct engine *g, struct http *http, size_t high_water) {
  char url[64];
  struct err e;
  const struct err *failure = NULL;
  const struct header *headers;
  int idle = 0, interrupted;
  snprintf(url, sizeof url, "http://127.0.0.1:%d/", s.port);
  const struct http_request r = { .method = "GET", .url = url, .proxy = "", .high_water = high_water,
    .body_max = 1 << 20, .decoded_max = 1 << 20, .timeouts = { .total = 20 } };
  struct transfer *t = transfer_start(http, &r, NULL, &e);
  if (t == NULL) abort();
  while (!transfer_done(t, &failure)) {
    int moved = serve();
    if (engine_step(g, 0, -1, &interrupted, &e) != 0) abort();
    while (pollset_ready(engine_pollset(g)) != NULL) moved = 1;
    struct buf *b = transfer_body(t);
    if (b->n > 0) {
      b->n = 0;
      transfer_taken(t);
      moved = 1;
    }
    idle = moved ? 0 : idle + 1;
    if (idle > IDLE_ROUNDS && s.fd >= 0) hang_up();
    if (idle > 1000) engine_step(g, 0.001, -1, &interrupted, &e);
  }
  size_t n = transfer_headers(t, &headers);
  if (failure == NULL && (transfer_status(t) < 200 || transfer_status(t) > 999)) abort();
  for (size_t i = 0; i < n; i++)
    if (strlen(headers[i].name.p) != headers[i].name.n || memchr(headers[i].name.p, ':', headers[i].name.n)) abort();
  transfer_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct err e;
  if (s.port == 0) stage_open();
  if (size == 0) return 0;
  struct engine *g = engine_new(&m, &e);
  struct http *http = g == NULL ? NULL : http_new(g, &e);
  if (http == NULL) abort();
  const char *p = (const char *)data + 1, *end = (const char *)data + size;
  s.fd = -1;
  s.n = s.next = 0;
  s.read = s.sent = 0;
  s.closes = data[0] >> 3 & 1;
  while (s.n < ANSWERS && p <= end) {
    const char *cut = memmem(p, (size_t)(end - p), CUT, sizeof CUT - 1);
    s.answer[s.n].p = p;
    s.answer[s.n++].n = (size_t)((cut != NULL ? cut : end) - p);
    if (cut == NULL) break;
    p = cut + sizeof CUT - 1;
  }
  for (int i = 0; i <= (data[0] & 3); i++) ask(g, http, data[0] & 4 ? 16 : 0);
  http_free(http);
  engine_free(g);
  hang_up();
  return 0;
}
