/*
** parse.c: answers of the Anthropic Messages format, streamed and plain, as parts.
** A stream is message_start, blocks (start, deltas, stop), message_delta, message_stop; only message_stop ends it.
** Events and deltas that are unknown are ignored, unknown blocks are kept whole.
** Parts borrow from the event's bytes and the arena, those of the message's end from the state too. Failure: -1 and an
** err.
*/
#include "anthropic.h"

#include <stdio.h>

/* {{{ state */

void anthropic_init(void *state, const struct parse *p) {
  struct anthropic *s = state;
  s->p = p;
  blocks_init(&s->blocks, p);
  buf_init(&s->id, p->m);
  buf_init(&s->stop_reason, p->m);
  buf_init(&s->stop_sequence, p->m);
}

void anthropic_free(void *state) {
  struct anthropic *s = state;
  blocks_free(&s->blocks);
  buf_free(&s->id);
  buf_free(&s->stop_reason);
  buf_free(&s->stop_sequence);
}

int anthropic_ended(const void *state) { return ((const struct anthropic *)state)->ended; }

/* }}} */

/* {{{ readers */

/* The members of a message or a message_delta about the end of the message; the container is raw. */
struct ending { struct str reason, sequence, category, explanation, container; };

/* After the key "stop_details": why a refusal was one. */
static int read_details(struct json *j, struct arena *a, struct ending *end) {
  if (json_next(j) != J_OBJECT) return json_skip(j);
  while (json_next(j) == J_KEY) {
    struct str *to = json_is(j, "category") ? &end->category : json_is(j, "explanation") ? &end->explanation : NULL;
    if ((to != NULL ? codec_string(j, a, to) : json_skip(j)) != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* Keeps the reason for the end of the message; a refusal's details become a warning, as they are no part of the message. */
static int keep_ending(struct anthropic *s, const struct ending *end, struct events *out, struct err *e) {
  struct event *ev;
  char *p;
  if (anthropic_push_container(s, end->container, out, e) != 0) return -1;
  if (end->reason.n > 0) {
    s->stopped = 1;
    if (codec_set(&s->stop_reason, end->reason, e) != 0 || codec_set(&s->stop_sequence, end->sequence, e) != 0) return -1;
  }
  if (end->category.n + end->explanation.n == 0) return 0;
  p = arena_alloc(s->p->a, end->category.n + end->explanation.n + 2);
  if (p == NULL || (ev = events_push(out, PART_WARNING, 0)) == NULL) return err_memory(e);
  ev->id = STR("refusal");
  ev->name = STR("stop_reason");
  ev->text.p = p;
  if (end->category.n > 0) { memcpy(p, end->category.p, end->category.n); p += end->category.n; }
  if (end->category.n > 0 && end->explanation.n > 0) { memcpy(p, ": ", 2); p += 2; }
  if (end->explanation.n > 0) { memcpy(p, end->explanation.p, end->explanation.n); p += end->explanation.n; }
  ev->text.n = (size_t)(p - ev->text.p);
  return 0;
}

/* }}} */

/* {{{ whole messages: message_start's, and a plain answer */

/* The members of a message object; content and usage are raw. */
struct whole {
  struct str type, id, model, content, usage;
  struct ending end;
};

static int read_message(struct anthropic *s, struct json *j, struct whole *w) {
  struct arena *a = s->p->a;
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "type") ? codec_string(j, a, &w->type)
          : json_is(j, "id") ? codec_string(j, a, &w->id)
          : json_is(j, "model") ? codec_string(j, a, &w->model)
          : json_is(j, "content") ? json_raw(j, &w->content)
          : json_is(j, "usage") ? json_raw(j, &w->usage)
          : json_is(j, "stop_reason") ? codec_string(j, a, &w->end.reason)
          : json_is(j, "stop_sequence") ? codec_string(j, a, &w->end.sequence)
          : json_is(j, "container") ? json_raw(j, &w->end.container)
          : json_is(j, "stop_details") ? read_details(j, a, &w->end) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* The blocks of a content array, each begun and stopped; anything but an array says nothing. No delta can mean them:
** their indexes are negative. */
static int push_content(struct anthropic *s, struct str json, struct events *out, struct err *e) {
  struct json j;
  if (json.n == 0 || json.p[0] != '[') return 0;
  json_open(&j, json, s->p->limits->depth, e);
  json_next(&j);
  while (json_next(&j) != J_ARRAY_END) {
    const char *from = j.start;
    if (json_skip(&j) != 0) return -1;
    if (anthropic_begin(s, -1, (struct str){ from, (size_t)(j.p - from) }, out, e) != 0) return -1;
    if (anthropic_stop(s, blocks_find(&s->blocks, -1), out, e) != 0) return -1;
  }
  return 0;
}

/* Pushes the id, the model, the blocks that are complete already and the usage; keeps the stop reason. */
static int push_message(struct anthropic *s, const struct whole *w, struct events *out, struct err *e) {
  struct event *ev = events_push(out, PART_META, 0);
  if (ev == NULL || codec_set(&s->id, w->id, e) != 0) return err_memory(e);
  ev->id = w->id;
  ev->name = w->model;
  s->begun = 1;
  if (push_content(s, w->content, out, e) != 0 || anthropic_usage(s, w->usage, out, e) != 0) return -1;
  return keep_ending(s, &w->end, out, e);
}

/* message_start. A second one of the same message is a proxy's echo; of another one, two answers run together. */
static int start_message(struct anthropic *s, struct str json, struct events *out, struct err *e) {
  struct whole w = { 0 };
  struct json j;
  json_open(&j, json, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "message_start without a message");
  if (read_message(s, &j, &w) != 0) return -1;
  if (!s->begun) return push_message(s, &w, out, e);
  if (w.id.n == 0 || str_same(w.id, buf_str(&s->id))) return 0;
  return err_set(e, KIND_PROTOCOL, "a second message began inside the first");
}

/* }}} */

/* {{{ deltas */

enum { D_TEXT, D_THINKING, D_JSON, D_SIGNATURE, D_COUNT };

/* The delta of a content_block_delta or a message_delta. */
struct delta {
  struct str type, text[D_COUNT];
  unsigned flags[D_COUNT];
  struct str citation, content; /* raw */
  struct ending end;
};

static int read_delta(struct anthropic *s, struct json *j, struct delta *d) {
  struct arena *a = s->p->a;
  if (json_next(j) != J_OBJECT) return json_skip(j);
  while (json_next(j) == J_KEY) {
    int i = json_is(j, "text") ? D_TEXT : json_is(j, "thinking") ? D_THINKING : json_is(j, "partial_json") ? D_JSON
          : json_is(j, "signature") ? D_SIGNATURE : D_COUNT;
    int r = i < D_COUNT ? codec_text(j, a, &d->text[i], &d->flags[i])
          : json_is(j, "type") ? codec_string(j, a, &d->type)
          : json_is(j, "citation") ? json_raw(j, &d->citation)
          : json_is(j, "content") ? json_raw(j, &d->content)
          : json_is(j, "stop_reason") ? codec_string(j, a, &d->end.reason)
          : json_is(j, "stop_sequence") ? codec_string(j, a, &d->end.sequence)
          : json_is(j, "container") ? json_raw(j, &d->end.container)
          : json_is(j, "stop_details") ? read_details(j, a, &d->end) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* Input of a tool that runs at the provider: kept until the block stops. */
static int keep_input(struct anthropic *s, struct open_block *b, struct str text, struct err *e) {
  if (text.n == 0) return 0;
  if (limits_check_arguments(s->p->limits, b->more.n + text.n, e) != 0) return -1;
  b->name = STR("input");
  return buf_addstr(&b->more, text) == 0 ? 0 : err_memory(e);
}

/* A delta of a block that is kept whole. */
static int merge_delta(struct anthropic *s, struct open_block *b, const struct delta *d, struct err *e) {
  if (str_eq(d->type, "input_json_delta")) return keep_input(s, b, d->text[D_JSON], e);
  if (!str_eq(d->type, "compaction_delta") || d->content.n == 0) return 0;
  b->name = STR("content");
  return codec_set(&b->more, d->content, e);
}

static int mismatch(const struct delta *d, struct err *e) {
  return err_set(e, KIND_PROTOCOL, "%.*s for a content block of another type", (int)d->type.n, d->type.p);
}

/* A block whose content_block_start a proxy left out: begun from what the delta says; *b NULL where that is nothing. */
static int imply(struct anthropic *s, int64_t index, const struct delta *d, struct open_block **b,
                 struct events *out, struct err *e) {
  struct str json = str_eq(d->type, "text_delta") ? STR("{\"type\":\"text\"}")
                  : str_eq(d->type, "thinking_delta") ? STR("{\"type\":\"thinking\"}") : STR_NONE;
  if (str_eq(d->type, "input_json_delta")) return err_set(e, KIND_PROTOCOL, "a tool call's input without its start");
  if (json.n > 0 && anthropic_begin(s, index, json, out, e) != 0) return -1;
  *b = blocks_find(&s->blocks, index);
  return 0;
}

/* Text of a block that is open: all that the event says. */
static int add_text(struct anthropic *s, struct open_block *b, enum event_type type, struct str text, unsigned flags,
                    struct events *out, struct err *e) {
  s->said = type;
  s->said_key = b->key;
  if (s->p->said != NULL) s->p->said->text = text;
  return anthropic_push(out, type, b->key, text, flags, e);
}

static int block_delta(struct anthropic *s, int64_t index, const struct delta *d, struct events *out, struct err *e) {
  struct open_block *b = blocks_find(&s->blocks, index);
  if (b == NULL && imply(s, index, d, &b, out, e) != 0) return -1;
  if (b == NULL) return 0;
  if (b->kind == ANTHROPIC_OTHER) return merge_delta(s, b, d, e);
  if (str_eq(d->type, "text_delta")) {
    if (b->kind != ANTHROPIC_TEXT) return mismatch(d, e);
    return add_text(s, b, PART_TEXT, d->text[D_TEXT], d->flags[D_TEXT], out, e);
  }
  if (str_eq(d->type, "input_json_delta")) {
    if (b->kind != ANTHROPIC_TOOL) return mismatch(d, e);
    if (d->text[D_JSON].n == 0) return 0;
    b->pieces = 1;
    return add_text(s, b, PART_ARGS, d->text[D_JSON], d->flags[D_JSON], out, e);
  }
  if (str_eq(d->type, "thinking_delta")) {
    if (b->kind != ANTHROPIC_THINKING) return mismatch(d, e);
    return add_text(s, b, PART_THINKING, d->text[D_THINKING], d->flags[D_THINKING], out, e);
  }
  if (str_eq(d->type, "signature_delta")) {
    if (b->kind != ANTHROPIC_THINKING) return mismatch(d, e);
    return anthropic_push(out, PART_SIGNATURE, b->key, d->text[D_SIGNATURE], 0, e);
  }
  if (str_eq(d->type, "citations_delta") && b->kind == ANTHROPIC_TEXT && d->citation.n > 0)
    return codec_join(&b->more, d->citation, e);
  return 0;
}

/* }}} */

/* {{{ events */

/* The members of an event that any of them has; raw but for type, index and delta. */
struct members {
  struct str type, message, block, usage;
  int has_error;
  int64_t index;
  struct delta delta;
};

static int read_error(struct json *j, int *has) {
  enum token t = json_next(j);
  *has = t == J_OBJECT || t == J_STRING;
  return json_skip(j);
}

static int read_members(struct anthropic *s, struct json *j, struct members *r) {
  while (json_next(j) == J_KEY) {
    int x = json_is(j, "type") ? codec_string(j, s->p->a, &r->type)
          : json_is(j, "index") ? codec_integer(j, &r->index)
          : json_is(j, "delta") ? read_delta(s, j, &r->delta)
          : json_is(j, "message") ? json_raw(j, &r->message)
          : json_is(j, "content_block") ? json_raw(j, &r->block)
          : json_is(j, "usage") ? json_raw(j, &r->usage)
          : json_is(j, "error") ? read_error(j, &r->has_error) : json_skip(j);
    if (x != 0) return -1;
  }
  return j->tok == J_OBJECT_END && json_next(j) == J_EOF ? 0 : -1;
}

/* The provider's own error object: fills *e with the status it maps to. */
static int fail(struct anthropic *s, struct str json, struct err *e) {
  struct node *v = json_tree(s->p->a, json, s->p->limits->depth, e);
  if (v == NULL) return -1;
  codec_error_node(s->p->a, 200, v, e);
  return -1;
}

static int stop_block(struct anthropic *s, int64_t index, struct events *out, struct err *e) {
  struct open_block *b = blocks_find(&s->blocks, index);
  return b == NULL ? 0 : anthropic_stop(s, b, out, e);
}

/* message_stop: blocks that were never stopped are stopped now. */
static int stop_message(struct anthropic *s, struct events *out, struct err *e) {
  while (s->blocks.n > 0)
    if (anthropic_stop(s, &s->blocks.v[0], out, e) != 0) return -1;
  s->ended = 1;
  return anthropic_push(out, PART_DONE, 0, STR_NONE, 0, e);
}

static int dispatch(struct anthropic *s, const struct members *r, struct str data, struct events *out, struct err *e) {
  if (str_eq(r->type, "content_block_delta")) return block_delta(s, r->index, &r->delta, out, e);
  if (str_eq(r->type, "content_block_start")) return anthropic_begin(s, r->index, r->block, out, e);
  if (str_eq(r->type, "content_block_stop")) return stop_block(s, r->index, out, e);
  if (str_eq(r->type, "message_start")) return start_message(s, r->message, out, e);
  if (str_eq(r->type, "message_delta")) {
    if (keep_ending(s, &r->delta.end, out, e) != 0) return -1;
    return anthropic_usage(s, r->usage, out, e);
  }
  if (str_eq(r->type, "message_stop")) return stop_message(s, out, e);
  return str_eq(r->type, "error") || (r->type.n == 0 && r->has_error) ? fail(s, data, e) : 0;
}

static int parse_event(void *state, const struct record *r, struct events *out, struct err *e) {
  struct anthropic *s = state;
  struct members m = { 0 };
  struct json j;
  if (s->ended || str_eq(r->data, "[DONE]")) return 0;
  json_open(&j, r->data, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "an event is no object");
  if (read_members(s, &j, &m) != 0) return -1;
  if (str_eq(r->name, "error")) m.type = r->name; /* its data may be the bare error, with a type of its own */
  if (m.type.n == 0 && !m.has_error) m.type = r->name;
  return dispatch(s, &m, r->data, out, e);
}

int anthropic_parse_record(void *state, const struct record *r, struct events *out, struct err *e) {
  const struct anthropic *s = state;
  return codec_record(s->p, r, parse_event, state, out, e);
}

int anthropic_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e) {
  const struct anthropic *s = state;
  return anthropic_push(out, s->said, s->said_key, text, flags, e);
}

/* }}} */

int anthropic_parse_body(void *state, struct str body, struct events *out, struct err *e) {
  struct anthropic *s = state;
  struct whole w = { 0 };
  struct json j;
  json_open(&j, body, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "the answer is no object");
  if (read_message(s, &j, &w) != 0 || json_next(&j) != J_EOF) return -1;
  if (!str_eq(w.type, "message") && (w.content.n == 0 || w.content.p[0] != '[')) {
    struct node *v = json_tree(s->p->a, body, s->p->limits->depth, e);
    if (v == NULL) return -1;
    if (str_eq(w.type, "error") || node_get(v, "error") != NULL) return fail(s, body, e);
    return err_set(e, KIND_PROTOCOL, "the answer is no message of the Anthropic Messages format");
  }
  if (push_message(s, &w, out, e) != 0) return -1;
  s->ended = 1;
  return 0;
}

/* The canonical stop reason, or STOP_NONE for a word that is not known. */
static enum stop stop_of(struct str reason) {
  static const struct { const char *word; enum stop stop; } STOPS[] = {
    { "end_turn", STOP_END_TURN }, { "tool_use", STOP_TOOL_USE }, { "max_tokens", STOP_MAX_TOKENS },
    { "stop_sequence", STOP_SEQUENCE }, { "pause_turn", STOP_PAUSE_TURN }, { "refusal", STOP_REFUSAL },
    { "model_context_window_exceeded", STOP_CONTEXT_OVERFLOW }
  };
  for (size_t i = 0; i < sizeof STOPS / sizeof STOPS[0]; i++)
    if (str_is(reason, STOPS[i].word, strlen(STOPS[i].word))) return STOPS[i].stop;
  return STOP_NONE;
}

/* A message with stop_reason tool_use and without a call would leave the caller nothing to answer. */
static int no_calls(struct err *e) {
  err_set(e, KIND_PROTOCOL, "the model stopped for a tool call but sent none");
  snprintf(e->code, sizeof e->code, "empty_tool_turn");
  e->retryable = 1;
  return -1;
}

int anthropic_parse_end(void *state, struct events *out, struct err *e) {
  struct anthropic *s = state;
  struct str reason = buf_str(&s->stop_reason);
  enum stop stop = stop_of(reason);
  struct event *ev;
  if (!s->stopped) return 0;
  if (stop == STOP_TOOL_USE && s->tools == 0) return no_calls(e);
  if (stop == STOP_END_TURN && s->stop_sequence.n > 0 && s->tools == 0) stop = STOP_SEQUENCE; /* llama.cpp */
  if (stop == STOP_NONE) {
    stop = STOP_END_TURN;
    if ((ev = events_push(out, PART_WARNING, 0)) == NULL) return err_memory(e);
    ev->id = STR("unknown_stop_reason");
    ev->name = STR("stop_reason");
    ev->text = reason;
  }
  if ((ev = events_push(out, PART_STOP, 0)) == NULL) return err_memory(e);
  ev->stop = stop;
  ev->text = reason;
  ev->name = buf_str(&s->stop_sequence);
  return 0;
}
