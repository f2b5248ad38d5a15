/* list.c: the list of wire formats. A new format is one line here. Owns nothing. */
#include "codec.h"

const struct codec *codec_by_name(struct str name) {
  static const struct codec *const ALL[] = { &codec_anthropic, &codec_chat, &codec_responses };
  for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
    if (str_is(name, ALL[i]->name, strlen(ALL[i]->name))) return ALL[i];
  return NULL;
}

struct origin codec_origin(const struct render *r, const struct codec *codec) {
  struct str wire = { codec->name, strlen(codec->name) };
  return (struct origin){ r->provider, node_str(node_get(r->request, "model")), wire };
}
