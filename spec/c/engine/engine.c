/*
** engine.c: the engine alone: sources and descriptors take turns, the earliest is waited for, and whoever goes first leaves
** the others sound.
*/
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "support/failing.h"
#include "support/test.h"
#include "support/ticks.h"

/* The order of service: 'd' a descriptor, else a source's name for each piece. */
static char trace[64];

static void note(char what) {
  size_t n = strlen(trace);
  if (n + 1 < sizeof trace) trace[n] = what;
}

/* True when that is what happened since the last time. */
static int was(const char *expected) {
  int same = strcmp(trace, expected) == 0;
  if (!same) fprintf(stderr, "  %s, not %s\n", trace, expected);
  memset(trace, 0, sizeof trace);
  return same;
}

/* A source with so many pieces of work at `at`. */
struct job {
  struct source source;    /* first: a pointer to it is one to the job */
  char name;
  double at;
  int pieces, fails;
  int rearms;              /* after each piece it wants the next one, a moment later */
  int orphaned;
  struct engine *leaves;   /* when it runs, it takes itself out of it */
  struct job *takes;       /* and this one */
};

static double due(struct source *s) {
  const struct job *j = (const struct job *)s;
  return j->pieces > 0 || j->fails ? j->at : -1;
}

static int run(struct source *s, double now, int most, struct err *e) {
  struct job *j = (struct job *)s;
  int n = 0;
  if (j->leaves != NULL) engine_remove(j->leaves, s);
  if (j->takes != NULL) engine_remove(j->leaves, &j->takes->source);
  if (j->fails) note('!');
  if (j->fails) return err_set(e, KIND_OTHER, "it failed");
  for (; n < most && j->pieces > 0 && j->at <= now; n++, j->pieces--) {
    note(j->name);
    if (j->rearms) j->at = nextafter(now, INFINITY);
  }
  return n;
}

static void orphan(struct source *s) {
  ((struct job *)s)->orphaned++;
}

static void add(struct engine *g, struct job *j, char name, double at, int pieces) {
  *j = (struct job){ .source = { due, run, orphan, NULL }, .name = name, .at = at, .pieces = pieces };
  engine_add(g, &j->source);
}

/* Pipes that stay ready. */
enum { N = 3 };

static void on_line(void *ud, int fd, int events) {
  (void)ud, (void)fd, (void)events;
  note('d');
}

static void open_lines(struct engine *g, int (*fd)[2]) {
  struct err e;
  for (int i = 0; i < N; i++) {
    CHECK(pipe2(fd[i], O_CLOEXEC | O_NONBLOCK) == 0 && write(fd[i][1], "x", 1) == 1);
    CHECK(pollset_set(engine_pollset(g), fd[i][0], POLLSET_IN, on_line, NULL, &e) == 0);
  }
}

static void close_lines(struct engine *g, int (*fd)[2]) {
  for (int i = 0; i < N; i++) {
    pollset_remove(engine_pollset(g), fd[i][0]);
    close(fd[i][0]), close(fd[i][1]);
  }
}

static int step(struct engine *g, double timeout, double budget) {
  struct err e;
  int interrupted;
  err_clear(&e);
  return engine_step(g, timeout, budget, &interrupted, &e);
}

