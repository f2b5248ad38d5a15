/*
** block.c: content blocks of Converse, from their beginning to their stop. A stream and a plain answer go through the
** same functions, so that both give the same message. Text and reasoning have no beginning on the wire: their first piece
** opens the block.
** An open block owns its buffers until it stops; parts borrow from the arena and the event's bytes. Failure: -1 and an
** err.
*/
#include "bedrock.h"
#include "core/bytes/base64.h"
#include "core/codec/shared/read.h"

/* {{{ small parts */

/* The bytes of b in the arena; p NULL: memory. */
static struct str settle(struct bedrock *s, const struct buf *b, struct err *e) {
  struct str copy = arena_dup(s->p->a, buf_str(b));
  if (copy.p == NULL) err_memory(e);
  return copy;
}

/* }}} */

/* {{{ text, which may hold reasoning */

/* A piece that the filter lets go. Each thought is a block of its own. */
static int pass(struct bedrock *s, enum think_kind kind, struct str piece, unsigned flags, struct events *out,
                struct err *e) {
  struct event *ev;
  if (kind == THINK_OPENED || kind == THINK_CLOSED) s->run = THINK_NONE;
  if (kind != THINK_TEXT && kind != THINK_THOUGHT) return 0;
  if (s->run != kind) s->run_key = s->blocks.next_key++;
  s->run = kind;
  ev = codec_push(out, kind == THINK_TEXT ? PART_TEXT : PART_THINKING, s->run_key, piece, e);
  if (ev == NULL) return -1;
  ev->flags = flags;
  return 0;
}

/* Text of a block. */
static int say(struct bedrock *s, struct open_block *b, struct str text, unsigned flags, struct events *out,
               struct err *e) {
  struct str piece;
  int kind;
  if (!s->inline_think) {
    struct event *ev = codec_push(out, PART_TEXT, b->key, text, e);
    if (ev != NULL) ev->flags = flags;
    return ev == NULL ? -1 : 0;
  }
  do {
    kind = think_next(&s->think, s->p->a, &text, &piece);
    if (kind < 0) return err_memory(e);
    if (pass(s, (enum think_kind)kind, piece, flags, out, e) != 0) return -1;
  } while (kind != THINK_NONE);
  return 0;
}

/* Passes on the text that the filter holds back, where the text pauses or ends; nothing when it is not used. */
static int let_go(struct bedrock *s, int end, struct events *out, struct err *e) {
  struct str piece;
  int kind;
  if (!s->inline_think) return 0;
  kind = end ? think_end(&s->think, s->p->a, &piece) : think_pause(&s->think, s->p->a, &piece);
  if (kind < 0) return err_memory(e);
  return pass(s, (enum think_kind)kind, piece, 0, out, e);
}

/* }}} */

/* {{{ beginning */

/* Keeps the members of what a block begins with, but for those that its pieces bring. */
static int keep_start(struct bedrock *s, struct open_block *b, struct str json, struct err *e) {
  struct json j;
  json_open(&j, json, s->p->limits->depth, e);
  if (json_next(&j) != J_OBJECT) return 0;
  while (json_next(&j) == J_KEY) {
    int brought = json_is(&j, "input") || json_is(&j, "content");
    if ((brought ? json_skip(&j) : codec_extra(&b->raw, &j)) != 0) return -1;
  }
  return 0;
}

int bedrock_begin(struct bedrock *s, const struct bedrock_piece *piece, struct events *out, struct err *e) {
  int call = str_eq(piece->start_name, "toolUse"), hosted = piece->type.n > 0;
  struct open_block *b = blocks_find(&s->blocks, piece->index);
  struct event *ev;
  if (b != NULL && b->kind == BEDROCK_TOOL) /* what it has so far would be a call of its own */
    return err_set(e, KIND_PROTOCOL, "a tool call begins twice");
  if (bedrock_stop(s, piece->index, out, e) != 0) return -1;
  if (!call && !str_eq(piece->start_name, "toolResult")) return 0; /* its pieces are unknown, too */
  b = blocks_add(&s->blocks, piece->index, call && !hosted ? BEDROCK_TOOL : BEDROCK_OTHER, e);
  if (b == NULL || let_go(s, 0, out, e) != 0) return -1;
  s->run = THINK_NONE;
  if (b->kind == BEDROCK_OTHER) {
    b->name = call ? STR("toolUse") : STR("toolResult");
    s->hosted = 1;
    return keep_start(s, b, piece->start, e);
  }
  s->tools++;
  if ((ev = codec_push(out, PART_TOOL, b->key, STR_NONE, e)) == NULL) return -1;
  ev->id = piece->id;
  ev->name = piece->name;
  return 0;
}

/* }}} */

/* {{{ pieces */

