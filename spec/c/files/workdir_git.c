/*
** Tests of tree: nothing is written at or below a `.git`, by whatever name or way, nor into a repository's own
** directory under another name. Files next to them can be written, and all can be read.
*/
#include "workdir_test.h"

static struct str path_of(const char *path) { return (struct str){ path, strlen(path) }; }

/* True when writing there is refused as git's, and nothing has been made on the way. */
static int is_refused(const struct workdir *t, const char *path) {
  struct err e;
  err_clear(&e);
  int before = entries("top", 1);
  int r = workdir_write(t, path_of(path), STR("planted"), &e);
  return r == -1 && e.kind == KIND_OTHER && strcmp(e.code, "git") == 0 && entries("top", 1) == before;
}

static int is_written(const struct workdir *t, const char *path) {
  struct err e;
  err_clear(&e);
  return workdir_write(t, path_of(path), STR("written"), &e) == 0;
}

static void make_repository(const char *dir) {
  char path[128];
  static const char *const DIRECTORIES[] = { "", "/objects", "/refs", "/hooks" };
  for (size_t i = 0; i < sizeof DIRECTORIES / sizeof *DIRECTORIES; i++) {
    snprintf(path, sizeof path, "%s%s", dir, DIRECTORIES[i]);
    CHECK(mkdir(path, 0755) == 0);
  }
  snprintf(path, sizeof path, "%s/HEAD", dir);
  CHECK(put(path, "ref: refs/heads/main\n") == 0);
  snprintf(path, sizeof path, "%s/config", dir);
  CHECK(put(path, "[core]\n") == 0);
}

/* Names that mean .git to some file system, or that git takes for it. */
static void test_names(const struct workdir *t) {
  static const char *const REFUSED[] = {
    ".git", ".git/", ".git/.", ".git//config", "./.git/config", ".git/config", ".git/hooks/post-commit",
    ".git/../f", "a/.git", "a/b/.git/config", "new/.git/config", "a/../.git/config", ".git/new/deep",
    ".GIT/config", ".Git", ".giT/x", "a/.gIt/config", ".git./config", ".git..", ".git ", ".git . ./config",
    "git~1", "GIT~1/config", "git~1./config", ".git::$INDEX_ALLOCATION/config", ".git:x", ".git\\config",
    "a\\.git\\config", "a\\GIT~1", ".g\xE2\x80\x8Cit/config", "\xEF\xBB\xBF.git", ".git\xE2\x80\x8F/config",
    ".\xE2\x81\xAEGIT", ".gi\xC2\xADt/config", ".\xF3\xA0\x80\xA1git", "..git/../.git/config"
  };
  static const char *const WRITTEN[] = {
    ".github/f", ".gitignore", ".gitattributes", ".gitmodules", "git", "a/git/config", "a.git/config", "..git", ".gitx",
    ".git~1", "git~2", "git~10", ".gi", "x.git", ".git-x/config", ".g\xC3\xADt", "a/.git_", "HEAD", "refs/f"
  };
  char absolute[200];
  for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
    CHECK(is_refused(t, REFUSED[i]));
    snprintf(absolute, sizeof absolute, "%s/top/%s", base, REFUSED[i]);
    CHECK(is_refused(t, absolute));
  }
  for (size_t i = 0; i < sizeof WRITTEN / sizeof *WRITTEN; i++) CHECK(is_written(t, WRITTEN[i]));
}

