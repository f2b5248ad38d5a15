/*
** http.h: HTTP on libcurl's multi, driven by sockets in an engine's pollset. Callbacks only append bytes and set flags.
** A struct http belongs to its caller, and owns its transfers' handles; a transfer belongs to its caller, who closes it.
** Engine, http and transfers may go in any order: a transfer whose http or engine is gone has failed (KIND_CANCELLED).
** Nothing is shared between two of them but curl_global_init.
*/
#ifndef KOINE_HTTP_H
#define KOINE_HTTP_H

#include "core/base/mem.h"
#include "core/base/err.h"
#include "core/base/header.h"
#include "core/engine/engine.h"
#include "core/engine/pipe.h"
#include "core/http/recording/recording.h"

#pragma GCC visibility push(hidden)

struct http;
struct transfer;

/* Seconds; 0 or negative = no limit. Any received byte resets idle; first_byte runs until the first body byte. `whole` is
** what errors say of total, where that is the rest of a longer time; 0 = total itself. */
struct timeouts { double connect, first_byte, idle, total, whole; };

/* All strings NUL-terminated; copied by transfer_start. */
struct http_request {
  const char *method, *url;
  const struct header *headers;  /* name and value; CR, LF or NUL in either is KIND_ARGUMENT */
  size_t header_count;
  const char *body;              /* NULL = none */
  size_t body_n;
  struct timeouts timeouts;
  const char *proxy;             /* NULL = environment, except for loopback hosts, which are never proxied then */
  const char *ca_file;           /* NULL = the system's store */
  int http2;                     /* KIND_ARGUMENT where there is an http2_problem */
  size_t head_max;               /* bytes of response headers; 0 = 256 KiB */
  size_t body_max;               /* bytes on the wire (compressed); 0 = no cap */
  size_t decoded_max;            /* bytes after decoding; 0 = no cap */
  size_t high_water;             /* unread bytes at which the transfer pauses; 0 = never */
  int link;                      /* see link_start, which sets both: nothing is sent */
  const char *unix_path;         /* the socket to connect to in place of the URL's host; NULL = none */
  struct recording *keep;        /* gets a copy of the answer; NULL = none */
  struct recording *play;        /* is the answer: nothing is sent; NULL = none */
  int checked;                   /* http_check said 0 to all but the body */
};

/* Where a link leads. Strings are NUL-terminated and copied. */
struct link_address {
  const char *host;              /* a name or an address; with path the name that a certificate must have */
  int port;
  const char *path;              /* of a UNIX socket; NULL = none */
  int tls;
  const char *ca_file;           /* NULL = the system's store */
  double timeout;                /* seconds for name, connection and TLS; 0 = no limit */
};

/* The version of the libcurl that is running, "7.88.1". */
const char *http_library(void);
/* Why the libcurl that is running may not speak HTTP/2 here, in words; NULL where it may. */
const char *http2_problem(void);

/* HTTP without transfers, in the engine's memory, which outlives it and its transfers. NULL and *e: memory, descriptors,
** or libcurl cannot start, which it does once per process, whatever thread asks. */
struct http *http_new(struct engine *g, struct err *e);
/* Cancels what is in flight and closes every connection. NULL is fine. */
void http_free(struct http *http);
/* Non-zero: every connection to a host that is not loopback fails before DNS (KIND_CONNECT, code "offline"). */
void http_offline(struct http *http, int on);
int http_active(const struct http *http); /* transfers in flight that were not released */

/* 0 where the request may be sent, as far as can be said without its host; else -1 and KIND_ARGUMENT. */
int http_check(const struct http_request *r, struct err *e);
/* Begins; returns at once. `owner` is its news' owner. NULL and *e: KIND_ARGUMENT (bad URL, header), KIND_MEMORY,
** KIND_CONNECT (offline), KIND_CANCELLED (the engine is gone). */
struct transfer *transfer_start(struct http *http, const struct http_request *r, void *owner, struct err *e);
/* Status of the final response and its headers, once its head is complete; 0 before. */
int transfer_status(const struct transfer *t);
size_t transfer_headers(const struct transfer *t, const struct header **h);
/* Frees the headers, which the caller does not need any more: from now on there are none. */
void transfer_forget_headers(struct transfer *t);
/* The received, decoded bytes not yet taken. The caller that takes them then calls transfer_taken. */
struct buf *transfer_body(struct transfer *t);
/* Tells that the body buffer was emptied: resumes a paused transfer. */
void transfer_taken(struct transfer *t);
/* Forgets that there is news of t: true unless others have some. */
int transfer_is_all_news(struct transfer *t);
/* True at the end, good or bad; *failure is NULL for a clean end. */
int transfer_done(const struct transfer *t, const struct err **failure);
/* The time by the transfer's own clock: clock_monotonic, but for a recording that is played without waits. */
double transfer_now(const struct transfer *t);
/* clock_monotonic when it was started: whoever counts from there counts from one time. */
double transfer_started(const struct transfer *t);
/* From now on the end comes after at most so many seconds, as a clean one (a grace period). */
void transfer_grace(struct transfer *t, double seconds);
/* What a request went out on: nothing yet, and nothing where a recording is played. */
enum carrier { CARRIER_NONE, CARRIER_NEW, CARRIER_REUSED };
/* How a request went out: the bytes of its body that were sent; how many seconds the name lookup, connecting and TLS took
** of a new connection, and after how many the first byte of the answer came. Negative: unknown, or there was none. */
struct route { long long sent; double dns, connect, tls, first_byte; enum carrier carrier; };
/* Bytes received on the wire, peak of unread bytes, seconds since the last byte. */
struct transfer_stats { unsigned long long received; size_t peak; double idle; struct route route; };
void transfer_stats(const struct transfer *t, struct transfer_stats *s);
/* The caller has all it wants: libcurl discards the rest for at most so many seconds, so that a connection whose
** answer is about to end can be kept alive, and then frees the transfer. Frees at once when it is done already. */
void transfer_release(struct transfer *t, double seconds);
/* The answer, complete or not, was not what it should be: its connection is not used for another request. */
void transfer_distrust(struct transfer *t);
/* Cancels if need be and frees. NULL is fine. Legal at any time, also while DNS hangs. */
void transfer_close(struct transfer *t);

/* A link is a transfer without a request: libcurl looks the name up, connects and does TLS as for any other, offline too, but
** by no proxy. Once that is done it has news, and the bytes are the caller's. Failures: KIND_ARGUMENT (host), and those of
** transfer_start. transfer_done is true once it failed: in the beginning, or later, for want of memory or because libcurl
** closed a connection that was not used yet. */
struct transfer *link_start(struct http *http, const struct link_address *a, void *owner, struct err *e);
/* Its socket, once it is there; -1 before, and when it failed. Nothing watches it: the caller may, in the engine's pollset. It
** is taken out there when the link fails or is closed. */
int link_socket(const struct transfer *t);
/* As pipe_io says. With TLS, bytes may be there while the socket is quiet: it is to be watched after PIPE_AGAIN only. */
long link_read(struct transfer *t, char *p, size_t n, struct err *e);
long link_write(struct transfer *t, const char *p, size_t n, struct err *e);

#pragma GCC visibility pop

#endif
