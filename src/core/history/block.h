/*
** block.h: the types of blocks: their names, their fields, and where they may stand. Constant; nothing here fails.
*/
#ifndef KOINE_HISTORY_BLOCK_H
#define KOINE_HISTORY_BLOCK_H

#include "core/json/json.h"

#pragma GCC visibility push(hidden)

enum block_type {
  BLOCK_TEXT, BLOCK_IMAGE, BLOCK_DOCUMENT, BLOCK_TOOL, BLOCK_RESULT, BLOCK_THINKING, BLOCK_REDACTED, BLOCK_REFUSAL,
  BLOCK_OPAQUE, BLOCK_COUNT /* no type */
};

/* Where blocks stand: in a message of the user, in one of the assistant, in a tool_result. */
enum { IN_USER = 1, IN_ASSISTANT = 2, IN_RESULT = 4 };

struct block_form {
  const char *name;                /* "tool_use" */
  const char *required, *optional; /* the names of its fields besides `type`, each with a space between two */
  unsigned places;                 /* IN_USER, IN_ASSISTANT, IN_RESULT */
};

/* The form of a type below BLOCK_COUNT. */
const struct block_form *block_form(enum block_type t);
/* The type of that name; BLOCK_COUNT when there is none. */
enum block_type block_by_name(struct str name);
/* Writes all names as "text, image, … or opaque", NUL-terminated, what fits; returns `out`. */
const char *block_names(char *out, size_t size);

#pragma GCC visibility pop

#endif
