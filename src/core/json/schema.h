/*
** schema.h: JSON Schemas as text: which keywords hold schemas, and in which order `properties` goes out.
** A model writes the members of an object in the order in which the schema lists them, so this order has a meaning.
** It is that of `propertyOrdering`, an array of names in the schema; then the names in `required`; then the rest by
** bytes. The text of a schema has an order of its own, which json_schema_read notes as propertyOrdering.
** Trees are the caller's. Failure: -1 / NULL and an err.
*/
#ifndef KOINE_JSON_SCHEMA_H
#define KOINE_JSON_SCHEMA_H

#include "json.h"

#pragma GCC visibility push(hidden)

/* The value of a keyword: a list of values or, with HOLDS_SCHEMAS, of schemas; one schema, or a list of them; an object
** of schemas by name. 0: data, in which no schema is looked for. */
enum { HOLDS_LIST = 1, HOLDS_SCHEMAS = 2, HOLDS_SCHEMA = 4, HOLDS_MAP = 8 };
int json_schema_holds(struct str keyword);

/* The schema of a JSON text, as json_tree reads it: every object of `properties` that has no propertyOrdering gets one
** with their names as they stand. */
struct node *json_schema_read(struct arena *a, struct str text, int max_depth, struct err *e);

/* Leaves in a list only the names of properties (an object; where it is none there are none), in the time of sorting
** them. 0, or -1 (memory). */
int json_schema_keep_names(struct arena *a, struct node *list, const struct node *properties);

/* Appends a schema as compact JSON: `properties` in the order above, at every level, all other members sorted, arrays as
** they are. propertyOrdering is left out; with `ordering` a schema of several properties has the whole order under this
** name, behind them. Other values are written as json_write_sorted does. Takes the time of sorting the names. 0, or -1
** and *e; the buffer is as long as before then. */
int json_write_schema(struct buf *b, const struct node *schema, int ordering, struct err *e);

#pragma GCC visibility pop

#endif
