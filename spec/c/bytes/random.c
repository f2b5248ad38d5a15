/* Tests of random bytes: they fill what was asked for, differ each time, and are not more than the system gives. Ids of a
** process and its fork differ. */
#include <sys/wait.h>
#include <unistd.h>

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

#define ID 8

static void test_ids_differ(void) {
  enum { COUNT = 200 };
  unsigned char ids[COUNT][ID];
  for (int i = 0; i < COUNT; i++) {
    CHECK(random_id(ids[i], ID) == 0);
    for (int j = 0; j < i; j++) CHECK(memcmp(ids[i], ids[j], ID) != 0);
  }
}

static void test_id_sizes(void) {
  unsigned char a[RANDOM_MAX + 1] = { 0 };
  CHECK(random_id(a, 1) == 0);
  CHECK(random_id(a, RANDOM_MAX) == 0);
  CHECK(a[RANDOM_MAX] == 0);
  CHECK(random_id(a, sizeof a) == -1);
}

/* The ids that a fork's child makes next, and those of the child's own child. */
static void test_forks_differ(void) {
  unsigned char ids[3][ID];
  int ends[2];
  pid_t child;
  CHECK(random_id(ids[0], ID) == 0); /* there is something that a fork would inherit */
  CHECK(pipe(ends) == 0);
  child = fork();
  if (child == 0) {
    pid_t inner = fork();
    int bad = random_id(ids[0], ID) != 0 || write(ends[1], ids[0], ID) != ID;
    if (inner > 0) waitpid(inner, NULL, 0);
    _exit(bad);
  }
  CHECK(child > 0 && waitpid(child, NULL, 0) == child);
  CHECK(random_id(ids[0], ID) == 0);
  CHECK(read(ends[0], ids[1], ID) == ID);
  CHECK(read(ends[0], ids[2], ID) == ID);
  for (int i = 1; i < 3; i++)
    for (int j = 0; j < i; j++) CHECK(memcmp(ids[i], ids[j], ID) != 0);
  close(ends[0]);
  close(ends[1]);
}

int main(void) {
  test_fill();
  test_too_many();
  test_ids_differ();
  test_id_sizes();
  test_forks_differ();
  return test_done("bytes/random");
}
