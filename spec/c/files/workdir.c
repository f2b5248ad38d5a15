/* Tests of the working directory: what a path may lead to, what it may not, what is written and listed. Beside it workdir_swap. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "support/failing.h"
#include "workdir_test.h"

static int read_path(const struct workdir *t, const char *path, struct buf *b, struct err *e) {
  b->n = 0;
  err_clear(e);
  return workdir_read(t, (struct str){ path, strlen(path) }, 100, b, e);
}

/* Paths that stay below the root, however they wind. */
static void test_inside(const struct workdir *t) {
  static const char *const PATHS[] = { "a/b/f", "./a//b/./f", "a/../a/b/f", "a/b/../b/f", "rel/f", "rel/../b/f",
    "abs/b/f", "self/a/b/f", "self/self/rel/f", "a/b/up/b/f", "a/file", "rel/up/../rel/f", "abs/../a/file",
    "a/home/a/b/f" };
  struct mem m = mem_libc();
  struct buf b;
  struct err e;
  char path[200];
  buf_init(&b, &m);
  for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
    CHECK(read_path(t, PATHS[i], &b, &e) == 0);
    CHECK_STR(b.p, b.n, "inside");
  }
  snprintf(path, sizeof path, "%s/top/a/b/f", base);
  CHECK(read_path(t, path, &b, &e) == 0 && str_eq(buf_str(&b), "inside"));
  snprintf(path, sizeof path, "/%s//top/./self/abs/b/f", base);
  CHECK(read_path(t, path, &b, &e) == 0 && str_eq(buf_str(&b), "inside"));
  CHECK(workdir_read(t, STR("a/b/f"), 6, &b, &e) == 0 && b.n == 12);
  CHECK(workdir_read(t, STR("a/b/f"), 5, &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 12);
  buf_free(&b);
}

/* Paths that lead outside, each with the code that says so. */
static void test_outside(const struct workdir *t) {
  static const char *const PATHS[] = { "..", "../outside/secret", "a/../../outside/secret", "/etc/passwd", "/", "leak",
    "chain", "out/secret", "sibling/secret", "abs2", "winding", "parent/outside/secret", "rel/../../../outside/secret",
    "magic/etc", "self/../outside/secret", "a/b/up/../../outside/secret", "null", "planted", "/proc/self/cwd/a" };
  struct mem m = mem_libc();
  struct buf b;
  struct err e;
  struct workdir_list list;
  struct arena a;
  enum workdir_kind kind;
  unsigned long long size;
  char path[200];
  buf_init(&b, &m);
  arena_init(&a, &m);
  for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
    struct str p = { PATHS[i], strlen(PATHS[i]) };
    CHECK(read_path(t, PATHS[i], &b, &e) == -1 && b.n == 0);
    CHECK_STR(e.code, strlen(e.code), "outside");
    CHECK(e.kind == KIND_OTHER && strstr(e.message, PATHS[i]) == e.message);
    CHECK(workdir_write(t, p, STR("overwritten"), &e) == -1 && workdir_stat(t, p, &kind, &size, &e) == -1);
    CHECK(workdir_entries(t, p, 100, &a, &list, &e) == -1 && list.n == 0);
  }
  snprintf(path, sizeof path, "%s/top2/secret", base);
  CHECK(read_path(t, path, &b, &e) == -1 && strcmp(e.code, "outside") == 0);
  snprintf(path, sizeof path, "%s/top/../top/a/b/f", base); /* back in, but through the outside */
  CHECK(read_path(t, path, &b, &e) == -1 && strcmp(e.code, "outside") == 0);
  check_outside();
  arena_free(&a);
  buf_free(&b);
}

