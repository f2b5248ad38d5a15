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

/* Append to the path what fits. Return the length to go back to with pop. */
size_t push(struct check *c, const char *fmt, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  ;
size_t push_key(struct check *c, struct str key);
size_t push_index(struct check *c, size_t i);
void pop(struct check *c, size_t back);

/* Fail: something else was expected at the path, or at a member of it, than what was given (NULL: nothing). */
int refuse(struct check *c, const char *expected, const struct node *got);
int refuse_member(struct check *c, struct str key, const char *expected, const struct node *got);

/* The member; NULL when absent or null. */
const struct node *member(const struct node *o, struct str key);

/* True for an array, and for an empty table. */
int is_array(const struct node *v);

/* A member of o of the kind in the name; `needed` is OPTIONAL or REQUIRED, others are optional. A name is not empty, a table
** has named values. */
int check_string(struct check *c, const struct node *o, struct str key, int needed);
int check_name(struct check *c, const struct node *o, struct str key);
int check_boolean(struct check *c, const struct node *o, struct str key);
int check_strings(struct check *c, const struct node *o, struct str key);
int check_table(struct check *c, const struct node *o, struct str key, int needed);
int check_cache_control(struct check *c, const struct node *o);

/* No NaN and no infinity anywhere in a free-form value: JSON has neither. */
int check_finite(struct check *c, const struct node *v);

#pragma GCC visibility pop

#endif
