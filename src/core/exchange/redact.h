/*
** redact.h: the bytes of a credential become "[redacted]" in what tells of a failure, however they are spelled (finder.h),
** and also cut off by the end of the text after 8 bytes or more. A successful answer is not for these functions.
*/
#ifndef KOINE_EXCHANGE_REDACT_H
#define KOINE_EXCHANGE_REDACT_H

#include "core/base/err.h"
#include "core/json/json.h"
#include "finder.h"

#pragma GCC visibility push(hidden)

#define SECRETS_MAX 16
#define REDACT_MAX ERR_MESSAGE_MAX /* bytes of a string that is cleaned in place, its NUL included */

/* Credentials of one call; the strings are owned by whoever filled them in. What keeps them for long may have room for just
** n of them. */
struct secrets {
  size_t n;
  struct str v[SECRETS_MAX];
};

/* s itself when no secret is in it, else a clean copy in the arena (p NULL: memory). */
struct str redact(const struct secrets *k, struct arena *a, struct str s);
/* redact without regard to the case of letters: for names that were made lower case, as those of headers. */
struct str redact_name(const struct secrets *k, struct arena *a, struct str s);
/* Cleans a NUL-terminated string in place, in a room of `size` bytes, REDACT_MAX at most; text that no longer fits is
** cut, not inside a UTF-8 sequence. A string that fills its room was cut already: a secret's beginning (4 bytes or more)
** at its end goes too. */
void redact_inplace(const struct secrets *k, char *z, size_t size);
/* Cleans what an error quotes: message, code and request_id. */
void redact_err(const struct secrets *k, struct err *e);
/* Cleans every string and key of a tree in place. 0, or -1 (memory). */
int redact_node(const struct secrets *k, struct arena *a, struct node *v);

#pragma GCC visibility pop

#endif
