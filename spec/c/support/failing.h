/* failing.h: allocators for tests: one counts, fails where it is told to, and checks the old sizes it is given; the other
** moves what it can. */
#ifndef KOINE_SPEC_C_SUPPORT_FAILING_H
#define KOINE_SPEC_C_SUPPORT_FAILING_H

#include <stdlib.h>
#include "core/base/mem.h"

struct failing {
  size_t asked;     /* allocations and reallocations so far */
  size_t fail_at;   /* the first one that fails, and all after it; 0 = none */
  size_t live;      /* bytes not yet freed */
  size_t wrong;     /* calls with an old size that is not the block's */
};

#define FAILING_HEAD 16

static inline void *failing_f(void *ud, void *p, size_t osize, size_t nsize) {
  struct failing *f = ud;
  char *block = p == NULL ? NULL : (char *)p - FAILING_HEAD;
  size_t had = 0;
  if (block != NULL) memcpy(&had, block, sizeof had);
  if (had != osize) f->wrong++;
  if (nsize == 0) {
    f->live -= had;
    free(block);
    return NULL;
  }
  if (++f->asked >= f->fail_at && f->fail_at != 0) return NULL;
  char *fresh = malloc(FAILING_HEAD + nsize); /* always a new place: a pointer kept across a growth then shows */
  if (fresh == NULL) return NULL;
  memcpy(fresh, &nsize, sizeof nsize);
  if (block != NULL) memcpy(fresh + FAILING_HEAD, p, had < nsize ? had : nsize);
  free(block);
  f->live += nsize - had;
  return fresh + FAILING_HEAD;
}

static inline struct mem failing_mem(struct failing *f) {
  return (struct mem){ failing_f, f };
}

/* Moves whatever grows and writes over what it gives back: a string kept there shows. */
static inline void *moving_f(void *ud, void *p, size_t osize, size_t nsize) {
  char *fresh = nsize > 0 ? malloc(nsize) : NULL;
  volatile char *old = p;
  (void)ud;
  if (nsize > 0 && fresh == NULL) return NULL;
  if (p != NULL && nsize > 0) memcpy(fresh, p, osize < nsize ? osize : nsize);
  for (size_t i = 0; p != NULL && i < osize; i++) old[i] = '#';
  free(p);
  return fresh;
}

static inline struct mem moving_mem(void) { return (struct mem){ moving_f, NULL }; }

#endif
