/*
** parse.c: chat.completion.chunk events and chat.completion bodies as parts. Both go through the same
** readers, so that a streamed and a plain answer give the same message. One pass with the pull reader; text is not copied.
** Failure: -1 and an err.
*/
#include "chat.h"

#include <stdio.h>

/* The members of one delta (or message). Strings are decoded, the rest is JSON; empty = absent. */
struct delta {
  struct str content, refusal, reasoning[3], opaque;
  unsigned content_flags, refusal_flags, reasoning_flags[3];
  struct str parts, details, annotations, tool_calls;
};

/* The members of one chunk (or body) besides its choices. */
struct chunk {
  int has_choices;
  struct str failure;       /* the error it carries, as JSON; p NULL = none */
  int prose;                /* a top-level message, detail or errors: how some say that they failed */
  int other_wire;           /* an event or object of the Responses API */
};

/* A block of its own: what is opaque here, or encrypted reasoning. */
static int push_block(struct chat *c, enum event_type type, struct str name, struct str text) {
  struct event *ev = chat_text_pause(c) != 0 ? NULL : events_push(c->out, type, c->next_key);
  if (ev == NULL) return err_memory(c->e);
  if (type == PART_REDACTED && c->reasoning_key < 0) c->reasoning_key = c->next_key;
  c->next_key++;
  c->run = RUN_NONE;
  ev->name = name;
  ev->text = text;
  return 0;
}

/* {{{ reasoning */

/* reasoning_details: their text where no other field said it, and a redacted block for each entry without text. */
static int emit_details(struct chat *c, int choice, struct str details, int said, int whole) {
  size_t i = c->keep.n;
  struct str text;
  unsigned flags = 0;
  if (chat_keep_details(c, details, whole, &text, &flags) != 0) return -1;
  if (!said && chat_thinking(c, choice, text, flags) != 0) return -1;
  for (; i < c->keep.n; i++) {
    struct str data = buf_str(&c->keep.v[i].data);
    if (data.n == 0 && c->reasoning_key >= 0) continue;
    data = arena_dup(c->p->a, data); /* the entry may grow before the part is taken */
    if (data.p == NULL) return err_memory(c->e);
    if (push_block(c, PART_REDACTED, STR_NONE, data) != 0) return -1;
  }
  return 0;
}

/* The fields that carry reasoning; of two with the same text one counts. */
static int emit_reasoning(struct chat *c, int choice, const struct delta *d, int whole) {
  int said = 0;
  for (int i = 0; i < 3; i++) {
    int again = 0;
    if (d->reasoning[i].n == 0) continue;
    for (int k = 0; k < i; k++) again |= str_same(d->reasoning[k], d->reasoning[i]);
    if (again) continue;
    if (chat_thinking(c, choice, d->reasoning[i], d->reasoning_flags[i]) != 0) return -1;
    said = 1;
  }
  if (d->details.n > 0 && emit_details(c, choice, d->details, said, whole) != 0) return -1;
  if (d->opaque.n > 0) {
    c->keep.opaque.n = 0;
    if (buf_addstr(&c->keep.opaque, d->opaque) != 0) return err_memory(c->e);
    if (c->reasoning_key < 0 && push_block(c, PART_REDACTED, STR_NONE, d->opaque) != 0) return -1;
  }
  return 0;
}

/* }}} */

/* {{{ content as an array of parts */

/* thinking: [{type: "text", text}], or a string. */
static int read_thinking(struct chat *c, int choice, struct json *j) {
  enum token t = json_next(j);
  struct str s = STR_NONE;
  unsigned flags = 0;
  int more;
  if (t == J_STRING) {
    if (json_text_wtf8(j, c->p->a, &s, &flags) != 0) return err_memory(c->e);
    return chat_thinking(c, choice, s, flags);
  }
  if (t != J_ARRAY) return json_skip(j);
  while ((more = codec_next_object(j)) == 1) {
    s = STR_NONE;
    flags = 0;
    while ((t = json_next(j)) == J_KEY)
      if ((json_is(j, "text") ? codec_text(j, c->p->a, &s, &flags) : json_skip(j)) != 0) return -1;
    if (t == J_ERROR || chat_thinking(c, choice, s, flags) != 0) return -1;
  }
  return more;
}

