/*
** pipe.c: bytes in and out of a pipe alone: lines however they are cut, a queue that is put off, ends, failures; and that
** nothing is watched, or read, unless somebody asked.
*/
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/engine/pipe.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/test.h"

/* Both ends of a socket, and the pipe at one of them. */
static struct world {
  struct failing f;
  struct mem m;
  struct pollset *poll;
  struct news news;
  struct pipe pipe;
  int near, far;
  const char *put_off;     /* what the last write put off, and how much */
  size_t put_off_n, most;  /* bytes that a read or write takes at most */
  int moved, reads;        /* put-off bytes that came from elsewhere; calls */
} w;

static long read_near(void *ud, char *p, size_t n, struct err *e) {
  (void)ud;
  w.reads++;
  long got = recv(w.near, p, n < w.most ? n : w.most, 0);
  if (got >= 0) return got;
  return errno == EAGAIN ? PIPE_AGAIN : err_set(e, KIND_CONNECT, "cannot read");
}

static long write_near(void *ud, const char *p, size_t n, struct err *e) {
  (void)ud;
  if (w.put_off != NULL && (p != w.put_off || n != w.put_off_n)) w.moved++;
  long put = send(w.near, p, n < w.most ? n : w.most, MSG_NOSIGNAL);
  w.put_off = put < 0 && errno == EAGAIN ? p : NULL;
  w.put_off_n = n;
  if (put >= 0) return put;
  return errno == EAGAIN ? PIPE_AGAIN : err_set(e, KIND_CONNECT, "cannot write");
}

static const struct pipe_io NEAR = { read_near, write_near };

static void begin(size_t high_water, size_t line_max) {
  int fd[2] = { -1, -1 };
  struct err e;
  memset(&w, 0, sizeof w);
  w.m = failing_mem(&w.f);
  w.most = SIZE_MAX;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0);
  w.near = fd[0], w.far = fd[1];
  w.poll = pollset_new(&w.m, &e);
  pipe_init(&w.pipe, &w.m, w.poll, &w.news, high_water, line_max);
  pipe_open(&w.pipe, &NEAR, &w, w.near, w.near);
}

static void end(void) {
  pipe_free(&w.pipe);
  pollset_forget(w.poll, &w.news);
  pollset_free(w.poll);
  close(w.near);
  if (w.far >= 0) close(w.far);
  CHECK(w.f.live == 0 && w.f.wrong == 0 && w.moved == 0);
}

static void say(const char *p, size_t n) {
  CHECK(send(w.far, p, n, MSG_NOSIGNAL) == (ssize_t)n);
}

static void hang_up(void) {
  close(w.far);
  w.far = -1;
}

/* Serves what is ready: whether there were news. */
static int step(void) {
  struct err e;
  int interrupted;
  CHECK(pollset_wait(w.poll, 0, &interrupted, &e) >= 0);
  return pollset_ready(w.poll) != NULL;
}

/* The next line, 'L' later, 'E' the end, 'F' a failure in front. */
static const char *line(void) {
  static char text[ERR_MESSAGE_MAX + 2];
  struct str s;
  struct err e;
  enum pipe_got got = pipe_line(&w.pipe, &s, &e);
  if (got == PIPE_LATER) return "L";
  if (got == PIPE_END) return "E";
  if (got == PIPE_FAILED) snprintf(text, sizeof text, "F%s", e.message);
  else snprintf(text, sizeof text, "=%.*s", (int)s.n, s.p);
  if (got == PIPE_BYTES) pipe_took(&w.pipe);
  return text;
}

#define IS(expected) CHECK(strcmp(line(), expected) == 0)

/* The same lines wherever the bytes are cut; and what is behind the last LF. */
static void test_lines(void) {
  static const char TEXT[] = "one\n\r\ntwo\r\n\r\r\n\nthree\rfour\nrest\r";
  for (size_t cut = 0; cut < sizeof TEXT; cut++) {
    static const char *const LINES[] = { "=one", "=", "=two", "=\r", "=", "=three\rfour", "=rest\r", "E" };
    size_t i = 0;
    begin(1, 1000);
    if (cut > 0) say(TEXT, cut);
    for (const char *got; strcmp(got = line(), "L") != 0; i++) CHECK(strcmp(got, LINES[i]) == 0);
    CHECK(!step());
    if (cut < sizeof TEXT - 1) say(TEXT + cut, sizeof TEXT - 1 - cut);
    hang_up();
    CHECK(step() && !step());
    for (; i < sizeof LINES / sizeof *LINES; i++) CHECK(strcmp(line(), LINES[i]) == 0);
    IS("E");
    end();
  }
}

static void test_line_max(void) {
  begin(1, 4);
  say("four\r\nfour\n12345\n6\n", 18);
  IS("=four");
  IS("=four");
  IS("Fa line exceeds 4 bytes");
  IS("Fa line exceeds 4 bytes");
  end();
  begin(1, 4);
  say("four\r", 5);
  IS("L");
  say("5", 1);
  IS("Fa line exceeds 4 bytes");
  end();
}

