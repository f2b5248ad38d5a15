/*
** schema.c: a tool's JSON Schema as this wire takes it, changed in place: what the provider refuses is said another
** way, or in the description.
** New nodes lie in the arena. Failure: -1 and an err.
*/
#include "schema.h"

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

/* A $ref may have no neighbours but those that begin with $: it moves into an anyOf, into allOf where there is one
** already. 0 or -1 (memory). */
static int wrap_ref(struct arena *a, struct node *schema) {
  struct node *ref = schema_get(schema, "$ref"), *one, *list;
  const char *key = schema_get(schema, "anyOf") == NULL ? "anyOf" : "allOf";
  int others = 0;
  if (ref == NULL) return 0;
  for (const struct node *v = schema->child; v != NULL; v = v->next) others |= v->key.n == 0 || v->key.p[0] != '$';
  if (!others) return 0;
  one = node_new(a, NODE_OBJECT);
  list = schema_get(schema, key);
  if (!node_is(list, NODE_ARRAY)) {
    list = node_new(a, NODE_ARRAY);
    if (schema_set(schema, key, list) != 0) return -1;
  }
  if (one == NULL) return -1;
  node_remove(schema, ref);
  return node_set(one, STR("$ref"), ref) != 0 ? -1 : node_add(list, one);
}

/* "#/definitions/NAME", as older schemas have it: the wire knows $defs alone. 0 or -1 (memory). */
static int rename_ref(struct arena *a, struct node *schema) {
  static const char OLD[] = "#/definitions/", NEW[] = "#/$defs/";
  struct node *ref = schema_get(schema, "$ref");
  struct str s = node_str(ref), rest;
  char *p;
  if (!str_begins(s, OLD)) return 0;
  rest = (struct str){ s.p + sizeof OLD - 1, s.n - (sizeof OLD - 1) };
  if ((p = arena_alloc(a, sizeof NEW - 1 + rest.n)) == NULL) return -1;
  memcpy(p, NEW, sizeof NEW - 1);
  if (rest.n > 0) memcpy(p + sizeof NEW - 1, rest.p, rest.n);
  ref->s = (struct str){ p, sizeof NEW - 1 + rest.n };
  return 0;
}

/* `definitions` of a whole schema as $defs. */
static void rename_definitions(struct node *schema) {
  struct node *old = schema_get(schema, "definitions"), *defs = schema_get(schema, "$defs"), *v, *next;
  if (!node_is(old, NODE_OBJECT)) return;
  if (!node_is(defs, NODE_OBJECT)) {
    schema_drop(schema, "$defs");
    old->key = STR("$defs");
    return;
  }
  node_remove(schema, old);
  for (v = old->child; v != NULL; v = next) {
    next = v->next;
    node_remove(old, v);
    if (node_get_(defs, v->key.p, v->key.n) == NULL) (void)node_set(defs, v->key, v);
  }
}

/* A list of items, as older schemas have it, is prefixItems. */
static void rename_items(struct node *schema) {
  struct node *items = schema_get(schema, "items");
  if (!node_is(items, NODE_ARRAY)) return;
  if (schema_get(schema, "prefixItems") == NULL) items->key = STR("prefixItems");
  else node_remove(schema, items);
}

static int fix(struct arena *a, struct node *schema) {
  static const char *const DROPPED[] = { "$schema", "examples", "discriminator" };
  if (!node_is(schema, NODE_OBJECT)) return 0;
  for (size_t i = 0; i < sizeof DROPPED / sizeof *DROPPED; i++) schema_drop(schema, DROPPED[i]);
  rename_items(schema);
  if (rename_ref(a, schema) != 0 || schema_const(a, schema) != 0 || schema_bounds(a, schema) != 0 ||
      wrap_ref(a, schema) != 0) return -1;
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
  rename_definitions(schema);
  return fix(a, schema) == 0 ? 0 : err_memory(e);
}
