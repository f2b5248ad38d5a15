/*
** text.h: looking through a file's text. Each function takes time that grows with the length of the text, whatever its
** bytes are, and no memory. Lines end with "\n"; what comes after the last one, if anything, is a line too.
*/
#ifndef KOINE_FILES_TEXT_H
#define KOINE_FILES_TEXT_H

#include <stdint.h>

#include "core/base/mem.h"

#pragma GCC visibility push(hidden)

#define TEXT_NONE SIZE_MAX

/* Where `part`, of a byte or more, first begins at or behind `from`; TEXT_NONE when nowhere. */
size_t text_find(struct str text, struct str part, size_t from);
/* How many "\n" there are; *windows of them have a "\r" before them. */
size_t text_ends(struct str text, size_t *windows);
/* Where the text begins that comes after the first `n` lines: at most at its end; TEXT_NONE when there are fewer. */
size_t text_after(struct str text, size_t n);

#pragma GCC visibility pop

#endif
