/* codec_anthropic.c: the Anthropic Messages codec: see codec_fuzz.h. Build with -fsanitize=fuzzer,address,undefined. */
#define CODEC codec_anthropic
#include "codec_fuzz.h"

static void dialect(struct quirks *q, unsigned pick) {
  quirks_default(q);
  q->thinking_default = pick & 1;
  q->no_sampling = pick >> 1 & 1;
  q->no_prefill = pick >> 2 & 1;
  if (pick >> 3 & 1) q->route = "unversioned";
}
