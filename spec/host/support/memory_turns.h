/*
** memory_turns.h: turns of Lua code in which every allocation of Lua, of the core and of libcurl fails in turn, each
** time in a fresh state. A turn then gives its whole answer or an error that tells of memory, never a wrong answer and
** no crash; the state goes on to work; nothing is left when it is closed.
*/
#ifndef KOINE_SPEC_HOST_SUPPORT_MEMORY_TURNS_H
#define KOINE_SPEC_HOST_SUPPORT_MEMORY_TURNS_H

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "support/meter.h"
#include "support/provider.h"
#include "support/state.h"
#include "support/test.h"

/*
** The chunk `prelude` and `go` of a turn sets two global functions: `go` is called while memory fails and returns true,
** or nil and an error; `again` must return true whatever came first. The chunk's argument is the provider's address;
** the global `folder` names a directory for files, where the program has one, which `again` leaves as it found it.
*/
struct turn { const char *name, *prelude, *go; };

/* The common data of all turns of a program. */
static struct {
  struct provider provider;
  const char *folder;
  int every;  /* only every nth allocation fails: 0 and 1 are all */
  int forks;  /* whether programs are started, and so have to be gone */
} turns;

/* {{{ Koine's Lua files, compiled once: thousands of fresh states would spend their time in the parser */

static struct chunk { char name[48]; char *p; size_t n; } chunks[512];

static int keep(lua_State *L, const void *p, size_t n, void *ud) {
  struct chunk *c = ud;
  (void)L;
  c->p = realloc(c->p, c->n + n);
  memcpy(c->p + c->n, p, n);
  c->n += n;
  return 0;
}

static int compile(lua_State *L, const char *name) {
  static const char *const PATHS[] = { "./lua/%s.lua", "./lua/%s/init.lua", "./spec/host/support/%s.lua",
                                      "./spec/host/support/%s/init.lua" };
  const char *file = luaL_gsub(L, name, ".", "/");
  for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++)
    if (luaL_loadfile(L, lua_pushfstring(L, PATHS[i], file)) != LUA_ERRFILE) return 1;
  return 0;
}

/* A searcher for require: the loader of a module, from its first compilation. */
static int load_chunk(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  struct chunk *c = chunks;
  while (c->p != NULL && strcmp(c->name, name) != 0)
    if (++c == chunks + sizeof chunks / sizeof *chunks) return luaL_error(L, "more modules than chunks");
  if (c->p != NULL) return luaL_loadbufferx(L, c->p, c->n, name, "b") == LUA_OK ? 1 : lua_error(L);
  if (!compile(L, name)) return 0; /* a library of others */
  if (!lua_isfunction(L, -1)) return lua_error(L);
  lua_dump(L, keep, c, 0);
  snprintf(c->name, sizeof c->name, "%s", name);
  return 1;
}

static void use_chunks(lua_State *L) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchers");
  lua_pushcfunction(L, load_chunk);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
}

/* }}} */

/* {{{ what a process holds outside of Lua */

struct level { long curl, curl_blocks; int descriptors, files, children; };

/* Processes that this one is the parent of. */
static int count_children(void) {
  int n = 0;
  DIR *d = opendir("/proc");
  for (struct dirent *x; d != NULL && (x = readdir(d)) != NULL;) {
    char path[300], text[512] = "", *end;
    int parent = 0;
    if (x->d_name[0] < '0' || x->d_name[0] > '9') continue;
    snprintf(path, sizeof path, "/proc/%s/stat", x->d_name);
    FILE *f = fopen(path, "r");
    if (f == NULL) continue;
    if (fgets(text, sizeof text, f) != NULL && (end = strrchr(text, ')')) != NULL) sscanf(end, ") %*c %d", &parent);
    fclose(f);
    n += parent == getpid();
  }
  if (d != NULL) closedir(d);
  return n;
}

static struct level level_now(void) {
  return (struct level){ meter.curl, meter.curl_blocks, open_descriptors(),
                         turns.folder != NULL ? entries(turns.folder, 1) : 0, turns.forks ? count_children() : 0 };
}

static int same_level(const struct level *a, const struct level *b) {
  return a->curl == b->curl && a->curl_blocks == b->curl_blocks && a->descriptors == b->descriptors &&
         a->files == b->files && a->children == b->children;
}

/* The level, once it is as before or will not come back: a name lookup that was cut short ends in a thread of its own. */
static struct level level_settled(const struct level *before) {
  struct level now = level_now();
  for (int i = 0; i < 5000 && !same_level(&now, before); i++) {
    usleep(1000);
    now = level_now();
  }
  return now;
}

