/*
** socket.c: the sockets that libcurl opens: none is inherited by a child, offline none leads elsewhere, and a connection
** that has something to say before it is asked is not used again.
** The engine owns the list of open sockets; libcurl owns the descriptors. Failure: noted in the transfer.
*/
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0
#endif

#include "private.h"

/* True for addresses of this machine alone. */
static int address_is_loopback(const struct curl_sockaddr *a) {
  const struct sockaddr *s = &a->addr;
  if (a->family == AF_INET) return ntohl(((const struct sockaddr_in *)(const void *)s)->sin_addr.s_addr) >> 24 == 127;
  if (a->family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)s)->sin6_addr);
  return 0;
}

/* Puts fd on the engine's list: 0, or -1 (memory). */
static int enlist(struct engine *g, int fd) {
  if (g->socket_n == g->socket_cap) {
    size_t cap = g->socket_cap == 0 ? 8 : g->socket_cap * 2;
    struct socket *v = mem_realloc(g->m, g->sockets, g->socket_cap * sizeof *v, cap * sizeof *v);
    if (v == NULL) return -1;
    g->sockets = v;
    g->socket_cap = cap;
  }
  g->sockets[g->socket_n++] = (struct socket){ .fd = fd };
  return 0;
}

/* CURLOPT_OPENSOCKETFUNCTION. Offline, names that lead elsewhere end here. */
curl_socket_t socket_on_open(void *ud, curlsocktype purpose, struct curl_sockaddr *a) {
  struct transfer *t = ud;
  (void)purpose;
  if (t->g->offline && !address_is_loopback(a)) {
    struct err e;
    request_offline(&e);
    transfer_fail(t, &e);
    return CURL_SOCKET_BAD;
  }
  curl_socket_t fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
  if (fd == CURL_SOCKET_BAD) return fd;
  if (SOCK_CLOEXEC == 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (enlist(t->g, fd) == 0) {
    t->opened = 1;
    return fd;
  }
  close(fd);
  transfer_no_memory(t);
  return CURL_SOCKET_BAD;
}

/* CURLOPT_CLOSESOCKETFUNCTION: of connections too, which outlive their transfers. */
int socket_on_close(void *ud, curl_socket_t fd) {
  struct engine *g = ud;
  for (size_t i = 0; i < g->socket_n; i++)
    if (g->sockets[i].fd == fd) {
      g->sockets[i] = g->sockets[--g->socket_n];
      break;
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

/* libcurl tells nobody which socket a request goes out on, only the port of this end. Where two sockets have one port,
** at different addresses, news of either counts. */
static int at_port(struct socket *s, int port) {
  if (s->port == 0) s->port = local_port(s->fd);
  return s->port == port;
}

/* HTTP/2's connections always may have news: they say little of an answer too many. */
int socket_is_stale(struct transfer *t, int port) {
  struct engine *g = t->g;
  int stale = !t->http2 && tls_has_unread(g, t->easy);
  for (size_t i = 0; i < g->socket_n && !stale; i++) {
    struct socket *s = &g->sockets[i];
    if (at_port(s, port)) stale = s->shunned || (!t->http2 && has_news(s->fd));
  }
  return stale;
}

void socket_shun(struct engine *g, int port) {
  for (size_t i = 0; i < g->socket_n; i++)
    if (at_port(&g->sockets[i], port)) g->sockets[i].shunned = 1;
}
