/* block.c: see block.h. */
#include <stdio.h>
#include <string.h>

#include "block.h"

static const struct block_form FORMS[BLOCK_COUNT] = {
  [BLOCK_TEXT] = { "text", "text", "cache_control provider_data", IN_USER | IN_ASSISTANT | IN_RESULT },
  [BLOCK_IMAGE] = { "image", "source", "media_type provider_data", IN_USER | IN_RESULT },
  [BLOCK_DOCUMENT] = { "document", "source", "media_type title context citations provider_data", IN_USER | IN_RESULT },
  [BLOCK_TOOL] = { "tool_use", "id name arguments", "arguments_json arguments_error output provider_data", IN_ASSISTANT },
  [BLOCK_RESULT] = { "tool_result", "tool_use_id content", "is_error provider_data", IN_USER },
  [BLOCK_THINKING] = { "thinking", "thinking", "signature provider_data", IN_ASSISTANT },
  [BLOCK_REDACTED] = { "redacted_thinking", "data", "provider_data", IN_ASSISTANT },
  [BLOCK_REFUSAL] = { "refusal", "text", "provider_data", IN_ASSISTANT },
  [BLOCK_OPAQUE] = { "opaque", "provider_data", "kind", IN_USER | IN_ASSISTANT },
};

const struct block_form *block_form(enum block_type t) { return &FORMS[t]; }

enum block_type block_by_name(struct str name) {
  int t = 0;
  while (t < BLOCK_COUNT && !str_is(name, FORMS[t].name, strlen(FORMS[t].name))) t++;
  return (enum block_type)t;
}

const char *block_names(char *out, size_t size) {
  size_t n = 0;
  for (int t = 0; t < BLOCK_COUNT && n < size; t++) {
    const char *before = t == 0 ? "" : t == BLOCK_COUNT - 1 ? " or " : ", ";
    int add = snprintf(out + n, size - n, "%s%s", before, FORMS[t].name);
    n += add > 0 ? (size_t)add : 0;
  }
  return out;
}
