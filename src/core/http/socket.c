/*
** socket.c: the sockets that libcurl opens: none is inherited by a child, offline none leads elsewhere, and a connection
** that has something to say before it is asked is not used again.
** The http owns the list of open sockets; libcurl owns the descriptors. Failure: noted in the transfer.
*/
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0
#endif

#include "core/base/io.h"
#include "private.h"

/* True for addresses of this machine alone. */
static int address_is_loopback(const struct curl_sockaddr *a) {
  const struct sockaddr *s = &a->addr;
  if (a->family == AF_INET) return ntohl(((const struct sockaddr_in *)(const void *)s)->sin_addr.s_addr) >> 24 == 127;
  if (a->family == AF_UNIX) return 1;
  if (a->family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)s)->sin6_addr);
  return 0;
}

/* Puts fd on the list: 0, or -1 (memory). */
static int enlist(struct http *http, int fd, const struct transfer *opener) {
  struct socket *v = mem_grow(http->m, http->sockets, http->socket_n, &http->socket_cap, sizeof *v);
  if (v == NULL) return -1;
  http->sockets = v;
  http->sockets[http->socket_n++] = (struct socket){ .fd = fd, .opener = opener };
  http->socket_connecting++;
  return 0;
}

/* CURLOPT_OPENSOCKETFUNCTION. Offline, names that lead elsewhere end here. */
curl_socket_t socket_on_open(void *ud, curlsocktype purpose, struct curl_sockaddr *a) {
  struct transfer *t = ud;
  (void)purpose;
  if (t->http->offline && !address_is_loopback(a)) {
    struct err e;
    failure_offline(&e);
    transfer_fail(t, &e);
    return CURL_SOCKET_BAD;
  }
  curl_socket_t fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
  if (fd == CURL_SOCKET_BAD) return fd;
  if (SOCK_CLOEXEC == 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (enlist(t->http, fd, t) == 0) {
    t->opened = 1;
    return fd;
  }
  close(fd);
  transfer_no_memory(t);
  return CURL_SOCKET_BAD;
}

/* The entry of a descriptor; NULL: none. */
static struct socket *find(const struct http *http, int fd) {
  for (size_t i = http->socket_n; i > 0; i--)
    if (http->sockets[i - 1].fd == fd) return &http->sockets[i - 1];
  return NULL;
}

int socket_is_listed(const struct http *http, int fd) { return find(http, fd) != NULL; }

void socket_reach(struct transfer *t, int fd) {
  struct socket *s = find(t->http, fd);
  if (s == NULL || s->reached) return;
  s->reached = 1;
  t->peer = io_peer_port(fd);
  t->http->socket_connecting--;
}

void socket_link(struct http *http, int fd) {
  struct socket *s = find(http, fd);
  if (s != NULL) s->linked = 1;
}

/* libcurl closes a link's socket by itself: before anything was read or written there, it takes the connection for an idle
** one, which it gives up when it has ended or has grown old. The number may be another connection's at once. */
static void lose_link(struct http *http, int fd) {
  struct err e;
  for (struct transfer *t = http->all; t != NULL; t = t->next) {
    if (t->socket != fd) continue;
    err_clear(&e);
    err_set(&e, KIND_CONNECT, "the connection was closed before it was used");
    transfer_fail(t, &e);
    pollset_remove(http->poll, fd);
    t->socket = -1;
    pollset_news(http->poll, &t->news);
  }
}

/* Notes in the transfer of a socket that is closed before libcurl read from it whether the other end was reached: for the
** words of its error. */
static void note_reached(struct http *http, const struct socket *s) {
  for (struct transfer *t = http->all; t != NULL; t = t->next)
    if (t == s->opener && t->peer == 0) t->peer = io_peer_port(s->fd);
}

/* CURLOPT_CLOSESOCKETFUNCTION: of connections too, which outlive their transfers. */
int socket_on_close(void *ud, curl_socket_t fd) {
  struct http *http = ud;
  struct socket *s = find(http, fd);
  if (s != NULL) {
    if (s->linked) lose_link(http, fd);
    if (!s->reached) {
      http->socket_connecting--;
      note_reached(http, s);
    }
    pollset_remove(http->poll, fd);
    *s = http->sockets[--http->socket_n];
  }
  return close(fd);
}

/* The port of this end of a socket, 0 when it has none. */
static int local_port(int fd) {
  union { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; } a = { { 0 } };
  socklen_t n = sizeof a;
  if (getsockname(fd, &a.any, &n) != 0) return 0;
  return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

/* True when there is something to read, the end of the connection included. */
static int has_news(int fd) {
  char c;
  ssize_t n = recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
  return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* libcurl does not tell which socket a request goes out on, only the port of this end. Where two sockets have one port,
** at different addresses, news of either counts. */
static int at_port(struct socket *s, int port) {
  if (s->port == 0) s->port = local_port(s->fd);
  return s->port == port;
}

int socket_at(struct http *http, int port) {
  for (size_t i = 0; i < http->socket_n; i++)
    if (at_port(&http->sockets[i], port)) return http->sockets[i].fd;
  return -1;
}

/* True when the connection that t is about to use, whose end here has this port, is retired, has unread bytes or has ended.
** HTTP/2's connections always may have news: they say little of an answer too many. */
static int is_stale(struct transfer *t, int port) {
  struct http *http = t->http;
  int stale = !t->http2 && tls_has_unread(http, t->easy);
  for (size_t i = 0; i < http->socket_n && !stale; i++) {
    struct socket *s = &http->sockets[i];
    if (at_port(s, port)) stale = s->retired || (!t->http2 && has_news(s->fd));
  }
  return stale;
}

void socket_retire(struct http *http, int port) {
  for (size_t i = 0; i < http->socket_n; i++)
    if (at_port(&http->sockets[i], port)) http->sockets[i].retired = 1;
}

/*
** The connection is there, and nothing was sent. One that was used before and has unread bytes would give them as the
** answer: it ends here, and the transfer begins anew on a connection of its own (start_afresh).
** libcurl sends a request again, up to five times, when a connection that it reused ended without a byte: the provider
** may have worked on it, and our caller counts attempts. Over HTTP/2 it also does so for streams that the server
** refused, and for those that it wants over HTTP/1.1, behind a head too.
*/
int socket_on_ready(void *ud, char *ip, char *local_ip, int port, int local_port) {
  struct transfer *t = ud;
  struct err e;
  long sent = 0, before = t->sent_before;
  (void)ip, (void)local_ip, (void)port;
  if (t->http2 && t->port != 0 && t->port != local_port) socket_retire(t->http, t->port); /* the request failed there */
  t->port = local_port;
  if (!t->opened && is_stale(t, local_port)) {
    t->stale = 1;
    return CURL_PREREQFUNC_ABORT;
  }
  curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &sent);
  t->sent_before = sent; /* of the first time: what went to a proxy */
  if (before < 0 || sent == before || (t->head_bytes > 0 && !t->http2)) return CURL_PREREQFUNC_OK;
  err_clear(&e);
  if (t->head_done) err_set(&e, KIND_STREAM_TRUNCATED, "the answer was cut off: the server wants the request again");
  else if (t->http2) err_set(&e, KIND_CONNECT, "the server did not take the request over HTTP/2");
  else err_set(&e, KIND_CONNECT, "the connection was closed before the answer");
  transfer_fail(t, &e);
  return CURL_PREREQFUNC_ABORT;
}

/* --- pairs --- */

/*
** libcurl makes its wake-up pairs (one per multi, one per name lookup) without close-on-exec and does not tell their
** numbers. The system hands out the lowest free ones, so they are known just before, and marked just after.
*/
void socket_expect_pair(struct http *http) {
  for (int i = 0; i < 2; i++) http->pair[i] = fcntl(pollset_fd(http->poll), F_DUPFD_CLOEXEC, 0);
  for (int i = 0; i < 2; i++)
    if (http->pair[i] >= 0) close(http->pair[i]);
}

/* Marks the pair that was expected; numbers that are no UNIX sockets are left alone. One that another thread has made
** in this moment cannot be told from libcurl's: it is marked too, and a child that was to inherit it does without. */
void socket_mark_pair(struct http *http) {
  for (int i = 0; i < 2; i++) {
    struct sockaddr a = { 0 };
    socklen_t n = sizeof a;
    if (http->pair[i] >= 0 && getsockname(http->pair[i], &a, &n) == 0 && a.sa_family == AF_UNIX)
      fcntl(http->pair[i], F_SETFD, FD_CLOEXEC);
    http->pair[i] = -1;
  }
}

/* A name lookup begins. */
int socket_on_lookup(void *state, void *reserved, void *ud) {
  (void)state;
  (void)reserved;
  socket_expect_pair(ud);
  return 0;
}
