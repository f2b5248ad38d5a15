/*
** program.c: what is said to programs and what they say: lines, however they are cut; queues; standard error. Beside it
** program_end. `program cut` and `program count` are commands of the test.
*/
#include <fcntl.h>

#include "talk.h"

/* {{{ input and output */

static void test_talk(void) {
  struct talk t;
  struct process_result r;
  struct program_spec s = SCRIPT("while read -r x; do echo \"<$x>\"; done; echo over >&2; exit 3");
  CHECK(open_program(&t, &s) == 0);
  for (int i = 0; i < 100; i++) {
    char words[20], answer[20];
    snprintf(words, sizeof words, "%d\n", i);
    snprintf(answer, sizeof answer, "<%d>", i);
    CHECK(say(&t, words) == 0);
    IS(&t, answer);
  }
  program_close_input(t.p);
  program_close_input(t.p);
  CHECK(say(&t, "more\n") < 0 && strcmp(t.e.code, "closed") == 0);
  IS(&t, "END");
  CHECK(over(&t, &r) == 0 && r.code == 3 && r.signal == 0 && !r.timed_out && r.left == 0);
  CHECK_STR(r.output[PROCESS_ERR].p, r.output[PROCESS_ERR].n, "over\n");
  IS(&t, "END");
  close_program(&t);
}

/* The command writes its text in two pieces, cut at `at`, the second one when it is told to. */
static int say_cut(const char *text, size_t at) {
  char c;
  return write(1, text, at) != (ssize_t)at || read(0, &c, 1) != 1 ||
         write(1, text + at, strlen(text) - at) != (ssize_t)(strlen(text) - at);
}

static void test_cuts(void) {
  static const char TEXT[] = "one\n\ntwo\r\n\xC3\xA9\nthree\rfour\n\r\nrest";
  static const char *const LINES[] = { "one", "", "two", "\xC3\xA9", "three\rfour", "", "rest", "END" };
  for (size_t at = 0; at < sizeof TEXT; at++) {
    char where[20];
    struct talk t;
    size_t i = 0;
    snprintf(where, sizeof where, "%zu", at);
    struct program_spec s = LIVE(self, "cut", where, TEXT);
    CHECK(open_program(&t, &s) == 0);
    /* As many lines as are whole before the cut, then the rest. */
    for (size_t lines = 0, n = 0; n < at; n++)
      if (TEXT[n] == '\n') CHECK(strcmp(line(&t), LINES[i++]) == 0 && ++lines);
    struct str none;
    CHECK(program_line(t.p, &none, &t.e) == PIPE_LATER);
    CHECK(say(&t, "x") == 0);
    for (; i < sizeof LINES / sizeof *LINES; i++) CHECK(strcmp(line(&t), LINES[i]) == 0);
    close_program(&t);
  }
}

static void test_long_line(void) {
  struct talk t;
  struct str s = STR_NONE;
  struct process_result r;
  struct program_spec spec = SCRIPT("head -c 10485760 /dev/zero; echo; echo next");
  enum pipe_got got;
  CHECK(open_program(&t, &spec) == 0);
  while ((got = program_line(t.p, &s, &t.e)) == PIPE_LATER) step(&t, -1);
  CHECK(got == PIPE_BYTES && s.n == 10485760 && s.p[0] == '\0' && s.p[s.n - 1] == '\0');
  program_took(t.p);
  IS(&t, "next");
  IS(&t, "END");
  close_program(&t);
  spec.line_max = 1 << 20; /* one that is over it: the end of the program, which would write for ever */
  spec.process.argv = SH("echo fine; exec cat /dev/zero");
  CHECK(open_program(&t, &spec) == 0);
  IS(&t, "fine");
  for (int i = 0; i < 2; i++) CHECK(strcmp(line(&t), "FAILED") == 0 && t.e.kind == KIND_LIMIT);
  CHECK(over(&t, &r) == 0 && r.signal == SIGTERM);
  CHECK(strcmp(line(&t), "FAILED") == 0 && t.e.kind == KIND_LIMIT);
  close_program(&t);
}

