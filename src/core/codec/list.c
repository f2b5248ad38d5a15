/* list.c: what is asked of any wire format of list.h. Owns nothing. */
#include "codec.h"

const struct codec *codec_by_name(struct str name) {
#define ENTRY(name) &codec_##name,
  static const struct codec *const ALL[] = { CODEC_LIST(ENTRY) };
#undef ENTRY
  for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
    if (str_is(name, ALL[i]->name, strlen(ALL[i]->name))) return ALL[i];
  return NULL;
}

const struct codec *codec_of_refusals(const struct codec *codec, const struct quirks *q) {
  const struct codec *other = strcmp(q->refusals, "own") == 0 ? NULL : codec_by_name((struct str){ q->refusals,
                                                                                                  strlen(q->refusals) });
  return other != NULL ? other : codec;
}

void codec_read_error(const struct codec *codec, struct arena *a, int status, struct str type, struct str body,
                      struct err *e) {
  if (codec->read_error != NULL) codec->read_error(a, status, type, body, e);
  else codec_error(a, status, body, e);
}

const struct remedy *codec_remedy(const struct codec *codec, unsigned mask, int status, struct str code,
                                  struct str message) {
  const struct remedy *x = codec->remedies;
  for (int i = 0; x != NULL && x->without != NULL; i++, x++) {
    if ((mask >> i & 1) == 0) continue;
    if (x->status != 0 ? status != x->status : status < 400 || status > 499) continue;
    if (x->code != NULL && !str_is(code, x->code, strlen(x->code))) continue;
    if (x->says == NULL || str_contains(message, x->says)) return x;
  }
  return NULL;
}
