/*
** crc32.h: the CRC-32 of zlib, Ethernet and AWS's event streams. Leaf but for base; owns nothing, cannot fail.
*/
#ifndef KOINE_BYTES_CRC32_H
#define KOINE_BYTES_CRC32_H

#include <stdint.h>

#include "core/base/str.h"

#pragma GCC visibility push(hidden)

/* The checksum of the bytes behind those that gave `crc`; 0 for none before them. */
uint32_t crc32_add(uint32_t crc, struct str s);

#pragma GCC visibility pop

#endif
