/*
** head.h: what the headers of an answer say that every wire format shares: request id, how long to wait, whether to try
** again, whether the body claims to be of a type. Borrows from the headers. Failure: -1 and an err.
*/
#ifndef KOINE_EXCHANGE_HEAD_H
#define KOINE_EXCHANGE_HEAD_H

#include "core/base/err.h"
#include "core/base/header.h"
#include "core/base/mem.h"

#pragma GCC visibility push(hidden)

#define HEADERS_MAX 1000 /* header lines of an answer */

struct head {
  struct str request_id;   /* empty when none */
  double retry_after;      /* seconds, >= 0; negative = not said */
  int should_retry;        /* x-should-retry: 1, 0, or -1 = not said */
  double date;             /* Unix seconds, where credentials were refused (401, 403); 0 = not said */
};

/*
** request_id: of the header request-id, else x-request-id, else the provider's own, id_header (empty: it has none).
** retry_after: retry-after-ms, else retry-after (seconds or an HTTP date), else x-ratelimit-reset-requests|tokens (a
** duration such as "6m0s" or "12ms") where the matching x-ratelimit-remaining-* is 0. `now` is clock_wall().
*/
void head_read(struct head *h, int status, const struct header *v, size_t n, struct str id_header, double now);
/* The value of the header of that name (lower case; NULL: none); empty when there is none. */
struct str head_find(const struct header *v, size_t n, const char *name);
/* Adds the facts of the headers to an error: when to try again, and where credentials were refused the time. */
void head_complete(const struct head *h, struct err *e);
/* 1 when the content type begins with `type`, which is lower case, in whatever case; else 0. */
int head_is_type(const struct header *v, size_t n, const char *type);
/* 0, or -1 and KIND_LIMIT for more than HEADERS_MAX. */
int head_check(size_t n, struct err *e);
/* Puts into `out` the values of the first header and of those behind it with the same name, joined by ", " (RFC 9110,
** 5.3). 0, or -1 (memory). */
int head_join(const struct header *v, size_t n, struct buf *out);
/* Headers as text, in a's memory: "name: value" and a line feed for each, in their order. p NULL: memory. */
struct str head_text(struct arena *a, const struct header *v, size_t n);
/* How many headers such a text has; puts them into v, which has room for so many. They borrow the text. */
size_t head_count(struct str text);
void head_list(struct str text, struct header *v);

#pragma GCC visibility pop

#endif
