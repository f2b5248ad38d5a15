/*
** transfer.c: one transfer: what libcurl calls while it runs (but for head.c), how it ends, how it is read.
** Callbacks append bytes and set flags, nothing else. A transfer owns its easy handle while in flight and every byte it
** holds; its caller owns it, unless it was released to the engine. Failure: noted once in the transfer; why it failed
** is its caller's to ask.
*/
#include <stdio.h>

#include "core/base/clock.h"
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

/* Bytes of the answer so far, as they came over the wire (after chunked framing is undone). Before its first line there
** are none: a handle that libcurl uses again still tells the figure of its last transfer. */
static unsigned long long wire_bytes(const struct transfer *t) {
  curl_off_t n = 0;
  if (t->easy == NULL) return t->received;
  if (t->head_bytes == 0) return 0;
  curl_easy_getinfo(t->easy, CURLINFO_SIZE_DOWNLOAD_T, &n);
  return (unsigned long long)n + t->head_bytes;
}

/* True when the body has outgrown body_max. */
static int over_body_max(const struct transfer *t) {
  if (t->body_max == 0) return 0;
  return (t->encoded ? wire_bytes(t) - t->head_bytes : t->decoded) > t->body_max;
}

/* --- the body --- */

/*
** Decoded bytes. All of them are taken, or none and the transfer pauses, or none and it fails.
** A pause in the middle of what one read inflated to makes libcurl keep the rest, and copy it again at every further
** pause. What one read may inflate to is taken whole therefore, and the pause comes after it (transfer_pause_full).
*/
static size_t on_body(char *p, size_t size, size_t count, void *ud) {
  struct transfer *t = ud;
  size_t n = size * count, most = t->encoded ? t->high_water + INFLATED_MAX : t->high_water;
  int first = t->decoded == 0;
  if (t->failed) return 0; /* libcurl may call again after an error */
  if (t->high_water > 0 && t->body.n >= most && !t->released) {
    t->paused = 1;
    return CURL_WRITEFUNC_PAUSE;
  }
  t->last = t->g->now;
  t->decoded += n;
  if (t->decoded_max > 0 && t->decoded > t->decoded_max)
    return transfer_too_much(t, "the response's decoded body", "decoded", t->decoded_max);
  if (over_body_max(t)) return transfer_too_much(t, "the response's body", "body", t->body_max);
  if (t->released) return n;
  if (buf_add(&t->body, p, n) < 0) return transfer_no_memory(t);
  if (t->body.n > t->peak) t->peak = t->body.n;
  if (t->encoded && !t->full && t->high_water > 0 && t->body.n >= t->high_water) {
    t->full = 1;
    t->next_full = t->g->full;
    t->g->full = t;
  }
  if (first) deadline_update(t->g, t);
  pollset_news(t->g->poll, &t->news);
  return n;
}

/* Right after libcurl was called: nothing on the list has been closed in between. */
void transfer_pause_full(struct engine *g) {
  for (struct transfer *t; (t = g->full) != NULL;) {
    g->full = t->next_full;
    t->full = 0;
    if (t->easy == NULL || t->paused || t->released || t->body.n < t->high_water) continue;
    if (curl_easy_pause(t->easy, CURLPAUSE_RECV) == CURLE_OK) t->paused = 1; /* not where it has just ended */
  }
}

/* --- connections --- */

