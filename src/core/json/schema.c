/*
** schema.c: see schema.h. Scratch of writing lies in an arena of the buffer's allocator, which is freed at once.
*/
#include "schema.h"

/* {{{ keywords */

static const struct {
  const char *keyword;
  int holds;
} KEYWORDS[] = {
  { "properties", HOLDS_MAP }, { "patternProperties", HOLDS_MAP }, { "$defs", HOLDS_MAP },
  { "definitions", HOLDS_MAP }, { "dependentSchemas", HOLDS_MAP }, { "dependencies", HOLDS_MAP },
  { "required", HOLDS_LIST }, { "enum", HOLDS_LIST }, { "anyOf", HOLDS_LIST | HOLDS_SCHEMAS },
  { "oneOf", HOLDS_LIST | HOLDS_SCHEMAS }, { "allOf", HOLDS_LIST | HOLDS_SCHEMAS },
  { "prefixItems", HOLDS_LIST | HOLDS_SCHEMAS }, { "items", HOLDS_SCHEMA }, { "additionalItems", HOLDS_SCHEMA },
  { "additionalProperties", HOLDS_SCHEMA }, { "unevaluatedItems", HOLDS_SCHEMA },
  { "unevaluatedProperties", HOLDS_SCHEMA }, { "contains", HOLDS_SCHEMA }, { "propertyNames", HOLDS_SCHEMA },
  { "not", HOLDS_SCHEMA }, { "if", HOLDS_SCHEMA }, { "then", HOLDS_SCHEMA }, { "else", HOLDS_SCHEMA }
};

int json_schema_holds(struct str keyword) {
  for (size_t i = 0; i < sizeof KEYWORDS / sizeof *KEYWORDS; i++)
    if (str_is(keyword, KEYWORDS[i].keyword, strlen(KEYWORDS[i].keyword))) return KEYWORDS[i].holds;
  return 0;
}

/* Whether the children of a keyword's value are schemas, each of them; not where the value is itself the schema. */
static int holds_many(int holds, const struct node *v) {
  if (v->type == NODE_OBJECT) return (holds & HOLDS_MAP) != 0;
  return v->type == NODE_ARRAY && (holds & (HOLDS_SCHEMAS | HOLDS_SCHEMA)) != 0;
}

static int holds_one(int holds, const struct node *v) { return v->type == NODE_OBJECT && (holds & HOLDS_SCHEMA) != 0; }

/* }}} */

/* {{{ names */

/* Pointers to the members, sorted; NULL when out of memory. */
static struct node **sorted(struct arena *a, const struct node *object) {
  size_t n = object->count, i = 0;
  struct node **v = arena_alloc(a, (2 * n + 1) * sizeof *v);
  if (v == NULL) return NULL;
  for (struct node *c = object->child; c != NULL; c = c->next) v[i++] = c;
  node_sort(v, v + n, n);
  return v;
}

/* A name that says where its property stands. */
struct place {
  struct node name; /* its key is the name: node_sort takes nodes */
  size_t at;        /* among the sorted properties; NOWHERE: there is none */
};
#define NOWHERE SIZE_MAX

/* Appends the strings of a list (NULL: none) to the places. */
static void add_names(struct place *places, size_t *n, const struct node *list) {
  for (const struct node *v = list == NULL ? NULL : list->child; v != NULL; v = v->next)
    if (v->type == NODE_STRING) places[(*n)++] = (struct place){ .name = { .key = v->s }, .at = NOWHERE };
}

static int compare(struct str a, struct str b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int d = n > 0 ? memcmp(a.p, b.p, n) : 0;
  return d != 0 ? d : (a.n > b.n) - (a.n < b.n);
}

/* Finds the places among the sorted properties, both being walked once. 0, or -1 (memory). */
static int find_places(struct arena *a, struct place *places, size_t n, struct node **properties, size_t count) {
  struct node **names = arena_alloc(a, (2 * n + 1) * sizeof *names);
  size_t at = 0;
  if (names == NULL) return -1;
  for (size_t i = 0; i < n; i++) names[i] = &places[i].name;
  node_sort(names, names + n, n);
  for (size_t i = 0; i < n; i++) {
    struct place *p = (struct place *)(void *)names[i];
    while (at < count && compare(properties[at]->key, p->name.key) < 0) at++;
    if (at < count && str_same(properties[at]->key, p->name.key)) p->at = at;
  }
  return 0;
}

