/*
** schema.h: keywords of JSON Schemas, for the files that make tools' schemas sendable.
** Schemas are changed in place; new nodes lie in the arena.
*/
#ifndef KOINE_CODEC_GEMINI_SCHEMA_H
#define KOINE_CODEC_GEMINI_SCHEMA_H

#include "gemini.h"

#pragma GCC visibility push(hidden)

/* The first child; NULL of nothing. */
static inline struct node *schema_first(const struct node *v) { return v == NULL ? NULL : v->child; }

/* The keyword's value; NULL where there is none. */
struct node *schema_get(const struct node *schema, const char *key);
/* Sets it; v may be NULL (out of memory earlier). 0 or -1. */
int schema_set(struct node *schema, const char *key, struct node *v);
void schema_drop(struct node *schema, const char *key);

/* const: an enum of one. 0 or -1 (memory). */
int schema_const(struct arena *a, struct node *schema);
/* Adds "{key: value}" to the description, where a keyword that is not sent is told. 0 or -1 (memory). */
int schema_tell(struct arena *a, struct node *schema, const char *key, const struct node *v);
/* Exclusive bounds, also those of older schemas, which are flags: inclusive ones, or told. 0 or -1 (memory). */
int schema_bounds(struct arena *a, struct node *schema);

#pragma GCC visibility pop

#endif
