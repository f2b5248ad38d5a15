/*
** modules.h: the text of Koine's Lua modules as C data, written by tools/embed.lua.
*/
#ifndef KOINE_MODULES_H
#define KOINE_MODULES_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* A module: what require calls it, the name of its chunk, its source. */
struct koine_module {
  const char *name, *chunk;
  const unsigned char *text;
  size_t size;
};

/* All of them, then one whose name is NULL. */
extern const struct koine_module koine_modules[];

#pragma GCC visibility pop

#endif
