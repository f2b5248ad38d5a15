/* framing.c: what is asked of any framing of list.h. Owns nothing. */
#include "framing.h"

const struct framing *framing_by_name(struct str name) {
#define ENTRY(name) &framing_##name,
  static const struct framing *const ALL[] = { FRAMING_LIST(ENTRY) };
#undef ENTRY
  for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
    if (str_is(name, ALL[i]->name, strlen(ALL[i]->name))) return ALL[i];
  return NULL;
}
