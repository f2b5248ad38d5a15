/*
** bedrock.h: what the files of the format of Amazon Bedrock's Converse share.
**   invoke.c    Claude through POST /model/ID/invoke: a format of its own
**   bedrock.c   a canonical request as the body of POST /model/ID/converse, …/converse-stream, …/count-tokens
**   more.c      what goes to the model as it is: thinking, betas, top_k
**   family.c    what models of a family take
**   history.c   the history as this service and the model's family want it
**   content.c   blocks of the history as this wire has them
**   document.c  documents: format, name, source
**   parse.c     events and plain answers as parts
**   block.c     one content block of an answer, from its beginning to its stop
**   usage.c     what an answer used
**   error.c     refusals, and exceptions inside a stream
*/
#ifndef KOINE_CODEC_BEDROCK_H
#define KOINE_CODEC_BEDROCK_H

#include "core/codec/anthropic/anthropic.h"
#include "core/codec/shared/blocks.h"
#include "core/codec/shared/leaked/think.h"
#include "core/codec/shared/writer.h"

#pragma GCC visibility push(hidden)

/* {{{ families */

enum family_can {
  CAN_CACHE = 1,          /* cachePoint */
  CAN_CACHE_TOOLS = 2,    /* also behind tools; lifetimes */
  CAN_FAIL = 4,           /* status "error" of a tool result */
  CAN_SEE_RESULTS = 8,    /* images in tool results */
  CAN_MIX = 16,           /* text beside tool results */
  CAN_CHOOSE = 32,        /* a tool_choice that forces a call */
  CAN_REASON = 64,        /* reasoningContent in the history */
  CAN_TELL_SEQUENCE = 128 /* says which stop sequence it met, when asked */
};

/* Returns the abilities of the family of the request's model. */
unsigned bedrock_family(const struct quirks *q);
/* True when it is that family. */
#define is_family(q, literal) (strcmp((q)->family, literal) == 0)

/* }}} */

/* {{{ rendering */

/* Fields of the request beside those of the format. */
struct bedrock_more {
  struct node *fields;            /* additionalModelRequestFields, or NULL */
  int64_t max_tokens;             /* to be sent; -1 = none */
  int no_sampling;                /* the model thinks: temperature and top_p are refused */
};

/* Decides from the request, whose history is in order; forced: a tool_choice forces a call. 0, or -1 and *e. */
int bedrock_more(struct writer *w, int forced, struct bedrock_more *more);

/* Checks the media as the caller wrote them, and drops what this wire could only refuse. 0, or -1 and *e. */
int bedrock_prepare(struct writer *w);
/* Settles where documents, results and text of the normalised history stand; names documents. 0, or -1 and *e. */
int bedrock_arrange(struct writer *w);
/* Puts the system prompt (NULL: none) in front of the first message's content. */
void bedrock_lead(const struct node *messages, struct node *system);
/* Places and limits the cache markers (N15); system may be NULL. 0, or -1 and *e. */
int bedrock_cache(struct writer *w, struct node *system);

/* Gives every document of the messages its name, as the member `name`. 0, or -1 (memory). */
int bedrock_name_documents(struct arena *a, const struct node *messages);
/* A media_check: -1 and KIND_ARGUMENT for an image or a document that cannot go out. */
int bedrock_check_media(struct writer *w, const struct node *block, const char *path, void *context);
/* {"image":…}, {"document":…} of a block that was checked. */
void bedrock_put_image(struct writer *w, const struct node *block);
void bedrock_put_document(struct writer *w, const struct node *block);
/* Writes the messages array; {"cachePoint":…} where v is marked, `before` in front of it. */
void bedrock_put_messages(struct writer *w, const struct node *messages);
void bedrock_put_cache(struct writer *w, const struct node *v, const char *before);

/* }}} */

/* {{{ parsing */

enum bedrock_kind {
  BEDROCK_TEXT, BEDROCK_THINKING, BEDROCK_REDACTED, BEDROCK_TOOL,
  BEDROCK_OTHER              /* kept whole: tools that run at the provider and their results, whatever comes next */
};

/* Of an open block:
**   raw     TEXT: citations, joined; THINKING: the signature so far; REDACTED: its text so far; OTHER: the members it
**           began with
**   more    OTHER: its content, joined; REDACTED: its bytes so far
**   name    OTHER: "toolUse" or "toolResult"
**   pieces  REDACTED: those that came */

struct bedrock {
  const struct parse *p;
  struct open_blocks blocks; /* bedrock_kind */
  int tools;                 /* calls so far */
  int hosted;                /* a tool ran at the provider */
  int begun, stopped, metadata, ended;
  int inline_think;
  struct think think;
  enum think_kind run;       /* of the text that the filter lets go: what its last piece was */
  int32_t run_key;
  struct buf stop_reason, stop_sequence;
  int refused;               /* the model says that it refuses */
  enum bedrock_kind said;    /* whose the last text was, */
  int64_t said_index;        /* and its block */
};

/* As in struct codec. */
void bedrock_init(void *state, const struct parse *p);
void bedrock_free(void *state);
int bedrock_parse_record(void *state, const struct record *r, struct events *out, struct err *e);
int bedrock_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e);
int bedrock_parse_body(void *state, struct str body, struct events *out, struct err *e);
int bedrock_parse_end(void *state, struct events *out, struct err *e);
/* True once messageStop came. */
int bedrock_ended(const void *state);

/* The members of a piece of a block, streamed or whole; empty = nothing. `raw`: JSON. */
struct bedrock_piece {
  int64_t index;
  int has_text, has_thinking;
  struct str text, thinking, signature, redacted, input;
  unsigned text_flags, thinking_flags, input_flags;
  int input_whole;           /* input is an object's JSON, not a piece of text */
  struct str id, name, type; /* of a tool call */
  struct str citation;       /* raw: one; */
  struct str citations;      /* raw: an array */
  struct str start;          /* raw: what a block begins with, */
  struct str start_name;     /* and its name on the wire */
  struct str results;        /* raw: an array of a toolResult's content */
};

/* Begins the block of that index, a tool call or one that is kept whole; takes a piece of it, beginning it where it has
** not begun; ends it. 0, or -1 and *e. */
int bedrock_begin(struct bedrock *s, const struct bedrock_piece *piece, struct events *out, struct err *e);
int bedrock_take(struct bedrock *s, const struct bedrock_piece *piece, struct events *out, struct err *e);
int bedrock_stop(struct bedrock *s, int64_t index, struct events *out, struct err *e);
/* A block of a plain answer, which is kept whole. */
int bedrock_keep(struct bedrock *s, struct str name, struct str json, struct events *out, struct err *e);
/* Ends whatever is open, and lets go of text that was held back. */
int bedrock_stop_all(struct bedrock *s, struct events *out, struct err *e);

/* Pushes what `usage` (JSON) counts; tier: a service tier's name, empty = the usual one. 0, or -1 and *e. */
int bedrock_usage(struct bedrock *s, struct str json, struct str tier, struct events *out, struct err *e);

/* }}} */

/* {{{ errors */

/* Reads a refusal, as in struct codec. */
void bedrock_read_error(struct arena *a, int status, struct str type, struct str body, struct err *e);
/* An exception inside a stream: its type, and its payload. */
void bedrock_read_fault(struct arena *a, struct str type, struct str body, struct err *e);
/* True for an object that AWS's services report a failure with. */
int bedrock_is_failure(const struct node *v);
/* 0, or -1 and KIND_PROTOCOL where a plain answer is another service's stream. */
int bedrock_check_text(struct str body, struct err *e);

/* }}} */

#pragma GCC visibility pop

#endif
