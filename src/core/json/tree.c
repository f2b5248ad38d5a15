/*
** tree.c: JSON values as trees of nodes: made by the reader or by hand, searched, copied.
** Nodes live in the caller's arena; strings are borrowed from the input or the arena. Failure: NULL or -1, and an err
** where a reader is at work.
*/
#include "json.h"

#include <math.h>

/* --- by hand --- */

/* A node of this type with everything else zero. */
struct node *node_new(struct arena *a, enum node_type t) {
  struct node *v = arena_alloc(a, sizeof *v);
  if (v != NULL) *v = (struct node){ .type = t };
  return v;
}

struct node *node_string(struct arena *a, struct str s) {
  struct node *v = node_new(a, NODE_STRING);
  if (v != NULL) v->s = s;
  return v;
}

struct node *node_int(struct arena *a, int64_t i) {
  struct node *v = node_new(a, NODE_INT);
  if (v != NULL) v->u.i = i;
  return v;
}

int node_doubles(struct node *v) {
  if (v->type == NODE_BIG) {
    double d = json_double(v->s);
    if (!isfinite(d)) return -1;
    v->type = NODE_DOUBLE;
    v->u.d = d;
  }
  if (v->type != NODE_ARRAY && v->type != NODE_OBJECT) return 0;
  for (struct node *c = v->child; c != NULL; c = c->next)
    if (node_doubles(c) != 0) return -1;
  return 0;
}

struct node *node_double(struct arena *a, double d) {
  struct node *v = node_new(a, NODE_DOUBLE);
  if (v != NULL) v->u.d = d;
  return v;
}

struct node *node_bool(struct arena *a, int b) {
  return node_new(a, b ? NODE_TRUE : NODE_FALSE);
}

static inline void append(struct node *parent, struct node *v) {
  if (parent->last != NULL) parent->last->next = v;
  else parent->child = v;
  parent->last = v;
  parent->count++;
}

/* Appends v to an array: 0, or -1 when v is NULL. */
int node_add(struct node *array, struct node *v) {
  if (array == NULL || v == NULL) return -1;
  append(array, v);
  return 0;
}

/* Appends v under `key`, or puts it where a member of that key stands: 0, or -1 when v is NULL. */
int node_set(struct node *object, struct str key, struct node *v) {
  if (object == NULL || v == NULL) return -1;
  v->key = key;
  struct node *before = NULL, *old = object->child;
  while (old != NULL && !str_same(old->key, key)) {
    before = old;
    old = old->next;
  }
  if (old == NULL) {
    append(object, v);
    return 0;
  }
  v->next = old->next;
  if (before != NULL) before->next = v;
  else object->child = v;
  if (object->last == old) object->last = v;
  old->next = NULL;
  return 0;
}

/* Takes the child behind `before`, or the first, out of its parent's list. */
void node_remove_after(struct node *parent, struct node *before) {
  struct node *v = before != NULL ? before->next : parent->child;
  if (v == NULL) return;
  if (before != NULL) before->next = v->next;
  else parent->child = v->next;
  if (parent->last == v) parent->last = before;
  parent->count--;
  v->next = NULL;
}

/* Takes v out of its parent's list. */
void node_remove(struct node *parent, struct node *v) {
  struct node *before = NULL, *c = parent->child;
  while (c != NULL && c != v) {
    before = c;
    c = c->next;
  }
  if (c != NULL) node_remove_after(parent, before);
}

/* --- members with the same key --- */

static int key_after(const struct node *a, const struct node *b) {
  size_t n = a->key.n < b->key.n ? a->key.n : b->key.n;
  int c = n == 0 ? 0 : memcmp(a->key.p, b->key.p, n);
  return c != 0 ? c > 0 : a->key.n > b->key.n;
}

/* Stable merge sort by the bytes of the keys. */
void node_sort(struct node **v, struct node **tmp, size_t n) {
  if (n < 2) return;
  size_t half = n / 2, i = 0, k = half, o = 0;
  node_sort(v, tmp, half);
  node_sort(v + half, tmp, n - half);
  memcpy(tmp, v, half * sizeof *v);
  while (i < half) v[o++] = k < n && key_after(tmp[i], v[k]) ? v[k++] : tmp[i++];
}

