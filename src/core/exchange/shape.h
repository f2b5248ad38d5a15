/*
** shape.h: the short way through a stream whose records differ in their text alone.
** The bytes round the text of a record that said nothing else are kept. The next record that has the same bytes round
** another text says the same of it, so that the codec need not read it (codec.h: parse_text). Every other record is the
** codec's, and makes a new shape or none: what a record means is decided in the codec alone.
** Bytes may differ besides: blanks before the last brace and the values of the members that the codec calls unread, which
** are passed over, and the digits of its counts (codec.h: parse_counts), which are read.
** A shape owns its copy of the bytes. Failure: that of the codec.
*/
#ifndef KOINE_EXCHANGE_SHAPE_H
#define KOINE_EXCHANGE_SHAPE_H

#include "core/codec/codec.h"

#pragma GCC visibility push(hidden)

#define SHAPE_GAPS 8

/* What may differ, and where: a place in the bytes that do not. From GAP_COUNT on: the codec's counts. */
enum gap_kind { GAP_TEXT, GAP_STRING, GAP_DIGITS, GAP_BLANKS, GAP_COUNT };
struct gap { unsigned short kind, at; };

struct shape {
  struct buf bytes;            /* the record's name, then its data without what stands in the gaps */
  size_t name;                 /* bytes of the name */
  struct gap gaps[SHAPE_GAPS]; /* in order */
  int gap_count;               /* 0: there is no shape */
  int unused;                  /* shapes in a row that no record had */
};

/* An empty one without memory; frees its memory. */
void shape_init(struct shape *s, const struct mem *m);
void shape_free(struct shape *s);
/* codec->parse_record, or codec->parse_text where the record has the shape of the one before. p: what the state was
** readied with; its arena is empty. */
int shape_parse(struct shape *s, const struct codec *codec, void *state, struct parse *p, const struct record *r,
                struct events *out, struct err *e);

#pragma GCC visibility pop

#endif
