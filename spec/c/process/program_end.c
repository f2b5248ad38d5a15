/*
** program_end.c: how programs that are talked to end: by themselves, by degrees, with their engine, with their host; and that
** no descriptor, process or byte is left of them.
*/
#include <fcntl.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "support/descriptors.h"
#include "talk.h"

/* {{{ the end */

/* Other programs, their supervisors and children of the host's own are there; none holds the end of the pipe. */
static void test_input_ends(void) {
  struct talk t[4];
  struct program_spec s = SCRIPT("cat > /dev/null; echo end");
  pid_t other = -1;
  for (int i = 0; i < 4; i++) {
    CHECK(open_program(&t[i], &s) == 0);
    if (i != 1) continue;
    other = fork();
    if (other == 0) {
      execl("/bin/sleep", "sleep", "1000", (char *)NULL);
      _exit(127);
    }
  }
  struct run x;
  struct process_spec sleeper = spec(SH("exec sleep 1000"));
  CHECK(start(&x, &sleeper));
  for (int i = 0; i < 4; i++) {
    program_close_input(t[i].p);
    IS(&t[i], "end");
    IS(&t[i], "END");
  }
  for (int i = 0; i < 4; i++) close_program(&t[i]);
  drop(&x);
  CHECK(kill(other, SIGKILL) == 0 && waitpid(other, NULL, 0) == other);
}

/* Its child in the background keeps the output open: it is ended with the program, and so is the output. */
static void test_background(void) {
  struct talk t;
  struct process_result r;
  struct program_spec s = SCRIPT("(setsid sh -c 'echo from below; echo $$ > child; exec sleep 1000' &); "
                                 "read x; echo mine; exit 4");
  CHECK(open_program(&t, &s) == 0);
  int child = told("child");
  CHECK(say(&t, "\n") == 0);
  IS(&t, "from below");
  IS(&t, "mine");
  IS(&t, "END");
  CHECK(over(&t, &r) == 0 && r.code == 4 && gone(child));
  close_program(&t);
}

/* Somebody else has opened its output and keeps it: only what the program wrote is waited for. */
static void test_foreign_writer(void) {
  struct talk t;
  struct process_result r;
  char path[100];
  struct program_spec s = SCRIPT("echo $$ > child; while [ ! -e parent ]; do sleep 0.005; done; "
                                 "seq 1 1000; echo e >&2");
  CHECK(open_program(&t, &s) == 0);
  int command = told("child"), fd[2];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", command, i + 1);
    CHECK((fd[i] = open(path, O_WRONLY | O_CLOEXEC)) >= 0);
  }
  snprintf(path, sizeof path, "%s/parent", dir);
  CHECK(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
  for (int i = 1; i <= 1000; i++) {
    char expected[12];
    snprintf(expected, sizeof expected, "%d", i);
    CHECK(strcmp(line(&t), expected) == 0);
  }
  IS(&t, "END");
  CHECK(over(&t, &r) == 0 && r.code == 0);
  CHECK_STR(r.output[PROCESS_ERR].p, r.output[PROCESS_ERR].n, "e\n");
  close(fd[0]), close(fd[1]);
  close_program(&t);
  forget();
}

/* Three kinds of programs: how they end, and after how many grace periods. */
static void test_ladder(void) {
  static const struct { const char *script; int code, signal; double least, most; } CASES[] = {
    { "echo ready; cat; exit 5", 5, 0, 0, 0.9 },
    { "trap 'exit 6' TERM; echo ready; while :; do sleep 0.01; done", 6, 0, 1, 1.9 },
    { "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ > child; exec sleep 1000' &); echo ready; "
      "while :; do sleep 0.01; done", -1, SIGKILL, 2, 2.9 },
  };
  const double grace = 0.4;
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    struct talk t;
    struct process_result r;
    struct program_spec s = SCRIPT(CASES[i].script);
    s.process.grace = grace;
    CHECK(open_program(&t, &s) == 0);
    IS(&t, "ready");
    int child = CASES[i].signal != 0 ? told("child") : 0;
    double begun = clock_monotonic();
    program_end(t.p);
    CHECK(say(&t, "x") < 0 && strcmp(t.e.code, "closed") == 0);
    usleep(10000);
    program_end(t.p); /* no second period */
    CHECK(over(&t, &r) == 0 && r.code == CASES[i].code && r.signal == CASES[i].signal && !r.timed_out);
    double took = (clock_monotonic() - begun) / grace;
    CHECK(took >= CASES[i].least);
    if (took > CASES[i].most) fprintf(stderr, "  slow machine: %g grace periods\n", took);
    CHECK(child == 0 || gone(child));
    program_end(t.p);
    close_program(&t);
  }
}

