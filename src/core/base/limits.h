/*
** limits.h: the caps of one call. Leaf; cannot fail.
*/
#ifndef KOINE_BASE_LIMITS_H
#define KOINE_BASE_LIMITS_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Every cap has a default (limits_default). Bytes unless said. Fixed are JSON_VALUES_MAX (json.h) and what a tool call's
** id and name may hold (message.h). */
struct limits {
  size_t line, event, body, decoded, argument_bytes, high_water;
  int depth, blocks, tool_calls; /* counts */
};

/* Everything at its default. */
void limits_default(struct limits *l);

#pragma GCC visibility pop

#endif
