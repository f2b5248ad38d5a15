/*
** start.c: how a transfer begins: its easy handle, a spare one or a new one, with all callbacks, is given to libcurl.
** Failure: NULL or -1 and an err, and nothing is held.
*/
#include "core/base/clock.h"
#include "private.h"

/* Sets what only some builds of libcurl can do. Others go without: docs/security.md says what they then do. */
static void prepare_tls(struct http *http, CURL *easy) {
  if (http->ssl_ctx_ctrl == NULL) return;
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, tls_on_context);
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, http);
}

/* 0, or -1 when libcurl is out of memory. */
static int prepare(struct http *http, CURL *easy) {
  prepare_tls(http, easy);
  return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_on_header) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_on_body) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, socket_on_open) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, socket_on_close) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, http) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, socket_on_ready) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, socket_on_lookup) != CURLE_OK ||
         curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, http) != CURLE_OK ? -1 : 0;
}

/* A spare handle, else a new one; NULL when out of memory. */
static CURL *new_handle(struct http *http) {
  if (http->spare_n > 0) return http->spare[--http->spare_n];
  CURL *easy = curl_easy_init();
  if (easy == NULL) return NULL;
  if (request_prepare(easy, http->codings) == 0 && prepare(http, easy) == 0) return easy;
  curl_easy_cleanup(easy);
  return NULL;
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

/* A linked transfer that is not in flight yet; NULL: memory. */
static struct transfer *create(struct http *http, const struct http_request *r, void *owner) {
  struct transfer *t = mem_alloc(http->m, sizeof *t);
  if (t == NULL) return NULL;
  memset(t, 0, sizeof *t);
  t->m = http->m;
  t->http = http;
  t->news.owner = owner;
  t->timeouts = r->timeouts;
  if (t->timeouts.whole <= 0) t->timeouts.whole = t->timeouts.total;
  t->head_max = r->head_max > 0 ? r->head_max : HEAD_MAX;
  t->body_max = r->body_max;
  t->decoded_max = r->decoded_max;
  t->high_water = r->high_water;
  t->http2 = r->http2 != 0;
  t->link = r->link != 0;
  t->keep = recording_hold(r->keep);
  t->play = recording_hold(r->play);
  t->sent_before = t->socket = -1;
  t->route = (struct route){ .sent = -1, .dns = -1, .connect = -1, .tls = -1, .first_byte = -1 };
  t->started = t->last = t->play_now = clock_monotonic();
  buf_init(&t->body, http->m);
  buf_init(&t->head, http->m);
  t->next = http->all;
  if (http->all != NULL) http->all->prev = t;
  http->all = t;
  return t;
}

/* t is in flight, and there is room for it among the deadlines. */
static void enter(struct transfer *t) {
  t->http->flying++;
  t->http->active++;
  deadline_update(t->http, t);
}

/* Hands t to libcurl, or plays its recording: 0, or -1 and *e. */
static int launch(struct transfer *t, const struct http_request *r, struct err *e) {
  struct http *http = t->http;
  if (deadline_reserve(http, http->flying + 1) < 0) return err_memory(e);
  if (t->play != NULL) {
    t->playing = 1;
    enter(t);
    return 0;
  }
  if (http->flying > (size_t)http->active) http_read_released(http);
  if (http_ensure(http) < 0) return err_memory(e);
  if ((t->easy = new_handle(http)) == NULL) return err_memory(e);
  if (request_apply(t, r, e) == 0 && bind_callbacks(t) == 0 && curl_multi_add_handle(http->multi, t->easy) == CURLM_OK) {
    enter(t);
    return 0;
  }
  curl_easy_cleanup(t->easy);
  t->easy = NULL;
  return e->kind == KIND_NONE ? err_memory(e) : -1;
}

/* Begins. NULL and *e: KIND_ARGUMENT, KIND_CONNECT (offline), KIND_MEMORY, KIND_CANCELLED. */
struct transfer *transfer_start(struct http *http, const struct http_request *r, void *owner, struct err *e) {
  err_clear(e);
  if (!http_here(http)) err_set(e, KIND_CANCELLED, "the engine was closed");
  if (http->engine == NULL || (!r->checked && http_check(r, e) < 0)) return NULL;
  struct transfer *t = create(http, r, owner);
  if (t == NULL) {
    err_memory(e);
    return NULL;
  }
  if (launch(t, r, e) == 0) return t;
  transfer_close(t);
  return NULL;
}
