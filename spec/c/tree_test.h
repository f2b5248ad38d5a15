/*
** tree_test.h: the world that the tests of tree live in: a root, and around it `outside` with a secret file and
** `root2`, whose name begins with the root's. The working directory of the test is the directory of all this.
*/
#ifndef KOINE_TREE_TEST_H
#define KOINE_TREE_TEST_H

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/tree.h"
#include "descriptors.h"
#include "file.h"
#include "test.h"

#define SECRET "the secret outside"

static char base[64]; /* its absolute path */

static inline int put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return -1;
  ssize_t n = write(fd, text, strlen(text));
  close(fd);
  return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* True when the file holds exactly this text. */
static inline int holds(const char *path, const char *text) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  int same = file_read(path, &b) == 0 && str_same(buf_str(&b), (struct str){ text, strlen(text) });
  buf_free(&b);
  return same;
}

/* Removes what is below a path, and it. */
static inline int clear_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
  (void)st; (void)flag; (void)ftw;
  return remove(path);
}
static inline void clear(const char *path) { (void)nftw(path, clear_one, 16, FTW_DEPTH | FTW_PHYS); }

static inline void make_world(void) {
  char absolute[128];
  CHECK(mkdir("root", 0755) == 0 && mkdir("root2", 0755) == 0 && mkdir("outside", 0755) == 0);
  CHECK(put("outside/secret", SECRET) == 0 && put("root2/secret", SECRET) == 0);
  CHECK(mkdir("root/a", 0755) == 0 && mkdir("root/a/b", 0755) == 0 && put("root/a/b/f", "inside") == 0);
  CHECK(symlink("a/b", "root/rel") == 0 && symlink("../../a", "root/a/b/up") == 0);
  snprintf(absolute, sizeof absolute, "%s/root/a", base);
  CHECK(symlink(absolute, "root/abs") == 0);
  snprintf(absolute, sizeof absolute, "%s/root", base);
  CHECK(symlink(absolute, "root/self") == 0 && symlink("b/f", "root/a/file") == 0);
  CHECK(symlink(absolute, "root/a/home") == 0);
  CHECK(symlink("..", "root/parent") == 0 && symlink("../outside", "root/out") == 0);
  CHECK(symlink("../outside/secret", "root/leak") == 0 && symlink("out/secret", "root/chain") == 0);
  CHECK(symlink("../root2", "root/sibling") == 0 && symlink("a/b/../../../outside/secret", "root/winding") == 0);
  snprintf(absolute, sizeof absolute, "%s/root2/secret", base);
  CHECK(symlink(absolute, "root/abs2") == 0 && symlink("/proc/self/root", "root/magic") == 0);
  CHECK(symlink("loop", "root/loop") == 0 && symlink("pong", "root/ping") == 0 && symlink("ping", "root/pong") == 0);
  CHECK(symlink("nothing/here", "root/dangling") == 0 && symlink("../outside/new", "root/planted") == 0);
  CHECK(mkfifo("root/pipe", 0600) == 0 && symlink("/dev/null", "root/null") == 0);
  struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "root/socket" };
  int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(s >= 0 && bind(s, (struct sockaddr *)&at, sizeof at) == 0);
  close(s);
}

/* Nothing outside has changed. */
static inline void check_outside(void) {
  CHECK(holds("outside/secret", SECRET) && holds("root2/secret", SECRET));
  CHECK(entries("outside", 1) == 1 && entries("root2", 1) == 1 && entries(".", 1) == 3);
}

/* Makes the world in a new directory and opens the root. */
static inline void begin_world(char *dir, struct tree *t) {
  struct err e;
  memset(t, 0, sizeof *t);
  err_clear(&e);
  CHECK(mkdtemp(dir) != NULL && chdir(dir) == 0 && realpath(".", base) != NULL);
  make_world();
  CHECK(tree_open(t, "root", &e) == 0);
}

/* Closes the root and removes everything; checks that no descriptor is left of those opened since `before`. */
static inline void end_world(const char *dir, struct tree *t, int before) {
  tree_close(t);
  CHECK(open_descriptors() == before);
  CHECK(chdir("/") == 0);
  clear(dir);
}

#endif