/*
** The connection is there, and nothing was sent. One that was used before and has unread bytes would give them as the
** answer: it ends here, and the transfer begins anew on a connection of its own (start_afresh).
** libcurl sends a request again, up to five times, when a connection that it reused ended without a byte: the provider
** may have worked on it, and our caller counts attempts. Over HTTP/2 it also does so for streams that the server
** refused, and for those that it wants over HTTP/1.1, behind a head too.
*/
static int on_ready(void *ud, char *ip, char *local_ip, int port, int local_port) {
  struct transfer *t = ud;
  struct err e;
  long sent = 0, before = t->sent_before;
  (void)ip, (void)local_ip, (void)port;
  if (t->http2 && t->port != 0 && t->port != local_port) socket_shun(t->g, t->port); /* the request failed there */
  t->port = local_port;
  if (!t->opened && socket_is_stale(t, local_port)) {
    t->stale = 1;
    return CURL_PREREQFUNC_ABORT;
  }
  curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &sent);
  t->sent_before = sent; /* of the first time: what went to a proxy */
  if (before < 0 || sent == before || (t->head_bytes > 0 && !t->http2)) return CURL_PREREQFUNC_OK;
  err_clear(&e);
  if (t->head_done) err_set(&e, KIND_STREAM_TRUNCATED, "the answer was cut off: the server wants the request again");
  else if (t->http2) err_set(&e, KIND_CONNECT, "the server did not take the request over HTTP/2");
  else err_set(&e, KIND_CONNECT, "the connection was closed before the answer");
  transfer_fail(t, &e);
  return CURL_PREREQFUNC_ABORT;
}

/* A name lookup begins. */
static int on_lookup(void *state, void *reserved, void *ud) {
  (void)state;
  (void)reserved;
  engine_expect_pair(ud);
  return 0;
}

/* --- from start to end --- */

/* What only some builds of libcurl can do; without it they do as they do. */
static void prepare_tls(struct engine *g, CURL *easy) {
  if (g->ssl_ctx_ctrl == NULL) return;
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, tls_on_context);
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, g);
}

/* 0, or -1 when libcurl is out of memory. */
int transfer_prepare(struct engine *g, CURL *easy) {
  prepare_tls(g, easy);
  return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_on_header) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, socket_on_open) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, socket_on_close) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, g) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_ready) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, on_lookup) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, g) != CURLE_OK ? -1 : 0;
}

/* Makes t what the callbacks of its handle are given: 0, or -1. */
static int bind_callbacks(struct transfer *t) {
  return curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t) != CURLE_OK ||
         curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->text) != CURLE_OK ||
         curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t) != CURLE_OK ||
         curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t) != CURLE_OK ||
         curl_easy_setopt(t->easy, CURLOPT_PREREQDATA, t) != CURLE_OK ||
         curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t) != CURLE_OK ? -1 : 0;
}

/* Everything a transfer holds but its easy handle. */
static void destroy(struct transfer *t) {
  if (t->g != NULL) {
    pollset_forget(t->g->poll, &t->news);
    if (t->prev != NULL) t->prev->next = t->next;
    else t->g->all = t->next;
    if (t->next != NULL) t->next->prev = t->prev;
  }
  request_forget(t);
  buf_free(&t->body);
  buf_free(&t->head);
  mem_free(t->m, t->headers, t->header_count * sizeof *t->headers);
  mem_free(t->m, t->failure, sizeof *t->failure);
  mem_free(t->m, t, sizeof *t);
}

/* A linked transfer that is not in flight yet; NULL: memory. */
static struct transfer *create(struct engine *g, const struct http_request *r, void *owner) {
  struct transfer *t = mem_alloc(g->m, sizeof *t);
  if (t == NULL) return NULL;
  memset(t, 0, sizeof *t);
  t->m = g->m;
  t->g = g;
  t->news.owner = owner;
  t->timeouts = r->timeouts;
  t->head_max = r->head_max > 0 ? r->head_max : HEAD_MAX;
  t->body_max = r->body_max;
  t->decoded_max = r->decoded_max;
  t->high_water = r->high_water;
  t->http2 = r->http2 != 0;
  t->sent_before = -1;
  t->started = t->last = clock_monotonic();
  buf_init(&t->body, g->m);
  buf_init(&t->head, g->m);
  t->next = g->all;
  if (g->all != NULL) g->all->prev = t;
  g->all = t;
  return t;
}

