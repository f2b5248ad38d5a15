/*
** parse.c: lines and whole answers of POST /api/chat as parts. Both are the same object and go through the same readers.
** A line is read as a whole before anything of it is told: its members come in any order. Text is not copied.
** Failure: -1 and an err.
*/
#include "ollama.h"

/* The members of one line. Strings are decoded; calls, error and logprobs are JSON. */
struct line {
  struct str model, thinking, content, calls, error, reason, logprobs;
  unsigned thinking_flags, content_flags;
  int has_message, done;
  int64_t input, output;
  int timed;                /* it has a duration: counts that are missing are zero */
};

/* {{{ state */

void ollama_init(void *state, const struct parse *p) {
  struct ollama *s = state;
  s->p = p;
  s->input = s->output = -1;
  s->sent.context = p->quirks->context_window;
  ollama_sent_read(&s->sent, p->request);
  buf_init(&s->reason, p->m);
}

void ollama_free(void *state) {
  struct ollama *s = state;
  buf_free(&s->reason);
}

int ollama_ended(const void *state) { return ((const struct ollama *)state)->done; }

/* }}} */

/* {{{ reading */

/* The value of `message`. */
static int read_message(const struct ollama *s, struct json *j, struct line *l) {
  enum token t = json_next(j);
  if (t != J_OBJECT) return codec_odd(j, "a message is no object");
  l->has_message = 1;
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "content") ? codec_said(j, s->p->a, &l->content, &l->content_flags, "content is no text")
          : json_is(j, "thinking") ? codec_said(j, s->p->a, &l->thinking, &l->thinking_flags, "thinking is no text")
          : json_is(j, "tool_calls") ? codec_raw(j, &l->calls) : json_skip(j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

static int read_done(struct json *j, struct line *l) {
  enum token t = json_next(j);
  if (t == J_TRUE) l->done = 1;
  return t == J_ERROR ? -1 : json_skip(j);
}

static int read_duration(struct json *j, struct line *l) {
  l->timed = 1;
  return json_skip(j);
}

static int read_line(const struct ollama *s, struct str data, struct line *l) {
  struct json j;
  *l = (struct line){ .input = -1, .output = -1 };
  json_open(&j, data, s->p->limits->depth, s->e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(s->e, KIND_PROTOCOL, "a line of the answer is no JSON object");
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "message") ? read_message(s, &j, l)
          : json_is(&j, "model") ? (s->has_model ? json_skip(&j) : codec_word(&j, s->p->a, &l->model))
          : json_is(&j, "done") ? read_done(&j, l)
          : json_is(&j, "created_at") ? json_skip(&j) /* in every line */
          : json_is(&j, "done_reason") ? codec_word(&j, s->p->a, &l->reason)
          : json_is(&j, "prompt_eval_count") ? codec_count(&j, &l->input)
          : json_is(&j, "eval_count") ? codec_count(&j, &l->output)
          : json_is(&j, "error") ? codec_raw(&j, &l->error)
          : json_is(&j, "total_duration") || json_is(&j, "eval_duration") ? read_duration(&j, l)
          : json_is(&j, "logprobs") ? codec_raw(&j, &l->logprobs) : json_skip(&j);
    if (r != 0) return -1;
  }
  return j.tok == J_OBJECT_END && json_next(&j) == J_EOF ? 0 : -1;
}

/* }}} */

/* {{{ telling */

static struct event *push(struct ollama *s, enum event_type type, int32_t key) {
  struct event *ev = events_push(s->out, type, key);
  if (ev == NULL) err_memory(s->e);
  return ev;
}

/* Text of the answer or of its reasoning: neighbours of one kind are one block. */
static int push_text(struct ollama *s, enum ollama_run run, struct str text, unsigned flags) {
  struct event *ev;
  if (text.n == 0) return 0;
  if (s->run != run) s->key = s->next_key++;
  s->run = run;
  if ((ev = push(s, run == OLLAMA_TEXT ? PART_TEXT : PART_THINKING, s->key)) == NULL) return -1;
  ev->text = text;
  ev->flags = flags;
  return 0;
}

/* One call, which comes whole. */
struct call {
  struct str id, name, arguments;
  unsigned flags;
};

/* Arguments are a value, whose bytes are kept; some send it as text. */
static int read_arguments(const struct ollama *s, struct json *j, struct call *c) {
  struct json k = *j;
  enum token t = json_next(j);
  if (t == J_ERROR) return -1;
  if (t == J_STRING) return json_text_wtf8(j, s->p->a, &c->arguments, &c->flags) == 0 ? 0 : err_memory(j->e);
  *j = k;
  return codec_raw(j, &c->arguments);
}

/* The value of `function`. */
static int read_function(const struct ollama *s, struct json *j, struct call *c) {
  enum token t = json_next(j);
  if (t != J_OBJECT) return codec_odd(j, "a function is no object");
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "arguments") ? read_arguments(s, j, c)
          : json_is(j, "name") ? codec_word(j, s->p->a, &c->name) : json_skip(j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

/* An element of `tool_calls`; j stands behind its opening brace. Its index says nothing: some have none, or all the same
** (vercel/ai#18440). */
static int push_call(struct ollama *s, struct json *j) {
  struct call c = { .id = STR_NONE };
  int32_t key = s->next_key++;
  struct event *ev;
  enum token t;
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "id") ? codec_word(j, s->p->a, &c.id)
          : json_is(j, "function") ? read_function(s, j, &c) : json_skip(j);
    if (r != 0) return -1;
  }
  if (t == J_ERROR || (ev = push(s, PART_TOOL, key)) == NULL) return -1;
  ev->id = str_trim(c.id);
  ev->name = c.name;
  if (c.arguments.n > 0) {
    if ((ev = push(s, PART_ARGS, key)) == NULL) return -1;
    ev->text = c.arguments;
    ev->flags = c.flags;
  }
  s->run = OLLAMA_NONE;
  s->calls = 1;
  return push(s, PART_END, key) == NULL ? -1 : 0;
}

