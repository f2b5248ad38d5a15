/*
** grown.h: a tree made of what a growing reader says, for tests and for fuzz/growing.c. Everything lives in the caller's
** arena. Aborts where the reader breaks its own order.
*/
#ifndef KOINE_SPEC_C_JSON_GROWN_H
#define KOINE_SPEC_C_JSON_GROWN_H

#include <stdlib.h>

#include "core/json/growing.h"

struct grown {
  struct arena *a;
  struct node *root;                  /* NULL: nothing is shown yet */
  struct node *open[JSON_DEPTH_MAX + 1]; /* what is open: containers, and a string behind them */
  int depth;                          /* how many of them */
  size_t steps, bytes;                /* of growth; of text in strings */
  int replaced;                       /* a key came twice */
};

/* Puts v where the step says. */
static inline void grown_put(struct grown *w, const struct growth *s, struct node *v) {
  struct node *parent = w->depth > 0 ? w->open[w->depth - 1] : NULL;
  if (v == NULL || s->depth != w->depth || s->is_member != node_is(parent, NODE_OBJECT)) abort();
  if (parent == NULL) {
    if (w->root != NULL) abort();
    w->root = v;
  } else if (s->is_member) {
    size_t had = parent->count;
    node_set(parent, arena_dup(w->a, s->key), v);
    w->replaced |= parent->count == had;
  } else {
    node_add(parent, v);
  }
}

static inline struct node *grown_scalar(struct grown *w, const struct growth *s) {
  switch (s->token) {
    case J_INT: return node_int(w->a, s->i);
    case J_DOUBLE: return node_double(w->a, s->d);
    case J_TRUE: case J_FALSE: return node_bool(w->a, s->token == J_TRUE);
    case J_NULL: return node_new(w->a, NODE_NULL);
    default: abort();
  }
}

static inline void grown_text(struct grown *w, const struct growth *s) {
  struct node *v = w->depth > 0 ? w->open[w->depth - 1] : NULL;
  if (!node_is(v, NODE_STRING) || s->text.n == 0 || s->depth != w->depth - 1) abort();
  char *p = arena_alloc(w->a, v->s.n + s->text.n);
  if (p == NULL) abort();
  if (v->s.n > 0) memcpy(p, v->s.p, v->s.n);
  memcpy(p + v->s.n, s->text.p, s->text.n);
  v->s = (struct str){ p, v->s.n + s->text.n };
  w->bytes += s->text.n;
}

static inline void grown_step(struct grown *w, enum growth_type type, const struct growth *s) {
  enum node_type t = s->token == J_OBJECT ? NODE_OBJECT : s->token == J_ARRAY ? NODE_ARRAY : NODE_STRING;
  struct node *v;
  w->steps++;
  switch (type) {
    case GROWTH_SCALAR: grown_put(w, s, grown_scalar(w, s)); return;
    case GROWTH_TEXT: grown_text(w, s); return;
    case GROWTH_OPENED:
      v = node_new(w->a, t);
      if (v != NULL && t == NODE_STRING) v->s = STR("");
      grown_put(w, s, v);
      w->open[w->depth++] = v;
      return;
    case GROWTH_CLOSED:
      if (w->depth == 0 || w->open[--w->depth]->type != t || s->depth != w->depth) abort();
      return;
    default: abort();
  }
}

/* Takes what the reader has to say of its piece: GROWTH_NONE or GROWTH_FAILED. */
static inline enum growth_type grown_read(struct grown *w, struct growing *g) {
  struct growth s;
  enum growth_type type;
  while ((type = growing_next(g, &s)) > GROWTH_NONE) grown_step(w, type, &s);
  return type;
}

/* Feeds the text in pieces of n bytes. */
static inline enum growth_type grown_feed(struct grown *w, struct growing *g, struct str text, size_t n) {
  enum growth_type type = GROWTH_NONE;
  for (size_t at = 0; at < text.n && type == GROWTH_NONE; at += n) {
    growing_feed(g, (struct str){ text.p + at, text.n - at < n ? text.n - at : n });
    type = grown_read(w, g);
  }
  return type;
}

/* True where `more` can have grown out of `v`: strings and arrays only go on, keys and scalars stay. No recursion but for
** containers, of which tests have few levels. */
static inline int grown_extends(const struct node *more, const struct node *v) {
  if (v == NULL) return 1;
  if (more == NULL || more->type != v->type) return 0;
  if (v->type == NODE_STRING) return str_starts(more->s, v->s.p, v->s.n);
  if (v->type != NODE_ARRAY && v->type != NODE_OBJECT) return node_equal(more, v);
  const struct node *m = more->child;
  for (const struct node *c = v->child; c != NULL; c = c->next, m = m->next) {
    if (m == NULL || !str_same(m->key, c->key) || !grown_extends(m, c)) return 0;
  }
  return 1;
}

#endif
