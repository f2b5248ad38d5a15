/*
** filter.h: takes the parts that a codec pushes and gives them on; text that may hold calls waits in between, and where
** it holds some they go on in its place (leaked.h). Which blocks there are may change by that: text gets keys of the
** filter's own, which are negative; a codec counts its keys from 0. The filter knows no choices of an answer: reasoning on
** both sides of text that waits is one block, and text waits until a part comes.
** Owns what waits. Strings of the parts given on are borrowed as event.h says. Failure: -1 and an err.
*/
#ifndef KOINE_CODEC_SHARED_LEAKED_FILTER_H
#define KOINE_CODEC_SHARED_LEAKED_FILTER_H

#include "core/codec/codec.h"
#include "leaked.h"

#pragma GCC visibility push(hidden)

struct leaked_filter {
  const struct parse *p;
  int used, looks;       /* the quirk leaked_calls is set, tools are offered; and no real call came yet */
  struct leaked leaked;
  struct events parts;   /* from the codec */
  int32_t next_key;
  int32_t from;          /* the codec's key of the last text, */
  int32_t text;          /* the key of the last that was given on; 0 = none */
  /* The block that goes on as long as its parts come, which text that waits does not end: */
  enum event_type run;   /* PART_TEXT, PART_THINKING or PART_REFUSAL, EV_NONE for none, */
  int32_t run_from;      /* its key from the codec, */
  int32_t run_key;       /* and the one it is given on with */
  int waited;            /* text came behind its last part, and waits */
};

/* Initialises zeroed state, which p outlives; frees its memory. */
void leaked_filter_init(struct leaked_filter *f, const struct parse *p);
void leaked_filter_free(struct leaked_filter *f);
/* Gives on what the codec pushed to `parts`, which it does where the filter is used. 0 or -1. */
int leaked_filter_pass(struct leaked_filter *f, struct events *out, struct err *e);
/* The message is complete, but for what the codec says of its end: calls are made of the text that waits, or it goes on
** as text. `cut`: as in leaked_recover. *calls: how many were made. 0 or -1. */
int leaked_filter_end(struct leaked_filter *f, struct events *out, int cut, size_t *calls, struct err *e);

#pragma GCC visibility pop

#endif
