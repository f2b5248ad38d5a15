/*
** openapi.c: a tool's JSON Schema in the subset of OpenAPI's that every model and gateway takes (quirk openapi_schema),
** changed in place. A keyword without a place there is left out, a value that the service refuses is said another way.
** References add a bounded number of nodes. New nodes lie in the arena. Failure: -1 and an err.
*/
#include "core/json/schema.h"
#include "schema.h"

#include <stdio.h>

#define NODES_MAX 20000 /* that references may add to a schema */
#define DEPTH_MAX 100   /* of schemas in schemas */

/* A reference that is being put in place. */
struct open {
  const struct node *target;
  const struct open *up;
};

struct subset {
  struct arena *a;
  const struct node *root;
  const char *field; /* of the schema, for errors */
  size_t left;       /* nodes that may still be added */
  int untyped;       /* an array says nothing of what is in it */
  struct err *e;
};

/* {{{ keywords */

enum { OF_ANY = 1, OF_STRING = 2, OF_NUMBER = 4, OF_ARRAY = 8, OF_OBJECT = 16 };

/* The keywords of the subset, and their types; a keyword that is dropped says a type, but has no place. */
static const struct { const char *key; int of, dropped; } KEYWORDS[] = {
  { "type", OF_ANY, 0 }, { "title", OF_ANY, 0 }, { "description", OF_ANY, 0 }, { "nullable", OF_ANY, 0 },
  { "anyOf", OF_ANY, 0 }, { "default", OF_ANY, 0 }, { "example", OF_ANY, 0 }, { "enum", OF_STRING, 0 },
  { "format", OF_STRING | OF_NUMBER, 0 }, { "pattern", OF_STRING, 0 }, { "minLength", OF_STRING, 0 },
  { "maxLength", OF_STRING, 0 }, { "minimum", OF_NUMBER, 0 }, { "maximum", OF_NUMBER, 0 },
  { "exclusiveMinimum", OF_NUMBER, 1 }, { "exclusiveMaximum", OF_NUMBER, 1 }, { "items", OF_ARRAY, 0 },
  { "prefixItems", OF_ARRAY, 1 }, { "minItems", OF_ARRAY, 0 }, { "maxItems", OF_ARRAY, 0 },
  { "properties", OF_OBJECT, 0 }, { "required", OF_OBJECT, 0 }, { "propertyOrdering", OF_OBJECT, 0 },
  { "minProperties", OF_OBJECT, 0 }, { "maxProperties", OF_OBJECT, 0 }
};
enum { KEYWORD_COUNT = sizeof KEYWORDS / sizeof *KEYWORDS };

/* Where the keyword is in the list; KEYWORD_COUNT: nowhere. */
static size_t keyword_at(struct str key) {
  size_t i = 0;
  while (i < KEYWORD_COUNT && !str_is(key, KEYWORDS[i].key, strlen(KEYWORDS[i].key))) i++;
  return i;
}

static const struct { struct str type; int of; } TYPES[] = {
  { { "string", 6 }, OF_ANY | OF_STRING }, { { "number", 6 }, OF_ANY | OF_NUMBER },
  { { "integer", 7 }, OF_ANY | OF_NUMBER }, { { "array", 5 }, OF_ANY | OF_ARRAY },
  { { "object", 6 }, OF_ANY | OF_OBJECT }, { { "boolean", 7 }, OF_ANY }, { { "null", 4 }, OF_ANY }
};

/* Which keywords go with a type; those of all types without one. */
static int of_type(struct str type) {
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
    if (str_same(type, TYPES[i].type)) return TYPES[i].of;
  return OF_ANY;
}

/* The type's word, which may be given in capitals; empty where there is none. */
static struct str type_word(struct str type) {
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
    if (type.n == TYPES[i].type.n && str_contains(type, TYPES[i].type.p)) return TYPES[i].type;
  return STR_NONE;
}

/* The type that the schema's keywords say; empty where they say none. */
static struct str implied_type(const struct node *schema) {
  for (size_t i = 0; i < KEYWORD_COUNT; i++) {
    if ((KEYWORDS[i].of & OF_ANY) || schema_get(schema, KEYWORDS[i].key) == NULL) continue;
    for (size_t k = 0; k < sizeof TYPES / sizeof *TYPES; k++)
      if (KEYWORDS[i].of & TYPES[k].of) return TYPES[k].type;
  }
  return STR_NONE;
}