/* Entries that are no regular files, and paths that name nothing. */
static void test_kinds(const struct workdir *t) {
  static const char *const NONE[] = { "pipe", "socket", "a", ".", "self", "a/b/.." };
  struct mem m = mem_libc();
  struct buf b;
  struct err e;
  enum workdir_kind kind;
  unsigned long long size = 0;
  buf_init(&b, &m);
  for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++) {
    struct str p = { NONE[i], strlen(NONE[i]) };
    CHECK(read_path(t, NONE[i], &b, &e) == -1 && strcmp(e.code, "kind") == 0);
    err_clear(&e);
    CHECK(workdir_write(t, p, STR("x"), &e) == -1 && strcmp(e.code, "kind") == 0);
  }
  CHECK(read_path(t, "nothing", &b, &e) == -1 && strcmp(e.code, "absent") == 0);
  CHECK(read_path(t, "dangling", &b, &e) == -1 && strcmp(e.code, "absent") == 0);
  CHECK(read_path(t, "a/b/f/", &b, &e) == -1 && read_path(t, "a/b/f/.", &b, &e) == -1);
  CHECK(read_path(t, "a/b/f/..", &b, &e) == -1 && read_path(t, "", &b, &e) == -1);
  CHECK(strcmp(e.message, "the path is empty") == 0);
  CHECK(workdir_read(t, STR("a/b/f\0/x"), 100, &b, &e) == -1 && strstr(e.message, "NUL") != NULL);
  CHECK(read_path(t, "loop", &b, &e) == -1 && strstr(e.message, strerror(ELOOP)) != NULL);
  CHECK(read_path(t, "ping", &b, &e) == -1 && read_path(t, "loop/x", &b, &e) == -1 && b.n == 0);
  CHECK(workdir_stat(t, STR("a/file"), &kind, &size, &e) == 0 && kind == WORKDIR_FILE && size == 6);
  CHECK(workdir_stat(t, STR("rel"), &kind, &size, &e) == 0 && kind == WORKDIR_DIRECTORY);
  CHECK(workdir_stat(t, STR("pipe"), &kind, &size, &e) == 0 && kind == WORKDIR_OTHER);
  CHECK(entries("top", 1) == 20);
  buf_free(&b);
}

/* Long names, long paths, many links, many directories. */
static void test_caps(const struct workdir *t) {
  struct mem m = mem_libc();
  struct buf b;
  struct err e;
  char path[6000], name[300];
  buf_init(&b, &m);
  memset(name, 'x', sizeof name);
  name[256] = '\0';
  CHECK(read_path(t, name, &b, &e) == -1 && strstr(e.message, strerror(ENAMETOOLONG)) != NULL);
  memset(path, '/', sizeof path);
  memcpy(path, "a", 1);
  memcpy(path + sizeof path - 4, "b/f", 4);
  CHECK(read_path(t, path, &b, &e) == -1 && strstr(e.message, strerror(ENAMETOOLONG)) != NULL);
  CHECK(read_path(t, path + sizeof path - 4 - 4000, &b, &e) == -1); /* slashes at the beginning: absolute */
  path[2000] = 'a';
  CHECK(read_path(t, path + 2000 - 1999, &b, &e) == -1 && strstr(e.message, strerror(ENAMETOOLONG)) != NULL);
  char *end = path;
  for (int i = 0; i < WORKDIR_DEPTH_MAX; i++) end += sprintf(end, "d/");
  memcpy(end, "f", 2);
  CHECK(workdir_write(t, (struct str){ path, strlen(path) }, STR("deep"), &e) == 0);
  CHECK(read_path(t, path, &b, &e) == 0 && str_eq(buf_str(&b), "deep"));
  memcpy(end, "d/f", 4);
  CHECK(workdir_write(t, (struct str){ path, strlen(path) }, STR("deep"), &e) == -1 && e.kind == KIND_LIMIT);
  end = path;
  for (int i = 0; i < WORKDIR_LINKS_MAX - 1; i++) end += sprintf(end, "self/");
  memcpy(end, "rel/f", 6);
  CHECK(read_path(t, path, &b, &e) == 0);
  memcpy(end, "self/rel/f", 11);
  CHECK(read_path(t, path, &b, &e) == -1 && b.n == 0 && strstr(e.message, strerror(ELOOP)) != NULL);
  end = path + sprintf(path, "self"); /* the target of this one and what follows it are too long together */
  for (int i = 0; i < 4091; i++) *end++ = '/';
  *end = '\0';
  CHECK(read_path(t, path, &b, &e) == -1 && strcmp(e.code, "kind") == 0);
  memcpy(path, "a/up", 4);
  CHECK(symlink("b/up/b/..", "top/a/up") == 0 && read_path(t, path, &b, &e) == -1);
  CHECK(strstr(e.message, strerror(ENAMETOOLONG)) != NULL);
  buf_free(&b);
}

static unsigned mode_of(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 ? (unsigned)(st.st_mode & 07777) : 0;
}

