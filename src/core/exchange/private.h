/*
** private.h: an exchange from inside, for the files of this folder.
** Two axes: what the body is (WAITING for the head, SNIFFing, STREAM, PLAIN, REFUSED) and how far the message is (READING,
** ENDING: the codec has said its last parts, CLOSING: the message is complete, then DONE; FAILING: what came with the
** provider's error is still to be told, then FAILED).
*/
#ifndef KOINE_EXCHANGE_PRIVATE_H
#define KOINE_EXCHANGE_PRIVATE_H

#include "exchange.h"
#include "shape.h"

#pragma GCC visibility push(hidden)

#define RAW_MAX ((size_t)64 << 10)       /* of a body that is no error, kept for response:raw() */

enum mode { WAITING, SNIFF, STREAM, PLAIN, REFUSED };
enum stage { READING, ENDING, CLOSING, DONE, FAILING, FAILED };

struct exchange {
  const struct mem *m;
  const struct codec *codec;
  const struct framing *framing;
  const struct quirks *quirks;  /* the caller's */
  struct limits limits;
  const struct secrets *secrets;/* in the arena, with room for those there are; its strings too */
  struct str id_header;         /* in the arena */
  int asked_stream, keep_raw;   /* as in the spec */
  struct parse parse;
  void *state;                  /* the codec's */
  void *records;                /* the framing's; NULL until the body is a stream */
  struct arena scratch;         /* one record */
  struct arena arena;           /* the message, and what lives as long */
  struct buf body;              /* SNIFF, PLAIN, REFUSED: what came; STREAM: the raw copy, if kept */
  size_t blank;                 /* so many bytes of the body before it says something */
  size_t skipped;               /* white space before those */
  struct message message;
  struct events parts, deltas;
  struct shape shape;           /* of the last record */
  enum mode mode;
  enum stage stage;
  int status;
  struct head head;             /* its strings lie in the arena */
  struct str error_type;        /* what the codec's error_header says; in the arena */
  int typed;                    /* the content type is the framing's */
  struct str headers;           /* head_text in the arena */
  int eof, stop_reading;
  struct err *transport;        /* in the arena: why the body broke off; NULL for a clean end */
  struct err *err;              /* where a call from outside has what it finds wrong written */
  struct err *failure;          /* in the arena: what one found wrong; NULL: nothing */
  unsigned long count;          /* events of the stream parsed */
  struct node *tree;
  struct str raw;               /* what exchange_raw gave; p NULL until it is asked for */
};

/* {{{ failure.c */

/* The exchange failed with x->err: completes it from the head, keeps the secrets out. Returns -1. */
int exchange_fail(struct exchange *x);

/* The body ended before the message did: says so in x->err; and fails with that, returns -1. */
void exchange_cut(struct exchange *x);
int exchange_truncated(struct exchange *x);

/* }}} */

/* {{{ body.c: 1 progress, 0 more bytes needed, -1 failed */

/* Decides what a 2xx body is. */
int body_sniff(struct exchange *x);

/* Reads one record. */
int body_read_stream(struct exchange *x);

/* Reads a body that is one answer, once it is whole; one that is an error. */
int body_read_plain(struct exchange *x);
int body_read_refusal(struct exchange *x);

/* }}} */

#pragma GCC visibility pop

#endif
