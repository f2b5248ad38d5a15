/* codec_bedrock.c: the codec of Bedrock's Converse: see codec_fuzz.h. Build with -fsanitize=fuzzer,address,undefined. */
#define CODEC codec_bedrock
#define NAMED
#include "codec_fuzz.h"

static void dialect(struct quirks *q, unsigned pick) {
  static const char *const FAMILIES[] = {
    "other", "claude", "nova", "nova2", "llama", "mistral_large", "gpt_oss", "thinker"
  };
  quirks_default(q);
  q->family = FAMILIES[pick & 7];
  q->inline_think = pick >> 3 & 1;
  q->no_prefill = pick >> 4 & 1;
  q->tool_id = pick & 32 ? "alnum9" : "any";
  q->system_role = pick & 128 ? "user" : "system";
}
