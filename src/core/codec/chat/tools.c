/*
** tools.c: reads `tool_calls` and finds out which call a fragment belongs to. Providers disagree on ids and
** indexes: one algorithm serves them all; its cases are (a) to (e).
** The table owns copies of the ids. Failure: -1 and an err; the table can still be freed.
*/
#include "chat.h"

/* One element of `tool_calls`. */
struct piece {
  int choice;
  int has_index;
  int64_t index;
  struct str id, name;    /* empty = absent */
  struct str args;
  unsigned flags;         /* EVENT_SURROGATE of args */
  int whole_args;         /* args came as a value, not as a string: they are complete */
  int whole;              /* the piece is a complete call, not a fragment */
  struct str raw;         /* JSON object of its other fields, empty = none */
};

void chat_tools_init(struct chat_tools *t, const struct mem *m) {
  memset(t, 0, sizeof *t);
  buf_init(&t->ids, m);
}

void chat_tools_free(struct chat_tools *t, const struct mem *m) {
  mem_free(m, t->v, t->cap * sizeof *t->v);
  mem_free(m, t->binds, t->bind_cap * sizeof *t->binds);
  buf_free(&t->ids);
  chat_tools_init(t, m);
}

/* {{{ which call */

/* The first call with this id, or NULL. */
static struct chat_call *by_id(const struct chat_tools *t, struct str id) {
  for (size_t i = 0; i < t->n; i++) {
    const struct chat_call *c = &t->v[i];
    if (c->id_n > 0 && str_same(id, (struct str){ t->ids.p + c->id, c->id_n })) return &t->v[i];
  }
  return NULL;
}

/* The call that the piece's index means, or NULL. */
static struct chat_call *by_index(const struct chat_tools *t, const struct piece *x) {
  for (size_t i = 0; i < t->bind_n; i++)
    if (t->binds[i].index == x->index && t->binds[i].choice == x->choice) return &t->v[t->binds[i].call];
  return NULL;
}

/* A name where the call has one already and its arguments are complete: the next call under the same index. */
static int next_call(const struct chat_call *c, const struct piece *x) {
  return x->name.n > 0 && c->named && c->complete;
}

/* The call that the piece continues, or NULL: it begins one. */
static struct chat_call *find(const struct chat_tools *t, const struct piece *x) {
  struct chat_call *c, *at = x->has_index ? by_index(t, x) : NULL;
  if (x->whole) return NULL;
  if (x->id.n > 0) {
    if ((c = by_id(t, x->id)) != NULL) return c;                       /* (a) */
    return at != NULL && at->id_n == 0 && !at->begun ? at : NULL;      /* (b) */
  }
  if (x->has_index) c = at;                                            /* (c), (d) */
  else c = t->n > 0 ? &t->v[t->last] : NULL;                           /* (e) */
  return c != NULL && !next_call(c, x) ? c : NULL;
}

/* One more call, or NULL: too many, or out of memory. */
static struct chat_call *new_call(struct chat *s) {
  struct chat_tools *t = &s->tools;
  const struct parse *p = s->p;
  struct chat_call *c;
  if (t->n >= (size_t)p->limits->tool_calls) {
    err_set(s->e, KIND_LIMIT, "the answer has more than %d tool calls (limits.tool_calls)", p->limits->tool_calls);
    return NULL;
  }
  c = mem_grow(p->m, t->v, t->n, &t->cap, sizeof *c);
  if (c == NULL) { err_memory(s->e); return NULL; }
  t->v = c;
  c = &t->v[t->n++];
  memset(c, 0, sizeof *c);
  c->key = s->next_key++;
  return c;
}

/* From now on the piece's index means call c. */
static int bind(struct chat *s, const struct piece *x, const struct chat_call *c) {
  struct chat_tools *t = &s->tools;
  const struct parse *p = s->p;
  int max = p->limits->tool_calls;
  struct chat_bind b = { x->choice, x->index, (size_t)(c - t->v) }, *v;
  for (size_t i = 0; i < t->bind_n; i++)
    if (t->binds[i].index == b.index && t->binds[i].choice == b.choice) { t->binds[i].call = b.call; return 0; }
  if (t->bind_n >= 2 * (size_t)max)
    return err_set(s->e, KIND_LIMIT, "the answer has more than %d tool calls (limits.tool_calls)", max);
  v = mem_grow(p->m, t->binds, t->bind_n, &t->bind_cap, sizeof *v);
  if (v == NULL) return err_memory(s->e);
  t->binds = v;
  t->binds[t->bind_n++] = b;
  return 0;
}

/* Follows the JSON of the arguments far enough to know whether its outermost object is closed. */
static void scan(struct chat_call *c, struct str s) {
  for (size_t i = 0; i < s.n; i++) {
    char ch = s.p[i];
    if (c->escaped) c->escaped = 0;
    else if (c->in_string) {
      if (ch == '\\') c->escaped = 1;
      else if (ch == '"') c->in_string = 0;
    } else if (ch == '"') c->in_string = 1;
    else if (ch == '{' || ch == '[') c->depth++;
    else if ((ch == '}' || ch == ']') && c->depth > 0) c->complete = --c->depth == 0;
  }
}

