/*
** failure.c: why a transfer fails: the first reason is noted in it, libcurl's own is put into words.
** The note belongs to the transfer. The caller that notes a failure, or finds one noted, ends the transfer.
*/
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/io.h"
#include "private.h"

#define TOO_LARGE 100 /* CURLE_TOO_LARGE, which libcurl has since 8.6 */

/* A failure without an err of its own. */
static const struct err out_of_memory = {
  .kind = KIND_MEMORY, .retryable = -1, .retry_after = -1, .message = "not enough memory"
};

/* The first failure counts. */
void transfer_fail(struct transfer *t, const struct err *e) {
  if (t->failed) return;
  t->failed = 1;
  t->failure = e->kind == KIND_MEMORY ? NULL : mem_alloc(t->m, sizeof *t->failure);
  if (t->failure != NULL) *t->failure = *e;
}

/* Fails t because more than `max` bytes came; 0 is what a callback then returns. */
size_t transfer_too_much(struct transfer *t, const char *what, const char *code, size_t max) {
  struct err e;
  err_clear(&e);
  err_set(&e, KIND_LIMIT, "%s exceeds %zu bytes", what, max);
  snprintf(e.code, sizeof e.code, "%s", code);
  transfer_fail(t, &e);
  return 0;
}

/* The same for want of memory. */
size_t transfer_no_memory(struct transfer *t) {
  transfer_fail(t, &out_of_memory);
  return 0;
}

/* NULL, or lent until t is closed. */
const struct err *transfer_failure(const struct transfer *t) {
  if (!t->failed) return NULL;
  return t->failure != NULL ? t->failure : &out_of_memory;
}

/* KIND_CONNECT, code "offline". */
void failure_offline(struct err *e) {
  err_clear(e);
  snprintf(e->code, sizeof e->code, "offline");
  err_set(e, KIND_CONNECT, "offline: only hosts on this machine may be reached");
  e->retryable = 0;
}

/* True for what ends a connection that was in use. */
static int is_lost(CURLcode code) {
  return code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_HTTP3;
}

/* True for what is no answer of HTTP. */
static int is_garbled(CURLcode code) {
  return code == CURLE_BAD_CONTENT_ENCODING || code == CURLE_WEIRD_SERVER_REPLY ||
         code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WRITE_ERROR;
}

/* libcurl's words for what happened; its own constant ones where they might repeat a proxy's password. */
static const char *words(const struct transfer *t, CURLcode code) {
  return t->text[0] == '\0' || strchr(t->text, '@') != NULL ? curl_easy_strerror(code) : t->text;
}

/* The port of the other end that was reached, as io_peer_port says. A program that was busy may not have called libcurl since. */
static int peer_port(const struct transfer *t) {
  int port = t->peer;
  for (size_t i = 0; i < t->http->socket_n && port == 0; i++) {
    const struct socket *s = &t->http->sockets[i];
    if (!s->reached && s->opener == t) port = io_peer_port(s->fd);
  }
  return port;
}

/* The port of a URL; 0: memory. */
static int url_port(const char *url) {
  char *text = NULL;
  int port = 0;
  CURLU *u = curl_url();
  if (u != NULL && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
      curl_url_get(u, CURLUPART_PORT, &text, CURLU_DEFAULT_PORT) == CURLUE_OK) port = atoi(text);
  curl_free(text);
  curl_url_cleanup(u);
  return port;
}

/* What a connection that is not there waits for. libcurl tells of one with TLS no earlier than its TLS is there, and not at all,
** before 8.7, that it goes through a proxy: the port shows it. Nor does it say whether a proxy of SOCKS answered. */
static const char *awaited(const struct transfer *t) {
  const char *url = NULL;
  long tunnel = 0; /* the status of a proxy's answer */
  int port = peer_port(t);
  curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &url);
  curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &tunnel);
  if (port == 0 || url == NULL || strncmp(url, "https:", 6) != 0) return "no connection within";
  if (port < 0 || tunnel != 0 || port == url_port(url)) return "no TLS handshake within";
  return "no answer of the proxy, or no TLS handshake behind it, within";
}

/* KIND_TIMEOUT, code "connect"; the words tell a server that is not there from one that does not speak TLS, and from a proxy. */
void failure_late(const struct transfer *t, double seconds, struct err *e) {
  err_timeout(e, "connect", awaited(t), seconds);
}

/* Translates a failed transfer's code to an error. */
static void translate(const struct transfer *t, CURLcode code, struct err *e) {
  const char *text = words(t, code);
  double limit = t->timeouts.connect;
  err_clear(e);
  if (is_lost(code) && t->head_bytes > 0) {
    err_set(e, KIND_STREAM_TRUNCATED, "the answer was cut off: %s", text);
  } else if (code == CURLE_OPERATION_TIMEDOUT && limit > 0 && clock_monotonic() - t->started >= limit) {
    failure_late(t, limit, e);
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    err_set(e, KIND_TIMEOUT, "no connection: %s", text);
    snprintf(e->code, sizeof e->code, "connect");
  } else if (is_garbled(code)) {
    err_set(e, KIND_PROTOCOL, "not a valid HTTP answer: %s", text);
  } else if (code == CURLE_OUT_OF_MEMORY || (int)code == TOO_LARGE) {
    /* libcurl says so too of a header line or a paused buffer over its own limit */
    err_set(e, KIND_LIMIT, "libcurl: out of memory, or an answer beyond its limits");
  } else {
    err_set(e, KIND_CONNECT, "%s", text);
    if (!is_lost(code)) snprintf(e->code, sizeof e->code, "connect"); /* nothing was sent */
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) e->retryable = 0;
  }
}

/* For what happens on a link that is there. */
int transfer_explain(const struct transfer *t, CURLcode code, struct err *e) {
  translate(t, code, e);
  e->code[0] = '\0'; /* something may have been sent */
  return -1;
}

/* Notes what the code means. */
void transfer_fail_code(struct transfer *t, CURLcode code) {
  struct err e;
  translate(t, code, &e);
  transfer_fail(t, &e);
}
