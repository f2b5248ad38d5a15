/*
** limits.h: the caps of one call. Failure: -1 and an err (KIND_LIMIT).
*/
#ifndef KOINE_BASE_LIMITS_H
#define KOINE_BASE_LIMITS_H

#include <stddef.h>

#include "err.h"

#pragma GCC visibility push(hidden)

/* Every cap has a default (limits_default). Bytes unless said. Fixed are JSON_VALUES_MAX (json.h) and what a tool call's
** id and name and a container may hold (message.h). */
struct limits {
  size_t line, event, body, decoded, argument_bytes, high_water;
  int depth, blocks, tool_calls; /* counts */
};

/* Everything at its default. */
void limits_default(struct limits *l);
/* 0, or -1 where a tool call's arguments have `bytes` bytes and may not. */
int limits_check_arguments(const struct limits *l, size_t bytes, struct err *e);

#pragma GCC visibility pop

#endif
