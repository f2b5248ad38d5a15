/* pollset.c: entries come, change and go, also from inside handlers; one descriptor stands for all; turns; news. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "core/engine/pollset.h"
#include "support/failing.h"
#include "support/test.h"
#include "support/ticks.h"

/* The events that the handlers saw, and their orders. */
struct seen {
  struct pollset *p;
  int calls, fd, events;
  int armed;         /* the next call removes the one of `pair` that it was not called for */
  int pair[2];
  int replace;       /* and registers it anew */
};

static void handler(void *ud, int fd, int events) {
  struct seen *s = ud;
  struct err e;
  s->calls++;
  s->fd = fd;
  s->events = events;
  if (!s->armed) return;
  int other = fd == s->pair[0] ? s->pair[1] : s->pair[0];
  s->armed = 0;
  pollset_remove(s->p, other);
  if (s->replace) pollset_set(s->p, other, POLLSET_IN, handler, s, &e);
}

/* Removes its own entry. */
static void leaver(void *ud, int fd, int events) {
  struct seen *s = ud;
  (void)events;
  s->calls++;
  pollset_remove(s->p, fd);
}

static int readable(int fd) {
  struct pollfd pf = { fd, POLLIN, 0 };
  return poll(&pf, 1, 0) == 1;
}

static struct pollset *fresh(const struct mem *m, struct seen *s) {
  struct err e;
  err_clear(&e);
  *s = (struct seen){ .p = pollset_new(m, &e), .fd = -1 };
  CHECK(s->p != NULL);
  return s->p;
}