/* Gives `first` the value of a later member of the same key, in the first one's place. */
static void take_value(struct node *first, const struct node *later) {
  struct node *next = first->next;
  *first = *later;
  first->next = next;
}

/* For few members: compares each with those before it. */
static void merge_few(struct node *object) {
  struct node *before = object->child;
  for (struct node *v = before; v != NULL; v = before->next) {
    struct node *first = object->child;
    while (first != v && !str_same(first->key, v->key)) first = first->next;
    if (first == v) {
      before = v;
    } else {
      before->next = v->next;
      take_value(first, v);
      object->count--;
    }
  }
  object->last = before;
}

/* For many: sorts pointers to them, so that equal keys stand together in their order. 0, or -1 when out of memory. */
static int merge_many(struct node *object, struct arena *a) {
  size_t n = object->count, i = 0;
  struct node **v = arena_alloc(a, 2 * n * sizeof *v);
  if (v == NULL) return -1;
  for (struct node *c = object->child; c != NULL; c = c->next) v[i++] = c;
  node_sort(v, v + n, n);
  for (size_t first = 0, end = 0; first < n; first = end) {
    while (++end < n && str_same(v[first]->key, v[end]->key)) v[end]->mark = 1;
    if (end - first > 1) {
      v[end - 1]->mark = 0;
      take_value(v[first], v[end - 1]);
      v[end - 1]->mark = 1;
    }
  }
  struct node *kept = object->child; /* the first member is the first of its key */
  for (struct node *c = kept->next; c != NULL; c = c->next) {
    if (c->mark != 0) {
      object->count--;
    } else {
      kept->next = c;
      kept = c;
    }
  }
  kept->next = NULL;
  object->last = kept;
  return 0;
}

#define FEW 16

/* Leaves one member per key: the last one's value in the first one's place. 0, or -1 when out of memory. */
static int merge_members(struct node *object, struct arena *a) {
  if (object->count > FEW) return merge_many(object, a);
  if (object->count > 1) merge_few(object);
  return 0;
}

/* --- from the reader --- */

/* A node of the token just read, counted in *values (NULL: no cap); NULL with the reader's err set. */
static struct node *token_node(struct json *j, struct arena *a, enum token t, size_t *values) {
  static const enum node_type types[] = {
    [J_OBJECT] = NODE_OBJECT, [J_ARRAY] = NODE_ARRAY, [J_STRING] = NODE_STRING, [J_INT] = NODE_INT,
    [J_DOUBLE] = NODE_DOUBLE, [J_BIG] = NODE_BIG, [J_TRUE] = NODE_TRUE, [J_FALSE] = NODE_FALSE, [J_NULL] = NODE_NULL
  };
  if (values != NULL && ++*values > JSON_VALUES_MAX) {
    err_set(j->e, KIND_LIMIT, "JSON: more than %d values", JSON_VALUES_MAX);
    return NULL;
  }
  struct node *v = node_new(a, types[t]);
  if (v == NULL) {
    err_memory(j->e);
    return NULL;
  }
  switch (t) {
    case J_STRING:
      if (j->surrogates != NULL) return json_text_wtf8(j, a, &v->s, j->surrogates) < 0 ? NULL : v;
      return json_text(j, a, &v->s) < 0 ? NULL : v;
    case J_INT: v->u.i = j->i; break;
    case J_DOUBLE: v->u.d = j->d; break;
    case J_BIG: v->s = j->text; break;
    default: break;
  }
  return v;
}

/* Ends the innermost container, whose bracket was just read: it, or NULL with the reader's err set. */
static struct node *end_container(struct json *j, struct arena *a, struct node **open) {
  struct node *v = *open;
  if (v == NULL) {
    err_set(j->e, KIND_OTHER, "JSON: no value at hand");
    return NULL;
  }
  *open = v->next;
  v->next = NULL;
  if (v->type == NODE_OBJECT && merge_members(v, a) < 0) {
    err_memory(j->e);
    return NULL;
  }
  return v;
}

