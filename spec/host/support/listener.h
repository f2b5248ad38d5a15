/* listener.h: a socket on 127.0.0.1 whose connections are each served by a thread: for servers that play no script of
** server.h's. */
#ifndef KOINE_SPEC_HOST_SUPPORT_LISTENER_H
#define KOINE_SPEC_HOST_SUPPORT_LISTENER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct listener {
  int fd, port;
  pthread_t thread;
  void *(*serve)(void *fd); /* (intptr_t) the connection's descriptor, which it closes */
  atomic_int serving;       /* connections whose threads have not ended */
};

struct served { struct listener *l; int fd; };

static inline void *listener_serve(void *ud) {
  struct served *s = ud;
  struct listener *l = s->l;
  (void)l->serve((void *)(intptr_t)s->fd);
  free(s);
  atomic_fetch_sub(&l->serving, 1);
  return NULL;
}

static inline void *listener_run(void *ud) {
  struct listener *l = ud;
  for (int fd; (fd = accept(l->fd, NULL, NULL)) >= 0;) {
    pthread_t t;
    struct served *s = malloc(sizeof *s);
    if (s == NULL) { close(fd); continue; }
    *s = (struct served){ l, fd };
    atomic_fetch_add(&l->serving, 1);
    if (pthread_create(&t, NULL, listener_serve, s) == 0) { pthread_detach(t); continue; }
    atomic_fetch_sub(&l->serving, 1);
    free(s);
    close(fd);
  }
  return NULL;
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

/* Call it when the clients have closed their connections: waits, ten seconds at most, until each was served. */
static inline void listener_stop(struct listener *l) {
  shutdown(l->fd, SHUT_RDWR);
  close(l->fd);
  pthread_join(l->thread, NULL);
  for (int i = 0; i < 50000 && atomic_load(&l->serving) > 0; i++) usleep(200);
}

#endif