/* Writes lines, and tells how many bytes that were so far, in the file "child". */
static int count_lines(void) {
  static char text[1000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\n';
  for (int n = 0;; n += 1000) {
    FILE *f = fopen("counted", "w");
    fprintf(f, "%d\n", n);
    fclose(f);
    if (rename("counted", "child") < 0 || write(1, text, sizeof text) != sizeof text) return 1;
  }
}

static int read_count(void) {
  char path[100];
  int n = -1;
  snprintf(path, sizeof path, "%s/child", dir);
  FILE *f = fopen(path, "r");
  if (f == NULL) return -1;
  if (fscanf(f, "%d", &n) != 1) n = -1;
  fclose(f);
  return n;
}

/* A reader that does not read stops the program: it gets no further than a pipe and a step of ours hold. */
static void test_slow_reader(void) {
  struct talk t;
  struct program_spec s = LIVE(self, "count");
  int n = -1, before;
  CHECK(open_program(&t, &s) == 0);
  (void)line(&t);
  do {
    before = n;
    for (int i = 0; i < 20; i++) step(&t, 0.005);
    n = read_count();
  } while (n < 60000 || n != before);
  CHECK(n < 65536 + 2 * 65536);
  CHECK(t.f.live < 100000);
  for (int i = 0; i < 1000; i++) (void)line(&t);
  CHECK(read_count() > 900000);
  close_program(&t);
  forget();
  char path[100];
  snprintf(path, sizeof path, "%s/counted", dir);
  unlink(path);
}

/* A program that reads nothing, then everything. */
static void test_slow_writer(void) {
  enum { N = 4 << 20 };
  static char all[N];
  struct talk t;
  struct program_spec s = SCRIPT("while [ ! -e child ]; do sleep 0.005; done; cat | wc -c");
  memset(all, 'a', sizeof all);
  CHECK(open_program(&t, &s) == 0 && program_room(t.p, &t.e) == 1);
  CHECK(program_write(t.p, (struct str){ all, N }, &t.e) == 0 && program_room(t.p, &t.e) == 0);
  for (int i = 0; i < 10; i++) step(&t, 0.005);
  CHECK(program_room(t.p, &t.e) == 0);
  program_close_input(t.p); /* behind what is queued */
  char path[100];
  snprintf(path, sizeof path, "%s/child", dir);
  CHECK(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
  while (program_room(t.p, &t.e) == 0) step(&t, -1);
  CHECK(program_room(t.p, &t.e) == 1);
  IS(&t, "4194304");
  IS(&t, "END");
  close_program(&t);
  forget();
}

static volatile sig_atomic_t broken;

static void on_broken(int sig) {
  (void)sig;
  broken++;
}

/* It closes its input, and lives on: no SIGPIPE, whatever the host does about that. */
static void test_reads_no_more(void) {
  sigset_t set, before, pending;
  for (int way = 0; way < 4; way++) {
    struct talk t;
    struct program_spec s = SCRIPT("exec 0<&-; echo closed; while [ ! -e child ]; do sleep 0.005; done; echo on");
    char path[100];
    snprintf(path, sizeof path, "%s/child", dir);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    signal(SIGPIPE, way == 0 ? SIG_DFL : way == 1 ? SIG_IGN : on_broken);
    sigprocmask(SIG_SETMASK, NULL, &before);
    if (way == 3) {
      sigprocmask(SIG_BLOCK, &set, NULL); /* one that is waiting stays */
      raise(SIGPIPE);
    }
    CHECK(open_program(&t, &s) == 0);
    IS(&t, "closed");
    for (int i = 0; i < 2; i++) CHECK(say(&t, "x\n") < 0 && t.e.kind == KIND_OTHER && strcmp(t.e.code, "closed") == 0);
    CHECK(program_room(t.p, &t.e) == -1 && strcmp(t.e.code, "closed") == 0 && broken == 0);
    sigpending(&pending);
    CHECK(sigismember(&pending, SIGPIPE) == (way == 3));
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    CHECK(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
    IS(&t, "on");
    IS(&t, "END");
    CHECK(say(&t, "x\n") < 0 && strcmp(t.e.code, "closed") == 0);
    close_program(&t);
    forget();
  }
}

/* It ends while bytes wait to be written, and while a line is waited for. */
static void test_killed(void) {
  static char all[1 << 20];
  struct talk t;
  struct process_result r;
  struct program_spec s = SCRIPT("echo half a; printf line; echo $$ > child; exec sleep 1000");
  CHECK(open_program(&t, &s) == 0);
  IS(&t, "half a");
  CHECK(program_write(t.p, (struct str){ all, sizeof all }, &t.e) == 0 && program_room(t.p, &t.e) == 0);
  kill(told("child"), SIGKILL);
  IS(&t, "line");
  IS(&t, "END");
  CHECK(over(&t, &r) == 0 && r.signal == SIGKILL && r.code == -1);
  CHECK(program_room(t.p, &t.e) == -1 && strcmp(t.e.code, "closed") == 0 && say(&t, "x") < 0);
  close_program(&t);
}

/* }}} */

/* {{{ standard error */

static void test_error(void) {
  struct talk t;
  struct process_result r;
  struct program_spec s = SCRIPT("head -c 3000000 /dev/zero >&2; echo; seq 1 100000 >&2; echo done");
  s.error_max = 12;
  CHECK(open_program(&t, &s) == 0);
  IS(&t, ""); /* it is read though nobody asks */
  IS(&t, "done");
  IS(&t, "END");
  CHECK(over(&t, &r) == 0 && r.dropped[PROCESS_ERR] == 3000000 + 588895 - 12);
  CHECK_STR(r.output[PROCESS_ERR].p, r.output[PROCESS_ERR].n, "9999\n100000\n");
  CHECK(t.f.live < 200000);
  close_program(&t);
  s.process.argv = SH("echo kept >&2; exit 0");
  s.error_max = 0;
  CHECK(open_program(&t, &s) == 0 && over(&t, &r) == 0);
  CHECK(r.output[PROCESS_ERR].n == 0 && r.dropped[PROCESS_ERR] == 5);
  close_program(&t);
}

/* Its lines: all that are taken in time; else the last ones. */
static void test_error_lines(void) {
  struct talk t;
  struct process_result r;
  struct str l;
  int n = 0;
  struct program_spec s = SCRIPT("i=0; while [ $i -lt 500 ]; do echo \"line $i\" >&2; i=$((i + 1)); done; "
                                 "printf 'r\\r\\nrest' >&2");
  s.error_lines = 1;
  s.error_max = 4000;
  CHECK(open_program(&t, &s) == 0);
  const struct err *failure;
  for (int done = 0; !done;) {
    if (!program_done(t.p, &failure)) step(&t, -1);
    else done = 1;
    while (program_error_line(t.p, &l)) {
      char expected[20];
      snprintf(expected, sizeof expected, n < 500 ? "line %d" : n == 500 ? "r" : "rest", n);
      CHECK_STR(l.p, l.n, expected);
      n++;
    }
  }
  CHECK(n == 502);
  close_program(&t);
  s.process.argv = SH("seq 1 1000 >&2");
  s.error_max = 13;
  CHECK(open_program(&t, &s) == 0 && over(&t, &r) == 0);
  for (n = 0; program_error_line(t.p, &l); n++) CHECK(l.n <= 4 && l.p[l.n] == '\n');
  CHECK(n > 0 && n < 10);
  close_program(&t);
}

/* }}} */

int main(int argc, char **argv) {
  if (argc > 3 && strcmp(argv[1], "cut") == 0) return say_cut(argv[3], (size_t)atoi(argv[2]));
  if (argc > 1 && strcmp(argv[1], "count") == 0) return count_lines();
  if (begin() < 0) return 1;
  test_talk();
  test_cuts();
  test_long_line();
  test_slow_reader();
  test_slow_writer();
  test_reads_no_more();
  test_killed();
  test_error();
  test_error_lines();
  CHECK(rmdir(dir) == 0);
  return test_done("process/program");
}
