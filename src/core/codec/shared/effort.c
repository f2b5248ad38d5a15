/* effort.c: the table of effort.h. */
#include "effort.h"

static const struct { const char *word; int64_t budget, most; } EFFORTS[] = {
  { "low", 2048, 4096 }, { "medium", 8192, 12288 }, { "high", 24576, INT64_MAX }
};

int64_t effort_budget(struct str word) {
  for (size_t i = 0; i < sizeof EFFORTS / sizeof *EFFORTS; i++)
    if (str_is(word, EFFORTS[i].word, strlen(EFFORTS[i].word))) return EFFORTS[i].budget;
  return 0;
}

const char *effort_word(int64_t budget) {
  size_t i = 0;
  while (budget > EFFORTS[i].most) i++;
  return EFFORTS[i].word;
}
