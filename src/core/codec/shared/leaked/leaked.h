/*
** leaked.h: tool calls that a model wrote into its text, because neither it nor its server made real ones of them.
** While the answer comes, text that may become markup is kept back: white space and a mark's first bytes until it is
** known what they are, everything from the first marker on until the message ends. Then calls are read from it:
**   <invoke name="f"><parameter name="k">v</parameter></invoke>, also with <k>v</k>, also left open; values are strings
**   <tool_call>{"name": "f", "arguments": {…}}</tool_call>, the arguments also as a string of JSON
**   [TOOL_CALLS][{"name": "f", "arguments": {…}}, …], where neither of the others was found
** Only tools that were offered are called; what a thought (<think>, <thinking>, <reasoning>, <thought>) holds is not.
** Owns what it keeps back; results lie in the caller's arena. Failure: -1, out of memory.
*/
#ifndef KOINE_CODEC_SHARED_LEAKED_H
#define KOINE_CODEC_SHARED_LEAKED_H

#include "core/json/json.h"

#pragma GCC visibility push(hidden)

struct leaked {
  struct buf held;  /* text kept back */
  size_t from;      /* held: where to look for marks next */
  int thought;      /* which thought the text is in, from 1; 0 = none. Markers in a thought are none */
  int found;        /* a marker came: everything is kept */
  int said;         /* text was let through */
};

/* One call, in the order they are to be made. */
struct leaked_call {
  struct str name, arguments; /* arguments: JSON as the model wrote it or as made from its values; may be empty */
  struct leaked_call *next;
};

/* Initialises a filter that keeps nothing back; frees its memory. */
void leaked_init(struct leaked *k, const struct mem *m);
void leaked_free(struct leaked *k);
/* Takes text (WTF-8); *out is what may be shown by now: borrowed from s, or in the arena. 0 or -1. */
int leaked_feed(struct leaked *k, struct arena *a, struct str s, struct str *out);
/* Gives up everything kept back: *out is all of it. 0 or -1. */
int leaked_release(struct leaked *k, struct arena *a, struct str *out);
/* The message is complete: reads the calls of tools in `names` (an array of strings). *calls is NULL when there is none, and
** nothing changed; else *text is what is left of the text kept back, without markup and trimmed. `cut`: the answer was
** cut off at its end; a call that stands open there is given incomplete JSON, so that it is not made. 0 or -1. */
int leaked_recover(struct leaked *k, struct arena *a, const struct node *names, int depth, int cut,
                   struct leaked_call **calls, struct str *text);

#pragma GCC visibility pop

#endif
