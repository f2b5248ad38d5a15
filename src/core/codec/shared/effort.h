/*
** effort.h: how much a model is to think: a word, or tokens where a wire counts them, one table for all wires; and what
** llama.cpp's server hands to the model's chat template on each of them.
** Owns nothing. Failure: the `struct writer` says so.
*/
#ifndef KOINE_CODEC_SHARED_EFFORT_H
#define KOINE_CODEC_SHARED_EFFORT_H

#include "writer.h"

#pragma GCC visibility push(hidden)

/* The tokens that low, medium and high stand for; 0 for other words. */
int64_t effort_budget(struct str word);
/* Which of the three is nearest to so many tokens. */
const char *effort_word(int64_t budget);
/* True where the thinking option goes to the model's chat template (the quirk effort is "template"). */
int effort_is_templated(const struct quirks *q);
/* The object chat_template_kwargs: whether to think, and what `extra` has for it, which is written then. */
void effort_template(struct writer *w, int think);

#pragma GCC visibility pop

#endif
