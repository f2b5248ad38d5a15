/*
** schema.c: a tool's JSON Schema as this wire takes it, changed in place: what the provider refuses is said another way, or
** in the description.
** New nodes lie in the arena. Failure: -1 and an err.
*/
#include "gemini.h"

/* {{{ walking */

enum { ONE = 1, LIST = 2, MAP = 4 }; /* one schema (or a list); a list of them; by name */

static int holds(struct str key) {
  static const struct { const char *key; int holds; } PLACES[] = {
    { "properties", MAP }, { "patternProperties", MAP }, { "$defs", MAP }, { "definitions", MAP },
    { "dependentSchemas", MAP }, { "anyOf", LIST }, { "oneOf", LIST }, { "allOf", LIST }, { "prefixItems", LIST },
    { "items", ONE }, { "additionalItems", ONE }, { "additionalProperties", ONE }, { "unevaluatedItems", ONE },
    { "unevaluatedProperties", ONE }, { "contains", ONE }, { "propertyNames", ONE }, { "not", ONE }, { "if", ONE },
    { "then", ONE }, { "else", ONE }
  };
  for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++)
    if (str_is(key, PLACES[i].key, strlen(PLACES[i].key))) return PLACES[i].holds;
  return 0;
}

static struct node *member(const struct node *schema, const char *key) { return node_get_(schema, key, strlen(key)); }

static void drop(struct node *schema, const char *key) {
  struct node *v = member(schema, key);
  if (v != NULL) node_remove(schema, v);
}

static struct str words(const char *s) { return (struct str){ s, strlen(s) }; }

static int set(struct node *schema, const char *key, struct node *v) { return node_set(schema, words(key), v); }

/* }}} */

/* {{{ single keywords */

/* const: an enum of one. 0 or -1 (memory). */
static int const_to_enum(struct arena *a, struct node *schema) {
  struct node *v = member(schema, "const"), *list;
  if (v == NULL) return 0;
  list = node_new(a, NODE_ARRAY);
  if (list == NULL) return -1;
  node_remove(schema, v);
  v->next = NULL;
  v->key = STR_NONE;
  return node_add(list, v) != 0 ? -1 : set(schema, "enum", list);
}

/* Adds "{key: value}" to the description, where a keyword that is not sent is told. 0 or -1 (memory). */
static int tell(struct arena *a, struct node *schema, const char *key, const struct node *v) {
  struct str old = node_str(member(schema, "description")), text;
  struct err scratch;
  struct buf b;
  int bad;
  err_clear(&scratch);
  buf_init(&b, a->m);
  bad = buf_addstr(&b, old) != 0 || buf_adds(&b, old.n > 0 ? " {" : "{") != 0 || buf_adds(&b, key) != 0 ||
        buf_adds(&b, ": ") != 0 || json_write_sorted(&b, v, &scratch) != 0 || buf_addc(&b, '}') != 0;
  text = bad ? STR_NONE : arena_dup(a, buf_str(&b));
  buf_free(&b);
  return text.p == NULL ? -1 : set(schema, "description", node_string(a, text));
}

/* An exclusive bound of integers is the next inclusive one; others are told. 0 or -1 (memory). */
static int include_bound(struct arena *a, struct node *schema, const char *key, const char *inclusive, int64_t step) {
  struct node *v = member(schema, key), *old = member(schema, inclusive);
  int integer = str_eq(node_str(member(schema, "type")), "integer");
  if (v == NULL) return 0;
  node_remove(schema, v);
  if (!integer || v->type != NODE_INT || v->u.i > INT64_MAX - 1 || v->u.i < INT64_MIN + 1)
    return tell(a, schema, key, v);
  if (node_is(old, NODE_INT) && (step > 0 ? old->u.i > v->u.i : old->u.i < v->u.i)) return 0;
  return set(schema, inclusive, node_int(a, v->u.i + step));
}

static int include_bounds(struct arena *a, struct node *schema) {
  return include_bound(a, schema, "exclusiveMinimum", "minimum", 1) != 0 ||
         include_bound(a, schema, "exclusiveMaximum", "maximum", -1) != 0 ? -1 : 0;
}

/* A $ref may have no neighbours but those that begin with $: it moves into an anyOf. 0 or -1 (memory). */
static int wrap_ref(struct arena *a, struct node *schema) {
  struct node *ref = member(schema, "$ref"), *one, *list;
  int others = 0;
  if (ref == NULL || member(schema, "anyOf") != NULL) return 0;
  for (const struct node *v = schema->child; v != NULL; v = v->next) others |= v->key.n == 0 || v->key.p[0] != '$';
  if (!others) return 0;
  one = node_new(a, NODE_OBJECT);
  list = node_new(a, NODE_ARRAY);
  if (one == NULL || list == NULL) return -1;
  node_remove(schema, ref);
  return node_set(one, STR("$ref"), ref) != 0 || node_add(list, one) != 0 ? -1 : set(schema, "anyOf", list);
}

/* }}} */

static int fix(struct arena *a, struct node *schema) {
  static const char *const DROPPED[] = { "$schema", "examples", "discriminator" };
  if (!node_is(schema, NODE_OBJECT)) return 0;
  for (size_t i = 0; i < sizeof DROPPED / sizeof *DROPPED; i++) drop(schema, DROPPED[i]);
  if (const_to_enum(a, schema) != 0 || include_bounds(a, schema) != 0 || wrap_ref(a, schema) != 0) return -1;
  for (struct node *v = schema->child; v != NULL; v = v->next) {
    int what = holds(v->key);
    if ((what & ONE) && v->type == NODE_OBJECT && fix(a, v) != 0) return -1;
    if ((what & (LIST | MAP)) || ((what & ONE) && v->type == NODE_ARRAY))
      for (struct node *s = v->child; s != NULL; s = s->next)
        if (fix(a, s) != 0) return -1;
  }
  return 0;
}

int gemini_schema(struct arena *a, struct node *schema, struct err *e) {
  return fix(a, schema) == 0 ? 0 : err_memory(e);
}
