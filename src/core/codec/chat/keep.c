/*
** keep.c: what accumulates beside the text: token counts, and the fields that must go back as they came
** (reasoning_details, reasoning_opaque) or be shown whole (annotations).
** The state owns its arena and buffers. Failure: -1 and an err; it can still be freed.
*/
#include "chat.h"

#define MEMBERS_MAX 256 /* of one entry of reasoning_details: each is looked for among the others */

/* {{{ token counts */

/* Some leave reasoning out of completion_tokens (xAI; Copilot's Gemini models): the quirk or the total says so. */
static int reasoning_apart(const struct token_counts *f, const struct quirks *q) {
  if (f->reasoning <= 0) return 0;
  return q->reasoning_outside_output ||
         (f->prompt >= 0 && f->total == f->prompt + f->completion + f->reasoning);
}

void chat_usage(const struct token_counts *f, const struct quirks *q, struct usage *u) {
  token_counts_usage(f, q, u);
  /* xAI: cached_tokens may exceed prompt_tokens, which then leaves them out. */
  if (q->reasoning_outside_output && f->prompt >= 0 && f->cached > f->prompt) u->input = f->prompt;
  if (f->completion >= 0 && reasoning_apart(f, q)) u->output += f->reasoning;
}

/* }}} */

void chat_keep_init(struct chat_keep *k, const struct mem *m) {
  memset(k, 0, sizeof *k);
  arena_init(&k->a, m);
  buf_init(&k->opaque, m);
  buf_init(&k->annotations, m);
}

void chat_keep_free(struct chat_keep *k, const struct mem *m) {
  for (size_t i = 0; i < k->n; i++) {
    buf_free(&k->v[i].text);
    buf_free(&k->v[i].summary);
    buf_free(&k->v[i].data);
  }
  mem_free(m, k->v, k->cap * sizeof *k->v);
  arena_free(&k->a);
  buf_free(&k->opaque);
  buf_free(&k->annotations);
  chat_keep_init(k, m);
}

/* Counts bytes that stay until the message ends. */
static int hold(struct chat *c, size_t n) {
  c->keep.held += n;
  if (c->keep.held <= c->p->limits->decoded) return 0;
  return err_set(c->e, KIND_LIMIT, "the answer holds more than %zu bytes (limits.decoded)", c->p->limits->decoded);
}

/* {{{ reasoning_details */

/* True when the member has the same string in both, or one of them leaves it out. */
static int agree(const struct node *a, const struct node *b) {
  return !node_is(a, NODE_STRING) || !node_is(b, NODE_STRING) || str_same(a->s, b->s);
}

/* The entry that a fragment continues: same index, and no other type or id. Without an index only the last entry can
** be continued, and only its readable text. */
static struct chat_detail *find(const struct chat_keep *k, const struct node *x) {
  const struct node *index = node_get(x, "index"), *type = node_get(x, "type"), *id = node_get(x, "id");
  struct chat_detail *d;
  if (node_is(index, NODE_INT)) {
    for (size_t i = k->n; i-- > 0;) {
      d = &k->v[i];
      if (d->index == index->u.i && d->indexed && agree(d->type, type) && agree(d->id, id)) return d;
    }
    return NULL;
  }
  if (k->n == 0) return NULL;
  d = &k->v[k->n - 1];
  return !d->indexed && agree(d->type, type) && agree(d->id, id) && node_get(x, "data") == NULL ? d : NULL;
}

/* Notes what find compares. */
static void note(struct chat_detail *d) {
  const struct node *index = node_get(d->node, "index");
  d->indexed = node_is(index, NODE_INT);
  d->index = d->indexed ? index->u.i : 0;
  d->type = node_get(d->node, "type");
  d->id = node_get(d->node, "id");
}

/* A copy of the node that shares nothing with it, in the state's arena; NULL when out of memory. */
static struct node *own(struct chat_keep *k, const struct node *v) {
  void *block = arena_alloc(&k->a, node_size(v));
  return block == NULL ? NULL : node_pack(block, v);
}