static int set_word(struct subset *x, struct node *schema, const char *key, struct str word) {
  return schema_set(schema, key, node_string(x->a, word)) == 0 ? 0 : err_memory(x->e);
}

static int set_nullable(struct subset *x, struct node *schema) {
  return schema_set(schema, "nullable", node_bool(x->a, 1)) == 0 ? 0 : err_memory(x->e);
}

/* The schema is one that this wire cannot carry. */
static int refuse(struct subset *x, const char *expected, struct str got) {
  char text[160];
  snprintf(text, sizeof text, "%.*s", got.n < 150 ? (int)got.n : 150, got.n > 0 ? got.p : "");
  return err_argument(x->e, x->field, expected, text);
}

/* }}} */

/* {{{ references */

/* A name in a reference, where ~1 is a slash and ~0 a tilde. False: the other name differs. */
static int names(struct str reference, struct str key) {
  size_t k = 0;
  for (size_t i = 0; i < reference.n; i++, k++) {
    char c = reference.p[i];
    if (c == '~' && i + 1 < reference.n) c = reference.p[++i] == '1' ? '/' : '~';
    if (k >= key.n || key.p[k] != c) return 0;
  }
  return k == key.n;
}

/* Returns the schema that #/$defs/NAME or #/definitions/NAME stands for; NULL where there is none. */
static const struct node *resolve(const struct subset *x, struct str ref) {
  static const struct { const char *start, *key; } PLACES[] = {
    { "#/$defs/", "$defs" }, { "#/definitions/", "definitions" }
  };
  for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++) {
    size_t n = strlen(PLACES[i].start);
    if (!str_begins(ref, PLACES[i].start)) continue;
    for (const struct node *v = children(schema_get(x->root, PLACES[i].key)); v != NULL; v = v->next)
      if (names((struct str){ ref.p + n, ref.n - n }, v->key)) return node_is(v, NODE_OBJECT) ? v : NULL;
  }
  return NULL;
}

static int is_open(const struct open *o, const struct node *target) {
  for (; o != NULL; o = o->up)
    if (o->target == target) return 1;
  return 0;
}

/* How many nodes v has, at most `most` + 1. */
static size_t nodes_of(const struct node *v, size_t most) {
  size_t n = 1;
  for (const struct node *c = v->child; c != NULL && n <= most; c = c->next) n += nodes_of(c, most - n);
  return n;
}

/* Moves the members of `from` to `to`, which wins; properties are joined, and the lists of required names. 0 or -1. */
static int join(struct node *to, struct node *from) {
  struct node *v, *next, *name;
  for (v = from->child; v != NULL; v = next) {
    struct node *there = node_get_(to, v->key.p, v->key.n);
    next = v->next;
    node_remove(from, v);
    if (there == NULL) {
      if (node_set(to, v->key, v) != 0) return -1;
    } else if (str_eq(v->key, "properties") && node_is(there, NODE_OBJECT) && node_is(v, NODE_OBJECT)) {
      if (join(there, v) != 0) return -1;
    } else if (str_eq(v->key, "required") && node_is(there, NODE_ARRAY) && node_is(v, NODE_ARRAY)) {
      while ((name = v->child) != NULL) {
        const struct node *old = there->child;
        node_remove(v, name);
        while (old != NULL && !str_same(node_str(old), node_str(name))) old = old->next;
        if (old == NULL && node_add(there, name) != 0) return -1;
      }
    }
  }
  return 0;
}

/* Puts what a $ref stands for in its place; *open knows of it then. 0 or -1. */
static int follow(struct subset *x, struct node *schema, struct node *ref, const struct open **open) {
  const struct node *target = resolve(x, node_str(ref));
  struct node *copy;
  struct open *here;
  size_t size;
  if (target == NULL || is_open(*open, target))
    return refuse(x, "references to #/$defs/NAME that do not lead back to themselves", node_str(ref));
  size = nodes_of(target, x->left);
  if (size > x->left) return refuse(x, "a schema of some 20,000 values, references in place", node_str(ref));
  x->left -= size;
  node_remove(schema, ref);
  here = arena_alloc(x->a, sizeof *here);
  copy = here != NULL ? node_copy(x->a, target) : NULL;
  if (copy == NULL || join(schema, copy) != 0) return err_memory(x->e);
  *here = (struct open){ target, *open };
  *open = here;
  return 0;
}

