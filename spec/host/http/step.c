/*
** step.c: engine_step with a budget: a step does no more than there is time for, and the next one goes on where it
** stopped. A budget of 0 is one piece of work, so that nothing here depends on a clock.
*/
#include <fcntl.h>

#include "support/world.h"

enum { N = 7 };

/* A pipe in the engine's pollset: how often it was served, and whether it is read empty then. */
struct line { int fd[2], served, keep; };

static void on_line(void *ud, int fd, int events) {
  struct line *l = ud;
  char c;
  (void)events;
  l->served++;
  if (!l->keep) CHECK(read(fd, &c, 1) == 1);
}

static void open_lines(struct world *w, struct line *l, int keep) {
  for (int i = 0; i < N; i++) {
    l[i] = (struct line){ .keep = keep };
    CHECK(pipe2(l[i].fd, O_CLOEXEC | O_NONBLOCK) == 0 && write(l[i].fd[1], "x", 1) == 1);
    CHECK(pollset_set(engine_pollset(w->g), l[i].fd[0], POLLSET_IN, on_line, &l[i], &w->e) == 0);
  }
}

static void close_lines(struct world *w, struct line *l) {
  for (int i = 0; i < N; i++) {
    pollset_remove(engine_pollset(w->g), l[i].fd[0]);
    close(l[i].fd[0]);
    close(l[i].fd[1]);
  }
}

static int budget_step(struct world *w, double timeout, double budget) {
  int interrupted;
  err_clear(&w->e);
  return engine_step(w->g, timeout, budget, &interrupted, &w->e);
}

static int served(const struct line *l) {
  int n = 0;
  for (int i = 0; i < N; i++) n += l[i].served;
  return n;
}

static int unserved(const struct line *l) {
  int n = 0;
  for (int i = 0; i < N; i++) n += l[i].served == 0;
  return n;
}

/* N ready descriptors need N steps; each is served. */
static void test_one_a_step(struct world *w) {
  struct line l[N];
  open_lines(w, l, 0);
  for (int i = 0; i < N; i++) {
    CHECK(budget_step(w, -1, 0) == 0);
    CHECK(served(l) == i + 1);
  }
  for (int i = 0; i < N; i++) CHECK(l[i].served == 1);
  CHECK(budget_step(w, 0, 0) == 0 && served(l) == N);
  close_lines(w, l);
}

/* Those that stay ready take turns, whatever is between the steps. */
static void test_turns(struct world *w) {
  struct line l[N];
  open_lines(w, l, 1);
  for (int round = 1; round <= 5; round++) {
    for (int i = 0; i < N; i++) CHECK(budget_step(w, -1, 0) == 0 && served(l) == (round - 1) * N + i + 1);
    for (int i = 0; i < N; i++) CHECK(l[i].served == round);
  }
  close_lines(w, l);
}

/* With time enough a step does all there is, and ends when nothing is left. */
static void test_time_enough(struct world *w) {
  struct line l[N];
  open_lines(w, l, 0);
  CHECK(budget_step(w, -1, 1e6) == 0 && served(l) == N);
  close_lines(w, l);
}

/* Transfers that are overdue are ended, one a step, though there are always descriptors that are ready; and these are
** served in the steps that follow, where all transfers were overdue from the first step on. */
static void test_deadlines(struct world *w) {
  struct line l[N];
  struct ask a;
  struct transfer *t[N];
  const struct err *f;
  int ended = 0, steps = 0;
  for (int i = 0; i < N; i++) {
    ask(&a, "GET", "/stall")->timeouts.total = 0.001;
    t[i] = transfer_start(w->http, &a.r, NULL, &w->e);
  }
  open_lines(w, l, 1);
  while ((ended < N || unserved(l) > 0) && steps < 1 << 20 && budget_step(w, 0, 0) == 0) {
    int before = ended;
    ended = 0;
    for (int i = 0; i < N; i++) ended += over(t[i]);
    CHECK(ended <= before + 1);
    CHECK(served(l) + ended <= ++steps);
  }
  for (int i = 0; i < N; i++) {
    CHECK(transfer_done(t[i], &f) && f != NULL && f->kind == KIND_TIMEOUT);
    CHECK(l[i].served > 0);
    transfer_close(t[i]);
  }
  close_lines(w, l);
}

/* A transfer that is overdue is ended beside one that is read between any two steps, and paused in each: libcurl then wants to
** be called at once, and watches its socket anew. */
static void test_read_between(struct world *w) {
  struct ask big, stall;
  const struct err *f;
  int steps = 0;
  ask(&big, "GET", "/big?40000000")->high_water = 4096;
  ask(&stall, "GET", "/stall")->timeouts.total = 0.001;
  struct transfer *t = transfer_start(w->http, &big.r, NULL, &w->e);
  while (!transfer_body(t)->n) CHECK(budget_step(w, -1, 0) == 0);
  struct transfer *late = transfer_start(w->http, &stall.r, NULL, &w->e);
  usleep(2000);
  while (!over(late) && ++steps < 100) {
    CHECK(budget_step(w, 0, 0) == 0);
    transfer_body(t)->n = 0;
    transfer_taken(t);
  }
  CHECK(transfer_done(late, &f) && f != NULL && f->kind == KIND_TIMEOUT);
  CHECK(!over(t));
  transfer_close(late);
  transfer_close(t);
}

/* Answers come in whole, one socket's bytes a step. */
static void test_transfers(struct world *w) {
  struct ask a;
  struct transfer *t[N];
  const struct err *f;
  int done = 0;
  for (int i = 0; i < N; i++) t[i] = transfer_start(w->http, ask(&a, "GET", "/big?50000"), NULL, &w->e);
  while (done < N && budget_step(w, -1, 0) == 0) {
    int news = 0;
    while (ready(w->g) != NULL) news++;
    CHECK(news <= 1);
    done = 0;
    for (int i = 0; i < N; i++) done += over(t[i]);
  }
  for (int i = 0; i < N; i++) {
    CHECK(transfer_done(t[i], &f) && f == NULL && transfer_body(t[i])->n == 50000);
    transfer_close(t[i]);
  }
}

int main(void) {
  struct world w;
  alarm(120); /* a hang is a failure */
  server_start(&server);
  open_world(&w, 0);
  test_one_a_step(&w);
  test_turns(&w);
  test_time_enough(&w);
  test_deadlines(&w);
  test_read_between(&w);
  test_transfers(&w);
  close_world(&w);
  server_stop(&server);
  return test_done("http/step");
}
