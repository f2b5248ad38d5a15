/*
** parse.c: events and whole answers of the Responses format as parts. One pass with the pull reader;
** text is not copied. Events that end a stream: response.completed, response.incomplete, response.failed, error.
** Failure: -1 and an err.
*/
#include "responses.h"

#include <stdio.h>

/* {{{ state */

void responses_init(void *state, const struct parse *p) {
  struct responses *s = state;
  s->p = p;
  s->item = -1;
  buf_init(&s->reason, p->m);
}

void responses_free(void *state) {
  struct responses *s = state;
  for (size_t i = 0; i < s->n; i++) {
    buf_free(&s->v[i].text);
    buf_free(&s->v[i].head);
  }
  mem_free(s->p->m, s->v, s->cap * sizeof *s->v);
  s->v = NULL;
  s->n = s->cap = 0;
  buf_free(&s->reason);
}

int responses_ended(const void *state) { return ((const struct responses *)state)->ended; }

/* }}} */

/* {{{ whole responses: those of the first and last events, and a plain answer */

/* The members of a response object; strings are decoded, error, output and usage are JSON. */
struct whole {
  struct str id, model, object, status, reason, error, output, usage, tier;
};

/* After the key "incomplete_details". */
static int read_reason(struct responses *s, struct json *j, struct str *reason) {
  enum token t = json_next(j);
  if (t != J_OBJECT) return t == J_ERROR ? -1 : json_skip(j);
  while ((t = json_next(j)) == J_KEY)
    if ((json_is(j, "reason") ? codec_word(j, s->p->a, reason) : json_skip(j)) != 0) return -1;
  return t == J_ERROR ? -1 : 0;
}

/* j stands behind the opening brace. */
static int read_whole(struct responses *s, struct json *j, struct whole *w) {
  struct arena *a = s->p->a;
  memset(w, 0, sizeof *w);
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "id") ? codec_word(j, a, &w->id)
          : json_is(j, "model") ? codec_word(j, a, &w->model)
          : json_is(j, "object") ? codec_word(j, a, &w->object)
          : json_is(j, "status") ? codec_word(j, a, &w->status)
          : json_is(j, "incomplete_details") ? read_reason(s, j, &w->reason)
          : json_is(j, "error") ? codec_raw(j, &w->error)
          : json_is(j, "output") ? codec_raw(j, &w->output)
          : json_is(j, "usage") ? codec_raw(j, &w->usage)
          : json_is(j, "service_tier") ? codec_word(j, a, &w->tier) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* Id and model of the response: Copilot has a new id in every event, the first one counts. */
static int push_meta(struct responses *s, const struct whole *w) {
  struct event *ev;
  if (s->has_meta || w->id.n + w->model.n == 0) return 0;
  if ((ev = responses_push(s, PART_META, 0, STR_NONE)) == NULL) return -1;
  ev->id = w->id;
  ev->name = w->model;
  s->has_meta = w->id.n > 0 && w->model.n > 0;
  return 0;
}

static int push_usage(struct responses *s, const struct whole *w) {
  static const struct token_count_names NAMES = {
    { "input_tokens", 12 }, { "input_tokens_details", 20 }, { "output_tokens", 13 }, { "output_tokens_details", 21 }
  };
  struct token_counts f;
  struct event *ev;
  struct json j;
  int r;
  if (w->usage.n == 0) return 0;
  token_counts_clear(&f);
  json_open(&j, w->usage, s->p->limits->depth, s->e);
  if ((r = token_counts_read(&f, &NAMES, &j)) <= 0) return r;
  if ((ev = responses_push(s, PART_USAGE, 0, STR_NONE)) == NULL) return -1;
  token_counts_usage(&f, s->p->quirks, &ev->usage);
  if (ev->usage.unpriced == NULL) ev->usage.unpriced = s->hosted ? "server_tools" : codec_tier(w->tier);
  s->used = ev->usage.output;
  return 0;
}