/* Puts references and the members of allOf in place. 0 or -1. */
static int gather(struct subset *x, struct node *schema, const struct open **open, int depth) {
  if (depth > DEPTH_MAX) return refuse(x, "at most 100 schemas in each other", STR("more"));
  for (;;) {
    struct node *ref = schema_get(schema, "$ref"), *all = schema_get(schema, "allOf"), *one, *next;
    if (ref != NULL) {
      if (follow(x, schema, ref, open) != 0) return -1;
      continue;
    }
    if (all == NULL) return 0;
    node_remove(schema, all);
    for (one = all->child; one != NULL; one = next) {
      next = one->next;
      if (one->type != NODE_OBJECT) continue;
      if (gather(x, one, open, depth + 1) != 0) return -1;
      if (join(schema, one) != 0) return err_memory(x->e);
    }
  }
}

/* }}} */

/* {{{ types and values */

/* The types of an enum's values, as a mask. */
enum { ENUM_STRINGS = 1, ENUM_NUMBERS = 2, ENUM_BOOLS = 4, ENUM_NULLS = 8, ENUM_OTHERS = 16 };

static unsigned enum_type(const struct node *v) {
  switch (v->type) {
    case NODE_STRING: return ENUM_STRINGS;
    case NODE_INT: case NODE_DOUBLE: case NODE_BIG: return ENUM_NUMBERS;
    case NODE_TRUE: case NODE_FALSE: return ENUM_BOOLS;
    case NODE_NULL: return ENUM_NULLS;
    default: return ENUM_OTHERS;
  }
}

/* A value as its JSON text. 0 or -1. */
static int make_string(struct subset *x, struct node *v) {
  struct buf b;
  int bad;
  buf_init(&b, x->a->m);
  bad = json_write(&b, v, x->e) != 0;
  v->s = bad ? STR_NONE : arena_dup(x->a, buf_str(&b));
  buf_free(&b);
  if (v->s.p == NULL) return bad ? -1 : err_memory(x->e);
  v->type = NODE_STRING;
  return 0;
}

/* An enum's values as strings: null makes it nullable, numbers and booleans become text. 0 or -1. */
static int take_enum(struct subset *x, struct node *schema) {
  struct node *list = schema_get(schema, "enum"), *v, *next;
  unsigned seen = 0, values;
  if (list == NULL) return 0;
  for (v = schema_first(list); v != NULL; v = next) {
    next = v->next;
    seen |= enum_type(v);
    if (v->type == NODE_NULL || (v->type == NODE_STRING && v->s.n == 0)) node_remove(list, v); /* "" is refused */
  }
  values = seen & ~(unsigned)ENUM_NULLS;
  if ((values & (values - 1)) != 0 || (values & ENUM_OTHERS))
    return refuse(x, "the values of an enum of one type", STR("different types"));
  if ((seen & ENUM_NULLS) && set_nullable(x, schema) != 0) return -1;
  if (list->count == 0) {
    node_remove(schema, list);
    return 0;
  }
  for (v = list->child; v != NULL && values != ENUM_STRINGS; v = v->next)
    if (make_string(x, v) != 0) return -1;
  if (values != ENUM_STRINGS && set_word(x, schema, "format", STR("enum")) != 0) return -1;
  schema_drop(schema, "anyOf");
  return set_word(x, schema, "type", STR("string"));
}

/* Adds a schema of the type to `any`, with the keywords that go with it. 0 or -1. */
static int split_type(struct subset *x, const struct node *schema, struct str type, struct node *any) {
  struct node *one = node_new(x->a, NODE_OBJECT);
  if (node_add(any, one) != 0) return err_memory(x->e);
  for (const struct node *v = schema->child; v != NULL; v = v->next) {
    size_t at = keyword_at(v->key);
    if (at == KEYWORD_COUNT || (KEYWORDS[at].of & OF_ANY) || !(KEYWORDS[at].of & of_type(type))) continue;
    if (node_set(one, v->key, node_copy(x->a, v)) != 0) return err_memory(x->e);
  }
  return set_word(x, one, "type", type);
}

