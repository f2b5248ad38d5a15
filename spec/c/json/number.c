/* Tests of json's numbers: every int64, every double, what is beyond both, and no locale anywhere. */
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/json/json.h"
#include "support/folder.h"
#include "support/random.h"
#include "support/test.h"

static void test_integers(struct buf *buf) {
  static const struct { const char *text; enum node_type type; int64_t i; } cases[] = {
    { "0", NODE_INT, 0 }, { "9007199254740993", NODE_INT, 9007199254740993 }, { "-1", NODE_INT, -1 },
    { "9223372036854775807", NODE_INT, INT64_MAX }, { "-9223372036854775808", NODE_INT, INT64_MIN },
    { "9223372036854775808", NODE_BIG, 0 }, { "-9223372036854775809", NODE_BIG, 0 },
    { "18446744073709551615", NODE_BIG, 0 }, { "18446744073709551616", NODE_BIG, 0 },
    { "99999999999999999999", NODE_BIG, 0 }, { "1e400", NODE_BIG, 0 }, { "-1e400", NODE_BIG, 0 },
    { "10000000000000000000000000000000000000001", NODE_BIG, 0 }, { "1e0", NODE_DOUBLE, 0 }, { "25.0", NODE_DOUBLE, 0 },
  };
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  arena_init(&a, &m);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct node *v = json_tree(&a, (struct str){ cases[i].text, strlen(cases[i].text) }, 1, &e);
    CHECK(node_is(v, cases[i].type));
    if (node_is(v, NODE_INT)) CHECK(v->u.i == cases[i].i);
    if (node_is(v, NODE_INT) || node_is(v, NODE_BIG)) {
      buf->n = 0;
      CHECK(json_write(buf, v, &e) == 0);
      CHECK_STR(buf->p, buf->n, cases[i].text);
    }
  }
  random_state = 1;
  for (int i = 0; i < 20000; i++) {
    uint64_t x = random_next();
    int64_t want = (int64_t)(x >> (i % 64));
    buf->n = 0;
    json_write_int(buf, want);
    struct json j;
    json_open(&j, buf_str(buf), 1, &e);
    CHECK(json_next(&j) == J_INT && j.i == want && json_next(&j) == J_EOF);
  }
  struct node *v = json_tree(&a, STR("-0"), 1, &e);
  CHECK(node_is(v, NODE_DOUBLE) && signbit(v->u.d) && v->u.d == 0);
  arena_free(&a);
}

static int same_bits(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

static void test_doubles(struct buf *b) {
  static const struct { double d; const char *text; } cases[] = {
    { (double)0.1 + (double)0.2, "0.30000000000000004" }, { 0.1, "0.1" }, { 25, "25.0" }, { -0.0, "-0.0" }, { 0, "0.0" },
    { 1e21, "1e21" },
    { 0.7, "0.7" }, { 1e-7, "1e-7" }, { 1.5e-7, "1.5e-7" }, { 123456789.125, "123456789.125" }, { 5e-324, "5e-324" },
    { 1.7976931348623157e308, "1.7976931348623157e308" }, { 2.2250738585072014e-308, "2.2250738585072014e-308" },
    { 5.684341886080802e-14, "5.684341886080802e-14" }, { 9007199254740993.0, "9007199254740992.0" }, { -1.5, "-1.5" },
    { 1e16, "10000000000000000.0" }, { 1e17, "1e17" }, { 0.00001, "0.00001" }, { 123e-7, "0.0000123" },
    { 1e22, "1e22" },
    { 4.35, "4.35" }, { 2e-323, "2e-323" }, { 100, "100.0" }, { 1234567890123456.7, "1234567890123456.8" },
  };
  struct err e;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    b->n = 0;
    CHECK(json_write_double(b, cases[i].d, &e) == 0);
    CHECK_STR(b->p, b->n, cases[i].text);
    CHECK(same_bits(json_double(buf_str(b)), cases[i].d));
  }
  b->n = 0;
  CHECK(json_write_double(b, NAN, &e) == -1 && e.kind == KIND_ARGUMENT && b->n == 0);
  CHECK(json_write_double(b, -INFINITY, &e) == -1 && e.kind == KIND_ARGUMENT && b->n == 0);
}

/* Random bit patterns survive the round trip, in fewer digits than none. Needs the C locale for the comparison. */
static void test_random_doubles(struct buf *b) {
  random_state = 42;
  struct err e;
  for (int i = 0; i < 20000; i++) {
    uint64_t x = random_next();
    uint64_t bits = x ^ (x >> 29);
    double d;
    memcpy(&d, &bits, sizeof d);
    if (i % 4 == 0) d = (double)(int64_t)(bits >> 20) / 1000;
    if (!isfinite(d)) continue;
    b->n = 0;
    CHECK(json_write_double(b, d, &e) == 0 && same_bits(json_double(buf_str(b)), d));
    CHECK(buf_addc(b, '\0') == 0 && same_bits(strtod(b->p, NULL), d) && b->n <= 26);
    char text[64];
    int n = snprintf(text, sizeof text, "%.*e", (int)(bits % 30), d);
    CHECK(same_bits(json_double((struct str){ text, (size_t)n }), strtod(text, NULL)));
  }
}