int json_schema_keep_names(struct arena *a, struct node *list, const struct node *properties) {
  size_t n = 0, i = 0, count = node_is(properties, NODE_OBJECT) ? properties->count : 0;
  struct place *places = arena_alloc(a, (list->count + 1) * sizeof *places);
  struct node **by_bytes = count > 0 ? sorted(a, properties) : NULL, *v = list->child, *next;
  if (places == NULL || (count > 0 && by_bytes == NULL)) return -1;
  add_names(places, &n, list);
  if (find_places(a, places, n, by_bytes, count) != 0) return -1;
  list->child = list->last = NULL;
  list->count = 0;
  for (; v != NULL; v = next) {
    next = v->next;
    v->next = NULL;
    if (v->type == NODE_STRING && places[i++].at != NOWHERE && node_add(list, v) != 0) return -1;
  }
  return 0;
}

/* }}} */

/* {{{ reading */

/* The names of the members as an array; NULL when out of memory. */
static struct node *names_of(struct arena *a, const struct node *object) {
  struct node *names = node_new(a, NODE_ARRAY);
  for (const struct node *v = object->child; v != NULL && names != NULL; v = v->next)
    if (node_add(names, node_string(a, v->key)) != 0) return NULL;
  return names;
}

/* Notes the order at every level; json_tree has bounded the depth. 0, or -1 (memory). */
static int note_order(struct arena *a, struct node *schema) {
  struct node *properties = node_get(schema, "properties");
  if (!node_is(schema, NODE_OBJECT)) return 0;
  for (struct node *v = schema->child; v != NULL; v = v->next) {
    int holds = json_schema_holds(v->key);
    if (holds_one(holds, v) && note_order(a, v) != 0) return -1;
    if (!holds_many(holds, v)) continue;
    for (struct node *s = v->child; s != NULL; s = s->next)
      if (note_order(a, s) != 0) return -1;
  }
  if (!node_is(properties, NODE_OBJECT) || properties->count == 0) return 0;
  if (node_get(schema, "propertyOrdering") != NULL) return 0;
  return node_set(schema, STR("propertyOrdering"), names_of(a, properties));
}

struct node *json_schema_read(struct arena *a, struct str text, int max_depth, struct err *e) {
  struct node *schema = json_tree(a, text, max_depth, e);
  if (schema == NULL || note_order(a, schema) == 0) return schema;
  (void)err_memory(e);
  return NULL;
}

/* }}} */

/* {{{ writing */

struct writer {
  struct buf *b;
  struct arena a; /* scratch */
  struct err *e;
  int ordering, depth;
};

static int out_of_memory(struct writer *w) { return err_memory(w->e); }

static const struct node *list_of(const struct node *schema, const char *key) {
  const struct node *v = node_get_(schema, key, strlen(key));
  return node_is(v, NODE_ARRAY) ? v : NULL;
}

/* Pointers to the properties in the schema's order; NULL when out of memory. */
static struct node **in_order(struct writer *w, const struct node *schema, const struct node *properties) {
  const struct node *ordering = list_of(schema, "propertyOrdering"), *required = list_of(schema, "required");
  size_t names = (ordering != NULL ? ordering->count : 0) + (required != NULL ? required->count : 0);
  size_t count = properties->count, n = 0, o = 0;
  struct node **by_bytes = sorted(&w->a, properties), **order;
  struct place *places;
  if (by_bytes == NULL || names == 0) return by_bytes;
  places = arena_alloc(&w->a, names * sizeof *places);
  order = arena_alloc(&w->a, (count + 1) * sizeof *order);
  if (places == NULL || order == NULL) return NULL;
  add_names(places, &n, ordering);
  add_names(places, &n, required);
  if (find_places(&w->a, places, n, by_bytes, count) != 0) return NULL;
  for (size_t i = 0; i < n; i++) {
    size_t at = places[i].at;
    if (at == NOWHERE || by_bytes[at] == NULL) continue; /* no property, or one that stands already */
    order[o++] = by_bytes[at];
    by_bytes[at] = NULL;
  }
  for (size_t i = 0; i < count; i++)
    if (by_bytes[i] != NULL) order[o++] = by_bytes[i];
  return order;
}