/* The value at hand as a tree, or NULL with the reader's err set. While a container is open, its `next` names the one
** that it stands in. */
static struct node *read_node(struct json *j, struct arena *a, size_t *values) {
  enum token t = j->tok == J_KEY ? json_next(j) : j->tok;
  struct node *open = NULL, *v = NULL;
  struct str key = STR_NONE;
  for (;; t = json_next(j)) {
    if (t == J_KEY) {
      if (json_text(j, a, &key) < 0) return NULL;
      continue;
    }
    if (t == J_ERROR) return NULL;
    if (t == J_OBJECT_END || t == J_ARRAY_END || t == J_EOF) {
      if ((v = end_container(j, a, &open)) == NULL) return NULL;
    } else {
      if ((v = token_node(j, a, t, values)) == NULL) return NULL;
      if (open != NULL) {
        if (open->type == NODE_OBJECT) v->key = key;
        append(open, v);
      }
      if (t == J_OBJECT || t == J_ARRAY) {
        v->next = open;
        open = v;
      }
    }
    if (open == NULL) return v;
  }
}

/* The value at hand as a tree of its own. */
struct node *json_node(struct json *j, struct arena *a) {
  size_t values = 0;
  return read_node(j, a, &values);
}

/* The whole text as a tree that shares its cap with others, or NULL and *e. */
struct node *json_tree_within(struct arena *a, struct str s, int max_depth, size_t *values, struct err *e) {
  struct json j;
  json_open(&j, s, max_depth, e);
  if (json_next(&j) == J_ERROR) return NULL;
  struct node *v = read_node(&j, a, values);
  return v != NULL && json_next(&j) == J_EOF ? v : NULL;
}

/* The whole text as a tree, or NULL and *e. */
struct node *json_tree(struct arena *a, struct str s, int max_depth, struct err *e) {
  size_t values = 0;
  return json_tree_within(a, s, max_depth, &values, e);
}

/* --- copies --- */

static struct node *copy(struct arena *a, const struct node *v, int depth) {
  struct node *c = depth > JSON_DEPTH_MAX ? NULL : arena_alloc(a, sizeof *c);
  if (c == NULL) return NULL;
  *c = *v;
  c->child = c->last = c->next = NULL;
  c->count = 0;
  for (const struct node *k = v->child; k != NULL; k = k->next)
    if (node_add(c, copy(a, k, depth + 1)) < 0) return NULL;
  return c;
}

/* A deep copy that borrows the strings, or NULL. */
struct node *node_copy(struct arena *a, const struct node *v) {
  return v == NULL ? NULL : copy(a, v, 0);
}

/* Adds up the nodes and string bytes of v: 0, or -1 when too deep. */
static int measure(const struct node *v, int depth, size_t *nodes, size_t *bytes) {
  if (depth > JSON_DEPTH_MAX) return -1;
  (*nodes)++;
  *bytes += v->key.n + v->s.n;
  for (const struct node *k = v->child; k != NULL; k = k->next)
    if (measure(k, depth + 1, nodes, bytes) < 0) return -1;
  return 0;
}

/* The bytes that node_pack needs; 0 when v is NULL or too deep. */
size_t node_size(const struct node *v) {
  size_t nodes = 0, bytes = 0;
  return v == NULL || measure(v, 0, &nodes, &bytes) < 0 ? 0 : nodes * sizeof *v + bytes;
}

static void pack_str(struct str *s, char **bytes) {
  if (s->n > 0) memcpy(*bytes, s->p, s->n);
  if (s->p != NULL) s->p = *bytes;
  *bytes += s->n;
}

static struct node *pack(const struct node *v, struct node **nodes, char **bytes) {
  struct node *c = (*nodes)++;
  *c = *v;
  c->child = c->last = c->next = NULL;
  c->count = 0;
  pack_str(&c->key, bytes);
  pack_str(&c->s, bytes);
  for (const struct node *k = v->child; k != NULL; k = k->next) append(c, pack(k, nodes, bytes));
  return c;
}

/* A deep copy, strings too, into a block of node_size bytes aligned for a node; it begins with the root. NULL when
** node_size is 0. */
struct node *node_pack(void *block, const struct node *v) {
  size_t count = 0, length = 0;
  if (v == NULL || measure(v, 0, &count, &length) < 0) return NULL;
  struct node *nodes = block;
  char *bytes = (char *)(nodes + count);
  return pack(v, &nodes, &bytes);
}
