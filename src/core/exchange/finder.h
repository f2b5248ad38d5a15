/*
** finder.h: where a text says a secret: as it is, with JSON's escapes, percent-encoded, or with layers of both, and cut
** off by the end of the text. Leaf: owns nothing, allocates nothing, cannot fail.
*/
#ifndef KOINE_EXCHANGE_FINDER_H
#define KOINE_EXCHANGE_FINDER_H

#include "core/base/str.h"

#pragma GCC visibility push(hidden)

#define SECRET_MIN 8 /* bytes: a shorter credential is a word that turns up by itself ("test"), and is not looked for */
#define SECRET_PART 8 /* bytes of a secret that count as one where the text ends before the rest of it */

enum { FINDER_BEGINS = 1, FINDER_INSIDE = 2 }; /* a byte's mark: the first of a secret, a further one; 0: neither */

/* Looks for the secret in s, in time proportional to the length of s. marks: a byte for each of s, in which what is found
** is marked (places that overlap become one), or NULL: the search ends at the first find. 1: found; 0: not. Of a secret of
** more than 512 bytes the first 512 are looked for; what follows is found as far as it goes on like the secret. */
int finder_search(struct str secret, struct str s, unsigned char *marks);

#pragma GCC visibility pop

#endif