/* The earliest source is what a step waits for; a step does all that is due, and no more. */
static void test_due(const struct mem *m) {
  struct err e;
  struct job a, b;
  struct engine *g = engine_new(m, &e);
  CHECK(engine_mem(g) == m && (fcntl(engine_pollfd(g), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(engine_timeout(g) < 0 && step(g, 0, -1) == 0 && step(g, 0, 0) == 0);
  double now = clock_monotonic();
  add(g, &a, 'a', now + 1000, 1);
  CHECK(engine_timeout(g) > 900 && engine_timeout(g) <= 1000);
  add(g, &b, 'b', now + 0.02, 3);
  CHECK(engine_timeout(g) <= 0.02);
  while (b.pieces > 0) CHECK(step(g, -1, -1) == 0);
  CHECK(clock_monotonic() >= now + 0.02 && was("bbb"));
  CHECK(engine_timeout(g) > 900);
  b.at = 0, b.pieces = 2;
  CHECK(engine_timeout(g) == 0);
  CHECK(step(g, -1, 0) == 0 && was("b") && step(g, -1, 0) == 0 && was("b"));
  struct news n = { .owner = &a };
  pollset_news(engine_pollset(g), &n);
  CHECK(engine_timeout(g) == 0 && pollset_ready(engine_pollset(g)) == &n);
  engine_remove(g, &a.source);
  engine_remove(g, &a.source);
  CHECK(engine_timeout(g) < 0);
  engine_free(g);
  engine_free(NULL);
  CHECK(a.orphaned == 0 && b.orphaned == 1);
}

/* Piece by piece: the descriptors until one comes a second time, then of each source all that was due when their turn
** began; what becomes due meanwhile waits for the next turn, so that nothing starves. */
static void test_turns(const struct mem *m) {
  struct err e;
  int fd[N][2];
  struct job a, b;
  struct engine *g = engine_new(m, &e);
  open_lines(g, fd);
  add(g, &b, 'b', 0, 2);
  add(g, &a, 'a', 0, 100);
  a.rearms = 1;
  for (int i = 0; i < 14; i++) CHECK(step(g, -1, 0) == 0);
  CHECK(was("dddd" "abb" "ddd" "a" "ddd"));
  b.pieces = 2;
  CHECK(step(g, -1, -1) == 0 && was("ddd" "abb"));
  close_lines(g, fd);
  a.rearms = 0, a.pieces = b.pieces = 3;
  CHECK(step(g, -1, 1e6) == 0 && was("aaabbb")); /* ends when nothing is left */
  CHECK(step(g, 0, 1e6) == 0 && was(""));
  engine_free(g);
}

static struct pollset *watched;

/* Is watched anew whenever it is served, as libcurl does with the socket of a transfer that is paused and resumed. */
static void on_renewed(void *ud, int fd, int events) {
  struct err e;
  (void)events;
  note('d');
  pollset_remove(watched, fd);
  CHECK(pollset_set(watched, fd, POLLSET_IN, on_renewed, ud, &e) == 0);
}

/* A descriptor that is always ready and always new leaves the sources their turn. */
static void test_renewed(const struct mem *m) {
  struct err e;
  int fd[2];
  struct job a;
  struct engine *g = engine_new(m, &e);
  watched = engine_pollset(g);
  CHECK(pipe2(fd, O_CLOEXEC | O_NONBLOCK) == 0 && write(fd[1], "x", 1) == 1);
  CHECK(pollset_set(watched, fd[0], POLLSET_IN, on_renewed, NULL, &e) == 0);
  add(g, &a, 'a', 0, 2);
  for (int i = 0; i < 6; i++) CHECK(step(g, 0, 0) == 0);
  CHECK(was("ddaadd"));
  pollset_remove(watched, fd[0]);
  close(fd[0]), close(fd[1]);
  engine_free(g);
}

/* A step that fails does what else there is, and the next one starts behind the failure. */
static void test_failure(const struct mem *m) {
  struct err e;
  struct job a, b;
  int interrupted;
  struct engine *g = engine_new(m, &e);
  add(g, &b, 'b', 0, 2);
  add(g, &a, 'a', 0, 0);
  a.fails = 1;
  CHECK(engine_step(g, -1, -1, &interrupted, &e) == -1 && strcmp(e.message, "it failed") == 0);
  CHECK(was("!bb"));
  b.pieces = 2;
  CHECK(step(g, -1, 0) == -1 && step(g, -1, 0) == 0 && step(g, -1, 0) == 0 && step(g, -1, 0) == -1);
  CHECK(was("!bb!"));
  engine_free(g);
}

/* Where the system's own descriptor fails, the sources work on. */
static void test_broken(const struct mem *m, double timeout, double budget) {
  struct err e;
  struct job a;
  int steps = 0, fd[N][2];
  struct engine *g = engine_new(m, &e);
  open_lines(g, fd);
  add(g, &a, 'a', 0, 2);
  close(engine_pollfd(g));
  CHECK(step(g, timeout, budget) == -1);
  while (a.pieces > 0 && steps++ < 3) (void)step(g, timeout, budget);
  CHECK(a.pieces == 0);
  memset(trace, 0, sizeof trace);
  close_lines(g, fd);
  engine_free(g);
}

/* Where a source is due and every descriptor rests, a step does not ask the system, whose descriptor is closed here. */
static void test_idle(const struct mem *m) {
  struct err e;
  struct job a;
  int fd[N][2];
  struct engine *g = engine_new(m, &e);
  open_lines(g, fd);
  for (int i = 0; i < N; i++) pollset_rest(engine_pollset(g), fd[i][0]);
  add(g, &a, 'a', 0, 2);
  close(engine_pollfd(g));
  CHECK(step(g, -1, -1) == 0 && was("aa"));
  CHECK(step(g, 0, -1) == -1 && was(""));
  close_lines(g, fd);
  engine_free(g);
}

/* A source may leave while it runs, and take others along: also the one whose turn is next. */
static void test_leaving(const struct mem *m, double budget) {
  struct err e;
  struct job a, b, c;
  struct engine *g = engine_new(m, &e);
  add(g, &c, 'c', 0, 1);
  add(g, &b, 'b', 0, 1);
  add(g, &a, 'a', 0, 1);
  a.leaves = g, a.takes = &b;
  for (int i = 0; i < 3; i++) CHECK(step(g, 0, budget) == 0);
  CHECK(was("ac") && engine_timeout(g) < 0);
  engine_free(g);
  CHECK(a.orphaned == 0 && b.orphaned == 0 && c.orphaned == 1);
}

/* A signal ends the wait, with a budget as without. */
static void test_interrupted(const struct mem *m, double budget) {
  struct err e;
  int interrupted = 0;
  struct engine *g = engine_new(m, &e);
  ticks_start();
  CHECK(engine_step(g, -1, budget, &interrupted, &e) == 0 && interrupted == 1);
  ticks_stop();
  CHECK(engine_step(g, 0, budget, &interrupted, &e) == 0 && interrupted == 0);
  engine_free(g);
}

/* Every allocation fails once. */
static void test_memory(void) {
  for (size_t n = 1; n <= 2; n++) {
    struct failing f = { .fail_at = n };
    struct mem m = failing_mem(&f);
    struct err e;
    err_clear(&e);
    CHECK(engine_new(&m, &e) == NULL && e.kind == KIND_MEMORY);
    CHECK(f.live == 0 && f.wrong == 0);
  }
}

int main(void) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  alarm(60); /* a hang is a failure */
  test_due(&m);
  test_turns(&m);
  test_renewed(&m);
  test_failure(&m);
  test_broken(&m, -1, -1);
  test_broken(&m, 0, 0);
  test_broken(&m, 0.001, 1);
  test_idle(&m);
  test_leaving(&m, -1);
  test_leaving(&m, 0);
  test_interrupted(&m, -1);
  test_interrupted(&m, 0);
  test_memory();
  CHECK(f.live == 0 && f.wrong == 0);
  return test_done("engine/engine");
}
