/*
** http.c: one libcurl multi, a source of the engine, driven by curl_multi_socket_action alone.
** A struct http owns the multi, idle connections and spare handles; its sockets are in the engine's pollset. Failure: NULL
** or -1 and an err.
*/
#include <unistd.h>

#include "core/base/clock.h"
#include "private.h"

/* --- work --- */

/*
** The multi ran out of memory and cannot be trusted from then on (libcurl 7.88.1 divides by zero when a socket's number
** comes again). Transfers in flight fail, their connections close; the next transfer gets a fresh multi.
*/
static void give_up(struct http *http) {
  struct err e;
  err_clear(&e);
  err_memory(&e);
  for (struct transfer *t = http->all, *next; t != NULL; t = next) {
    next = t->next;
    if (t->easy == NULL) continue;
    transfer_fail(t, &e);
    transfer_end(t, 0);
  }
  curl_multi_cleanup(http->multi);
  http->multi = NULL;
  http->result = CURLM_OK; /* the transfers say why */
  http->curl_at = -1;
}

/* The transfer of a handle; NULL: none. */
static struct transfer *transfer_of(CURL *easy) {
  char *t = NULL;
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &t) == CURLE_OK ? (struct transfer *)(void *)t : NULL;
}

/* Ends what libcurl has finished. */
static void collect(struct http *http) {
  CURLMsg *msg;
  int left;
  while ((msg = curl_multi_info_read(http->multi, &left)) != NULL) {
    struct transfer *t = transfer_of(msg->easy_handle);
    if (msg->msg == CURLMSG_DONE && t != NULL) transfer_finished(t, msg->data.result, 1);
  }
}

/* Lets libcurl work for a socket or for its timers; after a failure not before `run` has reported it. */
static void act(struct http *http, curl_socket_t fd, int bits) {
  int running;
  if (http->multi == NULL || http->result != CURLM_OK) return;
  http->now = clock_monotonic();
  http->result = curl_multi_socket_action(http->multi, fd, bits, &running);
  transfer_pause_full(http);
  collect(http);
  if (http->result == CURLM_OUT_OF_MEMORY) give_up(http);
}

/* A socket is ready. After an error libcurl is told nothing, so that it looks for itself. */
static void on_socket(void *ud, int fd, int events) {
  int bits = (events & POLLSET_IN ? CURL_CSELECT_IN : 0) | (events & POLLSET_OUT ? CURL_CSELECT_OUT : 0);
  act(ud, fd, events & POLLSET_ERR ? 0 : bits);
}

/* The last bytes of a released transfer often are there when the next request begins, and nobody has looked since. Reading
** one may end, and free, any of them, so the sockets are gathered first. */
void http_read_released(struct http *http) {
  int fd[RELEASED_MAX];
  size_t n = 0;
  for (struct transfer *t = http->all; t != NULL && n < RELEASED_MAX; t = t->next)
    if (t->released && t->port != 0 && (fd[n] = socket_at(http, t->port)) >= 0) n++;
  while (n > 0) act(http, fd[--n], CURL_CSELECT_IN);
}

/* --- the multi --- */

/* libcurl wants a socket watched otherwise. A socket that cannot be watched fails its transfer. */
static int on_watch(CURL *easy, curl_socket_t fd, int what, void *ud, void *socket_ud) {
  struct http *http = ud;
  struct err e;
  struct transfer *t;
  (void)socket_ud;
  if (http->pair[0] >= 0) socket_mark_pair(http);
  if (what == CURL_POLL_REMOVE) { /* mostly because the connection falls idle: the next request will want the same */
    if (socket_is_listed(http, fd)) pollset_rest(http->poll, fd);
    else pollset_remove(http->poll, fd);
    return 0;
  }
  int events = (what & CURL_POLL_IN ? POLLSET_IN : 0) | (what & CURL_POLL_OUT ? POLLSET_OUT : 0);
  err_clear(&e);
  if (http->socket_connecting > 0 && (events & POLLSET_IN) != 0 && (t = transfer_of(easy)) != NULL) socket_reach(t, fd);
  if (pollset_set(http->poll, fd, events, on_socket, http, &e) < 0 && (t = transfer_of(easy)) != NULL) {
    transfer_fail(t, &e);
    deadline_now(http, t);
  }
  return 0;
}

