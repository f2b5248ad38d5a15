/* block.h: the blocks of a message, for the files of this folder. Functions return 0, or -1 with an err. */
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

/* {{{ block.c */

/* A new block at the end, or NULL: over the limits or out of memory. */
struct block *block_new(struct message *msg, enum block_type type, int32_t key, struct err *e);
void block_free(struct block *b);

/* The newest block with that key, or NULL. Most parts go where the last one went. */
struct block *block_search(struct message *msg, int32_t key);
static inline struct block *block_find(struct message *msg, int32_t key) {
  if (msg->last >= 0 && msg->blocks[msg->last].key == key) return &msg->blocks[msg->last];
  return block_search(msg, key);
}

/* The block whose text the part replaces, or NULL: it appends. */
struct block *block_corrected(struct message *msg, const struct event *part, enum block_type type);

/* Appends to what b holds; replaces it. */
static inline int block_keep(struct buf *b, struct str s, struct err *e) {
  return buf_addstr(b, s) == 0 ? 0 : err_memory(e);
}
int block_replace(struct buf *b, struct str s, struct err *e);

/* Appends a delta. */
static inline int delta_push(struct events *deltas, enum event_type type, struct str id, struct str name, struct str text,
                             struct err *e) {
  struct event *d = events_push(deltas, type, 0);
  if (d == NULL) return err_memory(e);
  d->id = id;
  d->name = name;
  d->text = text;
  return 0;
}

/* }}} */

/* {{{ run.c: text, thinking, refusal */

/* Adds a part's text to the block of its type and key, opened if need be. */
int run_add(struct message *msg, const struct event *part, enum block_type type, struct events *deltas, struct err *e);

/* The block that a part of this kind and key goes to, opened if need be (NULL: failed); others of the three kinds are
** ended first. */
struct block *run_open(struct message *msg, enum block_type type, int32_t key, struct events *deltas, struct err *e);

/* Ends the open block, if there is one. */
int run_close(struct message *msg, struct events *deltas, struct err *e);

/* The last open tool call has ended: what was held back comes out. */
int run_release(struct message *msg, struct events *deltas, struct err *e);

/* Rewrites s (WTF-8) into msg->scratch as UTF-8, behind the half that b held from the last part; a high surrogate at the
** very end is held for the next one. */
int run_join_surrogates(struct message *msg, struct block *b, struct str *s, struct err *e);

/* }}} */

/* {{{ tool.c: calls */

/* Add a part: of a call's id and name; of its arguments. Each opens the call if need be. */
int tool_add(struct message *msg, const struct event *part, struct events *deltas, struct err *e);
int tool_add_arguments(struct message *msg, const struct event *part, struct events *deltas, struct err *e);

/* Completes a call; nothing when it is complete. Fails when it has no name. */
int tool_end(struct message *msg, struct block *b, struct events *deltas, struct err *e);

/* }}} */

/* {{{ logprobs.c */

/* The logprobs of the answer's tokens: an array, as message.h says. NULL: memory. */
struct node *logprobs_node(const struct message *msg, struct arena *a);

/* }}} */

/* True for the call of the tool that the answer itself comes in. */
static inline int is_output(const struct message *msg, const struct block *b) {
  return b->type == BLOCK_TOOL && msg->output_tool.n > 0 && str_same(buf_str(&b->name), msg->output_tool);
}

/* The character that stands for half a surrogate pair whose other half did not come. */
#define REPLACEMENT ((struct str){ "\xEF\xBF\xBD", 3 })

#pragma GCC visibility pop

#endif
