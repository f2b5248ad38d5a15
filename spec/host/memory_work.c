/*
** memory_work.c: as memory.c, for what is not a call of an adapter: programs, files, an executor's tools, agents, tasks,
** conversations, data. No file, program or descriptor is left either. In turns that take milliseconds, because they
** start programs, make several calls or load every module, only every nth allocation fails, in between where all fail
** from there on. KOINE_TURN=NAME runs one turn.
*/
#include <sys/prctl.h>
#include <sys/stat.h>

#include "support/memory_turns.h"

/* A turn of work.lua. */
#define WORK(what, name) { what, "go, again = require 'work'('" name "', ..., folder)", "" }

static const struct { struct turn turn; int every, forks; } TURNS[] = {
  { WORK("loading Koine", "koine"), 1, 0 },
  { WORK("loading every module", "loading"), 97, 0 },
  { WORK("a program", "program"), 1, 1 },
  { WORK("a program that is not there", "no_program"), 1, 1 },
  { WORK("a file", "files"), 1, 0 },
  { WORK("the tool write_file", "write_file"), 1, 0 },
  { WORK("the tool edit_file", "edit_file"), 1, 0 },
  { WORK("the tool read_file", "read_file"), 2, 0 },
  { WORK("the tool list_dir", "list_dir"), 2, 0 },
  { WORK("the tool glob", "glob"), 2, 0 },
  { WORK("the tool grep", "grep"), 2, 0 },
  { WORK("the tool bash", "bash"), 3, 1 },
  { WORK("an agent", "agent"), 4, 0 },
  { WORK("a run that is saved", "saved"), 11, 0 },
  { WORK("tasks", "tasks"), 1, 0 },
  { WORK("tasks that are tried again", "patient_tasks"), 1, 0 },
  { WORK("two calls at once", "gathered"), 3, 0 },
  { WORK("a conversation", "conversation"), 3, 0 },
  { WORK("a fallback", "fallback"), 3, 0 },
  { WORK("an adapter of one's own", "custom_adapter"), 1, 0 },
  { WORK("a schema", "schema"), 1, 0 },
  { WORK("packing", "packing"), 1, 0 },
  { WORK("a rate limiter", "rate_limiter"), 1, 0 }
};

int main(void) {
  static const long MANY[] = { 2, 1L << 30 }; /* one and Lua's second try, all from there on */
  const char *only = getenv("KOINE_TURN");
  char memory[] = "/dev/shm/koine-memory-XXXXXX", disk[] = "/tmp/koine-memory-XXXXXX";
  const char *folder = mkdtemp(memory); /* what a disk takes to flush a file is not the question here */
  if (folder == NULL) folder = mkdtemp(disk);
  CHECK(folder != NULL);
  umask(077);
  test_turns_start(300, folder);
  for (size_t i = 0; i < sizeof TURNS / sizeof *TURNS && test_failed == 0; i++) {
    if (only != NULL && strcmp(only, TURNS[i].turn.name) != 0) continue;
    turns.every = TURNS[i].every;
    turns.forks = TURNS[i].forks;
    for (size_t k = 0; k < sizeof MANY / sizeof *MANY; k++) test_turn(&TURNS[i].turn, MANY[k]);
  }
  CHECK(rmdir(folder) == 0);
  return test_turns_done("memory_work");
}
