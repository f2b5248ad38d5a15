/*
** transfer.c: one transfer: its body as it comes, how it ends, how it is read.
** The callback appends bytes and sets flags, nothing else. A transfer owns its easy handle while in flight and every byte it
** holds; its caller owns it, unless it was released to the http. Failure: noted once in the transfer; why it failed
** is its caller's to ask.
*/
#include "core/base/clock.h"
#include "private.h"

/* Bytes of the answer so far, as they came over the wire (after chunked framing is undone). Before its first line there
** are none: a handle that libcurl uses again still tells the figure of its last transfer. */
static unsigned long long wire_bytes(const struct transfer *t) {
  curl_off_t n = 0;
  if (t->easy == NULL) return t->received;
  if (t->head_bytes == 0) return 0;
  curl_easy_getinfo(t->easy, CURLINFO_SIZE_DOWNLOAD_T, &n);
  return (unsigned long long)n + t->head_bytes;
}

/* Seconds that libcurl knows; negative where it says 0. */
static double seconds_of(CURL *easy, CURLINFO info) {
  curl_off_t us = 0;
  curl_easy_getinfo(easy, info, &us);
  return us > 0 ? (double)us / 1e6 : -1;
}

/* How long a phase took that ended at `end`; it began at `from`. */
static double between(double from, double end) {
  return end < 0 ? -1 : from < 0 || end < from ? 0 : end - from;
}

/*
** Asks libcurl how t went out. Only what is known to be of this transfer is asked for: a handle that is used again tells
** the figures of its last one at first, and of a connection that is used again it gives times in which nothing happened.
** The first byte is not libcurl's to tell: it takes the first one of a long request for it.
*/
static void ask_route(const struct transfer *t, struct route *r) {
  curl_off_t sent = 0;
  *r = (struct route){ .sent = -1, .dns = -1, .connect = -1, .tls = -1, .first_byte = -1 };
  if (t->easy == NULL) return;
  if (t->port != 0) {
    r->carrier = t->opened ? CARRIER_NEW : CARRIER_REUSED;
    curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  }
  r->sent = sent;
  if (t->opened) {
    double named = seconds_of(t->easy, CURLINFO_NAMELOOKUP_TIME_T), there = seconds_of(t->easy, CURLINFO_CONNECT_TIME_T);
    r->dns = named;
    r->connect = between(named, there);
    r->tls = between(there, seconds_of(t->easy, CURLINFO_APPCONNECT_TIME_T));
  }
  if (t->head_bytes > 0) r->first_byte = t->first;
}

/* True when the body has outgrown body_max. */
static int over_body_max(const struct transfer *t) {
  if (t->body_max == 0) return 0;
  return (t->encoded ? wire_bytes(t) - t->head_bytes : t->decoded) > t->body_max;
}

/* t is not over. */
static int in_flight(const struct transfer *t) { return t->easy != NULL || t->playing; }

/* --- the body --- */

/* Keeps a copy of what came, where that is wanted: 0, or -1 (memory). */
static int keep(struct transfer *t, const char *p, size_t n) {
  return t->keep == NULL ? 0 : recording_add(t->keep, t->http->now - t->started, p, n);
}

/* Notes a failure when the body has outgrown what is let in: true then. */
static int is_too_large(struct transfer *t) {
  if (t->decoded_max > 0 && t->decoded > t->decoded_max)
    transfer_too_much(t, "the response's decoded body", "decoded", t->decoded_max);
  else if (over_body_max(t)) transfer_too_much(t, "the response's body", "body", t->body_max);
  return t->failed;
}

/*
** Decoded bytes. All of them are taken, or none and the transfer pauses, or none and it fails.
** A pause in the middle of what one read inflated to makes libcurl keep the rest, and copy it again at every further
** pause. The bytes of one read are therefore taken whole, inflated, and the pause comes after it (transfer_pause_full).
*/
size_t transfer_on_body(char *p, size_t size, size_t count, void *ud) {
  struct transfer *t = ud;
  size_t n = size * count, most = t->encoded ? t->high_water + INFLATED_MAX : t->high_water;
  int first = t->decoded == 0;
  if (t->failed) return 0; /* libcurl may call again after an error */
  if (t->high_water > 0 && t->body.n >= most && !t->released) {
    t->paused = 1;
    return CURL_WRITEFUNC_PAUSE;
  }
  t->last = t->http->now;
  t->decoded += n;
  if (is_too_large(t)) return 0;
  if (keep(t, p, n) < 0) return transfer_no_memory(t);
  if (t->released) return n;
  if (buf_add(&t->body, p, n) < 0) return transfer_no_memory(t);
  if (t->body.n > t->peak) t->peak = t->body.n;
  if (t->encoded && !t->full && t->high_water > 0 && t->body.n >= t->high_water) {
    t->full = 1;
    t->next_full = t->http->full;
    t->http->full = t;
  }
  if (first) deadline_update(t->http, t);
  pollset_news(t->http->poll, &t->news);
  return n;
}

