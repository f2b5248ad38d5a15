/*
** process.h: what the two userdata of programs share: their options and their results.
*/
#ifndef KOINE_BINDING_PROCESS_PROCESS_H
#define KOINE_BINDING_PROCESS_PROCESS_H

#include "binding/binding.h"
#include "core/process/process.h"

#pragma GCC visibility push(hidden)

/* Reads the table at 1; strings are borrowed from it, arrays from the arena. Raises ArgumentError. */
void read_process(lua_State *L, struct process_spec *s, struct arena *a);
/* Pushes {code or signal, stdout, stderr, timed_out, dropped, left}; returns 1. Raises on memory. */
int push_result(lua_State *L, const struct process_result *result);

#pragma GCC visibility pop

#endif
