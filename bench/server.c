/*
** server.c: the one server of the benchmark: answers any POST on 127.0.0.1 as fast as the socket takes it. Prints its
** port and runs until it is ended. What it answers is chosen by the request's path, or by an X-Bench header's value:
**   anthropic-stream, openai-stream   N events (n=N) of 121 and 292 bytes between proper start and end events
**   gemini-stream, ollama-stream      the same of 370 and 144 bytes; the latter's are lines of JSON
**   idle                              an Anthropic stream that stops after one delta and stays open
**   paced                             an Anthropic stream of N deltas, one every PACE seconds, numbered "%06zu" from 0
**   closes                            a plain Anthropic answer whose text is how many held streams their clients have
**                                     closed, and when the last of them (seconds of the monotonic clock)
**   anything else                     a small plain Anthropic answer
** Streams go out chunked, every event a chunk of its own as providers send them, in writes of at most 16 KiB.
** One thread, epoll, keep-alive.
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
#include <unistd.h>

#include "answers.h"
#include "bench.h"

#define WRITE_MAX 16384
#define HEAD_MAX 16384
#define PACE 0.020 /* seconds between the deltas of a paced stream */
#define FRAMING 7 /* bytes around a chunk of 16 to 4095 */

/* Bytes to send, a number of times over. */
struct segment { const char *p; size_t n, times; };

struct connection {
  int fd, watching;      /* epoll events asked for */
  char *in;              /* the request's head as far as it came, HEAD_MAX bytes */
  size_t in_n, body;     /* bytes held; bytes of the body still to be skipped */
  int hold;              /* the answer goes on, or never ends */
  struct segment out[4]; /* what is being sent: out[at] from `done` on */
  size_t segments, at, done;
  char *own[3];          /* buffers behind `out` that are this answer's own */
  size_t deltas, delta;  /* of a paced stream: how many, the next one */
  double due;            /* when */
  struct connection *before, *behind; /* in the queue of paced streams */
};

static int epoll_fd;

/* The paced streams, earliest first: all have the same pace, so each goes to the end after its answer. */
static struct { struct connection *first, *last; } paced;

/* Held streams that their clients closed; when the last one was. */
static struct { size_t n; double at; } closes;

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void *alloc(size_t n) {
  void *p = calloc(1, n);
  if (p == NULL) die("memory");
  return p;
}

/* --- answers --- */

/* n bytes as one HTTP chunk in a buffer of its own. */
static char *chunk(const char *p, size_t n, size_t *length) {
  char *c = alloc(n + 32);
  int head = sprintf(c, "%zx\r\n", n);
  memcpy(c + head, p, n);
  memcpy(c + head + n, "\r\n", 2);
  *length = (size_t)head + n + 2;
  return c;
}

/* One event; its text begins with `label`. */
static char *event_of(const struct shape *s, const char *label) {
  static const char words[] = "the common tongue ";
  size_t head = strlen(s->event_head), tail = strlen(s->event_tail), text = s->event_n - head - tail;
  char *event = alloc(s->event_n);
  memcpy(event, s->event_head, head);
  for (size_t k = 0; k < text; k++) event[head + k] = words[k % (sizeof words - 1)];
  memcpy(event + head, label, strlen(label) < text ? strlen(label) : text);
  memcpy(event + head + text, s->event_tail, tail);
  return event;
}

/* `count` events, each a chunk. */
static char *events(const struct shape *s, size_t count, size_t *length) {
  size_t one_n;
  char *event = event_of(s, ""), *one = chunk(event, s->event_n, &one_n), *all = alloc(count * one_n);
  for (size_t i = 0; i < count; i++) memcpy(all + i * one_n, one, one_n);
  free(event);
  free(one);
  *length = count * one_n;
  return all;
}

static void prepare(struct shape *s) {
  if (strlen(s->event_head) + strlen(s->event_tail) > s->event_n) {
    fprintf(stderr, "an event of %zu bytes cannot hold its JSON\n", s->event_n);
    exit(1);
  }
  s->per_block = WRITE_MAX / (s->event_n + FRAMING);
  s->block = events(s, s->per_block, &s->block_n);
}

static void put(struct connection *c, const char *p, size_t n, size_t times) {
  if (n > 0 && times > 0) c->out[c->segments++] = (struct segment){ p, n, times };
}

