/*
** vector.c: see vector.h. Numbers are doubles in memory: JSON's keep their value, float32 is widened exactly.
*/
#include <math.h>

#include "vector.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define MACHINE ORDER_BIG
#else
#define MACHINE ORDER_LITTLE
#endif

void vector_init(struct vector *v, const struct mem *m) {
  v->v = NULL;
  v->n = v->cap = 0;
  v->m = m;
}

void vector_free(struct vector *v) {
  mem_free(v->m, v->v, v->cap * sizeof *v->v);
  vector_init(v, v->m);
}

int vector_reserve(struct vector *v, size_t n, struct err *e) {
  while (v->cap < n) {
    double *grown = mem_grow(v->m, v->v, v->cap, &v->cap, sizeof *v->v);
    if (grown == NULL) return err_memory(e);
    v->v = grown;
  }
  return 0;
}

/* {{{ packed numbers */

/* Four bytes as the machine has to hold them: those of a little-endian number. */
static uint32_t four_bytes(const char *p, enum order machine) {
  uint32_t w;
  memcpy(&w, p, sizeof w);
  if (machine == ORDER_BIG) w = w >> 24 | (w >> 8 & 0xFF00) | (w << 8 & 0xFF0000) | w << 24;
  return w;
}

float vector_float(const char *p, enum order machine) {
  uint32_t w = four_bytes(p, machine);
  float f;
  memcpy(&f, &w, sizeof f);
  return f;
}

static inline double number_at(const char *p) { return (double)vector_float(p, MACHINE); }

double vector_packed_at(struct str packed, size_t i) { return number_at(packed.p + i * sizeof(float)); }

int vector_unpack(struct str packed, struct vector *v, struct err *e) {
  size_t n = packed.n / sizeof(float);
  v->n = 0;
  if (vector_reserve(v, n, e) != 0) return -1;
  for (size_t i = 0; i < n; i++) v->v[i] = number_at(packed.p + i * sizeof(float));
  v->n = n;
  return 0;
}

int vector_pack(const struct vector *v, struct buf *out, struct err *e) {
  if (buf_reserve(out, v->n * sizeof(float)) != 0) return err_memory(e);
  for (size_t i = 0; i < v->n; i++) {
    float f = (float)v->v[i];
    char bytes[sizeof f];
    uint32_t w;
    if (!isfinite(f)) return err_set(e, KIND_PROTOCOL, "vector: number %zu is beyond 32 bits", i + 1);
    memcpy(bytes, &f, sizeof f);
    w = four_bytes(bytes, MACHINE);
    memcpy(out->p + out->n, &w, sizeof w);
    out->n += sizeof w;
  }
  return 0;
}

/* }}} */

/* {{{ reading */

static int beyond(const struct json *j, struct err *e) {
  return err_set(e, KIND_PROTOCOL, "vector: the number at byte %zu is beyond 64 bits", (size_t)(j->start - j->begin));
}

static const char *const NAMES[] = {
  [J_OBJECT] = "an object", [J_ARRAY] = "an array", [J_STRING] = "a string", [J_TRUE] = "true", [J_FALSE] = "false",
  [J_NULL] = "null"
};

static int unexpected(const struct json *j, const char *expected, struct err *e) {
  const char *found = j->tok > J_EOF && (size_t)j->tok < sizeof NAMES / sizeof *NAMES ? NAMES[j->tok] : NULL;
  return err_set(e, KIND_PROTOCOL, "vector: %s expected at byte %zu, found %s", expected, (size_t)(j->start - j->begin),
                 found != NULL ? found : "something else");
}

/* The numbers of the array whose bracket was just read. */
static int read_array(struct json *j, struct vector *v, struct err *e) {
  for (;;) {
    enum token t = json_next(j);
    double d;
    if (t == J_DOUBLE) d = j->d;
    else if (t == J_INT) d = (double)j->i;
    else if (t == J_BIG) d = json_double(j->text); /* an integer of many digits, or beyond double */
    else if (t == J_ARRAY_END) return 0;
    else if (t == J_ERROR) return -1; /* the reader filled its err, which is e or the caller's own */
    else return unexpected(j, "a number", e);
    if (!isfinite(d)) return beyond(j, e);
    if (v->n == v->cap && vector_reserve(v, v->n + 1, e) != 0) return -1;
    v->v[v->n++] = d;
  }
}