/* The same where there is one: as a directory, as a file, behind links. */
static void test_there(const struct workdir *t) {
  struct mem m = mem_libc();
  struct buf b;
  struct err e;
  buf_init(&b, &m);
  CHECK(mkdir("top/r", 0755) == 0);
  make_repository("top/r/.git");
  CHECK(mkdir("top/w", 0755) == 0 && put("top/w/.git", "gitdir: ../r/.git/worktrees/w\n") == 0);
  CHECK(symlink("r/.git", "top/plain") == 0 && symlink("r/.git/config", "top/settings") == 0);
  CHECK(symlink("plain", "top/again") == 0 && symlink(".GIT/made", "top/r/absent") == 0);
  CHECK(symlink(".git", "top/r/x") == 0 && symlink("r/.git/hooks/../..", "top/through") == 0);
  static const char *const REFUSED[] = { "r/.git/config", "w/.git", "w/.git/config", "plain", "plain/config", "plain/",
    "settings", "again/hooks/post-commit", "r/absent", "r/x/config", "r/x/../f", "a/../r/.git/HEAD", "through/f" };
  for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) CHECK(is_refused(t, REFUSED[i]));
  CHECK(holds("top/r/.git/config", "[core]\n") && entries("top/r/.git", 1) == 5 && entries("top/r/.git/hooks", 1) == 0);
  CHECK(holds("top/w/.git", "gitdir: ../r/.git/worktrees/w\n"));
  CHECK(is_written(t, "r/f") && is_written(t, "w/f") && is_written(t, "r/new/f"));
  err_clear(&e);
  CHECK(workdir_read(t, STR("plain/config"), 100, &b, &e) == 0 && str_eq(buf_str(&b), "[core]\n"));
  CHECK(is_refused(t, "settings") && workdir_write(t, STR("settings"), STR("x"), &e) == -1);
  CHECK(strcmp(e.message, "settings: git's own files are not written") == 0);
  buf_free(&b);
}

/* A repository's directory that is not called .git: bare, or where a `.git` file points. */
static void test_other_names(const struct workdir *t) {
  make_repository("top/bare");
  CHECK(is_refused(t, "bare/config") && is_refused(t, "bare/hooks/post-commit") && is_refused(t, "bare/new/deep/f"));
  CHECK(is_refused(t, "bare/HEAD") && is_refused(t, "bare/objects/../config") && is_refused(t, "a/../bare/f"));
  CHECK(mkdir("top/bare/main", 0755) == 0 && put("top/bare/main/.git", "gitdir: ../worktrees/main\n") == 0);
  CHECK(is_written(t, "bare/main/f") && is_written(t, "bare/main/src/f") && is_refused(t, "bare/main/.git"));
  CHECK(is_written(t, "bare/../f2") && is_refused(t, "bare/main/../config"));
  CHECK(symlink("bare/main", "top/main") == 0 && is_written(t, "main/f"));
  CHECK(mkdir("top/linked", 0755) == 0 && put("top/linked/HEAD", "x") == 0 && put("top/linked/commondir", "y") == 0);
  CHECK(is_refused(t, "linked/config.worktree") && is_refused(t, "linked/commondir"));
}

/* No write makes such a directory whole, whatever comes last. */
static void test_completing(const struct workdir *t) {
  static const char *const PARTS[] = { "HEAD", "objects/x", "refs/x" };
  char path[64];
  for (int last = 0; last < 3; last++) {
    for (int i = 1; i <= 3; i++) {
      snprintf(path, sizeof path, "made%d/%s", last, PARTS[(last + i) % 3]);
      CHECK(i == 3 ? is_refused(t, path) : is_written(t, path));
    }
    snprintf(path, sizeof path, "made%d/config", last);
    CHECK(is_written(t, path));
  }
  CHECK(is_written(t, "made3/commondir") && is_refused(t, "made3/HEAD"));
  CHECK(is_written(t, "made4/HEAD") && is_refused(t, "made4/commondir") && is_refused(t, "made4/CommonDir"));
  CHECK(is_written(t, "made5/refs/f") && is_written(t, "made5/objects/f") && is_refused(t, "made5/head"));
}

/* A root that lies in one. */
static void test_root(void) {
  struct workdir t;
  struct err e;
  memset(&t, 0, sizeof t);
  err_clear(&e);
  CHECK(mkdir("place", 0755) == 0);
  make_repository("place/.git");
  CHECK(mkdir("place/.git/work", 0755) == 0 && symlink(".git/work", "place/link") == 0);
  static const char *const ROOTS[] = { "place/.git", "place/.git/work", "place/link" };
  for (size_t i = 0; i < sizeof ROOTS / sizeof *ROOTS; i++) {
    CHECK(workdir_open(&t, ROOTS[i], &e) == 0 && is_refused(&t, "f") && is_refused(&t, "config"));
    workdir_close(&t);
  }
  make_repository("place/bare");
  CHECK(workdir_open(&t, "place/bare", &e) == 0 && is_refused(&t, "config") && is_refused(&t, "hooks/x"));
  workdir_close(&t);
  clear("place");
}

int main(void) {
  struct workdir t;
  begin_world(&t);
  test_names(&t);
  test_there(&t);
  test_other_names(&t);
  test_completing(&t);
  test_root();
  end_world(&t);
  return test_done("files/workdir_git");
}
