/*
** pipe.c: bytes in and out of a pipe alone: lines however they are cut, a queue that is put off; and that nothing is watched,
** or read, unless somebody asked. Beside it pipe_end.
*/
#include "world.h"

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

int main(void) {
  alarm(60); /* a hang is a failure */
  test_lines();
  test_line_max();
  test_dribble();
  test_pull();
  test_queue(SIZE_MAX);
  test_queue(1000);
  return test_done("engine/pipe");
}
