/*
** ollama.h: what the files of the codecs of Ollama's native API share.
**   ollama.c    render: a canonical request as the body of POST /api/chat
**   messages.c  its messages
**   schema.c    tool schemas in the words that the server hands to the model
**   parse.c     lines and whole answers as parts
**   cut.c       whether the server left out a part of the history
**   error.c     what an error answer means
**   pull.c      the codec of POST /api/pull: each line of its progress as a text delta
** The state owns its buffers; parts borrow as event.h says. Failure: -1 and an err.
*/
#ifndef KOINE_CODEC_OLLAMA_H
#define KOINE_CODEC_OLLAMA_H

#include "core/codec/shared/read.h"
#include "core/codec/shared/writer.h"

#pragma GCC visibility push(hidden)

/* {{{ requests */

/* Refuses media that this wire cannot carry, before anything is moved. 0 or -1. */
int ollama_check_media(struct writer *w);
/* Writes the array of messages: the system prompt (array of text blocks, or NULL), then the normalised history. */
void ollama_put_messages(struct writer *w, const struct node *system);
/*
** Rewrites a tool's parameters in place: the server drops all but a few keywords of a schema before the model sees it.
** References are put in place, alternatives become anyOf, constants an enum; what else would be lost is added to the
** description. 0, or -1: memory.
*/
int ollama_schema(struct arena *a, struct node *parameters, struct err *e);

/* }}} */

/* {{{ answers */

/* The known facts of a request whose history the server may have cut. */
struct ollama_sent {
  int64_t context;   /* tokens that the model was asked to have room for; 0 = not known */
  size_t characters; /* of the text of its messages: those that repeat the one before are not counted */
};

/* Reads the body that was sent; one that is no such request says nothing. */
void ollama_sent_read(struct ollama_sent *s, struct str body);
/*
** The warning where the server's counts (negative = not said) contradict that: {code, message}, or {NULL, NULL}.
*/
struct ollama_cut { const char *code, *message; };
struct ollama_cut ollama_cut_of(const struct ollama_sent *s, int64_t input, int64_t output);

/* Fills e from an error answer; a status below 300: one inside a stream. As struct codec's read_error. */
void ollama_read_error(struct arena *a, int status, struct str type, struct str body, struct err *e);

enum ollama_run { OLLAMA_NONE, OLLAMA_THINKING, OLLAMA_TEXT };

struct ollama {
  const struct parse *p;
  struct events *out;      /* of the call at hand, */
  struct err *e;           /* its error */
  struct ollama_sent sent;
  enum ollama_run run;     /* the kind of block that the last text went to */
  int32_t key, next_key;   /* that block's; the next block's */
  int has_model, calls, done;
  int64_t input, output;   /* tokens; -1 = not said */
  struct buf reason;
};

/* As in struct codec. */
void ollama_init(void *state, const struct parse *p);
void ollama_free(void *state);
int ollama_parse_record(void *state, const struct record *r, struct events *out, struct err *e);
int ollama_parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e);
int ollama_parse_body(void *state, struct str body, struct events *out, struct err *e);
int ollama_parse_end(void *state, struct events *out, struct err *e);
int ollama_ended(const void *state);

/* }}} */

#pragma GCC visibility pop

#endif
