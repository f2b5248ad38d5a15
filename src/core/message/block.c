/*
** block.c: blocks of a message are made, found and filled here. See block.h.
** A block owns a buf per field; the message owns its blocks.
*/
#include "block.h"

void block_free(struct block *b) {
  buf_free(&b->text);
  buf_free(&b->id);
  buf_free(&b->name);
  buf_free(&b->signature);
  buf_free(&b->raw);
}

struct block *block_new(struct message *msg, enum block_type type, int32_t key, struct err *e) {
  struct block *b;
  if (msg->n >= (size_t)msg->limits->blocks) {
    err_set(e, KIND_LIMIT, "the answer has more than %d blocks (limits.blocks)", msg->limits->blocks);
    return NULL;
  }
  if (type == BLOCK_TOOL && msg->tools++ >= msg->limits->tool_calls) {
    err_set(e, KIND_LIMIT, "the answer has more than %d tool calls (limits.tool_calls)", msg->limits->tool_calls);
    return NULL;
  }
  b = mem_grow(msg->m, msg->blocks, msg->n, &msg->cap, sizeof *b);
  if (b == NULL) { err_memory(e); return NULL; }
  msg->blocks = b;
  b = &msg->blocks[msg->n++];
  memset(b, 0, sizeof *b);
  b->type = type;
  b->key = key;
  buf_init(&b->text, msg->m);
  buf_init(&b->id, msg->m);
  buf_init(&b->name, msg->m);
  buf_init(&b->signature, msg->m);
  buf_init(&b->raw, msg->m);
  msg->last = (int)msg->n - 1;
  return b;
}

struct block *block_search(struct message *msg, int32_t key) {
  for (size_t i = msg->n; i-- > 0;)
    if (msg->blocks[i].key == key) { msg->last = (int)i; return &msg->blocks[i]; }
  return NULL;
}

int block_replace(struct buf *b, struct str s, struct err *e) {
  b->n = 0;
  return block_keep(b, s, e);
}

struct block *block_corrected(struct message *msg, const struct event *part, enum block_type type) {
  struct block *b = part->flags & EVENT_REPLACE ? block_find(msg, part->key) : NULL;
  return b != NULL && b->type == type ? b : NULL;
}