/* }}} */

static lua_State *open_turn(const struct turn *t) {
  char chunk[16384];
  lua_State *L = state_open(meter_lua, NULL);
  use_chunks(L);
  lua_pushstring(L, turns.folder);
  lua_setglobal(L, "folder");
  CHECK(snprintf(chunk, sizeof chunk, "%s\n%s", t->prelude, t->go) < (int)sizeof chunk);
  state_run(L, chunk, "=turn", turns.provider.port);
  lua_settop(L, 0);
  return L;
}

/* Calls the function at `index`: 1 when it returned true. The error or message is on top otherwise. */
static int turn(lua_State *L, int index) {
  lua_pushvalue(L, index);
  if (lua_pcall(L, 0, 2, 0) != LUA_OK) return 0;
  return lua_toboolean(L, -2);
}

/* True when the value on top is what may come of a lack of memory. */
static int is_memory_error(lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING) return strstr(lua_tostring(L, -1), "not enough memory") != NULL;
  if (!lua_istable(L, -1)) return 0;
  lua_getfield(L, -1, "kind");
  const char *kind = lua_tostring(L, -1);
  lua_pop(L, 1);
  return kind != NULL && (strcmp(kind, "limit") == 0 || strcmp(kind, "connect") == 0);
}

/* The turn while allocation n fails (and so many in all): 1 when it never got so far. */
static int round_of(const struct turn *t, long n, long many, const struct level *before) {
  lua_State *L = open_turn(t);
  lua_getglobal(L, "again");
  lua_getglobal(L, "go");
  int failed = test_failed;
  meter_arm(n, many);
  int good = turn(L, 2);
  int reached = meter.asked >= n;
  meter_arm(0, 0);
  CHECK(good || (reached && is_memory_error(L)));
  if (test_failed > failed) fprintf(stderr, "  got %s\n", luaL_tolstring(L, -1, NULL));
  lua_settop(L, 2);
  CHECK(turn(L, 1));
  if (test_failed > failed) fprintf(stderr, "  then %s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  struct level after = level_settled(before);
  CHECK(meter.lua == 0 && meter.lua_blocks == 0 && meter.wrong == 0);
  CHECK(same_level(&after, before));
  if (test_failed > failed)
    fprintf(stderr, "  %s, allocation %ld%s: Lua holds %ld in %ld, libcurl %ld in %ld (before: %ld in %ld), "
            "%d descriptors (%d), %d files (%d), %d children (%d)\n", t->name, n,
            many > 2 ? " and after" : many == 2 ? " and the next" : "", meter.lua, meter.lua_blocks, after.curl,
            after.curl_blocks, before->curl, before->curl_blocks, after.descriptors, before->descriptors, after.files,
            before->files, after.children, before->children);
  meter.lua = meter.lua_blocks = meter.wrong = 0;
  return !reached;
}

#define USUAL 19 /* of this many allocations one fails, unless KOINE_EVERY says otherwise: all of them take minutes */

/* Every KOINE_EVERYth allocation of the turn (1: every one), of those that the turn is to take. */
static void test_turn(const struct turn *t, long many) {
  const char *given = getenv("KOINE_EVERY");
  long fewer = given != NULL && atoi(given) > 0 ? atoi(given) : USUAL;
  struct level before;
  long every = (turns.every > 0 ? turns.every : 1) * fewer;
  long n = 1 + (many > 2 ? every / 2 : 0);
  lua_State *L = open_turn(t);
  lua_getglobal(L, "again");
  CHECK(turn(L, 1));
  lua_close(L);
  before = level_now();
  CHECK(round_of(t, 1000000, many, &before));
  before = level_now();
  while (!round_of(t, n, many, &before) && test_failed < 20) n += every;
  CHECK(n > 5);
  if (getenv("KOINE_VERBOSE") != NULL) printf("%s: %ld allocations\n", t->name, n - 1);
}

/* Begins a program of turns, which may take so many seconds; `folder` or NULL. */
static void test_turns_start(unsigned seconds, const char *folder) {
  alarm(seconds); /* a hang is a failure */
  CHECK(meter_curl() == 0);
  provider_start(&turns.provider);
  turns.folder = folder;
}

static int test_turns_done(const char *name) {
  provider_stop(&turns.provider);
  curl_global_cleanup();
  return test_done(name);
}

#endif