static void test_stop_and_close(void) {
  struct talk t;
  struct process_result r;
  struct program_spec s = SCRIPT("printf 'ready\\nunread\\n'; exec sleep 1000");
  CHECK(open_program(&t, &s) == 0);
  IS(&t, "ready");
  program_end(t.p); /* the grace period is a minute: stop is sooner */
  program_stop(t.p);
  CHECK(over(&t, &r) == 0 && r.signal == SIGTERM);
  IS(&t, "unread");
  IS(&t, "END");
  close_program(&t);
  s.process.argv = SH("trap '' TERM; echo $$ > parent; sleep 1000 & echo $! > child; wait");
  CHECK(open_program(&t, &s) == 0);
  int parent = told("parent"), child = told("child");
  close_program(&t);
  CHECK(gone(parent) && gone(child));
  program_close(NULL);
}

/* What nobody will read is dropped, so that the program comes to its end. */
static void test_drop(void) {
  struct talk t;
  const struct err *failure;
  struct process_result r;
  struct program_spec s = SCRIPT("echo first; cat > /dev/null; head -c 30000000 /dev/zero; exit 7");
  CHECK(open_program(&t, &s) == 0);
  program_end(t.p);
  while (program_drop(t.p), !program_done(t.p, &failure)) step(&t, -1);
  program_result(t.p, &r);
  CHECK(failure == NULL && r.code == 7 && t.f.live < 400000);
  close_program(&t);
}

static void test_engine_gone(void) {
  struct talk t;
  const struct err *failure = NULL;
  struct str l;
  struct program_spec s = SCRIPT("printf 'one\\ntwo\\n'; echo oops >&2; echo $$ > child; exec sleep 1000");
  s.error_lines = 1;
  CHECK(open_program(&t, &s) == 0);
  IS(&t, "one");
  int child = told("child");
  step(&t, 0.01);
  engine_free(t.g);
  t.g = NULL;
  CHECK(program_done(t.p, &failure) && failure->kind == KIND_CANCELLED);
  IS(&t, "two");
  CHECK(program_line(t.p, &l, &t.e) == PIPE_FAILED && t.e.kind == KIND_CANCELLED);
  CHECK(say(&t, "x") < 0 && t.e.kind == KIND_CANCELLED && program_room(t.p, &t.e) < 0);
  CHECK(program_error_line(t.p, &l) == 1 && !program_error_line(t.p, &l));
  program_close_input(t.p);
  program_drop(t.p);
  program_end(t.p);
  program_stop(t.p);
  while (!dead(child)) usleep(1000);
  close_program(&t);
}

/* The host dies: by SIGKILL, with another process that has inherited all it had. */
static void test_host_killed(void) {
  pid_t host = fork();
  if (host == 0) {
    struct talk t;
    struct program_spec s = SCRIPT(
      "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ > child; exec sleep 1000' &); echo $$ > parent; "
      "while :; do sleep 1000; done");
    s.process.grace = 0.05;
    if (open_program(&t, &s) < 0) _exit(1);
    pid_t holder = fork();
    char path[100];
    snprintf(path, sizeof path, "%s/holder", dir);
    FILE *f = holder > 0 ? fopen(path, "w") : NULL;
    if (f != NULL && fprintf(f, "%d\n", (int)holder) > 0) fclose(f);
    for (;;) pause();
  }
  int holder = told("holder"), parent = told("parent"), child = told("child");
  kill(host, SIGKILL);
  while (!dead(parent) || !dead(child)) usleep(1000);
  CHECK(waitpid(host, NULL, 0) == host && kill(holder, SIGKILL) == 0);
}

