/*
** random.h: bytes that nobody can guess, from the system. Leaf; owns nothing.
*/
#ifndef KOINE_BYTES_RANDOM_H
#define KOINE_BYTES_RANDOM_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

#define RANDOM_MAX 256 /* bytes at a time */

/* Fills n bytes, RANDOM_MAX at most: 0, or -1 where the system has none. */
int random_fill(void *bytes, size_t n);

/* The same for ids, which are many and no secrets: drawn from the system RANDOM_MAX at a time, for each thread. No two calls
** give the same bytes, also not in a process and its fork. */
int random_id(void *bytes, size_t n);

#pragma GCC visibility pop

#endif