static void test_events(const struct mem *m) {
  struct seen s;
  struct err e;
  int fd[2], intr;
  struct pollset *p = fresh(m, &s);
  CHECK(pipe(fd) == 0);
  CHECK((fcntl(pollset_fd(p), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(pollset_wait(p, 0, &intr, &e) == 0 && !intr);
  CHECK(pollset_set(p, fd[0], POLLSET_IN, handler, &s, &e) == 0);
  CHECK(!readable(pollset_fd(p)));
  CHECK(pollset_wait(p, 0, &intr, &e) == 0 && s.calls == 0);
  CHECK(write(fd[1], "x", 1) == 1);
  CHECK(readable(pollset_fd(p)));
  CHECK(pollset_wait(p, -1, &intr, &e) == 1);
  CHECK(s.calls == 1 && s.fd == fd[0] && s.events == POLLSET_IN);
  CHECK(pollset_set(p, fd[0], 0, handler, &s, &e) == 0);
  CHECK(pollset_wait(p, 0, &intr, &e) == 0);
  CHECK(pollset_set(p, fd[1], POLLSET_OUT, handler, &s, &e) == 0);
  CHECK(pollset_wait(p, 0, &intr, &e) == 1 && s.fd == fd[1] && s.events == POLLSET_OUT);
  pollset_remove(p, fd[1]);
  pollset_remove(p, fd[1]);
  pollset_remove(p, 100000);
  CHECK(pollset_wait(p, 0, &intr, &e) == 0);
  close(fd[1]);
  CHECK(pollset_wait(p, 0, &intr, &e) == 1 && s.fd == fd[0] && (s.events & POLLSET_ERR) != 0);
  pollset_remove(p, fd[0]);
  close(fd[0]);
  pollset_free(p);
}

/* A handler removes the other ready entry: that one no longer runs, registered anew or not. */
static void test_remove_inside(const struct mem *m, int replace) {
  struct seen s;
  struct err e;
  int a[2], b[2], intr;
  struct pollset *p = fresh(m, &s);
  CHECK(pipe(a) == 0 && pipe(b) == 0);
  CHECK(write(a[1], "x", 1) == 1 && write(b[1], "x", 1) == 1);
  CHECK(pollset_set(p, a[0], POLLSET_IN, handler, &s, &e) == 0);
  CHECK(pollset_set(p, b[0], POLLSET_IN, handler, &s, &e) == 0);
  CHECK(pollset_wait(p, 0, &intr, &e) == 2);
  s.calls = 0;
  s.armed = 1;
  s.replace = replace;
  s.pair[0] = a[0];
  s.pair[1] = b[0];
  CHECK(pollset_wait(p, 0, &intr, &e) == 1 && s.calls == 1);
  CHECK(pollset_wait(p, 0, &intr, &e) == (replace ? 2 : 1));
  CHECK(pollset_set(p, a[0], POLLSET_IN, leaver, &s, &e) == 0 && pollset_set(p, b[0], POLLSET_IN, leaver, &s, &e) == 0);
  CHECK(pollset_wait(p, 0, &intr, &e) == 2);
  CHECK(pollset_wait(p, 0, &intr, &e) == 0);
  close(a[0]), close(a[1]), close(b[0]), close(b[1]);
  pollset_free(p);
}

/* A descriptor closed behind the set's back and reused by the system is watched again once it is set, with
** other events in between or the same ones at once. */
static void test_reused_number(const struct mem *m, int between) {
  struct seen s;
  struct err e;
  int a[2], b[2], intr;
  struct pollset *p = fresh(m, &s);
  CHECK(pipe(a) == 0);
  CHECK(pollset_set(p, a[0], POLLSET_IN, handler, &s, &e) == 0);
  close(a[0]);
  CHECK(pipe(b) == 0);
  CHECK(b[0] == a[0]);
  if (between) CHECK(pollset_set(p, b[0], 0, handler, &s, &e) == 0);
  CHECK(pollset_set(p, b[0], POLLSET_IN, handler, &s, &e) == 0);
  CHECK(write(b[1], "x", 1) == 1);
  CHECK(pollset_wait(p, 0, &intr, &e) == 1 && s.fd == b[0]);
  close(a[1]), close(b[0]), close(b[1]);
  pollset_free(p);
}

static void test_bad(const struct mem *m) {
  char expected[200];
  struct seen s;
  struct err e;
  struct pollset *p = fresh(m, &s);
  err_clear(&e);
  CHECK(pollset_set(p, -1, POLLSET_IN, handler, &s, &e) == -1 && e.kind == KIND_OTHER);
  err_clear(&e);
  CHECK(pollset_set(p, 5000, POLLSET_IN, handler, &s, &e) == -1 && e.kind == KIND_OTHER);
  snprintf(expected, sizeof expected, "cannot watch a descriptor: %s", strerror(EBADF));
  CHECK_STR(e.message, strlen(e.message), expected);
  pollset_remove(p, 5000);
  pollset_free(p);
  pollset_free(NULL);
}

/* A signal ends an endless wait at once. */
static void test_interrupted(const struct mem *m) {
  struct seen s;
  struct err e;
  int intr;
  struct pollset *p = fresh(m, &s);
  ticks_start();
  CHECK(pollset_wait(p, -1, &intr, &e) == 0 && intr == 1);
  ticks_stop();
  pollset_free(p);
}

/* Every allocation fails in turn. */
static void test_memory(void) {
  int fd[2], done = 0;
  CHECK(pipe(fd) == 0);
  for (size_t n = 1; !done && n < 10; n++) {
    struct failing f = { .fail_at = n };
    struct mem m = failing_mem(&f);
    struct err e;
    struct seen s = { .fd = -1 };
    err_clear(&e);
    struct pollset *p = pollset_new(&m, &e);
    if (p != NULL) done = pollset_set(p, fd[0], POLLSET_IN, handler, &s, &e) == 0;
    CHECK(done || e.kind == KIND_MEMORY);
    pollset_free(p);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(done);
  close(fd[0]), close(fd[1]);
}

static void reader(void *ud, int fd, int events) {
  struct seen *s = ud;
  char c;
  (void)events;
  s->calls += read(fd, &c, 1) == 1;
}

/* More descriptors are ready than the system tells of at a time: one wait serves them all, each once. */
static void test_many(const struct mem *m) {
  enum { N = 300 };
  struct seen s;
  struct err e;
  static int fd[N][2];
  int intr;
  struct pollset *p = fresh(m, &s);
  for (int i = 0; i < N; i++) {
    CHECK(pipe(fd[i]) == 0 && write(fd[i][1], "x", 1) == 1);
    CHECK(pollset_set(p, fd[i][0], POLLSET_IN, reader, &s, &e) == 0);
  }
  CHECK(pollset_wait(p, 0, &intr, &e) == N && s.calls == N);
  for (int i = 0; i < N; i++) {
    pollset_remove(p, fd[i][0]);
    close(fd[i][0]);
    close(fd[i][1]);
  }
  pollset_free(p);
}

/* One a call, in turn: the lap begins anew with the first that is served again; new and changed entries join in. */
static void test_one(const struct mem *m) {
  enum { N = 5 };
  struct seen s[N];
  struct err e;
  int fd[N][2], lap, intr;
  struct pollset *p = fresh(m, &s[0]);
  CHECK(pollset_one(p, &lap, &e) == 0 && !lap);
  for (int i = 0; i < N; i++) {
    s[i] = (struct seen){ .p = p, .fd = -1 };
    CHECK(pipe(fd[i]) == 0 && write(fd[i][1], "x", 1) == 1);
    CHECK(pollset_set(p, fd[i][0], POLLSET_IN, handler, &s[i], &e) == 0);
  }
  for (int round = 1; round <= 3; round++)
    for (int i = 0; i < N; i++) {
      CHECK(pollset_one(p, &lap, &e) == 1);
      CHECK(lap == (round > 1 && i == 0));
      int sum = 0;
      for (int k = 0; k < N; k++) {
        CHECK(s[k].calls == round || s[k].calls == round - 1);
        sum += s[k].calls;
      }
      CHECK(sum == (round - 1) * N + i + 1);
    }
  CHECK(pollset_await(p, -1, &intr, &e) == 1 && !intr && s[0].calls == 3);
  for (int i = 0; i < N; i++) CHECK(pollset_set(p, fd[i][0], POLLSET_IN, leaver, &s[i], &e) == 0);
  for (int i = 0; i < N; i++) CHECK(pollset_one(p, &lap, &e) == 1 && lap == (i == 0));
  CHECK(pollset_one(p, &lap, &e) == 0 && !lap && pollset_await(p, 0, &intr, &e) == 0);
  for (int i = 0; i < N; i++) {
    CHECK(s[i].calls == 4);
    close(fd[i][0]), close(fd[i][1]);
  }
  pollset_free(p);
}

/* An event of a descriptor that was closed and replaced behind the set's back takes no other one's turn. */
static void test_one_stale(const struct mem *m) {
  struct seen s;
  struct err e;
  int a[2], b[2], copy, lap;
  struct pollset *p = fresh(m, &s);
  CHECK(pipe(a) == 0 && pipe(b) == 0 && write(a[1], "x", 1) == 1 && write(b[1], "x", 1) == 1);
  CHECK((copy = dup(a[0])) >= 0); /* epoll goes on to watch the file */
  CHECK(pollset_set(p, a[0], POLLSET_IN, handler, &s, &e) == 0);
  close(a[0]);
  pollset_remove(p, a[0]); /* too late: the number is gone */
  CHECK(pollset_set(p, b[0], POLLSET_IN, leaver, &s, &e) == 0);
  CHECK(pollset_one(p, &lap, &e) == 1 && s.calls == 1);
  CHECK(pollset_one(p, &lap, &e) == 0 && s.calls == 1);
  close(copy), close(a[1]), close(b[0]), close(b[1]);
  pollset_free(p);
}

/* Whether the system watches fd for a pollset, as Linux lists it; elsewhere true. */
static int is_watched(struct pollset *p, int fd) {
#ifdef __linux__
  char path[64], line[256];
  int found = 0, number;
  (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pollset_fd(p));
  FILE *f = fopen(path, "r");
  CHECK(f != NULL);
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "tfd: %d", &number) == 1 && number == fd) found = 1;
  if (f != NULL) fclose(f);
  return found;
#else
  (void)p;
  (void)fd;
  return 1;
#endif
}

/* An entry that rests stays with the system, runs no handler, and goes when its descriptor is ready. */
static void test_rest(const struct mem *m) {
  struct seen s;
  struct err e;
  int fd[2], intr, lap;
  struct pollset *p = fresh(m, &s);
  CHECK(pipe(fd) == 0);
  pollset_rest(p, fd[0]); /* there is none */
  CHECK(pollset_is_idle(p));
  CHECK(pollset_set(p, fd[0], POLLSET_IN, handler, &s, &e) == 0 && !pollset_is_idle(p));
  for (int twice = 0; twice < 2; twice++) pollset_rest(p, fd[0]);
  CHECK(pollset_is_idle(p));
  CHECK(is_watched(p, fd[0]) && pollset_wait(p, 0, &intr, &e) == 0 && s.calls == 0);
  /* it is wanted again, as it was */
  CHECK(pollset_set(p, fd[0], POLLSET_IN, handler, &s, &e) == 0 && write(fd[1], "x", 1) == 1);
  CHECK(pollset_wait(p, 0, &intr, &e) == 1 && s.calls == 1 && s.events == POLLSET_IN);
  /* it is ready while it rests */
  for (int one = 0; one < 2; one++) {
    CHECK(pollset_set(p, fd[0], POLLSET_IN, handler, &s, &e) == 0);
    pollset_rest(p, fd[0]);
    CHECK((one ? pollset_one(p, &lap, &e) : pollset_wait(p, 0, &intr, &e)) == 1 && s.calls == 1);
    CHECK(!readable(pollset_fd(p)));
  }
  /* it is wanted for something else, and by somebody else */
  CHECK(pollset_set(p, fd[1], POLLSET_IN, handler, &s, &e) == 0);
  pollset_rest(p, fd[1]);
  CHECK(pollset_set(p, fd[1], POLLSET_OUT, leaver, &s, &e) == 0 && !pollset_is_idle(p));
  CHECK(pollset_wait(p, 0, &intr, &e) == 1 && s.calls == 2);
  /* it is removed, and its number comes again */
  CHECK(pollset_set(p, fd[0], POLLSET_IN, handler, &s, &e) == 0);
  pollset_rest(p, fd[0]);
  pollset_remove(p, fd[0]);
  CHECK(pollset_set(p, fd[0], POLLSET_IN, handler, &s, &e) == 0);
  CHECK(pollset_set(p, fd[0], POLLSET_IN, handler, &s, &e) == 0); /* for the second time, counted once */
  CHECK(pollset_wait(p, 0, &intr, &e) == 1 && s.calls == 3);
  for (int twice = 0; twice < 2; twice++) pollset_remove(p, fd[0]);
  pollset_remove(p, fd[1]);
  CHECK(pollset_is_idle(p));
  pollset_free(p);
  close(fd[0]);
  close(fd[1]);
}

/* First in, first out; putting in and taking out twice is no more than once. */
static void test_news(const struct mem *m) {
  struct seen s;
  struct news n[4] = { { .owner = &n[0] }, { .owner = &n[1] }, { .owner = &n[2] }, { .owner = &n[3] } };
  struct pollset *p = fresh(m, &s);
  CHECK(!pollset_has_news(p) && pollset_ready(p) == NULL);
  for (int i = 0; i < 4; i++) pollset_news(p, &n[i]);
  pollset_news(p, &n[0]);
  pollset_forget(p, &n[1]);
  pollset_forget(p, &n[1]);
  pollset_forget(p, &n[3]);
  CHECK(pollset_has_news(p) && pollset_ready(p)->owner == &n[0]);
  pollset_news(p, &n[1]);
  CHECK(pollset_ready(p) == &n[2] && pollset_ready(p) == &n[1] && pollset_ready(p) == NULL);
  pollset_news(p, &n[0]);
  pollset_forget(p, &n[0]);
  CHECK(!pollset_has_news(p));
  /* in turns */
  pollset_news(p, &n[0]);
  CHECK(pollset_ready_in_turn(p) == NULL);
  pollset_begin_turn(p);
  pollset_news(p, &n[1]);
  pollset_news(p, &n[0]); /* had some before */
  CHECK(pollset_ready_in_turn(p) == &n[0] && pollset_ready_in_turn(p) == NULL && pollset_has_news(p));
  pollset_begin_turn(p);
  CHECK(pollset_ready_in_turn(p) == &n[1] && pollset_ready_in_turn(p) == NULL && !pollset_has_news(p));
  pollset_free(p);
}

int main(void) {
  struct mem m = mem_libc();
  test_one(&m);
  test_one_stale(&m);
  test_rest(&m);
  test_news(&m);
  test_events(&m);
  test_many(&m);
  test_remove_inside(&m, 0);
  test_remove_inside(&m, 1);
  test_reused_number(&m, 0);
  test_reused_number(&m, 1);
  test_bad(&m);
  test_interrupted(&m);
  test_memory();
  return test_done("engine/pollset");
}
