/*
** blocks.h: the content blocks of an answer that have begun and not yet stopped, for formats that number them.
** The list owns the blocks and their buffers. A block stays valid until the next one is added or dropped.
*/
#ifndef KOINE_CODEC_SHARED_BLOCKS_H
#define KOINE_CODEC_SHARED_BLOCKS_H

#include "core/codec/codec.h"

#pragma GCC visibility push(hidden)

struct open_block {
  int64_t index;           /* on the wire */
  int32_t key;             /* its ordinal in the message */
  int kind;                /* what it is; raw, more, name and pieces mean what the format says of this kind */
  struct buf raw, more;
  struct str name;         /* a constant */
  int pieces;              /* so many came */
};

struct open_blocks {
  const struct parse *p;
  struct open_block *v;    /* in order of appearance */
  size_t n, cap;
  int32_t next_key;        /* so many began */
};

/* Makes an empty list; p outlives it. */
void blocks_init(struct open_blocks *l, const struct parse *p);
/* Frees all blocks, and leaves an empty list. */
void blocks_free(struct open_blocks *l);
/* The open block of that index, or NULL. */
struct open_block *blocks_find(const struct open_blocks *l, int64_t index);
/* Begins one more block, or NULL and *e: too many, or out of memory. */
struct open_block *blocks_add(struct open_blocks *l, int64_t index, int kind, struct err *e);
/* Forgets a block. */
void blocks_drop(struct open_blocks *l, struct open_block *b);

#pragma GCC visibility pop

#endif
