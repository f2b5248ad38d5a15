/*
** parse.c: chunks of a stream and whole answers, which look alike, as parts. The content's are read last: the id, an
** error and the candidate's index may stand behind them.
** Nothing on the wire says that nothing more comes: a finishReason may stand in the middle. Parts borrow from the chunk's
** bytes and the arena. Failure: -1 and an err.
*/
#include "gemini.h"

/* {{{ state */

void gemini_init(void *state, const struct parse *p) {
  struct gemini *s = state;
  s->p = p;
  buf_init(&s->reason, p->m);
  buf_init(&s->message, p->m);
  for (int i = 0; i < GEMINI_EXTRAS; i++) buf_init(&s->extras[i], p->m);
}

void gemini_free(void *state) {
  struct gemini *s = state;
  buf_free(&s->reason);
  buf_free(&s->message);
  for (int i = 0; i < GEMINI_EXTRAS; i++) buf_free(&s->extras[i]);
}

int gemini_ended(const void *state) {
  const struct gemini *s = state;
  if (s->cut || !(s->finished || s->blocked)) return NOT_ENDED;
  return s->blocked && s->parts == 0 ? ENDED_FOR_GOOD : ENDED_SO_FAR;
}

/* }}} */

/* {{{ candidates */

struct candidate {
  struct str parts, logprobs;          /* parts: those of the content; raw */
  struct str reason, message;
  struct str extras[GEMINI_EXTRAS];    /* raw */
  int64_t index;
  int is_there, is_odd;                /* odd: its content is no object */
  int has_extras;                      /* it has further members, which may be those above */
};

/* Reads a member that may stand beside the content, by the key at hand; skips any other. */
static int read_extra(struct json *j, struct candidate *c) {
  c->has_extras = 1;
  if (json_is(j, "logprobsResult")) return codec_raw(j, &c->logprobs);
  for (int i = 0; i < GEMINI_EXTRAS; i++)
    if (json_is_(j, gemini_extras[i].p, gemini_extras[i].n)) return codec_raw(j, &c->extras[i]);
  return json_skip(j);
}

/* The value of `content`. One that is no object is refused later: the candidate may not count. */
static int read_content(struct json *j, struct candidate *c) {
  enum token t = json_next(j);
  c->parts = STR_NONE;
  c->is_odd = t != J_OBJECT && t != J_NULL;
  if (t != J_OBJECT) return t == J_ERROR ? -1 : json_skip(j);
  while (json_next(j) == J_KEY)
    if ((json_is(j, "parts") ? codec_raw(j, &c->parts) : json_skip(j)) != 0) return -1;
  return j->tok == J_OBJECT_END ? 0 : -1;
}

static int read_candidate(struct gemini *s, struct json *j, struct candidate *c) {
  struct arena *a = s->p->a;
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "content") ? read_content(j, c)
          : json_is(j, "index") ? codec_integer(j, &c->index)
          : json_is(j, "finishReason") ? codec_word(j, a, &c->reason)
          : json_is(j, "finishMessage") ? codec_word(j, a, &c->message) : read_extra(j, c);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* The first candidate of index 0, which may be left out; *others: how many there are besides. */
static int read_candidates(struct gemini *s, struct json *j, struct candidate *first, int *others) {
  enum token t = json_next(j);
  first->is_there = *others = 0;
  if (t != J_ARRAY) return codec_odd(j, "candidates are no array");
  while ((t = json_next(j)) != J_ARRAY_END) {
    struct candidate c = { .is_there = 1 };
    if ((t == J_OBJECT ? read_candidate(s, j, &c) : codec_odd(j, "a candidate is no object")) != 0) return -1;
    if (t == J_OBJECT && c.index == 0 && !first->is_there) *first = c;
    else *others += t == J_OBJECT;
  }
  return 0;
}

static int take_parts(struct gemini *s, struct str json) {
  struct json j;
  enum token t;
  int first = 1;
  if (json.n == 0) return 0;
  json_open(&j, json, s->p->limits->depth, s->e);
  if (json_next(&j) != J_ARRAY) return codec_odd(&j, "a candidate's parts are no array");
  while ((t = json_next(&j)) != J_ARRAY_END) {
    if ((t == J_OBJECT ? gemini_part(s, &j, first) : codec_odd(&j, "a part is no object")) != 0) return -1;
    first = 0;
  }
  return 0;
}

