/*
** engine.c: one libcurl multi behind one pollset, driven by curl_multi_socket_action alone.
** The engine owns the multi, the pollset, idle connections and spare handles. Failure: NULL or -1 and an err.
*/
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "private.h"

#define HTTP2_SINCE 0x080E00   /* the first libcurl whose HTTP/2 is offered */
#define HANDLES_SINCE 0x080300 /* the first libcurl whose easy handles may be used again */

/* The one thing that is shared by all engines: whether libcurl is ready. Written once, under pthread_once. */
static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_result;

/* Runs once in the process. */
static void global_init(void) {
  global_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Readies libcurl, once: 0, or -1 and *e, the same every time. */
static int ready_libcurl(struct err *e) {
  pthread_once(&global_once, global_init);
  if (global_result == CURLE_OK) return 0;
  return err_set(e, KIND_OTHER, "libcurl: %s", curl_easy_strerror(global_result));
}

/* libcurl's own word. */
const char *http_library(void) {
  return curl_version_info(CURLVERSION_NOW)->version;
}

/*
** In older ones frames without content hold the loop: padding, and types that nobody knows, 20 s past the deadline.
*/
const char *http2_problem(void) {
  return curl_version_info(CURLVERSION_NOW)->version_num < HTTP2_SINCE
    ? "HTTP/2 needs libcurl 8.14 or later; with older ones a server can hold the program up" : NULL;
}

/*
** libcurl makes its wake-up pairs (one per multi, one per name lookup) without close-on-exec and tells nobody their
** numbers. The system hands out the lowest free ones, so they are known just before, and marked just after.
*/
void engine_expect_pair(struct engine *g) {
  for (int i = 0; i < 2; i++) g->pair[i] = fcntl(pollset_fd(g->poll), F_DUPFD_CLOEXEC, 0);
  for (int i = 0; i < 2; i++)
    if (g->pair[i] >= 0) close(g->pair[i]);
}

/* Marks the pair that was expected; numbers that are no UNIX sockets are left alone. One that another thread has made
** in this moment cannot be told from libcurl's: it is marked too, and a child that was to inherit it does without. */
static void mark_pair(struct engine *g) {
  for (int i = 0; i < 2; i++) {
    struct sockaddr a = { 0 };
    socklen_t n = sizeof a;
    if (g->pair[i] >= 0 && getsockname(g->pair[i], &a, &n) == 0 && a.sa_family == AF_UNIX)
      fcntl(g->pair[i], F_SETFD, FD_CLOEXEC);
    g->pair[i] = -1;
  }
}

/* A socket is ready. After an error libcurl is told nothing, so that it looks for itself. */
static void on_socket(void *ud, int fd, int events) {
  struct engine *g = ud;
  if (g->result != CURLM_OK) return;
  int bits = (events & POLLSET_IN ? CURL_CSELECT_IN : 0) | (events & POLLSET_OUT ? CURL_CSELECT_OUT : 0);
  int running;
  g->now = clock_monotonic();
  g->result = curl_multi_socket_action(g->multi, fd, events & POLLSET_ERR ? 0 : bits, &running);
  transfer_pause_full(g);
}

/* libcurl wants a socket watched otherwise. A socket that cannot be watched fails its transfer. */
static int on_watch(CURL *easy, curl_socket_t fd, int what, void *ud, void *socket_ud) {
  struct engine *g = ud;
  struct err e;
  char *t = NULL;
  (void)socket_ud;
  if (g->pair[0] >= 0) mark_pair(g);
  if (what == CURL_POLL_REMOVE) {
    pollset_remove(g->poll, fd);
    return 0;
  }
  int events = (what & CURL_POLL_IN ? POLLSET_IN : 0) | (what & CURL_POLL_OUT ? POLLSET_OUT : 0);
  err_clear(&e);
  if (pollset_set(g->poll, fd, events, on_socket, g, &e) < 0 &&
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &t) == CURLE_OK && t != NULL) {
    transfer_fail((struct transfer *)(void *)t, &e);
    deadline_now(g, (struct transfer *)(void *)t);
  }
  return 0;
}

