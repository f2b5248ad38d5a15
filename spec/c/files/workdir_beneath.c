/*
** Tests of the working directory against the kernel's own idea of staying below a directory (openat2 with RESOLVE_BENEATH,
** where there is one): for random paths in random trees of relative links, both find the same file or neither finds one.
*/
#include <errno.h>

#include "support/random.h"
#include "workdir_test.h"

#if defined(__has_include)
#if __has_include(<linux/openat2.h>)
#define HAS_OPENAT2 1
#endif
#endif

#if defined(HAS_OPENAT2)
#include <linux/openat2.h>
#include <sys/syscall.h>

#define TREES 60
#define PATHS 250

static const char *const NAMES[] = { "a", "b", "c", "d", "l1", "l2", "l3" };

/* Appends a random relative path of up to `most` components to `out`. */
static void random_path(char *out, unsigned most, size_t room) {
  size_t n = 0;
  for (unsigned i = 0, parts = 1 + below(most); i < parts && n + 8 < room; i++) {
    const char *part = below(4) == 0 ? ".." : below(9) == 0 ? "." : NAMES[below(7)];
    n += (size_t)snprintf(out + n, room - n, "%s%s", i > 0 ? below(9) == 0 ? "//" : "/" : "", part);
  }
  if (below(12) == 0) snprintf(out + n, room - n, "/");
}

/* Puts directories, files and links into the directory at `dir`, `depth` levels of them. A file holds its own path. */
static void grow(const char *dir, int depth) {
  char path[200], target[100];
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, NAMES[i]);
    if (depth > 0 && below(2) == 0 && mkdir(path, 0755) == 0) grow(path, depth - 1);
    else if (below(2) == 0) CHECK(put(path, path) == 0);
  }
  for (int i = 4; i < 7; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, NAMES[i]);
    random_path(target, 4, sizeof target);
    if (below(3) > 0) CHECK(symlink(target, path) == 0);
  }
}

/* Asks the kernel: appends the file's bytes to b, 0; -1 when it finds none; -2 when it has no openat2. */
static int kernel_read(int root, const char *path, struct buf *b) {
  struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_BENEATH };
  struct stat st;
  int fd;
  do fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
  while (fd < 0 && errno == EAGAIN); /* something was renamed somewhere */
  if (fd < 0) return errno == ENOSYS || errno == EPERM ? -2 : -1;
  ssize_t n = -1;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && buf_reserve(b, 300) == 0) n = read(fd, b->p, 300);
  close(fd);
  if (n < 0) return -1;
  b->n = (size_t)n;
  return 0;
}

/* One random tree: how often both found a file, or -1 without openat2. */
static int one_tree(const struct mem *m) {
  struct workdir t;
  struct buf ours, kernels;
  struct err e;
  char path[300];
  int found = 0, known = 0;
  memset(&t, 0, sizeof t);
  buf_init(&ours, m);
  buf_init(&kernels, m);
  err_clear(&e);
  CHECK(mkdir("grown", 0755) == 0);
  grow("grown", 3);
  CHECK(workdir_open(&t, "grown", &e) == 0);
  for (int i = 0; i < PATHS && known != -2; i++) {
    ours.n = kernels.n = 0;
    random_path(path, 7, sizeof path);
    known = kernel_read(t.fd, path, &kernels);
    if (known == -2) break;
    int r = workdir_read(&t, (struct str){ path, strlen(path) }, 300, &ours, &e);
    if (r != known || !str_same(buf_str(&ours), buf_str(&kernels))) fprintf(stderr, "%s: %d, %d\n", path, r, known);
    CHECK(r == known && str_same(buf_str(&ours), buf_str(&kernels)));
    found += r == 0;
  }
  workdir_close(&t);
  clear("grown");
  buf_free(&ours);
  buf_free(&kernels);
  return known == -2 ? -1 : found;
}

int main(void) {
  struct mem m = mem_libc();
  char dir[FOLDER_MAX];
  int found = 0, r = 0;
  random_state = 20260101;
  CHECK(folder_new(dir) == 0 && chdir(dir) == 0);
  for (int i = 0; i < TREES && r >= 0; i++) found += r = one_tree(&m);
  if (r < 0) fprintf(stderr, "workdir_beneath: no openat2 here to compare with\n");
  else CHECK(found > 100); /* enough paths lead somewhere */
  CHECK(chdir("/") == 0);
  clear(dir);
  return test_done("files/workdir_beneath");
}
#else
int main(void) {
  fprintf(stderr, "workdir_beneath: no openat2 here to compare with\n");
  return test_done("files/workdir_beneath");
}
#endif
