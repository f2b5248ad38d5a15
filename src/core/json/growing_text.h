/*
** growing_text.h: the strings of a value that grows, for growing.c.
*/
#ifndef KOINE_JSON_GROWING_TEXT_H
#define KOINE_JSON_GROWING_TEXT_H

#include "growing.h"

#pragma GCC visibility push(hidden)

enum text_step {
  TEXT_MORE,    /* the piece is read */
  TEXT_SOME,    /* *text: bytes of the string, decoded; borrowed until the next call */
  TEXT_END,     /* the closing quote was read */
  TEXT_ESCAPE,  /* the byte at hand makes an escape none */
  TEXT_CONTROL  /* the byte at hand is a raw control byte */
};

/* Reads on within a string. */
enum text_step growing_text(struct growing *g, struct str *text);

#pragma GCC visibility pop

#endif