/* Byte by byte: each wakes the reader once, and what was searched is not searched again. */
static void test_dribble(void) {
  begin(1, 1000);
  IS("L");
  CHECK(!step());
  for (int i = 0; i < 100; i++) {
    say("x", 1);
    CHECK(step() && !step());
    IS("L");
    CHECK(w.pipe.seen == (size_t)i + 1);
  }
  end();
}

/* Bytes that are not asked for stay with the system, and wake no caller. Those handed out come again until taken. */
static void test_pull(void) {
  struct str s;
  struct err e;
  begin(1, 1000);
  say("abcdef", 6);
  CHECK(!step() && w.reads == 0);
  for (int i = 0; i < 2; i++) CHECK(pipe_read(&w.pipe, 4, &s, &e) == PIPE_BYTES && str_eq(s, "abcd"));
  pipe_took(&w.pipe);
  pipe_took(&w.pipe);
  CHECK(pipe_read(&w.pipe, 4, &s, &e) == PIPE_BYTES && str_eq(s, "ef") && w.reads == 1);
  CHECK(pipe_line(&w.pipe, &s, &e) == PIPE_LATER); /* "ef" was not taken */
  say("\n", 1);
  CHECK(pipe_line(&w.pipe, &s, &e) == PIPE_BYTES && str_eq(s, "ef"));
  pipe_took(&w.pipe);
  CHECK(pipe_read(&w.pipe, 4, &s, &e) == PIPE_LATER && !step());
  hang_up();
  CHECK(step() && pipe_read(&w.pipe, 4, &s, &e) == PIPE_END && pipe_read(&w.pipe, 4, &s, &e) == PIPE_END && !step());
  end();
}

static char pattern(size_t i) {
  return (char)('a' + i % 23 + i / 4096 % 3);
}

/* Reads at the far end: how many bytes of the pattern, from the one of number `at` on. */
static size_t hear(size_t at) {
  char c[8192];
  size_t n = 0, wrong = 0;
  for (ssize_t got; (got = recv(w.far, c, 1 + below(sizeof c), 0)) > 0;)
    for (ssize_t i = 0; i < got; i++, n++) wrong += c[i] != pattern(at + n);
  CHECK(wrong == 0);
  return n;
}

/* A peer that does not read: the queue grows, everything comes in order once it does, from where it was put off. */
static void test_queue(size_t most) {
  enum { N = 3 << 20 };
  static char all[N];
  size_t put = 0, heard = 0;
  struct err e;
  int told = 0;
  for (size_t i = 0; i < N; i++) all[i] = pattern(i);
  begin(64 << 10, 1);
  w.most = most;
  while (put < N) {
    size_t n = 1 + below(100000);
    if (n > N - put) n = N - put;
    CHECK(pipe_write(&w.pipe, (struct str){ all + put, n }, &e) == 0);
    put += n;
  }
  CHECK(pipe_full(&w.pipe) && pipe_waiting(&w.pipe) > N / 2);
  while (heard < N) {
    int full = pipe_full(&w.pipe);
    heard += hear(heard);
    int news = step();
    told += news;
    if (full && !pipe_full(&w.pipe)) CHECK(news);
  }
  while (pipe_waiting(&w.pipe) > 0) told += step();
  CHECK(heard == N && told >= 1 && told <= 2 && !step()); /* there is room; all is written */
  CHECK(pipe_write(&w.pipe, STR("!"), &e) == 0 && pipe_waiting(&w.pipe) == 0 && !step());
  end();
}

/* The other side closes: what it said is read, writing fails, and fails again. */
static void test_closed(void) {
  struct err e;
  begin(1, 1000);
  say("bye\n", 4);
  hang_up();
  CHECK(pipe_write(&w.pipe, STR("x"), &e) == -1 && e.kind == KIND_CONNECT);
  CHECK(pipe_write(&w.pipe, STR(""), &e) == -1 && pipe_waiting(&w.pipe) == 0);
  IS("=bye");
  IS("E");
  end();
  /* While bytes wait to be written. */
  static char all[1 << 20];
  begin(1, 1000);
  CHECK(pipe_write(&w.pipe, (struct str){ all, sizeof all }, &e) == 0 && pipe_full(&w.pipe));
  hang_up();
  CHECK(step() && !step() && !pipe_full(&w.pipe));
  CHECK(pipe_write(&w.pipe, STR("x"), &e) == -1 && strcmp(e.message, "cannot write") == 0);
  end();
}

/* A half that is closed: the other one goes on. */
static void test_half(void) {
  struct err e;
  begin(1, 1000);
  CHECK(shutdown(w.far, SHUT_WR) == 0);
  IS("E");
  CHECK(pipe_write(&w.pipe, STR("abc"), &e) == 0 && hear(0) == 3);
  end();
}

