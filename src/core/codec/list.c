/* list.c: the list of wire formats, a new format being one line here, and what is asked of any of them. Owns
** nothing. */
#include "codec.h"

#include <strings.h>

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

/* True when s has these words in it, whatever their case. */
static int says(struct str s, const char *words) {
  size_t n = strlen(words);
  for (size_t i = 0; i + n <= s.n; i++)
    if (strncasecmp(s.p + i, words, n) == 0) return 1;
  return 0;
}

const struct remedy *codec_remedy(const struct codec *codec, unsigned mask, int status, struct str code,
                                  struct str message) {
  const struct remedy *x = codec->remedies;
  for (int i = 0; x != NULL && x->without != NULL; i++, x++) {
    if ((mask >> i & 1) == 0) continue;
    if (x->status != 0 ? status != x->status : status < 400 || status > 499) continue;
    if (x->code != NULL && !str_is(code, x->code, strlen(x->code))) continue;
    if (x->says == NULL || says(message, x->says)) return x;
  }
  return NULL;
}
