/*
** exchange.h: one request and its answer without I/O: head, feed, eof in; deltas, a message or an error out.
** Decides what a body is (a stream, plain JSON, an error, something else), when a message is complete, and keeps the
** secrets out of every failure it reports. Owns all it holds.
*/
#ifndef KOINE_EXCHANGE_H
#define KOINE_EXCHANGE_H

#include "core/codec/codec.h"
#include "head.h"
#include "core/message/message.h"
#include "redact.h"
#include "core/framing/framing.h"

#pragma GCC visibility push(hidden)

/* Strings are copied, but for the request, which exchange_new alone looks at. The quirks outlive the exchange. */
struct exchange_spec {
  const struct codec *codec;
  const struct framing *framing; /* of a streamed answer; NULL: the codec's */
  const struct quirks *quirks;
  struct limits limits;
  struct str provider, model;
  struct str id_header;          /* as in head_read */
  struct str output_tool;        /* as in struct message */
  size_t request_messages;
  int64_t max_tokens;            /* as in struct parse */
  struct str request;            /* its body */
  int stream;                    /* a stream was asked for */
  int keep_raw;                  /* keep the body of a stream too */
  struct secrets secrets;        /* credentials to redact where it fails */
  struct node *warnings;         /* the render's warnings, or NULL */
  const struct node *tool_names; /* as in struct parse; copied */
};

enum progress { EXCHANGE_FAILED = -1, EXCHANGE_MORE = 0, EXCHANGE_DELTA = 1, EXCHANGE_DONE = 2,
  EXCHANGE_BUSY = 3 /* attempt.h */ };

struct exchange;

/* An exchange that waits for its head; m outlives it. NULL and *e: memory. */
struct exchange *exchange_new(const struct mem *m, const struct exchange_spec *spec, struct err *e);
void exchange_free(struct exchange *x);
/* Status and headers of the final response. 0, or -1 (memory, limits: reported by exchange_next). */
int exchange_head(struct exchange *x, int status, const struct header *h, size_t n);
/* Takes over the bytes of b (left empty). 0, or -1 (memory, limits: reported by exchange_next). */
int exchange_feed(struct exchange *x, struct buf *b);
/* The same with a copy of n bytes at p. */
int exchange_feed_copy(struct exchange *x, const char *p, size_t n);
/* The body is over; transport NULL = it ended cleanly, else why it broke. */
void exchange_eof(struct exchange *x, const struct err *transport);
/* The next delta (borrowed until the next call), or why there is none. DONE and FAILED are final. */
enum progress exchange_next(struct exchange *x, struct event *delta);
/* True when the message is complete and only usage may follow: the caller bounds the wait (5 s). */
int exchange_ended(const struct exchange *x);
unsigned long exchange_event_count(const struct exchange *x);
size_t exchange_retained(const struct exchange *x); /* bytes held */
/* After DONE: the message's tree (message.h) plus request_id, provider, status_code, headers (a STRING, head_text), raw?.
** In the exchange's arena: lives until exchange_free. NULL: memory. After FAILED: the same with partial = true, and the
** headers as an OBJECT, where anything had arrived, or NULL. */
struct node *exchange_message(struct exchange *x);
/* After FAILED: what happened (retry_after, code and status filled in). */
const struct err *exchange_error(const struct exchange *x);
/* After DONE or FAILED: the first 64 KiB of the body that was kept, after FAILED without secrets; empty when there is none,
** or no memory. Lies in the exchange: lives until exchange_free. */
struct str exchange_raw(struct exchange *x);
struct str exchange_request_id(const struct exchange *x);

#pragma GCC visibility pop

#endif
