/*
** server.h: an HTTP server for tests: one thread per connection on 127.0.0.1, its behaviour chosen by the path.
** Where it waits, it waits for the client to close or for the test to say `go`, never for a time.
*/
#ifndef KOINE_SPEC_HOST_SUPPORT_SERVER_H
#define KOINE_SPEC_HOST_SUPPORT_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_CONNECTIONS 512

struct connection {
  struct server *s;
  int fd, number;
  pthread_t thread;
  char in[1 << 16]; /* what was read; the request being answered comes first */
  size_t n, head, whole;
};

struct server {
  int fd, port;
  pthread_t thread;
  atomic_int connections, go;
  struct connection *c[SERVER_CONNECTIONS];
};

/* --- gzip, enough of it to make small texts and large runs of zeros --- */

struct bits { unsigned char *p; size_t n; uint32_t hold; int count; };

static void bits_put(struct bits *b, uint32_t v, int n) {
  b->hold |= v << b->count;
  for (b->count += n; b->count >= 8; b->count -= 8, b->hold >>= 8) b->p[b->n++] = (unsigned char)b->hold;
}

/* Huffman codes go out with their highest bit first. */
static void bits_code(struct bits *b, uint32_t v, int n) {
  while (n-- > 0) bits_put(b, v >> n & 1, 1);
}

static uint32_t crc_byte(uint32_t crc, unsigned char c) {
  crc ^= c;
  for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  return crc;
}

/* Gzips an ASCII text followed by `zeros` NUL bytes (a multiple of 258) into out: its length. */
static size_t gzip(const char *text, size_t zeros, unsigned char *out) {
  static const unsigned char head[10] = { 0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3 };
  struct bits b = { out, sizeof head, 0, 0 };
  uint32_t crc = 0xFFFFFFFFu, size = (uint32_t)(strlen(text) + (zeros ? zeros + 1 : 0));
  memcpy(out, head, sizeof head);
  bits_put(&b, 3, 3); /* last block, fixed codes */
  for (; *text; text++) {
    crc = crc_byte(crc, (unsigned char)*text);
    bits_code(&b, 0x30u + (unsigned char)*text, 8);
  }
  if (zeros) {
    crc = crc_byte(crc, 0);
    bits_code(&b, 0x30, 8);
  }
  for (size_t i = 0; i < zeros; i++) crc = crc_byte(crc, 0);
  for (; zeros >= 258; zeros -= 258) {
    bits_code(&b, 0xC5, 8); /* length 258 */
    bits_code(&b, 0, 5);    /* distance 1 */
  }
  bits_code(&b, 0, 7); /* end of block */
  if (b.count > 0) bits_put(&b, 0, 8 - b.count);
  crc ^= 0xFFFFFFFFu;
  for (int i = 0; i < 4; i++) out[b.n++] = (unsigned char)(crc >> 8 * i);
  for (int i = 0; i < 4; i++) out[b.n++] = (unsigned char)(size >> 8 * i);
  return b.n;
}

/* --- reading and writing --- */

static int server_write(int fd, const void *p, size_t n) {
  const char *c = p;
  while (n > 0) {
    ssize_t w = send(fd, c, n, MSG_NOSIGNAL);
    if (w <= 0) return -1;
    c += w;
    n -= (size_t)w;
  }
  return 0;
}

static int server_puts(int fd, const char *s) {
  return server_write(fd, s, strlen(s));
}

/* Waits until the client closes. */
static void server_wait(int fd) {
  char c[256];
  while (recv(fd, c, sizeof c, 0) > 0) continue;
}

/* Closes with a reset instead of an orderly end. */
static void server_reset(int fd) {
  struct linger l = { 1, 0 };
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
}

/* Byte i of the pattern that /big sends. */
static char pattern(size_t i) {
  return (char)('a' + i % 23 + i / 4096 % 3);
}

static int server_pattern(int fd, size_t n) {
  char c[8192];
  for (size_t i = 0; i < n;) {
    size_t k = 0;
    for (; k < sizeof c && i + k < n; k++) c[k] = pattern(i + k);
    if (server_write(fd, c, k) < 0) return -1;
    i += k;
  }
  return 0;
}

