/*
** chat.h: what the files of the Chat Completions codec share.
**   chat.c      render: a canonical request as the body of POST /chat/completions; the filter behind what is parsed
**   messages.c  its messages
**   parse.c     chunks and whole answers as parts
**   text.c      text and the blocks it belongs to; reasoning written into the answer's text
**   tools.c     tool calls and their fragments
**   keep.c      token counts, and the fields that go back as they came
**   logprobs.c  how likely tokens were
** The state owns its buffers; parts borrow as event.h says: from the data and the scratch arena of `struct parse`,
** those of the message's end from the state too. Failure: -1 and an err.
*/
#ifndef KOINE_CODEC_CHAT_H
#define KOINE_CODEC_CHAT_H

#include "core/codec/shared/read.h"
#include "core/codec/shared/leaked/filter.h"
#include "core/codec/shared/leaked/think.h"

#pragma GCC visibility push(hidden)

struct chat;
struct writer;

enum chat_run { RUN_NONE, RUN_TEXT, RUN_THINKING, RUN_REFUSAL, RUN_TOOLS };

/* {{{ tools.c */

struct chat_call {
  int32_t key;
  size_t id, id_n;        /* in chat_tools.ids; id_n 0 = none yet */
  int named, begun;       /* has a name; has argument bytes */
  int depth, in_string, escaped, complete; /* how far the JSON of the arguments got */
};

/* The call that fragments with this index go to. */
struct chat_bind {
  int choice;
  int64_t index;
  size_t call;
};

struct chat_tools {
  struct chat_call *v;
  size_t n, cap, last;    /* calls in order of appearance; the one touched last */
  struct chat_bind *binds;
  size_t bind_n, bind_cap;
  struct buf ids;
};

/* Initialises an empty one; frees what it holds. */
void chat_tools_init(struct chat_tools *t, const struct mem *m);
void chat_tools_free(struct chat_tools *t, const struct mem *m);
/* Takes a choice's tool_calls (JSON, an array; anything else is ignored) and pushes their parts. whole: complete calls,
** not fragments. 0, or -1: memory, limits. */
int chat_tools_read(struct chat *c, int choice, struct str calls, int whole);

/* }}} */

/* {{{ keep.c */

/* The canonical counts of usage. */
void chat_usage(const struct token_counts *f, const struct quirks *q, struct usage *u);

/* One entry of reasoning_details, its fragments joined. */
struct chat_detail {
  int indexed;                      /* has an index: */
  int64_t index;
  const struct node *type, *id;     /* members of `node`, NULL = none; kept here because every fragment is compared */
  struct node *node;                /* the first fragment, in chat_keep.a */
  struct buf text, summary, data;
};

/* Data of an answer that goes back to where it came from. */
struct chat_keep {
  struct arena a;
  struct chat_detail *v;            /* reasoning_details */
  size_t n, cap;
  size_t held;                      /* bytes of details and annotations */
  struct buf opaque;                /* reasoning_opaque */
  struct buf annotations;           /* elements, comma-separated */
};

/* Initialises an empty one; frees what it holds. */
void chat_keep_init(struct chat_keep *k, const struct mem *m);
void chat_keep_free(struct chat_keep *k, const struct mem *m);
/* Takes reasoning_details (JSON, an array; anything else is ignored); whole: entries, not fragments of them.
** *text: what they say, joined, in the scratch arena; *flags: EVENT_SURROGATE where a character was cut. */
int chat_keep_details(struct chat *c, struct str raw, int whole, struct str *text, unsigned *flags);
/* Takes a delta's annotations (JSON, an array; anything else is ignored). */
int chat_keep_annotations(struct chat *c, struct str raw);
/* At the end of the message: pushes PART_RAW for the first reasoning block and for the last text block. */
int chat_keep_end(struct chat *c);

/* }}} */

/* {{{ text.c */

/* Appends to the block of this kind; nothing for an empty text. 0 or -1, here and below. */
int chat_push_text(struct chat *c, enum chat_run run, int choice, struct str s, unsigned flags);
/* Takes text of the answer. */
int chat_text(struct chat *c, int choice, struct str s, unsigned flags);
/* Takes text of reasoning; where the dialect repeats deltas, a repeated one says nothing. */
int chat_thinking(struct chat *c, int choice, struct str s, unsigned flags);
/* Takes text that refuses. */
int chat_refusal(struct chat *c, int choice, struct str s, unsigned flags);
/* Another block begins: what text was kept back and cannot be a tag any more goes before it. */
int chat_text_pause(struct chat *c);
/* The same before a choice's tool_calls (JSON), where these hold a call. */
int chat_text_calls(struct chat *c, struct str calls);
/* The message is complete: the text kept back. */
int chat_text_end(struct chat *c);
/* Text of the kind and choice that the last one had: as struct codec's parse_text. */
int chat_parse_text(struct chat *c, struct str text, unsigned flags, struct events *out, struct err *e);

/* }}} */

/* {{{ logprobs.c */

/* Takes a choice's logprobs (JSON, an object; anything else is ignored) and pushes them. 0 or -1. */
int chat_logprobs(struct chat *c, struct str json);

/* }}} */

/* {{{ parse.c */

struct chat {
  const struct parse *p;
  struct events *out;               /* of the call at hand, */
  struct err *e;                    /* its error */
  struct chat_tools tools;
  struct chat_keep keep;
  struct token_counts counts;
  int32_t next_key;
  enum chat_run run;                /* the kind of block that the last part went to, */
  int run_choice;                   /* its choice */
  int32_t run_key;                  /* and its key */
  int32_t reasoning_key, text_key;  /* first reasoning block, last text block; -1 = none */
  uint64_t seen, finished, spoke;   /* choices by index, as bits: seen, with a finish_reason, with content */
  int done;                         /* [DONE], or a whole answer was read */
  int has_id, has_model, has_tier, refused;
  int rank;                         /* of the finish_reason that counts; 0 = none yet */
  enum stop stop;
  struct buf finish;                /* that finish_reason */
  struct buf last_reasoning;        /* quirk dedup_reasoning */
  int text_choice;                  /* the choice that text last came from, */
  struct think think;               /* and the reasoning in it: quirk inline_think */
  struct leaked_filter leaked;      /* chat.c: quirk leaked_calls */
  size_t recovered;                 /* calls that this made */
  enum chat_run said;               /* what the last text was, */
  int said_choice;                  /* and its choice */
};

/* As in struct codec. The parts of the message's end come in two steps: text that was kept back, then the rest. */
void chat_init(struct chat *c, const struct parse *p);
void chat_free(struct chat *c);
int chat_parse_record(struct chat *c, const struct record *r, struct events *out, struct err *e);
int chat_parse_body(struct chat *c, struct str body, struct events *out, struct err *e);
int chat_parse_rest(struct chat *c, struct events *out, struct err *e);
int chat_parse_end(struct chat *c, struct events *out, struct err *e);
int chat_ended(const void *state);

/* }}} */

/* {{{ messages.c */

/* Writes the array of messages: the system prompt (array of text blocks, or NULL), then the normalised history. */
void chat_put_messages(struct writer *w, const struct node *system);

/* }}} */

#pragma GCC visibility pop

#endif