/* libcurl wants to be called in so many milliseconds, or not. */
static int on_timer(CURLM *multi, long ms, void *ud) {
  struct engine *g = ud;
  (void)multi;
  g->curl_at = ms < 0 ? -1 : clock_monotonic() + (double)ms / 1000;
  return 0;
}

/* A multi where there is none: 0, or -1 (memory). */
int engine_ensure(struct engine *g) {
  if (g->multi != NULL) return 0;
  engine_expect_pair(g);
  g->multi = curl_multi_init();
  mark_pair(g);
  if (g->multi == NULL) return -1;
  curl_multi_setopt(g->multi, CURLMOPT_SOCKETFUNCTION, on_watch);
  curl_multi_setopt(g->multi, CURLMOPT_SOCKETDATA, g);
  curl_multi_setopt(g->multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(g->multi, CURLMOPT_TIMERDATA, g);
  return 0;
}

/*
** The multi ran out of memory and cannot be trusted from then on (libcurl 7.88.1 divides by zero when a socket's number
** comes again). What is in flight fails, its connections close; the next transfer gets a fresh multi.
*/
static void give_up(struct engine *g) {
  struct err e;
  err_clear(&e);
  err_memory(&e);
  for (struct transfer *t = g->all, *next; t != NULL; t = next) {
    next = t->next;
    if (t->easy == NULL) continue;
    transfer_fail(t, &e);
    transfer_end(t, 0);
  }
  curl_multi_cleanup(g->multi);
  g->multi = NULL;
  g->curl_at = -1;
}

/* 0, or -1 and *e; engine_free cleans up either way. */
static int set_up(struct engine *g, struct err *e) {
  if ((g->poll = pollset_new(g->m, e)) == NULL) return -1;
  return engine_ensure(g) == 0 ? 0 : err_memory(e);
}

/* An idle engine; m outlives it and its transfers. NULL and *e: memory, descriptors, or libcurl cannot start. */
struct engine *engine_new(const struct mem *m, struct err *e) {
  if (ready_libcurl(e) < 0) return NULL;
  struct engine *g = mem_alloc(m, sizeof *g);
  if (g == NULL) {
    err_memory(e);
    return NULL;
  }
  *g = (struct engine){ .m = m, .curl_at = -1, .pair = { -1, -1 } };
  const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
  g->keeps_handles = curl->version_num >= HANDLES_SINCE;
  g->codings = (curl->features & CURL_VERSION_LIBZ) != 0 ? "gzip, deflate" : NULL;
  tls_find(g);
  if (set_up(g, e) == 0) return g;
  engine_free(g);
  return NULL;
}

/* Closes every connection. Transfers still in flight are cancelled; their callers close them later. NULL is fine. */
void engine_free(struct engine *g) {
  if (g == NULL) return;
  while (g->all != NULL) transfer_orphan(g->all);
  while (g->spare_n > 0) curl_easy_cleanup(g->spare[--g->spare_n]);
  curl_multi_cleanup(g->multi);
  pollset_free(g->poll);
  mem_free(g->m, g->sockets, g->socket_cap * sizeof *g->sockets);
  mem_free(g->m, g->url, g->url_n);
  mem_free(g->m, g->heap, g->heap_cap * sizeof *g->heap);
  mem_free(g->m, g, sizeof *g);
}

/* Readable when there is something to do. */
int engine_pollfd(const struct engine *g) {
  return pollset_fd(g->poll);
}

/* Seconds, 0 = now; -1 = only the descriptor matters. */
double engine_timeout(struct engine *g) {
  double at = g->curl_at;
  if (pollset_has_news(g->poll)) return 0;
  if (g->heap_n > 0 && (at < 0 || g->heap[0]->due < at)) at = g->heap[0]->due;
  if (at < 0) return -1;
  double left = at - clock_monotonic();
  return left > 0 ? left : 0;
}

/* Ends what libcurl has finished. */
static void collect(struct engine *g) {
  CURLMsg *msg;
  int left;
  while ((msg = curl_multi_info_read(g->multi, &left)) != NULL) {
    char *t = NULL;
    CURLcode code = msg->data.result;
    if (msg->msg == CURLMSG_DONE && curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t) == CURLE_OK)
      transfer_finished((struct transfer *)(void *)t, code, 1);
  }
}

