/*
** gemini.h: what the files of the Gemini format (generateContent) share.
**   gemini.c    a canonical request as path and body, and the table of the format
**   contents.c  the history as contents
**   tools.c     tools, and which of them the model is to call
**   schema.c    tools' JSON Schemas as this wire takes them
**   openapi.c   the same for who takes a part of OpenAPI's schemas alone
**   keyword.c   single keywords of both (schema.h)
**   thinking.c  whether and how much the model thinks
**   parse.c     chunks and whole answers as parts
**   part.c      one part of the model's content
**   finish.c    how an answer ended
**   usage.c     what it used
**   logprobs.c  how likely its tokens were
** The state owns its buffers; parts borrow as event.h says: from the data and the scratch arena of `struct parse`,
** those of the message's end from the state too. Failure: -1 and an err.
*/
#ifndef KOINE_CODEC_GEMINI_H
#define KOINE_CODEC_GEMINI_H

#include "core/codec/shared/read.h"
#include "core/codec/shared/writer.h"

#pragma GCC visibility push(hidden)

/* {{{ rendering */

#define GEMINI_CONFIG_MAX 16 /* members of generationConfig that a renderer writes */

/* The object of generationConfig: the members written so far, and how many of `extra` follow them. */
struct gemini_config {
  struct writer *w;
  int n, more;
  const char *fields[GEMINI_CONFIG_MAX];
};

/* Begins a member of generationConfig, and the object with the first of them. */
static inline void gemini_config_field(struct gemini_config *c, const char *name) {
  if (c->n == 0) writer_field(c->w, "generationConfig");
  writer_json(c->w, c->n == 0 ? "{" : ",");
  writer_word(c->w, name);
  writer_json(c->w, ":");
  if (c->n < GEMINI_CONFIG_MAX) c->fields[c->n++] = name;
}

/* Checks the media of the messages as the caller wrote them, and drops the blocks that this wire cannot carry. Called
** before anything is moved. 0 or -1. */
int gemini_prepare_contents(struct writer *w);
/* True where a call of the history, as it was given, came from this provider, but from another of its models, or on
** another wire: what was signed with it does not count here. */
int gemini_is_elsewhere(const struct writer *w, const struct origin *here);
/* Writes the array of contents for normalised messages; `system`: text blocks that go before the first of them, or
** NULL. 1 when something had to stand for a signature. */
int gemini_put_contents(struct writer *w, const struct node *system, const struct node *messages);

/* Writes `tools` and, where `config` is not 0, `toolConfig`, and what `extra` has for them. */
void gemini_put_tools(struct writer *w, int config);
/* A tool's name as it goes out: with a letter or an underscore first. A name without gets an underscore, and so does one
** that looks as if it had got one: each name has its own. Lies in the arena where it changed; STR_NONE and a failed
** writer when out of memory. */
struct str gemini_wire_name(struct writer *w, struct str name);
/* The caller's name for a tool that the model calls by this one. */
struct str gemini_own_name(struct str name);
/* The types of tools that are the provider's own, ended by NULL. */
extern const char *const gemini_server_tools[];

/* Makes a tool's schema sendable in place. 0, or -1 (memory). */
int gemini_schema(struct arena *a, struct node *schema, struct err *e);
/* Makes the schemas of all tools sendable in place, for who takes a part of OpenAPI's schemas alone. 0 or -1. */
int gemini_openapi(struct writer *w);

/* Writes generationConfig.thinkingConfig where the request says anything about thinking. */
void gemini_put_thinking(struct gemini_config *c);

/* }}} */

/* {{{ parsing */

/* The members beside the content of an answer: the last of each is kept. */
enum { GEMINI_EXTRAS = 5 };
extern const struct str gemini_extras[GEMINI_EXTRAS];

enum gemini_run { GEMINI_NONE, GEMINI_TEXT, GEMINI_THINKING };

/* The counts of a usageMetadata; is_there 0: there is none. Unsaid ones are -1. */
struct gemini_counts {
  int is_there;
  int64_t prompt, cached, candidates, thoughts, tools, total;
  const char *unpriced; /* what has a price of its own, or NULL */
};

struct gemini {
  const struct parse *p;
  struct events *out;     /* of the call at hand, */
  struct err *e;          /* its error */
  int32_t next_key;
  enum gemini_run run;    /* text that goes on with the next chunk, */
  int32_t run_key;        /* and its key */
  int parts, calls;       /* blocks so far; those that call a tool of the caller's */
  int has_id, has_model;
  int has_choices;        /* there are further candidates, which was said */
  int hosted;             /* a tool ran at the provider, which may charge for it */
  int blocked;            /* the prompt was refused: `reason` says why */
  int finished;           /* a reason for the end was seen */
  int parts_at_end;       /* `parts` when the reason came that counts */
  int cut;                /* the end of the body cut a chunk */
  struct gemini_counts counts; /* of the last chunk */
  struct buf reason;      /* the finishReason that counts, or the blockReason */
  struct buf message;     /* what the provider says about it */
  struct buf extras[GEMINI_EXTRAS]; /* JSON; empty = never said */
};

/* Appends a part; NULL when out of memory (*s->e says so). */
static inline struct event *gemini_push(struct gemini *s, enum event_type type, int32_t key, struct str text) {
  return codec_push(s->out, type, key, text, s->e);
}

/* Pushes a warning. 0 or -1. */
int gemini_warn(struct gemini *s, struct str code, struct str field, struct str text);

/* Takes one part, an object whose beginning was read; first: of its chunk, and may go on with what the last chunk said.
** 0 or -1. */
int gemini_part(struct gemini *s, struct json *j, int first);

/* Takes text that goes on with what the last chunk said, and says nothing else. 0 or -1. */
int gemini_go_on(struct gemini *s, struct str text, unsigned flags);

/* Keeps a finishReason, unless one before it says worse, and what the provider says about it (may be empty). 0 or -1. */
int gemini_finish(struct gemini *s, struct str reason, struct str message);
/* The same of the blockReason of a refused prompt, which also counts behind a finishReason: it says worse than that the answer is
** whole or cut. */
int gemini_block(struct gemini *s, struct str reason, struct str message);
/* Takes a candidate's logprobsResult (JSON) and pushes it. 0 or -1. */
int gemini_logprobs(struct gemini *s, struct str json);
/* Pushes how the answer ended, or fails where it is none. 0 or -1. */
int gemini_end(struct gemini *s);

/* After a key: reads the value, which is skipped where it is no object. 0 or -1. */
int gemini_read_usage(struct gemini *s, struct json *j);
/* Pushes the counts as a part; none say nothing. 0 or -1. */
int gemini_push_usage(struct gemini *s);

/* The functions that the codec fills its table with: see struct codec. */
void gemini_init(void *state, const struct parse *p);
void gemini_free(void *state);
int gemini_parse_record(void *state, const struct record *r, struct events *out, struct err *e);
int gemini_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e);
int gemini_parse_counts(void *state, const int64_t *counts, struct events *out, struct err *e);
int gemini_parse_body(void *state, struct str body, struct events *out, struct err *e);
int gemini_parse_end(void *state, struct events *out, struct err *e);
int gemini_ended(const void *state);

/* }}} */

#pragma GCC visibility pop

#endif