/* The next request into c->in: 1, or 0 at the end of the connection. */
static int server_read(struct connection *c) {
  memmove(c->in, c->in + c->whole, c->n - c->whole);
  c->n -= c->whole;
  for (;;) {
    c->in[c->n] = '\0';
    char *end = strstr(c->in, "\r\n\r\n");
    if (end != NULL) {
      char *length = strstr(c->in, "Content-Length: ");
      c->head = (size_t)(end - c->in) + 4;
      c->whole = c->head + (length != NULL && length < end ? strtoul(length + 16, NULL, 10) : 0);
      if (c->n >= c->whole) return 1;
    }
    ssize_t r = c->n + 1 < sizeof c->in ? recv(c->fd, c->in + c->n, sizeof c->in - 1 - c->n, 0) : 0;
    if (r <= 0) return 0;
    c->n += (size_t)r;
  }
}

static int server_answer(struct connection *c, const char *headers, const void *body, size_t n) {
  char head[512];
  int only_head = strncmp(c->in, "HEAD ", 5) == 0;
  snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n", n, headers);
  return server_puts(c->fd, head) < 0 ? -1 : only_head ? 0 : server_write(c->fd, body, n);
}

static int server_gzip(struct connection *c, const char *text, size_t zeros) {
  unsigned char *z = malloc(zeros / 100 + 256);
  size_t n = gzip(text, zeros, z);
  int r = server_answer(c, "Content-Encoding: gzip\r\n", z, n);
  free(z);
  return r;
}