static int write_schema(struct writer *w, const struct node *schema);

static int put(struct writer *w, const char *text) { return buf_adds(w->b, text) < 0 ? out_of_memory(w) : 0; }

/* The comma before all but the first, and the key. */
static int put_key(struct writer *w, int first, struct str key) {
  if (!first && put(w, ",") != 0) return -1;
  return json_write_string(w->b, key) != 0 ? out_of_memory(w) : put(w, ":");
}

/* Members of which each is a schema. */
static int write_map(struct writer *w, struct node **members, size_t n) {
  if (members == NULL) return out_of_memory(w);
  if (put(w, "{") != 0) return -1;
  for (size_t i = 0; i < n; i++)
    if (put_key(w, i == 0, members[i]->key) != 0 || write_schema(w, members[i]) != 0) return -1;
  return put(w, "}");
}

static int write_properties(struct writer *w, const struct node *schema, const struct node *properties) {
  struct node **order = in_order(w, schema, properties);
  size_t n = properties->count;
  if (write_map(w, order, n) != 0) return -1;
  if (!w->ordering || n < 2) return 0; /* one has no order */
  if (put_key(w, 0, STR("propertyOrdering")) != 0 || put(w, "[") != 0) return -1;
  for (size_t i = 0; i < n; i++) {
    if (i > 0 && put(w, ",") != 0) return -1;
    if (json_write_string(w->b, order[i]->key) != 0) return out_of_memory(w);
  }
  return put(w, "]");
}

static int write_list(struct writer *w, const struct node *list) {
  if (put(w, "[") != 0) return -1;
  for (const struct node *v = list->child; v != NULL; v = v->next)
    if ((v != list->child && put(w, ",") != 0) || write_schema(w, v) != 0) return -1;
  return put(w, "]");
}

static int write_member(struct writer *w, const struct node *schema, const struct node *v) {
  int holds = json_schema_holds(v->key);
  if (v->type == NODE_OBJECT && str_eq(v->key, "properties")) return write_properties(w, schema, v);
  if (holds_one(holds, v)) return write_schema(w, v);
  if (!holds_many(holds, v)) return json_write_sorted(w->b, v, w->e);
  return v->type == NODE_OBJECT ? write_map(w, sorted(&w->a, v), v->count) : write_list(w, v);
}

static int write_schema(struct writer *w, const struct node *schema) {
  struct node **members;
  int written = 0;
  if (schema->type != NODE_OBJECT) return json_write_sorted(w->b, schema, w->e);
  if (w->depth == JSON_DEPTH_MAX)
    return err_set(w->e, KIND_ARGUMENT, "JSON: at most %d levels of nesting expected", JSON_DEPTH_MAX);
  if ((members = sorted(&w->a, schema)) == NULL) return out_of_memory(w);
  w->depth++;
  if (put(w, "{") != 0) return -1;
  for (size_t i = 0; i < schema->count; i++) {
    if (str_eq(members[i]->key, "propertyOrdering")) continue;
    if (put_key(w, written++ == 0, members[i]->key) != 0 || write_member(w, schema, members[i]) != 0) return -1;
  }
  w->depth--;
  return put(w, "}");
}

int json_write_schema(struct buf *b, const struct node *schema, int ordering, struct err *e) {
  struct writer w = { .b = b, .e = e, .ordering = ordering };
  size_t before = b->n;
  int r;
  arena_init(&w.a, b->m);
  r = write_schema(&w, schema);
  arena_free(&w.a);
  if (r != 0) b->n = before;
  return r;
}

/* }}} */
