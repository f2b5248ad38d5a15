/* kit.h: what the tests of exchanges share: what one is about, and bytes handed to it. */
#ifndef KOINE_SPEC_C_EXCHANGE_KIT_H
#define KOINE_SPEC_C_EXCHANGE_KIT_H

#include "core/exchange/exchange.h"
#include "support/test.h"

/* The facts of an exchange with this codec, with the defaults of everything else. */
static inline struct exchange_spec spec_of(const struct codec *codec) {
  static struct quirks quirks;
  struct exchange_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.codec = codec;
  quirks_default(&quirks);
  spec.quirks = &quirks;
  limits_default(&spec.limits);
  spec.provider = spec.model = STR("test");
  return spec;
}

/* The exchange keeps the buffer that it is given, and a pointer to its allocator. */
static inline void feed(struct exchange *x, const char *p, size_t n) {
  static struct mem m;
  struct buf b;
  if (n == 0) return;
  m = mem_libc();
  buf_init(&b, &m);
  buf_add(&b, p, n);
  exchange_feed(x, &b);
  buf_free(&b);
}

#endif
