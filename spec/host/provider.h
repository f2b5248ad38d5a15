/*
** provider.h: a provider on 127.0.0.1, in a process of its own, so that its memory and descriptors are not the test's.
** Its answers are fixed; a request's path says which one, and how much of it comes:
**   /WHAT/…        text, tool, echo-tool, refused, busy-once, big, count (see SCRIPTS)
**   /WHAT/K/…      a stream up to its Kth event, then silence until the client closes; 0 = only the head
**   /mute/…        not a byte
** A request whose body says "stream":true gets the events; /chat/completions is the Chat wire, else Anthropic's.
** It counts in shared memory, and ends when the test's process does.
*/
#ifndef KOINE_SPEC_PROVIDER_H
#define KOINE_SPEC_PROVIDER_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROVIDER_CONNECTIONS 256
#define PROVIDER_EVENTS 24
#define PROVIDER_BIG ((size_t)1 << 20)
#define PROVIDER_TEXT "Hello, héllo!"

/* What the provider saw. */
struct provider_counts { atomic_int opened, closed, requests; };

struct provider {
  pid_t pid;
  int port, leash; /* `leash` is a pipe's end: when it closes, the provider ends */
  struct provider_counts *seen;
};

/* {{{ answers */

struct script {
  const char *what;
  int chat;                             /* the wire: 1 = Chat */
  const char *plain;
  const char *event[PROVIDER_EVENTS];
};

#define USAGE "\"usage\":{\"input_tokens\":7,\"output_tokens\":5}"
#define STARTS "{\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\"," \
  "\"model\":\"claude-test\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null," USAGE "}}"
#define STOPS(reason) "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason "\",\"stop_sequence\":null}," \
  "\"usage\":{\"output_tokens\":5}}"
#define DELTA(i, what, key, text) "{\"type\":\"content_block_delta\",\"index\":" i ",\"delta\":{\"type\":\"" what \
  "\",\"" key "\":\"" text "\"}}"
#define STOP(i) "{\"type\":\"content_block_stop\",\"index\":" i "}"
#define CHUNK(delta, finish) "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-test\"," \
  "\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":" finish "}]}"

static const struct script SCRIPTS[] = {
  { "text", 0,
    "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"claude-test\",\"content\":"
    "[{\"type\":\"text\",\"text\":\"" PROVIDER_TEXT "\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null," USAGE "}",
    { STARTS, "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
      DELTA("0", "text_delta", "text", "Hello"), DELTA("0", "text_delta", "text", ", "), "{\"type\":\"ping\"}",
      DELTA("0", "text_delta", "text", "h\\u00e9llo!"), STOP("0"), STOPS("end_turn"), "{\"type\":\"message_stop\"}" } },
  { "tool", 0,
    "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"claude-test\",\"content\":"
    "[{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"c2ln\"},{\"type\":\"tool_use\",\"id\":\"toolu_1\","
    "\"name\":\"weather\",\"input\":{\"city\":\"Paris\"}}],\"stop_reason\":\"tool_use\",\"stop_sequence\":null," USAGE "}",
    { STARTS, "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
      DELTA("0", "thinking_delta", "thinking", "Hm"), DELTA("0", "thinking_delta", "thinking", "."),
      DELTA("0", "signature_delta", "signature", "c2ln"), STOP("0"),
      "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\","
      "\"name\":\"weather\",\"input\":{}}}",
      DELTA("1", "input_json_delta", "partial_json", "{\\\"city\\\":"),
      DELTA("1", "input_json_delta", "partial_json", "\\\"Paris\\\"}"),
      STOP("1"), STOPS("tool_use"), "{\"type\":\"message_stop\"}" } },
  { "text", 1,
    "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"model\":\"gpt-test\",\"choices\":[{\"index\":0,\"message\":"
    "{\"role\":\"assistant\",\"content\":\"" PROVIDER_TEXT "\"},\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":12}}",
    { CHUNK("\"role\":\"assistant\",\"content\":\"\"", "null"), CHUNK("\"content\":\"Hello\"", "null"),
      CHUNK("\"content\":\", h\\u00e9\"", "null"), CHUNK("\"content\":\"llo!\"", "null"), CHUNK("", "\"stop\""),
      "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-test\",\"choices\":[],"
      "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":12}}", "[DONE]" } },
  { "tool", 1, NULL,
    { CHUNK("\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\","
            "\"function\":{\"name\":\"weather\",\"arguments\":\"\"}}]", "null"),
      CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"city\\\":\"}}]", "null"),
      CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"Paris\\\"}\"}}]", "null"),
      CHUNK("", "\"tool_calls\""), "[DONE]" } },
  { "count", 0, "{\"input_tokens\":7}", { NULL } }
};

#define REFUSED "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no such luck\"}}"
#define BUSY "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"come back\"}}"

