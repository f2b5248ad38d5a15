/*
** item.c: output items of the Responses format. Deltas are told as they come; what an item says when it
** is done settles what they left open. A stream and a plain answer go through the same functions, so that both give the
** same message.
** A piece owns its buffers until its item is done; parts borrow from the event's bytes and the scratch arena. Failure:
** -1 and an err.
*/
#include "responses.h"

/* {{{ pieces */

static struct responses_piece *find(struct responses *s, int64_t item, int64_t at, enum responses_kind kind) {
  for (size_t i = s->n; i-- > 0;) {
    struct responses_piece *x = &s->v[i];
    if (x->item == item && x->at == at && x->kind == kind) return x;
  }
  return NULL;
}

static int is_done(const struct responses *s, int64_t item) {
  for (size_t i = s->n; i-- > 0;)
    if (s->v[i].item == item) return s->v[i].closed;
  return 0;
}

int responses_open(const struct responses *s, int64_t item) {
  for (size_t i = s->n; i-- > 0;)
    if (s->v[i].item == item) return !s->v[i].closed;
  return 0;
}

/* One more piece, or NULL: too many, or out of memory. */
static struct responses_piece *new_piece(struct responses *s, int64_t item, int64_t at, enum responses_kind kind) {
  const struct parse *p = s->p;
  struct responses_piece *x;
  if (s->n >= (size_t)p->limits->blocks) {
    err_set(s->e, KIND_LIMIT, "the answer has more than %d blocks (limits.blocks)", p->limits->blocks);
    return NULL;
  }
  x = mem_grow(p->m, s->v, s->n, &s->cap, sizeof *x);
  if (x == NULL) { err_memory(s->e); return NULL; }
  s->v = x;
  x = &s->v[s->n++];
  memset(x, 0, sizeof *x);
  x->item = item;
  x->at = at;
  x->kind = kind;
  x->key = s->next_key++;
  buf_init(&x->text, p->m);
  buf_init(&x->head, p->m);
  if (kind == RESPONSES_TOOL) s->tools++;
  if (kind == RESPONSES_REFUSAL) s->refused++;
  return x;
}

static struct responses_piece *piece(struct responses *s, int64_t item, int64_t at, enum responses_kind kind) {
  struct responses_piece *x = find(s, item, at, kind);
  return x != NULL ? x : new_piece(s, item, at, kind);
}

/* }}} */

/* {{{ text */

static const enum event_type PART[] = {
  [RESPONSES_TEXT] = PART_TEXT, [RESPONSES_REFUSAL] = PART_REFUSAL, [RESPONSES_THINKING] = PART_THINKING,
  [RESPONSES_TOOL] = PART_ARGS
};

/* Appends to a piece and says so; nothing for an empty text. */
static int say(struct responses *s, struct responses_piece *x, struct str text, unsigned flags) {
  struct event *ev;
  if (text.n == 0) return 0;
  if (x->kind == RESPONSES_TOOL && limits_check_arguments(s->p->limits, x->text.n + text.n, s->e) != 0) return -1;
  if (buf_addstr(&x->text, text) != 0) return err_memory(s->e);
  if (flags & EVENT_SURROGATE) x->halves = 1;
  if (x->held) return 0;
  ev = responses_push(s, PART[x->kind], x->key, text);
  if (ev == NULL) return -1;
  ev->flags = flags;
  return 0;
}

/* Replaces what a piece holds from `base` on. Deltas that were handed out cannot be taken back: a warning says so. */
static int correct(struct responses *s, struct responses_piece *x, size_t base, struct str full) {
  struct event *ev;
  struct str all;
  x->text.n = base;
  if (x->held) return say(s, x, full, 0);
  if (x->kind == RESPONSES_TOOL && limits_check_arguments(s->p->limits, base + full.n, s->e) != 0) return -1;
  if (buf_addstr(&x->text, full) != 0) return err_memory(s->e);
  all = arena_dup(s->p->a, buf_str(&x->text));
  if (all.p == NULL) return err_memory(s->e);
  ev = responses_push(s, PART[x->kind], x->key, all);
  if (ev == NULL) return -1;
  ev->flags = EVENT_REPLACE;
  ev = responses_push(s, PART_WARNING, 0, STR("the provider's last word on a block differs from what it had streamed"));
  if (ev == NULL) return -1;
  ev->id = STR("stream_corrected");
  return 0;
}