/* Hands t to libcurl: 0, or -1 and *e. */
static int launch(struct transfer *t, const struct http_request *r, struct err *e) {
  struct engine *g = t->g;
  if (deadline_reserve(g, g->flying + 1) < 0 || engine_ensure(g) < 0) return err_memory(e);
  if ((t->easy = engine_easy(g)) == NULL) return err_memory(e);
  if (request_apply(t, r, e) == 0 && bind_callbacks(t) == 0 && curl_multi_add_handle(g->multi, t->easy) == CURLM_OK) {
    g->flying++;
    g->active++;
    deadline_update(g, t);
    return 0;
  }
  engine_retire(g, t->easy, 0);
  t->easy = NULL;
  return e->kind == KIND_NONE ? err_memory(e) : -1;
}

/* Begins. NULL and *e: KIND_ARGUMENT, KIND_CONNECT (offline), KIND_MEMORY. */
struct transfer *transfer_start(struct engine *g, const struct http_request *r, void *owner, struct err *e) {
  err_clear(e);
  if (request_check(r, e) < 0) return NULL;
  struct transfer *t = create(g, r, owner);
  if (t == NULL) {
    err_memory(e);
    return NULL;
  }
  if (launch(t, r, e) == 0) return t;
  destroy(t);
  return NULL;
}

/* Takes t from libcurl, whose connection is not used again. HTTP/1.1's ends with a transfer that is broken off;
** HTTP/2's would be kept, though nobody there may listen any more, or a flood go on. */
static void break_off(struct transfer *t) {
  if (t->http2) {
    curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
    transfer_distrust(t);
  }
  curl_multi_remove_handle(t->g->multi, t->easy);
}

/* Takes the easy handle from libcurl; what was received stays. */
static void detach(struct transfer *t, int whole) {
  struct engine *g = t->g;
  t->received = wire_bytes(t);
  if (whole && !t->failed) curl_multi_remove_handle(g->multi, t->easy);
  else break_off(t);
  engine_retire(g, t->easy, whole && t->plain);
  t->easy = NULL;
  deadline_drop(g, t);
  request_forget(t);
  g->flying--;
  if (!t->released) g->active--;
}

/* Detaches t; frees it or tells its caller. */
void transfer_end(struct transfer *t, int whole) {
  detach(t, whole);
  if (t->released) destroy(t);
  else pollset_news(t->g->poll, &t->news);
}

/* True for what ends a connection that was in use. */
static int is_lost(CURLcode code) {
  return code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_HTTP3;
}

/* libcurl's words for what happened; its own constant ones where they might repeat a proxy's password. */
static const char *words(const struct transfer *t, CURLcode code) {
  return t->text[0] == '\0' || strchr(t->text, '@') != NULL ? curl_easy_strerror(code) : t->text;
}

