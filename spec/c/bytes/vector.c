/* Tests of vectors: read from arrays and base64, packed and back, lengths and products, either byte order, every failure of
** memory. */
#include <math.h>

#include "core/bytes/base64.h"
#include "core/bytes/vector.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/test.h"

#define EPSILON 1e-12

static int near(double a, double b) { return fabs(a - b) <= EPSILON * (1 + fabs(b)); }

/* Reads the whole text as one vector: 0 or -1 and *e. */
static int read_text(const char *text, enum packing packing, struct vector *v, struct err *e) {
  struct json j;
  err_clear(e);
  json_open(&j, (struct str){ text, strlen(text) }, 8, e);
  (void)json_next(&j);
  if (vector_read(&j, packing, v, e) != 0) return -1;
  return json_next(&j) == J_EOF ? 0 : -1;
}

static void test_arrays(void) {
  static const struct { const char *text; size_t n; double first, last; } CASES[] = {
    { "[]", 0, 0, 0 }, { "[0.5]", 1, 0.5, 0.5 }, { "[1,2,-3]", 3, 1, -3 }, { " [ 1e2 ,\n 0 ] ", 2, 100, 0 },
    { "[-0.0170440673828125,0.30000000000000004]", 2, -0.0170440673828125, 0.30000000000000004 },
    { "[18446744073709551616, 123456789012345678901234567890]", 2, 18446744073709551616.0, 123456789012345678901234567890.0 },
    { "[0.1234567890123456789,0.00000000000000000000000000001]", 2, 0.1234567890123456789, 1e-29 },
  };
  struct mem m = mem_libc();
  struct vector v;
  struct err e;
  vector_init(&v, &m);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    CHECK(read_text(CASES[i].text, PACKED_FLOAT32, &v, &e) == 0 && v.n == CASES[i].n);
    if (v.n > 0) CHECK(!(v.v[0] < CASES[i].first || v.v[0] > CASES[i].first));
    if (v.n > 0) CHECK(!(v.v[v.n - 1] < CASES[i].last || v.v[v.n - 1] > CASES[i].last));
  }
  vector_free(&v);
}

static void test_refusals(void) {
  static const struct { const char *text, *words; } CASES[] = {
    { "[1,null]", "a number expected at byte 3, found null" }, { "[1,[2]]", "found an array" },
    { "[\"1\"]", "found a string" }, { "[true]", "found true" }, { "[1,{}]", "found an object" },
    { "null", "an array of numbers or base64 expected at byte 0, found null" }, { "{}", "found an object" },
    { "12", "found something else" }, { "[1e999]", "beyond 64 bits" }, { "[NaN]", "JSON" }, { "[1,Infinity]", "JSON" },
    { "[1", "the text ends" }, { "[1,]", "JSON" }, { "\"AAA\"", "no whole float32" }, { "\"AAAAAA\" ", "" },
    { "\"A\"", "base64 expected in the string at byte 0" }, { "\"AA*AAAAA\"", "base64 expected" },
    { "\"AAAA-_AA\"", "base64 expected" }, { "\"AA==AAAA\"", "base64 expected" }, { "\"AAAA====\"", "base64 expected" },
    { "\"AADAfw==\"", "NaN or infinity" }, { "\"AACAfw==\"", "NaN or infinity" }, { "\"\xFF\"", "base64 expected" },
  };
  struct mem m = mem_libc();
  struct vector v;
  struct err e;
  vector_init(&v, &m);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    int r = read_text(CASES[i].text, PACKED_FLOAT32, &v, &e);
    if (CASES[i].words[0] == '\0') {
      CHECK(r == 0 && v.n == 1);
      continue;
    }
    CHECK(r == -1 && e.kind == KIND_PROTOCOL);
    CHECK(strstr(e.message, CASES[i].words) != NULL);
  }
  vector_free(&v);
}

