/* codec_bedrock_invoke.c: the codec of Claude through Bedrock's invoke: see codec_fuzz.h. Build with
** -fsanitize=fuzzer,address,undefined. */
#define CODEC codec_bedrock_invoke
#define NAMED
#include "codec_fuzz.h"

static void dialect(struct quirks *q, unsigned pick) {
  quirks_default(q);
  q->no_sampling = pick >> 1 & 1;
  q->no_prefill = pick >> 2 & 1;
  q->thinking_default = pick >> 3 & 1;
  q->image_data_only = pick >> 4 & 1;
}