/* Appends the piece's arguments; a whole value counts once. */
static int push_args(struct chat *s, struct chat_call *c, const struct piece *x) {
  struct event *ev;
  if (x->args.n == 0 || (x->whole_args && c->begun)) return 0;
  ev = events_push(s->out, PART_ARGS, c->key);
  if (ev == NULL) return err_memory(s->e);
  ev->text = x->args;
  ev->flags = x->flags;
  c->begun = 1;
  scan(c, x->args);
  return 0;
}

/* Opens the call, or says what the piece is the first to say of it: its id, its name. */
static int push_tool(struct chat *s, struct chat_call *c, const struct piece *x, int fresh) {
  int id = x->id.n > 0 && c->id_n == 0, name = x->name.n > 0 && !c->named;
  struct event *ev;
  if (id) {
    c->id = s->tools.ids.n;
    if (buf_addstr(&s->tools.ids, x->id) != 0) return err_memory(s->e);
    c->id_n = x->id.n;
  }
  if (name) c->named = 1;
  if (!fresh && !id && !name) return 0;
  if ((ev = events_push(s->out, PART_TOOL, c->key)) == NULL) return err_memory(s->e);
  if (id) ev->id = x->id;
  if (name) ev->name = x->name;
  return 0;
}

/* Finds or makes the piece's call and pushes what it says. */
static int add(struct chat *s, const struct piece *x) {
  struct chat_tools *t = &s->tools;
  struct chat_call *c = find(t, x);
  int fresh = c == NULL;
  struct event *ev;
  if (fresh && (c = new_call(s)) == NULL) return -1;
  t->last = (size_t)(c - t->v);
  if (x->has_index && bind(s, x, c) != 0) return -1;
  if (push_tool(s, c, x, fresh) != 0) return -1;
  if (push_args(s, c, x) != 0) return -1;
  if (x->raw.n == 0) return 0;
  if ((ev = events_push(s->out, PART_RAW, c->key)) == NULL) return err_memory(s->e);
  ev->text = x->raw;
  return 0;
}

/* }}} */

/* {{{ reading */

/* `function`; its other fields go to `extra`. */
static int read_function(const struct parse *p, struct json *j, struct piece *x, struct buf *extra) {
  enum token t = json_next(j);
  if (t != J_OBJECT) return t == J_ERROR ? -1 : json_skip(j);
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "arguments") ? codec_arguments(p, j, &x->args, &x->flags, &x->whole_args)
          : json_is(j, "name") ? codec_word(j, p->a, &x->name) : codec_extra(extra, j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

static int read_index(struct json *j, struct piece *x) {
  x->index = INT64_MIN;
  if (codec_integer(j, &x->index) != 0) return -1;
  x->has_index = x->index != INT64_MIN;
  return 0;
}

/* The members of one call. Fields without a canonical name (extra_content, thought_signature) go to the two buffers. */
static int read_members(const struct parse *p, struct json *j, struct piece *x, struct buf *outer, struct buf *inner) {
  enum token t;
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "index") ? read_index(j, x)
          : json_is(j, "function") ? read_function(p, j, x, inner)
          : json_is(j, "id") ? codec_word(j, p->a, &x->id)
          : json_is(j, "type") ? json_skip(j) : codec_extra(outer, j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 0;
}

/* One element of `tool_calls`; j stands behind its opening brace. */
static int read_piece(const struct parse *p, struct json *j, struct piece *x) {
  struct buf outer, inner;
  struct str raw = STR_NONE;
  int r;
  buf_init(&outer, p->m);
  buf_init(&inner, p->m);
  r = read_members(p, j, x, &outer, &inner);
  if (r == 0) r = codec_extra_end(p, &inner, &raw, j->e);
  if (r == 0 && raw.n > 0 && (buf_adds(&outer, outer.n == 0 ? "{\"function\":" : ",\"function\":") != 0 ||
                              buf_addstr(&outer, raw) != 0)) r = err_memory(j->e);
  if (r == 0) r = codec_extra_end(p, &outer, &x->raw, j->e);
  buf_free(&outer);
  buf_free(&inner);
  x->id = str_trim(x->id);
  if (str_eq(x->id, "null")) x->id = STR_NONE; /* Mistral-hosted GLM, in continuations (langchainjs#11505) */
  return r;
}

int chat_tools_read(struct chat *s, int choice, struct str calls, int whole) {
  struct json j;
  enum token k;
  json_open(&j, calls, s->p->limits->depth, s->e);
  if (json_next(&j) != J_ARRAY) return 0;
  while ((k = json_next(&j)) != J_ARRAY_END) {
    struct piece x = { .choice = choice, .whole = whole };
    if (k == J_OBJECT) {
      if (read_piece(s->p, &j, &x) != 0 || add(s, &x) != 0) return -1;
    } else if (k == J_ERROR || json_skip(&j) != 0) return -1;
  }
  return 0;
}

/* }}} */