/* The items of a whole response that no event has told: all of them where none was done, else those still open. Some
** proxies leave the list empty. */
static int push_output(struct responses *s, struct str json) {
  int all = !s->items_done;
  struct json j;
  enum token t;
  if (json.n == 0 || json.p[0] != '[') return 0;
  json_open(&j, json, s->p->limits->depth, s->e);
  (void)json_next(&j);
  for (int64_t item = 0; (t = json_next(&j)) != J_ARRAY_END; item++) {
    const char *from = j.start;
    if (t == J_ERROR || json_skip(&j) != 0) return -1;
    if (!all && !responses_open(s, item)) continue;
    if (responses_finish(s, item, (struct str){ from, (size_t)(j.p - from) }) != 0) return -1;
  }
  return 0;
}

/* }}} */

/* {{{ the end of the message */

/* The provider's own error: fills *s->e with the status it maps to. */
static int fail(struct responses *s, struct str error) {
  if (error.n > 0) {
    codec_error(s->p->a, 200, error, s->e);
  } else {
    err_set(s->e, KIND_SERVER, "the response failed, and the provider does not say why");
    s->e->status = 500;
  }
  return -1;
}

static int wrong_endpoint(struct responses *s) {
  err_set(s->e, KIND_PROTOCOL, "the provider answered in the Chat Completions format: the request went to a "
                               "/chat/completions endpoint, this adapter needs /responses");
  snprintf(s->e->code, sizeof s->e->code, "wrong_endpoint");
  s->e->retryable = 0;
  return -1;
}

static int not_final(struct responses *s, struct str status) {
  return err_set(s->e, KIND_PROTOCOL, "the response is not final: its status is \"%.*s\"", (int)status.n, status.p);
}

/* A response that is over, in this status. Its contents are reported even when it failed. */
static int end_message(struct responses *s, const struct whole *w, struct str status) {
  int incomplete = str_eq(status, "incomplete");
  struct str reason = incomplete && w->reason.n > 0 ? w->reason : status;
  if (push_meta(s, w) != 0 || push_output(s, w->output) != 0 || responses_close(s) != 0) return -1;
  if (push_usage(s, w) != 0) return -1;
  if (str_eq(status, "failed")) return fail(s, w->error);
  if (!incomplete && !str_eq(status, "completed")) return not_final(s, status);
  s->incomplete = incomplete;
  s->ended = 1;
  return buf_addstr(&s->reason, reason) == 0 ? 0 : err_memory(s->e);
}

/* The canonical stop reason; STOP_NONE for a word that is not known. */
static enum stop stop_of(const struct responses *s) {
  struct str reason = buf_str(&s->reason);
  if (!s->incomplete) return s->tools > 0 ? STOP_TOOL_USE : s->refused > 0 ? STOP_REFUSAL : STOP_END_TURN;
  if (str_eq(reason, "max_output_tokens")) return STOP_MAX_TOKENS;
  return str_eq(reason, "content_filter") ? STOP_SENSITIVE : STOP_NONE;
}

int responses_parse_end(void *state, struct events *out, struct err *e) {
  struct responses *s = state;
  enum stop stop = stop_of(s);
  struct event *ev;
  s->out = out;
  s->e = e;
  if (!s->incomplete && s->p->max_tokens > 0 && s->used >= s->p->max_tokens) { /* llama.cpp says so of every message */
    stop = STOP_MAX_TOKENS;
    ev = responses_push(s, PART_WARNING, 0, STR("the answer is called complete, but took all of max_tokens"));
    if (ev == NULL) return -1;
    ev->id = STR("unannounced_cut");
    ev->name = STR("stop_reason");
  }
  if (stop == STOP_NONE) {
    stop = STOP_END_TURN;
    ev = responses_push(s, PART_WARNING, 0, STR("why the answer is incomplete is not known"));
    if (ev == NULL) return -1;
    ev->id = STR("unknown_stop_reason");
    ev->name = STR("stop_reason");
  }
  if ((ev = responses_push(s, PART_STOP, 0, buf_str(&s->reason))) == NULL) return -1;
  ev->stop = stop;
  return 0;
}

/* }}} */

/* {{{ events */

/* The members of an event that any of them has. */
struct members {
  struct str type, object, delta, text, item, response;
  unsigned delta_flags, text_flags;
  int64_t output_index, content_index, summary_index; /* -1 = none */
  int has_error, choices;
};

