/* codec_ollama.c: the codec of Ollama's native format: see codec_fuzz.h. Build with -fsanitize=fuzzer,address,undefined. */
#define CODEC codec_ollama
#include "codec_fuzz.h"

static void dialect(struct quirks *q, unsigned pick) {
  quirks_default(q);
  q->context_window = pick & 1 ? 64 : 0;
  q->effort = pick & 2 ? "none" : "reasoning_effort";
  q->no_images = pick >> 2 & 1;
  q->no_documents = pick >> 3 & 1;
}
