/*
** number.c: numbers to text and back, exactly, in every locale.
** libc's strtod and snprintf are called only in ways that neither write nor read a decimal point.
** Owns nothing. Failure: -1 and an err.
*/
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"
#include "scan.h"

/* The powers of ten that a double holds exactly. */
static const double tens[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* --- text to double --- */

#define DIGITS_MAX 800      /* 767 significant digits decide every rounding; what follows counts as "a bit more" */

/* A decimal number: digits[0..n-1] without leading zeros, times ten to the exponent. */
struct decimal {
  char digits[DIGITS_MAX + 1];
  size_t n;
  int64_t exponent;
};

/* Adds one digit of the text; `after_point` when it stands behind the point. */
static void add_digit(struct decimal *d, char c, int after_point, int *more) {
  if (d->n == 0 && c == '0') {
    d->exponent -= after_point;
  } else if (d->n < DIGITS_MAX) {
    d->digits[d->n++] = c;
    d->exponent -= after_point;
  } else {
    if (c != '0') *more = 1;
    d->exponent += !after_point;
  }
}

/* Takes the text of a JSON number (its sign aside) apart. */
static void parse_decimal(struct decimal *d, const char *p, const char *end) {
  int after_point = 0, more = 0, negative = 0;
  int64_t exponent = 0;
  d->n = 0;
  d->exponent = 0;
  for (; p < end && *p != 'e' && *p != 'E'; p++) {
    if (*p == '.') after_point = 1;
    else add_digit(d, *p, after_point, &more);
  }
  if (p < end) p++;
  if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
  for (; p < end; p++)
    if (exponent < INT64_MAX / 100) exponent = exponent * 10 + (*p - '0');
  d->exponent += negative ? -exponent : exponent;
  if (more) {
    d->digits[d->n++] = '1';
    d->exponent--;
  }
}

/* Digits and exponent without a point, so that strtod has no locale to ask. */
static double slow_double(const struct decimal *d) {
  char text[DIGITS_MAX + 16];
  int exponent = d->exponent > EXPONENT_MAX ? EXPONENT_MAX
               : d->exponent < -EXPONENT_MAX ? -EXPONENT_MAX : (int)d->exponent;
  memcpy(text, d->digits, d->n);
  snprintf(text + d->n, sizeof text - d->n, "e%d", exponent);
  return strtod(text, NULL);
}

#define EXACT_MAX (UINT64_C(1) << 53) /* a double holds every integer up to it */

/* Both operands are exact, so the one operation rounds correctly. */
int number_exact(uint64_t m, int exponent, double *d) {
  if (FLT_EVAL_METHOD != 0 || m > EXACT_MAX || exponent < -22 || exponent > 22) return 0;
  *d = exponent < 0 ? (double)m / tens[-exponent] : (double)m * tens[exponent];
  return 1;
}

#if defined(__SIZEOF_INT128__)

__extension__ typedef unsigned __int128 uint128;

/* Of 10^-1, 10^-2, …: the first 64 bits, rounded down, and what is added to 63 for the power of two that they are over. */
static const struct { uint64_t bits; int shift; } inverses[] = {
  { UINT64_C(0xCCCCCCCCCCCCCCCC), 4 }, { UINT64_C(0xA3D70A3D70A3D70A), 7 }, { UINT64_C(0x83126E978D4FDF3B), 10 },
  { UINT64_C(0xD1B71758E219652B), 14 }, { UINT64_C(0xA7C5AC471B478423), 17 }, { UINT64_C(0x8637BD05AF6C69B5), 20 },
  { UINT64_C(0xD6BF94D5E57A42BC), 24 }, { UINT64_C(0xABCC77118461CEFC), 27 }, { UINT64_C(0x89705F4136B4A597), 30 },
  { UINT64_C(0xDBE6FECEBDEDD5BE), 34 }, { UINT64_C(0xAFEBFF0BCB24AAFE), 37 }, { UINT64_C(0x8CBCCC096F5088CB), 40 },
  { UINT64_C(0xE12E13424BB40E13), 44 }, { UINT64_C(0xB424DC35095CD80F), 47 }, { UINT64_C(0x901D7CF73AB0ACD9), 50 },
  { UINT64_C(0xE69594BEC44DE15B), 54 }, { UINT64_C(0xB877AA3236A4B449), 57 }, { UINT64_C(0x9392EE8E921D5D07), 60 },
  { UINT64_C(0xEC1E4A7DB69561A5), 64 }, { UINT64_C(0xBCE5086492111AEA), 67 }, { UINT64_C(0x971DA05074DA7BEE), 70 },
  { UINT64_C(0xF1C90080BAF72CB1), 74 }, { UINT64_C(0xC16D9A0095928A27), 77 }, { UINT64_C(0x9ABE14CD44753B52), 80 },
  { UINT64_C(0xF79687AED3EEC551), 84 }, { UINT64_C(0xC612062576589DDA), 87 }, { UINT64_C(0x9E74D1B791E07E48), 90 },
  { UINT64_C(0xFD87B5F28300CA0D), 94 }, { UINT64_C(0xCAD2F7F5359A3B3E), 97 }, { UINT64_C(0xA2425FF75E14FC31), 100 },
  { UINT64_C(0x81CEB32C4B43FCF4), 103 }, { UINT64_C(0xCFB11EAD453994BA), 107 }, { UINT64_C(0xA6274BBDD0FADD61), 110 },
  { UINT64_C(0x84EC3C97DA624AB4), 113 }, { UINT64_C(0xD4AD2DBFC3D07787), 117 }, { UINT64_C(0xAA242499697392D2), 120 },
  { UINT64_C(0x881CEA14545C7575), 123 }, { UINT64_C(0xD9C7DCED53C72255), 127 }, { UINT64_C(0xAE397D8AA96C1B77), 130 },
  { UINT64_C(0x8B61313BBABCE2C6), 133 },
};

/* The first 64 bits of m times an inverse are right but for the last two. Only where the bits behind a double's are all but
** a half does that decide how it is rounded. */
int number_near(uint64_t m, int exponent, double *d) {
  int n = -exponent - 1, shift, zeros;
  if (m == 0 || n < 0 || (size_t)n >= sizeof inverses / sizeof *inverses) return 0;
  zeros = __builtin_clzll(m);
  uint128 p = (uint128)(m << zeros) * inverses[n].bits;
  shift = 63 + inverses[n].shift + zeros - 64;
  if (p >> 127 == 0) {
    p <<= 1;
    shift++;
  }
  uint64_t high = (uint64_t)(p >> 64), rest = high & 0x7FF;
  if (rest >= 0x3FE && rest <= 0x400) return 0;
  *d = ldexp((double)((high >> 11) + (rest > 0x400)), 11 - shift);
  return 1;
}

#else

int number_near(uint64_t m, int exponent, double *d) {
  (void)m, (void)exponent, (void)d;
  return 0;
}

#endif

/* The double nearest to the text of a JSON number; infinity when too large. */
double json_double(struct str text) {
  const char *p = text.p, *end = text.p + text.n;
  int negative = p < end && *p == '-';
  struct decimal d;
  double v;
  uint64_t m = 0;
  parse_decimal(&d, p + negative, end);
  for (size_t i = 0; d.n <= 15 && i < d.n; i++) m = m * 10 + (uint64_t)(d.digits[i] - '0');
  if (d.n == 0) v = 0;
  else if (d.n > 15 || d.exponent < -22 || d.exponent > 22 || !number_exact(m, (int)d.exponent, &v)) v = slow_double(&d);
  if (d.n == 0) v = 0;
  return negative ? -v : v;
}

/* --- number to text --- */

/* Appends i. */
int json_write_int(struct buf *b, int64_t i) {
  char text[20];
  char *p = text + sizeof text;
  uint64_t v = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
  do *--p = (char)('0' + v % 10);
  while ((v /= 10) != 0);
  if (i < 0) *--p = '-';
  return buf_add(b, p, (size_t)(text + sizeof text - p));
}

/* v > 0 as n digits m (the first not 0) times 10^exponent, rounded to nearest. */
static uint64_t round_digits(double v, int n, int *exponent) {
  char text[40];
  uint64_t m = 0;
  const char *p = text;
  snprintf(text, sizeof text, "%.*e", n - 1, v);
  for (; *p != 'e'; p++)
    if (*p >= '0' && *p <= '9') m = m * 10 + (uint64_t)(*p - '0'); /* what is no digit is some locale's point */
  *exponent = atoi(p + 1) - (n - 1);
  return m;
}

static int reads_back(uint64_t m, int exponent, double v) {
  char text[40];
  int n = snprintf(text, sizeof text, "%llue%d", (unsigned long long)m, exponent);
  double back = json_double((struct str){ text, (size_t)n });
  return back >= v && back <= v;
}

/* v > 0 as m over a small power of ten: 1 and both, or 0 when it is none. At most 15 digits, of which no two mean the
** same double: if it reads back, it is the shortest. */
static int simple(double v, uint64_t *m, int *exponent) {
  if (FLT_EVAL_METHOD != 0) return 0;
  for (int i = 0; i <= 9 && v * tens[i] < 1e15; i++) {
    *m = (uint64_t)(v * tens[i] + 0.5);
    *exponent = -i;
    double back = (double)*m / tens[i];
    if (back >= v && back <= v) return 1;
  }
  return 0;
}

/* The fewest digits that read back as v > 0. Above a power of two the neighbours below are nearer than those above, so
** the rounded digits may miss where the next larger ones hit. */
static uint64_t shortest(double v, int *exponent) {
  uint64_t m;
  if (simple(v, &m, exponent)) return m;
  for (int n = v < DBL_MIN ? 1 : 15; n < 17; n++) {
    m = round_digits(v, n, exponent);
    if (reads_back(m, *exponent, v)) return m;
    if (reads_back(m + 1, *exponent, v)) return m + 1;
  }
  return round_digits(v, 17, exponent);
}

/* Appends m * 10^exponent: with a point while that is short, else with an exponent. */
static int add_decimal(struct buf *b, uint64_t m, int exponent) {
  char digits[24], out[64];
  size_t o = 0;
  while (m % 10 == 0) {
    m /= 10;
    exponent++;
  }
  int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)m);
  int point = n + exponent; /* digits in front of the point */
  if (point > 17 || point < -5) {
    out[o++] = digits[0];
    if (n > 1) out[o++] = '.';
    memcpy(out + o, digits + 1, (size_t)n - 1);
    o += (size_t)n - 1;
    o += (size_t)snprintf(out + o, sizeof out - o, "e%d", point - 1);
    return buf_add(b, out, o);
  }
  if (point <= 0) out[o++] = '0';
  for (int i = 0; i < point; i++) out[o++] = i < n ? digits[i] : '0';
  out[o++] = '.';
  for (int i = point; i < 0; i++) out[o++] = '0';
  if (point >= n) out[o++] = '0';
  for (int i = point > 0 ? point : 0; i < n; i++) out[o++] = digits[i];
  return buf_add(b, out, o);
}

/* Appends d as the shortest text that reads back equal and is no integer's: 0, or -1 (not finite, out of memory). */
int json_write_double(struct buf *b, double d, struct err *e) {
  if (!isfinite(d)) return err_set(e, KIND_ARGUMENT, "JSON: a finite number expected, got NaN or infinity");
  size_t before = b->n;
  int exponent = 0, r = signbit(d) ? buf_addc(b, '-') : 0;
  if (signbit(d)) d = -d;
  if (r == 0 && d > 0) {
    uint64_t m = shortest(d, &exponent);
    r = add_decimal(b, m, exponent);
  } else if (r == 0) {
    r = buf_add(b, "0.0", 3);
  }
  if (r == 0) return 0;
  b->n = before;
  return err_memory(e);
}