/* The end of a stream, and of its body. */
static void put_end(struct connection *c, const struct shape *s) {
  size_t end_n;
  char *end = chunk(s->end, strlen(s->end), &end_n);
  c->own[2] = alloc(end_n + 8);
  memcpy(c->own[2], end, end_n);
  memcpy(c->own[2] + end_n, "0\r\n\r\n", 5);
  free(end);
  put(c, c->own[2], end_n + 5, 1);
}

static void answer_stream(struct connection *c, const struct shape *s, size_t n, int hold) {
  char head[128];
  size_t start_n, rest_n = 0;
  size_t head_n = (size_t)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n"
                                   "Transfer-Encoding: chunked\r\n\r\n", s->type);
  char *start = chunk(s->start, strlen(s->start), &start_n);
  if (s->start[0] == '\0') start_n = 0; /* an empty chunk would be the last one */
  c->own[0] = alloc(head_n + start_n + 1);
  memcpy(c->own[0], head, head_n);
  memcpy(c->own[0] + head_n, start, start_n);
  free(start);
  put(c, c->own[0], head_n + start_n, 1);
  put(c, s->block, s->block_n, n / s->per_block);
  if (n % s->per_block > 0) c->own[1] = events(s, n % s->per_block, &rest_n);
  put(c, c->own[1], rest_n, 1);
  c->hold = hold;
  if (!hold) put_end(c, s);
}

