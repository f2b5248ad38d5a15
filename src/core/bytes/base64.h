/*
** base64.h: base64 (RFC 4648) to bytes and back. Text that is read may have the URL alphabet, line ends and no padding;
** text that is written has padding and no line ends.
** The decoded bytes lie in the caller's arena. Failure: see each.
*/
#ifndef KOINE_BYTES_BASE64_H
#define KOINE_BYTES_BASE64_H

#include "core/base/mem.h"

#pragma GCC visibility push(hidden)

/* The bytes, in the arena: 0, -1 when the text is no base64, -2 when out of memory. */
int base64_decode(struct arena *a, struct str text, struct str *bytes);
/* Appends the base64 text of the bytes: 0, or -1 (memory). */
int base64_encode(struct buf *b, struct str bytes);

#pragma GCC visibility pop

#endif
