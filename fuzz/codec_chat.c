/* codec_chat.c: the Chat Completions codec: see codec_fuzz.h. Build with -fsanitize=fuzzer,address,undefined. */
#define CODEC codec_chat
#include "codec_fuzz.h"

static void dialect(struct quirks *q, unsigned pick) {
  static const char *const FIELDS[] = {
    "none", "reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "content", "reasoning", "content"
  };
  static const char *const EFFORTS[] = { "reasoning_effort", "reasoning", "thinking", "enable_thinking" };
  static const char *const REPLAYS[] = { "origin", "always", "never", "origin" };
  quirks_default(q);
  q->reasoning_field = FIELDS[pick & 7];
  q->effort = EFFORTS[pick >> 3 & 3];
  q->reasoning_replay = REPLAYS[pick >> 5 & 3];
  q->tool_id = pick & 128 ? "alnum9" : "any";
  q->null_content = pick & 1 ? "empty" : "null";
  q->dedup_reasoning = q->reasoning_outside_output = q->image_string = q->tool_result_name = pick >> 1 & 1;
  q->no_additional_properties = q->no_stop = q->no_sampling = pick >> 2 & 1;
  q->inline_think = pick >> 3 & 1;
  q->leaked_calls = pick >> 4 & 1;
}
