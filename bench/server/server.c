/*
** server.c: the one server of the benchmark: answers requests on 127.0.0.1 as fast as the socket takes it, in the format
** that the end of the path asks for (answers.h). Prints its port and runs until it is ended. How it answers is the first
** word of the path:
**   /stream/N   N events between proper start and end events
**   /idle       a stream that stops after one event and stays open
**   /paced/N    an Anthropic stream of N deltas, one every 20 ms, whose texts are "%06zu" from 0; /paced/N/MS: one every MS
**               ms of all such streams together, which take turns
**   /closes     a plain answer whose text is how many held streams their clients have closed, and when the last of them
**               (seconds of the monotonic clock)
**   /last       the bytes of the request before this one, as they came
**   all else    a small plain answer
** Streams go out chunked, every event a chunk of its own as providers send them, in writes of at most about 16 KiB.
** One thread, epoll, keep-alive. A connection owns its buffers.
*/
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"

#define WRITE_MAX 16384
#define HEAD_MAX 16384
#define LAST_MAX 65536
#define PACE 20 /* ms between the deltas of a paced stream */
#define DATE "Date: Tue, 17 Feb 2026 19:29:21 GMT\r\n"
#define TEXT "The sky is blue because air scatters short waves most."

struct connection {
  int fd, watching;             /* epoll events asked for */
  char *in;                     /* the request's head as far as it came, HEAD_MAX bytes */
  size_t in_n, body;            /* bytes held; bytes of the body still to come */
  int answering, hold;          /* an answer is being sent; it never ends */
  struct bytes out;             /* what is being sent, from `done` on */
  size_t done;
  const struct format *format;  /* of a stream */
  size_t event, events;         /* its next event, how many it has */
  double due, pace;             /* of a paced stream: when the next event goes out, seconds between them */
  int is_paced, takes_turns;
  struct connection *before, *behind; /* in the queue of paced streams */
};

static int epoll_fd;

/* The paced streams, earliest first: all have the same pace, so each goes to the end after its event. */
static struct { struct connection *first, *last; } paced;

/* Held streams that their clients closed; when the last one was. */
static struct { size_t n; double at; } closes;