/* Puts the connection at the end of the queue of paced streams. */
static void enqueue(struct connection *c, double due) {
  c->due = due;
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

/* A stream whose deltas the queue of paced streams sends. */
static void answer_paced(struct connection *c, size_t n) {
  answer_stream(c, &anthropic, 0, 1);
  c->deltas = n;
  c->delta = 0;
  enqueue(c, bench_wall() + PACE);
}

/* How many held streams were closed, and when the last one. */
static void answer_closes(struct connection *c) {
  char body[sizeof plain + 64];
  int n = snprintf(body, sizeof body, PLAIN_HEAD "%zu %.6f" PLAIN_TAIL, closes.n, closes.at);
  c->own[0] = alloc((size_t)n + 128);
  n = sprintf(c->own[0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n, body);
  put(c, c->own[0], (size_t)n, 1);
}

static void answer_plain(struct connection *c) {
  static char all[sizeof plain + 128];
  static size_t n;
  if (n == 0)
    n = (size_t)sprintf(all, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                        sizeof plain - 1, plain);
  put(c, all, n, 1);
}

/* Chooses by the words in the path or the X-Bench header, the first `n` bytes at p. */
static void answer(struct connection *c, const char *p, size_t n) {
  char what[256];
  if (n >= sizeof what) n = sizeof what - 1;
  memcpy(what, p, n);
  what[n] = '\0';
  const char *count = strstr(what, "n=");
  size_t number = count != NULL ? strtoul(count + 2, NULL, 10) : 100;
  if (strstr(what, "anthropic-stream") != NULL) answer_stream(c, &anthropic, number, 0);
  else if (strstr(what, "openai-stream") != NULL) answer_stream(c, &openai, number, 0);
  else if (strstr(what, "gemini-stream") != NULL) answer_stream(c, &gemini, number, 0);
  else if (strstr(what, "ollama-stream") != NULL) answer_stream(c, &ollama, number, 0);
  else if (strstr(what, "idle") != NULL) answer_stream(c, &anthropic, 1, 1);
  else if (strstr(what, "paced") != NULL) answer_paced(c, number);
  else if (strstr(what, "closes") != NULL) answer_closes(c);
  else answer_plain(c);
}

/* --- connections --- */

static void watch(struct connection *c, int events_wanted) {
  struct epoll_event ev = { .events = (uint32_t)events_wanted, .data.ptr = c };
  if (c->watching == events_wanted) return;
  epoll_ctl(epoll_fd, c->watching ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &ev);
  c->watching = events_wanted;
}

static void forget_answer(struct connection *c) {
  for (int i = 0; i < 3; i++) {
    free(c->own[i]);
    c->own[i] = NULL;
  }
  c->segments = c->at = c->done = 0;
}

static void close_connection(struct connection *c) {
  if (c->hold) {
    closes.n++;
    closes.at = bench_wall();
  }
  if (c->delta < c->deltas) dequeue(c);
  forget_answer(c);
  close(c->fd);
  free(c->in);
  free(c);
}

/* Sends what the socket takes: 1 when the answer is out, 0 when it is full, -1 when it broke. */
static int send_out(struct connection *c) {
  while (c->at < c->segments) {
    struct segment *s = &c->out[c->at];
    ssize_t n = send(c->fd, s->p + c->done, s->n - c->done, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN ? 0 : -1;
    c->done += (size_t)n;
    if (c->done < s->n) continue;
    c->done = 0;
    if (--s->times == 0) c->at++;
  }
  return 1;
}

/* The value of a header in the head, or NULL. */
static const char *find_header(const char *head, const char *end, const char *name) {
  size_t n = strlen(name);
  for (const char *p = head; (p = memchr(p, '\n', (size_t)(end - p))) != NULL;)
    if (++p + n < end && strncasecmp(p, name, n) == 0) return p + n + strspn(p + n, " ");
  return NULL;
}

/* Takes a complete head, and as much of its body as came, out of c->in: 1 when there was one. */
static int take_head(struct connection *c) {
  char *end = memmem(c->in, c->in_n, "\r\n\r\n", 4);
  if (end == NULL) return 0;
  const char *length = find_header(c->in, end, "content-length:"), *chosen = find_header(c->in, end, "x-bench:");
  if (chosen == NULL) chosen = memchr(c->in, ' ', c->in_n) == NULL ? c->in : (char *)memchr(c->in, ' ', c->in_n) + 1;
  answer(c, chosen, strcspn(chosen, " \r\n"));
  c->body = length != NULL ? strtoul(length, NULL, 10) : 0;
  size_t used = (size_t)(end + 4 - c->in), extra = c->in_n - used < c->body ? c->in_n - used : c->body;
  c->body -= extra;
  c->in_n -= used + extra;
  memmove(c->in, c->in + used + extra, c->in_n);
  return 1;
}

/* Reads what has come: 1 when a request is whole, 0 when not yet, -1 at the end of the connection. */
static int read_in(struct connection *c) {
  char skip[65536];
  for (;;) {
    if (c->segments > 0 && c->body == 0) return 1;
    char *to = c->segments > 0 ? skip : c->in + c->in_n;
    size_t room = c->segments > 0 ? (c->body < sizeof skip ? c->body : sizeof skip) : HEAD_MAX - c->in_n;
    if (c->segments == 0 && c->in_n > 0 && take_head(c)) continue;
    ssize_t n = room > 0 ? recv(c->fd, to, room, 0) : 0;
    if (n <= 0) return n < 0 && errno == EAGAIN ? 0 : -1;
    if (to == skip) c->body -= (size_t)n;
    else c->in_n += (size_t)n;
  }
}

/* Goes on with a connection as far as it can. */
static void serve(struct connection *c) {
  for (;;) {
    int r = read_in(c);
    if (r == 1) {
      r = send_out(c);
      if (r == 1 && !c->hold) {
        forget_answer(c);
        continue;
      }
      if (r == 0) {
        watch(c, EPOLLOUT);
        return;
      }
      if (r == 1) { /* held open: only the client's close is of interest */
        char rest;
        if (recv(c->fd, &rest, 1, MSG_DONTWAIT) == 0) r = -1;
      }
    }
    if (r < 0) close_connection(c);
    else watch(c, EPOLLIN);
    return;
  }
}

/* Sends the next delta of a paced stream; after the last one the end. */
static void tick(struct connection *c) {
  char label[32];
  size_t n;
  dequeue(c);
  if (c->at == c->segments) { /* else the client is slow: this delta has to wait */
    sprintf(label, "%06zu", c->delta++);
    free(c->own[1]);
    char *event = event_of(&anthropic, label);
    c->own[1] = chunk(event, anthropic.event_n, &n);
    free(event);
    c->segments = c->at = 0;
    put(c, c->own[1], n, 1);
    c->hold = c->delta < c->deltas;
    if (!c->hold) put_end(c, &anthropic);
  }
  if (c->hold) enqueue(c, bench_wall() + PACE); /* never two at once, though the server be late */
  serve(c);
}

/* Sends all deltas that are due: milliseconds until the next one, -1 = none. */
static int run_paced(void) {
  double t = bench_wall();
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
  prepare(&anthropic);
  prepare(&openai);
  prepare(&gemini);
  prepare(&ollama);
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
