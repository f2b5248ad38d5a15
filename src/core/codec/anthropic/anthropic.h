/*
** anthropic.h: what the files of the Anthropic Messages format share.
**   anthropic.c a canonical request as the body of POST /v1/messages or /v1/messages/count_tokens
**   betas.c     betas that it asks for
**   content.c   blocks of the history as this wire has them
**   cache.c     where the prompt is cached
**   container.c where the provider runs code
**   thinking.c  whether and how the model thinks
**   parse.c     events and plain answers as parts
**   usage.c     what an answer used
**   block.c     one content block of an answer, from its beginning to its stop
*/
#ifndef KOINE_CODEC_ANTHROPIC_H
#define KOINE_CODEC_ANTHROPIC_H

#include "core/codec/shared/blocks.h"
#include "core/codec/shared/read.h"
#include "core/codec/shared/writer.h"

#pragma GCC visibility push(hidden)

/* {{{ rendering */

/* Who speaks the format: what differs between Anthropic's own servers and those of others. */
struct anthropic_host {
  const struct codec *codec;      /* blocks of the history that came through it may go back */
  const char *version;            /* anthropic_version of a body whose model the path says; NULL: the body says it */
  unsigned media;                 /* MEDIA_* */
  int betas_in_body;              /* as the array anthropic_beta, not in a header */
  int stream_in_path;             /* the body does not say that a stream is asked for */
};

/* Writes the body for that host. `count`: the fields that counting tokens takes, and no others. 0, or -1 and *e. */
int anthropic_render_body(struct render *r, const struct anthropic_host *host, int count, struct err *e);
/* The remedies of such bodies, in the order of enum anthropic_remedy, and the options that they send. */
extern const struct remedy anthropic_remedies[];
extern const char *const anthropic_options[];

/* Writes the betas that are asked for. 0, or -1 and *e. */
int anthropic_put_betas(struct writer *w, int in_body);

/* `,"cache_control":…` where v carries a marker. */
void anthropic_put_cache(struct writer *w, const struct node *v);

/* Checks the media of the messages as the caller wrote them, and drops the blocks that this wire could only refuse:
** thinking without a signature, opaque blocks without their bytes. 0, or -1 and *e. */
int anthropic_prepare(struct writer *w);
/* Writes the messages array. */
void anthropic_put_messages(struct writer *w, const struct node *messages);
/* True for blocks that may carry a cache marker. */
int anthropic_markable(const struct node *block);
/* True when normalised messages end in text of the assistant's for the model to go on from. */
int anthropic_prefilled(const struct node *messages);

/* N15: places and limits the markers on tools, system (may be NULL) and messages, in place. 0, or -1 and *e. */
int anthropic_cache(struct render *r, struct node *system, struct err *e);

/* Bits of render.remedies: a container goes out that the provider may have no more; that is past its date. */
enum anthropic_remedy { REMEDY_CONTAINER = 1, REMEDY_EXPIRED = 2 };
/* The id of the container that the normalised history names last, to be sent as it is: empty when there is none,
** or when `extra.container` says it all. One without an id (skills) gets it. 0, or -1 and *e. */
int anthropic_container(struct render *r, struct str *id, struct err *e);

/* How the model is to think. */
struct anthropic_thinking {
  enum { THINKING_UNSAID, THINKING_DISABLED, THINKING_BUDGET, THINKING_ADAPTIVE } mode;
  int64_t budget;                 /* THINKING_BUDGET: tokens */
  const char *effort;             /* output_config.effort, NULL = unsaid */
  int active;                     /* it will think: sampling cannot be set */
};

/* Decides from the request, whose messages are normalised; raises *max_tokens for a budget. 0, or -1 and *e. */
int anthropic_think(struct render *r, int forced_tool, int64_t *max_tokens, struct anthropic_thinking *t,
                    struct err *e);

/* }}} */

/* {{{ parsing: parse.c */

enum anthropic_kind {
  ANTHROPIC_TEXT, ANTHROPIC_THINKING, ANTHROPIC_REDACTED, ANTHROPIC_TOOL,
  ANTHROPIC_OTHER                 /* kept whole: server tools and their results, whatever comes next */
};

/* Of an open block:
**   raw     OTHER: the block as it began; TEXT, TOOL: an open object of those members that have no canonical name
**   more    TEXT: citations, joined; TOOL: the input it began with; OTHER: the merged member
**   name    OTHER: the member that `more` replaces, empty = none
**   pieces  TOOL: 1 once a delta brought input */

struct anthropic {
  const struct parse *p;
  struct buf id;                  /* the message's, to recognise a repeated start */
  struct open_blocks blocks;      /* anthropic_kind */
  int begun, ended, tools;        /* message_start, message_stop seen; tool_use blocks so far */
  int hosted;                     /* a tool ran at the provider, which may charge for it */
  int stopped;                    /* a stop reason was seen: */
  struct buf stop_reason, stop_sequence;
  enum event_type said;           /* what the last text was, */
  int32_t said_key;               /* and its block's key */
};

/* The functions that the codec fills its table with: see struct codec. */
void anthropic_init(void *state, const struct parse *p);
void anthropic_free(void *state);
int anthropic_parse_record(void *state, const struct record *r, struct events *out, struct err *e);
int anthropic_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e);
int anthropic_parse_body(void *state, struct str body, struct events *out, struct err *e);
int anthropic_parse_end(void *state, struct events *out, struct err *e);
int anthropic_ended(const void *state);

/* }}} */

/* Appends a part. 0, or -1 and *e. */
static inline int anthropic_push(struct events *out, enum event_type type, int32_t key, struct str text,
                                 unsigned flags, struct err *e) {
  struct event *ev = codec_push(out, type, key, text, e);
  if (ev == NULL) return -1;
  ev->flags = flags;
  return 0;
}

/* A container, raw, as a part; anything but an object with an id says nothing. 0 or -1. */
int anthropic_push_container(struct anthropic *s, struct str json, struct events *out, struct err *e);

/* Pushes a usage object (JSON) as a part; anything else says nothing. input_tokens excludes the cache already,
** output_tokens includes thinking; a count that is null or absent is not known. 0, or -1 and *e. */
int anthropic_usage(struct anthropic *s, struct str json, struct events *out, struct err *e);

/* {{{ blocks, as they stop: block.c */

/* Begins a block from its JSON, pushing what it already says. */
int anthropic_begin(struct anthropic *s, int64_t index, struct str json, struct events *out, struct err *e);
/* Ends the block: what was held back is pushed, and the block forgotten. */
int anthropic_stop(struct anthropic *s, struct open_block *b, struct events *out, struct err *e);

/* }}} */

#pragma GCC visibility pop

#endif
