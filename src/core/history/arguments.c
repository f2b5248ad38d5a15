/*
** arguments.c: the arguments of a tool call, from a model and back to it (N14), and the text of a failed call
** (N22). Text that a model wrote is kept byte for byte; arguments that cannot be read are reported, never made `{}`.
** Results lie in the arena or borrow from the input. Failure: -1 or p NULL (memory).
*/
#include "normalise.h"

/* s without white space (and a BOM) round it. */
static struct str trim(struct str s) {
  return str_trim(str_begins(s, "\xEF\xBB\xBF") ? (struct str){ s.p + 3, s.n - 3 } : s);
}

/* {{{ inbound */

/* A null member says the same as an absent one. */
static void drop_nulls(struct node *v) {
  struct node **link = &v->child, *kept = NULL, *m;
  while ((m = *link) != NULL) {
    if (v->type == NODE_OBJECT && m->type == NODE_NULL) {
      *link = m->next;
      v->count--;
    } else {
      drop_nulls(m);
      kept = m;
      link = &m->next;
    }
  }
  v->last = kept;
}

static const char *not_object(const struct node *v) {
  switch (v->type) {
    case NODE_ARRAY: return "an array, not a JSON object";
    case NODE_STRING: return "a string, not a JSON object";
    case NODE_NULL: return "null, not a JSON object";
    case NODE_TRUE: case NODE_FALSE: return "a boolean, not a JSON object";
    default: return "a number, not a JSON object";
  }
}

/* Says why the text cannot be read, in the arena. 0, or -1 (memory). */
static int explain(struct arena *a, const struct err *e, const char **problem) {
  struct buf b;
  struct str s;
  buf_init(&b, a->m);
  s = buf_adds(&b, "invalid JSON: ") == 0 && buf_adds(&b, e->message) == 0 ? arena_dup(a, buf_str(&b)) : STR_NONE;
  buf_free(&b);
  *problem = s.p;
  return s.p == NULL ? -1 : 0;
}

/* The tree of the text; NULL with *problem set when it is no JSON, or too much of it. 0, or -1 (memory). */
static int parse(struct arena *a, struct str s, int depth, size_t *values, struct node **v, const char **problem) {
  struct err e;
  err_clear(&e);
  *v = json_tree_within(a, s, depth, values, &e);
  if (*v != NULL) return 0;
  return e.kind == KIND_MEMORY ? -1 : explain(a, &e, problem);
}

int normalise_read_arguments_within(struct arena *a, struct str bytes, int depth, size_t *values,
                                    struct node **arguments, struct str *json, const char **problem) {
  struct str s = trim(bytes), inner;
  struct node *v = NULL;
  *json = s;
  *problem = NULL;
  if (s.n > 0 && parse(a, s, depth, values, &v, problem) != 0) return -1;
  if (node_is(v, NODE_STRING)) { /* encoded twice, or nothing at all */
    const char *ignored;
    inner = trim(v->s);
    if (inner.n == 0) {
      v = NULL;
    } else {
      struct node *w;
      if (parse(a, inner, depth, values, &w, &ignored) != 0) return -1;
      if (node_is(w, NODE_OBJECT) || node_is(w, NODE_NULL)) v = w, *json = inner;
    }
  }
  if (node_is(v, NODE_OBJECT)) {
    drop_nulls(v);
    *arguments = v;
    return 0;
  }
  if (v == NULL || v->type == NODE_NULL) {
    if (*problem == NULL) *json = STR("{}");
  } else {
    *problem = not_object(v);
  }
  *arguments = node_new(a, NODE_OBJECT);
  return *arguments == NULL ? -1 : 0;
}

/* }}} */

/* {{{ outbound */

static int marked(struct str s) { return s.n > 0 && memmem(s.p, s.n, "\xEF\xBF\xBD", 3) != NULL; }

/* True when a string or key of the tree holds U+FFFD. */
static int is_marked(const struct node *v) {
  if (marked(v->key) || marked(node_str(v))) return 1;
  for (const struct node *m = v->child; m != NULL; m = m->next)
    if (is_marked(m)) return 1;
  return 0;
}

/* True when the tree of this text may hold bytes that were repaired, so that they are written anew. ASCII without an
** escape needs no repair. */
static int repaired(struct str json, const struct node *v) {
  size_t i = 0;
  while (i < json.n && (unsigned char)json.p[i] < 0x80 && json.p[i] != '\\') i++;
  return i < json.n && is_marked(v);
}

static struct str sorted_json(struct arena *a, const struct node *v) {
  struct buf b;
  struct err e;
  struct str s;
  err_clear(&e);
  buf_init(&b, a->m);
  s = json_write_sorted(&b, v, &e) == 0 ? arena_dup(a, buf_str(&b)) : STR_NONE;
  buf_free(&b);
  return s;
}

/* {"INVALID_JSON": text}: the wire wants an object, the model may as well see what it wrote. */
static struct str invalid_json(struct arena *a, struct str text) {
  struct node *o = node_new(a, NODE_OBJECT);
  if (o == NULL || node_set(o, STR("INVALID_JSON"), node_string(a, text)) != 0) return STR_NONE;
  return sorted_json(a, o);
}

struct str normalise_arguments(struct arena *a, const struct node *tool_use, int depth) {
  const struct node *arguments = node_get(tool_use, "arguments"), *failed = node_get(tool_use, "arguments_error");
  struct str bytes = node_str(node_get(tool_use, "arguments_json")), json;
  struct node *read;
  const char *problem;
  if (failed != NULL && failed->type != NODE_NULL && failed->type != NODE_FALSE) return invalid_json(a, bytes);
  if (node_is(arguments, NODE_ARRAY) && arguments->count == 0) arguments = NULL;
  if (bytes.n == 0) return arguments == NULL ? STR("{}") : sorted_json(a, arguments);
  if (normalise_read_arguments_within(a, bytes, depth, NULL, &read, &json, &problem) != 0) return STR_NONE;
  if (node_get(tool_use, "arguments") == NULL) {
    if (problem != NULL) return invalid_json(a, bytes);
    arguments = read;
  }
  if (problem == NULL && !repaired(json, read) &&
      (arguments == NULL ? read->count == 0 : node_equal_sorted(a->m, read, arguments))) return json;
  return arguments == NULL ? STR("{}") : sorted_json(a, arguments);
}

/* }}} */

struct str normalise_error_text(struct arena *a, struct str text) {
  struct buf b;
  struct str s;
  if (str_begins(text, "Error:")) return text;
  buf_init(&b, a->m);
  s = buf_adds(&b, "Error: ") == 0 && buf_addstr(&b, text) == 0 ? arena_dup(a, buf_str(&b)) : STR_NONE;
  buf_free(&b);
  return s;
}