/* Before it is open a pipe keeps what is written; when its descriptors go, it keeps what was read. */
static void test_ends(void) {
  struct err e, why;
  struct str s;
  err_clear(&why);
  err_set(&why, KIND_CANCELLED, "gone");
  begin(1, 1000);
  pipe_free(&w.pipe);
  pipe_init(&w.pipe, &w.m, w.poll, &w.news, 1, 1000);
  CHECK(pipe_write(&w.pipe, STR("abc"), &e) == 0 && pipe_waiting(&w.pipe) == 3 && pipe_full(&w.pipe));
  IS("L");
  pipe_open(&w.pipe, &NEAR, &w, w.near, w.near);
  CHECK(pipe_waiting(&w.pipe) == 0 && hear(0) == 3);
  say("a\nb", 3);
  IS("=a");
  pipe_lose(&w.pipe, &why);
  CHECK(pipe_read(&w.pipe, 9, &s, &e) == PIPE_BYTES && str_eq(s, "b"));
  pipe_took(&w.pipe);
  IS("Fgone");
  CHECK(pipe_write(&w.pipe, STR("x"), &e) == -1 && e.kind == KIND_CANCELLED);
  end();
}

/* Two descriptors, as a program's: each is watched for itself. */
static void test_two(void) {
  static char all[1 << 20];
  int in[2], out[2];
  struct err e;
  begin(1, 1000);
  int near = w.near;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, in) == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, out) == 0);
  pipe_free(&w.pipe);
  pipe_init(&w.pipe, &w.m, w.poll, &w.news, 1, 1000);
  w.near = in[0];
  pipe_open(&w.pipe, &NEAR, &w, in[0], out[0]);
  IS("L");
  w.near = out[0];
  CHECK(pipe_write(&w.pipe, (struct str){ all, sizeof all }, &e) == 0 && pipe_full(&w.pipe) && !step());
  CHECK(send(in[1], "hi\n", 3, 0) == 3 && step());
  w.near = in[0];
  IS("=hi");
  IS("L");
  close(out[1]);
  w.near = out[0];
  CHECK(step() && pipe_waiting(&w.pipe) == 0 && !step());
  w.near = in[0];
  close(in[1]);
  CHECK(step());
  IS("E");
  pipe_free(&w.pipe);
  close(in[0]), close(out[0]);
  w.near = near;
  end();
}

/* Where one of two descriptors cannot be watched, neither is, and the queue is lost. */
static void test_unwatched(void) {
  static char all[1 << 20];
  int in[2], out[2], high, interrupted;
  struct err e;
  begin(1, 1000);
  int near = w.near;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, in) == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, out) == 0);
  CHECK((high = fcntl(out[0], F_DUPFD_CLOEXEC, 900)) >= 900); /* for which the set has no room yet */
  pipe_free(&w.pipe);
  pipe_init(&w.pipe, &w.m, w.poll, &w.news, 1, 1000);
  w.near = in[0];
  pipe_open(&w.pipe, &NEAR, &w, in[0], high);
  IS("L");
  w.near = high;
  w.f.fail_at = w.f.asked + 2;
  CHECK(pipe_write(&w.pipe, (struct str){ all, sizeof all }, &e) == -1 && e.kind == KIND_MEMORY);
  w.f.fail_at = 0;
  CHECK(pipe_waiting(&w.pipe) == 0 && pollset_ready(w.poll) != NULL);
  CHECK(send(in[1], "hi\n", 3, 0) == 3 && pollset_wait(w.poll, 0, &interrupted, &e) == 0);
  pipe_free(&w.pipe);
  close(in[0]), close(in[1]), close(out[0]), close(out[1]), close(high);
  w.near = near;
  end();
}

/* Memory may be short for any of it: nothing is lost, and asking again helps. */
static void test_memory(void) {
  for (size_t n = 1; n < 40; n++) {
    struct err e;
    struct str s;
    size_t put = 0, got = 0;
    begin(1 << 20, 1000);
    w.f.fail_at = w.f.asked + n;
    for (int i = 0; i < 30; i++) {
      size_t before = pipe_waiting(&w.pipe);
      if (pipe_write(&w.pipe, STR("0123456789"), &e) == 0) put += 10;
      else CHECK(e.kind == KIND_MEMORY && pipe_waiting(&w.pipe) == before);
      w.most = i % 3 == 0 ? 7 : SIZE_MAX;
      if (i == 15) w.f.fail_at = 0;
    }
    while (step() || pipe_waiting(&w.pipe) > 0) continue;
    char c[512];
    CHECK(recv(w.far, c, sizeof c, 0) == (ssize_t)put && put >= 140);
    say("a line\n", 7);
    w.f.fail_at = w.f.asked + n;
    for (int i = 0; i < 3 && got == 0; i++) {
      enum pipe_got r = pipe_line(&w.pipe, &s, &e);
      if (r == PIPE_BYTES) got = s.n;
      else CHECK(r == PIPE_FAILED && e.kind == KIND_MEMORY);
      w.f.fail_at = 0;
    }
    CHECK(got == 6);
    end();
  }
}

int main(void) {
  alarm(60); /* a hang is a failure */
  test_lines();
  test_line_max();
  test_dribble();
  test_pull();
  test_queue(SIZE_MAX);
  test_queue(1000);
  test_closed();
  test_half();
  test_ends();
  test_two();
  test_unwatched();
  test_memory();
  return test_done("engine/pipe");
}
