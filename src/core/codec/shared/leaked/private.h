/*
** private.h: what leaked.c and read.c share: the marks of calls and of thoughts, and how text fits them.
*/
#ifndef KOINE_CODEC_SHARED_LEAKED_PRIVATE_H
#define KOINE_CODEC_SHARED_LEAKED_PRIVATE_H

#include "leaked.h"

#pragma GCC visibility push(hidden)

/* MiniMax's own, before each of its tags. */
#define LEAKED_TOKEN "]<]minimax[>["
#define LEAKED_LIST "[TOOL_CALLS]"

#define THOUGHT_COUNT 4

struct thought {
  const char *open, *close;
};

extern const struct thought leaked_thoughts[THOUGHT_COUNT];

enum fit { FIT_NONE, FIT_BEGUN, FIT_WHOLE };

/* Whether s begins with the mark, in any case, or ends within it. */
enum fit leaked_fits(struct str s, const char *mark);

/* True for ASCII white space. */
static inline int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* s from its byte i on. */
static inline struct str from(struct str s, size_t i) { return (struct str){ s.p + i, s.n - i }; }

#pragma GCC visibility pop

#endif
