/*
** children.c: a program that is started while turns are under way inherits none of Koine's descriptors: no socket, no
** poll descriptor, none of the pairs that libcurl makes for itself and for its name lookups.
*/
#include <dirent.h>
#include <errno.h>

#include "support/provider.h"
#include "support/resolver.h"
#include "support/state.h"
#include "support/test.h"

static struct provider provider;

static const char CHUNK[] =
  "local base = ...\n"
  "local koine, core, wait = require 'koine', require 'koine.core', require 'koine.task.wait'\n"
  "local kept = {}\n"
  "local function open(url)\n"
  "  local a = koine.anthropic { model = 'some-model', key = 'a-secret-key', base_url = url, retry = false,\n"
  "    proxy = '' }\n"
  "  kept[#kept + 1] = assert(a:open 'Hi')\n"
  "  return kept[#kept]\n"
  "end\n"
  "local stages = {\n"
  "  function() core.engine():pollfd() end,\n"                       /* an engine alone */
  "  function()\n"                                                   /* connections that speak no HTTP */
  "    local connect, port = require 'koine.net.connect', math.tointeger(tonumber(base:match ':(%d+)'))\n"
  "    for _ = 1, 3 do\n"
  "      local conn = assert(connect.open { host = '127.0.0.1', port = port })\n"
  "      assert(conn:write 'x')\n"
  "      kept[#kept + 1] = conn\n"
  "    end\n"
  "  end,\n"
  "  function() open(base .. 'mute') end,\n"                         /* nothing sent */
  "  function() wait.pump(0) end,\n"                                 /* a connection begun */
  "  function()\n"                                                   /* a name being looked up */
  "    open 'http://stub.test'\n"
  "    while entered() < 1 do wait.pump(0.01) end\n"
  "  end,\n"
  "  function()\n"                                                   /* another one beside it */
  "    open 'http://stub.test:81'\n"
  "    while entered() < 2 do wait.pump(0.01) end\n"
  "  end,\n"
  "  function() assert(open(base .. 'tool/3'):next()) end,\n"        /* in the middle of answers */
  "  function() for _ = 1, 20 do assert(open(base .. 'text/3'):next()) end end,\n"
  "  function() assert(open(base .. 'text'):response()) end,\n"      /* a connection that is kept for the next turn */
  "  function() for i = 1, #kept, 2 do kept[i]:close() end end\n"
  "}\n"
  "function stage(n)\n"
  "  stages[n]()\n"
  "  return #stages\n"
  "end\n";

/* The descriptors that this program was started with: one line per descriptor. */
static int list_descriptors(void) {
  DIR *d = opendir("/proc/self/fd");
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    char path[300], target[256] = "";
    if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(d) || atoi(e->d_name) == 1) continue; /* 1 is the pipe */
    snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
    if (readlink(path, target, sizeof target - 1) < 0) return 1;
    printf("%s %s\n", e->d_name, target);
  }
  if (d != NULL) closedir(d);
  return d == NULL;
}

/* The descriptors that a program started now has; in a static buffer. */
static const char *child_sees(void) {
  static char text[8192];
  int out[2], status = -1;
  size_t n = 0;
  if (pipe2(out, O_CLOEXEC) != 0) return "no pipe";
  pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], 1);
    execl("/proc/self/exe", "children", "list", (char *)NULL);
    _exit(127);
  }
  close(out[1]);
  for (ssize_t r; (r = read(out[0], text + n, sizeof text - 1 - n)) > 0;) n += (size_t)r;
  text[n] = '\0';
  close(out[0]);
  waitpid(pid, &status, 0);
  CHECK(status == 0);
  return text;
}

int main(int argc, char **argv) {
  char before[8192];
  if (argc > 1 && strcmp(argv[1], "list") == 0) return list_descriptors();
  alarm(300); /* a hang is a failure */
  provider_start(&provider);
  resolver_start();
  snprintf(before, sizeof before, "%s", child_sees());
  CHECK(strstr(before, "0 ") != NULL && strstr(before, "socket:") == NULL);
  lua_State *L = state_with(CHUNK, "=children", provider.port);
  lua_register(L, "entered", resolver_entered);
  int own = open_descriptors(), most = own;
  for (int i = 1, stages = 1; i <= stages; i++) {
    stages = (int)state_call(L, "stage", i);
    if (open_descriptors() > most) most = open_descriptors();
    const char *after = child_sees();
    CHECK(strcmp(after, before) == 0);
    if (strcmp(after, before) != 0) fprintf(stderr, "  stage %d: a child has\n%s  instead of\n%s", i, after, before);
  }
  CHECK(most > own + 20); /* there was something to inherit */
  lua_close(L);
  CHECK(resolver_finish());
  CHECK(open_descriptors() == own);
  provider_stop(&provider);
  return test_done("children");
}