/* Keeps what stands beside the content, as {name: value}; the last of each. */
static int keep_extra(struct gemini *s, int at, struct str json) {
  struct buf *b = &s->extras[at];
  if (json.n == 0) return 0;
  b->n = 0;
  if (codec_member(b, gemini_extras[at], json, s->e) != 0) return -1;
  return buf_addc(b, '}') == 0 ? 0 : err_memory(s->e);
}

static int take_extras(struct gemini *s, const struct candidate *c) {
  for (int i = 0; i < GEMINI_EXTRAS; i++)
    if (keep_extra(s, i, c->extras[i]) != 0) return -1;
  if (c->extras[0].n > 0) s->hosted = 1; /* a search grounds the answer */
  return c->logprobs.n > 0 ? gemini_logprobs(s, c->logprobs) : 0;
}

static int take_candidate(struct gemini *s, const struct candidate *c) {
  if (!c->is_there) return 0;
  if (c->is_odd) return err_set(s->e, KIND_PROTOCOL, "a candidate's content is no object");
  if (take_parts(s, c->parts) != 0 || (c->has_extras && take_extras(s, c) != 0)) return -1;
  return c->reason.n > 0 ? gemini_finish(s, c->reason, c->message) : 0;
}

/* That there are other candidates is said once. */
static int tell_others(struct gemini *s, int others) {
  if (others == 0 || s->has_choices++ > 0) return 0;
  return gemini_warn(s, STR("further_candidates"), STR(""), STR("an answer is one message: the others were dropped"));
}

/* }}} */

/* {{{ chunks */

/* A refused prompt. */
static int take_feedback(struct gemini *s, struct str json) {
  struct str reason = STR_NONE, message = STR_NONE;
  struct json j;
  if (json.n == 0 || json.p[0] != '{') return 0;
  json_open(&j, json, s->p->limits->depth, s->e);
  (void)json_next(&j);
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "blockReason") ? codec_word(&j, s->p->a, &reason)
          : json_is(&j, "blockReasonMessage") ? codec_word(&j, s->p->a, &message) : json_skip(&j);
    if (r != 0) return -1;
  }
  if (j.tok != J_OBJECT_END) return -1;
  return reason.n == 0 ? 0 : gemini_block(s, reason, message);
}

/* The members of a chunk; error, feedback and status raw. */
struct chunk {
  struct str error, feedback, status, id, model;
  struct candidate candidate;
  int others;
};

static int read_chunk(struct gemini *s, struct json *j, struct chunk *c) {
  struct arena *a = s->p->a;
  while (json_next(j) == J_KEY) {
    int r = json_is(j, "candidates") ? read_candidates(s, j, &c->candidate, &c->others)
          : json_is(j, "usageMetadata") ? gemini_read_usage(s, j)
          : json_is(j, "promptFeedback") ? codec_raw(j, &c->feedback)
          : json_is(j, "modelStatus") ? codec_raw(j, &c->status)
          : json_is(j, "responseId") ? codec_word(j, a, &c->id)
          : json_is(j, "modelVersion") ? codec_word(j, a, &c->model)
          : json_is(j, "error") ? codec_raw(j, &c->error) : json_skip(j);
    if (r != 0) return -1;
  }
  return j->tok == J_OBJECT_END ? 0 : -1;
}

/* The provider's own error: fills the err with the status it maps to. */
static int fail(struct gemini *s, struct str json) {
  struct node *v = json_tree(s->p->a, json, s->p->limits->depth, s->e);
  if (v != NULL) codec_error_node(s->p->a, 200, v, s->e);
  return -1;
}

static int push_meta(struct gemini *s, const struct chunk *c) {
  struct event *ev;
  if ((s->has_id || c->id.n == 0) && (s->has_model || c->model.n == 0)) return 0;
  if ((ev = gemini_push(s, PART_META, 0, STR_NONE)) == NULL) return -1;
  ev->id = c->id;
  ev->name = c->model;
  s->has_id |= c->id.n > 0;
  s->has_model |= c->model.n > 0;
  return 0;
}

