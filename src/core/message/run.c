/*
** run.c: text, thinking and refusal, of which one is open at a time. See block.h.
** While a tool call is open their deltas are held back, as nothing may stand between its start and its end; they follow it.
** Fails with -1 and an err.
*/
#include "block.h"

static const struct { enum event_type start, delta, end; } RUN[] = {
  [BLOCK_TEXT] = { EV_TEXT_START, EV_TEXT_DELTA, EV_TEXT_END },
  [BLOCK_THINKING] = { EV_THINKING_START, EV_THINKING_DELTA, EV_THINKING_END },
  [BLOCK_REFUSAL] = { EV_NONE, EV_NONE, EV_NONE } /* refusals emit nothing */
};

static int is_run(const struct block *b) {
  return b->type == BLOCK_TEXT || b->type == BLOCK_THINKING || b->type == BLOCK_REFUSAL;
}

static int run_append(struct block *b, struct str s, struct events *deltas, struct err *e) {
  if (s.n == 0) return 0;
  if (block_keep(&b->text, s, e) != 0) return -1;
  if (RUN[b->type].delta == EV_NONE || !b->started) return 0;
  return delta_push(deltas, RUN[b->type].delta, STR_NONE, STR_NONE, s, e);
}

static int run_start(struct block *b, struct events *deltas, struct err *e) {
  b->started = 1;
  if (RUN[b->type].start == EV_NONE) return 0;
  return delta_push(deltas, RUN[b->type].start, STR_NONE, STR_NONE, STR_NONE, e);
}

int run_close(struct message *msg, struct events *deltas, struct err *e) {
  struct block *b;
  if (msg->open < 0) return 0;
  b = &msg->blocks[msg->open];
  if (b->has_high) {
    b->has_high = 0;
    if (run_append(b, REPLACEMENT, deltas, e) != 0) return -1;
  }
  msg->open = -1;
  b->ended = 1;
  if (RUN[b->type].end == EV_NONE || !b->started) return 0;
  return delta_push(deltas, RUN[b->type].end, STR_NONE, STR_NONE, STR_NONE, e);
}

struct block *run_open(struct message *msg, enum block_type type, int32_t key, struct events *deltas, struct err *e) {
  struct block *b = block_find(msg, key);
  if (b != NULL && b->type == type && !b->ended) return b;
  if (run_close(msg, deltas, e) != 0 || (b = block_new(msg, type, key, e)) == NULL) return NULL;
  msg->open = (int)msg->n - 1;
  if (msg->tools_open == 0 && run_start(b, deltas, e) != 0) return NULL;
  return b;
}

int run_release(struct message *msg, struct events *deltas, struct err *e) {
  for (size_t i = 0; i < msg->n; i++) {
    struct block *b = &msg->blocks[i];
    if (!is_run(b) || b->started) continue;
    if (run_start(b, deltas, e) != 0) return -1;
    if (RUN[b->type].delta == EV_NONE) continue;
    if (b->text.n > 0 && delta_push(deltas, RUN[b->type].delta, STR_NONE, STR_NONE, buf_str(&b->text), e) != 0) return -1;
    if (b->ended && delta_push(deltas, RUN[b->type].end, STR_NONE, STR_NONE, STR_NONE, e) != 0) return -1;
  }
  return 0;
}

static int ends_high(const struct buf *b) {
  return b->n >= 3 && (unsigned char)b->p[b->n - 3] == 0xED && ((unsigned char)b->p[b->n - 2] & 0xF0) == 0xA0;
}

int run_join_surrogates(struct message *msg, struct block *b, struct str *s, struct err *e) {
  struct buf *out = &msg->scratch;
  out->n = 0;
  if ((b->has_high && buf_add(out, b->high, 3) != 0) || buf_addstr(out, *s) != 0) return err_memory(e);
  b->has_high = 0;
  if (ends_high(out)) {
    out->n -= 3;
    memcpy(b->high, out->p + out->n, 3);
    b->has_high = 1;
  }
  out->n = json_join_surrogates(out->p, out->n);
  *s = buf_str(out);
  return 0;
}

int run_add(struct message *msg, const struct event *part, enum block_type type, struct events *deltas, struct err *e) {
  struct str s = part->text;
  struct block *b = block_corrected(msg, part, type);
  if (b != NULL) {
    b->has_high = 0;
    return block_replace(&b->text, s, e);
  }
  if (s.n == 0) return 0;
  b = run_open(msg, type, part->key, deltas, e);
  if (b == NULL) return -1;
  if (((part->flags & EVENT_SURROGATE) || b->has_high) && run_join_surrogates(msg, b, &s, e) != 0) return -1;
  return run_append(b, s, deltas, e);
}
