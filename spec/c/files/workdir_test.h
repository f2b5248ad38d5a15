/*
** workdir_test.h: the world that the tests of tree live in: a root, and around it `outside` with a secret file and
** `top2`, whose name begins with the root's. The working directory of the test is the directory of all this.
*/
#ifndef KOINE_SPEC_C_FILES_WORKDIR_TEST_H
#define KOINE_SPEC_C_FILES_WORKDIR_TEST_H

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/files/workdir.h"
#include "support/descriptors.h"
#include "support/file.h"
#include "support/folder.h"
#include "support/test.h"

#define SECRET "the secret outside"

static char base[64];         /* its absolute path */
static int descriptors_before; /* how many were open before the root */

static inline int put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return -1;
  ssize_t n = write(fd, text, strlen(text));
  close(fd);
  return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* Removes what is below a path, and it. */
static inline int clear_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
  (void)st; (void)flag; (void)ftw;
  return remove(path);
}
static inline void clear(const char *path) { (void)nftw(path, clear_one, 16, FTW_DEPTH | FTW_PHYS); }

static inline void make_world(void) {
  char absolute[128];
  CHECK(mkdir("top", 0755) == 0 && mkdir("top2", 0755) == 0 && mkdir("outside", 0755) == 0);
  CHECK(put("outside/secret", SECRET) == 0 && put("top2/secret", SECRET) == 0);
  CHECK(mkdir("top/a", 0755) == 0 && mkdir("top/a/b", 0755) == 0 && put("top/a/b/f", "inside") == 0);
  CHECK(symlink("a/b", "top/rel") == 0 && symlink("../../a", "top/a/b/up") == 0);
  snprintf(absolute, sizeof absolute, "%s/top/a", base);
  CHECK(symlink(absolute, "top/abs") == 0);
  snprintf(absolute, sizeof absolute, "%s/top", base);
  CHECK(symlink(absolute, "top/self") == 0 && symlink("b/f", "top/a/file") == 0);
  CHECK(symlink(absolute, "top/a/home") == 0);
  CHECK(symlink("..", "top/parent") == 0 && symlink("../outside", "top/out") == 0);
  CHECK(symlink("../outside/secret", "top/leak") == 0 && symlink("out/secret", "top/chain") == 0);
  CHECK(symlink("../top2", "top/sibling") == 0 && symlink("a/b/../../../outside/secret", "top/winding") == 0);
  snprintf(absolute, sizeof absolute, "%s/top2/secret", base);
  CHECK(symlink(absolute, "top/abs2") == 0 && symlink("/proc/self/root", "top/magic") == 0);
  CHECK(symlink("loop", "top/loop") == 0 && symlink("pong", "top/ping") == 0 && symlink("ping", "top/pong") == 0);
  CHECK(symlink("nothing/here", "top/dangling") == 0 && symlink("../outside/new", "top/planted") == 0);
  CHECK(mkfifo("top/pipe", 0600) == 0 && symlink("/dev/null", "top/null") == 0);
  struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "top/socket" };
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(s >= 0 && bind(s, (struct sockaddr *)&at, sizeof at) == 0);
  close(s);
}

/* Nothing outside has changed. */
static inline void check_outside(void) {
  CHECK(holds("outside/secret", SECRET) && holds("top2/secret", SECRET));
  CHECK(entries("outside", 1) == 1 && entries("top2", 1) == 1 && entries(".", 1) == 3);
}

/* Makes the world in a new directory and opens the root. */
static inline void begin_world(struct workdir *t) {
  char dir[FOLDER_MAX];
  struct err e;
  descriptors_before = open_descriptors();
  memset(t, 0, sizeof *t);
  err_clear(&e);
  CHECK(folder_new(dir) == 0 && chdir(dir) == 0 && realpath(".", base) != NULL);
  make_world();
  CHECK(workdir_open(t, "top", &e) == 0);
}

/* Closes the root and removes everything; checks that no descriptor is left. */
static inline void end_world(struct workdir *t) {
  workdir_close(t);
  CHECK(open_descriptors() == descriptors_before);
  CHECK(chdir("/") == 0);
  clear(base);
}

#endif
