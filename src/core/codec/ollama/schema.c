/*
** schema.c: tool schemas for a server that keeps of each property only type, description, enum, anyOf, items, properties
** and required, and drops the rest before the model sees it.
** In place; new nodes lie in the arena. References add a bounded number of nodes. Failure: -1 and an err (memory).
*/
#include "ollama.h"

#define NODES_MAX 20000 /* that references may add to a schema */
#define DEPTH_MAX 48    /* of schemas in schemas, below which a reference is not followed */

/* Keywords without a place on this wire, in the order in which the description tells them. */
static const char *const LOST[] = {
  "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
  "format", "minItems", "maxItems", "uniqueItems", "prefixItems", "contains", "minProperties", "maxProperties",
  "propertyNames", "patternProperties", "additionalProperties", "dependentRequired", "dependentSchemas", "not", "if",
  "then", "else", "default"
};

/* A reference that is being put in place. */
struct open {
  const struct node *target;
  const struct open *up;
};

struct rewrite {
  struct arena *a;
  const struct node *root;
  size_t left; /* nodes that may still be added */
  struct err *e;
};

/* {{{ references */

/* How many nodes v has, at most `most` + 1. */
static size_t nodes_of(const struct node *v, size_t most) {
  size_t n = 1;
  for (const struct node *c = v->child; c != NULL && n <= most; c = c->next) n += nodes_of(c, most - n);
  return n;
}

/* Returns the value that "#", "#/$defs/NAME" or any other path from the root stands for; NULL where there is none. */
static const struct node *resolve(const struct rewrite *x, struct str ref) {
  const struct node *v = x->root;
  if (ref.n == 0 || ref.p[0] != '#') return NULL;
  ref = (struct str){ ref.p + 1, ref.n - 1 };
  while (ref.n > 0 && v != NULL) {
    const char *slash;
    size_t n;
    if (ref.p[0] != '/') return NULL;
    slash = memchr(ref.p + 1, '/', ref.n - 1);
    n = slash != NULL ? (size_t)(slash - ref.p) - 1 : ref.n - 1;
    v = node_get_(v, ref.p + 1, n);
    ref = (struct str){ ref.p + 1 + n, ref.n - 1 - n };
  }
  return node_is(v, NODE_OBJECT) ? v : NULL;
}

static int is_open(const struct open *o, const struct node *target) {
  for (; o != NULL; o = o->up)
    if (o->target == target) return 1;
  return 0;
}

/* }}} */

/* {{{ joining */

/* Moves the members of `from` (a tree of its own) to `to`, which wins; objects of properties and lists of required names
** are joined. 0 or -1. */
static int join(struct node *to, struct node *from) {
  struct node *v, *next;
  if (to->count == 0) {
    to->child = from->child;
    to->last = from->last;
    to->count = from->count;
    return 0;
  }
  for (v = from->child; v != NULL; v = next) {
    struct node *there = node_get_(to, v->key.p, v->key.n);
    next = v->next;
    if (there == NULL) {
      node_remove(from, v);
      v->next = NULL;
      if (node_set(to, v->key, v) != 0) return -1;
    } else if (str_eq(v->key, "properties") && node_is(there, NODE_OBJECT) && node_is(v, NODE_OBJECT)) {
      if (join(there, v) != 0) return -1;
    } else if (str_eq(v->key, "required") && node_is(there, NODE_ARRAY) && node_is(v, NODE_ARRAY)) {
      struct node *name, *after;
      for (name = v->child; name != NULL; name = after) {
        after = name->next;
        node_remove(v, name);
        name->next = NULL;
        if (node_add(there, name) != 0) return -1;
      }
    }
  }
  return 0;
}

/* }}} */

/* {{{ words */

/* Takes what would be lost out of the schema and adds it to its description. Whether there may be other properties is
** not told, what they are is. 0 or -1. */
static int tell_lost(struct arena *a, struct node *schema, struct err *e) {
  struct str description = node_str(node_get(schema, "description"));
  struct buf b;
  int bad, any = 0;
  buf_init(&b, a->m);
  bad = buf_addstr(&b, description);
  for (size_t i = 0; i < sizeof LOST / sizeof LOST[0] && bad == 0; i++) {
    struct node *v = node_get_(schema, LOST[i], strlen(LOST[i]));
    if (v == NULL) continue;
    node_remove(schema, v);
    if (strcmp(LOST[i], "additionalProperties") == 0 && v->count == 0) continue;
    bad = buf_adds(&b, any ? ", " : b.n > 0 ? " {" : "{") | buf_adds(&b, LOST[i]) | buf_adds(&b, ": ");
    if (bad == 0) bad = json_write_sorted(&b, v, e);
    any = 1;
  }
  if (any && bad == 0) bad = buf_addc(&b, '}');
  if (any && bad == 0) {
    description = arena_dup(a, buf_str(&b));
    bad = description.p == NULL ? -1 : node_set(schema, STR("description"), node_string(a, description));
  }
  buf_free(&b);
  return bad != 0 ? -1 : 0;
}