/* A list of types: null makes it nullable, one is the type, several are an anyOf, unless there is one. 0 or -1. */
static int take_types(struct subset *x, struct node *schema) {
  struct node *list = schema_get(schema, "type"), *any, *v, *next;
  if (!node_is(list, NODE_ARRAY)) return 0;
  node_remove(schema, list);
  for (v = list->child; v != NULL; v = next) {
    next = v->next;
    if (!str_eq(node_str(v), "null")) continue;
    node_remove(list, v);
    if (set_nullable(x, schema) != 0) return -1;
  }
  if (list->child == NULL || (list->count > 1 && schema_get(schema, "anyOf") != NULL)) return 0;
  if (list->count == 1) return set_word(x, schema, "type", node_str(list->child));
  any = node_new(x->a, NODE_ARRAY);
  for (v = list->child; v != NULL; v = v->next)
    if (split_type(x, schema, node_str(v), any) != 0) return -1;
  return schema_set(schema, "anyOf", any) == 0 ? 0 : err_memory(x->e);
}

static int is_null(const struct node *schema) {
  return str_eq(node_str(schema_get(schema, "type")), "null") || node_is(schema_get(schema, "const"), NODE_NULL);
}

/* anyOf: without null, which makes it nullable; the only one that is left becomes part of the schema, which is then
** looked at again (*again). 0 or -1. */
static int take_any(struct subset *x, struct node *schema, int *again) {
  struct node *one = schema_get(schema, "oneOf"), *any = schema_get(schema, "anyOf"), *v, *next;
  if (one != NULL && any == NULL) (any = one)->key = STR("anyOf");
  else if (one != NULL) node_remove(schema, one);
  if (any == NULL) return 0;
  for (v = schema_first(any); v != NULL; v = next) {
    next = v->next;
    if (!is_null(v)) continue;
    node_remove(any, v);
    if (set_nullable(x, schema) != 0) return -1;
  }
  if (any->count > 1) return 0;
  node_remove(schema, any);
  if (!node_is(any->child, NODE_OBJECT)) return 0;
  *again = 1;
  return join(schema, any->child) == 0 ? 0 : err_memory(x->e);
}

/* }}} */

/* {{{ what is left */

static int has_format(struct str type, struct str format) {
  if (str_eq(type, "string")) return str_eq(format, "enum") || str_eq(format, "date-time");
  if (str_eq(type, "integer")) return str_eq(format, "int32") || str_eq(format, "int64");
  return str_eq(type, "number") && (str_eq(format, "float") || str_eq(format, "double"));
}

/* The type's word, where nothing says one that of the keywords; a format that is refused goes into the description.
** 0 or -1. */
static int settle_type(struct subset *x, struct node *schema) {
  struct node *format = schema_get(schema, "format");
  struct str type = type_word(node_str(schema_get(schema, "type")));
  if (type.n == 0 && schema_get(schema, "anyOf") == NULL) type = implied_type(schema);
  if (type.n == 0) schema_drop(schema, "type");
  else if (set_word(x, schema, "type", type) != 0) return -1;
  if (format == NULL || has_format(type, node_str(format))) return 0;
  node_remove(schema, format);
  return schema_tell(x->a, schema, "format", format) == 0 ? 0 : err_memory(x->e);
}

/* Sets the items of an array: of a tuple, any of its schemas; strings where nothing is said. 0 or -1. */
static int settle_items(struct subset *x, struct node *schema) {
  struct node *items = schema_get(schema, "items"), *tuple = schema_get(schema, "prefixItems");
  if (!str_eq(node_str(schema_get(schema, "type")), "array") || node_is(items, NODE_OBJECT)) return 0;
  if (node_is(items, NODE_ARRAY)) tuple = items;
  if (tuple != NULL) node_remove(schema, tuple);
  if (tuple != NULL && node_is(tuple, NODE_ARRAY) && tuple->count > 0) {
    items = node_new(x->a, NODE_OBJECT);
    if (schema_set(items, "anyOf", tuple) != 0) return err_memory(x->e);
  } else if (items == NULL || items->type != NODE_TRUE) {
    items = node_new(x->a, NODE_OBJECT);
    x->untyped = 1;
    if (items != NULL && set_word(x, items, "type", STR("string")) != 0) return -1;
  } else {
    return 0;
  }
  return schema_set(schema, "items", items) == 0 ? 0 : err_memory(x->e);
}