/* A write that fails half-way leaves the old file and nothing else. */
static void test_full(const struct workdir *t) {
  struct rlimit before = { 0 }, small;
  struct err e;
  err_clear(&e);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  CHECK(mkdir("top/full", 0755) == 0 && put("top/full/f", "old") == 0 && getrlimit(RLIMIT_FSIZE, &before) == 0);
  small = before;
  small.rlim_cur = 4;
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK(workdir_write(t, STR("full/f"), STR("longer"), &e) == -1 && strstr(e.message, strerror(EFBIG)) != NULL);
  CHECK(workdir_write(t, STR("full/new"), STR("longer"), &e) == -1 && setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(holds("top/full/f", "old") && entries("top/full", 1) == 1);
  signal(SIGXFSZ, handler);
}

static void test_write(const struct workdir *t) {
  struct err e;
  struct stat st;
  err_clear(&e);
  mode_t mask = umask(022);
  CHECK(workdir_write(t, STR("new/deep/f"), STR("one"), &e) == 0 && holds("top/new/deep/f", "one"));
  CHECK(mode_of("top/new/deep/f") == 0644 && mode_of("top/new") == 0755);
  CHECK(chmod("top/new/deep/f", 0751) == 0 && workdir_write(t, STR("new/deep/f"), STR("two"), &e) == 0);
  CHECK(holds("top/new/deep/f", "two") && mode_of("top/new/deep/f") == 0751 && entries("top/new/deep", 1) == 1);
  CHECK(workdir_write(t, STR("new/deep/f"), STR_NONE, &e) == 0 && holds("top/new/deep/f", ""));
  if (geteuid() == 0) { /* others cannot give files away */
    CHECK(chown("top/new/deep/f", 54321, 54322) == 0 && workdir_write(t, STR("new/deep/f"), STR("theirs"), &e) == 0);
    CHECK(stat("top/new/deep/f", &st) == 0 && st.st_uid == 54321 && st.st_gid == 54322 && st.st_size == 6);
  }
  CHECK(workdir_write(t, STR("rel/f"), STR("through a link"), &e) == 0 && holds("top/a/b/f", "through a link"));
  CHECK(workdir_write(t, STR("a/file"), STR("inside"), &e) == 0 && holds("top/a/b/f", "inside"));
  CHECK(lstat("top/a/file", &st) == 0 && S_ISLNK(st.st_mode));
  CHECK(workdir_write(t, STR("dangling"), STR("made"), &e) == 0 && holds("top/nothing/here", "made"));
  CHECK(workdir_write(t, STR("none/../f"), STR("x"), &e) == -1 && strcmp(e.code, "absent") == 0);
  CHECK(access("top/none", F_OK) == -1);
  CHECK(symlink("made/for/", "top/to-slash") == 0);
  static const char *const DIRECTORIES[] = { "made/for/nothing/", "made/for/.", "made/.//", "made/for/./", "to-slash" };
  for (size_t i = 0; i < sizeof DIRECTORIES / sizeof *DIRECTORIES; i++) { /* a directory's name: nothing is made */
    err_clear(&e);
    CHECK(workdir_write(t, (struct str){ DIRECTORIES[i], strlen(DIRECTORIES[i]) }, STR("x"), &e) == -1);
    CHECK(strcmp(e.code, "kind") == 0 && access("top/made", F_OK) == -1);
  }
  CHECK(link("outside/secret", "top/hard") == 0 && workdir_write(t, STR("hard"), STR("mine"), &e) == 0);
  CHECK(holds("top/hard", "mine"));
  CHECK(mkdir("top/shut", 0555) == 0 && put("top/kept", "kept") == 0 && chmod("top/kept", 0444) == 0);
  if (geteuid() != 0) { /* nothing is forbidden to root */
    CHECK(workdir_write(t, STR("shut/f"), STR("x"), &e) == -1 && workdir_write(t, STR("kept"), STR("x"), &e) == -1);
    CHECK(holds("top/kept", "kept"));
  }
  umask(mask);
  check_outside();
}

static void test_list(const struct workdir *t) {
  static const char *const NAMES[] = { "B", "a", "a.b", "link", "sub" };
  static const enum workdir_kind KINDS[] = { WORKDIR_FILE, WORKDIR_FILE, WORKDIR_FILE, WORKDIR_LINK, WORKDIR_DIRECTORY };
  struct mem m = mem_libc();
  struct arena a;
  struct workdir_list list;
  struct err e;
  arena_init(&a, &m);
  err_clear(&e);
  CHECK(mkdir("top/list", 0755) == 0 && mkdir("top/list/sub", 0755) == 0 && symlink("/", "top/list/link") == 0);
  CHECK(put("top/list/a.b", "") == 0 && put("top/list/a", "") == 0 && put("top/list/B", "") == 0);
  CHECK(workdir_entries(t, STR("list"), 5, &a, &list, &e) == 0 && list.n == 5);
  for (size_t i = 0; i < list.n; i++) {
    CHECK_STR(list.entries[i].name.p, list.entries[i].name.n, NAMES[i]);
    CHECK(list.entries[i].kind == KINDS[i]);
  }
  CHECK(workdir_entries(t, STR("list"), 4, &a, &list, &e) == -1 && e.kind == KIND_LIMIT);
  CHECK(workdir_entries(t, STR("list/sub"), 0, &a, &list, &e) == 0 && list.n == 0);
  CHECK(workdir_entries(t, STR("list/a"), 9, &a, &list, &e) == -1 && strcmp(e.code, "kind") == 0);
  err_clear(&e);
  CHECK(workdir_entries(t, STR("pipe"), 9, &a, &list, &e) == -1 && strcmp(e.code, "kind") == 0);
  CHECK(workdir_entries(t, STR("."), 99, &a, &list, &e) == 0 && list.n == (size_t)entries("top", 1));
  arena_free(&a);
}

/* Every allocation fails once in turn; what was read so far is not left in the buffer. */
static void test_memory(const struct workdir *t) {
  int read_done = 0, list_done = 0;
  for (size_t at = 1; at < 100 && !(read_done && list_done); at++) {
    struct failing f = { .fail_at = at };
    struct mem m = failing_mem(&f);
    struct buf b;
    struct arena a;
    struct workdir_list list;
    struct err e;
    buf_init(&b, &m);
    arena_init(&a, &m);
    err_clear(&e);
    read_done = workdir_read(t, STR("a/b/f"), 100, &b, &e) == 0;
    CHECK(read_done ? b.n == 6 : e.kind == KIND_MEMORY && b.n == 0);
    f.asked = 0;
    err_clear(&e);
    list_done = workdir_entries(t, STR("list"), 100, &a, &list, &e) == 0;
    CHECK(list_done ? list.n == 5 : e.kind == KIND_MEMORY);
    buf_free(&b);
    arena_free(&a);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(read_done && list_done);
}

static void test_place(void) {
  struct workdir t;
  struct err e;
  err_clear(&e);
  CHECK(mkdir("place", 0755) == 0 && workdir_open(&t, "place", &e) == 0 && workdir_in_place(&t, &e) == 0);
  CHECK(rename("place", "away") == 0 && workdir_in_place(&t, &e) == -1 && strcmp(e.code, "absent") == 0);
  CHECK(mkdir("place", 0755) == 0 && workdir_in_place(&t, &e) == -1 && strcmp(e.code, "kind") == 0);
  CHECK(rmdir("place") == 0 && rename("away", "place") == 0 && workdir_in_place(&t, &e) == 0);
  workdir_close(&t);
  CHECK(rmdir("place") == 0);
}

static void test_root(void) {
  struct workdir t, same;
  struct err e;
  char link_path[128];
  struct mem m = mem_libc();
  struct buf b;
  memset(&t, 0, sizeof t);
  memset(&same, 0, sizeof same);
  buf_init(&b, &m);
  err_clear(&e);
  CHECK(workdir_open(&t, "nowhere", &e) == -1 && !t.is_open && strcmp(e.code, "absent") == 0);
  CHECK(workdir_open(&t, "outside/secret", &e) == -1 && !t.is_open && workdir_open(&t, "top/pipe", &e) == -1);
  workdir_close(&t);
  snprintf(link_path, sizeof link_path, "%s/alias", base); /* a root that is asked for by a link's name */
  CHECK(symlink("top", "alias") == 0);
  CHECK(workdir_open(&t, "top", &e) == 0 && workdir_open(&same, link_path, &e) == 0 && strcmp(t.real, same.real) == 0);
  CHECK((fcntl(t.fd, F_GETFD) & FD_CLOEXEC) != 0);
  snprintf(link_path, sizeof link_path, "%s/alias/a/b/f", base);
  CHECK(read_path(&same, link_path, &b, &e) == 0 && str_eq(buf_str(&b), "inside"));
  CHECK(read_path(&t, link_path, &b, &e) == -1 && strcmp(e.code, "outside") == 0 && unlink("alias") == 0);
  workdir_close(&t);
  workdir_close(&t);
  workdir_close(&same);
  CHECK(!t.is_open);
  if (workdir_open(&t, "/proc/self", &e) == 0) { /* its files have no size until they are read; its links are magic */
    CHECK(read_path(&t, "status", &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 0);
    CHECK(read_path(&t, "cwd/top/a/b/f", &b, &e) == -1 && read_path(&t, "root/etc/passwd", &b, &e) == -1);
    CHECK(strcmp(e.code, "outside") == 0 && read_path(&t, "exe", &b, &e) == -1 && b.n == 0);
    workdir_close(&t);
  }
  buf_free(&b);
}

int main(void) {
  struct workdir t;
  begin_world(&t);
  test_inside(&t);
  test_outside(&t);
  test_kinds(&t);
  test_caps(&t);
  test_write(&t);
  test_full(&t);
  test_list(&t);
  test_memory(&t);
  test_place();
  test_root();
  end_world(&t);
  return test_done("files/workdir");
}
