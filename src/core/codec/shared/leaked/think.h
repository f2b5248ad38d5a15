/*
** think.h: takes reasoning that a model writes into its answer as <think>…</think>, or
** <thinking>…</thinking>, apart from the text. The tags are
** found in any case and however they are cut. Only leading blocks count: before them nothing but white space was said
** (nothing, therefore, that opens a ``` fence); later tags are text. A block that never ends is reasoning to the end.
** The text loses the tags and what is between them, nothing else: white space before a block stands before the text
** behind it. White space that only surrounds blocks is dropped.
** Owns what it holds back. Failure: -1, out of memory.
*/
#ifndef KOINE_CODEC_SHARED_LEAKED_THINK_H
#define KOINE_CODEC_SHARED_LEAKED_THINK_H

#include "core/base/mem.h"

#pragma GCC visibility push(hidden)

enum think_state { THINK_BEFORE, THINK_INSIDE, THINK_AFTER };

enum think_kind {
  THINK_NONE,     /* nothing left to take */
  THINK_TEXT,     /* a piece of the answer */
  THINK_THOUGHT,  /* a piece of reasoning */
  THINK_OPENED,   /* a block of reasoning begins, */
  THINK_CLOSED    /* or is complete; no piece */
};

struct think {
  const char *opening, *closing; /* the tags, in lower case */
  enum think_state state;
  int seen;         /* a block was opened */
  struct buf held;  /* white space not yet said, then the first bytes of what may be a tag */
  size_t tag;       /* how many of held's last bytes may be a tag */
};

/* Initialises a splitter at the beginning of an answer; frees its memory (think_free). */
void think_init(struct think *t, const struct mem *m);
/* The same for a model that writes <thinking>. */
void think_init_thinking(struct think *t, const struct mem *m);
void think_free(struct think *t);
/* Takes a piece from the front of *in: its kind, or -1. *out borrows from *in or lies in the arena. Called again until
** it says THINK_NONE; then *in is empty. */
int think_next(struct think *t, struct arena *a, struct str *in, struct str *out);
/* Gives out the text held back where the text pauses for another block (a tag that has begun stays held), or ends for
** good. */
int think_pause(struct think *t, struct arena *a, struct str *out);
int think_end(struct think *t, struct arena *a, struct str *out);

#pragma GCC visibility pop

#endif
