/*
** parse.c: answers of Converse, streamed and plain, as parts. A stream is messageStart, blocks (start of tool calls alone,
** deltas, stop), messageStop, which ends the message, and metadata, which says what it used. Blocks are unions by key,
** without a type. Events and deltas that are unknown are ignored, unknown blocks of plain answers are kept whole.
** Parts borrow from the event's bytes and the arena, those of the message's end from the state too. Failure: -1 and an
** err.
*/
#include "bedrock.h"
#include "core/codec/shared/read.h"

#include <stdio.h>

/* {{{ state */

void bedrock_init(void *state, const struct parse *p) {
  struct bedrock *s = state;
  s->p = p;
  blocks_init(&s->blocks, p);
  s->inline_think = p->quirks->inline_think;
  if (is_family(p->quirks, "nova")) think_init_thinking(&s->think, p->m);
  else think_init(&s->think, p->m);
  buf_init(&s->stop_reason, p->m);
  buf_init(&s->stop_sequence, p->m);
}

void bedrock_free(void *state) {
  struct bedrock *s = state;
  blocks_free(&s->blocks);
  think_free(&s->think);
  buf_free(&s->stop_reason);
  buf_free(&s->stop_sequence);
}

int bedrock_ended(const void *state) { return ((const struct bedrock *)state)->ended; }

/* }}} */

/* {{{ readers of members */

/* reasoningContent: {reasoningText: {text, signature}}, {redactedContent}, and in deltas {text}, {signature}. */
static int read_reasoning(struct json *j, struct arena *a, struct bedrock_piece *d, int depth) {
  if (json_next(j) != J_OBJECT) return codec_odd(j, "reasoning is no object");
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "text") ? codec_said(j, a, &d->thinking, &d->thinking_flags, "reasoning is no text")
          : json_is(j, "signature") ? codec_word(j, a, &d->signature)
          : json_is(j, "redactedContent") ? codec_word(j, a, &d->redacted)
          : json_is(j, "reasoningText") && depth == 0 ? read_reasoning(j, a, d, 1) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* toolUse, of a start, a delta or a whole block. */
static int read_call(struct bedrock *s, struct json *j, struct bedrock_piece *d) {
  struct arena *a = s->p->a;
  if (json_next(j) != J_OBJECT) return codec_odd(j, "a call is no object");
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "toolUseId") ? codec_word(j, a, &d->id)
          : json_is(j, "name") ? codec_word(j, a, &d->name)
          : json_is(j, "type") ? codec_word(j, a, &d->type)
          : json_is(j, "input") ? codec_arguments(s->p, j, &d->input, &d->input_flags, &d->input_whole) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* [{text}], joined. */
static int read_cited_texts(struct bedrock *s, struct json *j, struct bedrock_piece *d, struct buf *text, struct err *e) {
  int more;
  if (json_next(j) != J_ARRAY) return codec_odd(j, "cited content is no array");
  while ((more = codec_next_object(j)) == 1) {
    struct str piece = STR_NONE;
    while (json_next(j) == J_KEY) {
      int r = json_is(j, "text") ? codec_said(j, s->p->a, &piece, &d->text_flags, "cited content is no text") : json_skip(j);
      if (r != 0) return -1;
    }
    if (j->tok != J_OBJECT_END) return -1;
    if (buf_addstr(text, piece) != 0) return err_memory(e);
  }
  return more;
}

/* citationsContent: {content: [{text}], citations: […]}. */
static int read_cited(struct bedrock *s, struct json *j, struct bedrock_piece *d, struct buf *text, struct err *e) {
  if (json_next(j) != J_OBJECT) return codec_odd(j, "cited content is no object");
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "citations") ? codec_raw(j, &d->citations)
          : json_is(j, "content") ? read_cited_texts(s, j, d, text, e) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* {delta: {stop_sequence}} or {stop_sequence}: what additionalModelResponseFieldPaths asked for. */
