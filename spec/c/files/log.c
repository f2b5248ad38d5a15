/* Tests of logs: files that several writers add lines to, their renaming, lines that were cut off, disks that are full. */
#include <sys/resource.h>
#include <sys/time.h>

#include "core/files/log.h"
#include "private_file_test.h"

static char path[200], older[220];

static int append(struct log *l, const char *line, size_t rotate) {
  struct err e;
  err_clear(&e);
  return log_append(l, path, (struct str){ line, strlen(line) }, rotate, &e);
}

/* What a file has, "" where there is none. */
static const char *text_of(const char *name) {
  static char text[4096];
  FILE *f = fopen(name, "rb");
  size_t n = f == NULL ? 0 : fread(text, 1, sizeof text - 1, f);
  text[n] = '\0';
  if (f != NULL) fclose(f);
  return text;
}

#define HAS(name, text) CHECK_STR(text_of(name), strlen(text_of(name)), text)

static void write_text(const char *text, mode_t mode) {
  FILE *f = fopen(path, "wb");
  CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, mode) == 0);
}

static void forget(void) {
  unlink(path);
  unlink(older);
}

static void test_append(void) {
  struct log l = { 0 };
  struct err e;
  struct stat st;
  err_clear(&e);
  mode_t before = umask(0);
  CHECK(log_open(&l, path, &e) == 0 && stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
  umask(before);
  CHECK((fcntl(l.fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(append(&l, "one\n", 0) == 0 && append(&l, "two\n", 0) == 0);
  log_close(&l);
  log_close(&l);
  CHECK(append(&l, "three\n", 0) == 0); /* opened again */
  HAS(path, "one\ntwo\nthree\n");
  log_close(&l);
  forget();
}

/* The mode of a file that was there is its owner's affair. */
static void test_mode(void) {
  struct log l = { 0 };
  struct stat st;
  write_text("before\n", 0640);
  CHECK(append(&l, "one\n", 0) == 0 && stat(path, &st) == 0 && (st.st_mode & 07777) == 0640);
  HAS(path, "before\none\n");
  log_close(&l);
  forget();
}

/* The second writer goes on in the new file, and does not rename that. */
static void test_rotate(void) {
  struct log first = { 0 }, second = { 0 };
  CHECK(append(&first, "0123456789\n", 10) == 0 && append(&second, "second\n", 10) == 0);
  HAS(older, "0123456789\n");
  HAS(path, "second\n");
  CHECK(append(&first, "first\n", 10) == 0); /* its own file is long, and at another path */
  HAS(older, "0123456789\n");
  HAS(path, "second\nfirst\n");
  CHECK(append(&second, "third\n", 10) == 0);
  HAS(older, "second\nfirst\n");
  HAS(path, "third\n");
  CHECK(unlink(path) == 0 && append(&first, "again\n", 0) == 0); /* somebody removed it */
  HAS(path, "again\n");
  log_close(&first);
  log_close(&second);
  forget();
}

/* A line without an end, of a writer that is gone, does not swallow the next one. */
static void test_cut(void) {
  struct log l = { 0 };
  write_text("whole\ncu", 0600);
  CHECK(append(&l, "one\n", 0) == 0 && append(&l, "two\n", 0) == 0);
  HAS(path, "whole\ncu\none\ntwo\n");
  log_close(&l);
  forget();
}

static int append_limited(void) {
  struct log l = { 0 };
  struct err e;
  struct rlimit most = { 16, RLIM_INFINITY };
  err_clear(&e);
  signal(SIGXFSZ, SIG_IGN);
  if (append(&l, "one\n", 0) < 0 || setrlimit(RLIMIT_FSIZE, &most) < 0) return 77;
  int failed = log_append(&l, path, STR("a line for which there is no room\n"), 0, &e);
  if (failed != -1 || e.kind != KIND_LIMIT || strcmp(e.code, "full") != 0) return 1;
  if (append(&l, "two\n", 0) != -1) return 2;
  most.rlim_cur = RLIM_INFINITY;
  if (setrlimit(RLIMIT_FSIZE, &most) < 0) return 77;
  return append(&l, "three\n", 0) == 0 ? 0 : 3;
}

/* A disk without room cuts a line; there is room again. */
static void test_full(void) {
  pid_t child = fork();
  if (child == 0) _exit(append_limited());
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  HAS(path, "one\na line for w\nthree\n");
  forget();
}

static int is_refused(const char *name, const char *code) {
  struct log l = { 0 };
  struct err e;
  err_clear(&e);
  return log_open(&l, name, &e) == -1 && !l.open && strcmp(e.code, code) == 0;
}

/* Only files: a device would swallow all, a pipe could wait. */
static void test_refused(const char *dir) {
  CHECK(is_refused("/dev/full", "") && is_refused(dir, "") && is_refused("/nonexistent/log", "absent"));
  CHECK(mkfifo(path, 0600) == 0 && is_refused(path, ""));
  forget();
}

static void on_alarm(int sig) { (void)sig; }

enum { WRITERS = 2, LINES = 300, LENGTH = 5000, ROTATE = 400000 };

/* One writer's lines, each of one letter, while a signal interrupts it. */
static int write_lines(char letter) {
  static char line[LENGTH + 2];
  struct log l = { 0 };
  struct sigaction act = { .sa_handler = on_alarm };
  struct itimerval often = { { 0, 500 }, { 0, 500 } };
  memset(line, letter, LENGTH);
  line[LENGTH] = '\n';
  sigaction(SIGALRM, &act, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < LINES; i++)
    if (append(&l, line, ROTATE) < 0) return 1;
  log_close(&l);
  return 0;
}

/* How many lines a file has; -1 where one is not whole. */
static int whole_lines(const char *name) {
  static char line[LENGTH + 3];
  FILE *f = fopen(name, "rb");
  int n = 0;
  for (; f != NULL && n >= 0 && fgets(line, sizeof line, f) != NULL; n++)
    if (strlen(line) != LENGTH + 1 || strspn(line, (char[]){ line[0], '\0' }) != LENGTH) n = -2;
  if (f != NULL) fclose(f);
  return n;
}

/* Two processes at once, and signals: every line that is there is whole, and no file is longer than it may be. */
static void test_writers(void) {
  pid_t children[WRITERS];
  struct stat st;
  int status;
  for (int i = 0; i < WRITERS; i++)
    if ((children[i] = fork()) == 0) _exit(write_lines((char)('a' + i)));
  for (int i = 0; i < WRITERS; i++)
    CHECK(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(whole_lines(path) > 0 && whole_lines(older) > 0);
  CHECK(stat(older, &st) == 0 && st.st_size >= ROTATE && st.st_size < ROTATE + (WRITERS + 1) * (LENGTH + 1));
  forget();
}

int main(void) {
  char dir[FOLDER_MAX];
  CHECK(folder_new(dir) == 0);
  snprintf(path, sizeof path, "%s/log", dir);
  snprintf(older, sizeof older, "%s.1", path);
  test_append();
  test_mode();
  test_rotate();
  test_cut();
  test_full();
  test_refused(dir);
  test_writers();
  CHECK(rmdir(dir) == 0);
  return test_done("files/log");
}
