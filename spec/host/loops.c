/*
** loops.c: a C program with a loop of its own plays the scripts of spec/lua/protocol/loops: MCP servers and an agent of
** ACP. They print what they print elsewhere (loops_spec.lua), and the loop never stops meanwhile. Closing the state at any
** moment leaves neither a program nor a descriptor, and killing the program leaves no other one. With arguments this
** program is an interpreter, for the servers.
*/
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/folder.h"
#include "support/loop.h"

#define SCRIPTS "spec/lua/protocol/loops/"
#define MOMENTS 12 /* at which a state is closed */
#define NAMES (MOMENTS + 2)
#define SAFETY 60  /* seconds that nothing here takes */

static char self[4096], folder[FOLDER_MAX], provider[64], far_url[64];
static char names[NAMES][16];
static pid_t services;
static int alive, used; /* reads from the fifo that all servers hold open; names that were used */

/* --- the interpreter --- */

static int interpret(int argc, char **argv) {
  struct mem m = mem_libc();
  lua_State *L = state_open(m.f, m.ud);
  lua_createtable(L, argc, 0);
  for (int i = 1; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - 1);
  }
  lua_setglobal(L, "arg");
  state_must(L, luaL_dofile(L, argv[1]));
  lua_close(L);
  return 0;
}

/* --- the services, and what is left of servers --- */

static void services_exec(int out) {
  char *argv[NAMES + 4] = { self, SCRIPTS "services.lua", folder };
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(out, STDOUT_FILENO);
  for (int i = 0; i < NAMES; i++) argv[3 + i] = names[i];
  execv(self, argv);
  _exit(127);
}

static void prepare(void) {
  int line[2], a, b;
  char path[sizeof folder + 16], text[64] = "";
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  CHECK(n > 0 && folder_new(folder) == 0 && pipe2(line, O_CLOEXEC) == 0);
  snprintf(path, sizeof path, "%s/alive", folder);
  CHECK(mkfifo(path, 0600) == 0 && (alive = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) >= 0);
  for (int i = 0; i < NAMES; i++) snprintf(names[i], sizeof names[i], "c%d", i);
  if ((services = fork()) == 0) services_exec(line[1]);
  close(line[1]);
  CHECK(read(line[0], text, sizeof text - 1) > 0 && sscanf(text, "%d %d", &a, &b) == 2);
  close(line[0]);
  snprintf(provider, sizeof provider, "http://127.0.0.1:%d", a);
  snprintf(far_url, sizeof far_url, "http://127.0.0.1:%d/mcp", b);
}

static void clean_up(void) {
  char command[sizeof folder + 16];
  kill(services, SIGKILL);
  waitpid(services, NULL, 0);
  close(alive);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  CHECK(system(command) == 0);
}

/* Whether this process has no child but the services. */
static int childless(void) {
  char text[256] = "";
  FILE *f = fopen("/proc/thread-self/children", "r");
  size_t n = f == NULL ? 0 : fread(text, 1, sizeof text - 1, f);
  if (f != NULL) fclose(f);
  text[n] = '\0';
  return f != NULL && atol(text) == (long)services && strchr(text, ' ') == strrchr(text, ' ');
}

/* Waits until the last server has ended, and who watched over it. Their fifo then has no writer. */
static void check_ended(void) {
  struct pollfd f = { alive, POLLIN, 0 };
  CHECK(poll(&f, 1, SAFETY * 1000) == 1 && f.revents == POLLHUP);
  for (double end = loop_now() + SAFETY; !childless() && loop_now() < end;) poll(NULL, 0, 1);
  CHECK(childless());
}

/* --- the tests --- */

static lua_State *begin(void) {
  const char *arguments[] = { names[used++], self, folder, provider, far_url };
  lua_State *L = loop_open();
  loop_play(L, "mcp", SCRIPTS "mcp.lua", arguments, 5);
  loop_play(L, "acp", SCRIPTS "acp.lua", arguments, 5);
  return L;
}

static void check_said(lua_State *L, const char *name) {
  char path[128], expected[8192] = "";
  const char *said = loop_said(L, name);
  snprintf(path, sizeof path, SCRIPTS "%s.txt", name);
  FILE *f = fopen(path, "r");
  CHECK(f != NULL && fread(expected, 1, sizeof expected - 1, f) > 0);
  if (f != NULL) fclose(f);
  CHECK_STR(said, strlen(said), expected);
}

/* Both scripts at once, to their ends: the turns that it took. */
static long test_scripts(void) {
  int descriptors = open_descriptors();
  lua_State *L = begin();
  CHECK(loop_run(L, 1000000) == 0);
  check_said(L, "mcp");
  check_said(L, "acp");
  CHECK(loop.ticks > 10 && loop.turns > loop.ticks); /* the program's own timer was served all the time */
  CHECK(loop.sleeps == 0 && loop.elsewhere < 1);
  if (loop.sleeps > 0) fprintf(stderr, "  %ld sleeps\n", loop.sleeps);
  long turns = loop.turns;
  loop_close(L);
  check_ended();
  CHECK(open_descriptors() == descriptors);
  return turns;
}

/* The state is closed while servers and agent are in the middle of something: after so many turns. */
static void test_close(long turns) {
  int descriptors = open_descriptors();
  lua_State *L = begin();
  loop_run(L, turns);
  loop_close(L);
  check_ended();
  CHECK(open_descriptors() == descriptors);
}

/* The program is killed in the middle of it. */
static void test_kill(long turns) {
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    loop_run(begin(), turns);
    raise(SIGKILL);
  }
  used++;
  CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  check_ended();
}

int main(int argc, char **argv) {
  if (argc > 1) return interpret(argc, argv);
  alarm(300); /* a hang is a failure */
  prepare();
  long turns = test_scripts();
  for (int i = 1; i <= MOMENTS; i++) test_close(turns * i / (MOMENTS + 1));
  test_kill(turns / 2);
  clean_up();
  return test_done("loops");
}
