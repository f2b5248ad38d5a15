/*
** tool.c: the tool calls of a message: when one starts, which id it gets, its arguments. See block.h.
** Fails with -1 and an err.
*/
#include "block.h"

#include <stdio.h>

static int blank(struct str s) {
  for (size_t i = 0; i < s.n; i++)
    if (strchr(" \t\r\n", s.p[i]) == NULL || s.p[i] == '\0') return 0;
  return 1;
}

/* 64-bit FNV-1a from a seed: ids only need to differ, not to be secret. */
static uint64_t hash(uint64_t h, const void *p, size_t n) {
  const unsigned char *s = p;
  /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): clang 14 loses the bytes of integers */
  for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * 0x100000001B3u;
  return h ^ (h >> 29);
}

/* An id for a call that came without one: call_ and 24 hex digits over response id, length of the request, ordinal. */
static int synthesise_id(struct message *msg, struct block *b, struct err *e) {
  uint64_t v[2] = { msg->request_messages, (uint64_t)(b - msg->blocks) };
  uint64_t h1 = hash(hash(0xCBF29CE484222325u, msg->id.p, msg->id.n), v, sizeof v);
  uint64_t h2 = hash(hash(0x9E3779B97F4A7C15u, msg->id.p, msg->id.n), v, sizeof v);
  char id[32];
  int n = snprintf(id, sizeof id, "call_%016llx%08llx", (unsigned long long)h1, (unsigned long long)(h2 & 0xFFFFFFFFu));
  return block_replace(&b->id, (struct str){ id, (size_t)n }, e);
}

static uint64_t id_hash(const struct buf *id) { return hash(0xCBF29CE484222325u, id->p, id->n); }

/* True when a call that has started has b's id. */
static int id_taken(const struct message *msg, const struct block *b) {
  for (size_t i = 0; i < msg->n; i++) {
    const struct block *c = &msg->blocks[i];
    if (c != b && c->type == BLOCK_TOOL && c->started && c->hash == b->hash &&
        str_same(buf_str(&c->id), buf_str(&b->id))) return 1;
  }
  return 0;
}

/* Two calls of one message may not share an id: the later one gets _2, _3, … Hashes are compared first, so that equal ids,
** however long, cost little more than others. */
static int unique_id(struct message *msg, struct block *b, struct err *e) {
  size_t n = b->id.n;
  b->hash = id_hash(&b->id);
  for (int k = 2; id_taken(msg, b); k++) {
    char suffix[16];
    int len = snprintf(suffix, sizeof suffix, "_%d", k);
    b->id.n = n;
    if (buf_add(&b->id, suffix, (size_t)len) != 0) return err_memory(e);
    b->hash = id_hash(&b->id);
  }
  return 0;
}

/* Pushes TOOL_START once the name and (an id or the first argument byte, or `now`) are there. */
static int tool_start(struct message *msg, struct block *b, int now, struct events *deltas, struct err *e) {
  if (b->started || b->name.n == 0 || (b->id.n == 0 && b->text.n == 0 && !now)) return 0;
  if (run_close(msg, deltas, e) != 0) return -1;
  if (b->id.n == 0 && synthesise_id(msg, b, e) != 0) return -1;
  if (unique_id(msg, b, e) != 0) return -1;
  b->started = 1;
  msg->tools_open++;
  if (delta_push(deltas, EV_TOOL_START, buf_str(&b->id), buf_str(&b->name), STR_NONE, e) != 0) return -1;
  if (b->text.n == 0) return 0;
  return delta_push(deltas, EV_TOOL_DELTA, buf_str(&b->id), STR_NONE, buf_str(&b->text), e);
}

/* Appends argument bytes; they are handed on once the call has started. */
static int tool_append(struct message *msg, struct block *b, struct str s, struct events *deltas, struct err *e) {
  if (s.n == 0) return 0;
  if (limits_check_arguments(msg->limits, b->text.n + s.n, e) != 0) return -1;
  if (block_keep(&b->text, s, e) != 0) return -1;
  if (!b->started) return tool_start(msg, b, 0, deltas, e);
  return delta_push(deltas, EV_TOOL_DELTA, buf_str(&b->id), STR_NONE, s, e);
}

int tool_end(struct message *msg, struct block *b, struct events *deltas, struct err *e) {
  if (b->ended) return 0;
  if (b->has_high) {
    b->has_high = 0;
    if (tool_append(msg, b, REPLACEMENT, deltas, e) != 0) return -1;
  }
  if (b->name.n == 0) {
    return err_set(e, KIND_PROTOCOL, "the provider sent a tool call without a name");
  }
  if (tool_start(msg, b, 1, deltas, e) != 0) return -1;
  b->ended = 1;
  if (delta_push(deltas, EV_TOOL_END, buf_str(&b->id), STR_NONE, STR_NONE, e) != 0) return -1;
  return --msg->tools_open == 0 ? run_release(msg, deltas, e) : 0;
}

static struct block *tool_open(struct message *msg, int32_t key, struct events *deltas, struct err *e) {
  struct block *b = block_find(msg, key);
  if (b != NULL && b->type == BLOCK_TOOL && !b->ended) return b;
  if (run_close(msg, deltas, e) != 0) return NULL;
  return block_new(msg, BLOCK_TOOL, key, e);
}

/* Keeps what a call goes by, of `max` bytes at most. */
static int keep_label(struct buf *b, struct str s, const char *what, int max, struct err *e) {
  if (s.n > (size_t)max) return err_set(e, KIND_LIMIT, "a tool call's %s exceeds %d bytes", what, max);
  return block_keep(b, s, e);
}

int tool_add(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct block *b = tool_open(msg, part->key, deltas, e);
  if (b == NULL) return -1;
  if (b->id.n == 0 && !blank(part->id) && keep_label(&b->id, part->id, "id", TOOL_CALL_ID_MAX, e) != 0) return -1;
  if (b->name.n == 0 && keep_label(&b->name, part->name, "name", TOOL_CALL_NAME_MAX, e) != 0) return -1;
  return tool_start(msg, b, 0, deltas, e);
}

int tool_add_arguments(struct message *msg, const struct event *part, struct events *deltas, struct err *e) {
  struct str s = part->text;
  struct block *b = block_corrected(msg, part, BLOCK_TOOL);
  if (b != NULL) {
    b->has_high = 0;
    return limits_check_arguments(msg->limits, s.n, e) == 0 ? block_replace(&b->text, s, e) : -1;
  }
  if (s.n == 0) return 0;
  b = tool_open(msg, part->key, deltas, e);
  if (b == NULL) return -1;
  if (((part->flags & EVENT_SURROGATE) || b->has_high) && run_join_surrogates(msg, b, &s, e) != 0) return -1;
  return tool_append(msg, b, s, deltas, e);
}