/* The open block of a piece, of this kind; another one of its index ends before. NULL: *e. */
static struct open_block *block_of(struct bedrock *s, int64_t index, enum bedrock_kind kind, struct events *out,
                                      struct err *e) {
  struct open_block *b = blocks_find(&s->blocks, index);
  if (b != NULL && b->kind == (int)kind) return b;
  if (bedrock_stop(s, index, out, e) != 0) return NULL;
  if (kind != BEDROCK_TEXT) {
    if (let_go(s, 0, out, e) != 0) return NULL;
    s->run = THINK_NONE;
  }
  return blocks_add(&s->blocks, index, (int)kind, e);
}

static int take_text(struct bedrock *s, const struct bedrock_piece *piece, struct events *out, struct err *e) {
  struct open_block *b;
  if (piece->text.n == 0 && piece->citation.n == 0 && piece->citations.n == 0) return 0; /* opens nothing */
  if ((b = block_of(s, piece->index, BEDROCK_TEXT, out, e)) == NULL) return -1;
  if (piece->citation.n > 0 && codec_join(&b->raw, piece->citation, e) != 0) return -1;
  if (codec_join_all(s->p, &b->raw, piece->citations, e) != 0) return -1;
  return piece->text.n > 0 ? say(s, b, piece->text, piece->text_flags, out, e) : 0;
}

static int take_thinking(struct bedrock *s, const struct bedrock_piece *piece, struct events *out, struct err *e) {
  struct open_block *b;
  struct event *ev;
  if (piece->thinking.n == 0 && piece->signature.n == 0) return 0;
  if ((b = block_of(s, piece->index, BEDROCK_THINKING, out, e)) == NULL) return -1;
  if (buf_addstr(&b->raw, piece->signature) != 0) return err_memory(e);
  if (piece->thinking.n == 0) return 0;
  if ((ev = codec_push(out, PART_THINKING, b->key, piece->thinking, e)) == NULL) return -1;
  ev->flags = piece->thinking_flags;
  return 0;
}

/* Appends the bytes of a piece of base64. */
static int decode(struct bedrock *s, struct open_block *b, struct str text, struct err *e) {
  struct str bytes = STR_NONE;
  int bad = base64_decode(s->p->a, text, &bytes);
  if (bad == -1) return err_set(e, KIND_PROTOCOL, "a piece of redacted reasoning is no base64");
  return bad != 0 || buf_addstr(&b->more, bytes) != 0 ? err_memory(e) : 0;
}

/* Encrypted reasoning: one piece goes on as it is, of several the bytes are joined. */
static int take_redacted(struct bedrock *s, const struct bedrock_piece *piece, struct events *out, struct err *e) {
  struct open_block *b;
  if (piece->redacted.n == 0) return 0;
  if ((b = block_of(s, piece->index, BEDROCK_REDACTED, out, e)) == NULL) return -1;
  if (b->pieces++ == 0) return buf_addstr(&b->raw, piece->redacted) == 0 ? 0 : err_memory(e);
  if (b->pieces == 2 && decode(s, b, buf_str(&b->raw), e) != 0) return -1;
  return decode(s, b, piece->redacted, e);
}

static int take_input(struct bedrock *s, const struct bedrock_piece *piece, struct events *out, struct err *e) {
  struct open_block *b = blocks_find(&s->blocks, piece->index);
  struct event *ev;
  if (piece->input.n == 0) return 0;
  if (b == NULL || (b->kind != BEDROCK_TOOL && b->kind != BEDROCK_OTHER))
    return err_set(e, KIND_PROTOCOL, "a tool call's input without its start");
  if (b->kind == BEDROCK_TOOL) {
    if ((ev = codec_push(out, PART_ARGS, b->key, piece->input, e)) == NULL) return -1;
    ev->flags = piece->input_flags;
    return 0;
  }
  if (!str_eq(b->name, "toolUse")) return 0;
  if (limits_check_arguments(s->p->limits, b->more.n + piece->input.n, e) != 0) return -1;
  return buf_addstr(&b->more, piece->input) == 0 ? 0 : err_memory(e);
}

static int take_results(struct bedrock *s, const struct bedrock_piece *piece, struct err *e) {
  struct open_block *b = blocks_find(&s->blocks, piece->index);
  if (piece->results.n == 0 || b == NULL || b->kind != BEDROCK_OTHER || !str_eq(b->name, "toolResult"))
    return 0;
  return codec_join_all(s->p, &b->more, piece->results, e);
}

int bedrock_take(struct bedrock *s, const struct bedrock_piece *piece, struct events *out, struct err *e) {
  if (take_text(s, piece, out, e) != 0 || take_thinking(s, piece, out, e) != 0) return -1;
  if (take_redacted(s, piece, out, e) != 0 || take_input(s, piece, out, e) != 0) return -1;
  return take_results(s, piece, e);
}

/* }}} */

/* {{{ stopping */

