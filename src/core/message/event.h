/*
** event.h: the one vocabulary between codecs, message and stream. A codec pushes PARTS (what the wire said);
** message_add turns parts into DELTAS (the grammar that users see):
**   stream := block* ; block := X_START X_DELTA* X_END, X in TEXT, THINKING, TOOL; text and thinking never interleave.
** The strings of an event are borrowed. Those of a part lie in the data that the codec was given or in its scratch
** arena, or are constant; never in the codec's state, because parts may wait while the codec goes on (the events of one
** record, an answer and its end). Only parse_end, the last call, lends what is in the state, until the codec is freed.
** Those of a delta are valid until the exchange is called again.
*/
#ifndef KOINE_MESSAGE_EVENT_H
#define KOINE_MESSAGE_EVENT_H

#include <stdint.h>
#include "core/base/mem.h"
#include "core/base/err.h"
#include "core/history/block.h"
#include "core/json/json.h"

#pragma GCC visibility push(hidden)

enum event_type {
  EV_NONE = 0,
  /* parts: codec -> message. `key` names the block; a part with an unknown key opens it. */
  PART_META,       /* id, name = model: either may be empty; the first non-empty one of each wins */
  PART_TEXT,       /* key, text: append to the text block */
  PART_THINKING,   /* key, text: append to the thinking block */
  PART_SIGNATURE,  /* key, text: set (not append) the thinking block's signature */
  PART_REDACTED,   /* key, text = data: a whole redacted_thinking block */
  PART_REFUSAL,    /* key, text: append to the refusal block */
  PART_OPAQUE,     /* key, name = the provider's type, text = the block's JSON, whole */
  PART_TOOL,       /* key, id, name: opens a tool call or completes it; empty strings say nothing */
  PART_ARGS,       /* key, text: append argument bytes */
  PART_RAW,        /* key, text = JSON object of the fields without a canonical name; replaces an earlier one. With name
                      "thinking" it opens a thinking block, which may stay without text; with EVENT_SILENT and that name
                      or "text" a whole block without text, of which no delta tells */
  PART_END,        /* key: this block is finished */
  PART_USAGE,      /* usage: overwrites per field where known */
  PART_CONTAINER,  /* text = JSON object with an `id`: where the provider ran code; replaces an earlier one */
  PART_LOGPROBS,   /* text = JSON array of {token, logprob, bytes?, top_logprobs?}, OpenAI's form: of tokens that come
                      behind those of an earlier one */
  PART_STOP,       /* stop, text = raw_stop_reason, name = stop_sequence */
  PART_WARNING,    /* id = code, name = field, text = message */
  PART_DONE,       /* the wire says that nothing more comes: stop reading */
  /* deltas: message -> user */
  EV_TEXT_START, EV_TEXT_DELTA, EV_TEXT_END,             /* text */
  EV_THINKING_START, EV_THINKING_DELTA, EV_THINKING_END, /* text */
  EV_TOOL_START,   /* id, name */
  EV_TOOL_DELTA,   /* id, text = argument_delta */
  EV_TOOL_END,     /* id */
  EV_COUNT /* no type */
};

enum stop {
  STOP_NONE = 0, STOP_END_TURN, STOP_TOOL_USE, STOP_MAX_TOKENS, STOP_SEQUENCE, STOP_PAUSE_TURN,
  STOP_REFUSAL, STOP_SENSITIVE, STOP_CONTEXT_OVERFLOW,
  STOP_ERROR /* only in a partial */
};

/* Token counts; -1 = the wire did not say. input excludes cached tokens, output includes reasoning. */
struct usage {
  int64_t input, output, cache_read, cache_creation, reasoning;
  int64_t cache_hour;    /* of cache_creation: what was written for an hour */
  double cost;           /* USD, as the provider says; negative = it did not */
  const char *unpriced;  /* why counts and prices do not make the cost, a constant word; NULL = they do */
};

/* A lone surrogate stands in `text` as WTF-8 (json_text_wtf8): message joins pairs split over two parts. */
#define EVENT_SURROGATE JSON_SURROGATE
/* PART_TEXT, PART_THINKING, PART_REFUSAL, PART_ARGS: `text` replaces what the block holds; no delta says so. */
#define EVENT_REPLACE 2u
/* PART_RAW: see there. */
#define EVENT_SILENT 4u

struct event {
  enum event_type type;
  unsigned flags;
  int32_t key;
  enum stop stop;
  union {
    struct { struct str text, id, name; };
    struct usage usage; /* PART_USAGE's, which has no strings */
  };
};

/* A queue of events: push at the end, take from the front. */
struct events {
  struct event *v;
  size_t head, n, cap; /* waiting: v[head .. n-1] */
  const struct mem *m;
};

/* Initialises an empty queue; frees its memory. */
void events_init(struct events *q, const struct mem *m);
void events_free(struct events *q);
/* Makes room for so many in an empty queue that has none yet: 0, or -1 (memory). */
int events_reserve(struct events *q, size_t n);
/* Appends an event that says nothing yet and returns it, or NULL when out of memory. */
struct event *events_push(struct events *q, enum event_type type, int32_t key);
/* The oldest waiting event, removed; NULL when none. Valid until the next push. */
static inline const struct event *events_take(struct events *q) {
  if (q->head == q->n) return NULL;
  const struct event *ev = &q->v[q->head++];
  if (q->head == q->n) q->head = q->n = 0;
  return ev;
}
void events_clear(struct events *q);

void usage_clear(struct usage *u);            /* all unknown */
const char *stop_name(enum stop s);           /* "end_turn", …; STOP_NONE gives NULL */
enum stop stop_by_name(struct str name);      /* STOP_NONE for what is none of them */

/* A type of deltas, as users see it. */
struct delta_form {
  const char *name;      /* "text_delta" */
  enum block_type block; /* whose delta it is */
  const char *id, *word, *text; /* its fields besides `type`: under these names users see the event's id, name and text;
                                   NULL: they do not */
};
const struct delta_form *event_form(enum event_type t); /* NULL for parts */

#pragma GCC visibility pop

#endif
