/*
** paced.c: LABEL URL REQUEST N DELTAS: N paced streams at once on one multi: each split into lines, every delta's
** number looked at. One epoll and curl_multi_socket_action: libcurl's fast way. CPU per delta, most memory held.
*/
#include <sys/epoll.h>

#include "request.h"

#define MARK "\"text_delta\",\"text\":\""

/* One stream: the line that is not complete yet, the number of the next delta. */
struct stream { char line[1024]; size_t n; unsigned long next; };

static int epoll_fd;
static long wait_ms = -1;

static void end_line(struct stream *s) {
  s->line[s->n] = '\0';
  const char *at = strstr(s->line, MARK);
  if (at != NULL && strtoul(at + sizeof MARK - 1, NULL, 10) != s->next++) bench_die("a delta out of order");
  s->n = 0;
}

static size_t take(char *p, size_t size, size_t n, void *ud) {
  struct stream *s = ud;
  for (size_t left = size * n; left > 0;) {
    const char *lf = memchr(p, '\n', left);
    size_t part = lf != NULL ? (size_t)(lf - p) : left;
    if (s->n + part >= sizeof s->line) bench_die("a line too long");
    memcpy(s->line + s->n, p, part);
    s->n += part;
    if (lf != NULL) end_line(s);
    part += lf != NULL;
    p += part;
    left -= part;
  }
  return size * n;
}

static int on_timer(CURLM *m, long ms, void *ud) {
  (void)m;
  (void)ud;
  wait_ms = ms;
  return 0;
}

/* The socket's own pointer tells whether epoll knows it. */
static int on_socket(CURL *c, curl_socket_t fd, int what, void *m, void *known) {
  struct epoll_event ev = { .data.fd = fd };
  (void)c;
  ev.events = (what & CURL_POLL_IN ? (unsigned)EPOLLIN : 0) | (what & CURL_POLL_OUT ? (unsigned)EPOLLOUT : 0);
  if (what == CURL_POLL_REMOVE) epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
  else epoll_ctl(epoll_fd, known != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev);
  curl_multi_assign(m, fd, what == CURL_POLL_REMOVE ? NULL : m);
  return 0;
}

static void run(CURLM *m) {
  struct epoll_event ready[256];
  int running = 1;
  while (running > 0) {
    int n = epoll_wait(epoll_fd, ready, 256, (int)wait_ms);
    for (int i = 0; i < n; i++) {
      unsigned got = ready[i].events;
      int bits = (got & EPOLLIN ? CURL_CSELECT_IN : 0) | (got & EPOLLOUT ? CURL_CSELECT_OUT : 0);
      curl_multi_socket_action(m, ready[i].data.fd, bits, &running);
    }
    if (n == 0) {
      wait_ms = -1;
      curl_multi_socket_action(m, CURL_SOCKET_TIMEOUT, 0, &running);
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 6) bench_die("usage: paced LABEL URL REQUEST N DELTAS");
  int n = atoi(argv[4]);
  unsigned long deltas = strtoul(argv[5], NULL, 10);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  struct request *r = request_read(argv[2], argv[3]);
  CURLM *m = curl_multi_init();
  CURL **c = calloc((size_t)n, sizeof *c);
  struct stream *s = calloc((size_t)n, sizeof *s);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (m == NULL || c == NULL || s == NULL || epoll_fd < 0) bench_die("cannot start");
  curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(m, CURLMOPT_SOCKETDATA, m);
  curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, on_timer);
  double before = bench_cpu();
  for (int i = 0; i < n; i++) {
    c[i] = request_handle(r, take, &s[i]);
    curl_multi_add_handle(m, c[i]);
  }
  run(m);
  double cpu = bench_cpu() - before;
  for (int i = 0; i < n; i++) {
    if (s[i].next != deltas) bench_die("not every delta arrived");
    curl_multi_remove_handle(m, c[i]);
    curl_easy_cleanup(c[i]);
  }
  bench_report(argv[1], "_us", cpu / ((double)deltas * n), "us/delta");
  bench_report(argv[1], "_peak_mb", bench_peak(), "MiB");
  curl_multi_cleanup(m);
  free(c);
  free(s);
  return 0;
}
