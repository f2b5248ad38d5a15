/*
** provider.h: a provider on 127.0.0.1, in a process of its own, so that its memory and descriptors are not the test's.
** Its answers are fixed; a request's path says which one, and how much of it comes:
**   /WHAT/…        text, tool, count, vectors (see SCRIPTS), big, refused, so-busy, busy-once; tool-once: text once the request
**                  has a tool's result
**   /WHAT/K/…      a stream up to its Kth event, then silence until the client closes; 0 = only the head
**   /mute/…        not a byte
** A request whose body says "stream":true gets the events; the path's end says which wire is spoken.
** It counts in shared memory, and ends when the test's process does.
*/
#ifndef KOINE_SPEC_HOST_SUPPORT_PROVIDER_H
#define KOINE_SPEC_HOST_SUPPORT_PROVIDER_H

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

/* The requests that the provider saw. */
struct provider_counts { atomic_int opened, closed, requests; };

struct provider {
  pid_t pid;
  int port, leash; /* `leash` is a pipe's end: when it closes, the provider ends */
  struct provider_counts *seen;
};

/* {{{ answers */

enum wire { WIRE_ANTHROPIC, WIRE_CHAT, WIRE_RESPONSES };

struct script {
  const char *what;
  enum wire wire;
  const char *plain;
  const char *event[PROVIDER_EVENTS];
};

#define USAGE "\"usage\":{\"input_tokens\":7,\"output_tokens\":5}"
#define STARTS "{\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"id\":\"msg_1\"," \
  "\"role\":\"assistant\",\"model\":\"claude-test\",\"content\":[],\"stop_reason\":null," \
  "\"stop_sequence\":null," USAGE "}}"
#define STOPS(reason) "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason "\",\"stop_sequence\":null}," \
  "\"usage\":{\"output_tokens\":5}}"
#define DELTA(i, what, key, text) "{\"type\":\"content_block_delta\",\"index\":" i ",\"delta\":{\"type\":\"" what \
  "\",\"" key "\":\"" text "\"}}"
#define STOP(i) "{\"type\":\"content_block_stop\",\"index\":" i "}"
#define CHUNK(delta, finish) "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-test\"," \
  "\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":" finish "}]}"

#define AT "\"output_index\":0,"
#define RESPONSE(status, output, usage) "{\"id\":\"resp_1\",\"object\":\"response\",\"model\":\"gpt-test\"," \
  "\"status\":\"" status "\",\"output\":[" output "]" usage "}"
#define SPENT ",\"usage\":{\"input_tokens\":7,\"output_tokens\":5,\"total_tokens\":12}"
#define SAID(text) "{\"type\":\"output_text\",\"text\":\"" text "\",\"annotations\":[]}"
#define MESSAGE(parts) "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[" parts "]}"
#define CALL(arguments) "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"weather\"," \
  "\"arguments\":\"" arguments "\"}"