/* Answers that end the connection in some way: 1 when the path is one of them. */
static int server_faults(struct connection *c, const char *path, size_t number) {
  static const char ok[] = "HTTP/1.1 200 OK\r\n";
  static const char chunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  if (strcmp(path, "/stall") == 0) {
    server_wait(c->fd);
  } else if (strcmp(path, "/stall-head") == 0) {
    if (server_puts(c->fd, chunked) == 0) server_wait(c->fd);
  } else if (strcmp(path, "/stall-body") == 0) {
    if (server_puts(c->fd, chunked) == 0 && server_puts(c->fd, "1\r\nx\r\n") == 0) server_wait(c->fd);
  } else if (strcmp(path, "/drip") == 0) {
    int r = server_puts(c->fd, chunked);
    while (r == 0 && (r = server_puts(c->fd, "1\r\nx\r\n")) == 0) usleep(1000);
  } else if (strcmp(path, "/reset") == 0) {
    server_reset(c->fd);
  } else if (strcmp(path, "/reset-body") == 0) {
    server_puts(c->fd, chunked);
    server_puts(c->fd, "5\r\nhello\r\n");
    while (!atomic_load(&c->s->go)) usleep(1000); /* until the test has seen the bytes */
    server_reset(c->fd);
  } else if (strcmp(path, "/close") == 0) {
    return 1;
  } else if (strcmp(path, "/short") == 0) {
    server_puts(c->fd, ok);
    server_puts(c->fd, "Content-Length: 100\r\n\r\nhello");
  } else if (strcmp(path, "/short-chunked") == 0) {
    server_puts(c->fd, chunked);
    server_puts(c->fd, "5\r\nhello\r\n");
  } else if (strcmp(path, "/garbage") == 0) {
    server_puts(c->fd, "220 mail.example ready\r\n");
  } else if (strcmp(path, "/upgrade") == 0) {
    server_puts(c->fd, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\ndata: a\n\n");
  } else if (strcmp(path, "/head") == 0) {
    server_puts(c->fd, ok);
    for (size_t i = 0; i < number; i++)
      if (server_puts(c->fd, "X-Padding: 0123456789012345678901234567890123456789\r\n") < 0) break;
    server_puts(c->fd, "Content-Length: 0\r\n\r\n");
  } else if (strcmp(path, "/line") == 0) {
    server_puts(c->fd, ok);
    server_puts(c->fd, "X-Long: ");
    server_pattern(c->fd, number);
    server_puts(c->fd, "\r\nContent-Length: 0\r\n\r\n");
  } else if (strcmp(path, "/hello-and-close") == 0) {
    server_answer(c, "", "hello", 5);
  } else if (strcmp(path, "/until-close") == 0) {
    server_puts(c->fd, ok);
    server_puts(c->fd, "Connection: close\r\n\r\nall of it");
  } else {
    return 0;
  }
  return 1;
}

/* Answers that keep the connection: 0, or -1 when it broke. */
static int server_route(struct connection *c, const char *path, size_t number) {
  char headers[256];
  snprintf(headers, sizeof headers, "X-Connection: %d\r\n", c->number);
  if (strcmp(path, "/hello") == 0) return server_answer(c, headers, "hello", 5);
  if (strcmp(path, "/echo") == 0) return server_answer(c, headers, c->in, c->whole);
  if (strcmp(path, "/gzip") == 0) return server_gzip(c, "hello, gzip", number);
  if (strcmp(path, "/bad-gzip") == 0) return server_answer(c, "Content-Encoding: gzip\r\n", "this is no gzip", 15);
  if (strcmp(path, "/odd-encoding") == 0) return server_answer(c, "Content-Encoding: rot13\r\n", "uryyb", 5);
  if (strcmp(path, "/empty") == 0) return server_puts(c->fd, "HTTP/1.1 204 No Content\r\n\r\n");
  if (strcmp(path, "/chunked") == 0)
    return server_puts(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n5\r\nhello\r\n"
                              "2;ext=1\r\n, \r\n7\r\nchunked\r\n0\r\nX-Late: yes\r\n\r\n");
  if (strcmp(path, "/gated") == 0) { /* ends when the test says so */
    server_puts(c->fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    while (!atomic_load(&c->s->go)) usleep(1000);
    return server_puts(c->fd, "0\r\n\r\n");
  }
  if (strcmp(path, "/early") == 0)
    return server_puts(c->fd, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nX-Early: 1\r\n\r\n"
                              "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-LENGTH: 2\r\n"
                              "X-Mixed-Case:  Some Value \t\r\n"
                              "X-Folded: a\r\n b: c\r\nX-Empty:\r\nX-Mixed-Case: again\r\n\r\nok");
  if (strcmp(path, "/redirect") == 0)
    return server_puts(c->fd, "HTTP/1.1 302 Found\r\nLocation: /hello\r\nContent-Length: 5\r\n\r\nmoved");
  if (strcmp(path, "/big") == 0) {
    snprintf(headers, sizeof headers, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", number);
    return server_puts(c->fd, headers) < 0 ? -1 : server_pattern(c->fd, number);
  }
  if (strcmp(path, "/big-chunked") == 0) {
    snprintf(headers, sizeof headers, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n", number);
    if (server_puts(c->fd, headers) < 0 || server_pattern(c->fd, number) < 0) return -1;
    return server_puts(c->fd, "\r\n0\r\n\r\n");
  }
  return server_puts(c->fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
}

/* Serves one connection. The path ends at `?`, which a number may follow; a proxy is asked for a whole URL. */
static void *server_serve(void *ud) {
  struct connection *c = ud;
  while (server_read(c)) {
    char path[64] = "";
    char *from = strchr(c->in, ' ') + 1;
    if (strncmp(from, "http://", 7) == 0) from = strchr(from + 7, '/');
    size_t n = strcspn(from, " ?");
    if (n < sizeof path) memcpy(path, from, n);
    size_t number = from[n] == '?' ? strtoul(from + n + 1, NULL, 10) : 0;
    if (server_faults(c, path, number) || server_route(c, path, number) < 0) break;
  }
  close(c->fd);
  return NULL;
}

static void *server_accept(void *ud) {
  struct server *s = ud;
  for (;;) {
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
    int i = atomic_load(&s->connections);
    if (fd < 0 || i == SERVER_CONNECTIONS) return NULL;
    struct connection *c = calloc(1, sizeof *c);
    c->s = s;
    c->fd = fd;
    c->number = i;
    s->c[i] = c;
    atomic_store(&s->connections, i + 1);
    if (pthread_create(&c->thread, NULL, server_serve, c) != 0) abort();
  }
}

static inline void server_start(struct server *s) {
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t n = sizeof a;
  memset(s, 0, sizeof *s);
  s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(s->fd, (struct sockaddr *)&a, n) != 0 || listen(s->fd, SERVER_CONNECTIONS) != 0 ||
      getsockname(s->fd, (struct sockaddr *)&a, &n) != 0 || pthread_create(&s->thread, NULL, server_accept, s) != 0) {
    perror("server");
    exit(1);
  }
  s->port = ntohs(a.sin_port);
}

/* Waits for every connection to end, which the client must have closed. */
static inline void server_stop(struct server *s) {
  shutdown(s->fd, SHUT_RDWR);
  pthread_join(s->thread, NULL);
  close(s->fd);
  for (int i = 0; i < atomic_load(&s->connections); i++) {
    pthread_join(s->c[i]->thread, NULL);
    free(s->c[i]);
  }
}

#endif