/* `error`: null says nothing. */
static int read_error(struct json *j, struct members *r) {
  struct str raw;
  if (codec_raw(j, &raw) != 0) return -1;
  r->has_error = raw.n > 0;
  return 0;
}

/* `choices`: the event is one of Chat Completions. */
static int read_choices(struct json *j, struct members *r) {
  r->choices = 1;
  return json_skip(j);
}

static int read_members(struct responses *s, struct json *j, struct members *r) {
  struct arena *a = s->p->a;
  int whole;
  memset(r, 0, sizeof *r);
  r->output_index = r->content_index = r->summary_index = -1;
  while (json_next(j) == J_KEY) {
    int x = json_is(j, "type") ? codec_word(j, a, &r->type)
          : json_is(j, "delta") ? codec_text(j, a, &r->delta, &r->delta_flags)
          : json_is(j, "output_index") ? codec_count(j, &r->output_index)
          : json_is(j, "content_index") ? codec_count(j, &r->content_index)
          : json_is(j, "summary_index") ? codec_count(j, &r->summary_index)
          : json_is(j, "text") || json_is(j, "refusal") ? codec_text(j, a, &r->text, &r->text_flags)
          : json_is(j, "arguments") ? codec_arguments(s->p, j, &r->text, &r->text_flags, &whole)
          : json_is(j, "item") ? codec_raw(j, &r->item)
          : json_is(j, "response") ? codec_raw(j, &r->response)
          : json_is(j, "error") ? read_error(j, r)
          : json_is(j, "choices") ? read_choices(j, r)
          : json_is(j, "object") ? codec_word(j, a, &r->object) : json_skip(j);
    if (x != 0) return -1;
  }
  return j->tok == J_OBJECT_END && json_next(j) == J_EOF ? 0 : -1;
}

/* Events that carry text of an item: a fragment, or (whole) all of a part. */
static const struct {
  struct str type;
  enum responses_kind kind;
  int content, whole;
} TEXTS[] = {
  { { "response.output_text.delta", 26 }, RESPONSES_TEXT, 0, 0 },
  { { "response.function_call_arguments.delta", 38 }, RESPONSES_TOOL, 0, 0 },
  { { "response.reasoning_summary_text.delta", 37 }, RESPONSES_THINKING, 0, 0 },
  { { "response.reasoning_text.delta", 29 }, RESPONSES_THINKING, 1, 0 },
  { { "response.refusal.delta", 22 }, RESPONSES_REFUSAL, 0, 0 },
  { { "response.output_text.done", 25 }, RESPONSES_TEXT, 0, 1 },
  { { "response.function_call_arguments.done", 37 }, RESPONSES_TOOL, 0, 1 },
  { { "response.reasoning_summary_text.done", 36 }, RESPONSES_THINKING, 0, 1 },
  { { "response.reasoning_text.done", 28 }, RESPONSES_THINKING, 1, 1 },
  { { "response.refusal.done", 21 }, RESPONSES_REFUSAL, 0, 1 },
};

/* The item an event is about. An event without an index is about the one at hand; an announcement, about the next. */
static int64_t index_of(struct responses *s, const struct members *r, int announced) {
  if (r->output_index >= 0) s->item = r->output_index;
  else if (announced || s->item < 0) s->item++;
  return s->item;
}

/* An event that carries text. 1, 0 when it does not, or -1. */
static int add_text(struct responses *s, const struct members *r) {
  for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
    struct responses_text t;
    if (!str_same(r->type, TEXTS[i].type)) continue;
    t.kind = TEXTS[i].kind;
    t.content = TEXTS[i].content;
    t.whole = TEXTS[i].whole;
    t.item = index_of(s, r, 0);
    t.at = t.kind == RESPONSES_THINKING && !t.content ? r->summary_index : r->content_index;
    if (t.at < 0) t.at = 0;
    t.s = t.whole ? r->text : r->delta;
    t.flags = t.whole ? r->text_flags : r->delta_flags;
    if (responses_add(s, &t) != 0) return -1;
    s->said = t;
    if (!t.whole && s->p->said != NULL) s->p->said->text = t.s;
    return 1;
  }
  return 0;
}