static void test_refused(void) {
  static const struct { const char *name, *cwd, *code; } CASES[] = {
    { "koine-no-such-program", "/", "absent" }, { "/etc/passwd", "/", "" }, { "sh", "/nowhere", "" },
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    struct talk t;
    struct process_spec same = spec(ARGV(CASES[i].name));
    struct program_spec s = { .process = same };
    s.process.cwd = same.cwd = CASES[i].cwd;
    CHECK(open_program(&t, &s) < 0 && t.e.kind == KIND_OTHER);
    CHECK_STR(t.e.code, strlen(t.e.code), CASES[i].code);
    fails(&same, CASES[i].code, t.e.message); /* the same words */
    close_program(&t);
  }
}

/* }}} */

/* {{{ what is left of them */

/* Children of this process, zombies too. */
static int children(void) {
  int n = 0, pid;
  FILE *f = fopen("/proc/thread-self/children", "r");
  while (f != NULL && fscanf(f, "%d", &pid) == 1) n++;
  if (f != NULL) fclose(f);
  return n;
}

static void test_many(void) {
  enum { N = 200 };
  int before = open_descriptors();
  for (int i = 0; i < N; i++) {
    struct talk t;
    struct program_spec s = SCRIPT("cat");
    CHECK(open_program(&t, &s) == 0 && say(&t, "x\n") == 0);
    if (i % 3 == 0) IS(&t, "x");
    if (i % 2 == 0) program_close_input(t.p);
    close_program(&t);
  }
  CHECK(open_descriptors() == before);
  CHECK(children() == 0 && waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
}

/* Every allocation fails in turn; then every descriptor. */
static void test_want(void) {
  struct program_spec s = SCRIPT("read x; echo $x; head -c 100000 /dev/zero >&2; head -c 100000 /dev/zero");
  int before = open_descriptors(), done = 0, refused = 0;
  for (size_t n = 1; !done && n < 100; n++) {
    struct failing f = { .fail_at = n };
    struct mem m = failing_mem(&f);
    struct str l;
    struct err e;
    const struct err *failure = NULL;
    int interrupted, wants = 1;
    err_clear(&e);
    struct engine *g = engine_new(&m, &e);
    struct program *p = g == NULL ? NULL : program_start(g, &s, NULL, &e);
    if (p == NULL) CHECK(e.kind == KIND_MEMORY);
    while (p != NULL && !program_done(p, &failure)) {
      if (wants && program_write(p, STR("words\n"), &e) == 0) wants = 0;
      enum pipe_got got = program_line(p, &l, &e);
      if (got == PIPE_BYTES) program_took(p);
      if (wants || got == PIPE_FAILED) break; /* memory */
      engine_step(g, -1, -1, &interrupted, &e);
    }
    done = p != NULL && program_done(p, &failure) && failure == NULL && f.asked < n;
    program_close(p);
    engine_free(g);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(done && open_descriptors() == before);
  struct rlimit most, few;
  getrlimit(RLIMIT_NOFILE, &most);
  few = most;
  s.process.argv = SH("exit 0");
  for (rlim_t n = 5; n < 40; n++) {
    struct talk t;
    memset(&t, 0, sizeof t);
    t.m = failing_mem(&t.f);
    err_clear(&t.e);
    t.g = engine_new(&t.m, &t.e);
    few.rlim_cur = n;
    setrlimit(RLIMIT_NOFILE, &few);
    t.p = program_start(t.g, &s, &t, &t.e);
    setrlimit(RLIMIT_NOFILE, &most);
    if (t.p == NULL) refused += t.e.kind == KIND_OTHER;
    close_program(&t);
  }
  CHECK(refused > 0 && open_descriptors() == before);
}

/* }}} */

int main(void) {
  if (begin() < 0) return 1;
  test_input_ends();
  test_background();
  test_foreign_writer();
  test_ladder();
  test_stop_and_close();
  test_drop();
  test_engine_gone();
  test_host_killed();
  test_refused();
  test_many();
  test_want();
  CHECK(rmdir(dir) == 0);
  return test_done("process/program_end");
}
