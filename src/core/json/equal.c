/*
** equal.c: whether two trees say the same. Memory is taken only to sort the members of large objects, and given back at
** once. No failure: without memory it takes longer.
*/
#include "json.h"

#define FEW 32 /* members of two objects together that are looked up rather than sorted */

/* True when i and d are the same number. */
static int int_is_double(int64_t i, double d) {
  if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0)) return 0;
  int64_t t = (int64_t)d;
  return t == i && (double)t >= d && (double)t <= d;
}

static int equal(const struct mem *m, const struct node *a, const struct node *b, int depth);

static int equal_lists(const struct mem *m, const struct node *a, const struct node *b, int depth) {
  if (a->count != b->count) return 0;
  const struct node *y = b->child;
  for (const struct node *x = a->child; x != NULL; x = x->next, y = y->next)
    if (!equal(m, x, y, depth)) return 0;
  return 1;
}

/* The member of b with x's key, searched from `from` on and then from the start; NULL when b has none. */
static const struct node *find_from(const struct node *b, const struct node *from, const struct node *x) {
  const struct node *y = from;
  while (y != NULL && !str_same(y->key, x->key)) y = y->next;
  if (y != NULL) return y;
  y = b->child;
  while (y != from && !str_same(y->key, x->key)) y = y->next;
  return y != from ? y : NULL;
}

static size_t count_not_null(const struct node *object) {
  size_t n = 0;
  for (const struct node *v = object->child; v != NULL; v = v->next) n += v->type != NODE_NULL;
  return n;
}

/* True when find_from never has to look past a member that says something. */
static int same_order(const struct node *a, const struct node *b) {
  const struct node *y = b->child;
  for (const struct node *x = a->child; x != NULL; x = x->next) {
    if (x->type == NODE_NULL) continue;
    while (y != NULL && y->type == NODE_NULL && !str_same(y->key, x->key)) y = y->next;
    if (y == NULL || !str_same(y->key, x->key)) return 0;
    y = y->next;
  }
  return 1;
}

/* For few members, or in the same order: looks each one up. */
static int equal_by_search(const struct mem *m, const struct node *a, const struct node *b, int depth) {
  const struct node *from = b->child;
  for (const struct node *x = a->child; x != NULL; x = x->next) {
    if (x->type == NODE_NULL) continue;
    const struct node *y = find_from(b, from, x);
    if (y == NULL || !equal(m, x, y, depth)) return 0;
    from = y->next;
  }
  return 1;
}

/* Fills v with the members in the order of their keys: 1, or 0 when a key stands there twice. */
static int sort_members(const struct node *object, struct node **v, struct node **tmp) {
  size_t n = 0;
  for (struct node *c = object->child; c != NULL; c = c->next) v[n++] = c;
  node_sort(v, tmp, n);
  for (size_t i = 1; i < n; i++)
    if (str_same(v[i - 1]->key, v[i]->key)) return 0;
  return 1;
}

/* Members in the order of their keys, side by side: no two of a list have the same key. */
static int equal_by_side(const struct mem *m, struct node **x, size_t nx, struct node **y, size_t ny, int depth) {
  for (size_t i = 0, k = 0;; i++, k++) {
    while (i < nx && x[i]->type == NODE_NULL) i++;
    while (k < ny && y[k]->type == NODE_NULL) k++;
    if (i == nx || k == ny) return i == nx && k == ny;
    if (!str_same(x[i]->key, y[k]->key) || !equal(m, x[i], y[k], depth)) return 0;
  }
}

/* For many in another order: sorts pointers to them. */
static int equal_by_sorting(const struct mem *m, const struct node *a, const struct node *b, int depth) {
  size_t n = a->count + b->count, bytes = 2 * n * sizeof(struct node *);
  struct node **v = mem_alloc(m, bytes);
  if (v == NULL) return equal_by_search(m, a, b, depth);
  int same = sort_members(a, v, v + n) && sort_members(b, v + a->count, v + n)
               ? equal_by_side(m, v, a->count, v + a->count, b->count, depth)
               : equal_by_search(m, a, b, depth);
  mem_free(m, v, bytes);
  return same;
}

static int equal_objects(const struct mem *m, const struct node *a, const struct node *b, int depth) {
  if (count_not_null(a) != count_not_null(b)) return 0;
  if (m == NULL || a->count + b->count <= FEW || same_order(a, b)) return equal_by_search(m, a, b, depth);
  return equal_by_sorting(m, a, b, depth);
}

static int equal(const struct mem *m, const struct node *a, const struct node *b, int depth) {
  if (depth > JSON_DEPTH_MAX) return 0;
  if (a->type == NODE_INT && b->type == NODE_DOUBLE) return int_is_double(a->u.i, b->u.d);
  if (a->type == NODE_DOUBLE && b->type == NODE_INT) return int_is_double(b->u.i, a->u.d);
  if ((a->type == NODE_BIG && b->type == NODE_STRING) || (a->type == NODE_STRING && b->type == NODE_BIG))
    return str_same(a->s, b->s);
  if (a->type != b->type) return a->type >= NODE_ARRAY && b->type >= NODE_ARRAY && a->count + b->count == 0;
  switch (a->type) {
    case NODE_INT: return a->u.i == b->u.i;
    case NODE_DOUBLE: return a->u.d >= b->u.d && a->u.d <= b->u.d;
    case NODE_BIG: case NODE_STRING: return str_same(a->s, b->s);
    case NODE_ARRAY: return equal_lists(m, a, b, depth + 1);
    case NODE_OBJECT: return equal_objects(m, a, b, depth + 1);
    default: return 1;
  }
}

/* True for equal values; NULL equals only NULL. */
int node_equal(const struct node *a, const struct node *b) {
  return node_equal_sorted(NULL, a, b);
}

/* The same with memory to sort members in; m NULL: none. */
int node_equal_sorted(const struct mem *m, const struct node *a, const struct node *b) {
  return a == NULL || b == NULL ? a == b : equal(m, a, b, 0);
}
