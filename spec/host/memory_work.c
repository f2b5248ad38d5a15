/*
** memory_work.c: as memory.c, for what is not a call of an adapter: programs, files, an executor's tools, agents, tasks,
** conversations, data. No file, program or descriptor is left either. In turns that take milliseconds, because they
** start programs, make several calls or load every module, only every nth allocation fails, in between where all fail
** from there on. KOINE_TURN=NAME runs one turn.
*/
#include <dlfcn.h>
#include <sys/stat.h>

#include "support/folder.h"
#include "support/memory_turns.h"
#include "support/services.h"

/* A turn of support/work. */
#define WORK(what, name) { what, "go, again = require 'work'('" name "', ..., folder)", "" }

static const struct { struct turn turn; int every, forks; } TURNS[] = {
  { WORK("loading Koine", "adapters.koine"), 1, 0 },
  { WORK("loading every module", "adapters.loading"), 97, 0 },
  { WORK("a program", "system.program"), 1, 1 },
  { WORK("a program that is not there", "system.no_program"), 1, 1 },
  { WORK("a live program", "system.live_program"), 1, 1 },
  { WORK("a file", "system.files"), 1, 0 },
  { WORK("the tool write_file", "system.write_file"), 1, 0 },
  { WORK("the tool edit_file", "system.edit_file"), 1, 0 },
  { WORK("the tool read_file", "system.read_file"), 2, 0 },
  { WORK("the tool list_dir", "system.list_dir"), 2, 0 },
  { WORK("the tool glob", "system.glob"), 2, 0 },
  { WORK("the tool grep", "system.grep"), 2, 0 },
  { WORK("the tool bash", "system.bash"), 3, 1 },
  { WORK("an agent", "agents.agent"), 4, 0 },
  { WORK("a run that is saved", "agents.saved"), 11, 0 },
  { WORK("tasks", "tasks.tasks"), 1, 0 },
  { WORK("tasks that are woken", "tasks.woken"), 1, 0 },
  { WORK("tasks that are tried again", "tasks.patient_tasks"), 1, 0 },
  { WORK("a single flight", "tasks.flight"), 1, 0 },
  { WORK("two calls at once", "tasks.gathered"), 3, 0 },
  { WORK("a conversation", "adapters.conversation"), 3, 0 },
  { WORK("a fallback", "adapters.fallback"), 3, 0 },
  { WORK("an adapter of one's own", "adapters.custom_adapter"), 1, 0 },
  { WORK("an embedding", "adapters.embedding"), 3, 0 },
  { WORK("an answer with a shape", "adapters.output"), 23, 0 },
  { WORK("a schema", "data.schema"), 1, 0 },
  { WORK("packing", "data.packing"), 1, 0 },
  { WORK("vectors", "data.vectors"), 1, 0 },
  { WORK("a rate limiter", "data.rate_limiter"), 1, 0 },
  { WORK("a growing value", "data.growing"), 1, 0 },
  { WORK("a store in memory", "stores.memory"), 1, 0 },
  { WORK("a session", "sessions.session"), 37, 0 },
  { WORK("artifacts", "sessions.artifacts"), 97, 1 },
  { WORK("a connection", "services.connection"), 1, 0 },
  { WORK("an answer read while it comes", "services.streamed"), 1, 0 },
  { WORK("a store on Redis", "services.redis"), 7, 0 },
  { WORK("a remote executor", "services.remote"), 5, 0 },
  { WORK("a login", "services.login"), 71, 0 },
  { WORK("coroutines of the host poll", "hosts.poll"), 3, 0 },
  { WORK("a dispatcher", "dispatch.stepped"), 29, 0 },
  { WORK("a dispatcher in a run", "dispatch.tasks"), 37, 0 },
  { WORK("loading the dispatcher", "dispatch.loading"), 13, 0 },
  { WORK("turns that step", "dispatch.nested"), 3, 0 },
  { WORK("the shutdown of a dispatcher", "dispatch.shutdown"), 3, 0 },
  { WORK("a thread that is cancelled", "dispatch.cancelled"), 3, 0 },
  { WORK("the second death of a lane", "dispatch.deaths"), 3, 0 }
};

/* lua-cjson keeps what it has read of a text when Lua runs out of memory: seen by LeakSanitizer, and not ours. It stays
** loaded, so that the leak has its name. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:cjson.so\n";
}

static void pin_cjson(lua_State *L) {
  CHECK(luaL_dostring(L, "return package.searchpath('cjson', package.cpath)") == LUA_OK && lua_isstring(L, -1));
  CHECK(dlopen(lua_tostring(L, -1), RTLD_NOW | RTLD_NODELETE) != NULL);
  lua_pop(L, 1);
}

/* Makes the repository beside the folder, and the services ready. */
static void prepare(struct services *s, const char *folder) {
  static const char SETUP[] = "require('work.kit').same(require('work.services').setup(), nil)";
  char text[512];
  snprintf(text, sizeof text, "cd / && git init -q '%s-repository' && cd '%s-repository' && echo x >file && git add file && "
           "git -c user.name=k -c user.email=k@example.org commit -qm first", folder, folder);
  CHECK(system(text) == 0);
  CHECK(services_start(s, folder) == 0);
  snprintf(text, sizeof text, "%d %d %d", s->port, s->executor_port, s->redis_port);
  CHECK(setenv("SERVICES", text, 1) == 0 && setenv("TMPDIR", folder, 1) == 0 && unsetenv("GH_COPILOT_TOKEN") == 0);
  lua_State *L = state_open(meter_lua, NULL);
  use_chunks(L);
  pin_cjson(L);
  state_run(L, SETUP, "=setup", 0);
  lua_close(L);
}

static void clean_up(struct services *s, const char *folder) {
  char text[512];
  services_stop(s);
  snprintf(text, sizeof text, "rm -rf '%s-repository'", folder);
  CHECK(system(text) == 0 && rmdir(folder) == 0);
}

int main(void) {
  static const long MANY[] = { 2, 1L << 30 }; /* one and Lua's second try, all from there on */
  struct services services;
  const char *only = getenv("KOINE_TURN");
  char folder[FOLDER_MAX];
  CHECK(folder_in_memory(folder) == 0); /* what a disk takes to flush a file is not the question here */
  umask(077);
  test_turns_start(1200, folder);
  prepare(&services, folder);
  for (size_t i = 0; i < sizeof TURNS / sizeof *TURNS && test_failed == 0; i++) {
    if (only != NULL && strcmp(only, TURNS[i].turn.name) != 0) continue;
    turns.every = TURNS[i].every;
    turns.forks = TURNS[i].forks;
    for (size_t k = 0; k < sizeof MANY / sizeof *MANY; k++) test_turn(&TURNS[i].turn, MANY[k]);
  }
  clean_up(&services, folder);
  return test_turns_done("memory_work");
}
