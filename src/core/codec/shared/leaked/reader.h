/*
** reader.h: the text kept back while calls are read from it: where its tags stand, the calls found so far, and the
** stretches that are not shown. Every search for a tag remembers what it found, so that a pass stays linear.
** All it makes lies in the reader's arena; `failed` is set when memory is out.
*/
#ifndef KOINE_CODEC_SHARED_LEAKED_READER_H
#define KOINE_CODEC_SHARED_LEAKED_READER_H

#include "private.h"

#pragma GCC visibility push(hidden)

/* The tags that are searched for. */
enum tag {
  PARAMETER, PARAMETER_END, INVOKE, INVOKE_END, CALL, CALL_END, MINIMAX, MINIMAX_END,
  THOUGHT_ENDS, TAG_COUNT = THOUGHT_ENDS + THOUGHT_COUNT
};

/* A stretch of the text that is not shown. */
struct gap {
  size_t begin, end;
  struct gap *next;
};

/* Calls of one family, in order. */
struct chain {
  struct leaked_call *first, *last;
};

struct reader {
  struct arena *a;
  const struct mem *m;
  const struct node *names;    /* of the tools that were offered, an array of strings */
  int depth, cut, failed;      /* failed: out of memory */
  struct str s;                /* the text, without tokens */
  size_t found[TAG_COUNT];     /* the first such tag at or behind the place of the last search */
  struct gap *gaps, *last_gap;
  struct chain invokes, objects, lists;
};

/* The length of a tag. */
size_t reader_tag_size(int tag);
/* Where the tag stands first at or behind i; the text's end when nowhere. Places only grow between two calls. */
size_t reader_find(struct reader *r, int tag, size_t i);
/* Whether the tag stands at i. */
int reader_at(const struct reader *r, int tag, size_t i);
/* Takes [begin, end) out of the text. Gaps come in their order. */
void reader_cut(struct reader *r, size_t begin, size_t end);
/* Adds a call of a tool that was offered: 1; 0: it was not, or out of memory. */
int reader_add(struct reader *r, struct chain *c, struct str name, struct str arguments);
/* Returns the text that is left between the gaps; nothing when out of memory. */
struct str reader_remainder(struct reader *r);

/* Reads <invoke name="f">…, which stands at i, into `invokes`: returns where it ends. invoke.c */
size_t reader_invoke(struct reader *r, size_t i);

/* The first place at or behind i that is no white space. */
static inline size_t skip_space(struct str s, size_t i) {
  while (i < s.n && is_space(s.p[i])) i++;
  return i;
}

/* s without the white space at its end and, with `left`, at its beginning. */
static inline struct str trim(struct str s, int left) {
  while (s.n > 0 && is_space(s.p[s.n - 1])) s.n--;
  return left ? from(s, skip_space(s, 0)) : s;
}

#pragma GCC visibility pop

#endif
