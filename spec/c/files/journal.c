/* Tests of journals: locked files that grow by records, cut ones, and disks that are full. */
#include <sys/resource.h>

#include "core/files/journal.h"
#include "private_file_test.h"

static const char HEAD[] = "head....";
static char big[100000];

/* A locked file of eight bytes. */
static int locked(const char *path, struct file_lock *l) {
  struct err e;
  err_clear(&e);
  return file_lock(path, l, &e) == 1 && file_lock_write(l, path, STR(HEAD), &e) == 0;
}

static void test_append(const char *dir) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct file_lock l = { 0 };
  struct buf b;
  struct err e;
  char path[200], before[STAMP_MAX], after[STAMP_MAX];
  buf_init(&b, &m);
  err_clear(&e);
  snprintf(path, sizeof path, "%s/journal", dir);
  CHECK(journal_stamp(path, before, &e) == -1 && strcmp(e.code, "absent") == 0);
  CHECK(locked(path, &l) && journal_stamp(path, before, &e) == 0);
  CHECK(journal_append(&l, path, 0, 8, STR("first"), &e) == 0 && journal_stamp(path, after, &e) == 0);
  CHECK(strcmp(before, after) != 0);
  CHECK(journal_append(&l, path, 0, 13, STR("second, longer"), &e) == 0);
  CHECK(journal_read(&l, path, 8, 100, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "firstsecond, longer");
  b.n = 0;
  CHECK(journal_read(&l, path, 0, 100, &b, &e) == 0 && b.n == 27 && memcmp(b.p, "\15\0\0\0\0\0\0\0first", 13) == 0);
  CHECK(journal_append(&l, path, 0, 13, STR("cut"), &e) == 0); /* what was behind is gone */
  b.n = 0;
  CHECK(journal_read(&l, path, 13, 100, &b, &e) == 0 && journal_read(&l, path, 50, 100, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "cut");
  CHECK(journal_read(&l, path, 8, 7, &b, &e) == 0 && journal_read(&l, path, 0, 0, &b, &e) == 0);
  CHECK_STR(b.p, b.n, "cutfirstcu");
  CHECK(journal_append(&l, path, 0, 16, (struct str){ big, sizeof big }, &e) == 0);
  b.n = 0;
  CHECK(journal_read(&l, path, 16, sizeof big, &b, &e) == 0 && b.n == sizeof big);
  buf_free(&b);
  f.fail_at = 1;
  CHECK(journal_read(&l, path, 0, 1 << 20, &b, &e) == -1 && e.kind == KIND_MEMORY && b.n == 0);
  file_unlock(&l);
  CHECK(f.live == 0 && unlink(path) == 0);
}

static int append_limited(const char *path) {
  struct file_lock l = { 0 };
  struct err e;
  struct rlimit most = { 1000, 1000 };
  err_clear(&e);
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &most) < 0 || file_lock(path, &l, &e) != 1) return 77;
  int failed = journal_append(&l, path, 0, 8, (struct str){ big, sizeof big }, &e);
  return failed == -1 && e.kind == KIND_LIMIT && strcmp(e.code, "full") == 0;
}

/* A disk without room: the file ends where it did. */
static void test_full(const char *dir) {
  struct file_lock l = { 0 };
  struct stat st;
  char path[200];
  snprintf(path, sizeof path, "%s/journal", dir);
  CHECK(locked(path, &l));
  file_unlock(&l);
  pid_t child = fork();
  if (child == 0) _exit(append_limited(path));
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1);
  CHECK(stat(path, &st) == 0 && st.st_size == 8 && unlink(path) == 0);
}

static void test_directory(const char *dir) {
  struct err e;
  char path[200], link[200];
  err_clear(&e);
  snprintf(path, sizeof path, "%s/a/b", dir);
  snprintf(link, sizeof link, "%s/link", dir);
  CHECK(private_directory_only(path, &e) == 0 && private_directory_only(path, &e) == 0);
  CHECK(symlink(path, link) == 0 && private_directory_only(link, &e) == -1 && strstr(e.message, "symbolic link") != NULL);
  static const char *const BEHIND[] = { "/", "//", "/.", "/.//" };
  for (size_t i = 0; i < sizeof BEHIND / sizeof *BEHIND; i++) { /* the system would follow the link */
    char longer[220];
    snprintf(longer, sizeof longer, "%s%s", link, BEHIND[i]);
    CHECK(private_directory_only(longer, &e) == -1 && strstr(e.message, "symbolic link") != NULL);
    snprintf(longer, sizeof longer, "%s%s", path, BEHIND[i]);
    CHECK(private_directory_only(longer, &e) == 0);
  }
  CHECK(chmod(path, 0755) == 0 && private_directory_only(path, &e) == -1 && strstr(e.message, "0755") != NULL);
  if (geteuid() == 0 && chmod(path, 0700) == 0 && chown(path, 65534, 65534) == 0)
    CHECK(private_directory_only(path, &e) == -1 && strstr(e.message, "another user") != NULL);
  CHECK(rmdir(path) == 0 && unlink(link) == 0);
  snprintf(path, sizeof path, "%s/a", dir);
  CHECK(rmdir(path) == 0);
}

int main(void) {
  char dir[FOLDER_MAX];
  CHECK(folder_new(dir) == 0);
  memset(big, 'x', sizeof big);
  test_append(dir);
  test_full(dir);
  test_directory(dir);
  CHECK(rmdir(dir) == 0);
  return test_done("files/journal");
}