/* A copy with the halves of characters joined; p NULL when out of memory. */
static struct str joined(struct responses *s, struct str text) {
  struct str copy = arena_dup(s->p->a, text);
  if (copy.p != NULL) copy.n = json_join_surrogates((char *)copy.p, copy.n);
  return copy;
}

/* All of what the piece holds from `base` on is `full`: says what deltas left out. An empty `full` says nothing. */
static int settle(struct responses *s, struct responses_piece *x, size_t base, struct str full, unsigned flags) {
  struct str had;
  if (full.n == 0) return 0;
  if (x->text.n == base) return say(s, x, full, flags);
  had = (struct str){ x->text.p + base, x->text.n - base };
  if (x->halves || (flags & EVENT_SURROGATE)) {
    had = joined(s, had);
    full = joined(s, full);
    if (had.p == NULL || full.p == NULL) return err_memory(s->e);
  }
  if (!str_starts(full, had.p, had.n)) return correct(s, x, base, full);
  return say(s, x, (struct str){ full.p + had.n, full.n - had.n }, 0);
}

/* Reasoning: its parts are set apart by a blank line. Of an item's own text and its summary, the first to come
** counts. */
static int add_thinking(struct responses *s, struct responses_piece *x, const struct responses_text *t) {
  if (x->text.n == 0) {
    x->content = t->content;
    x->part = t->at;
  }
  if (x->content != t->content || t->at < x->part || t->s.n == 0) return 0;
  if (t->at > x->part) {
    if (say(s, x, STR("\n\n"), 0) != 0) return -1;
    x->part = t->at;
    x->start = x->text.n;
  }
  return t->whole ? settle(s, x, x->start, t->s, t->flags) : say(s, x, t->s, t->flags);
}

int responses_add(struct responses *s, const struct responses_text *t) {
  int64_t at = t->kind == RESPONSES_TEXT || t->kind == RESPONSES_REFUSAL ? t->at : 0;
  struct responses_piece *x = find(s, t->item, at, t->kind);
  if (x == NULL) {
    if (is_done(s, t->item) || find(s, t->item, 0, RESPONSES_OTHER) != NULL) return 0;
    if ((x = new_piece(s, t->item, at, t->kind)) == NULL) return -1;
  }
  if (x->closed) return 0;
  if (t->kind == RESPONSES_THINKING) return add_thinking(s, x, t);
  return t->whole ? settle(s, x, 0, t->s, t->flags) : say(s, x, t->s, t->flags);
}

/* }}} */

/* {{{ reading items */

/* The members of an item; strings are decoded, the rest is JSON. */
struct item {
  struct str json;               /* all of it */
  struct str type, role, id, call_id, name, phase, encrypted, arguments, content, summary;
  unsigned flags;                /* of arguments */
  int whole;
};

static int read_item(struct responses *s, struct str json, struct item *it) {
  struct arena *a = s->p->a;
  struct json j;
  memset(it, 0, sizeof *it);
  it->json = json;
  json_open(&j, json, s->p->limits->depth, s->e);
  if (json_next(&j) != J_OBJECT) return j.tok == J_ERROR ? -1 : 0;
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "type") ? codec_word(&j, a, &it->type)
          : json_is(&j, "role") ? codec_word(&j, a, &it->role)
          : json_is(&j, "id") ? codec_word(&j, a, &it->id)
          : json_is(&j, "call_id") ? codec_word(&j, a, &it->call_id)
          : json_is(&j, "name") ? codec_word(&j, a, &it->name)
          : json_is(&j, "phase") ? codec_word(&j, a, &it->phase)
          : json_is(&j, "encrypted_content") ? codec_word(&j, a, &it->encrypted)
          : json_is(&j, "arguments") ? codec_arguments(s->p, &j, &it->arguments, &it->flags, &it->whole)
          : json_is(&j, "content") ? codec_raw(&j, &it->content)
          : json_is(&j, "summary") ? codec_raw(&j, &it->summary) : json_skip(&j);
    if (r != 0) return -1;
  }
  if (it->call_id.n == 0) it->call_id = it->id;
  return j.tok == J_OBJECT_END ? 0 : -1;
}

/* True for a message of somebody else than the model, such as the user's own among what a provider gives back. */
static int is_foreign(const struct item *it) {
  return str_eq(it->type, "message") && it->role.n > 0 && !str_eq(it->role, "assistant");
}

/* An element of a message's content, or of a reasoning item's content or summary. */
struct element {
  struct str json, type, text, refusal, annotations, logprobs;
  unsigned flags;
};

