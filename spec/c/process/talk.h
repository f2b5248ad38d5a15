/* talk.h: what the tests of programs that are talked to share: one program with its engine and counted memory. */
#ifndef KOINE_SPEC_C_PROCESS_TALK_H
#define KOINE_SPEC_C_PROCESS_TALK_H

#include "core/process/program.h"
#include "test.h"

#define LIVE(...) program_spec(ARGV(__VA_ARGS__))
#define SCRIPT(script) program_spec(SH(script))

static inline struct program_spec program_spec(const char *const *argv) {
  struct program_spec s = { .process = spec(argv), .high_water = 256 << 10 };
  s.line_max = 32 << 20;
  s.error_max = 64 << 10;
  s.process.timeout = 0;
  s.process.cwd = dir;
  return s;
}

/* One program, its engine, and counted memory. */
struct talk {
  struct failing f;
  struct mem m;
  struct engine *g;
  struct program *p;
  struct err e;
};

static inline void step(struct talk *t, double seconds) {
  struct err e;
  int interrupted;
  CHECK(engine_step(t->g, seconds, -1, &interrupted, &e) == 0);
  for (struct news *n; (n = pollset_ready(engine_pollset(t->g))) != NULL;) CHECK(n->owner == t);
}

/* 0 once it runs, or -1 and t->e. */
static inline int open_program(struct talk *t, const struct program_spec *s) {
  int got;
  memset(t, 0, sizeof *t);
  t->m = failing_mem(&t->f);
  err_clear(&t->e);
  t->g = engine_new(&t->m, &t->e);
  t->p = program_start(t->g, s, t, &t->e);
  if (t->p == NULL) return -1;
  while ((got = program_started(t->p, &t->e)) == 0) step(t, -1);
  return got < 0 ? -1 : 0;
}

static inline void close_program(struct talk *t) {
  program_close(t->p);
  engine_free(t->g);
  CHECK(t->f.live == 0 && t->f.wrong == 0);
}

/* The next line; "END", or "FAILED" and t->e. */
static inline const char *line(struct talk *t) {
  static char text[100];
  struct str s = STR_NONE;
  enum pipe_got got;
  while ((got = program_line(t->p, &s, &t->e)) == PIPE_LATER) step(t, -1);
  if (got == PIPE_END) return "END";
  if (got == PIPE_FAILED) return "FAILED";
  snprintf(text, sizeof text, "%.*s", (int)s.n, s.p);
  program_took(t->p);
  return text;
}

#define IS(t, expected) is(__LINE__, line(t), expected, (t)->e.message)

static inline void is(int at, const char *got, const char *expected, const char *failure) {
  CHECK(strcmp(got, expected) == 0);
  if (strcmp(got, expected) != 0) fprintf(stderr, "  line %d: %s, not %s (%s)\n", at, got, expected, failure);
}

/* Until it is over: 0, or -1 and t->e. */
static inline int over(struct talk *t, struct process_result *r) {
  const struct err *failure = NULL;
  while (!program_done(t->p, &failure)) step(t, -1);
  program_result(t->p, r);
  if (failure != NULL) t->e = *failure;
  return failure != NULL ? -1 : 0;
}

static inline int say(struct talk *t, const char *words) {
  return program_write(t->p, (struct str){ words, strlen(words) }, &t->e);
}

#endif
