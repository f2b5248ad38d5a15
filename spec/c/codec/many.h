/* many.h: what a codec needs to read one record that holds very many short values. */
#ifndef KOINE_SPEC_C_CODEC_MANY_H
#define KOINE_SPEC_C_CODEC_MANY_H

#include "kit.h"

/* A record: `before`, `unit` many times, `after`. Returns how many bytes of scratch memory each of its own takes to read. */
static inline size_t many_scratch(const struct codec *codec, const char *before, const char *unit, const char *after) {
  struct mem m = mem_libc();
  struct parsing x;
  struct buf b;
  buf_init(&b, &m);
  parsing_open(&x, codec, &m);
  parsing_begin(&x);
  CHECK(buf_adds(&b, before) == 0);
  while (b.n < 300000 && buf_adds(&b, unit) == 0) continue;
  CHECK(buf_adds(&b, after) == 0);
  CHECK(parsing_record(&x, "", buf_str(&b)) == 0);
  size_t ratio = x.a.total / b.n;
  parsing_close(&x);
  buf_free(&b);
  return ratio;
}

#endif
