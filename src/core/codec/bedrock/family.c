/* family.c: what models of a family take of the format. Constant; owns nothing. */
#include "bedrock.h"

static const struct { const char *name; unsigned can; } FAMILIES[] = {
  { "claude", CAN_CACHE | CAN_CACHE_TOOLS | CAN_FAIL | CAN_SEE_RESULTS | CAN_MIX | CAN_CHOOSE | CAN_REASON |
              CAN_TELL_SEQUENCE },
  { "nova", CAN_CACHE | CAN_FAIL | CAN_SEE_RESULTS | CAN_MIX | CAN_CHOOSE },
  { "nova2", CAN_CACHE | CAN_FAIL | CAN_SEE_RESULTS | CAN_MIX | CAN_CHOOSE | CAN_REASON },
  { "llama", 0 },
  { "mistral_large", CAN_CHOOSE },
  { "gpt_oss", CAN_MIX | CAN_REASON },
  { "thinker", CAN_MIX | CAN_REASON },
};

unsigned bedrock_family(const struct quirks *q) {
  for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
    if (strcmp(q->family, FAMILIES[i].name) == 0) return FAMILIES[i].can;
  return CAN_MIX;
}
