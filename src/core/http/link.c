/*
** link.c: connections without a request: libcurl makes them as it makes those of requests, and their bytes go through it.
** A link is a transfer whose handle stays with libcurl as long as the connection. Failure: NULL or -1 and an err.
*/
#include <stdio.h>

#include "private.h"

#define HOST_MAX 255

/* True for what may stand as the host of a URL: a name, an address. */
static int is_host(const char *host) {
  size_t n = strlen(host);
  if (n == 0 || n > HOST_MAX) return 0;
  for (; *host != '\0'; host++) {
    char c = str_lower(*host);
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr(".-_:", c) != NULL)) return 0;
  }
  return 1;
}

static void bad_host(struct err *e) {
  err_argument(e, "host", "the name or address of a host", "another string");
}

/* Begins. NULL and *e: as transfer_start; KIND_ARGUMENT names host. */
struct transfer *link_start(struct http *http, const struct link_address *a, void *owner, struct err *e) {
  char url[HOST_MAX + 32];
  int bare = strchr(a->host, ':') == NULL;
  err_clear(e);
  if (!is_host(a->host)) {
    bad_host(e);
    return NULL;
  }
  snprintf(url, sizeof url, "%s://%s%s%s:%d/", a->tls ? "https" : "http", bare ? "" : "[", a->host, bare ? "" : "]",
           a->path != NULL ? 80 : a->port);
  struct http_request r = { .method = "GET", .url = url, .proxy = "", .ca_file = a->ca_file, .link = 1,
                            .unix_path = a->path, .timeouts = { .connect = a->timeout, .total = a->timeout } };
  struct transfer *t = transfer_start(http, &r, owner, e);
  if (t == NULL && e->kind == KIND_ARGUMENT) bad_host(e); /* libcurl has no such address */
  return t;
}

int link_socket(const struct transfer *t) {
  return t->socket;
}

/* Fills *e for a link that is not, or no longer, there: -1. */
static int absent(const struct transfer *t, struct err *e) {
  const struct err *failure = transfer_failure(t);
  if (failure == NULL) return err_set(e, KIND_CONNECT, "the connection is not there yet");
  *e = *failure;
  return -1;
}

/* Reads once: bytes, 0 at the end, PIPE_AGAIN, or -1 and *e. */
long link_read(struct transfer *t, char *p, size_t n, struct err *e) {
  size_t got = 0;
  if (t->socket < 0) return absent(t, e);
  t->text[0] = '\0';
  CURLcode code = curl_easy_recv(t->easy, p, n, &got);
  if (code == CURLE_OK) return (long)got;
  return code == CURLE_AGAIN ? PIPE_AGAIN : transfer_explain(t, code, e);
}

/* Writes once: bytes, PIPE_AGAIN, or -1 and *e. */
long link_write(struct transfer *t, const char *p, size_t n, struct err *e) {
  size_t put = 0;
  if (t->socket < 0) return absent(t, e);
  t->text[0] = '\0';
  CURLcode code = curl_easy_send(t->easy, p, n, &put);
  if (code == CURLE_OK) return put > 0 ? (long)put : PIPE_AGAIN;
  return code == CURLE_AGAIN ? PIPE_AGAIN : transfer_explain(t, code, e);
}