/* The bytes of an answer. `mark[k]` is where its first k events end. */
struct answer_bytes { char *p; size_t n, mark[PROVIDER_EVENTS + 1], marks; };

static struct answer_bytes provider_plain(int status, const char *headers, const char *body) {
  struct answer_bytes a = { 0 };
  size_t room = strlen(headers) + strlen(body) + 256;
  a.p = malloc(room);
  a.n = (size_t)snprintf(a.p, room, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nrequest-id: req_1\r\n%s"
                         "Content-Length: %zu\r\n\r\n%s", status, headers, strlen(body), body);
  return a;
}

/* Every event is a chunk of its own. */
static struct answer_bytes provider_stream(const char *const *event) {
  static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  struct answer_bytes a = { 0 };
  size_t room = sizeof head + 64;
  for (const char *const *e = event; *e != NULL; e++) room += strlen(*e) + 32;
  a.p = malloc(room);
  a.n = a.mark[0] = (size_t)snprintf(a.p, room, "%s", head);
  for (; *event != NULL; event++) {
    a.n += (size_t)snprintf(a.p + a.n, room - a.n, "%zx\r\ndata: %s\n\n\r\n", strlen(*event) + 8, *event);
    a.mark[++a.marks] = a.n;
  }
  a.n += (size_t)snprintf(a.p + a.n, room - a.n, "0\r\n\r\n");
  return a;
}

static struct answer_bytes provider_big(void) {
  static const char before[] = "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"claude-test\","
                               "\"content\":[{\"type\":\"text\",\"text\":\"";
  static const char after[] = "\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null," USAGE "}";
  char *body = malloc(sizeof before + PROVIDER_BIG + sizeof after);
  memcpy(body, before, sizeof before);
  memset(body + sizeof before - 1, 'x', PROVIDER_BIG);
  memcpy(body + sizeof before - 1 + PROVIDER_BIG, after, sizeof after);
  struct answer_bytes a = provider_plain(200, "", body);
  free(body);
  return a;
}

/* }}} */

/* {{{ the child */

#define SCRIPT_COUNT (sizeof SCRIPTS / sizeof *SCRIPTS)

struct provider_connection {
  int fd;                          /* -1 = free */
  char in[1 << 14];
  size_t n;
  const struct answer_bytes *out;  /* being sent */
  size_t sent, stop;               /* bytes of it; `stop` < out->n: silence after those */
  struct answer_bytes own;         /* an answer made for this request alone: freed with it */
};

struct provider_service {
  struct provider_counts *seen;
  struct answer_bytes plain[SCRIPT_COUNT], stream[SCRIPT_COUNT], refused, busy, big, none;
  int busy_next;                   /* /busy-once: every other request is refused */
  struct provider_connection c[PROVIDER_CONNECTIONS];
};

/* The answer to the request in c->in. */
static const struct answer_bytes *provider_route(struct provider_service *s, const struct provider_connection *c,
                                                 long *stop) {
  char what[32] = "";
  int streaming = strstr(c->in, "\"stream\":true") != NULL;
  const char *line = strchr(c->in, '\n');
  const char *chat_path = strstr(c->in, "/chat/completions");
  int chat = chat_path != NULL && chat_path < line;
  *stop = -1;
  sscanf(c->in, "%*s /%31[^/]/%ld/", what, stop);
  if (strcmp(what, "mute") == 0) *stop = -2;
  if (strcmp(what, "refused") == 0) return &s->refused;
  if (strcmp(what, "big") == 0) return &s->big;
  if (strcmp(what, "busy-once") == 0 && (s->busy_next = !s->busy_next) != 0) return &s->busy;
  if (strcmp(what, "busy-once") == 0) strcpy(what, "text");
  for (size_t i = 0; i < SCRIPT_COUNT; i++)
    if (strcmp(what, SCRIPTS[i].what) == 0 && chat == SCRIPTS[i].chat) return streaming ? &s->stream[i] : &s->plain[i];
  return &s->none;
}

static void provider_drop(struct provider_service *s, struct provider_connection *c) {
  close(c->fd);
  c->fd = -1;
  atomic_fetch_add(&s->seen->closed, 1);
}

/* Begins the answer when a whole request is there. */
static void provider_begin(struct provider_service *s, struct provider_connection *c) {
  long stop;
  c->in[c->n] = '\0';
  char *end = strstr(c->in, "\r\n\r\n");
  if (end == NULL) return;
  char *length = strstr(c->in, "Content-Length: ");
  size_t whole = (size_t)(end - c->in) + 4 + (length != NULL && length < end ? strtoul(length + 16, NULL, 10) : 0);
  if (c->n < whole) return;
  c->out = provider_route(s, c, &stop);
  c->sent = 0;
  c->stop = stop == -2 ? 0 : stop < 0 || (size_t)stop > c->out->marks ? c->out->n : c->out->mark[stop];
  c->n = 0; /* no pipelining */
  atomic_fetch_add(&s->seen->requests, 1);
}

