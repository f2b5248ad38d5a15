/* limits.c: the defaults of limits.h. */
#include "limits.h"

#define MIB ((size_t)1024 * 1024)

void limits_default(struct limits *l) {
  *l = (struct limits){
    .line = 32 * MIB, .event = 32 * MIB, .body = 64 * MIB, .decoded = 256 * MIB, .argument_bytes = 8 * MIB,
    .high_water = 256 * 1024, .depth = 128, .blocks = 4096, .tool_calls = 256
  };
}

int limits_check_arguments(const struct limits *l, size_t bytes, struct err *e) {
  if (bytes <= l->argument_bytes) return 0;
  return err_set(e, KIND_LIMIT, "a tool call's arguments exceed %zu bytes (limits.argument_bytes)", l->argument_bytes);
}
