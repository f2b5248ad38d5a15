/*
** private.h: what the files of the http room share. Each calls only those before it, in this order: library.c (which libcurl
** is running), tls.c (what OpenSSL is asked without libcurl), failure.c (why a transfer fails), request.c (checks and
** libcurl's options), deadline.c (heap of deadlines), head.c (status and headers), socket.c (connections), transfer.c (body,
** end, reading), recording/play.c (answers that were recorded), http.c (multi, source), start.c (how a transfer begins),
** link.c (connections without a request).
*/
#ifndef KOINE_HTTP_PRIVATE_H
#define KOINE_HTTP_PRIVATE_H

#include <curl/curl.h>

#include "http.h"

#pragma GCC visibility push(hidden)

#define SPARE_MAX 8          /* easy handles kept for the next transfers */
#define READ_MAX 4096        /* bytes that libcurl reads at once */
#define LINK_READ_MAX 16384  /* the same of a link: a record of TLS */
#define INFLATED_MAX (READ_MAX * 1032ul) /* what so many bytes may become: deflate's best */
#define RELEASED_MAX 8       /* released transfers that are read before a request begins */
#define HEAD_MAX (256u << 10) /* default of head_max */

/* A socket that libcurl has open, the port of this end (0: not asked yet), whether a request on it came to no good end (what
** else is under way there may go on, new ones go elsewhere), whether it is a link's, and whether the other end is known to be
** reached. */
struct socket {
  int fd, port, retired, linked, reached;
  const struct transfer *opener; /* for which it was opened; it may be gone by now */
};

struct http {
  struct source source;         /* first: a pointer to it is one to the http */
  struct engine *engine;        /* NULL once it is gone */
  const struct mem *m;
  struct pollset *poll;         /* the engine's */
  CURLM *multi;                 /* NULL after it ran out of memory, until the next transfer */
  CURLMcode result;             /* a failure of the multi that is not reported yet */
  double curl_at;               /* when libcurl wants to be called, negative = never */
  double now;                   /* clock_monotonic when libcurl was last called: what its callbacks go by */
  struct transfer *all;         /* every transfer that is not closed */
  struct transfer **heap;       /* those with a deadline, earliest first */
  size_t heap_n, heap_cap;
  char *url;                    /* the last URL that was found good, and what it said: chats repeat theirs */
  size_t url_n;                 /* bytes of it with its NUL */
  int url_loopback, url_https;
  CURL *spare[SPARE_MAX];       /* prepared */
  size_t spare_n;
  struct socket *sockets;       /* all that libcurl has open */
  size_t socket_n, socket_cap;
  size_t socket_connecting;     /* of them, those whose other end was not reached */
  int (*ssl_has_pending)(const void *ssl);  /* OpenSSL's, NULL where libcurl uses another library */
  long (*ssl_ctx_ctrl)(void *context, int command, long value, void *more);
  int keeps_handles;            /* this libcurl may use an easy handle again */
  const char *codings;          /* what bodies may be packed in, NULL = this libcurl unpacks none */
  struct transfer *full;        /* that hold enough until they are read; linked by next_full */
  size_t flying;                /* transfers in flight */
  int active;                   /* those of them not released */
  int offline;
  int pair[2];                  /* descriptors that libcurl's next pair will get; -1 = none awaited */
};

struct transfer {
  struct news news;
  const struct mem *m;
  struct http *http;            /* NULL once that or its engine is gone */
  CURL *easy;                   /* NULL once it is over */
  struct transfer *prev, *next; /* in http.all */
  struct transfer *next_full;   /* in http.full */
  char *sent;                   /* header list and body as given to libcurl; NULL once they are sent */
  size_t sent_n, upload;        /* bytes of that block, of the body in it */
  struct buf body;              /* unread */
  struct buf head;              /* name NUL value NUL, and so on */
  struct header *headers;       /* into head, once it is complete */
  size_t header_count;
  size_t head_bytes, head_max, body_max, decoded_max, high_water, peak;
  unsigned long long decoded, received;
  struct timeouts timeouts;
  double started, last;         /* clock_monotonic at the start and at the last byte */
  double due;                   /* key in the heap: no later than the earliest deadline */
  double grace_at;              /* end of the grace period, 0 = none */
  size_t heap_i;                /* place in the heap + 1, 0 = not in it */
  struct route route;           /* once it is over */
  double first;                 /* seconds from the start to the first byte of the head, once there is one */
  int port;                     /* of this end of its connection, 0 = there was none yet */
  int peer;                     /* of a new connection, once the other end was reached, as io_peer_port says: the server's port,
                                   or a proxy's; 0 = not yet */
  int socket;                   /* of a link that is there, else -1 */
  long sent_before;             /* bytes of requests when the connection was there last; -1 = it was not yet */
  int status;
  struct recording *keep;       /* gets a copy of what comes, or NULL */
  struct recording *play;       /* says what comes, in libcurl's place, or NULL */
  size_t play_byte, play_piece; /* of it, what came */
  double play_now;              /* the time of a recording without waits */
  unsigned in_head : 1, in_header : 1, head_done : 1, encoded : 1, paused : 1, released : 1, failed : 1;
  unsigned opened : 1;          /* a socket was opened for it: the connection is not an old one */
  unsigned full : 1;            /* it is in http.full */
  unsigned stale : 1;           /* the connection that libcurl took for it cannot be trusted */
  unsigned http2 : 1;           /* may be */
  unsigned link : 1;            /* there is no request */
  unsigned linked : 1;          /* its connection is there, or was: it is no longer in flight */
  unsigned playing : 1;         /* a recording that is not over */
  unsigned plain : 1;           /* nothing was set on `easy` that the next request does not set too */
  struct err *failure;          /* NULL when there was no memory for it */
  char text[CURL_ERROR_SIZE];   /* libcurl's own words */
};