static void provider_read(struct provider_service *s, struct provider_connection *c) {
  ssize_t r = recv(c->fd, c->in + c->n, sizeof c->in - 1 - c->n, 0);
  if (r < 0 && errno == EAGAIN) return;
  if (r <= 0) {
    provider_drop(s, c);
    return;
  }
  c->n += (size_t)r;
  if (c->out == NULL) provider_begin(s, c);
}

static void provider_write(struct provider_service *s, struct provider_connection *c) {
  while (c->out != NULL && c->sent < c->stop) {
    ssize_t w = send(c->fd, c->out->p + c->sent, c->stop - c->sent, MSG_NOSIGNAL);
    if (w < 0 && errno == EAGAIN) return;
    if (w < 0) {
      provider_drop(s, c);
      return;
    }
    c->sent += (size_t)w;
  }
  if (c->out != NULL && c->sent == c->out->n) c->out = NULL;
}

static void provider_accept(struct provider_service *s, int fd) {
  int one = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  for (size_t i = 0; one >= 0 && i < PROVIDER_CONNECTIONS; i++) {
    struct provider_connection *c = &s->c[i];
    if (c->fd >= 0) continue;
    c->fd = one;
    c->n = 0;
    c->out = NULL;
    atomic_fetch_add(&s->seen->opened, 1);
    return;
  }
  if (one >= 0) close(one);
}

/* Serves until the leash is cut. */
static void provider_serve(struct provider_service *s, int fd, int leash) {
  struct pollfd p[PROVIDER_CONNECTIONS + 2];
  for (;;) {
    p[0] = (struct pollfd){ leash, POLLIN, 0 };
    p[1] = (struct pollfd){ fd, POLLIN, 0 };
    for (size_t i = 0; i < PROVIDER_CONNECTIONS; i++) {
      int busy = s->c[i].out != NULL && s->c[i].sent < s->c[i].stop;
      p[i + 2] = (struct pollfd){ s->c[i].fd, (short)(POLLIN | (busy ? POLLOUT : 0)), 0 };
    }
    if (poll(p, PROVIDER_CONNECTIONS + 2, -1) < 0) return;
    if (p[0].revents != 0) return;
    for (size_t i = 0; i < PROVIDER_CONNECTIONS; i++) {
      struct provider_connection *c = &s->c[i];
      if (c->fd >= 0 && p[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) provider_read(s, c);
      if (c->fd >= 0) provider_write(s, c);
    }
    if (p[1].revents != 0) provider_accept(s, fd);
  }
}

static void provider_child(struct provider_counts *seen, int fd, int leash) {
  struct provider_service *s = calloc(1, sizeof *s);
  s->seen = seen;
  for (size_t i = 0; i < PROVIDER_CONNECTIONS; i++) s->c[i].fd = -1;
  s->refused = provider_plain(400, "", REFUSED);
  s->busy = provider_plain(529, "retry-after: 0\r\n", BUSY);
  s->none = provider_plain(404, "", "{}");
  s->big = provider_big();
  for (size_t i = 0; i < SCRIPT_COUNT; i++) {
    s->plain[i] = provider_plain(200, "", SCRIPTS[i].plain != NULL ? SCRIPTS[i].plain : "{}");
    s->stream[i] = provider_stream(SCRIPTS[i].event);
  }
  provider_serve(s, fd, leash);
  _exit(0);
}

/* }}} */

/* Starts the provider; before any thread, and before any descriptor is counted. */
static inline void provider_start(struct provider *p) {
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof a;
  int leash[2], fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  p->seen = mmap(NULL, sizeof *p->seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) != 0 || listen(fd, PROVIDER_CONNECTIONS) != 0 ||
      getsockname(fd, (struct sockaddr *)&a, &n) != 0 || pipe2(leash, O_CLOEXEC) != 0 || p->seen == MAP_FAILED ||
      (p->pid = fork()) < 0) {
    perror("provider");
    exit(1);
  }
  if (p->pid == 0) {
    close(leash[1]);
    provider_child(p->seen, fd, leash[0]);
  }
  close(fd);
  close(leash[0]);
  p->leash = leash[1];
  p->port = ntohs(a.sin_port);
}

static inline void provider_stop(struct provider *p) {
  close(p->leash);
  waitpid(p->pid, NULL, 0);
  munmap(p->seen, sizeof *p->seen);
}

/* Connections that the provider holds. */
static inline int provider_open(const struct provider *p) {
  return atomic_load(&p->seen->opened) - atomic_load(&p->seen->closed);
}

/* Waits until the provider has seen all its connections but n end: 1. A hang is the test's alarm. */
static inline int provider_wait(const struct provider *p, int n) {
  while (provider_open(p) != n) usleep(200);
  return 1;
}

#endif
