/* Tests of random bytes: they fill what was asked for, differ each time, and are not more than the system gives. */
#include "core/bytes/random.h"
#include "support/test.h"

static void test_fill(void) {
  unsigned char a[RANDOM_MAX + 2] = { 0 }, b[RANDOM_MAX + 2] = { 0 };
  int seen = 0;
  CHECK(random_fill(a + 1, RANDOM_MAX) == 0);
  CHECK(random_fill(b + 1, RANDOM_MAX) == 0);
  CHECK(memcmp(a, b, sizeof a) != 0);
  CHECK(a[0] == 0 && a[RANDOM_MAX + 1] == 0);
  for (int i = 1; i <= RANDOM_MAX; i++) seen += a[i] != 0;
  CHECK(seen > RANDOM_MAX / 2); /* 255 are expected */
}

static void test_too_many(void) {
  unsigned char a[RANDOM_MAX + 1];
  CHECK(random_fill(a, sizeof a) == -1);
}

int main(void) {
  test_fill();
  test_too_many();
  return test_done("bytes/random");
}