/* A thinking part; its other fields (closed, signature) are kept for the replay. */
static int read_thinking_part(struct chat *c, int choice, struct str part) {
  struct json j;
  struct buf b;
  struct str raw = STR_NONE;
  struct event *ev;
  int r = 0;
  buf_init(&b, c->p->m);
  json_open(&j, part, c->p->limits->depth, c->e);
  (void)json_next(&j);
  while (r == 0 && json_next(&j) == J_KEY) {
    if (json_is(&j, "thinking")) r = read_thinking(c, choice, &j);
    else if (json_is(&j, "type")) r = json_skip(&j);
    else r = codec_extra(&b, &j);
  }
  if (r == 0) r = codec_extra_end(c->p, &b, &raw, c->e);
  buf_free(&b);
  if (r != 0 || raw.n == 0 || c->run != RUN_THINKING) return r;
  if ((ev = events_push(c->out, PART_RAW, c->run_key)) == NULL) return err_memory(c->e);
  ev->text = raw;
  return 0;
}

/* One part of a content array; j stands behind its opening brace, which is at j->start. */
static int read_part(struct chat *c, int choice, struct json *j) {
  struct json k = *j;
  struct str type = STR_NONE, text = STR_NONE, raw;
  unsigned flags = 0;
  if (json_skip(j) != 0) return -1;
  raw = (struct str){ j->start, (size_t)(j->p - j->start) };
  while (json_next(&k) == J_KEY) {
    int r = json_is(&k, "type") ? codec_word(&k, c->p->a, &type)
          : json_is(&k, "text") ? codec_text(&k, c->p->a, &text, &flags) : json_skip(&k);
    if (r != 0) return -1;
  }
  if (str_eq(type, "text") || (type.n == 0 && text.n > 0)) return chat_text(c, choice, text, flags);
  if (str_eq(type, "thinking")) return read_thinking_part(c, choice, raw);
  return push_block(c, PART_OPAQUE, type, raw);
}

/* Mistral: content: [{type: "thinking" | "text" | …}, …]. */
static int emit_parts(struct chat *c, int choice, struct str parts) {
  struct json j;
  enum token t;
  json_open(&j, parts, c->p->limits->depth, c->e);
  if (json_next(&j) != J_ARRAY) return 0;
  while ((t = json_next(&j)) != J_ARRAY_END) {
    struct str s = STR_NONE;
    unsigned flags = 0;
    int r;
    if (t == J_OBJECT) r = read_part(c, choice, &j);
    else if (t != J_STRING) r = t == J_ERROR ? -1 : json_skip(&j);
    else if (json_text_wtf8(&j, c->p->a, &s, &flags) != 0) r = err_memory(c->e);
    else r = chat_text(c, choice, s, flags);
    if (r != 0) return -1;
  }
  return 0;
}

/* }}} */

/* {{{ deltas, choices */

/* `error`: an object or a string that says something. */
static int read_failure(struct json *j, struct chunk *k) {
  struct str raw;
  if (codec_raw(j, &raw) != 0) return -1;
  if (raw.n > 0 && !str_eq(raw, "\"\"") && !str_eq(raw, "false")) k->failure = raw;
  return 0;
}

/* content: a string, or an array of parts. */
static int read_content(const struct chat *c, struct json *j, struct delta *d) {
  struct json k = *j;
  switch (json_next(j)) {
    case J_STRING: return json_text_wtf8(j, c->p->a, &d->content, &d->content_flags) == 0 ? 0 : err_memory(j->e);
    case J_ARRAY: *j = k; return json_raw(j, &d->parts);
    case J_ERROR: return -1;
    default: return json_skip(j);
  }
}

