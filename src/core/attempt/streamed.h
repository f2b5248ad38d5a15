/*
** streamed.h: an answer that is read while it comes, whatever it says: a transfer, whose body a framing cuts into records, or
** that is gathered whole. Owns both; never waits. Held are at most one record (limits.line, limits.event), or the body
** (limits.body), besides twice limits.high_water: who reads no further pauses the transfer.
*/
#ifndef KOINE_ATTEMPT_STREAMED_H
#define KOINE_ATTEMPT_STREAMED_H

#include "core/framing/framing.h"
#include "core/http/http.h"

#pragma GCC visibility push(hidden)

struct streamed;

enum streamed_got { STREAMED_LATER, STREAMED_THERE, STREAMED_END, STREAMED_FAILED };

/* Starts a request, as transfer_start does; r's caps of the body are not used. NULL and *e, and nothing held. m outlives it. */
struct streamed *streamed_start(const struct mem *m, struct http *http, struct http_request *r,
                                const struct framing *framing, const struct limits *limits, void *owner, struct err *e);
/* THERE once the head is there: *status and *n headers, which live as long as s. LATER; FAILED and *e. */
enum streamed_got streamed_head(struct streamed *s, int *status, const struct header **v, size_t *n, struct err *e);
/* THERE: the next record, valid until the next call. LATER; END; FAILED and *e: why it ended otherwise, every time. */
enum streamed_got streamed_record(struct streamed *s, struct record *r, struct err *e);
/* THERE: the whole body, decoded, which lives as long as s. LATER; FAILED and *e. Bytes that streamed_record took are not in
** it, and it leaves none for that. */
enum streamed_got streamed_body(struct streamed *s, struct str *body, struct err *e);
/* Frees s. What is left of the answer is discarded for at most `seconds`, so that its connection can be kept alive. */
void streamed_release(struct streamed *s, double seconds);
/* Cancels and frees. NULL is fine. */
void streamed_close(struct streamed *s);

#pragma GCC visibility pop

#endif
