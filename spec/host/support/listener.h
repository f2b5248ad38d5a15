/* listener.h: a socket on 127.0.0.1 whose connections are each served by a thread: for servers that play no script of
** server.h's. */
#ifndef KOINE_SPEC_HOST_SUPPORT_LISTENER_H
#define KOINE_SPEC_HOST_SUPPORT_LISTENER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

struct listener {
  int fd, port;
  pthread_t thread;
  void *(*serve)(void *fd); /* (intptr_t) the connection's descriptor, which it closes */
};

static inline void *listener_run(void *ud) {
  struct listener *l = ud;
  for (;;) {
    pthread_t t;
    int fd = accept(l->fd, NULL, NULL);
    if (fd < 0) return NULL;
    if (pthread_create(&t, NULL, l->serve, (void *)(intptr_t)fd) == 0) pthread_detach(t);
    else close(fd);
  }
}

/* Listens, at a free port: 0, or -1. */
static inline int listener_start(struct listener *l, void *(*serve)(void *fd)) {
  struct sockaddr_in a = { .sin_family = AF_INET };
  socklen_t n = sizeof a;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  l->serve = serve;
  l->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (l->fd < 0 || bind(l->fd, (struct sockaddr *)&a, n) != 0 || listen(l->fd, 64) != 0 ||
      getsockname(l->fd, (struct sockaddr *)&a, &n) != 0) return -1;
  l->port = ntohs(a.sin_port);
  return pthread_create(&l->thread, NULL, listener_run, l) == 0 ? 0 : -1;
}

static inline void listener_stop(struct listener *l) {
  shutdown(l->fd, SHUT_RDWR);
  close(l->fd);
  pthread_join(l->thread, NULL);
}

#endif
