/*
** pipe_end.c: ends of pipes: of either side, of one direction, of what is written; and every failure.
*/
#include <fcntl.h>

#include "world.h"

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

/* A queue that is the last: it is written, then the owner may close; nothing comes behind it. */
static void test_finish(void) {
  static char all[1 << 20];
  struct err e;
  size_t heard = 0;
  char c[8192];
  begin(1, 1000);
  CHECK(pipe_write(&w.pipe, (struct str){ all, sizeof all }, &e) == 0 && pipe_room(&w.pipe, &e) == 0);
  pipe_finish(&w.pipe);
  pipe_finish(&w.pipe);
  CHECK(w.finished == 0 && pipe_room(&w.pipe, &e) == 0);
  CHECK(pipe_write(&w.pipe, STR("x"), &e) == -1 && strcmp(e.code, "closed") == 0);
  while (pipe_waiting(&w.pipe) > 0) {
    for (ssize_t n; (n = recv(w.far, c, sizeof c, 0)) > 0;) heard += (size_t)n;
    step();
  }
  CHECK(w.finished == 1 && w.pipe.out_fd == -1 && pipe_room(&w.pipe, &e) == 1);
  for (ssize_t n; (n = recv(w.far, c, sizeof c, 0)) > 0;) heard += (size_t)n;
  CHECK(heard == sizeof all);
  say("more\n", 5); /* the other direction goes on */
  IS("=more");
  IS("L");
  say("x", 1);
  CHECK(step());
  end();
  begin(1, 1000); /* nothing is queued; then a queue that cannot be written; then one that is dropped */
  pipe_finish(&w.pipe);
  CHECK(w.finished == 1 && pipe_write(&w.pipe, STR(""), &e) == -1);
  end();
  begin(1, 1000);
  CHECK(pipe_write(&w.pipe, (struct str){ all, sizeof all }, &e) == 0);
  pipe_finish(&w.pipe);
  hang_up();
  CHECK(step() && w.finished == 1 && pipe_room(&w.pipe, &e) == -1 && strcmp(e.message, "cannot write") == 0);
  end();
  begin(1, 1000);
  CHECK(pipe_write(&w.pipe, (struct str){ all, sizeof all }, &e) == 0);
  err_clear(&e);
  err_set(&e, KIND_OTHER, "over");
  pipe_cut(&w.pipe, &e);
  CHECK(w.finished == 1 && pipe_waiting(&w.pipe) == 0);
  CHECK(pipe_room(&w.pipe, &e) == -1 && pipe_write(&w.pipe, STR("x"), &e) == -1 && strcmp(e.message, "over") == 0);
  end();
  begin(1, 1000); /* before it is open */
  pipe_free(&w.pipe);
  pipe_init(&w.pipe, &w.m, w.poll, &w.news, 1, 1000);
  CHECK(pipe_write(&w.pipe, STR("abc"), &e) == 0);
  pipe_finish(&w.pipe);
  CHECK(w.finished == 0);
  pipe_open(&w.pipe, &NEAR, &w, w.near, w.near);
  CHECK(w.finished == 1 && hear(0) == 3);
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
  test_closed();
  test_half();
  test_ends();
  test_two();
  test_unwatched();
  test_finish();
  test_memory();
  return test_done("engine/pipe_end");
}