/* The last request that was not for /last. */
static struct { char p[LAST_MAX]; size_t n; } last;

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void *alloc(size_t n) {
  void *p = calloc(1, n);
  if (p == NULL) die("memory");
  return p;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- answers --- */

/* Adds what `scratch` holds as one HTTP chunk and empties it; an empty chunk would be the last one. */
static void add_chunk(struct bytes *to, struct bytes *scratch) {
  char head[32];
  if (scratch->n > 0) {
    bytes_add(to, head, (size_t)sprintf(head, "%zx\r\n", scratch->n));
    bytes_add(to, scratch->p, scratch->n);
    bytes_add(to, "\r\n", 2);
  }
  scratch->n = 0;
}

static struct bytes scratch;

static void add_event(struct connection *c) {
  struct text t;
  if (c->is_paced) t.n = t.units = (size_t)sprintf(t.p, "%06zu", c->event);
  else text_of(c->format, c->event, &t);
  c->format->event(&scratch, c->event++, &t);
  add_chunk(&c->out, &scratch);
}

static void add_end(struct connection *c) {
  c->format->end(&scratch, c->events);
  add_chunk(&c->out, &scratch);
  bytes_add(&c->out, "0\r\n\r\n", 5);
}

/* Makes the next part of a stream. */
static void refill(struct connection *c) {
  c->out.n = c->done = 0;
  while (c->event < c->events && c->out.n < WRITE_MAX - 1024) add_event(c);
  if (c->event == c->events && !c->hold) {
    add_end(c);
    c->events = 0;
  }
}

/* Begins a stream; refill or the queue of paced streams goes on with it. */
static void start_stream(struct connection *c, const struct format *f, size_t events) {
  c->format = f;
  c->event = 0;
  c->events = events;
  bytes_format(&c->out, "HTTP/1.1 200 OK\r\n" DATE "%sTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n",
    f->stream_headers);
  bytes_format(&scratch, "%s", f->start);
  add_chunk(&c->out, &scratch);
}

static void answer_plain(struct connection *c, const struct format *f, const char *text) {
  if (f->plain == NULL) {
    fprintf(stderr, "no plain answer in the format of %s\n", f->path);
    exit(1);
  }
  bytes_format(&scratch, f->plain, text);
  bytes_format(&c->out, "HTTP/1.1 200 OK\r\n" DATE "%sContent-Length: %zu\r\nConnection: keep-alive\r\n\r\n",
    f->plain_headers, scratch.n);
  bytes_add(&c->out, scratch.p, scratch.n);
  scratch.n = 0;
}

static void answer_closes(struct connection *c, const struct format *f) {
  char text[64];
  sprintf(text, "%zu %.6f", closes.n, closes.at);
  answer_plain(c, f, text);
}

static void answer_last(struct connection *c) {
  bytes_format(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", last.n);
  bytes_add(&c->out, last.p, last.n);
}

/* Puts the connection at the end of the queue of paced streams. */
static void enqueue(struct connection *c) {
  double t = seconds(); /* never two at once, though the server be late */
  c->due = (c->takes_turns && paced.last != NULL && paced.last->due > t ? paced.last->due : t) + c->pace;
  c->behind = NULL;
  c->before = paced.last;
  if (paced.last != NULL) paced.last->behind = c;
  else paced.first = c;
  paced.last = c;
}

static void dequeue(struct connection *c) {
  if (c->before != NULL) c->before->behind = c->behind;
  else paced.first = c->behind;
  if (c->behind != NULL) c->behind->before = c->before;
  else paced.last = c->before;
}

static int begins(const char *p, const char *with) { return strncmp(p, with, strlen(with)) == 0; }

/* Begins the answer to a request for this path. */
static void answer(struct connection *c, const char *path) {
  const struct format *f = format_of(path);
  char *rest;
  size_t number = strtoul(path + strcspn(path, "0123456789"), &rest, 10), pace = strtoul(rest + (*rest == '/'), NULL, 10);
  c->out.n = c->done = c->events = 0;
  c->answering = 1;
  if (begins(path, "/stream/")) {
    start_stream(c, f, number);
  } else if (begins(path, "/idle")) {
    start_stream(c, f, 1);
    c->hold = 1;
  } else if (begins(path, "/paced/")) {
    start_stream(c, f, number);
    c->is_paced = 1;
    c->takes_turns = pace > 0;
    c->pace = (double)(pace > 0 ? pace : PACE) / 1e3;
    enqueue(c);
  } else if (begins(path, "/closes")) {
    answer_closes(c, f);
  } else if (begins(path, "/last")) {
    answer_last(c);
  } else {
    answer_plain(c, f, TEXT);
  }
}

/* --- connections --- */

static void watch(struct connection *c, int events_wanted) {
  struct epoll_event ev = { .events = (uint32_t)events_wanted, .data.ptr = c };
  if (c->watching == events_wanted) return;
  epoll_ctl(epoll_fd, c->watching ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &ev);
  c->watching = events_wanted;
}

static void close_connection(struct connection *c) {
  if (c->hold || c->is_paced) {
    closes.n++;
    closes.at = seconds();
  }
  if (c->is_paced) dequeue(c);
  close(c->fd);
  free(c->out.p);
  free(c->in);
  free(c);
}

/* Sends what the socket takes: 1 when nothing is left for now, 0 when it is full, -1 when it broke. */
static int send_out(struct connection *c) {
  for (;;) {
    while (c->done < c->out.n) {
      ssize_t n = send(c->fd, c->out.p + c->done, c->out.n - c->done, MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN ? 0 : -1;
      c->done += (size_t)n;
    }
    if (c->is_paced || c->events == 0 || (c->hold && c->event == c->events)) return 1;
    refill(c);
  }
}

/* The value of a header in the head, or NULL. */
static const char *find_header(const char *head, const char *end, const char *name) {
  size_t n = strlen(name);
  for (const char *p = head; (p = memchr(p, '\n', (size_t)(end - p))) != NULL;)
    if (++p + n < end && strncasecmp(p, name, n) == 0) return p + n + strspn(p + n, " ");
  return NULL;
}

static void remember(const char *p, size_t n) {
  if (last.n + n > sizeof last.p) n = sizeof last.p - last.n;
  memcpy(last.p + last.n, p, n);
  last.n += n;
}

/* Takes a complete head, and as much of its body as came, out of c->in: 1 when there was one. */
static int take_head(struct connection *c) {
  char *end = memmem(c->in, c->in_n, "\r\n\r\n", 4), path[512];
  if (end == NULL || sscanf(c->in, "%*s %511s", path) != 1) return 0;
  const char *length = find_header(c->in, end, "content-length:");
  answer(c, path);
  c->body = length != NULL ? strtoul(length, NULL, 10) : 0;
  size_t used = (size_t)(end + 4 - c->in), extra = c->in_n - used < c->body ? c->in_n - used : c->body;
  last.n = 0;
  remember(c->in, used + extra);
  c->body -= extra;
  c->in_n -= used + extra;
  memmove(c->in, c->in + used + extra, c->in_n);
  return 1;
}

/* Reads what has come: 1 when a request is whole, 0 when not yet, -1 at the end of the connection. */
static int read_in(struct connection *c) {
  char rest[65536];
  for (;;) {
    if (c->answering && c->body == 0) return 1;
    char *to = c->answering ? rest : c->in + c->in_n;
    size_t room = c->answering ? (c->body < sizeof rest ? c->body : sizeof rest) : HEAD_MAX - c->in_n;
    if (!c->answering && c->in_n > 0 && take_head(c)) continue;
    ssize_t n = room > 0 ? recv(c->fd, to, room, 0) : 0;
    if (n <= 0) return n < 0 && errno == EAGAIN ? 0 : -1;
    if (to != rest) {
      c->in_n += (size_t)n;
      continue;
    }
    remember(rest, (size_t)n);
    c->body -= (size_t)n;
  }
}

/* Whether the other side has closed the connection. */
static int is_closed(struct connection *c) {
  char byte;
  return recv(c->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

/* Goes on with a connection as far as it can. */
static void serve(struct connection *c) {
  for (;;) {
    int r = read_in(c), waits = c->hold || c->is_paced;
    if (r == 1) {
      r = send_out(c);
      if (r == 1 && !waits) {
        c->answering = 0;
        continue;
      }
      if (r == 0) {
        watch(c, EPOLLOUT);
        return;
      }
      if (r == 1 && is_closed(c)) r = -1; /* held: only the client's close is of interest */
    }
    if (r < 0) close_connection(c);
    else watch(c, EPOLLIN);
    return;
  }
}

/* Sends the next delta of a paced stream; after the last one the end. */
static void tick(struct connection *c) {
  dequeue(c);
  if (c->done == c->out.n) { /* else the client is slow: this delta has to wait */
    c->out.n = c->done = 0;
    add_event(c);
    if (c->event == c->events) {
      add_end(c);
      c->events = 0;
      c->is_paced = 0;
    }
  }
  if (c->is_paced) enqueue(c);
  serve(c);
}

/* Sends all deltas that are due: milliseconds until the next one, -1 = none. */
static int run_paced(void) {
  double t = seconds();
  while (paced.first != NULL && paced.first->due <= t) tick(paced.first);
  return paced.first == NULL ? -1 : (int)((paced.first->due - t) * 1e3) + 1;
}

static void accept_all(int fd) {
  for (int s, on = 1; (s = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    struct connection *c = alloc(sizeof *c);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->fd = s;
    c->in = alloc(HEAD_MAX);
    serve(c);
  }
}

int main(void) {
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof a;
  struct rlimit files;
  struct epoll_event ev = { .events = EPOLLIN }, ready[256];
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, 4096) < 0) die("listen");
  if (getsockname(fd, (struct sockaddr *)&a, &n) < 0 || (epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) die("socket");
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev);
  printf("%d\n", ntohs(a.sin_port));
  fflush(stdout);
  for (;;) {
    int count = epoll_wait(epoll_fd, ready, 256, run_paced());
    for (int i = 0; i < count; i++) {
      if (ready[i].data.ptr == NULL) accept_all(fd);
      else serve(ready[i].data.ptr);
    }
  }
}