/* True for the events that end the message; *status is the one they stand for. */
static int ends_message(struct str type, struct str *status) {
  static const struct { struct str type, status; } ENDS[] = {
    { { "response.completed", 18 }, { "completed", 9 } }, { { "response.incomplete", 19 }, { "incomplete", 10 } },
    { { "response.failed", 15 }, { "failed", 6 } }, { { "response.cancelled", 18 }, { "cancelled", 9 } },
  };
  for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++)
    if (str_same(type, ENDS[i].type)) { *status = ENDS[i].status; return 1; }
  return 0;
}

/* An event with a response object: created, in_progress, queued, and those that end the message. */
static int take_response(struct responses *s, const struct members *r) {
  struct str status = STR_NONE;
  int ends = ends_message(r->type, &status);
  struct whole w;
  struct json j;
  memset(&w, 0, sizeof w);
  if (r->response.n > 0 && r->response.p[0] == '{') {
    json_open(&j, r->response, s->p->limits->depth, s->e);
    (void)json_next(&j);
    if (read_whole(s, &j, &w) != 0) return -1;
  }
  if (!ends) return push_meta(s, &w);
  if (str_eq(w.status, "failed") || str_eq(w.status, "incomplete")) status = w.status;
  if (end_message(s, &w, status) != 0) return -1;
  return responses_push(s, PART_DONE, 0, STR_NONE) != NULL ? 0 : -1;
}

static int dispatch(struct responses *s, const struct members *r, struct str data) {
  int added = str_eq(r->type, "response.output_item.added");
  if (added || str_eq(r->type, "response.output_item.done")) {
    int64_t item = index_of(s, r, added);
    if (r->item.n == 0) return 0;
    if (added) return responses_begin(s, item, r->item);
    s->items_done = 1;
    return responses_finish(s, item, r->item);
  }
  if (str_eq(r->type, "error") || (r->type.n == 0 && r->has_error)) return fail(s, data);
  if (r->choices || str_begins(r->object, "chat.completion")) return wrong_endpoint(s);
  if (str_eq(r->object, "response") && r->response.n == 0) return responses_parse_body(s, data, s->out, s->e);
  return str_begins(r->type, "response.") ? take_response(s, r) : 0;
}

static int parse_event(void *state, const struct record *r, struct events *out, struct err *e) {
  struct responses *s = state;
  struct members m;
  struct json j;
  int x;
  s->out = out;
  s->e = e;
  if (s->ended || str_eq(r->data, "[DONE]")) return 0; /* some proxies end with it, as Chat Completions does */
  json_open(&j, r->data, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "an event is no object");
  if (read_members(s, &j, &m) != 0) return -1;
  if (str_eq(r->name, "error") && !str_begins(m.type, "response.")) return fail(s, r->data); /* or the bare error */
  if (m.type.n == 0 && !m.has_error) m.type = r->name;
  x = add_text(s, &m);
  return x != 0 ? (x > 0 ? 0 : -1) : dispatch(s, &m, r->data);
}

int responses_parse_record(void *state, const struct record *r, struct events *out, struct err *e) {
  const struct responses *s = state;
  return codec_record(s->p, r, parse_event, state, out, e);
}

int responses_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e) {
  struct responses *s = state;
  struct responses_text t = s->said;
  s->out = out;
  s->e = e;
  t.s = text;
  t.flags = flags;
  return responses_add(s, &t);
}

/* }}} */

int responses_parse_body(void *state, struct str body, struct events *out, struct err *e) {
  struct responses *s = state;
  struct whole w;
  struct json j;
  s->out = out;
  s->e = e;
  json_open(&j, body, s->p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "the answer is no object");
  if (read_whole(s, &j, &w) != 0 || json_next(&j) != J_EOF) return -1;
  if (w.output.n == 0 && w.error.n > 0) return fail(s, body);
  if (str_begins(w.object, "chat.completion")) return wrong_endpoint(s);
  if (w.output.n == 0 || w.output.p[0] != '[')
    return err_set(e, KIND_PROTOCOL, "the provider's answer has no `output`");
  return end_message(s, &w, w.status.n > 0 ? w.status : STR("completed"));
}
