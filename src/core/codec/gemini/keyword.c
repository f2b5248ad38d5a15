/*
** keyword.c: keywords of a JSON Schema that this wire has no place for, said another way: for both kinds of schemas.
** New nodes lie in the arena. Failure: -1 (memory).
*/
#include "schema.h"

static struct str words(const char *s) { return (struct str){ s, strlen(s) }; }

struct node *schema_get(const struct node *schema, const char *key) { return node_get_(schema, key, strlen(key)); }

int schema_set(struct node *schema, const char *key, struct node *v) { return node_set(schema, words(key), v); }

void schema_drop(struct node *schema, const char *key) {
  struct node *v = schema_get(schema, key);
  if (v != NULL) node_remove(schema, v);
}

/* The member, taken out of the schema; NULL where there is none. */
static struct node *take(struct node *schema, const char *key) {
  struct node *v = schema_get(schema, key);
  if (v == NULL) return NULL;
  node_remove(schema, v);
  v->key = STR_NONE;
  return v;
}

int schema_const(struct arena *a, struct node *schema) {
  struct node *v = take(schema, "const"), *list;
  if (v == NULL) return 0;
  list = node_new(a, NODE_ARRAY);
  if (list == NULL) return -1;
  return node_add(list, v) != 0 ? -1 : schema_set(schema, "enum", list);
}

int schema_tell(struct arena *a, struct node *schema, const char *key, const struct node *v) {
  struct str old = node_str(schema_get(schema, "description")), text;
  struct err scratch;
  struct buf b;
  int bad;
  err_clear(&scratch);
  buf_init(&b, a->m);
  bad = buf_addstr(&b, old) != 0 || buf_adds(&b, old.n > 0 ? " {" : "{") != 0 || buf_adds(&b, key) != 0 ||
        buf_adds(&b, ": ") != 0 || json_write_sorted(&b, v, &scratch) != 0 || buf_addc(&b, '}') != 0;
  text = bad ? STR_NONE : arena_dup(a, buf_str(&b));
  buf_free(&b);
  return text.p == NULL ? -1 : schema_set(schema, "description", node_string(a, text));
}

/* Bounds as older schemas have them: {minimum: 1, exclusiveMinimum: true}. The exclusive one becomes a number. */
static void read_flag(struct node *schema, const char *key, const char *inclusive) {
  struct node *v = schema_get(schema, key), *bound;
  if (v == NULL || (v->type != NODE_TRUE && v->type != NODE_FALSE)) return;
  node_remove(schema, v);
  if (v->type == NODE_FALSE || (bound = schema_get(schema, inclusive)) == NULL) return;
  bound->key = words(key);
}

/* An exclusive bound of integers is the next inclusive one; others are told. 0 or -1. */
static int include_bound(struct arena *a, struct node *schema, const char *key, const char *inclusive, int64_t step) {
  struct node *v, *old;
  int integer = str_eq(node_str(schema_get(schema, "type")), "integer");
  read_flag(schema, key, inclusive);
  old = schema_get(schema, inclusive);
  if ((v = schema_get(schema, key)) == NULL) return 0;
  node_remove(schema, v);
  if (!integer || v->type != NODE_INT || v->u.i > INT64_MAX - 1 || v->u.i < INT64_MIN + 1)
    return schema_tell(a, schema, key, v);
  if (node_is(old, NODE_INT) && (step > 0 ? old->u.i > v->u.i : old->u.i < v->u.i)) return 0;
  return schema_set(schema, inclusive, node_int(a, v->u.i + step));
}

int schema_bounds(struct arena *a, struct node *schema) {
  return include_bound(a, schema, "exclusiveMinimum", "minimum", 1) != 0 ||
         include_bound(a, schema, "exclusiveMaximum", "maximum", -1) != 0 ? -1 : 0;
}
