/*
** sha256.h: SHA-256, whole or in pieces, and HMAC with it. Leaf but for base; owns nothing, cannot fail. The time depends
** on lengths alone, never on the bytes.
*/
#ifndef KOINE_BYTES_SHA256_H
#define KOINE_BYTES_SHA256_H

#include <stdint.h>

#include "core/base/str.h"

#pragma GCC visibility push(hidden)

#define SHA256_SIZE 32
#define SHA256_BLOCK 64

struct sha256 {
  uint32_t state[8];
  uint64_t n;                        /* bytes so far */
  unsigned char block[SHA256_BLOCK]; /* those that do not fill a block yet */
};

/* Begins; takes bytes; gives the digest, after which the state is used up. */
void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, struct str bytes);
void sha256_end(struct sha256 *s, unsigned char out[SHA256_SIZE]);
/* The digest of these bytes. */
void sha256(struct str bytes, unsigned char out[SHA256_SIZE]);
/* The authentication code of the bytes (RFC 2104). */
void hmac_sha256(struct str key, struct str bytes, unsigned char out[SHA256_SIZE]);

#pragma GCC visibility pop

#endif
