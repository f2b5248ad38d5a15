/*
** recording.h: an answer as it came, or as it is to come again: head, decoded body, the time of each piece, how it ended.
** A transfer fills the recording that it is given to keep (http_request.keep), and gives the answer of the one it is given to
** play (http_request.play) in libcurl's place. Counted: whoever holds one frees it, the last one for good. One thread.
** Failure: -1 and nothing changed (memory).
*/
#ifndef KOINE_HTTP_RECORDING_H
#define KOINE_HTTP_RECORDING_H

#include "core/base/err.h"
#include "core/base/mem.h"

#pragma GCC visibility push(hidden)

/* So many bytes of the body, so many seconds after the request. */
struct recording_piece { double at; size_t n; };

struct recording {
  const struct mem *m;
  int holders;
  int status;                /* 0: there is no head */
  struct buf head;           /* name NUL value NUL, and so on */
  size_t header_count;
  struct buf body;
  struct recording_piece *pieces;
  size_t piece_n, piece_cap;
  double end_at;             /* seconds from the request to the end; of one to be played: INFINITY, there is none */
  struct err failure;        /* why it ended; KIND_NONE: properly */
  unsigned over : 1;         /* it ended */
  unsigned left : 1;         /* its reader left first */
  unsigned played : 1;       /* it is to be played, not filled */
  unsigned unwaited : 1;     /* time passes at once when it is played: deadlines see the recorded times */
  double speed;              /* of playing; 0: all is there at once */
  double reached;            /* the recorded time that its playing without waits came to */
};

/* An empty one with one holder, or NULL. m outlives it. */
struct recording *recording_new(const struct mem *m);
struct recording *recording_hold(struct recording *r);
/* NULL is fine. */
void recording_free(struct recording *r);
/* The head: one block of names and values as above. */
int recording_head(struct recording *r, int status, struct str head, size_t header_count);
/* More of the head that is being made. */
int recording_header(struct recording *r, struct str name, struct str value);
/* More of the body. What comes within a millisecond is one piece. */
int recording_add(struct recording *r, double at, const char *p, size_t n);
/* A piece of the body that is there already; the caller sees to it that all of them together are the body. */
int recording_piece(struct recording *r, double at, size_t n);
/* Forgets the first n bytes of the body, which were taken, and the times of all of it. */
void recording_drop(struct recording *r, size_t n);
/* When a piece, counted from 0, comes; the end where there is no such piece. The head comes with the first of them. */
double recording_next(const struct recording *r, size_t piece);
/* The end; failure NULL: a proper one. Only the first counts. */
void recording_end(struct recording *r, double at, const struct err *failure, int left);

#pragma GCC visibility pop

#endif
