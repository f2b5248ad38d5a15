/* test.h: the whole test framework of the C programs: CHECK counts, test_done reports and gives main's result. */
#ifndef KOINE_SPEC_C_SUPPORT_TEST_H
#define KOINE_SPEC_C_SUPPORT_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_passed, test_failed;

#define CHECK(cond) \
  ((cond) ? (void)test_passed++ \
          : (test_failed++, (void)fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond)))

/* Compares bytes with a string literal or C string and shows both when they differ. */
#define CHECK_STR(ptr, len, expect) test_str(__FILE__, __LINE__, (ptr), (len), (expect))

static inline void test_str(const char *file, int line, const char *p, size_t n, const char *expect) {
  if (n == strlen(expect) && (n == 0 || memcmp(p, expect, n) == 0)) { test_passed++; return; }
  test_failed++;
  fprintf(stderr, "%s:%d: got «%.*s», expected «%s»\n", file, line, (int)n, p ? p : "", expect);
}

/* KOINE_EVERY=n: of many cases, such as each allocation in turn, every nth. */
static inline size_t test_every(void) {
  const char *n = getenv("KOINE_EVERY");
  return n != NULL && atoi(n) > 0 ? (size_t)atoi(n) : 1;
}

static inline int test_done(const char *name) {
  printf("%s: %d passed, %d failed\n", name, test_passed, test_failed);
  return test_failed != 0;
}

#endif