/* One more entry, made of its first fragment; NULL: too many, or out of memory. */
static struct chat_detail *new_detail(struct chat *c, const struct node *x) {
  struct chat_keep *k = &c->keep;
  const struct parse *p = c->p;
  struct chat_detail *d;
  if (k->n >= (size_t)p->limits->blocks) {
    err_set(c->e, KIND_LIMIT, "the answer has more than %d reasoning details (limits.blocks)", p->limits->blocks);
    return NULL;
  }
  d = mem_grow(p->m, k->v, k->n, &k->cap, sizeof *d);
  if (d == NULL) { err_memory(c->e); return NULL; }
  k->v = d;
  d = &k->v[k->n];
  d->node = own(k, x);
  if (d->node == NULL) { err_memory(c->e); return NULL; }
  buf_init(&d->text, p->m);
  buf_init(&d->summary, p->m);
  buf_init(&d->data, p->m);
  k->n++;
  return d;
}

/* Joins a fragment: text, summary and data grow, the last signature wins, of the rest the first that says something. */
static int join(struct chat_keep *k, struct chat_detail *d, const struct node *x, struct err *e) {
  if (x->count > MEMBERS_MAX || d->node->count > MEMBERS_MAX)
    return err_set(e, KIND_LIMIT, "a reasoning detail has more than %d members", MEMBERS_MAX);
  for (const struct node *m = x->child; m != NULL; m = m->next) {
    struct buf *b = str_eq(m->key, "text") ? &d->text : str_eq(m->key, "summary") ? &d->summary
                  : str_eq(m->key, "data") ? &d->data : NULL;
    const struct node *old = node_get_(d->node, m->key.p, m->key.n);
    if (b != NULL) {
      if (buf_addstr(b, node_str(m)) != 0) return err_memory(e);
    } else if (m->type != NODE_NULL && (old == NULL || old->type == NODE_NULL || str_eq(m->key, "signature"))) {
      struct node *copy = own(k, m);
      struct str key = arena_dup(&k->a, m->key);
      if (key.p == NULL || node_set(d->node, key, copy) != 0) return err_memory(e);
    }
  }
  note(d);
  return 0;
}

/* Returns the text that the entry has for a reader. */
static struct str readable(const struct node *x) {
  struct str s = node_str(node_get(x, "text"));
  return s.n > 0 ? s : node_str(node_get(x, "summary"));
}

/* The readable text of all entries of a list, joined in the scratch arena. */
static int readable_all(const struct parse *p, const struct node *list, struct str *text, struct err *e) {
  size_t n = 0;
  char *s;
  for (const struct node *x = list->child; x != NULL; x = x->next) n += readable(x).n;
  *text = STR_NONE;
  if (n == 0) return 0;
  if ((s = arena_alloc(p->a, n)) == NULL) return err_memory(e);
  *text = (struct str){ s, n };
  for (const struct node *x = list->child; x != NULL; x = x->next) {
    struct str part = readable(x);
    if (part.n > 0) memcpy(s, part.p, part.n);
    s += part.n;
  }
  return 0;
}

int chat_keep_details(struct chat *c, struct str raw, int whole, struct str *text, unsigned *flags) {
  struct node *list;
  struct json j;
  *text = STR_NONE;
  json_open(&j, raw, c->p->limits->depth, c->e);
  j.surrogates = flags; /* a character may be cut between two fragments */
  if (json_next(&j) == J_ERROR || (list = json_node(&j, c->p->a)) == NULL || hold(c, raw.n) != 0) return -1;
  if (list->type != NODE_ARRAY) return 0;
  for (const struct node *x = list->child; x != NULL; x = x->next) {
    struct chat_detail *d = x->type == NODE_OBJECT && !whole ? find(&c->keep, x) : NULL;
    if (x->type != NODE_OBJECT) continue;
    if (d == NULL && (d = new_detail(c, x)) == NULL) return -1;
    if (join(&c->keep, d, x, c->e) != 0) return -1;
  }
  return readable_all(c->p, list, text, c->e);
}