/* A digit's value; -1: none, -2: white space, which is skipped. */
static const signed char DIGITS[256] = {
#define NO16 -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
  -1, -1, -1, -1, -1, -1, -1, -1, -1, -2, -2, -1, -1, -2, -1, -1, NO16,
  -2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 62, -1, -1, -1, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -1, -1, -1, -1, -1, -1,
  -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, -1, -1, -1, -1, -1,
  -1, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, -1, -1, -1, -1, -1,
  NO16, NO16, NO16, NO16, NO16, NO16, NO16, NO16
#undef NO16
};

/* The rest of base64 text. */
struct base64 { const char *p, *end; };

/* A group that holds white space or is the last: its bytes into out; how many there are, 0 at the end, -1 for what is no
** base64. */
static int slow_group(struct base64 *b, char *out) {
  unsigned bits = 0;
  int digits = 0;
  for (; digits < 4 && b->p < b->end; b->p++) {
    int d = (int)DIGITS[(unsigned char)*b->p];
    if (d == -1) return -1;
    if (d < 0) continue;
    bits = bits << 6 | (unsigned)d;
    digits++;
  }
  if (digits < 2) return -digits;
  bits <<= 6 * (4 - digits);
  out[0] = (char)(bits >> 16 & 0xFF);
  out[1] = (char)(bits >> 8 & 0xFF);
  out[2] = (char)(bits & 0xFF);
  return digits - 1;
}

/* More than 63 where there is no digit. */
static inline uint32_t digit_at(const char *p) { return (uint32_t)(int)DIGITS[(unsigned char)*p]; }

/* Fills out, of max bytes, a multiple of three: how many bytes there were, fewer only at the end; -1: no base64. */
static ptrdiff_t decode(struct base64 *b, char *out, ptrdiff_t max) {
  ptrdiff_t n = 0;
  while (n < max) {
    for (; n < max && b->end - b->p >= 4; n += 3, b->p += 4) {
      uint32_t d = digit_at(b->p) << 18 | digit_at(b->p + 1) << 12 | digit_at(b->p + 2) << 6 | digit_at(b->p + 3);
      if (d >> 24 != 0) break;
      out[n] = (char)(d >> 16);
      out[n + 1] = (char)(d >> 8);
      out[n + 2] = (char)d;
    }
    if (n == max) break;
    int more = slow_group(b, out + n);
    if (more < 0) return -1;
    n += more;
    if (more < 3) break;
  }
  return n;
}

/* Cuts the padding and the white space behind the text off. */
static struct str without_padding(struct str s) {
  int padding = 0;
  while (s.n > 0 && (DIGITS[(unsigned char)s.p[s.n - 1]] == -2 || (s.p[s.n - 1] == '=' && padding++ < 2))) s.n--;
  return s;
}

#define PIECE 1536 /* bytes that are decoded at once: whole groups, and whole numbers */

static int add_floats(const char *bytes, size_t n, struct vector *v) {
  for (size_t i = 0; i + sizeof(float) <= n; i += sizeof(float))
    if (!isfinite(v->v[v->n++] = number_at(bytes + i))) return -3;
  return n % sizeof(float) != 0 ? -2 : 0;
}

static void add_integers(const char *bytes, size_t n, enum packing packing, struct vector *v) {
  for (size_t i = 0; i < n; i++)
    v->v[v->n++] = packing == PACKED_INT8 ? (signed char)bytes[i] : (unsigned char)bytes[i];
}

/* 0; -1: no base64, -2: no whole numbers, -3: one that is not finite. */
static int add_bytes(struct base64 *b, enum packing packing, struct vector *v) {
  char bytes[PIECE];
  ptrdiff_t n;
  do {
    int r = 0;
    n = decode(b, bytes, PIECE);
    if (n < 0) return -1;
    if (packing == PACKED_FLOAT32) r = add_floats(bytes, (size_t)n, v);
    else add_integers(bytes, (size_t)n, packing, v);
    if (r != 0) return r;
  } while (n == PIECE);
  return b->p < b->end ? -1 : 0;
}