static int read_fields(struct json *j, struct arena *a, struct str *sequence, struct str *reason, int depth) {
  if (json_next(j) != J_OBJECT) return json_skip(j);
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "stop_sequence") ? codec_word(j, a, sequence)
          : json_is(j, "stop_reason") ? codec_word(j, a, reason)
          : json_is(j, "delta") && depth == 0 ? read_fields(j, a, sequence, reason, 1) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* serviceTier: {type}. */
static int read_tier(struct json *j, struct arena *a, struct str *tier) {
  if (json_next(j) != J_OBJECT) return json_skip(j);
  while (json_next(j) == J_KEY)
    if ((json_is(j, "type") ? codec_word(j, a, tier) : json_skip(j)) != 0) return -1;
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* }}} */

/* {{{ events */

/* The members of an event that any of them has. */
struct members {
  struct bedrock_piece piece;
  struct str reason, sequence, model_reason, usage, tier;
};

/* {toolUse: {…}} or {toolResult: {…}}: how a block begins. */
static int read_start(struct bedrock *s, struct json *j, struct bedrock_piece *d, struct err *e) {
  if (json_next(j) != J_OBJECT) return codec_odd(j, "the start of a block is no object");
  while (json_next(j) == J_KEY) {
    struct json inner;
    struct str name = STR_NONE;
    if (json_text(j, s->p->a, &name) != 0) return err_memory(e);
    if (json_raw(j, &d->start) != 0) return -1;
    d->start_name = name;
    json_open(&inner, d->start, s->p->limits->depth, e);
    if (str_eq(name, "toolUse") && read_call(s, &inner, d) != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

static int read_delta(struct bedrock *s, struct json *j, struct bedrock_piece *d) {
  struct arena *a = s->p->a;
  if (json_next(j) != J_OBJECT) return codec_odd(j, "a delta is no object");
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "text") ? codec_said(j, a, &d->text, &d->text_flags, "a delta's text is none")
          : json_is(j, "toolUse") ? read_call(s, j, d)
          : json_is(j, "reasoningContent") ? read_reasoning(j, a, d, 0)
          : json_is(j, "citation") ? codec_raw(j, &d->citation)
          : json_is(j, "toolResult") ? codec_raw(j, &d->results) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

static int read_members(struct bedrock *s, struct str data, struct members *m, struct err *e) {
  struct arena *a = s->p->a;
  struct json j;
  json_open(&j, data, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "an event is no object");
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "contentBlockIndex") ? codec_integer(&j, &m->piece.index)
          : json_is(&j, "delta") ? read_delta(s, &j, &m->piece)
          : json_is(&j, "start") ? read_start(s, &j, &m->piece, e)
          : json_is(&j, "stopReason") ? codec_word(&j, a, &m->reason)
          : json_is(&j, "additionalModelResponseFields") ? read_fields(&j, a, &m->sequence, &m->model_reason, 0)
          : json_is(&j, "usage") ? json_raw(&j, &m->usage)
          : json_is(&j, "serviceTier") ? read_tier(&j, a, &m->tier) : json_skip(&j);
    if (r != 0) return -1;
  }
  return j.tok == J_OBJECT_END && json_next(&j) == J_EOF ? 0 : -1;
}

/* Words for an answer that the model or the service spoilt: 0, or -1 and *e. */
static int check_reason(struct str reason, struct err *e) {
  if (!str_eq(reason, "malformed_model_output") && !str_eq(reason, "malformed_tool_use")) return 0;
  err_set(e, KIND_SERVER, "the model's answer is malformed (%.*s)", (int)reason.n, reason.p);
  (void)snprintf(e->code, sizeof e->code, "%.*s", (int)reason.n, reason.p);
  e->status = 500;
  e->retryable = 1;
  return -1;
}

/* Keeps why the message ended. */
static int keep_reason(struct bedrock *s, const struct members *m, struct err *e) {
  s->stopped = 1;
  s->refused = str_eq(m->model_reason, "refusal") || str_eq(m->reason, "refusal");
  return codec_set(&s->stop_reason, m->reason, e) != 0 || codec_set(&s->stop_sequence, m->sequence, e) != 0 ? -1 : 0;
}

static int push_done(struct events *out, struct err *e) {
  return events_push(out, PART_DONE, 0) == NULL ? err_memory(e) : 0;
}

/* messageStop: blocks that were never stopped are stopped now. */
static int stop_message(struct bedrock *s, const struct members *m, struct events *out, struct err *e) {
  if (s->ended) return 0;
  if (bedrock_stop_all(s, out, e) != 0 || check_reason(m->reason, e) != 0 || keep_reason(s, m, e) != 0) return -1;
  s->ended = 1;
  return s->metadata ? push_done(out, e) : 0;
}

/* metadata, the last event there is. */
static int read_metadata(struct bedrock *s, const struct members *m, struct events *out, struct err *e) {
  s->metadata = 1;
  if (bedrock_usage(s, m->usage, m->tier, out, e) != 0) return -1;
  return s->ended ? push_done(out, e) : 0;
}

static const char *const EVENTS[] = {
  "contentBlockDelta", "contentBlockStart", "contentBlockStop", "messageStop", "metadata"
};
enum { DELTA, START, STOP, MESSAGE_STOP, METADATA, EVENT_COUNT };

static int event_of(struct str name) {
  int i = 0;
  while (i < EVENT_COUNT && !str_is(name, EVENTS[i], strlen(EVENTS[i]))) i++;
  return i;
}

/* An exception. Behind the end of the message it takes nothing from that. */
static int read_fault(struct bedrock *s, const struct record *r, struct events *out, struct err *e) {
  if (s->ended) return push_done(out, e);
  bedrock_read_fault(s->p->a, r->name, r->data, e);
  return -1;
}

/* Notes the text of a piece that says nothing else. */
static void note_text(struct bedrock *s, const struct bedrock_piece *d) {
  size_t texts = d->text.n + d->thinking.n + d->input.n;
  if (s->p->said == NULL || d->input_whole ||
      d->signature.n + d->redacted.n + d->citation.n + d->citations.n + d->results.n > 0) return;
  s->said = d->text.n == texts ? BEDROCK_TEXT : d->thinking.n == texts ? BEDROCK_THINKING : BEDROCK_TOOL;
  s->said_index = d->index;
  s->p->said->text = d->text.n == texts ? d->text : d->thinking.n == texts ? d->thinking
              : d->input.n == texts ? d->input : STR_NONE;
}

static int take_delta(struct bedrock *s, const struct bedrock_piece *d, struct events *out, struct err *e) {
  if (bedrock_take(s, d, out, e) != 0) return -1;
  note_text(s, d);
  return 0;
}

int bedrock_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e) {
  struct bedrock *s = state;
  struct bedrock_piece d = { .index = s->said_index };
  *(s->said == BEDROCK_TEXT ? &d.text : s->said == BEDROCK_THINKING ? &d.thinking : &d.input) = text;
  *(s->said == BEDROCK_TEXT ? &d.text_flags : s->said == BEDROCK_THINKING ? &d.thinking_flags : &d.input_flags) = flags;
  return bedrock_take(s, &d, out, e);
}

