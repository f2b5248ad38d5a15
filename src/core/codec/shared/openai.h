/*
** openai.h: what the requests of OpenAI's two formats have in common: options that mean the same in both, and tools.
** Owns nothing; scratch lies in the request's arena. Failure: the `struct writer` says so.
*/
#ifndef KOINE_CODEC_SHARED_OPENAI_H
#define KOINE_CODEC_SHARED_OPENAI_H

#include "writer.h"

#pragma GCC visibility push(hidden)

/* {{{ settings */

/* A sampling setting, where the model takes any. */
void openai_number(struct writer *w, const char *name);
/* How much to think, in words (a budget: the nearest one, with a warning). NULL: the model shall not. */
const char *openai_effort(struct writer *w, const struct node *thinking);
/* True when the model cannot be told how much to think. */
int openai_no_effort(const struct writer *w);
/* The thinking option (not NULL) as fields for the chat template. */
void openai_template(struct writer *w, const struct node *thinking);
/* metadata.user_id is `user`; the rest is `metadata`. */
void openai_metadata(struct writer *w);
/* writer_extra, but for `n`: an answer is one message. */
void openai_extra(struct writer *w, const char *last);
/* Warnings for options that neither format has a word for. */
void openai_unsupported(struct writer *w);

/* }}} */

/* {{{ the answer's shape (`output`) */

/* The members of a schema's format: name, description, schema, strict; with `bare` the schema alone. */
void openai_format(struct writer *w, const struct node *output, int bare);
/* True when any JSON object is asked for and neither the system prompt nor the first message that goes out says "json"
** in some way, which both formats require of one. Later ones do not count: with them the first bytes would change. */
int openai_wants_word(struct writer *w, const struct node *system, const struct node *first);
/* The system prompt with a last block that says it, made if need be. */
struct node *openai_add_word(struct writer *w, struct node *system);

/* }}} */

/* {{{ tools */

/* A tool's name, description and parameters behind `open`; what follows them is the format's own. */
void openai_function(struct writer *w, const char *open, const struct node *tool);
/* `tools`, each written by put_tool, and `tool_choice`; a tool chosen by name stands between open and close. */
void openai_tools(struct writer *w, void (*put_tool)(struct writer *w, const struct node *tool), const char *open,
                  const char *close);
/* A warning for a tool_choice without tools, which normalise_tools drops: called before it. */
void openai_check_choice(struct writer *w);

/* }}} */

#pragma GCC visibility pop

#endif
