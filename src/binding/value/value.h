/*
** value.h: Lua values as trees, for value.c and record.c.
*/
#ifndef KOINE_BINDING_VALUE_H
#define KOINE_BINDING_VALUE_H

#include "binding/binding.h"

#pragma GCC visibility push(hidden)

/* Where a value stands, for error messages: a list from the innermost step outwards. */
struct path {
  const struct path *up;
  const char *name;  /* NULL: the index says */
  lua_Integer index;
};

/* Raise an ArgumentError with the path: something else was expected there; there are too many levels. */
int raise_at(lua_State *L, const struct path *p, const char *expected, const char *got);
int raise_depth(lua_State *L, const struct path *p);

/* p, which is not NULL. Raises for memory. */
void *value_need(lua_State *L, void *p);

/* Adds a value at the end of an array or object. */
void append(struct node *o, struct node *v);

/* The elements of the array at idx, one after the other, in one pass where its keys come as 1, 2, 3 …; where others come
** between them they are counted, as array_count does. `i` is the element at hand; begins with what lies before the first
** one that is wanted. */
struct items {
  lua_Integer i;
  lua_Integer n; /* how many there are; -1: not counted */
};

/* Pushes what items_next needs first: i is an element, or 0. */
void items_begin(lua_State *L, struct items *e, lua_Integer i);
/* Pushes the next element, which the caller pops: 1; or pops what is left of its own: 0. */
int items_next(lua_State *L, int idx, struct items *e);

/* Sorts an object's members by the bytes of their names. */
void sort_object(struct node *o);

/* The free-form value at idx. Raises ArgumentError. */
struct node *to_node(lua_State *L, int idx, struct arena *a, const struct path *p, int depth);

#pragma GCC visibility pop

#endif
