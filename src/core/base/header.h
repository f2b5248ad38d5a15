/*
** header.h: one header of a request or an answer. Leaf but for mem; owns nothing.
*/
#ifndef KOINE_BASE_HEADER_H
#define KOINE_BASE_HEADER_H

#include "mem.h"

#pragma GCC visibility push(hidden)

/* A response header has its name in lower case. Borrowed. */
struct header { struct str name, value; };

#pragma GCC visibility pop

#endif