/* libcurl wants to be called in so many milliseconds, or not. */
static int on_timer(CURLM *multi, long ms, void *ud) {
  struct http *http = ud;
  (void)multi;
  http->curl_at = ms < 0 ? -1 : clock_monotonic() + (double)ms / 1000;
  return 0;
}

/* A multi where there is none: 0, or -1 (memory). */
int http_ensure(struct http *http) {
  if (http->multi != NULL) return 0;
  socket_expect_pair(http);
  http->multi = curl_multi_init();
  socket_mark_pair(http);
  if (http->multi == NULL) return -1;
  curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_watch);
  curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
  curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
  return 0;
}

/* --- the source --- */

/* When libcurl wants to be called, or a deadline is to be checked; at once where a failure is not reported yet. */
static double due(struct source *s) {
  const struct http *http = (const struct http *)s;
  double at = http->result != CURLM_OK ? 0 : http->curl_at;
  return http->heap_n > 0 && (at < 0 || http->heap[0]->due < at) ? http->heap[0]->due : at;
}

/* Ends a transfer that is overdue, or goes on with its recording. */
static void attend(struct transfer *t, double now) {
  double next = t->failed || deadline_missed(t, now) ? -1 : deadline_of_play(t);
  if (next >= 0 && next <= now) play_on(t, now);
  else transfer_end(t, 0);
}

/* Calls libcurl when it wants that, then ends the transfers that are overdue. */
static int run(struct source *s, double now, int most, struct err *e) {
  struct http *http = (struct http *)s;
  struct transfer *t;
  int n = 0;
  if (http->curl_at >= 0 && http->curl_at <= now && http->result == CURLM_OK) {
    http->curl_at = -1;
    act(http, CURL_SOCKET_TIMEOUT, 0);
    n = 1;
  }
  for (; n < most && (t = deadline_next(http, now)) != NULL; n++) attend(t, now);
  if (http->result == CURLM_OK) return n;
  err_set(e, KIND_OTHER, "libcurl: %s", curl_multi_strerror(http->result));
  http->result = CURLM_OK;
  return -1;
}

/* In a child made by fork: closes the copies of the sockets, so that they end with the parent's. libcurl's own part is left
** as it is, for ever: cleaning it up would say goodbye on the parent's connections, and wait for threads that are not here. */
static void leave_to_parent(struct http *http) {
  while (http->socket_n > 0) close(http->sockets[--http->socket_n].fd);
  http->spare_n = 0;
}

static void clean_up(struct http *http) {
  while (http->spare_n > 0) curl_easy_cleanup(http->spare[--http->spare_n]);
  curl_multi_cleanup(http->multi);
}

/* Closes every connection. Transfers still in flight are cancelled; their callers close them later. */
static void orphan(struct source *s) {
  struct http *http = (struct http *)s;
  while (http->all != NULL) transfer_orphan(http->all);
  if (engine_forked(http->engine)) leave_to_parent(http);
  else clean_up(http);
  http->multi = NULL;
  http->engine = NULL;
  http->poll = NULL;
}

/* HTTP without transfers. NULL and *e: memory, descriptors, or libcurl cannot start. */
struct http *http_new(struct engine *g, struct err *e) {
  if (library_start(e) < 0) return NULL;
  struct http *http = mem_alloc(engine_mem(g), sizeof *http);
  if (http == NULL) {
    err_memory(e);
    return NULL;
  }
  *http = (struct http){ .source = { due, run, orphan, NULL }, .engine = g, .m = engine_mem(g),
                         .poll = engine_pollset(g), .curl_at = -1, .pair = { -1, -1 } };
  library_find(http);
  tls_find(http);
  engine_add(g, &http->source);
  if (http_ensure(http) == 0) return http;
  err_memory(e);
  http_free(http);
  return NULL;
}

/* Leaves the engine where there still is one. NULL is fine. */
void http_free(struct http *http) {
  if (http == NULL) return;
  if (http_here(http)) {
    engine_remove(http->engine, &http->source);
    orphan(&http->source);
  }
  mem_free(http->m, http->sockets, http->socket_cap * sizeof *http->sockets);
  mem_free(http->m, http->url, http->url_n);
  mem_free(http->m, http->heap, http->heap_cap * sizeof *http->heap);
  mem_free(http->m, http, sizeof *http);
}

/* From the next transfer on. */
void http_offline(struct http *http, int on) {
  http->offline = on;
}

/* Released transfers do not count. */
int http_active(const struct http *http) {
  return http->active;
}
