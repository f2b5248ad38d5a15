/*
** growing.h: reads a JSON value while its text arrives, in pieces of any size: a pull reader that is resumed where it
** stopped and looks at no byte twice. It says how the value grew; the caller builds what it wants of that. A value only
** grows: what was shown is a part of the whole value, but where a key comes twice (the last one wins).
**   - an object or array is shown when its bracket came, a key with the beginning of its value;
**   - a string from its quote on; an escape, a surrogate pair and a character of several bytes only when whole;
**   - a number when the byte behind it came, true, false and null when they are whole.
** A whole value says what json.h reads of the same text: numbers, repaired UTF-8 and lone surrogates too. But an integer
** beyond int64 is a double, and a number beyond double fails.
** Owns a key and a number. Failure: bytes that can no longer become JSON, a number that is too large (KIND_PROTOCOL), more
** than a limit allows (KIND_LIMIT), no memory; the reader then stays in error, and what it has shown remains as it is.
*/
#ifndef KOINE_JSON_GROWING_H
#define KOINE_JSON_GROWING_H

#include "json.h"

#pragma GCC visibility push(hidden)

enum growth_type {
  GROWTH_FAILED = -1,
  GROWTH_NONE = 0, /* the bytes so far say no more */
  GROWTH_OPENED,   /* a value began: an object, array or string, still empty */
  GROWTH_TEXT,     /* the string that is open has more bytes */
  GROWTH_CLOSED,   /* the innermost value that is open is whole */
  GROWTH_SCALAR    /* a value came whole: a number, true, false, null */
};

/* One step of growth. Borrowed until the next call. */
struct growth {
  enum token token; /* OPENED, CLOSED: J_OBJECT, J_ARRAY, J_STRING; SCALAR: J_INT … J_NULL */
  int depth;        /* containers round the value */
  int is_member;    /* of an object; else of an array, or the root */
  struct str key;   /* of a member; not at the CLOSED of a container */
  struct str text;  /* TEXT: what came, decoded */
  int64_t i;        /* J_INT */
  double d;         /* J_DOUBLE */
};

enum growing_state { GROWING_OPEN, GROWING_WHOLE, GROWING_FAILED };

struct growing_limits {
  int depth;    /* levels; at most JSON_DEPTH_MAX */
  size_t bytes; /* of the text */
};

struct growing {
  struct err *e;
  int depth;                /* containers that are open */
  size_t behind;            /* offset of the first byte behind the value that is no white space; 0 = none */
  /* private: */
  struct growing_limits limits;
  struct buf key, number;
  const char *begin, *p, *end; /* the piece */
  size_t offset;            /* of `begin` in the text */
  size_t values;
  int over;                 /* the piece goes on beyond limits.bytes */
  int fence;                /* a line ``` may stand before the value; 2: one does */
  int ticks;                /* of the fence behind it */
  int state, after;         /* what may come; what comes after `word` */
  int numeral;              /* how far the number is */
  const char *word;         /* what is left of a word */
  enum token token;         /* what the word stands for; J_EOF: no value */
  char held[12], decoded[16]; /* the beginning of an escape, pair or character; what one stands for */
  size_t held_n;
  unsigned char is_object[JSON_DEPTH_MAX / 8];
};

/* Begins: a BOM and white space before the value are skipped, and with `fence` a line that begins with ```, of which the
** counterpart may follow the value. *e is cleared, and outlives the reader. */
void growing_init(struct growing *g, const struct mem *m, const struct growing_limits *limits, int fence, struct err *e);
void growing_free(struct growing *g);
/* The next piece of the text, borrowed until growing_next has said GROWTH_NONE or GROWTH_FAILED; only then another one. */
void growing_feed(struct growing *g, struct str piece);
/* The next step. GROWTH_FAILED stays. */
enum growth_type growing_next(struct growing *g, struct growth *out);
/* The text is at its end, and growing_next has said all: GROWTH_SCALAR for a root number, which only the end completes,
** else GROWTH_NONE. A value that is open then was cut. */
enum growth_type growing_end(struct growing *g, struct growth *out);
/* Open: all there is of the value is right. Whole: text behind it is noted in `behind`, and no error. Failed: *e. */
enum growing_state growing_state(const struct growing *g);

#pragma GCC visibility pop

#endif