static int parse_event(void *state, const struct record *r, struct events *out, struct err *e) {
  struct bedrock *s = state;
  struct members m = { .piece = { .index = -1 } };
  int event = event_of(r->name);
  if (r->fault) return read_fault(s, r, out, e);
  if (event == EVENT_COUNT || (s->ended && event != METADATA)) return 0;
  if (read_members(s, r->data, &m, e) != 0) return -1;
  switch (event) {
    case DELTA: return take_delta(s, &m.piece, out, e);
    case START: return bedrock_begin(s, &m.piece, out, e);
    case STOP: return bedrock_stop(s, m.piece.index, out, e);
    case MESSAGE_STOP: return stop_message(s, &m, out, e);
    default: return read_metadata(s, &m, out, e);
  }
}

int bedrock_parse_record(void *state, const struct record *r, struct events *out, struct err *e) {
  const struct bedrock *s = state;
  return codec_event(s->p, r, parse_event, state, out, e);
}

/* }}} */

/* {{{ plain answers */

/* The members of a block: {text}, {toolUse}, {reasoningContent}, {citationsContent}, or one that is kept whole. */
static int read_union(struct bedrock *s, struct json *j, struct bedrock_piece *d, struct buf *text,
                      struct events *out, struct err *e) {
  struct arena *a = s->p->a;
  int r = 0;
  while (r == 0 && json_next(j) == J_KEY) {
    struct json key = *j;
    struct str name = STR_NONE, json = STR_NONE;
    if (json_is(j, "text")) r = codec_said(j, a, &d->text, &d->text_flags, "a block's text is none");
    else if (json_is(j, "reasoningContent")) r = read_reasoning(j, a, d, 0);
    else if (json_is(j, "citationsContent")) r = read_cited(s, j, d, text, e);
    else if (json_is(j, "toolUse")) r = read_call(s, j, d);
    else r = json_text(j, a, &name) != 0 ? err_memory(e) : json_raw(j, &json);
    if (r == 0 && d->type.n > 0) { /* a call that the provider made itself */
      d->id = d->name = d->type = d->input = STR_NONE;
      name = STR("toolUse");
      r = json_raw(&key, &json);
      s->hosted = 1;
    }
    if (r == 0 && json.n > 0 && !str_eq(json, "null")) r = bedrock_keep(s, name, json, out, e);
  }
  return r == 0 && j->tok == J_OBJECT_END ? 0 : -1;
}