/* Right after libcurl was called: nothing on the list has been closed in between. */
void transfer_pause_full(struct http *http) {
  for (struct transfer *t; (t = http->full) != NULL;) {
    http->full = t->next_full;
    t->full = 0;
    if (t->easy == NULL || t->paused || t->released || t->body.n < t->high_water) continue;
    if (curl_easy_pause(t->easy, CURLPAUSE_RECV) == CURLE_OK) t->paused = 1; /* not where it has just ended */
  }
}

/* --- the end --- */

/* Everything a transfer holds but its easy handle. */
static void destroy(struct transfer *t) {
  if (t->http != NULL) {
    pollset_forget(t->http->poll, &t->news);
    if (t->prev != NULL) t->prev->next = t->next;
    else t->http->all = t->next;
    if (t->next != NULL) t->next->prev = t->prev;
  }
  request_forget(t);
  buf_free(&t->body);
  buf_free(&t->head);
  mem_free(t->m, t->headers, t->header_count * sizeof *t->headers);
  recording_free(t->keep);
  recording_free(t->play);
  mem_free(t->m, t->failure, sizeof *t->failure);
  mem_free(t->m, t, sizeof *t);
}

/* Takes t from libcurl, whose connection is not used again. HTTP/1.1's ends with a transfer that is broken off;
** HTTP/2's would be kept, though the server may not listen any more, or a flood may go on. */
static void break_off(struct transfer *t) {
  if (t->http2) {
    curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
    transfer_distrust(t);
  }
  curl_multi_remove_handle(t->http->multi, t->easy);
}

/* Keeps the handle or frees it; it forgets where its transfer wanted error texts. libcurl before 8.3 goes on in freed
** memory when the second answer of a handle begins with a folded line (curl/curl#11101): there a handle serves once. */
static void retire(struct http *http, CURL *easy, int again) {
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, NULL);
  if (again && http->keeps_handles && http->spare_n < SPARE_MAX) http->spare[http->spare_n++] = easy;
  else curl_easy_cleanup(easy);
}

/* Takes the easy handle from libcurl, or, in a child made by fork, leaves it there. */
static void detach_handle(struct transfer *t, int whole) {
  struct http *http = t->http;
  if (t->socket >= 0) pollset_remove(http->poll, t->socket);
  t->socket = -1;
  t->received = wire_bytes(t);
  ask_route(t, &t->route);
  if (!engine_forked(http->engine)) {
    if (whole && !t->failed) curl_multi_remove_handle(http->multi, t->easy);
    else break_off(t);
    retire(http, t->easy, whole && t->plain);
  }
  t->easy = NULL;
}

/* t is over; what was received stays. `left`: its caller wants no more. */
static void detach(struct transfer *t, int whole, int left) {
  struct http *http = t->http;
  if (t->keep != NULL) recording_end(t->keep, clock_monotonic() - t->started, transfer_failure(t), left);
  if (t->easy != NULL) detach_handle(t, whole);
  t->playing = 0;
  deadline_drop(http, t);
  request_forget(t);
  if (t->linked) return;
  http->flying--; /* NOLINT(clang-analyzer-core.NullDereference): only a transfer that is over has no http */
  if (!t->released) http->active--;
}

/* Detaches t; frees it or tells its caller. */
void transfer_end(struct transfer *t, int whole) {
  detach(t, whole, 0);
  if (t->released) destroy(t);
  else pollset_news(t->http->poll, &t->news);
}

/* Gives t back to libcurl, for a connection of its own: 0, or -1. The old one is gone: libcurl closes what it breaks off. */
static int start_afresh(struct transfer *t) {
  t->stale = 0;
  t->plain = 0;
  t->sent_before = -1;
  break_off(t);
  return curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
         curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 0L) == CURLE_OK &&
         curl_multi_add_handle(t->http->multi, t->easy) == CURLM_OK ? 0 : -1;
}

/* The connection of a link is there. Its handle stays with libcurl, which closes both together. */
static void establish(struct transfer *t) {
  curl_socket_t fd = CURL_SOCKET_BAD;
  curl_easy_getinfo(t->easy, CURLINFO_ACTIVESOCKET, &fd);
  if (fd == CURL_SOCKET_BAD) { /* and is gone again */
    transfer_fail_code(t, CURLE_COULDNT_CONNECT);
    transfer_end(t, 0);
    return;
  }
  socket_link(t->http, (int)fd);
  t->linked = 1;
  deadline_drop(t->http, t);
  request_forget(t);
  t->http->flying--;
  t->http->active--;
  t->socket = (int)fd;
  pollset_news(t->http->poll, &t->news);
}