/* Leaves out what has no place beside the type. */
static void settle_keywords(struct node *schema) {
  int of = of_type(node_str(schema_get(schema, "type")));
  struct node *v, *next;
  for (v = schema->child; v != NULL; v = next) {
    size_t at = keyword_at(v->key);
    next = v->next;
    if (at == KEYWORD_COUNT || KEYWORDS[at].dropped || !(KEYWORDS[at].of & of) ||
        (v->type == NODE_NULL && !str_eq(v->key, "default") && !str_eq(v->key, "example")))
      node_remove(schema, v);
  }
}

/* The properties that there may be, and the names of those that are required. A property whose schema is false may not be
** there. 0 or -1. */
static int settle_properties(struct subset *x, struct node *schema) {
  struct node *properties = schema_get(schema, "properties"), *required = schema_get(schema, "required"), *v, *next;
  for (v = schema_first(properties); v != NULL; v = next) {
    next = v->next;
    if (v->type == NODE_FALSE) node_remove(properties, v);
  }
  if (node_is(required, NODE_ARRAY) && json_schema_keep_names(x->a, required, properties) != 0) return err_memory(x->e);
  if (required != NULL && (required->type != NODE_ARRAY || required->count == 0)) node_remove(schema, required);
  if (properties != NULL && properties->count == 0) node_remove(schema, properties);
  return 0;
}

/* }}} */

static int convert(struct subset *x, struct node *schema, const struct open *open, int depth);

/* Converts each of them. 0 or -1. */
static int convert_each(struct subset *x, struct node *list, const struct open *open, int depth) {
  for (struct node *v = schema_first(list); v != NULL; v = v->next)
    if (convert(x, v, open, depth) != 0) return -1;
  return 0;
}

/* The schemas in a schema; an anyOf of which one takes everything says nothing. 0 or -1. */
static int convert_inner(struct subset *x, struct node *schema, const struct open *open, int depth) {
  struct node *any = schema_get(schema, "anyOf");
  if (convert_each(x, any, open, depth) != 0 || convert_each(x, schema_get(schema, "properties"), open, depth) != 0)
    return -1;
  for (const struct node *v = children(any); v != NULL; v = v->next)
    if (v->count == 0) {
      node_remove(schema, any);
      break;
    }
  return convert(x, schema_get(schema, "items"), open, depth);
}

static int convert(struct subset *x, struct node *schema, const struct open *open, int depth) {
  int again;
  if (schema == NULL) return 0;
  if (schema->type != NODE_OBJECT) { /* true, and what is no schema at all */
    schema->type = NODE_OBJECT;
    schema->child = schema->last = NULL;
    schema->count = 0;
    return 0;
  }
  do {
    again = 0;
    if (gather(x, schema, &open, depth) != 0) return -1;
    if (schema_const(x->a, schema) != 0) return err_memory(x->e);
    if (take_any(x, schema, &again) != 0) return -1;
  } while (again);
  if (settle_properties(x, schema) != 0) return -1;
  if (take_enum(x, schema) != 0 || take_types(x, schema) != 0 || settle_type(x, schema) != 0) return -1;
  if (schema_bounds(x->a, schema) != 0) return err_memory(x->e);
  if (settle_items(x, schema) != 0) return -1;
  settle_keywords(schema);
  return convert_inner(x, schema, open, depth + 1);
}

/* One of the caller's schemas, at `field`. */
static int convert_whole(struct subset *x, const char *field, struct node *schema) {
  x->field = field;
  x->left = NODES_MAX;
  if ((x->root = node_copy(x->a, schema)) == NULL) return err_memory(x->e);
  return convert(x, schema, NULL, 0);
}

int gemini_openapi(struct writer *w) {
  struct subset x = { .a = w->r->a, .e = w->e };
  struct node *output = node_get(writer_given(w, "output"), "schema");
  char field[48];
  int i = 0;
  if (output != NULL && convert_whole(&x, "output.schema", output) != 0) return -1;
  for (const struct node *t = children(writer_given(w, "tools")); t != NULL; t = t->next) {
    struct node *schema = node_get(t, "parameters");
    i++;
    if (normalise_is_server_tool(t) || schema == NULL) continue;
    (void)snprintf(field, sizeof field, "tools[%d].parameters", i);
    if (convert_whole(&x, field, schema) != 0) return -1;
  }
  if (x.untyped) writer_adjusted(w, "tools", "an array of a schema does not say what is in it: of strings was sent");
  return 0;
}
