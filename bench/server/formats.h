/* formats.h: the formats by name, for the files that make them up. */
#ifndef KOINE_BENCH_FORMATS_H
#define KOINE_BENCH_FORMATS_H

#include <stdlib.h>
#include <string.h>

#include "answers.h"

extern const struct format anthropic, openai_chat, openai_responses, gemini, ollama;

#endif
