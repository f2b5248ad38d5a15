/* Tests of fs: whole files, private modes, replacement without remains. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fs.h"
#include "failing.h"
#include "test.h"

static int entries(const char *dir) {
  int n = 0;
  DIR *d = opendir(dir);
  if (d == NULL) return -1;
  for (struct dirent *x; (x = readdir(d)) != NULL;) n += x->d_name[0] != '.';
  closedir(d);
  return n;
}

static void test_files(const char *dir) {
  struct failing f = { 0 };
  struct mem m = failing_mem(&f);
  struct buf b, big;
  struct err e;
  struct stat st;
  char path[200], other[200];
  buf_init(&b, &m);
  buf_init(&big, &m);
  err_clear(&e);
  snprintf(path, sizeof path, "%s/token", dir);
  CHECK(fs_read(path, 100, &b, &e) == -1 && e.kind == KIND_OTHER && b.n == 0);
  CHECK(strstr(e.message, path) != NULL && strstr(e.message, "No such file") != NULL);
  CHECK(fs_write_private(path, STR("secret\0x"), &e) == 0 && stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
  CHECK(buf_adds(&b, "before ") == 0 && fs_read(path, 8, &b, &e) == 0 && b.n == 15 &&
        memcmp(b.p + 7, "secret\0x", 8) == 0);
  CHECK(fs_read(path, 7, &b, &e) == -1 && e.kind == KIND_LIMIT && b.n == 15);
  CHECK(chmod(path, 0644) == 0 && fs_write_private(path, STR_NONE, &e) == 0 && stat(path, &st) == 0);
  CHECK(st.st_size == 0 && (st.st_mode & 0777) == 0600 && entries(dir) == 1);
  b.n = 0;
  CHECK(fs_read(path, 0, &b, &e) == 0 && b.n == 0);
  int full = 1;
  for (int i = 0; i < 300000; i++) full = full && buf_addc(&big, (char)i) == 0;
  CHECK(full && fs_write_private(path, buf_str(&big), &e) == 0 && fs_read(path, 300000, &b, &e) == 0);
  CHECK(str_same(buf_str(&b), buf_str(&big)));
  f.fail_at = 1;
  buf_free(&b);
  CHECK(fs_read(path, 300000, &b, &e) == -1 && e.kind == KIND_MEMORY);
  snprintf(other, sizeof other, "%s/none/token", dir);
  CHECK(fs_write_private(other, STR("x"), &e) == -1 && e.kind == KIND_OTHER && strstr(e.message, other) != NULL);
  snprintf(other, sizeof other, "%s/dir", dir);
  CHECK(mkdir(other, 0700) == 0 && fs_write_private(other, STR("x"), &e) == -1 && e.kind == KIND_OTHER);
  CHECK(fs_read(other, 100, &b, &e) == -1 && e.kind != KIND_LIMIT && entries(dir) == 2);
  buf_free(&b);
  buf_free(&big);
  CHECK(f.live == 0 && rmdir(other) == 0 && unlink(path) == 0);
}

/* A name without a directory, and one that is too long. */
static void test_names(const char *dir) {
  struct err e;
  char path[6000], old[4096];
  memset(path, 'x', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  CHECK(fs_write_private(path, STR("x"), &e) == -1 && e.kind == KIND_OTHER);
  if (getcwd(old, sizeof old) == NULL || chdir(dir) < 0) return;
  CHECK(fs_write_private("plain", STR("x"), &e) == 0 && unlink("plain") == 0 && entries(".") == 0);
  CHECK(chdir(old) == 0);
}

int main(void) {
  char dir[] = "/tmp/koine-fs-XXXXXX";
  CHECK(mkdtemp(dir) != NULL);
  test_files(dir);
  test_names(dir);
  CHECK(rmdir(dir) == 0);
  return test_done("fs");
}