/* Calls libcurl when it wants that: 1, or 0 when it does not. */
static int run_timers(struct engine *g, double now) {
  int running;
  if (g->curl_at < 0 || g->curl_at > now || g->result != CURLM_OK) return 0;
  g->now = now;
  g->curl_at = -1;
  g->result = curl_multi_socket_action(g->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  transfer_pause_full(g);
  return 1;
}

/* How long a step that may take `timeout` waits. */
static double waiting(struct engine *g, double timeout) {
  double wait = engine_timeout(g);
  return timeout >= 0 && (wait < 0 || timeout < wait) ? timeout : wait;
}

/* The end of a step: 0, or -1 and *e when libcurl failed. */
static int settle(struct engine *g, struct err *e) {
  if (g->result == CURLM_OUT_OF_MEMORY) give_up(g); /* its transfers say why */
  if (g->result == CURLM_OK || g->multi == NULL) return 0;
  return err_set(e, KIND_OTHER, "libcurl: %s", curl_multi_strerror(g->result));
}

/* One round: waits, lets libcurl work, ends what is over. */
int engine_step(struct engine *g, double timeout, int *interrupted, struct err *e) {
  g->result = CURLM_OK;
  if (pollset_wait(g->poll, waiting(g, timeout), interrupted, e) < 0) return -1;
  double now = g->now = clock_monotonic();
  run_timers(g, now);
  collect(g);
  deadline_run(g, now, SIZE_MAX);
  g->turn = TURN_SOCKETS;
  return settle(g, e);
}

/* One piece of work, of whatever kind is next: 1, 0 when there is none, -1 and *e. */
static int work(struct engine *g, struct err *e) {
  for (int kinds = 0, n, lap; kinds < 3; kinds++) {
    if (g->turn == TURN_SOCKETS) {
      if ((n = pollset_one(g->poll, &lap, e)) == 0 || lap) g->turn = TURN_TIMERS;
      if (n != 0) return n;
    } else if (g->turn == TURN_TIMERS) {
      g->turn = TURN_DEADLINES;
      if (run_timers(g, clock_monotonic())) return 1;
    } else {
      if (deadline_run(g, clock_monotonic(), 1) > 0) return 1;
      g->turn = TURN_SOCKETS;
    }
  }
  return 0;
}

/* Waits, then works piece by piece while there is time. */
int engine_step_budget(struct engine *g, double timeout, double budget, int *interrupted, struct err *e) {
  double wait = waiting(g, timeout);
  int n;
  *interrupted = 0;
  g->result = CURLM_OK;
  if (wait != 0 && pollset_await(g->poll, wait, interrupted, e) < 0) return -1;
  double end = clock_monotonic() + budget;
  do {
    n = work(g, e);
    collect(g);
  } while (n > 0 && g->result == CURLM_OK && clock_monotonic() < end);
  return n < 0 ? -1 : settle(g, e);
}

/* For what else waits beside the transfers. */
struct pollset *engine_pollset(struct engine *g) {
  return g->poll;
}

/* From the next transfer on. */
void engine_offline(struct engine *g, int on) {
  g->offline = on;
}

/* Released transfers do not count. */
int engine_active(const struct engine *g) {
  return g->active;
}

/* A spare handle, else a new one; NULL when out of memory. */
CURL *engine_easy(struct engine *g) {
  if (g->spare_n > 0) return g->spare[--g->spare_n];
  CURL *easy = curl_easy_init();
  if (easy == NULL) return NULL;
  if (request_prepare(easy, g->codings) == 0 && transfer_prepare(g, easy) == 0) return easy;
  curl_easy_cleanup(easy);
  return NULL;
}

/* Keeps the handle or frees it; it forgets where its transfer wanted error texts. libcurl before 8.3 goes on in freed
** memory when the second answer of a handle begins with a folded line (curl/curl#11101): there a handle serves once. */
void engine_retire(struct engine *g, CURL *easy, int again) {
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
  if (again && g->keeps_handles && g->spare_n < SPARE_MAX) g->spare[g->spare_n++] = easy;
  else curl_easy_cleanup(easy);
}

/* Makes libcurl's time come. */
void engine_kick(struct engine *g) {
  g->curl_at = 0;
}
