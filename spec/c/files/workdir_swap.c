/*
** Tests of the working directory while somebody else changes the files: after each look that an operation takes, in turn,
** and at any time by another process.
*/
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "workdir_test.h"

#if defined(__linux__) && defined(__LP64__)
static int looks, swap_after; /* how often something was looked at; after which look the world changes, 0 = never */
static void (*swap)(void);

/* In place of the C library's: the moment between a look and what is done because of it. */
int fstatat(int dir, const char *restrict name, struct stat *restrict st, int flags) {
  int r = (int)syscall(SYS_newfstatat, dir, name, st, flags), reason = errno;
  if (++looks == swap_after) swap();
  errno = reason;
  return r;
}

static void file_to_link(void) {
  CHECK(rename("top/s/d/f", "top/s/d/old") == 0 && symlink("../../../outside/secret", "top/s/d/f") == 0);
}
static void file_to_directory(void) {
  CHECK(rename("top/s/d/f", "top/s/d/old") == 0 && mkdir("top/s/d/f", 0755) == 0);
}
static void file_to_pipe(void) {
  CHECK(rename("top/s/d/f", "top/s/d/old") == 0 && mkfifo("top/s/d/f", 0600) == 0);
}
static void directory_to_link(void) {
  CHECK(rename("top/s/d", "top/s/old") == 0 && symlink("../../outside", "top/s/d") == 0);
}
static void directory_to_parent(void) {
  CHECK(rename("top/s/d", "top/s/old") == 0 && symlink("../..", "top/s/d") == 0);
}
static void link_to_outside(void) {
  CHECK(unlink("top/s/l") == 0 && symlink("../../outside", "top/s/l") == 0);
}

/* One of the operations, with the world changed after the `after`th look: how many looks it took. */
static int swapped(const struct workdir *t, int what, struct str path, void (*how)(void), int after) {
  struct mem m = mem_libc();
  struct buf b;
  struct arena a;
  struct workdir_list list = { NULL, 0 };
  struct err e;
  buf_init(&b, &m);
  arena_init(&a, &m);
  err_clear(&e);
  clear("top/s");
  CHECK(mkdir("top/s", 0755) == 0 && mkdir("top/s/d", 0755) == 0 && symlink("d", "top/s/l") == 0);
  CHECK(put("top/s/d/f", "inside") == 0 && put("top/s/d/secret", "inside") == 0);
  looks = 0;
  swap_after = after;
  swap = how;
  if (what == 0) (void)workdir_read(t, path, 100, &b, &e);
  else if (what == 1) (void)workdir_write(t, path, STR("written"), &e);
  else (void)workdir_entries(t, path, 100, &a, &list, &e);
  swap_after = 0;
  CHECK(b.n == 0 || str_eq(buf_str(&b), "inside"));
  for (size_t i = 0; i < list.n; i++) CHECK(!str_eq(list.entries[i].name, "only here"));
  CHECK(entries("top/s/d", 1) == entries("top/s/d", 0) && entries("top/s", 1) == entries("top/s", 0));
  arena_free(&a);
  buf_free(&b);
  return looks;
}

/* The world changes after each look in turn, in every way, during every operation. */
static void test_swaps(const struct workdir *t) {
  static void (*const HOW[])(void) = { file_to_link, file_to_directory, file_to_pipe, directory_to_link,
    directory_to_parent, link_to_outside };
  static const struct str PATHS[] = { { "s/d/f", 5 }, { "s/l/f", 5 }, { "s/d/secret", 10 }, { "s/l/secret", 10 },
    { "s/d", 3 }, { "s/l", 3 }, { "s/l/../l/secret", 15 } };
  CHECK(put("outside/only here", "") == 0);
  for (int what = 0; what < 3; what++)
    for (size_t p = 0; p < sizeof PATHS / sizeof *PATHS; p++)
      for (size_t how = 0; how < sizeof HOW / sizeof *HOW; how++)
        for (int after = 1; after <= swapped(t, what, PATHS[p], HOW[how], after); after++) {
        }
  CHECK(looks > 0 && unlink("outside/only here") == 0);
  check_outside();
  clear("top/s");
}
#else
static void test_swaps(const struct workdir *t) { (void)t; }
#endif

#define ROUNDS 2000

/* Puts `target` in the place of `name`, in turn a file and links, or a directory and links, until killed. */
static void swap_for_ever(void) {
  for (;;) {
    if (symlink("../../outside/secret", "top/race/t1") == 0) rename("top/race/t1", "top/race/file");
    if (put("top/race/t2", "inside") == 0) rename("top/race/t2", "top/race/file");
    if (symlink("../../outside", "top/race/t3") == 0) rename("top/race/t3", "top/race/link");
    if (symlink("safe", "top/race/t4") == 0) rename("top/race/t4", "top/race/link");
#ifdef RENAME_EXCHANGE
    renameat2(AT_FDCWD, "top/race/dir", AT_FDCWD, "top/race/evil", RENAME_EXCHANGE);
#endif
  }
}

static void test_race(const struct workdir *t) {
  static const struct str FILES[] = { { "race/file", 9 }, { "race/link/secret", 16 }, { "race/dir/secret", 15 } };
  static const struct str NEW[] = { { "race/file", 9 }, { "race/link/new", 13 }, { "race/dir/new", 12 } };
  static const struct str DIRS[] = { { "race", 4 }, { "race/link", 9 }, { "race/dir", 8 } };
  struct mem m = mem_libc();
  struct buf b;
  struct arena a;
  struct workdir_list list;
  struct err e;
  int leaked = 0, listed = 0;
  buf_init(&b, &m);
  arena_init(&a, &m);
  CHECK(mkdir("top/race", 0755) == 0 && mkdir("top/race/safe", 0755) == 0 && mkdir("top/race/dir", 0755) == 0);
  CHECK(put("top/race/safe/secret", "inside") == 0 && put("top/race/dir/secret", "inside") == 0);
  CHECK(put("outside/only here", "") == 0 && symlink("../../outside", "top/race/evil") == 0);
  pid_t child = fork();
  if (child == 0) swap_for_ever();
  for (int i = 0; i < ROUNDS; i++) {
    b.n = 0;
    arena_reset(&a);
    if (workdir_read(t, FILES[i % 3], 100, &b, &e) == 0) leaked += !str_eq(buf_str(&b), "inside");
    (void)workdir_write(t, NEW[i % 3], STR("inside"), &e);
    if (workdir_entries(t, DIRS[i % 3], 100, &a, &list, &e) != 0) continue;
    for (size_t k = 0; k < list.n; k++) listed += str_eq(list.entries[k].name, "only here");
  }
  CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
  CHECK(leaked == 0 && listed == 0 && unlink("outside/only here") == 0);
  check_outside();
  arena_free(&a);
  buf_free(&b);
}

int main(void) {
  struct workdir t;
  begin_world(&t);
  test_swaps(&t);
  test_race(&t);
  end_world(&t);
  return test_done("files/workdir_swap");
}
