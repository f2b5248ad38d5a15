/* block.h: the blocks of a message, between message.c and node.c. */
#ifndef KOINE_MESSAGE_BLOCK_H
#define KOINE_MESSAGE_BLOCK_H

#include "core/history/block.h"
#include "message.h"

#pragma GCC visibility push(hidden)

struct block {
  enum block_type type;      /* never image, document or result */
  int32_t key;
  int started, ended;        /* X_START was pushed; the block is complete (a text held back: only complete) */
  struct buf text;           /* text, thinking, refusal; a tool's argument bytes; redacted data; opaque's JSON */
  struct buf id, name;       /* tool; name: opaque's type too */
  uint64_t hash;             /* tool, once started: of the id */
  struct buf signature, raw;
  char high[3];              /* a high surrogate (WTF-8) waiting for its other half */
  int has_high;
};

#pragma GCC visibility pop

#endif
