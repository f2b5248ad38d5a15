/*
** codec_chat.h: what the files of the Chat Completions codec share. Private to codec_chat*.c.
**   codec_chat.c        render: a canonical request as the body of POST /chat/completions, with codec_chat_messages.c
**   codec_chat_parse.c  chunks and whole answers as parts
**   codec_chat_tools.c  tool calls and their fragments
**   codec_chat_keep.c   usage figures, and the fields that go back as they came
** May call: codec, json, event, normalise, mem, err. The state owns its buffers; parts borrow from the data, from the
** scratch arena of `struct parse` and from the state. Failure: -1 and an err.
*/
#ifndef KOINE_CODEC_CHAT_H
#define KOINE_CODEC_CHAT_H

#include "codec.h"

struct chat;

/* {{{ codec_chat_tools.c */

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

void chat_tools_init(struct chat_tools *t, const struct mem *m);
void chat_tools_free(struct chat_tools *t, const struct mem *m);
/* Takes a choice's tool_calls (JSON, an array; anything else is ignored) and pushes their parts. whole: complete calls,
** not fragments. 0, or -1: memory, limits. */
int chat_tools_read(struct chat *c, int choice, struct str calls, int whole);

/* }}} */

/* {{{ codec_chat_keep.c */

/* s without white space at its ends. */
struct str chat_trim(struct str s);
/* The next value into *out: a string decoded, a number as its digits; anything else is skipped. 0 or -1. */
int chat_word(const struct parse *p, struct json *j, struct str *out);
/* Appends the member at hand (j stands behind its key) to a JSON object being written, unless it is null. 0 or -1. */
int chat_extra(struct buf *b, struct json *j);
/* Closes that object and copies it to p->a; *raw is empty when nothing was appended. 0 or -1. */
int chat_extra_end(const struct parse *p, struct buf *b, struct str *raw, struct err *e);

/* The wire's own token figures, each as it was last said; -1 = never. */
struct chat_figures {
  int64_t prompt, completion, total, cached, written, reasoning;
};

void chat_figures_clear(struct chat_figures *f);
/* Reads the value of a `usage` key (the next token of j) over the figures. 1 when it said anything, 0, or -1. */
int chat_figures_read(struct chat_figures *f, struct json *j);
/* The canonical counts of the figures. */
void chat_figures_usage(const struct chat_figures *f, const struct quirks *q, struct usage *u);

/* One entry of reasoning_details, its fragments joined. */
struct chat_detail {
  struct node *node;                /* the first fragment, in chat_keep.a */
  struct buf text, summary, data;
};

/* What goes back to where it came from. */
struct chat_keep {
  struct arena a;
  struct chat_detail *v;            /* reasoning_details */
  size_t n, cap;
  size_t held;                      /* bytes of details and annotations */
  struct buf opaque;                /* reasoning_opaque */
  struct buf annotations;           /* elements, comma-separated */
};

void chat_keep_init(struct chat_keep *k, const struct mem *m);
void chat_keep_free(struct chat_keep *k, const struct mem *m);
/* Takes reasoning_details (JSON, an array; anything else is ignored); whole: entries, not fragments of them.
** *text: what they say, joined, in the scratch arena; *flags: EVENT_SURROGATE where a character was cut. */
int chat_keep_details(struct chat *c, struct str raw, int whole, struct str *text, unsigned *flags);
/* Takes a delta's annotations (JSON, an array; anything else is ignored). */
int chat_keep_annotations(struct chat *c, struct str raw);
/* At the end of the turn: pushes PART_RAW for the first reasoning block and for the last text block. */
int chat_keep_end(struct chat *c);

/* }}} */

/* {{{ codec_chat_parse.c */

enum chat_run { RUN_NONE, RUN_TEXT, RUN_THINKING, RUN_REFUSAL, RUN_TOOLS };

struct chat {
  const struct parse *p;
  struct events *out;               /* of the call at hand, */
  struct err *e;                    /* its error */
  struct chat_tools tools;
  struct chat_keep keep;
  struct chat_figures figures;
  int32_t next_key;
  enum chat_run run;                /* the kind of block that the last part went to, */
  int run_choice;                   /* its choice */
  int32_t run_key;                  /* and its key */
  int32_t reasoning_key, text_key;  /* first reasoning block, last text block; -1 = none */
  uint64_t seen, finished, spoke;   /* choices by index, as bits: seen, with a finish_reason, with content */
  int done;                         /* [DONE], or a whole answer was read */
  int has_id, has_model, refused;
  int rank;                         /* of the finish_reason that counts; 0 = none yet */
  enum stop stop;
  struct buf finish;                /* that finish_reason */
  struct buf last_reasoning;        /* quirk dedup_reasoning */
};

void chat_init(void *state, const struct parse *p);
void chat_free(void *state);
int chat_parse_event(void *state, struct str name, struct str data, struct events *out, struct err *e);
int chat_parse_body(void *state, struct str body, struct events *out, struct err *e);
int chat_parse_end(void *state, struct events *out, struct err *e);
int chat_ended(const void *state);

/* }}} */

#endif