static int read_block(struct bedrock *s, struct json *j, int64_t index, struct events *out, struct err *e) {
  struct bedrock_piece d = { .index = index };
  struct buf text;
  int r;
  buf_init(&text, s->p->m);
  r = read_union(s, j, &d, &text, out, e);
  if (r == 0 && text.n > 0 && (d.text = arena_dup(s->p->a, buf_str(&text))).p == NULL) r = err_memory(e);
  buf_free(&text);
  if (r != 0) return -1;
  if (d.id.n + d.name.n > 0) {
    d.start_name = STR("toolUse");
    if (bedrock_begin(s, &d, out, e) != 0) return -1;
    if (str_eq(d.input, "{}")) d.input = STR_NONE;
  }
  return bedrock_take(s, &d, out, e) != 0 ? -1 : bedrock_stop(s, index, out, e);
}

static int read_content(struct bedrock *s, struct json *j, struct events *out, struct err *e) {
  enum token t = json_next(j);
  if (t != J_ARRAY) return codec_odd(j, "the content is no array");
  for (int64_t i = 0; (t = json_next(j)) != J_ARRAY_END; i++) {
    if ((t != J_OBJECT ? codec_odd(j, "a block is no object") : read_block(s, j, i, out, e)) != 0) return -1;
  }
  return 0;
}

/* output: {message: {content}}. */
static int read_output(struct bedrock *s, struct json *j, struct events *out, struct err *e) {
  if (json_next(j) != J_OBJECT) return json_skip(j);
  while (json_next(j) == J_KEY) {
    if (!json_is(j, "message")) { if (json_skip(j) != 0) return -1; continue; }
    if (json_next(j) != J_OBJECT) { if (json_skip(j) != 0) return -1; continue; }
    while (json_next(j) == J_KEY)
      if ((json_is(j, "content") ? read_content(s, j, out, e) : json_skip(j)) != 0) return -1;
    if (j->tok != J_OBJECT_END) return -1;
    s->begun = 1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* Refuses a body that is no answer: an error with status 200, or another wire's. */
static int reject(struct bedrock *s, struct str body, struct err *e) {
  struct node *v = json_tree(s->p->a, body, s->p->limits->depth, e);
  if (v == NULL) return -1;
  if (!bedrock_is_failure(v))
    return err_set(e, KIND_PROTOCOL, "the answer is none of Amazon Bedrock's Converse");
  bedrock_read_fault(s->p->a, STR_NONE, body, e);
  return -1;
}

int bedrock_parse_body(void *state, struct str body, struct events *out, struct err *e) {
  struct bedrock *s = state;
  struct members m = { .piece = { .index = -1 } };
  struct arena *a = s->p->a;
  struct json j;
  if (bedrock_check_text(body, e) != 0) return -1;
  json_open(&j, body, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "the answer is no object");
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "output") ? read_output(s, &j, out, e)
          : json_is(&j, "stopReason") ? codec_word(&j, a, &m.reason)
          : json_is(&j, "additionalModelResponseFields") ? read_fields(&j, a, &m.sequence, &m.model_reason, 0)
          : json_is(&j, "usage") ? json_raw(&j, &m.usage)
          : json_is(&j, "serviceTier") ? read_tier(&j, a, &m.tier) : json_skip(&j);
    if (r != 0) return -1;
  }
  if (j.tok != J_OBJECT_END || json_next(&j) != J_EOF) return -1;
  if (!s->begun) return reject(s, body, e);
  if (bedrock_stop_all(s, out, e) != 0 || check_reason(m.reason, e) != 0 || keep_reason(s, &m, e) != 0) return -1;
  if (bedrock_usage(s, m.usage, m.tier, out, e) != 0) return -1;
  s->ended = s->metadata = 1;
  return 0;
}