/* Constants are cast: the x87 keeps them longer than a double. Texts longer than any buffer: halfway cases whose last digit, a thousand places on, decides. */
static void test_long_numbers(void) {
  char text[3000];
  size_t n = (size_t)snprintf(text, sizeof text, "9007199254740993"); /* halfway between two doubles */
  CHECK(json_double((struct str){ text, n }) == 9007199254740992.0);
  text[n++] = '.';
  memset(text + n, '0', 2000);
  CHECK(json_double((struct str){ text, n + 2000 }) == 9007199254740992.0);
  text[n + 1999] = '1';
  CHECK(json_double((struct str){ text, n + 2000 }) == 9007199254740994.0);
  memset(text, '0', 1000);
  text[1] = '.';
  memcpy(text + 1000, "1e999", 5);
  CHECK(json_double((struct str){ text, 1005 }) == 1.0);
  memset(text, '1', 1000);
  memcpy(text + 1000, "e-999", 5);
  CHECK(json_double((struct str){ text, 1005 }) == (double)1.1111111111111112);
  CHECK(isinf(json_double(STR("1e99999999999999999999999999"))));
  CHECK(json_double(STR("1e-99999999999999999999999999")) == 0.0);
  CHECK(json_double(STR("0e99999999999999999999999999")) == 0.0);
  CHECK(json_double(STR("2.4703282292062327208e-324")) == 0.0); /* just below half of the smallest */
  CHECK(json_double(STR("2.4703282292062328e-324")) == (double)5e-324);
  CHECK(json_double(STR("1.7976931348623158e308")) == (double)1.7976931348623157e308);
}

/* Gives this process a locale, whose decimal point has to be a comma (musl's is not, whatever its name): 0, or -1. */
static int take_locale(const char *name) {
  return setlocale(LC_ALL, name) != NULL && strcmp(localeconv()->decimal_point, ",") == 0 ? 0 : -1;
}

/* Gives this process a locale whose decimal point is a comma: 0, or -1. Where the system has none, one is compiled. */
static int comma_locale(void) {
  static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "nl_NL.UTF-8" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (take_locale(names[i]) == 0) return 0;
  char dir[FOLDER_MAX], command[300];
  if (folder_new(dir) < 0) return -1;
  /* Of numbers alone, in ASCII: the order and the letters of a whole language take a second. It fails for want of them. */
  snprintf(command, sizeof command, "printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \"\"\\ngrouping -1\\nEND LC_NUMERIC\\n' | "
           "localedef -c -f ANSI_X3.4-1968 %s/comma >/dev/null 2>&1", dir);
  int r = system(command) != -1 && setenv("LOCPATH", dir, 1) == 0 ? take_locale("comma") : -1;
  snprintf(command, sizeof command, "rm -rf %s", dir);
  if (system(command) != 0) fprintf(stderr, "could not remove %s\n", dir);
  return r;
}

static void test_locale(struct buf *b) {
  char text[8];
  if (comma_locale() < 0) {
    puts("json: no locale with a decimal comma here: one test skipped");
    return;
  }
  snprintf(text, sizeof text, "%.1f", 0.5);
  CHECK_STR(text, strlen(text), "0,5");
  test_doubles(b);
  test_long_numbers();
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  arena_init(&a, &m);
  struct node *v = json_tree(&a, STR("[0.5,1.25e-9,123456789012345678.5,1e300,0,5]"), 2, &e);
  b->n = 0;
  CHECK(v != NULL && json_write(b, v, &e) == 0);
  CHECK_STR(b->p, b->n, "[0.5,1.25e-9,1.2345678901234568e17,1e300,0,5]");
  CHECK(json_tree(&a, STR("0,5"), 2, &e) == NULL);
  arena_free(&a);
  setlocale(LC_ALL, "C");
}

/* The reader's value of a number's text. */
static double read_double(const char *text, size_t n) {
  struct err e;
  struct json j;
  json_open(&j, (struct str){ text, n }, 1, &e);
  return json_next(&j) == J_DOUBLE ? j.d : -1;
}

/* The reader has ways of its own for 1 to 19 digits, before and behind the point. */
static void test_decimals(void) {
  static const char *const HARD[] = { /* halves, and what is next to them */
    "9007199254740993.0", "4503599627370496.5", "4503599627370497.5", "0.500000000000000166533453693773481063544750213623046875",
    "0.5000000000000001665", "1.00000000000000011102", "0.0000000000000000000000000000000000000000001234567890123456789",
    "1844674407370955161.6", "0.0", "0.000", "9999999999999999999.9", "0.9999999999999999999", "1234567890123456789e-40",
    "1.7976931348623158e308", "2.2250738585072011e-308", "0.1e1", "12345678901234567890.5e-3", "1e-41", "9007199254740992e22",
  };
  for (size_t i = 0; i < sizeof HARD / sizeof *HARD; i++)
    CHECK(same_bits(read_double(HARD[i], strlen(HARD[i])), strtod(HARD[i], NULL)));
  random_state = 11;
  int wrong = 0;
  for (int i = 0; i < 200000; i++) {
    char digits[24], text[80];
    uint64_t x = random_next();
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)(x >> (random_next() % 60)));
    int zeros = (int)(random_next() % 24);
    int m = random_next() % 2 != 0
              ? snprintf(text, sizeof text, "0.%0*d%s", zeros + 1, 0, digits)
              : snprintf(text, sizeof text, "%.*s.%s", 1 + zeros % n, digits[0] == '0' ? "7" : digits, digits);
    if (!same_bits(read_double(text, (size_t)m), strtod(text, NULL))) wrong++;
  }
  CHECK(wrong == 0);
}

int main(void) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  test_integers(&b);
  test_doubles(&b);
  test_random_doubles(&b);
  test_decimals();
  test_long_numbers();
  test_locale(&b);
  buf_free(&b);
  return test_done("json/number");
}