/* }}} */

int chat_keep_annotations(struct chat *c, struct str raw) {
  struct buf *all = &c->keep.annotations;
  struct json j;
  enum token t;
  json_open(&j, raw, c->p->limits->depth, c->e);
  if (json_next(&j) != J_ARRAY) return 0;
  if (hold(c, raw.n) != 0) return -1;
  while ((t = json_next(&j)) != J_ARRAY_END) {
    const char *start = j.start;
    if (t == J_ERROR || json_skip(&j) != 0) return -1;
    if ((all->n > 0 && buf_addc(all, ',') != 0) || buf_add(all, start, (size_t)(j.p - start)) != 0)
      return err_memory(c->e);
  }
  return 0;
}

/* {{{ at the end */

/* Puts a grown string into its entry. */
static int settle(struct chat_keep *k, struct node *d, struct str key, struct buf *b) {
  if (b->n == 0) return 0;
  b->n = json_join_surrogates(b->p, b->n);
  return node_set(d, key, node_string(&k->a, buf_str(b)));
}

/* {"reasoning_details":[…],"reasoning_opaque":"…"}, what there is of it. */
static int write_reasoning(struct chat_keep *k, struct buf *b, struct err *e) {
  int bad = buf_addc(b, '{');
  if (k->n > 0) bad |= buf_adds(b, "\"reasoning_details\":[");
  for (size_t i = 0; i < k->n && !bad; i++) {
    struct chat_detail *d = &k->v[i];
    if (i > 0) bad |= buf_addc(b, ',');
    bad |= settle(k, d->node, STR("text"), &d->text) | settle(k, d->node, STR("summary"), &d->summary) |
           settle(k, d->node, STR("data"), &d->data);
    if (!bad && json_write(b, d->node, e) != 0) return -1;
  }
  if (k->n > 0) bad |= buf_addc(b, ']');
  if (k->opaque.n > 0) {
    bad |= buf_adds(b, k->n > 0 ? ",\"reasoning_opaque\":" : "\"reasoning_opaque\":");
    bad |= json_write_string(b, buf_str(&k->opaque));
  }
  bad |= buf_addc(b, '}');
  return bad ? err_memory(e) : 0;
}

/* {"annotations":[…]} */
static int write_annotations(const struct chat_keep *k, struct buf *b, struct err *e) {
  if (buf_adds(b, "{\"annotations\":[") != 0 || buf_addstr(b, buf_str(&k->annotations)) != 0) return err_memory(e);
  return buf_adds(b, "]}") == 0 ? 0 : err_memory(e);
}

/* Pushes PART_RAW with a copy of b. */
static int push_raw(struct chat *c, int32_t key, const struct buf *b) {
  struct str copy = arena_dup(c->p->a, buf_str(b));
  struct event *ev = copy.p == NULL ? NULL : events_push(c->out, PART_RAW, key);
  if (ev == NULL) return err_memory(c->e);
  ev->text = copy;
  return 0;
}

int chat_keep_end(struct chat *c) {
  struct chat_keep *k = &c->keep;
  struct buf b;
  int r = 0;
  buf_init(&b, c->p->m);
  if (c->reasoning_key >= 0 && (k->n > 0 || k->opaque.n > 0))
    r = write_reasoning(k, &b, c->e) != 0 || push_raw(c, c->reasoning_key, &b) != 0;
  b.n = 0;
  if (r == 0 && c->text_key >= 0 && k->annotations.n > 0)
    r = write_annotations(k, &b, c->e) != 0 || push_raw(c, c->text_key, &b) != 0;
  buf_free(&b);
  return r == 0 ? 0 : -1;
}

/* }}} */
