/*
** framing.h: the contract of a framing: how the body of a streamed answer is cut into records. A framing is a const table
** of functions over its own state; it never waits, never allocates outside mem, and does not know what a record says.
** A record borrows from the state: valid until the next feed or next. Failure: -1 and an err (KIND_LIMIT, KIND_MEMORY,
** KIND_PROTOCOL); the state stays in error.
*/
#ifndef KOINE_FRAMING_FRAMING_H
#define KOINE_FRAMING_FRAMING_H

#include "core/base/err.h"
#include "core/base/limits.h"
#include "core/base/mem.h"
#include "list.h"

#pragma GCC visibility push(hidden)

/* Bytes of a buffer beyond which a framing keeps it while it waits: its stream comes fast, and to let a buffer grow anew for
** each read costs more than to cut it into records. */
#define FRAMING_KEPT ((size_t)16 << 10)

/* A piece of a body. A framing without such a field leaves it empty. */
struct record {
  struct str name;     /* the event's type; empty when not said */
  struct str data;     /* what it carries; p is NULL: nothing, it only says id or retry */
  struct str id;       /* where a client may resume behind it; empty when not said */
  long retry;          /* milliseconds to wait before that; negative = not said */
  int fault;           /* 1: the frame says that it carries a failure, whatever its data look like */
  int joined;          /* 1: its data are several lines, joined by LF */
  int unclosed;        /* 1: the end of the body closed it, not the framing's own mark: it may be cut */
};

/* Of a body, where its first byte does not say what it is: the next may; only what was asked for does. */
enum { FRAMING_UNKNOWN = -1, FRAMING_ASKED = 2 };

struct framing {
  const char *name;       /* "ndjson", "sse" */
  const char *media_type; /* what the content type of such a body begins with, in lower case */
  size_t state_size;
  /* Readies zeroed state; m outlives it. Heeds l->line and l->event (bytes). */
  void (*init)(void *state, const struct mem *m, const struct limits *l);
  void (*free)(void *state);
  /* Returns what an answer's body is: 1 a stream of this framing, 0 none, or FRAMING_*. first: its first byte that is
  ** no white space, NUL while there is none, or where it is NUL; typed: 1 when its content type is media_type. */
  int (*begins)(char first, int typed);
  /* Takes over the bytes of b: 0 and b is empty, or -1. */
  int (*feed)(void *state, struct buf *b, struct err *e);
  /* The same with a copy of n bytes at p. */
  int (*feed_copy)(void *state, const char *p, size_t n, struct err *e);
  /* 1 and the next record, 0 when more bytes are needed, -1 on error. */
  int (*next)(void *state, struct record *r, struct err *e);
  /* The body is over, and next gave 0: 1 and the record that the end completes, 0 when there is none, -1 on error. */
  int (*eof)(void *state, struct record *r, struct err *e);
  /* Bytes held besides the state. */
  size_t (*held)(const void *state);
};

#define FRAMING_DECLARE(name) extern const struct framing framing_##name;
FRAMING_LIST(FRAMING_DECLARE)
#undef FRAMING_DECLARE
/* The framing of that name, or NULL. */
const struct framing *framing_by_name(struct str name);

#pragma GCC visibility pop

#endif
