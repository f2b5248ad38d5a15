/* codec_gemini.c: the Gemini codec: see codec_fuzz.h. Build with -fsanitize=fuzzer,address,undefined. */
#define CODEC codec_gemini
#include "codec_fuzz.h"

static void dialect(struct quirks *q, unsigned pick) {
  quirks_default(q);
  q->before_gemini_3 = pick & 1;
  q->no_system_prompt = pick >> 1 & 1;
  q->openapi_schema = pick >> 2 & 1;
  q->thinking_always = pick >> 3 & 1;
  q->thinking_least = pick & 8 ? 128 : 0;
  q->least_level = pick & 16 ? "minimal" : "low";
  q->metadata_labels = q->no_tool_invocations = pick >> 5 & 1;
  q->plain_count = pick >> 7 & 1;
}
