/*
** fields.h: checks of single fields, for check.c. A check remembers the path of the node at hand, and names it when it fails:
** -1, KIND_ARGUMENT. No allocation, nothing owned.
*/
#ifndef KOINE_HISTORY_FIELDS_H
#define KOINE_HISTORY_FIELDS_H

#include "core/json/json.h"

#pragma GCC visibility push(hidden)

#define SHOWN 40 /* bytes of a caller's string in a message */

struct check {
  struct err *e; /* NULL where quiet */
  int quiet;     /* keeps no path and says nothing: only whether all is well */
  size_t known;  /* messages before those at hand */
  size_t n;
  char path[sizeof ((struct err *)0)->field];
};

enum { OPTIONAL, REQUIRED };

/* Append to the path what fits, where it is kept. Return the length to go back to with pop. */
size_t push(struct check *c, const char *fmt, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  ;
static inline size_t push_key(struct check *c, struct str key) {
  return c->quiet ? 0 : push(c, "%s%.*s", c->n > 0 ? "." : "", (int)key.n, key.p);
}
static inline size_t push_index(struct check *c, size_t i) { return c->quiet ? 0 : push(c, "[%zu]", i + 1); }
void pop(struct check *c, size_t back);

/* Fail: something else was expected at the path, or at a member of it, than what was given (NULL: nothing). */
int refuse(struct check *c, const char *expected, const struct node *got);
int refuse_member(struct check *c, struct str key, const char *expected, const struct node *got);

/* The member; NULL when absent or null. */
static inline const struct node *member(const struct node *o, struct str key) {
  const struct node *v = node_get_(o, key.p, key.n);
  return node_is(v, NODE_NULL) ? NULL : v;
}

/* True for an array, and for an empty table. */
int is_array(const struct node *v);

/* A member of o of the kind in the name; `needed` is OPTIONAL or REQUIRED, others are optional. A name is not empty, a table
** has named values. */
static inline int check_string(struct check *c, const struct node *o, struct str key, int needed) {
  const struct node *v = member(o, key);
  if (v == NULL ? needed == OPTIONAL : v->type == NODE_STRING) return 0;
  return refuse_member(c, key, "string", v);
}
int check_name(struct check *c, const struct node *o, struct str key);
static inline int check_boolean(struct check *c, const struct node *o, struct str key) {
  const struct node *v = member(o, key);
  if (v == NULL || v->type == NODE_TRUE || v->type == NODE_FALSE) return 0;
  return refuse_member(c, key, "true or false", v);
}
int check_strings(struct check *c, const struct node *o, struct str key);
int check_table(struct check *c, const struct node *o, struct str key, int needed);
int check_cache_control(struct check *c, const struct node *o);

/* No NaN and no infinity anywhere in a free-form value: JSON has neither. */
int check_finite(struct check *c, const struct node *v);

#pragma GCC visibility pop

#endif