/* The next element of an array; j stands behind the bracket or an earlier element. 1, 0 at the end, or -1. Elements
** that are no objects are all empty. */
static int next_element(struct responses *s, struct json *j, struct element *x) {
  struct arena *a = s->p->a;
  enum token t = json_next(j);
  memset(x, 0, sizeof *x);
  if (t == J_ARRAY_END || t == J_ERROR) return t == J_ERROR ? -1 : 0;
  x->json.p = j->start;
  if (t != J_OBJECT) return json_skip(j) != 0 ? -1 : 1;
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "type") ? codec_word(j, a, &x->type)
          : json_is(j, "text") ? codec_text(j, a, &x->text, &x->flags)
          : json_is(j, "refusal") ? codec_text(j, a, &x->refusal, &x->flags)
          : json_is(j, "annotations") ? codec_raw(j, &x->annotations)
          : json_is(j, "logprobs") ? codec_raw(j, &x->logprobs) : json_skip(j);
    if (r != 0) return -1;
  }
  x->json.n = (size_t)(j->p - x->json.p);
  return t == J_ERROR ? -1 : 1;
}

/* Opens an array: 0, or -1 when it is none, which says nothing. */
static int open_array(struct responses *s, struct json *j, struct str json) {
  if (json.n == 0 || json.p[0] != '[') return -1;
  json_open(j, json, s->p->limits->depth, s->e);
  (void)json_next(j);
  return 0;
}

/* The texts of an array's elements, a blank line between them. 0 or -1. */
static int join_texts(struct responses *s, struct str json, struct str *text, unsigned *flags) {
  struct element x;
  struct json j;
  struct buf b;
  int r, parts = 0;
  *text = STR_NONE;
  if (open_array(s, &j, json) != 0) return 0;
  buf_init(&b, s->p->m);
  while ((r = next_element(s, &j, &x)) > 0) {
    if (x.text.n == 0) continue;
    *flags |= x.flags;
    *text = x.text;
    if ((parts++ > 0 && buf_adds(&b, "\n\n") != 0) || buf_addstr(&b, x.text) != 0) { r = err_memory(s->e); break; }
  }
  if (r == 0 && parts > 1 && (*text = arena_dup(s->p->a, buf_str(&b))).p == NULL) r = err_memory(s->e);
  buf_free(&b);
  return r;
}

/* }}} */

/* {{{ items that begin */

/* A tool call's name and id. Calls in one are held back: their names come with their end. */
static int name_tool(struct responses *s, struct responses_piece *x, const struct item *it) {
  struct event *ev = responses_push(s, PART_TOOL, x->key, STR_NONE);
  if (ev == NULL) return -1;
  ev->id = it->call_id;
  ev->name = it->name;
  return 0;
}

int responses_begin(struct responses *s, int64_t item, struct str json) {
  struct responses_piece *x;
  struct item it;
  if (is_done(s, item)) return 0;
  if (read_item(s, json, &it) != 0) return -1;
  if (is_foreign(&it)) return piece(s, item, 0, RESPONSES_OTHER) == NULL ? -1 : 0;
  if (!str_eq(it.type, "function_call")) return 0;
  if ((x = piece(s, item, 0, RESPONSES_TOOL)) == NULL) return -1;
  if (x->text.n > 0 || !responses_is_parallel(it.name)) return name_tool(s, x, &it);
  x->held = 1;
  x->head.n = 0;
  return buf_addstr(&x->head, json) == 0 ? 0 : err_memory(s->e);
}

/* }}} */

/* {{{ items that are done */

/* {phase, annotations} of a text, where there are any. */
static int keep_text(struct responses *s, const struct responses_piece *x, struct str phase, struct str annotations) {
  int cited = annotations.n > 2 && annotations.p[0] == '[', bad = 0;
  struct str raw;
  struct buf b;
  if (phase.n == 0 && !cited) return 0;
  buf_init(&b, s->p->m);
  if (phase.n > 0) bad = buf_adds(&b, "{\"phase\":") != 0 || json_write_string(&b, phase) != 0;
  if (!bad && cited)
    bad = buf_adds(&b, b.n > 0 ? ",\"annotations\":" : "{\"annotations\":") != 0 || buf_addstr(&b, annotations) != 0;
  bad = bad || buf_addc(&b, '}') != 0;
  raw = bad ? STR_NONE : arena_dup(s->p->a, buf_str(&b));
  buf_free(&b);
  if (raw.p == NULL) return err_memory(s->e);
  return responses_push(s, PART_RAW, x->key, raw) != NULL ? 0 : -1;
}