/* The members of a delta or message; j stands behind its opening brace. */
static int read_delta(const struct chat *c, struct json *j, struct delta *d) {
  enum token t;
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "content") ? read_content(c, j, d)
          : json_is(j, "role") ? json_skip(j)
          : json_is(j, "tool_calls") ? codec_raw(j, &d->tool_calls)
          : json_is(j, "reasoning_content") ? codec_text(j, c->p->a, &d->reasoning[0], &d->reasoning_flags[0])
          : json_is(j, "reasoning") ? codec_text(j, c->p->a, &d->reasoning[1], &d->reasoning_flags[1])
          : json_is(j, "reasoning_text") ? codec_text(j, c->p->a, &d->reasoning[2], &d->reasoning_flags[2])
          : json_is(j, "reasoning_details") ? codec_raw(j, &d->details)
          : json_is(j, "reasoning_opaque") ? codec_word(j, c->p->a, &d->opaque)
          : json_is(j, "refusal") ? codec_text(j, c->p->a, &d->refusal, &d->refusal_flags)
          : json_is(j, "annotations") ? codec_raw(j, &d->annotations) : json_skip(j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

/* True when the delta has content, not only a role. */
static int says_something(const struct delta *d) {
  return d->content.n + d->refusal.n + d->opaque.n + d->parts.n + d->details.n + d->tool_calls.n + d->reasoning[0].n +
         d->reasoning[1].n + d->reasoning[2].n > 0;
}

/* Text behind a call that begins here is a block of its own. */
static int emit_calls(struct chat *c, int choice, struct str calls, int whole) {
  size_t before = c->tools.n;
  if (chat_text_calls(c, calls) != 0 || chat_tools_read(c, choice, calls, whole) != 0) return -1;
  if (c->tools.n > before) c->run = RUN_TOOLS;
  return 0;
}

/* True for a member that is there, and no empty array. */
static int has_elements(struct str json) { return json.n > 0 && !str_eq(json, "[]"); }

/* Pushes what a delta says, always in the same order, whatever the order of its fields. */
static int emit_delta(struct chat *c, int choice, const struct delta *d, int whole) {
  if (emit_reasoning(c, choice, d, whole) != 0) return -1;
  if (chat_text(c, choice, d->content, d->content_flags) != 0) return -1;
  if (d->parts.n > 0 && emit_parts(c, choice, d->parts) != 0) return -1;
  if (d->refusal.n > 0 && chat_refusal(c, choice, d->refusal, d->refusal_flags) != 0) return -1;
  if (d->annotations.n > 0 && chat_keep_annotations(c, d->annotations) != 0) return -1;
  return d->tool_calls.n > 0 ? emit_calls(c, choice, d->tool_calls, whole) : 0;
}

/* Reads a usage object and pushes what is known by now. */
static int emit_usage(struct chat *c, struct json *j) {
  static const struct token_count_names NAMES = {
    { "prompt_tokens", 13 }, { "prompt_tokens_details", 21 }, { "completion_tokens", 17 },
    { "completion_tokens_details", 25 }
  };
  int r = token_counts_read(&c->counts, &NAMES, j);
  struct event *ev;
  if (r <= 0) return r;
  if ((ev = events_push(c->out, PART_USAGE, 0)) == NULL) return err_memory(j->e);
  chat_usage(&c->counts, c->p->quirks, &ev->usage);
  return 0;
}

/* The words of finish_reason; of several the one with the highest rank counts. "" says nothing. */
static const struct { const char *word; int rank; enum stop stop; } FINISH[] = {
  { "stop", 1, STOP_END_TURN }, { "eos", 1, STOP_END_TURN },
  { "tool_calls", 2, STOP_TOOL_USE }, { "function_call", 2, STOP_TOOL_USE },
  { "length", 3, STOP_MAX_TOKENS }, { "model_length", 3, STOP_MAX_TOKENS }, /* the second: Mistral */
  { "content_filter", 4, STOP_SENSITIVE },
  { "error", 5, STOP_ERROR }, { "insufficient_system_resource", 5, STOP_ERROR } /* the second: DeepSeek */
};

/* Remembers a finish_reason unless a graver one came before. */
static int note_finish(struct chat *c, struct str word) {
  int rank = 1;
  enum stop stop = STOP_NONE;
  for (size_t i = 0; i < sizeof FINISH / sizeof FINISH[0]; i++)
    if (str_is(word, FINISH[i].word, strlen(FINISH[i].word))) { rank = FINISH[i].rank; stop = FINISH[i].stop; }
  if (rank < c->rank) return 0;
  c->rank = rank;
  c->stop = stop;
  c->finish.n = 0;
  return buf_addstr(&c->finish, word) == 0 ? 0 : err_memory(c->e);
}

/* The members of a choice. Message and logprobs are kept as JSON: a message counts only where there is no delta. */
struct choice {
  int64_t index;
  int has_delta;
  struct delta delta;
  struct str message, finish, logprobs;
};

/* `index`: what is no integer says nothing. */
static int read_index(struct json *j, int64_t *index) {
  enum token t = json_next(j);
  if (t == J_INT) *index = j->i;
  return t == J_ERROR ? -1 : json_skip(j);
}

/* `delta`: null where there is a message. */
static int read_choice_delta(struct chat *c, struct json *j, struct choice *v) {
  enum token t = json_next(j);
  if (t != J_OBJECT) return t == J_ERROR ? -1 : json_skip(j);
  v->has_delta = 1;
  return read_delta(c, j, &v->delta);
}

/* `logprobs`, as they stand there. */
static int keep_logprobs(struct json *j, struct str *logprobs) {
  if (json_skip(j) != 0) return -1;
  if (*j->start == '{') *logprobs = (struct str){ j->start, (size_t)(j->p - j->start) };
  return 0;
}

/* The members of a choice; j stands behind its opening brace. */
static int read_choice(struct chat *c, struct json *j, struct choice *v, struct chunk *k) {
  enum token t;
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "index") ? read_index(j, &v->index)
          : json_is(j, "delta") ? read_choice_delta(c, j, v)
          : json_is(j, "finish_reason") ? codec_word(j, c->p->a, &v->finish)
          : json_is(j, "logprobs") ? keep_logprobs(j, &v->logprobs)
          : json_is(j, "message") ? codec_raw(j, &v->message)
          : json_is(j, "usage") ? emit_usage(c, j)
          : json_is(j, "error") ? read_failure(j, k) : json_skip(j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

/* Notes the text of a delta that says nothing else. */
static void note_text(struct chat *c, int choice, const struct delta *d) {
  size_t texts = d->content.n + d->refusal.n + d->reasoning[0].n + d->reasoning[1].n + d->reasoning[2].n;
  struct str said = STR_NONE;
  if (d->opaque.n + d->parts.n > 0 || has_elements(d->details) || has_elements(d->tool_calls) ||
      has_elements(d->annotations)) return;
  c->said = d->content.n == texts ? RUN_TEXT : d->refusal.n == texts ? RUN_REFUSAL : RUN_THINKING;
  c->said_choice = choice;
  if (c->said == RUN_TEXT) said = d->content;
  if (c->said == RUN_REFUSAL) said = d->refusal;
  for (int i = 0; i < 3 && c->said == RUN_THINKING; i++)
    if (d->reasoning[i].n == texts) said = d->reasoning[i];
  c->p->said->text = said;
}

/* Reads one choice and pushes its parts. Several choices are one message: Copilot splits Claude's text and calls so. */
static int parse_choice(struct chat *c, struct json *j, int ordinal, int whole, struct chunk *k) {
  struct choice v;
  struct json m;
  uint64_t bit;
  memset(&v, 0, sizeof v);
  v.index = ordinal;
  if (read_choice(c, j, &v, k) != 0) return -1;
  if (v.index < 0 || v.index > 63) v.index = 63;
  bit = (uint64_t)1 << v.index;
  c->seen |= bit;
  if (!v.has_delta && v.message.n > 0 && !(c->spoke & bit)) {
    json_open(&m, v.message, c->p->limits->depth, c->e);
    if (json_next(&m) == J_OBJECT && read_delta(c, &m, &v.delta) != 0) return -1;
    whole = 1;
  }
  if (v.logprobs.n > 0 && (v.has_delta || !(c->spoke & bit)) && chat_logprobs(c, v.logprobs) != 0) return -1;
  if (says_something(&v.delta)) c->spoke |= bit;
  if (emit_delta(c, (int)v.index, &v.delta, whole) != 0) return -1;
  if (v.finish.n == 0) {
    if (c->p->said != NULL && v.has_delta && !whole && v.logprobs.n == 0) note_text(c, (int)v.index, &v.delta);
    return 0;
  }
  c->finished |= bit;
  return note_finish(c, v.finish);
}

/* `choices`: an array; anything else says nothing. */
static int parse_choices(struct chat *c, struct json *j, int whole, struct chunk *k) {
  enum token t = json_next(j);
  if (t != J_ARRAY) return t == J_ERROR ? -1 : json_skip(j);
  k->has_choices = 1;
  for (int i = 0; (t = json_next(j)) != J_ARRAY_END; i++) {
    if (t == J_OBJECT ? parse_choice(c, j, i, whole, k) != 0 : t == J_ERROR || json_skip(j) != 0) return -1;
  }
  return 0;
}

/* }}} */

/* {{{ chunks */

/* id and model: of the first chunk that has any (Azure's first has empty ones). */
static int parse_meta(struct chat *c, struct json *j, int *has, int model) {
  struct str s = STR_NONE;
  struct event *ev;
  if (*has) return json_skip(j);
  if (codec_word(j, c->p->a, &s) != 0) return -1;
  if (s.n == 0) return 0;
  *has = 1;
  if ((ev = events_push(c->out, PART_META, 0)) == NULL) return err_memory(j->e);
  if (model) ev->name = s;
  else ev->id = s;
  return 0;
}

/* `object` and `type`: only the other wire's are of interest. */
static int parse_kind(const struct chat *c, struct json *j, struct chunk *k) {
  struct str s = STR_NONE;
  if (codec_word(j, c->p->a, &s) != 0) return -1;
  if (str_eq(s, "response") || str_begins(s, "response.")) k->other_wire = 1;
  return 0;
}

/* Groq: usage of a stream, or why it was stopped. */
static int parse_x_groq(struct chat *c, struct json *j, struct chunk *k) {
  enum token t = json_next(j);
  if (t != J_OBJECT) return t == J_ERROR ? -1 : json_skip(j);
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "usage") ? emit_usage(c, j) : json_is(j, "error") ? read_failure(j, k) : json_skip(j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

/* The tier that served the answer, where its tokens have a price of their own. Every chunk says the same one. */
static int parse_tier(struct chat *c, struct json *j) {
  struct str tier = STR_NONE;
  const char *why;
  struct event *ev;
  if (c->has_tier) return json_skip(j);
  if (codec_word(j, c->p->a, &tier) != 0) return -1;
  c->has_tier = tier.n > 0;
  if ((why = codec_tier(tier)) == NULL) return 0;
  c->counts.unpriced = why;
  if ((ev = events_push(c->out, PART_USAGE, 0)) == NULL) return err_memory(j->e);
  usage_clear(&ev->usage);
  ev->usage.unpriced = why;
  return 0;
}

/* One top-level member; j stands behind its key. */
static int parse_member(struct chat *c, struct json *j, int whole, struct chunk *k) {
  if (json_is(j, "choices")) return parse_choices(c, j, whole, k);
  if (json_is(j, "id")) return parse_meta(c, j, &c->has_id, 0);
  if (json_is(j, "model")) return parse_meta(c, j, &c->has_model, 1);
  if (json_is(j, "usage")) return emit_usage(c, j);
  if (json_is(j, "object") || json_is(j, "type")) return parse_kind(c, j, k);
  if (json_is(j, "error")) {
    if (read_failure(j, k) != 0) return -1;
    /* the whole chunk: some have `code` beside `error` (xAI) */
    if (k->failure.p != NULL) k->failure = (struct str){ j->begin, (size_t)(j->end - j->begin) };
    return 0;
  }
  if (json_is(j, "x_groq")) return parse_x_groq(c, j, k);
  if (json_is(j, "service_tier")) return parse_tier(c, j);
  if (json_is(j, "message") || json_is(j, "detail") || json_is(j, "errors")) k->prose = 1;
  return json_skip(j);
}

/* id and model first, wherever the chunk has them: ids made for calls depend on them. Bad JSON is reported later. Where
** the first chunk with a choice has neither, no later one is read twice for them. */
static int parse_head(struct chat *c, struct str data) {
  struct err scratch;
  struct json j;
  json_open(&j, data, c->p->limits->depth, &scratch);
  err_clear(&scratch);
  if (json_next(&j) != J_OBJECT) return 0;
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "id") ? parse_meta(c, &j, &c->has_id, 0)
          : json_is(&j, "model") ? parse_meta(c, &j, &c->has_model, 1) : json_skip(&j);
    if (r != 0) break;
  }
  return scratch.kind == KIND_MEMORY ? err_memory(c->e) : 0;
}

/* A chunk that was read: fails when it is an error, or no chunk. Some send an error as an array of one. */
static int check_chunk(const struct chat *c, struct str data, const struct chunk *k, int whole) {
  if (k->failure.p != NULL || (k->prose && !k->has_choices)) {
    codec_error(c->p->a, 200, k->failure.p != NULL ? k->failure : data, c->e);
    return -1;
  }
  if (k->other_wire) {
    err_set(c->e, KIND_PROTOCOL, "the provider answered in the Responses format: the request went to a /responses "
                                 "endpoint, this adapter needs /chat/completions");
    snprintf(c->e->code, sizeof c->e->code, "wrong_endpoint");
    c->e->retryable = 0;
    return -1;
  }
  if (whole && !k->has_choices) return err_set(c->e, KIND_PROTOCOL, "the provider's answer has no `choices`");
  return 0;
}

/* Reads a chunk or a body. */
static int parse_chunk(struct chat *c, struct str data, int whole) {
  struct chunk k = { 0 };
  struct json j;
  enum token t;
  if (!c->has_id && !c->has_model && c->seen == 0 && parse_head(c, data) != 0) return -1;
  json_open(&j, data, c->p->limits->depth, c->e);
  t = json_next(&j);
  if (t == J_ARRAY) k.failure = data;
  else if (t != J_OBJECT && t != J_ERROR) return err_set(c->e, KIND_PROTOCOL, "the answer is no JSON object");
  if (t == J_ARRAY && json_skip(&j) != 0) return -1;
  if (t == J_OBJECT)
    while ((t = json_next(&j)) == J_KEY)
      if (parse_member(c, &j, whole, &k) != 0) return -1;
  if (t == J_ERROR || json_next(&j) == J_ERROR) return -1;
  return check_chunk(c, data, &k, whole);
}

/* }}} */

void chat_init(struct chat *c, const struct parse *p) {
  c->p = p;
  chat_tools_init(&c->tools, p->m);
  chat_keep_init(&c->keep, p->m);
  token_counts_clear(&c->counts);
  c->reasoning_key = c->text_key = -1;
  think_init(&c->think, p->m);
  buf_init(&c->finish, p->m);
  buf_init(&c->last_reasoning, p->m);
}

void chat_free(struct chat *c) {
  chat_tools_free(&c->tools, c->p->m);
  chat_keep_free(&c->keep, c->p->m);
  think_free(&c->think);
  buf_free(&c->finish);
  buf_free(&c->last_reasoning);
}

static int parse_event(void *state, const struct record *r, struct events *out, struct err *e) {
  struct chat *c = state;
  struct str data = str_trim(r->data);
  c->out = out;
  c->e = e;
  if (c->done || data.n == 0) return 0;
  if (str_eq(data, "[DONE]")) {
    c->done = 1;
    return events_push(out, PART_DONE, 0) == NULL ? err_memory(e) : 0;
  }
  if (str_eq(r->name, "error")) {
    codec_error(c->p->a, 200, data, e);
    return -1;
  }
  return parse_chunk(c, data, 0);
}

int chat_parse_record(struct chat *c, const struct record *r, struct events *out, struct err *e) {
  return codec_record(c->p, r, parse_event, c, out, e);
}

int chat_parse_body(struct chat *c, struct str body, struct events *out, struct err *e) {
  c->out = out;
  c->e = e;
  if (parse_chunk(c, body, 1) != 0) return -1;
  c->done = 1;
  return 0;
}

int chat_ended(const void *state) {
  const struct chat *c = state;
  return c->done || (c->seen != 0 && (c->seen & ~c->finished) == 0);
}

/* {{{ the end of the message */

/* finish_reason said that the message failed, or promised calls that never came. */
static int check_finish(const struct chat *c, struct err *e) {
  if (c->stop == STOP_ERROR) {
    int busy = str_eq(buf_str(&c->finish), "insufficient_system_resource");
    err_set(e, busy ? KIND_OVERLOADED : KIND_SERVER, "the provider ended the message with finish_reason \"%.*s\"",
            (int)c->finish.n, c->finish.p);
    e->status = busy ? 503 : 500;
    snprintf(e->code, sizeof e->code, "%.*s", (int)c->finish.n, c->finish.p);
    return -1;
  }
  if (c->stop == STOP_TOOL_USE && c->tools.n + c->recovered == 0) {
    err_set(e, KIND_PROTOCOL, "the provider announced tool calls but sent none");
    snprintf(e->code, sizeof e->code, "empty_tool_turn");
    e->retryable = 1;
    return -1;
  }
  return 0;
}

/* One entry of the response's warnings. */
static int push_warning(struct chat *c, struct str code, struct str text) {
  struct event *ev = events_push(c->out, PART_WARNING, 0);
  if (ev == NULL) return err_memory(c->e);
  ev->id = code;
  ev->text = text;
  return 0;
}

int chat_parse_rest(struct chat *c, struct events *out, struct err *e) {
  c->out = out;
  c->e = e;
  return chat_text_end(c);
}

int chat_parse_end(struct chat *c, struct events *out, struct err *e) {
  struct event *ev;
  enum stop stop = c->stop;
  c->out = out;
  c->e = e;
  if (check_finish(c, e) != 0 || chat_keep_end(c) != 0) return -1;
  if (c->rank == 0 &&
      push_warning(c, STR("missing_finish_reason"), STR("the answer came without a finish_reason")) != 0) return -1;
  if (c->rank == 1 && stop == STOP_NONE &&
      push_warning(c, STR("unknown_stop_reason"), STR("the finish_reason is not known")) != 0) return -1;
  if (stop == STOP_NONE || stop == STOP_END_TURN)
    stop = c->tools.n + c->recovered > 0 ? STOP_TOOL_USE : c->refused ? STOP_REFUSAL : STOP_END_TURN;
  if ((ev = events_push(out, PART_STOP, 0)) == NULL) return err_memory(e);
  ev->stop = stop;
  ev->text = buf_str(&c->finish);
  return 0;
}

/* }}} */