static void test_base64(void) {
  static const char *const SAME[] = { /* 1, -2, 0.5 */
    "\"AACAPwAAAMAAAAA/\"", "\"AACAPwAA\\nAMAAAAA\\/\"", "\" AACA PwAAAMAA AAA\\u002f \"", "\"AACAPwAAAMAAAAA/\\r\\n\""
  };
  struct mem m = mem_libc();
  struct vector v;
  struct err e;
  vector_init(&v, &m);
  for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
    CHECK(read_text(SAME[i], PACKED_FLOAT32, &v, &e) == 0 && v.n == 3);
    CHECK(v.n == 3 && near(v.v[0], 1) && near(v.v[1], -2) && near(v.v[2], 0.5));
  }
  CHECK(read_text("\"AACAPw==\"", PACKED_FLOAT32, &v, &e) == 0 && v.n == 1 && near(v.v[0], 1));
  CHECK(read_text("\"AACAPw\"", PACKED_FLOAT32, &v, &e) == 0 && v.n == 1);
  CHECK(read_text("\"AACAPw==\\n\"", PACKED_FLOAT32, &v, &e) == 0 && v.n == 1);
  CHECK(read_text("\"\"", PACKED_FLOAT32, &v, &e) == 0 && v.n == 0);
  CHECK(read_text("\"f4D/AQ==\"", PACKED_INT8, &v, &e) == 0 && v.n == 4);
  CHECK(v.n == 4 && near(v.v[0], 127) && near(v.v[1], -128) && near(v.v[2], -1) && near(v.v[3], 1));
  CHECK(read_text("\"f4D/AQ==\"", PACKED_UINT8, &v, &e) == 0 && v.n == 4);
  CHECK(v.n == 4 && near(v.v[1], 128) && near(v.v[2], 255));
  vector_free(&v);
}

/* A packed vector reads back, as base64 too, at any address. */
static void test_packed(void) {
  struct mem m = mem_libc();
  struct vector v, back;
  struct buf packed, text;
  struct err e;
  err_clear(&e);
  vector_init(&v, &m);
  vector_init(&back, &m);
  buf_init(&packed, &m);
  buf_init(&text, &m);
  CHECK(read_text("[1,-0.25,3.4e38,1e-45,0.1]", PACKED_FLOAT32, &v, &e) == 0);
  CHECK(vector_pack(&v, &packed, &e) == 0 && packed.n == 20);
  CHECK(memcmp(packed.p, "\0\0\x80\x3F\0\0\x80\xBE", 8) == 0);
  CHECK(vector_unpack(buf_str(&packed), &back, &e) == 0 && back.n == 5);
  for (size_t i = 0; i < back.n; i++) CHECK(!(back.v[i] < (double)(float)v.v[i] || back.v[i] > (double)(float)v.v[i]));
  CHECK(buf_addc(&text, '"') == 0 && base64_encode(&text, buf_str(&packed)) == 0 && buf_adds(&text, "\"") == 0);
  CHECK(buf_addc(&text, '\0') == 0 && read_text(text.p, PACKED_FLOAT32, &v, &e) == 0 && v.n == 5);
  for (size_t i = 0; i < v.n; i++) CHECK(!(back.v[i] < v.v[i] || back.v[i] > v.v[i]));
  for (size_t shift = 0; shift < 4; shift++) {
    char room[32];
    memcpy(room + shift, packed.p, packed.n);
    CHECK(vector_unpack((struct str){ room + shift, packed.n + 3 - shift }, &v, &e) == 0 && v.n == 5);
    CHECK(v.n == 5 && near(v.v[1], -0.25));
    CHECK(near(vector_packed_squares((struct str){ room + shift, 8 }), 1.0625));
  }
  v.v[3] = 1e39;
  CHECK(vector_pack(&v, &packed, &e) == -1 && e.kind == KIND_PROTOCOL);
  CHECK(strstr(e.message, "number 4 is beyond 32 bits") != NULL);
  buf_free(&packed);
  buf_free(&text);
  vector_free(&v);
  vector_free(&back);
}

/* A machine of the other order holds the bytes the other way round. */
static void test_order(void) {
  union { uint16_t two; char first; } here = { 1 };
  enum order own = here.first == 1 ? ORDER_LITTLE : ORDER_BIG, other = own == ORDER_LITTLE ? ORDER_BIG : ORDER_LITTLE;
  CHECK(near(vector_float("\0\0\x80\x3F", own), 1) && near(vector_float("\x3F\x80\0\0", other), 1));
  CHECK(near(vector_float("\xC0\x49\x0F\xDB", other), -3.1415927410125732));
}