/* How likely the tokens of a text were: in OpenAI's form. Deltas say it too, which is not looked at. */
static int push_logprobs(struct responses *s, struct str array) {
  if (array.n <= 2 || array.p[0] != '[') return 0;
  return responses_push(s, PART_LOGPROBS, 0, array) != NULL ? 0 : -1;
}

/* A part of a message that has no canonical form: kept as a message that holds nothing else. */
static int keep_part(struct responses *s, int64_t item, int64_t at, const struct element *c) {
  struct responses_piece *x = new_piece(s, item, at, RESPONSES_OTHER);
  struct event *ev;
  struct str raw;
  struct buf b;
  int bad;
  if (x == NULL) return -1;
  buf_init(&b, s->p->m);
  bad = buf_adds(&b, "{\"role\":\"assistant\",\"content\":[") != 0 || buf_addstr(&b, c->json) != 0 ||
        buf_adds(&b, "]}") != 0;
  raw = bad ? STR_NONE : arena_dup(s->p->a, buf_str(&b));
  buf_free(&b);
  if (raw.p == NULL) return err_memory(s->e);
  if ((ev = responses_push(s, PART_OPAQUE, x->key, raw)) == NULL) return -1;
  ev->name = c->type;
  return 0;
}

static int finish_message(struct responses *s, int64_t item, const struct item *it) {
  struct element c;
  struct json j;
  int r;
  if (open_array(s, &j, it->content) != 0) return 0;
  for (int64_t at = 0; (r = next_element(s, &j, &c)) > 0; at++) {
    int refusal = str_eq(c.type, "refusal");
    struct responses_piece *x;
    if (!refusal && !str_eq(c.type, "output_text") && !(c.type.n == 0 && c.text.n > 0)) {
      if (c.type.n > 0 && keep_part(s, item, at, &c) != 0) return -1;
      continue;
    }
    x = piece(s, item, at, refusal ? RESPONSES_REFUSAL : RESPONSES_TEXT);
    if (x == NULL || settle(s, x, 0, refusal ? c.refusal : c.text, c.flags) != 0) return -1;
    if (keep_text(s, x, it->phase, c.annotations) != 0 || push_logprobs(s, c.logprobs) != 0) return -1;
  }
  return r;
}

/* Reasoning goes back whole, or is lost. Where it shows no text it is a block only if it is encrypted. */
static int finish_thinking(struct responses *s, int64_t item, const struct item *it) {
  struct responses_piece *x = piece(s, item, 0, RESPONSES_THINKING);
  struct str text, summary;
  unsigned flags = 0, summary_flags = 0;
  struct event *ev;
  if (x == NULL || join_texts(s, it->content, &text, &flags) != 0) return -1;
  if (join_texts(s, it->summary, &summary, &summary_flags) != 0) return -1;
  if (text.n == 0 || (x->text.n > 0 && !x->content)) {
    text = summary;
    flags = summary_flags;
  }
  if (settle(s, x, 0, text, flags) != 0 || (ev = responses_push(s, PART_RAW, x->key, it->json)) == NULL) return -1;
  if (it->encrypted.n > 0) ev->name = STR("thinking");
  return 0;
}

/* The members of a call that have no canonical name, its own id among them. */
static int keep_call(struct responses *s, const struct responses_piece *x, struct str json) {
  struct str raw = STR_NONE;
  struct json j;
  struct buf b;
  int r = 0;
  buf_init(&b, s->p->m);
  json_open(&j, json, s->p->limits->depth, s->e);
  (void)json_next(&j);
  while (r == 0 && json_next(&j) == J_KEY)
    r = json_is(&j, "type") || json_is(&j, "call_id") || json_is(&j, "name") || json_is(&j, "arguments") ||
        json_is(&j, "status") ? json_skip(&j) : codec_extra(&b, &j);
  if (r == 0) r = codec_extra_end(s->p, &b, &raw, s->e);
  buf_free(&b);
  if (r != 0 || raw.n == 0) return r;
  return responses_push(s, PART_RAW, x->key, raw) != NULL ? 0 : -1;
}

