/*
** vector.c: what is read as a vector packs and unpacks to the same float32, whatever the bytes; its length is no NaN, and 1
** once it is normalised. The first byte chooses what base64 holds. Build with
** -fsanitize=fuzzer,address,undefined.
*/
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/bytes/vector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(cond) ((cond) ? (void)0 : abort())

static void check_packed(const struct mem *m, const struct vector *v) {
  struct vector back;
  struct buf once, twice;
  struct err e;
  vector_init(&back, m);
  buf_init(&once, m);
  buf_init(&twice, m);
  err_clear(&e);
  if (vector_pack(v, &once, &e) == 0) {
    REQUIRE(once.n == v->n * sizeof(float));
    REQUIRE(vector_unpack(buf_str(&once), &back, &e) == 0 && back.n == v->n);
    REQUIRE(vector_pack(&back, &twice, &e) == 0 && str_same(buf_str(&once), buf_str(&twice)));
    double packed = vector_packed_squares(buf_str(&once)), plain = vector_squares(back.v, back.n);
    REQUIRE(fabs(packed - plain) <= 1e-9 * plain);
  } else {
    REQUIRE(e.kind == KIND_PROTOCOL);
  }
  vector_free(&back);
  buf_free(&once);
  buf_free(&twice);
}

static void check_norm(struct vector *v) {
  double norm = vector_norm(v);
  REQUIRE(norm >= 0);
  vector_normalise(v);
  if (norm > 0) REQUIRE(fabs(vector_norm(v) - 1) < 1e-6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct vector v;
  struct json j;
  struct err e;
  if (size == 0) return 0;
  vector_init(&v, &m);
  err_clear(&e);
  json_open(&j, (struct str){ (const char *)data + 1, size - 1 }, 64, &e);
  if (json_next(&j) != J_ERROR) {
    if (vector_read(&j, (enum packing)(data[0] % 3), &v, &e) == 0) {
      check_packed(&m, &v);
      check_norm(&v);
    } else {
      REQUIRE(e.kind == KIND_PROTOCOL || e.kind == KIND_LIMIT);
    }
  }
  vector_free(&v);
  return 0;
}
