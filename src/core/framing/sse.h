/*
** sse.h: an event-stream parser, which framing_sse (framing.h) wraps. Feed bytes, then take whole records; allocates only
** its input buffer, one for the last id and, when an event: line follows data: lines of its record, one for the name.
** A record borrows from the parser's buffer: valid until the next sse_feed or sse_next. Failure: -1 and an err
** (KIND_LIMIT for a line or record over its cap, KIND_MEMORY); it stays in error. Linear in its input however that is
** cut: no byte is looked at twice.
*/
#ifndef KOINE_FRAMING_SSE_H
#define KOINE_FRAMING_SSE_H

#include "framing.h"

#pragma GCC visibility push(hidden)

#define SSE_OPENING 64 /* bytes */

struct sse {
  struct buf in;
  size_t line_max, event_max; /* bytes */
  /* private: offsets into `in` */
  size_t line;                /* where the line being read begins */
  size_t scan;                /* no line end in [line, scan) */
  size_t cr, lf;              /* no CR in [scan, cr), no LF in [scan, lf) */
  size_t data, data_n;        /* the joined data lines of the open record */
  size_t name, name_n;        /* its event name, while that stands in front of the data */
  struct buf late;            /* its event name, when that came later */
  struct buf id;              /* the last id */
  long retry;                 /* the open record's, -1 = none */
  int has_data, has_place, is_joined, is_late, skip_lf, bom, failed; /* has_place: id or retry */
  size_t begin;               /* where its first line begins, */
  int lines;                  /* and how many it has so far */
  int is_bare;                /* the open record is JSON without a field's name: */
  int depth, in_string, escaped; /* the brackets that are open in it; where its last line ended */
  /* the last record, where it was a name or none and one line of data: what stood before its data, how much of that, where the
  ** name stood in it, and whether CRLF ended its lines, or LF */
  char opening[SSE_OPENING];
  unsigned char opening_n, opening_name, opening_name_n, is_crlf;
  /* public again */
  unsigned long comments;     /* comment lines seen: a keep-alive counter */
};

/* Initialises a reader at the beginning of a stream, with its caps; frees its memory. */
void sse_init(struct sse *s, const struct mem *m, size_t line_max, size_t event_max);
void sse_free(struct sse *s);
/* Takes bytes in: 0, or -1. */
int sse_feed(struct sse *s, const char *p, size_t n, struct err *e);
/* As sse_feed, but takes over the content of b where its own buffer is empty (b is left empty either way). */
int sse_feed_buf(struct sse *s, struct buf *b, struct err *e);
/* 1 and a record (name: its event: field; data: its data: lines joined by LF, or the lines of an object or array that
** stands between records; id: the last one so far; retry: its own), 0 when more bytes are needed, -1 on error. A record
** that has an id or a retry field but no data is no event: its data.p is NULL. */
int sse_next(struct sse *s, struct record *r, struct err *e);
/* At the end of input: 1 and the record that no blank line closed (its last line may lack an end, and it has no id), 0
** when there is none. */
int sse_eof(struct sse *s, struct record *r, struct err *e);

#pragma GCC visibility pop

#endif