static int push_calls(struct ollama *s, struct str calls) {
  struct json j;
  enum token t;
  if (calls.n == 0) return 0;
  json_open(&j, calls, s->p->limits->depth, s->e);
  if (json_next(&j) != J_ARRAY) return codec_odd(&j, "tool_calls are no array");
  while ((t = json_next(&j)) != J_ARRAY_END)
    if ((t == J_OBJECT ? push_call(s, &j) : codec_odd(&j, "a tool call is no object")) != 0) return -1;
  return 0;
}

/* How likely the tokens of a line were: in OpenAI's form. */
static int push_logprobs(struct ollama *s, struct str array) {
  struct event *ev;
  if (array.n == 0 || array.p[0] != '[') return 0;
  if ((ev = push(s, PART_LOGPROBS, 0)) == NULL) return -1;
  ev->text = array;
  return 0;
}

static int push_model(struct ollama *s, struct str model) {
  struct event *ev;
  if (model.n == 0) return 0;
  s->has_model = 1;
  if ((ev = push(s, PART_META, 0)) == NULL) return -1;
  ev->name = model;
  return 0;
}

/* The counts of the last line. A count of zero is left out on the wire, but so is a prompt's that was not evaluated. */
static int push_usage(struct ollama *s, const struct line *l) {
  struct event *ev;
  s->input = l->input;
  s->output = l->output < 0 && l->timed ? 0 : l->output;
  if (s->input < 0 && s->output < 0) return 0;
  if ((ev = push(s, PART_USAGE, 0)) == NULL) return -1;
  usage_clear(&ev->usage);
  ev->usage.input = s->input;
  ev->usage.output = s->output;
  return 0;
}

/* Notes the text of a line that says nothing else. */
static void note_text(const struct ollama *s, const struct line *l) {
  if (s->p->said == NULL || l->done || l->calls.n + l->logprobs.n > 0) return;
  if (l->thinking.n == 0) s->p->said->text = l->content;
  else if (l->content.n == 0) s->p->said->text = l->thinking;
}

/* Tells what a line says. */
static int take_line(struct ollama *s, struct str data, const struct line *l) {
  if (l->error.n > 0) {
    ollama_read_error(s->p->a, 200, STR_NONE, data, s->e);
    return -1;
  }
  if (push_model(s, l->model) != 0 || push_text(s, OLLAMA_THINKING, l->thinking, l->thinking_flags) != 0 ||
      push_text(s, OLLAMA_TEXT, l->content, l->content_flags) != 0) return -1;
  if (l->calls.n + l->logprobs.n > 0 && (push_calls(s, l->calls) != 0 || push_logprobs(s, l->logprobs) != 0)) return -1;
  note_text(s, l);
  if (!l->done) return 0;
  s->done = 1;
  if (buf_addstr(&s->reason, l->reason) != 0) return err_memory(s->e);
  return push_usage(s, l);
}

static int parse_event(void *state, const struct record *r, struct events *out, struct err *e) {
  struct ollama *s = state;
  struct line l;
  s->out = out;
  s->e = e;
  if (s->done) return 0;
  if (read_line(s, r->data, &l) != 0 || take_line(s, r->data, &l) != 0) return -1;
  return s->done && push(s, PART_DONE, 0) == NULL ? -1 : 0;
}

int ollama_parse_record(void *state, const struct record *r, struct events *out, struct err *e) {
  const struct ollama *s = state;
  return codec_record(s->p, r, parse_event, state, out, e);
}

int ollama_parse_body(void *state, struct str body, struct events *out, struct err *e) {
  struct ollama *s = state;
  struct line l;
  s->out = out;
  s->e = e;
  if (read_line(s, body, &l) != 0 || take_line(s, body, &l) != 0) return -1;
  return s->done ? 0 : err_set(e, KIND_PROTOCOL, "the provider's answer does not say that it is done");
}

/* The last text opened or continued its block: this one goes on with it. */
int ollama_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e) {
  struct ollama *s = state;
  s->out = out;
  s->e = e;
  return push_text(s, s->run, text, flags);
}

/* }}} */

/* {{{ the end of the message */

static int push_warning(struct ollama *s, const char *code, const char *field, const char *text) {
  struct event *ev = push(s, PART_WARNING, 0);
  if (ev == NULL) return -1;
  ev->id = (struct str){ code, strlen(code) };
  ev->name = (struct str){ field, strlen(field) };
  ev->text = (struct str){ text, strlen(text) };
  return 0;
}

int ollama_parse_end(void *state, struct events *out, struct err *e) {
  struct ollama *s = state;
  struct str reason = buf_str(&s->reason);
  struct ollama_cut cut = ollama_cut_of(&s->sent, s->input, s->output);
  int length = str_eq(reason, "length");
  int known = length || reason.n == 0 || str_eq(reason, "stop") || str_eq(reason, "load") || str_eq(reason, "unload");
  struct event *ev;
  s->out = out;
  s->e = e;
  if (cut.code != NULL && push_warning(s, cut.code, "messages", cut.message) != 0) return -1;
  if (!known && push_warning(s, "unknown_stop_reason", "stop_reason", "the done_reason is not known") != 0) return -1;
  if ((ev = push(s, PART_STOP, 0)) == NULL) return -1;
  ev->stop = length ? STOP_MAX_TOKENS : s->calls ? STOP_TOOL_USE : STOP_END_TURN;
  ev->text = reason;
  return 0;
}

/* }}} */
