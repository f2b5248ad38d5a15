/*
** effort.h: how much a model is to think: a word, or tokens where a wire counts them. One table for all wires. Leaf;
** cannot fail.
*/
#ifndef KOINE_CODEC_EFFORT_H
#define KOINE_CODEC_EFFORT_H

#include <stdint.h>

#include "core/base/mem.h"

#pragma GCC visibility push(hidden)

/* The tokens that low, medium and high stand for; 0 for other words. */
int64_t effort_budget(struct str word);
/* Which of the three is nearest to so many tokens. */
const char *effort_word(int64_t budget);

#pragma GCC visibility pop

#endif
