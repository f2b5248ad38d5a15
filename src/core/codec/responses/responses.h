/*
** responses.h: what the files of the OpenAI Responses codec share.
**   responses.c render: a canonical request as the body of POST /responses
**   input.c     the history as input items
**   parse.c     events and whole answers as parts
**   item.c      output items, from their first delta to the end
**   parallel.c  several calls in one (`multi_tool_use.parallel`), taken apart and put together again
** The state owns its buffers; parts borrow as event.h says: from the data and the scratch arena of `struct parse`,
** those of the message's end from the state too. Failure: -1 and an err.
*/
#ifndef KOINE_CODEC_RESPONSES_H
#define KOINE_CODEC_RESPONSES_H

#include "core/codec/shared/writer.h"
#include "core/codec/shared/read.h"

#pragma GCC visibility push(hidden)

/* {{{ rendering */

/* Bits of render.remedies: reasoning in the body that the provider may be unable to open; that it was asked to
** encrypt some; that it was asked for logprobs. */
enum responses_remedy { REMEDY_REASONING = 1, REMEDY_ENCRYPTED = 2, REMEDY_LOGPROBS = 4 };

/* Writes the array of input items for a normalised message and those behind it. system: text blocks that go first, or
** NULL. */
void responses_put_input(struct writer *w, const struct node *system, const struct node *messages);

/* }}} */

/* {{{ parsing: parse.c */

enum responses_kind { RESPONSES_TEXT, RESPONSES_REFUSAL, RESPONSES_THINKING, RESPONSES_TOOL, RESPONSES_OTHER };

/*
** A piece of an output item that becomes a block: a content part of a message, or the whole item. Items are known by
** their output_index alone: Copilot gives one item a new id in every event (vercel/ai#18548).
*/
struct responses_piece {
  int64_t item;          /* output_index */
  int64_t at;            /* content_index of a message's part, else 0 */
  enum responses_kind kind;
  int32_t key;
  int closed;            /* its item is done: what still comes for it is an echo */
  int halves;            /* `text` has surrogates that were cut apart */
  int content;           /* THINKING: the item's own text (open models), no summary of it */
  int64_t part;          /* THINKING: index of the summary or content part that grows, */
  size_t start;          /* and where it starts in `text` */
  int held;              /* TOOL: calls in one: nothing is said until it is done */
  struct buf text;       /* what deltas brought so far */
  struct buf head;       /* TOOL, held: the item as it was announced */
};

/* A fragment of an item's text, or (whole) all of one part of it. */
struct responses_text {
  enum responses_kind kind;
  int64_t item, at;      /* output_index; content_index or summary_index */
  int content, whole;
  struct str s;
  unsigned flags;
};

struct responses {
  const struct parse *p;
  struct events *out;    /* of the call at hand, */
  struct err *e;         /* its error */
  struct responses_piece *v;
  size_t n, cap;         /* in order of appearance */
  int32_t next_key;
  int64_t item;          /* output_index of the last event that had one, -1 = none */
  int items_done;        /* an output_item.done was seen */
  int has_meta, refused, tools;
  int64_t used;          /* output tokens, as the usage says */
  int hosted;            /* a tool ran at the provider, which may charge for it */
  int ended;
  int incomplete;        /* the message was cut: */
  struct buf reason;     /* its status, or why it was cut */
  struct responses_text said; /* the last fragment */
};

/* Appends a part; NULL when out of memory (*s->e says so). */
static inline struct event *responses_push(struct responses *s, enum event_type type, int32_t key, struct str text) {
  return codec_push(s->out, type, key, text, s->e);
}

/* The functions that the codec fills its table with: see struct codec. */
void responses_init(void *state, const struct parse *p);
void responses_free(void *state);
int responses_parse_record(void *state, const struct record *r, struct events *out, struct err *e);
int responses_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e);
int responses_parse_body(void *state, struct str body, struct events *out, struct err *e);
int responses_parse_end(void *state, struct events *out, struct err *e);
int responses_ended(const void *state);

/* }}} */

/* {{{ items: item.c */

/* Takes a fragment. 0 or -1. */
int responses_add(struct responses *s, const struct responses_text *t);
/* An item was announced (JSON, an object). 0 or -1. */
int responses_begin(struct responses *s, int64_t item, struct str json);
/* An item is complete (JSON, an object): what deltas did not say of it is pushed. 0 or -1. */
int responses_finish(struct responses *s, int64_t item, struct str json);
/* True when the item has begun and is not done. */
int responses_open(const struct responses *s, int64_t item);
/* The message is complete: ends what is still open. 0 or -1. */
int responses_close(struct responses *s);

/* }}} */

/* {{{ calls in one: parallel.c */

/* True for the names under which models call several tools in one, undeclared (vercel/ai 6be0f51). */
int responses_is_parallel(struct str name);
/* Pushes each call of one that is made of several as a tool call. `item` (JSON, or empty) is kept with the first, so
** that the whole can go back as it came. 1, 0 when the arguments are not what the name says, or -1. */
int responses_expand(struct responses *s, struct str call_id, struct str arguments, struct str item);
/* Puts such calls of the history, and their results, together again where they go back to their origin, which is
** `here`. 0 or -1 (memory). */
int responses_collapse(struct writer *w, const struct origin *here);

/* }}} */

#pragma GCC visibility pop

#endif