/* A call that was held back: the calls in it, or, when it holds none, itself. kept: the JSON to replay, if any. */
static int release(struct responses *s, struct responses_piece *x, const struct item *it, struct str kept) {
  struct str arguments = arena_dup(s->p->a, buf_str(&x->text));
  int r;
  if (arguments.p == NULL) return err_memory(s->e);
  r = responses_expand(s, it->call_id, arguments, kept);
  if (r != 0) return r > 0 ? 0 : -1;
  x->held = 0;
  x->text.n = 0;
  return name_tool(s, x, it) != 0 ? -1 : say(s, x, arguments, x->halves ? EVENT_SURROGATE : 0);
}

static int finish_tool(struct responses *s, int64_t item, const struct item *it) {
  struct responses_piece *x = piece(s, item, 0, RESPONSES_TOOL);
  if (x == NULL) return -1;
  if (x->text.n == 0 && responses_is_parallel(it->name)) x->held = 1;
  if (!x->held && name_tool(s, x, it) != 0) return -1;
  if (settle(s, x, 0, it->arguments, it->flags) != 0) return -1;
  if (x->held && release(s, x, it, it->json) != 0) return -1;
  return x->held ? 0 : keep_call(s, x, it->json);
}

/* True for calls of tools that run at the provider; custom tools and the caller's own shell do not. */
static int is_hosted(struct str type) {
  static const struct str OWN[] = { { "custom_tool_call", 16 }, { "local_shell_call", 16 }, { "apply_patch_call", 16 },
                                    { "computer_call", 13 } };
  for (size_t i = 0; i < sizeof OWN / sizeof OWN[0]; i++)
    if (str_same(type, OWN[i])) return 0;
  return type.n > 5 && memcmp(type.p + type.n - 5, "_call", 5) == 0;
}

/* Takes back what deltas said of a foreign message that was never announced. 0 or -1. */
static int retract(struct responses *s, int64_t item) {
  for (size_t i = 0; i < s->n; i++)
    if (s->v[i].item == item && s->v[i].text.n > 0 && correct(s, &s->v[i], 0, STR_NONE) != 0) return -1;
  return 0;
}

/* Hosted tools, custom tools, messages that are not the model's, whatever comes next: kept as it is. */
static int finish_other(struct responses *s, int64_t item, const struct item *it) {
  struct responses_piece *x = retract(s, item) == 0 ? piece(s, item, 0, RESPONSES_OTHER) : NULL;
  struct event *ev = x == NULL ? NULL : responses_push(s, PART_OPAQUE, x->key, it->json);
  if (ev == NULL) return -1;
  ev->name = it->type;
  if (is_hosted(it->type)) s->hosted = 1;
  return 0;
}

/* Ends a piece. */
static int close_piece(struct responses *s, struct responses_piece *x) {
  int says = x->kind != RESPONSES_OTHER && !x->held;
  buf_free(&x->text);
  buf_free(&x->head);
  x->closed = 1;
  return says && responses_push(s, PART_END, x->key, STR_NONE) == NULL ? -1 : 0;
}

int responses_finish(struct responses *s, int64_t item, struct str json) {
  struct item it;
  int r;
  if (is_done(s, item)) return 0;
  if (read_item(s, json, &it) != 0) return -1;
  if (it.type.n == 0) return 0;
  r = is_foreign(&it) ? finish_other(s, item, &it)
    : str_eq(it.type, "message") ? finish_message(s, item, &it)
    : str_eq(it.type, "reasoning") ? finish_thinking(s, item, &it)
    : str_eq(it.type, "function_call") ? finish_tool(s, item, &it) : finish_other(s, item, &it);
  if (r != 0 || (!responses_open(s, item) && new_piece(s, item, 0, RESPONSES_OTHER) == NULL)) return -1;
  for (size_t i = 0; i < s->n; i++)
    if (s->v[i].item == item && !s->v[i].closed && close_piece(s, &s->v[i]) != 0) return -1;
  return 0;
}

/* A call that was held back and never done. */
static int give_up(struct responses *s, struct responses_piece *x) {
  struct str head = arena_dup(s->p->a, buf_str(&x->head));
  struct item it;
  if (head.p == NULL) return err_memory(s->e);
  return read_item(s, head, &it) != 0 ? -1 : release(s, x, &it, STR_NONE);
}

int responses_close(struct responses *s) {
  for (size_t i = 0; i < s->n; i++) {
    struct responses_piece *x = &s->v[i];
    if (x->closed) continue;
    if ((x->held && give_up(s, x) != 0) || close_piece(s, x) != 0) return -1;
  }
  return 0;
}

/* }}} */