/* Notes that there is more to a chunk than a text and counts: that it ends the message, or is one of several (NULL). */
static void note_more(const struct gemini *s, const struct chunk *c) {
  if (s->p->said == NULL) return;
  if (c == NULL || c->candidate.reason.n + c->feedback.n > 0 || s->run == GEMINI_NONE) s->p->said->text = STR_NONE;
}

/* One chunk, an object whose beginning was read. */
static int take_chunk(struct gemini *s, struct json *j) {
  struct chunk c = { .error = STR_NONE };
  s->counts.is_there = 0;
  if (read_chunk(s, j, &c) != 0) return -1;
  if (c.error.n > 0) return fail(s, c.error);
  if (push_meta(s, &c) != 0 || tell_others(s, c.others) != 0 || take_candidate(s, &c.candidate) != 0 ||
      take_feedback(s, c.feedback) != 0) return -1;
  note_more(s, &c);
  return keep_extra(s, GEMINI_EXTRAS - 1, c.status) != 0 ? -1 : gemini_push_usage(s);
}

/* The elements of an array of chunks: an error that is wrapped so, or a stream whose query a proxy dropped. */
static int take_array(struct gemini *s, struct json *j) {
  enum token t;
  while ((t = json_next(j)) != J_ARRAY_END) {
    if (t == J_ERROR) return -1;
    if ((t == J_OBJECT ? take_chunk(s, j) : json_skip(j)) != 0) return -1;
  }
  note_more(s, NULL);
  return 0;
}

/* A chunk, or an array of them: *is_array says which. */
static int take_value(struct gemini *s, struct str json, int *is_array) {
  struct json j;
  json_open(&j, json, s->p->limits->depth, s->e);
  switch (json_next(&j)) {
    case J_ERROR: return -1;
    case J_OBJECT: *is_array = 0; return take_chunk(s, &j) == 0 && json_next(&j) == J_EOF ? 0 : -1;
    case J_ARRAY: *is_array = 1; return take_array(s, &j) == 0 && json_next(&j) == J_EOF ? 0 : -1;
    default: return err_set(s->e, KIND_PROTOCOL, "the answer is no object");
  }
}

/* }}} */

static int parse_event(void *state, const struct record *r, struct events *out, struct err *e) {
  struct gemini *s = state;
  int is_array;
  s->out = out;
  s->e = e;
  return str_eq(r->data, "[DONE]") ? 0 : take_value(s, r->data, &is_array); /* some proxies end so */
}

int gemini_parse_record(void *state, const struct record *r, struct events *out, struct err *e) {
  struct gemini *s = state;
  if (r->unclosed && json_is_cut(r->data)) { /* more was to come */
    s->cut = 1;
    return 0;
  }
  return codec_record(s->p, r, parse_event, state, out, e);
}

/* The last text opened or continued its block: this one goes on with it. */
int gemini_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e) {
  struct gemini *s = state;
  s->out = out;
  s->e = e;
  return gemini_go_on(s, text, flags);
}

static int no_candidates(struct err *e) {
  err_set(e, KIND_PROTOCOL, "the provider answered without any candidate (no candidates)");
  e->retryable = 1;
  return -1;
}

int gemini_parse_body(void *state, struct str body, struct events *out, struct err *e) {
  struct gemini *s = state;
  int is_array = 0;
  s->out = out;
  s->e = e;
  if (take_value(s, body, &is_array) != 0) return -1;
  if (is_array && !s->finished && !s->blocked)
    return err_set(e, KIND_STREAM_TRUNCATED, "the answer ended before the message was complete");
  if (!s->finished && !s->blocked && s->parts == 0) return no_candidates(e);
  s->finished |= !s->blocked;
  if (!is_array) return 0;
  return gemini_warn(s, STR("not_a_stream"), STR(""), STR("the answer is an array of chunks instead of a stream"));
}

int gemini_parse_end(void *state, struct events *out, struct err *e) {
  struct gemini *s = state;
  s->out = out;
  s->e = e;
  return gemini_end(s);
}
