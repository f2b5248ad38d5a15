/* list.c: the list of wire formats. A new format is one line here. Owns nothing. */
#include "codec.h"

const struct codec *codec_by_name(struct str name) {
  static const struct codec *const ALL[] = { &codec_anthropic, &codec_chat, &codec_responses };
  for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
    if (str_is(name, ALL[i]->name, strlen(ALL[i]->name))) return ALL[i];
  return NULL;
}
