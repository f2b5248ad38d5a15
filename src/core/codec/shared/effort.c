/*
** effort.c: see effort.h.
** Owns nothing. Failure: the `struct writer` says so.
*/
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

int effort_is_templated(const struct quirks *q) { return strcmp(q->effort, "template") == 0; }

void effort_template(struct writer *w, int think) {
  static const struct str NAME = { "enable_thinking", 15 };
  struct node *extra = writer_given(w, "extra"), *more = node_get(extra, "chat_template_kwargs");
  struct node *own = node_is(more, NODE_OBJECT) ? node_get_(more, NAME.p, NAME.n) : NULL;
  writer_json(w, think ? "{\"enable_thinking\":true" : "{\"enable_thinking\":false");
  if (own != NULL) node_remove(more, own);
  for (const struct node *v = node_is(more, NODE_OBJECT) ? writer_next_extra(more, NULL) : NULL; v != NULL;
       v = writer_next_extra(more, v)) {
    writer_member(w, v->key);
    writer_sorted(w, v);
  }
  writer_json(w, "}");
  if (node_is(more, NODE_OBJECT)) node_remove(extra, more);
}
