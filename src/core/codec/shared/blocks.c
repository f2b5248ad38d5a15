/*
** blocks.c: see blocks.h.
*/
#include "blocks.h"

void blocks_init(struct open_blocks *l, const struct parse *p) { *l = (struct open_blocks){ .p = p }; }

static void free_block(struct open_block *b) {
  buf_free(&b->raw);
  buf_free(&b->more);
}

void blocks_free(struct open_blocks *l) {
  for (size_t i = 0; i < l->n; i++) free_block(&l->v[i]);
  mem_free(l->p->m, l->v, l->cap * sizeof *l->v);
  l->v = NULL;
  l->n = l->cap = 0;
}

struct open_block *blocks_find(const struct open_blocks *l, int64_t index) {
  for (size_t i = l->n; i-- > 0;)
    if (l->v[i].index == index) return &l->v[i];
  return NULL;
}

struct open_block *blocks_add(struct open_blocks *l, int64_t index, int kind, struct err *e) {
  const struct parse *p = l->p;
  struct open_block *b;
  if (l->next_key >= p->limits->blocks) {
    err_set(e, KIND_LIMIT, "the answer has more than %d blocks (limits.blocks)", p->limits->blocks);
    return NULL;
  }
  b = mem_grow(p->m, l->v, l->n, &l->cap, sizeof *b);
  if (b == NULL) { err_memory(e); return NULL; }
  l->v = b;
  b = &l->v[l->n++];
  *b = (struct open_block){ .index = index, .key = l->next_key++, .kind = kind };
  buf_init(&b->raw, p->m);
  buf_init(&b->more, p->m);
  return b;
}

void blocks_drop(struct open_blocks *l, struct open_block *b) {
  size_t at = (size_t)(b - l->v);
  free_block(b);
  l->n--;
  if (at < l->n) memmove(b, b + 1, (l->n - at) * sizeof *b);
}
