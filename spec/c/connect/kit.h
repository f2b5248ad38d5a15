/*
** kit.h: a peer that listens at a TCP port and at a UNIX socket, in this program, and one connection at a time with engine
** and HTTP of its own.
*/
#ifndef KOINE_SPEC_CONNECT_KIT_H
#define KOINE_SPEC_CONNECT_KIT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/connect/connect.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/test.h"

static int listening = -1, port;     /* TCP */
static int local = -1;               /* UNIX */
static char path[FOLDER_MAX];

static inline int listen_at(struct sockaddr *a, socklen_t n) {
  int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0 && bind(fd, a, n) == 0 && listen(fd, 64) == 0);
  return fd;
}

static inline void start_listening(void) {
  struct sockaddr_in in = { .sin_family = AF_INET };
  struct sockaddr_un un = { .sun_family = AF_UNIX };
  socklen_t n = sizeof in;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listening = listen_at((struct sockaddr *)&in, n);
  CHECK(getsockname(listening, (struct sockaddr *)&in, &n) == 0);
  port = ntohs(in.sin_port);
  CHECK(folder_new(path) == 0);
  snprintf(un.sun_path, sizeof un.sun_path, "%s/socket", path);
  local = listen_at((struct sockaddr *)&un, sizeof un);
}

static struct world {
  struct failing f;
  struct mem m;
  struct engine *g;
  struct http *http;
  struct connection *c;
  int peer;
  struct err e;
} w;

static inline void begin(size_t fail_at) {
  memset(&w, 0, sizeof w);
  w.f.fail_at = fail_at;
  w.m = failing_mem(&w.f);
  w.peer = -1;
  err_clear(&w.e);
  w.g = engine_new(&w.m, &w.e);
  w.http = w.g == NULL ? NULL : http_new(w.g, &w.e);
}

static inline void end(void) {
  connection_close(w.c);
  http_free(w.http);
  engine_free(w.g);
  if (w.peer >= 0) close(w.peer);
  CHECK(w.f.live == 0 && w.f.wrong == 0);
}

static inline struct connect_spec to(void) {
  return (struct connect_spec){ .to = { .host = "127.0.0.1", .port = port, .timeout = 30 }, .high_water = 1 << 16,
                                .line_max = 1 << 20 };
}

/* Waits for anything to happen: whether the connection's owner was told. */
static inline int step(double seconds) {
  int interrupted, told = 0;
  struct news *n;
  if (engine_step(w.g, seconds, -1, &interrupted, &w.e) < 0) return -1;
  while ((n = pollset_ready(engine_pollset(w.g))) != NULL) told |= n->owner == &w;
  return told;
}

/* Until it is there, or has failed: what connection_ready says. */
static inline int settle(void) {
  int ready;
  while ((ready = connection_ready(w.c, &w.e)) == 0)
    if (step(10) < 0) return -1;
  return ready;
}

static inline void open_with(const struct connect_spec *s, int at) {
  begin(0);
  w.c = connection_open(w.g, w.http, s, &w, &w.e);
  CHECK(w.c != NULL && settle() == 1);
  w.peer = accept(at, NULL, NULL);
  CHECK(w.peer >= 0);
}

static inline void open_tcp(void) {
  struct connect_spec s = to();
  open_with(&s, listening);
}

static inline void say(const char *text) {
  CHECK(send(w.peer, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

/* Returns the next event: a line behind '=', "end", or the kind of the failure. */
static inline const char *line(void) {
  static char text[256];
  struct str s;
  enum pipe_got got;
  err_clear(&w.e);
  while ((got = connection_line(w.c, &s, &w.e)) == PIPE_LATER)
    if (step(10) < 0) break;
  if (got == PIPE_END) return "end";
  if (got != PIPE_BYTES) return kind_name(w.e.kind);
  snprintf(text, sizeof text, "=%.*s", (int)(s.n < 200 ? s.n : 200), s.p);
  connection_took(w.c);
  return text;
}

static const char *line_was;
#define IS(expected) (line_was = line(), CHECK_STR(line_was, strlen(line_was), expected))

static inline int writes(const char *text) {
  err_clear(&w.e);
  return connection_write(w.c, (struct str){ text, strlen(text) }, &w.e);
}

static inline void stop_listening(void) {
  char name[100];
  snprintf(name, sizeof name, "%s/socket", path);
  unlink(name), rmdir(path);
}

#endif