static const struct script SCRIPTS[] = {
  { "text", WIRE_ANTHROPIC,
    "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"claude-test\",\"content\":"
    "[{\"type\":\"text\",\"text\":\"" PROVIDER_TEXT "\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
    USAGE "}",
    { STARTS, "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
      DELTA("0", "text_delta", "text", "Hello"), DELTA("0", "text_delta", "text", ", "), "{\"type\":\"ping\"}",
      DELTA("0", "text_delta", "text", "h\\u00e9llo!"), STOP("0"), STOPS("end_turn"), "{\"type\":\"message_stop\"}" } },
  { "tool", WIRE_ANTHROPIC,
    "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"claude-test\",\"content\":"
    "[{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"c2ln\"},{\"type\":\"tool_use\",\"id\":\"toolu_1\","
    "\"name\":\"weather\",\"input\":{\"city\":\"Paris\"}}],\"stop_reason\":\"tool_use\",\"stop_sequence\":null,"
    USAGE "}",
    { STARTS, "{\"type\":\"content_block_start\",\"index\":0,"
      "\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
      DELTA("0", "thinking_delta", "thinking", "Hm"), DELTA("0", "thinking_delta", "thinking", "."),
      DELTA("0", "signature_delta", "signature", "c2ln"), STOP("0"),
      "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\","
      "\"name\":\"weather\",\"input\":{}}}",
      DELTA("1", "input_json_delta", "partial_json", "{\\\"city\\\":"),
      DELTA("1", "input_json_delta", "partial_json", "\\\"Paris\\\"}"),
      STOP("1"), STOPS("tool_use"), "{\"type\":\"message_stop\"}" } },
  { "text", WIRE_CHAT,
    "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"model\":\"gpt-test\",\"choices\":[{\"index\":0,"
    "\"message\":{\"role\":\"assistant\",\"content\":\"" PROVIDER_TEXT "\"},\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":12}}",
    { CHUNK("\"role\":\"assistant\",\"content\":\"\"", "null"), CHUNK("\"content\":\"Hello\"", "null"),
      CHUNK("\"content\":\", h\\u00e9\"", "null"), CHUNK("\"content\":\"llo!\"", "null"), CHUNK("", "\"stop\""),
      "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-test\",\"choices\":[],"
      "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":12}}", "[DONE]" } },
  { "tool", WIRE_CHAT, NULL,
    { CHUNK("\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"index\":0,\"id\":\"call_1\","
            "\"type\":\"function\",\"function\":{\"name\":\"weather\",\"arguments\":\"\"}}]", "null"),
      CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"city\\\":\"}}]", "null"),
      CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"Paris\\\"}\"}}]", "null"),
      CHUNK("", "\"tool_calls\""), "[DONE]" } },
  { "text", WIRE_RESPONSES, RESPONSE("completed", MESSAGE(SAID(PROVIDER_TEXT)), SPENT),
    { "{\"type\":\"response.created\",\"response\":" RESPONSE("in_progress", "", "") "}",
      "{\"type\":\"response.output_item.added\"," AT "\"item\":" MESSAGE("") "}",
      "{\"type\":\"response.content_part.added\"," AT "\"content_index\":0,\"part\":" SAID("") "}",
      "{\"type\":\"response.output_text.delta\"," AT "\"content_index\":0,\"delta\":\"Hello\"}",
      "{\"type\":\"response.output_text.delta\"," AT "\"content_index\":0,\"delta\":\", h\\u00e9\"}",
      "{\"type\":\"response.output_text.delta\"," AT "\"content_index\":0,\"delta\":\"llo!\"}",
      "{\"type\":\"response.output_text.done\"," AT "\"content_index\":0,\"text\":\"" PROVIDER_TEXT "\"}",
      "{\"type\":\"response.content_part.done\"," AT "\"content_index\":0,\"part\":" SAID(PROVIDER_TEXT) "}",
      "{\"type\":\"response.output_item.done\"," AT "\"item\":" MESSAGE(SAID(PROVIDER_TEXT)) "}",
      "{\"type\":\"response.completed\",\"response\":"
      RESPONSE("completed", MESSAGE(SAID(PROVIDER_TEXT)), SPENT) "}" } },
  { "tool", WIRE_RESPONSES, NULL,
    { "{\"type\":\"response.created\",\"response\":" RESPONSE("in_progress", "", "") "}",
      "{\"type\":\"response.output_item.added\"," AT "\"item\":" CALL("") "}",
      "{\"type\":\"response.function_call_arguments.delta\"," AT "\"delta\":\"{\\\"city\\\":\"}",
      "{\"type\":\"response.function_call_arguments.delta\"," AT "\"delta\":\"\\\"Paris\\\"}\"}",
      "{\"type\":\"response.function_call_arguments.done\"," AT "\"arguments\":\"{\\\"city\\\":\\\"Paris\\\"}\"}",
      "{\"type\":\"response.output_item.done\"," AT "\"item\":" CALL("{\\\"city\\\":\\\"Paris\\\"}") "}",
      "{\"type\":\"response.completed\",\"response\":"
      RESPONSE("completed", CALL("{\\\"city\\\":\\\"Paris\\\"}"), SPENT) "}" } },
  { "count", WIRE_ANTHROPIC, "{\"input_tokens\":7}", { NULL } },
  { "vectors", WIRE_ANTHROPIC,
    "{\"object\":\"list\",\"data\":[{\"object\":\"embedding\",\"index\":0,\"embedding\":[0.6,0.8]},"
    "{\"object\":\"embedding\",\"index\":1,\"embedding\":\"AACAPwAAAAA=\"}],\"usage\":{\"prompt_tokens\":7}}",
    { NULL } }
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

