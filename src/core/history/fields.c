/*
** fields.c: fields of one kind each, and the path and words of a complaint. See fields.h.
*/
#include "fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

size_t push(struct check *c, const char *fmt, ...) {
  size_t back = c->n;
  va_list args;
  int n;
  if (c->quiet) return back;
  va_start(args, fmt);
  n = vsnprintf(c->path + c->n, sizeof c->path - c->n, fmt, args);
  va_end(args);
  c->n = n < 0 || (size_t)n >= sizeof c->path - c->n ? sizeof c->path - 1 : c->n + (size_t)n;
  return back;
}

void pop(struct check *c, size_t back) {
  if (c->quiet) return;
  c->n = back;
  c->path[back] = '\0';
}

/* Describes the value that was given, in the caller's words. */
static const char *describe(const struct node *v, char *s, size_t size) {
  if (v == NULL) return "nothing";
  switch (v->type) {
    case NODE_NULL: return "null";
    case NODE_FALSE: return "false";
    case NODE_TRUE: return "true";
    case NODE_OBJECT: case NODE_ARRAY:
      return v->count == 0 ? "an empty table" : v->type == NODE_ARRAY ? "an array" : "a table";
    case NODE_INT: (void)snprintf(s, size, "%lld", (long long)v->u.i); return s;
    case NODE_STRING:
      (void)snprintf(s, size, "\"%.*s%s\"", (int)(v->s.n > SHOWN ? SHOWN : v->s.n), v->s.n > 0 ? v->s.p : "",
                     v->s.n > SHOWN ? "..." : "");
      return s;
    default: return "a number";
  }
}

int refuse(struct check *c, const char *expected, const struct node *got) {
  char s[SHOWN + 8];
  if (c->quiet) return -1;
  return err_argument(c->e, c->path, expected, describe(got, s, sizeof s));
}

int refuse_member(struct check *c, struct str key, const char *expected, const struct node *got) {
  (void)push_key(c, key);
  return refuse(c, expected, got);
}

int check_name(struct check *c, const struct node *o, struct str key) {
  const struct node *v = member(o, key);
  return node_str(v).n > 0 ? 0 : refuse_member(c, key, "non-empty string", v);
}

/* An empty table may be either. */
static int is_empty(const struct node *v) { return (v->type == NODE_ARRAY || v->type == NODE_OBJECT) && v->count == 0; }
int is_array(const struct node *v) { return v->type == NODE_ARRAY || is_empty(v); }
static int is_object(const struct node *v) { return v->type == NODE_OBJECT || is_empty(v); }

int check_finite(struct check *c, const struct node *v) {
  size_t i = 0;
  if (v->type == NODE_DOUBLE && !isfinite(v->u.d)) return refuse(c, "finite number", v);
  for (const struct node *m = v->child; m != NULL; m = m->next, i++) {
    size_t back = v->type == NODE_OBJECT ? push_key(c, m->key) : push_index(c, i);
    if (check_finite(c, m) != 0) return -1;
    pop(c, back);
  }
  return 0;
}

int check_table(struct check *c, const struct node *o, struct str key, int needed) {
  const struct node *v = member(o, key);
  size_t back;
  if (v == NULL ? needed == REQUIRED : !is_object(v)) return refuse_member(c, key, "table with named fields", v);
  if (v == NULL) return 0;
  back = push_key(c, key);
  if (check_finite(c, v) != 0) return -1;
  pop(c, back);
  return 0;
}

int check_strings(struct check *c, const struct node *o, struct str key) {
  const struct node *v = member(o, key), *s;
  size_t i = 0;
  if (v == NULL) return 0;
  if (!is_array(v)) return refuse_member(c, key, "array of strings", v);
  for (s = v->child; s != NULL; s = s->next, i++) {
    if (s->type == NODE_STRING) continue;
    (void)push_key(c, key);
    (void)push_index(c, i);
    return refuse(c, "string", s);
  }
  return 0;
}

int check_cache_control(struct check *c, const struct node *o) {
  const struct node *v = member(o, STR("cache_control")), *ttl;
  size_t back;
  if (v == NULL) return 0;
  if (v->type != NODE_OBJECT) return refuse_member(c, STR("cache_control"), "{type = \"ephemeral\"}", v);
  back = push_key(c, STR("cache_control"));
  if (!str_eq(node_str(node_get(v, "type")), "ephemeral"))
    return refuse_member(c, STR("type"), "\"ephemeral\"", node_get(v, "type"));
  ttl = member(v, STR("ttl"));
  if (ttl != NULL && !str_eq(node_str(ttl), "5m") && !str_eq(node_str(ttl), "1h"))
    return refuse_member(c, STR("ttl"), "\"5m\" or \"1h\"", ttl);
  pop(c, back);
  return 0;
}