/* Ends the block that text goes to; where the filter made blocks of its own of it, the last one. */
static int stop_text(struct bedrock *s, struct open_block *b, struct events *out, struct err *e) {
  struct buf members;
  struct str raw = STR_NONE;
  int32_t key = b->key;
  int bad = 0;
  if (s->inline_think) {
    if (let_go(s, 0, out, e) != 0) return -1;
    if (s->run != THINK_TEXT) return 0; /* a thought may go on */
    key = s->run_key;
    s->run = THINK_NONE;
  }
  buf_init(&members, s->p->m);
  if (b->raw.n > 0) bad = codec_list(&members, STR("citations"), &b->raw, e);
  if (bad == 0) bad = codec_extra_end(s->p, &members, &raw, e);
  buf_free(&members);
  if (bad != 0 || (raw.n > 0 && codec_push(out, PART_RAW, key, raw, e) == NULL)) return -1;
  return codec_push(out, PART_END, key, STR_NONE, e) == NULL ? -1 : 0;
}

static int stop_thinking(struct bedrock *s, struct open_block *b, struct events *out, struct err *e) {
  if (b->raw.n > 0) {
    struct str signature = settle(s, &b->raw, e);
    if (signature.p == NULL || codec_push(out, PART_SIGNATURE, b->key, signature, e) == NULL) return -1;
  }
  return codec_push(out, PART_END, b->key, STR_NONE, e) == NULL ? -1 : 0;
}

static int stop_redacted(struct bedrock *s, struct open_block *b, struct events *out, struct err *e) {
  struct str data;
  if (b->pieces > 1) {
    b->raw.n = 0;
    if (base64_encode(&b->raw, buf_str(&b->more)) != 0) return err_memory(e);
  }
  data = settle(s, &b->raw, e);
  return data.p == NULL || codec_push(out, PART_REDACTED, b->key, data, e) == NULL ? -1 : 0;
}

/* Appends what the pieces of a block that is kept whole brought; input that a limit cut is no object, and cannot go
** back. */
static int add_brought(struct bedrock *s, struct open_block *b, struct err *e) {
  int call = str_eq(b->name, "toolUse");
  if (call && !codec_is_object(s->p, buf_str(&b->more))) return codec_member(&b->raw, STR("input"), STR("{}"), e);
  if (call) return codec_member(&b->raw, STR("input"), buf_str(&b->more), e);
  return codec_list(&b->raw, STR("content"), &b->more, e);
}

static int push_opaque(struct bedrock *s, int32_t key, struct str name, struct str json, struct events *out,
                       struct err *e) {
  struct event *ev;
  struct buf whole;
  struct str raw = STR_NONE;
  int bad;
  buf_init(&whole, s->p->m);
  bad = buf_addc(&whole, '{') != 0 || json_write_string(&whole, name) != 0 || buf_addc(&whole, ':') != 0 ||
        buf_addstr(&whole, json) != 0;
  if (bad) err_memory(e);
  else bad = codec_extra_end(s->p, &whole, &raw, e) != 0;
  buf_free(&whole);
  if (bad || (ev = codec_push(out, PART_OPAQUE, key, raw, e)) == NULL) return -1;
  ev->name = name;
  return 0;
}

static int stop_other(struct bedrock *s, struct open_block *b, struct events *out, struct err *e) {
  struct str inner = STR_NONE;
  if (add_brought(s, b, e) != 0 || codec_extra_end(s->p, &b->raw, &inner, e) != 0) return -1;
  return push_opaque(s, b->key, b->name, inner, out, e);
}

static int stop(struct bedrock *s, struct open_block *b, struct events *out, struct err *e) {
  switch ((enum bedrock_kind)b->kind) {
    case BEDROCK_TEXT: return stop_text(s, b, out, e);
    case BEDROCK_THINKING: return stop_thinking(s, b, out, e);
    case BEDROCK_REDACTED: return stop_redacted(s, b, out, e);
    case BEDROCK_OTHER: return stop_other(s, b, out, e);
    case BEDROCK_TOOL: break;
  }
  return codec_push(out, PART_END, b->key, STR_NONE, e) == NULL ? -1 : 0;
}

int bedrock_stop(struct bedrock *s, int64_t index, struct events *out, struct err *e) {
  struct open_block *b = blocks_find(&s->blocks, index);
  int r;
  if (b == NULL) return 0;
  r = stop(s, b, out, e);
  blocks_drop(&s->blocks, b);
  return r;
}

int bedrock_stop_all(struct bedrock *s, struct events *out, struct err *e) {
  while (s->blocks.n > 0)
    if (bedrock_stop(s, s->blocks.v[0].index, out, e) != 0) return -1;
  return let_go(s, 1, out, e);
}

int bedrock_keep(struct bedrock *s, struct str name, struct str json, struct events *out, struct err *e) {
  if (let_go(s, 0, out, e) != 0) return -1;
  s->run = THINK_NONE;
  return push_opaque(s, s->blocks.next_key++, name, json, out, e);
}

/* }}} */