/* oneOf becomes anyOf, a constant an enum of one. 0 or -1. */
static int rename_words(struct arena *a, struct node *schema) {
  struct node *one = node_get(schema, "oneOf"), *constant = node_get(schema, "const"), *list;
  if (one != NULL && node_get(schema, "anyOf") == NULL) one->key = STR("anyOf");
  if (constant == NULL || node_get(schema, "enum") != NULL) return 0;
  if ((list = node_new(a, NODE_ARRAY)) == NULL) return -1;
  node_remove(schema, constant);
  constant->next = NULL;
  return node_add(list, constant) != 0 ? -1 : node_set(schema, STR("enum"), list);
}

/* }}} */

static int rewrite(struct rewrite *x, struct node *schema, const struct open *open, int depth);

/* Rewrites the schemas that v holds. 0 or -1. */
static int rewrite_each(struct rewrite *x, struct node *v, const struct open *open, int depth) {
  for (struct node *s = v == NULL ? NULL : v->child; s != NULL; s = s->next)
    if (rewrite(x, s, open, depth) != 0) return -1;
  return 0;
}

/* allOf: all of them in one. 0 or -1. */
static int join_all(struct rewrite *x, struct node *schema, const struct open *open, int depth) {
  struct node *all = node_get(schema, "allOf"), *v, *next;
  if (!node_is(all, NODE_ARRAY)) return 0;
  node_remove(schema, all);
  for (v = all->child; v != NULL; v = next) {
    next = v->next;
    if (rewrite(x, v, open, depth) != 0 || (node_is(v, NODE_OBJECT) && join(schema, v) != 0)) return -1;
  }
  return 0;
}

/* Puts what $ref stands for in its place: 1, 0 where it is dropped, as it leads to what it stands in, or to nothing, or
** to too much; -1: memory. */
static int follow(struct rewrite *x, struct node *schema, struct node *ref, const struct open *open, struct open *here) {
  const struct node *target = resolve(x, node_str(ref));
  size_t size = target == NULL ? 0 : nodes_of(target, x->left);
  struct node *copy;
  node_remove(schema, ref);
  if (target == NULL || size > x->left || is_open(open, target)) return 0;
  if ((copy = node_copy(x->a, target)) == NULL || join(schema, copy) != 0) return -1;
  x->left -= size;
  *here = (struct open){ target, open };
  return 1;
}

static int rewrite(struct rewrite *x, struct node *schema, const struct open *open, int depth) {
  struct node *ref = node_get(schema, "$ref"), *items;
  struct open here;
  if (!node_is(schema, NODE_OBJECT)) return 0;
  if (ref != NULL && depth >= DEPTH_MAX) {
    node_remove(schema, ref);
  } else if (ref != NULL) {
    int r = follow(x, schema, ref, open, &here);
    if (r != 0) return r < 0 ? -1 : rewrite(x, schema, &here, depth + 1);
  }
  if (join_all(x, schema, open, depth + 1) != 0 || rename_words(x->a, schema) != 0) return -1;
  items = node_get(schema, "items");
  if (rewrite_each(x, node_get(schema, "properties"), open, depth + 1) != 0 ||
      rewrite_each(x, node_get(schema, "anyOf"), open, depth + 1) != 0 ||
      rewrite(x, node_get(schema, "additionalProperties"), open, depth + 1) != 0 ||
      (node_is(items, NODE_ARRAY) ? rewrite_each(x, items, open, depth + 1) : rewrite(x, items, open, depth + 1)) != 0)
    return -1;
  return tell_lost(x->a, schema, x->e);
}

int ollama_schema(struct arena *a, struct node *parameters, struct err *e) {
  static const struct str DEFINITIONS[] = { { "$defs", 5 }, { "definitions", 11 } };
  struct rewrite x = { a, parameters, NODES_MAX, e };
  const struct open top = { parameters, NULL };
  if (rewrite(&x, parameters, &top, 0) != 0) return e->kind == KIND_NONE ? err_memory(e) : -1;
  for (size_t i = 0; i < sizeof DEFINITIONS / sizeof DEFINITIONS[0]; i++) {
    struct node *v = node_get_(parameters, DEFINITIONS[i].p, DEFINITIONS[i].n);
    if (v != NULL) node_remove(parameters, v);
  }
  return 0;
}