/* Says what the code means, unless a failure was noted before, and ends t. */
void transfer_finished(struct transfer *t, CURLcode code, int whole) {
  struct err e;
  if (t->stale && !t->failed) {
    if (start_afresh(t) == 0) return;
    transfer_no_memory(t);
  }
  if (t->link && !t->failed && code == CURLE_OK) {
    establish(t);
    return;
  }
  if (!t->failed && code == CURLE_OK && !t->head_done) {
    err_clear(&e);
    err_set(&e, KIND_PROTOCOL, "not a valid HTTP answer: it has no head");
    transfer_fail(t, &e);
  }
  if (!t->failed && over_body_max(t)) transfer_too_much(t, "the response's body", "body", t->body_max);
  if (!t->failed && code != CURLE_OK) transfer_fail_code(t, code);
  transfer_end(t, whole);
}

/* Unlinks t from its http; frees it when it was released. */
void transfer_orphan(struct transfer *t) {
  struct http *http = t->http;
  struct err e;
  if (in_flight(t)) {
    engine_explain(http->engine, &e);
    transfer_fail(t, &e);
    detach(t, 0, 1);
  }
  if (t->released) {
    destroy(t);
    return;
  }
  pollset_forget(http->poll, &t->news);
  http->all = t->next;
  if (t->next != NULL) t->next->prev = NULL;
  t->http = NULL;
}

/* --- for the caller --- */

/* 0 until the final head is complete. */
int transfer_status(const struct transfer *t) {
  return t->head_done ? t->status : 0;
}

/* The connection, where there was one, is closed instead of being used again. */
void transfer_distrust(struct transfer *t) {
  if (t->http != NULL && t->port != 0) socket_retire(t->http, t->port);
}

/* How many; they live as long as t. */
size_t transfer_headers(const struct transfer *t, const struct header **h) {
  *h = t->headers;
  return t->head_done ? t->header_count : 0;
}

void transfer_forget_headers(struct transfer *t) {
  if (!t->head_done) return;
  mem_free(t->m, t->headers, t->header_count * sizeof *t->headers);
  t->headers = NULL;
  t->header_count = 0;
  buf_free(&t->head);
}

/* Decoded bytes that were not taken yet. */
struct buf *transfer_body(struct transfer *t) {
  return &t->body;
}

/* Resumes t if it was paused and there is room again. More bytes, and the end, may be there on return. */
void transfer_taken(struct transfer *t) {
  if (!t->paused || !in_flight(t) || (t->body.n >= t->high_water && !t->released)) return;
  struct http *http = t->http;
  if (!http_here(http)) return;
  t->paused = 0;
  if (t->playing) {
    t->last = transfer_now(t);
    deadline_now(http, t);
    return;
  }
  t->last = http->now = clock_monotonic();
  CURLcode code = curl_easy_pause(t->easy, CURLPAUSE_CONT);
  transfer_pause_full(http);
  http->curl_at = http->now; /* whatever libcurl asked for; in the next round, so that other sources work first */
  if (t->failed || code != CURLE_OK) transfer_finished(t, code, 0);
  else deadline_update(http, t);
}

/* The recorded time where that is not waited for. */
double transfer_now(const struct transfer *t) {
  return t->play != NULL && t->play->unwaited ? t->play_now : clock_monotonic();
}

double transfer_started(const struct transfer *t) {
  return t->started;
}

/* 1 at the end, with *failure NULL or lent until t is closed. Who asks may wait next, so it must be known what is gone. */
int transfer_done(const struct transfer *t, const struct err **failure) {
  (void)http_here(t->http);
  int done = !in_flight(t) || (t->linked && t->socket < 0);
  *failure = done ? transfer_failure(t) : NULL;
  return done;
}

int transfer_is_all_news(struct transfer *t) {
  if (t->http == NULL) return 1;
  pollset_forget(t->http->poll, &t->news);
  return !pollset_has_news(t->http->poll);
}

/* Sets the grace period; without effect at the end. */
void transfer_grace(struct transfer *t, double seconds) {
  if (!in_flight(t)) return;
  t->grace_at = transfer_now(t) + seconds;
  deadline_update(t->http, t);
}

/* Figures so far. */
void transfer_stats(const struct transfer *t, struct transfer_stats *s) {
  s->received = wire_bytes(t);
  s->peak = t->peak;
  s->idle = transfer_now(t) - t->last;
  if (t->easy != NULL) ask_route(t, &s->route);
  else s->route = t->route;
}

/* Hands t to its http, or frees it if it is over, or if no connection is to be kept. */
void transfer_release(struct transfer *t, double seconds) {
  if (t == NULL) return;
  (void)http_here(t->http);
  if (t->easy == NULL) {
    transfer_close(t);
    return;
  }
  t->released = 1;
  t->news.owner = NULL;
  t->http->active--; /* NOLINT(clang-analyzer-core.NullDereference): the same */
  pollset_forget(t->http->poll, &t->news);
  buf_free(&t->body);
  transfer_grace(t, seconds);
  transfer_taken(t);
}

/* Takes t from libcurl if need be, and frees it. */
void transfer_close(struct transfer *t) {
  if (t == NULL) return;
  (void)http_here(t->http);
  if (in_flight(t)) detach(t, 0, 1);
  destroy(t);
}