static void test_sums(void) {
  double a[9], b[9], squares = 0, products = 0;
  struct mem m = mem_libc();
  struct vector v, w;
  struct buf p, q;
  struct err e;
  vector_init(&v, &m);
  vector_init(&w, &m);
  buf_init(&p, &m);
  buf_init(&q, &m);
  random_state = 7;
  for (size_t n = 0; n <= 9; n++) {
    CHECK(near(vector_squares(a, n), squares) && near(vector_products(a, b, n), products));
    if (n == 9) break;
    a[n] = (double)(int)(random_next() % 2001) / 1024 - 1;
    b[n] = (double)(int)(random_next() % 2001) / 1024 - 1;
    squares += a[n] * a[n];
    products += a[n] * b[n];
  }
  for (size_t n = 0; n <= 9; n++) {
    struct vector one = { a, n, 9, &m }, two = { b, n, 9, &m };
    p.n = q.n = 0;
    CHECK(vector_pack(&one, &p, &e) == 0 && vector_pack(&two, &q, &e) == 0);
    CHECK(near(vector_packed_squares(buf_str(&p)), vector_squares(a, n)));
    CHECK(near(vector_packed_products(buf_str(&p), buf_str(&q)), vector_products(a, b, n)));
  }
  CHECK(read_text("[3,4]", PACKED_FLOAT32, &v, &e) == 0 && near(vector_norm(&v), 5));
  vector_normalise(&v);
  CHECK(near(v.v[0], 0.6) && near(v.v[1], 0.8));
  CHECK(read_text("[3e300,-4e300]", PACKED_FLOAT32, &v, &e) == 0 && near(vector_norm(&v) / 1e300, 5));
  vector_normalise(&v);
  CHECK(near(v.v[0], 0.6) && near(v.v[1], -0.8));
  CHECK(read_text("[1.5e308,1.5e308]", PACKED_FLOAT32, &v, &e) == 0 && isinf(vector_norm(&v)));
  vector_normalise(&v);
  CHECK(near(v.v[0], sqrt(0.5)));
  CHECK(read_text("[3e-300,4e-300]", PACKED_FLOAT32, &v, &e) == 0 && near(vector_norm(&v) / 1e-300, 5));
  vector_normalise(&v);
  CHECK(near(v.v[1], 0.8));
  CHECK(read_text("[0,0,-0.0]", PACKED_FLOAT32, &v, &e) == 0 && near(vector_norm(&v), 0));
  vector_normalise(&v);
  CHECK(near(v.v[2], 0));
  CHECK(near(vector_norm(&w), 0));
  buf_free(&p);
  buf_free(&q);
  vector_free(&v);
  vector_free(&w);
}

/* Each allocation fails in turn: memory is said, and none is lost. */
static void test_no_memory(void) {
  static const char *const TEXTS[] = { "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "\"AACAPwAA\\nAMAAAAA/\"" };
  for (size_t t = 0; t < 2; t++)
    for (size_t nth = 1;; nth++) {
      struct failing f = { .fail_at = nth };
      struct mem m = failing_mem(&f);
      struct vector v;
      struct buf out;
      struct err e;
      vector_init(&v, &m);
      buf_init(&out, &m);
      int r = read_text(TEXTS[t], PACKED_FLOAT32, &v, &e);
      if (r == 0) r = vector_pack(&v, &out, &e);
      if (r == 0) r = vector_unpack(buf_str(&out), &v, &e);
      CHECK(r == 0 || e.kind == KIND_MEMORY);
      buf_free(&out);
      vector_free(&v);
      CHECK(f.live == 0 && f.wrong == 0);
      if (r == 0) break;
    }
}

int main(void) {
  test_arrays();
  test_refusals();
  test_base64();
  test_packed();
  test_order();
  test_sums();
  test_no_memory();
  return test_done("bytes/vector");
}