/* False once the engine is gone, as it is in a child made by fork: the transfers are orphaned, and libcurl is left alone. */
static inline int http_here(struct http *http) { return http != NULL && engine_here(http->engine); }

/* library.c */
/* Readies libcurl, which is done once in the process: 0, or -1 and *e. */
int library_start(struct err *e);
/* Notes what this libcurl can do. */
void library_find(struct http *http);

/* tls.c */
/* Looks OpenSSL's functions up. */
void tls_find(struct http *http);
/* True when decrypted bytes of the transfer's connection wait unread. */
int tls_has_unread(const struct http *http, CURL *easy);
CURLcode tls_on_context(CURL *easy, void *context, void *ud);

/* failure.c */
/* Notes why t fails, the first time; the caller ends t. */
void transfer_fail(struct transfer *t, const struct err *e);
/* The same, for what libcurl says. */
void transfer_fail_code(struct transfer *t, CURLcode code);
/* The same because more than `max` bytes came, and for want of memory: 0, what a callback then returns. */
size_t transfer_too_much(struct transfer *t, const char *what, const char *code, size_t max);
size_t transfer_no_memory(struct transfer *t);
/* Says in *e what the code of curl_easy_recv or curl_easy_send means: -1. */
int transfer_explain(const struct transfer *t, CURLcode code, struct err *e);
/* Why t failed; NULL when it did not. */
const struct err *transfer_failure(const struct transfer *t);
/* The err of a connection that was not there within so many seconds. */
void failure_late(const struct transfer *t, double seconds, struct err *e);
/* The err of what is forbidden offline. */
void failure_offline(struct err *e);

/* request.c */
/* Sets what is the same for all requests on a new handle: 0, or -1. */
int request_prepare(CURL *easy, const char *codings);
/* Copies the request and sets on t->easy what is its own: 0, or -1 and *e. */
int request_apply(struct transfer *t, const struct http_request *r, struct err *e);
/* Frees the copy. */
void request_forget(struct transfer *t);

/* deadline.c */
/* Room for n transfers in flight: 0, or -1. Nothing below allocates. */
int deadline_reserve(struct http *http, size_t n);
/* Sees to it that t is looked at no later than its earliest deadline. */
void deadline_update(struct http *http, struct transfer *t);
/* Has t looked at at once. */
void deadline_now(struct http *http, struct transfer *t);
void deadline_drop(struct http *http, struct transfer *t);
/* A transfer that is to be ended: its deadline has passed, which is noted, or it has failed. NULL when there is none. */
struct transfer *deadline_next(struct http *http, double now);

/* When the next part of the recording that t plays is to come; negative: not by itself. */
double deadline_of_play(const struct transfer *t);
/* True when a deadline of t has passed at `now`: the failure is noted. */
int deadline_missed(struct transfer *t, double now);

/* head.c: one line of a head, or a trailer, which is ignored: CURLOPT_HEADERFUNCTION. */
size_t transfer_on_header(char *p, size_t size, size_t count, void *ud);
/* The block of names and values is complete: t has its head. 0, or -1 (memory). */
int transfer_index_head(struct transfer *t, int status);

/* socket.c */
curl_socket_t socket_on_open(void *ud, curlsocktype purpose, struct curl_sockaddr *a);
int socket_on_close(void *ud, curl_socket_t fd);
int socket_on_ready(void *ud, char *ip, char *local_ip, int port, int local_port);
int socket_on_lookup(void *state, void *reserved, void *ud);
/* No further request goes out on the connection whose end here has this port. */
void socket_retire(struct http *http, int port);
/* libcurl reads from fd for t, so the other end was reached. */
void socket_reach(struct transfer *t, int fd);
/* True for a socket that was opened here, and whose close is told: not one of libcurl's pairs. */
int socket_is_listed(const struct http *http, int fd);
/* The socket whose end here has this port; -1: none. */
int socket_at(struct http *http, int port);
/* The socket is a link's: should libcurl close it, the link is told. */
void socket_link(struct http *http, int fd);
/* libcurl is about to make a pair of descriptors; it has made it. */
void socket_expect_pair(struct http *http);
void socket_mark_pair(struct http *http);

/* transfer.c */
size_t transfer_on_body(char *p, size_t size, size_t count, void *ud);
/* Pauses the transfers that hold enough. */
void transfer_pause_full(struct http *http);
/* Takes t from libcurl, failed if a failure was noted; frees it if it was released. `whole`: it came to its own end. */
void transfer_end(struct transfer *t, int whole);
/* libcurl says that t is over. */
void transfer_finished(struct transfer *t, CURLcode code, int whole);
/* The http goes: t is cancelled if it was in flight. */
void transfer_orphan(struct transfer *t);

/* recording/play.c */
/* The next part of it comes: t may have ended, and be freed, on return. */
void play_on(struct transfer *t, double now);

/* http.c */
/* Sees to it that there is a multi: 0, or -1 (memory). */
int http_ensure(struct http *http);
/* Has released transfers take what has come, so that connections whose answer is whole serve the next request. */
void http_read_released(struct http *http);

#pragma GCC visibility pop

#endif
