/* codec_responses.c: the Responses codec: see codec_fuzz.h. Build with -fsanitize=fuzzer,address,undefined. */
#define CODEC codec_responses
#include "codec_fuzz.h"

static void dialect(struct quirks *q, unsigned pick) {
  quirks_default(q);
  q->system_in_input = pick & 1;
  q->system_role = pick & 2 ? "developer" : "system";
  q->effort = pick & 4 ? "none" : "reasoning_effort";
  q->tool_choice_any = pick & 8 ? "any" : "required";
  q->no_strict = q->no_sampling = pick >> 4 & 1;
  q->no_additional_properties = pick >> 5 & 1;
}