/* What a failed transfer's code means. */
static void translate(const struct transfer *t, CURLcode code, struct err *e) {
  const char *text = words(t, code);
  double limit = t->timeouts.connect;
  err_clear(e);
  if (is_lost(code) && t->head_bytes > 0) {
    err_set(e, KIND_STREAM_TRUNCATED, "the answer was cut off: %s", text);
  } else if (code == CURLE_OPERATION_TIMEDOUT && limit > 0 && clock_monotonic() - t->started >= limit) {
    err_timeout(e, "connect", "no connection within", limit);
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    err_set(e, KIND_TIMEOUT, "no connection: %s", text);
    snprintf(e->code, sizeof e->code, "connect");
  } else if (code == CURLE_BAD_CONTENT_ENCODING || code == CURLE_WEIRD_SERVER_REPLY ||
             code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WRITE_ERROR) {
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

/* Gives t back to libcurl, for a connection of its own: 0, or -1. The old one is gone: libcurl closes what it breaks off. */
static int start_afresh(struct transfer *t) {
  t->stale = 0;
  t->plain = 0;
  t->sent_before = -1;
  break_off(t);
  return curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 0L) == CURLE_OK &&
         curl_multi_add_handle(t->g->multi, t->easy) == CURLM_OK ? 0 : -1;
}

/* Says what the code means, unless a failure was noted before, and ends t. */
void transfer_finished(struct transfer *t, CURLcode code, int whole) {
  struct err e;
  if (t->stale && !t->failed) {
    if (start_afresh(t) == 0) return;
    transfer_no_memory(t);
  }
  if (!t->failed && code == CURLE_OK && !t->head_done) {
    err_clear(&e);
    err_set(&e, KIND_PROTOCOL, "not a valid HTTP answer: it has no head");
    transfer_fail(t, &e);
  }
  if (!t->failed && over_body_max(t)) transfer_too_much(t, "the response's body", "body", t->body_max);
  if (!t->failed && code != CURLE_OK) {
    translate(t, code, &e);
    transfer_fail(t, &e);
  }
  transfer_end(t, whole);
}

/* Unlinks t from its engine; frees it when it was released. */
void transfer_orphan(struct transfer *t) {
  struct engine *g = t->g;
  struct err e;
  if (t->easy != NULL) {
    err_clear(&e);
    err_set(&e, KIND_CANCELLED, "the engine was closed");
    transfer_fail(t, &e);
    detach(t, 0);
  }
  if (t->released) {
    destroy(t);
    return;
  }
  pollset_forget(g->poll, &t->news);
  g->all = t->next;
  if (t->next != NULL) t->next->prev = NULL;
  t->g = NULL;
}

/* --- for the caller --- */

/* 0 until the final head is complete. */
int transfer_status(const struct transfer *t) {
  return t->head_done ? t->status : 0;
}

/* The connection, where there was one, is closed instead of being used again. */
void transfer_distrust(struct transfer *t) {
  if (t->g != NULL && t->port != 0) socket_shun(t->g, t->port);
}

/* How many; they live as long as t. */
size_t transfer_headers(const struct transfer *t, const struct header **h) {
  *h = t->headers;
  return t->head_done ? t->header_count : 0;
}

/* Decoded bytes nobody has taken. */
struct buf *transfer_body(struct transfer *t) {
  return &t->body;
}

/* Resumes t if it was paused and there is room again. More bytes, and the end, may be there on return. */
void transfer_taken(struct transfer *t) {
  if (!t->paused || t->easy == NULL || (t->body.n >= t->high_water && !t->released)) return;
  struct engine *g = t->g;
  t->paused = 0;
  t->last = g->now = clock_monotonic();
  CURLcode code = curl_easy_pause(t->easy, CURLPAUSE_CONT);
  transfer_pause_full(g);
  engine_kick(g);
  if (t->failed || code != CURLE_OK) transfer_finished(t, code, 0);
  else deadline_update(g, t);
}

/* 1 at the end, with *failure NULL or lent until t is closed. */
int transfer_done(const struct transfer *t, const struct err **failure) {
  *failure = NULL;
  if (t->easy != NULL) return 0;
  if (t->failed) *failure = t->failure != NULL ? t->failure : &out_of_memory;
  return 1;
}

/* Sets the grace period; without effect at the end. */
void transfer_grace(struct transfer *t, double seconds) {
  if (t->easy == NULL) return;
  t->grace_at = clock_monotonic() + seconds;
  deadline_update(t->g, t);
}

/* Figures so far. */
void transfer_stats(const struct transfer *t, struct transfer_stats *s) {
  s->received = wire_bytes(t);
  s->peak = t->peak;
  s->idle = clock_monotonic() - t->last;
}

/* Hands t to the engine, or frees it if it is over. */
void transfer_release(struct transfer *t, double seconds) {
  if (t == NULL) return;
  if (t->easy == NULL) {
    destroy(t);
    return;
  }
  t->released = 1;
  t->news.owner = NULL;
  t->g->active--;
  pollset_forget(t->g->poll, &t->news);
  buf_free(&t->body);
  transfer_grace(t, seconds);
  transfer_taken(t);
}

/* Takes t from libcurl if need be, and frees it. */
void transfer_close(struct transfer *t) {
  if (t == NULL) return;
  if (t->easy != NULL) detach(t, 0);
  destroy(t);
}