/* `n` x's in place of the first `%s` of `format`; freed by the caller. */
static char *provider_fill(const char *format, size_t n) {
  const char *at = strstr(format, "%s");
  size_t before = (size_t)(at - format);
  char *p = malloc(strlen(format) + n);
  memcpy(p, format, before);
  memset(p + before, 'x', n);
  strcpy(p + before + n, at + 2);
  return p;
}

/* A text of PROVIDER_BIG bytes: plain, and as a stream of sixteen deltas. */
static void provider_big(struct answer_bytes *plain, struct answer_bytes *stream) {
  enum { PARTS = 16 };
  char *body = provider_fill("{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"claude-test\","
                             "\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"stop_reason\":\"end_turn\","
                             "\"stop_sequence\":null," USAGE "}", PROVIDER_BIG);
  char *delta = provider_fill(DELTA("0", "text_delta", "text", "%s"), PROVIDER_BIG / PARTS);
  const char *event[PARTS + 6] = { STARTS, "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
                                   "{\"type\":\"text\",\"text\":\"\"}}" };
  for (int i = 0; i < PARTS; i++) event[2 + i] = delta;
  event[PARTS + 2] = STOP("0");
  event[PARTS + 3] = STOPS("end_turn");
  event[PARTS + 4] = "{\"type\":\"message_stop\"}";
  *plain = provider_plain(200, "", body);
  *stream = provider_stream(event);
  free(body);
  free(delta);
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
};

struct provider_service {
  struct provider_counts *seen;
  struct answer_bytes plain[SCRIPT_COUNT], stream[SCRIPT_COUNT], refused, busy, busy_now, none, big, big_stream;
  int busy_next;                   /* /busy-once: every other request is refused */
  struct provider_connection c[PROVIDER_CONNECTIONS];
};

/* The wire of the request in c->in, by its path. */
static enum wire provider_wire(const struct provider_connection *c) {
  const char *line = strchr(c->in, '\n'), *chat = strstr(c->in, "/chat/completions"), *r = strstr(c->in, "/responses");
  return chat != NULL && chat < line ? WIRE_CHAT : r != NULL && r < line ? WIRE_RESPONSES : WIRE_ANTHROPIC;
}

/* True when the request in c->in answers a tool call, on any wire. */
static int provider_has_result(const struct provider_connection *c) {
  return strstr(c->in, "\"tool_result\"") != NULL || strstr(c->in, "\"role\":\"tool\"") != NULL ||
         strstr(c->in, "\"function_call_output\"") != NULL;
}

/* The answer to the request in c->in. */
static const struct answer_bytes *provider_route(struct provider_service *s, const struct provider_connection *c,
                                                 long *stop) {
  char what[32] = "";
  int streaming = strstr(c->in, "\"stream\":true") != NULL;
  enum wire wire = provider_wire(c);
  *stop = -1;
  sscanf(c->in, "%*s /%31[^/]/%ld/", what, stop);
  if (strcmp(what, "mute") == 0) *stop = -2;
  if (strcmp(what, "refused") == 0) return &s->refused;
  if (strcmp(what, "big") == 0) return streaming ? &s->big_stream : &s->big;
  if (strcmp(what, "so-busy") == 0) return &s->busy;
  if (strcmp(what, "busy-once") == 0 && (s->busy_next = !s->busy_next) != 0) return &s->busy_now;
  if (strcmp(what, "busy-once") == 0) strcpy(what, "text");
  if (strcmp(what, "tool-once") == 0) strcpy(what, provider_has_result(c) ? "text" : "tool");
  for (size_t i = 0; i < SCRIPT_COUNT; i++)
    if (strcmp(what, SCRIPTS[i].what) == 0 && wire == SCRIPTS[i].wire) return streaming ? &s->stream[i] : &s->plain[i];
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
  s->busy = provider_plain(529, "retry-after: 30\r\nConnection: close\r\n", BUSY);
  s->busy_now = provider_plain(529, "retry-after: 0\r\n", BUSY);
  s->none = provider_plain(404, "", "{}");
  provider_big(&s->big, &s->big_stream);
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

/* Waits until the provider has seen all its connections but n end: 1, or 0 when they do not within ten seconds. */
static inline int provider_wait(const struct provider *p, int n) {
  for (int i = 0; i < 50000 && provider_open(p) != n; i++) usleep(200);
  return provider_open(p) == n;
}

#endif