/* The text of a string is base64 as it stands: no digit needs an escape but '/', which may have one, and a line's end. */
static int read_base64(struct json *j, enum packing packing, struct vector *v, struct err *e) {
  struct arena scratch;
  struct base64 b;
  struct str text = j->text;
  size_t at = (size_t)(j->start - j->begin);
  int r = -1;
  arena_init(&scratch, v->m);
  if (!j->plain && json_text(j, &scratch, &text) != 0) {
    err_memory(e);
  } else if (vector_reserve(v, text.n / 4 * 3 / (packing == PACKED_FLOAT32 ? 4 : 1) + 3, e) == 0) {
    text = without_padding(text);
    b.p = text.p;
    b.end = text.p + text.n;
    r = add_bytes(&b, packing, v);
    if (r == -1) err_set(e, KIND_PROTOCOL, "vector: base64 expected in the string at byte %zu", at);
    else if (r == -2) err_set(e, KIND_PROTOCOL, "vector: the bytes in the string at byte %zu are no whole float32", at);
    else if (r == -3) err_set(e, KIND_PROTOCOL, "vector: NaN or infinity in the string at byte %zu", at);
  }
  arena_free(&scratch);
  return r == 0 ? 0 : -1;
}

int vector_read(struct json *j, enum packing packing, struct vector *v, struct err *e) {
  v->n = 0;
  if (j->tok == J_ARRAY) return read_array(j, v, e);
  if (j->tok == J_STRING) return read_base64(j, packing, v, e);
  return unexpected(j, "an array of numbers or base64", e);
}

/* }}} */

/* {{{ sums */

/* Four sums at a time, which do not wait for each other. */
#define SUM(n, term)                                                                                                   \
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                                               \
  size_t i = 0;                                                                                                        \
  for (; i + 4 <= (n); i += 4) {                                                                                       \
    s0 += term(i);                                                                                                     \
    s1 += term(i + 1);                                                                                                 \
    s2 += term(i + 2);                                                                                                 \
    s3 += term(i + 3);                                                                                                 \
  }                                                                                                                    \
  for (; i < (n); i++) s0 += term(i);                                                                                  \
  return s0 + s1 + (s2 + s3)

#define PRODUCT(k) (a[k] * b[k])
#define PACKED_PRODUCT(k) (number_at(a.p + (k) * 4) * number_at(b.p + (k) * 4))

double vector_products(const double *a, const double *b, size_t n) {
  SUM(n, PRODUCT);
}

double vector_squares(const double *v, size_t n) { return vector_products(v, v, n); }

double vector_packed_products(struct str a, struct str b) {
  size_t n = (a.n < b.n ? a.n : b.n) / sizeof(float);
  SUM(n, PACKED_PRODUCT);
}

double vector_packed_squares(struct str v) { return vector_packed_products(v, v); }

/* The largest absolute value. */
static double largest(const struct vector *v) {
  double most = 0;
  for (size_t i = 0; i < v->n; i++)
    if (fabs(v->v[i]) > most) most = fabs(v->v[i]);
  return most;
}

/* Where squares are beyond double, or so small that they lose bits, numbers are divided by the largest first. */
double vector_norm(const struct vector *v) {
  double squares = vector_squares(v->v, v->n), most, sum = 0;
  if (squares > 1e-280 && squares < 1e300) return sqrt(squares);
  most = largest(v);
  if (!(most > 0) || isinf(most)) return most;
  for (size_t i = 0; i < v->n; i++) sum += v->v[i] / most * (v->v[i] / most);
  return most * sqrt(sum);
}

void vector_normalise(struct vector *v) {
  double norm = vector_norm(v), most = 1;
  if (!(norm > 0)) return;
  if (isinf(norm) || norm < 1e-280) {
    most = largest(v);
    for (size_t i = 0; i < v->n; i++) v->v[i] /= most;
    norm = vector_norm(v);
  }
  for (size_t i = 0; i < v->n; i++) v->v[i] /= norm;
}

/* }}} */