/* }}} */

/* {{{ the end */

/* The canonical stop reason, or STOP_NONE for a word that is not known. */
static enum stop stop_of(const struct bedrock *s, struct str reason) {
  static const struct { const char *word; enum stop stop; } STOPS[] = {
    { "end_turn", STOP_END_TURN }, { "tool_use", STOP_TOOL_USE }, { "max_tokens", STOP_MAX_TOKENS },
    { "stop_sequence", STOP_SEQUENCE }, { "guardrail_intervened", STOP_SENSITIVE },
    { "content_filtered", STOP_SENSITIVE }, { "model_context_window_exceeded", STOP_CONTEXT_OVERFLOW },
  };
  if (s->refused) return STOP_REFUSAL;
  for (size_t i = 0; i < sizeof STOPS / sizeof STOPS[0]; i++) {
    if (!str_is(reason, STOPS[i].word, strlen(STOPS[i].word))) continue;
    return STOPS[i].stop == STOP_END_TURN && s->tools > 0 ? STOP_TOOL_USE : STOPS[i].stop;
  }
  return STOP_NONE;
}

/* A message that stopped for a call and has none would leave the caller nothing to answer. */
static int empty_tool_turn(struct err *e) {
  err_set(e, KIND_PROTOCOL, "the model stopped for a tool call but sent none");
  (void)snprintf(e->code, sizeof e->code, "empty_tool_turn");
  e->retryable = 1;
  return -1;
}

static int warn(struct events *out, struct str code, struct str field, struct str text, struct err *e) {
  struct event *ev = events_push(out, PART_WARNING, 0);
  if (ev == NULL) return err_memory(e);
  ev->id = code;
  ev->name = field;
  ev->text = text;
  return 0;
}

int bedrock_parse_end(void *state, struct events *out, struct err *e) {
  struct bedrock *s = state;
  struct str reason = buf_str(&s->stop_reason);
  enum stop stop = stop_of(s, reason);
  struct event *ev;
  if (!s->metadata && warn(out, STR("unclean_end"), STR(""), STR("the answer ended before it said what it used"), e) != 0)
    return -1;
  if (!s->stopped || reason.n == 0) return 0;
  if (stop == STOP_TOOL_USE && s->tools == 0) return empty_tool_turn(e);
  if (stop == STOP_NONE) {
    stop = s->tools > 0 ? STOP_TOOL_USE : STOP_END_TURN;
    if (warn(out, STR("unknown_stop_reason"), STR("stop_reason"), reason, e) != 0) return -1;
  }
  if ((ev = events_push(out, PART_STOP, 0)) == NULL) return err_memory(e);
  ev->stop = stop;
  ev->text = reason;
  ev->name = stop == STOP_SEQUENCE ? buf_str(&s->stop_sequence) : STR_NONE;
  return 0;
}

/* }}} */
