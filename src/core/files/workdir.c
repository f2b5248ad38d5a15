/*
** workdir.c: what can be done with files below a root once the walk has found them.
** The caller owns the workdir; descriptors are closed before it returns. Failure: -1 and an err; a file that was to be
** replaced is then as it was, and no temporary file is left.
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/io.h"
#include "workdir_private.h"

#define TRIES 100       /* names for a temporary file */
#define TEMPORARY 48    /* bytes of such a name */

int workdir_open(struct workdir *t, const char *dir, struct err *e) {
  struct str path = { dir, strlen(dir) };
  if (realpath(dir, t->real) == NULL) return workdir_fail(e, path, errno);
  t->given[0] = '\0';
  if (dir[0] == '/' && path.n < sizeof t->given) memcpy(t->given, dir, path.n + 1);
  t->fd = io_open(t->real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
  if (t->fd < 0) return workdir_fail(e, path, errno);
  t->is_open = 1;
  return 0;
}

void workdir_close(struct workdir *t) {
  if (t->is_open) close(t->fd);
  t->is_open = 0;
}

int workdir_in_place(const struct workdir *t, struct err *e) {
  struct str path = { t->real, strlen(t->real) };
  struct stat root, now;
  if (fstat(t->fd, &root) < 0 || stat(t->real, &now) < 0) return workdir_fail(e, path, errno);
  if (root.st_dev == now.st_dev && root.st_ino == now.st_ino) return 0;
  return workdir_fail_kind(e, path, "no longer the directory that was opened");
}

static enum workdir_kind kind_of(mode_t mode) {
  return S_ISREG(mode) ? WORKDIR_FILE : S_ISDIR(mode) ? WORKDIR_DIRECTORY : S_ISLNK(mode) ? WORKDIR_LINK : WORKDIR_OTHER;
}

int workdir_stat(const struct workdir *t, struct str path, enum workdir_kind *kind, unsigned long long *size, struct err *e) {
  struct workdir_walk w;
  struct stat st;
  int r = workdir_walk(t, path, 0, &w, e);
  if (r == 0 && fstatat(workdir_walk_dir(&w), w.name, &st, AT_SYMLINK_NOFOLLOW) < 0) r = workdir_fail(e, path, errno);
  workdir_walk_end(&w);
  if (r < 0) return -1;
  *kind = kind_of(st.st_mode); /* NOLINT(clang-analyzer-core.CallAndMessage): filled, since workdir_fail gives -1 */
  *size = S_ISREG(st.st_mode) ? (unsigned long long)st.st_size : 0;
  return 0;
}

/* The absolute path of an open directory: 0, or -1 and errno. */
static int path_of(int dir, char path[PATH_MAX]) {
#ifdef F_GETPATH
  return fcntl(dir, F_GETPATH, path) < 0 ? -1 : 0;
#else
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", dir);
  ssize_t n = readlink(name, path, PATH_MAX - 1);
  if (n < 0) return -1;
  path[n] = '\0';
  return 0;
#endif
}

int workdir_locate(const struct workdir *t, struct str path, int writes, char real[PATH_MAX], struct err *e) {
  struct workdir_walk w;
  int r = workdir_walk(t, path, writes, &w, e);
  if (r == 0 && path_of(workdir_walk_dir(&w), real) < 0) r = workdir_fail(e, path, errno);
  if (r == 0 && strcmp(w.name, ".") != 0) {
    size_t n = strlen(real), more = strlen(w.name);
    if (n + more + 2 > PATH_MAX) {
      r = workdir_fail(e, path, ENAMETOOLONG);
    } else {
      if (n > 1) real[n++] = '/'; /* "/" has its own */
      memcpy(real + n, w.name, more + 1);
    }
  }
  workdir_walk_end(&w);
  return r;
}

/* {{{ reading */

/* 0 when it is a regular file, or -1. */
static int check_regular(const struct stat *st, struct str path, struct err *e) {
  if (S_ISREG(st->st_mode)) return 0;
  return workdir_fail_kind(e, path, S_ISDIR(st->st_mode) ? "a directory" : "no regular file");
}

/* Opens the regular file that the walk ended at; *st tells about it. The descriptor, or -1. */
static int open_regular(const struct workdir_walk *w, int flags, struct stat *st, struct err *e) {
  int dir = workdir_walk_dir(w);
  if (fstatat(dir, w->name, st, AT_SYMLINK_NOFOLLOW) < 0) return workdir_fail(e, w->asked, errno);
  if (check_regular(st, w->asked, e) < 0) return -1; /* to open a device may do something */
  int fd = io_open_at(dir, w->name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
  if (fd < 0 && errno == ELOOP) return workdir_fail_kind(e, w->asked, "changed while it was being opened");
  if (fd < 0) return workdir_fail(e, w->asked, errno);
  int r = fstat(fd, st) < 0 ? workdir_fail(e, w->asked, errno) : check_regular(st, w->asked, e);
  if (r == 0) return fd;
  close(fd);
  return -1;
}

static int fail_larger(struct err *e, struct str path, size_t max) {
  return err_set(e, KIND_LIMIT, "%.*s: larger than %zu bytes", workdir_shown(path), path.p, max);
}

/* Appends all that the descriptor has: 0, or -1. */
static int read_all(int fd, struct str path, size_t max, struct buf *b, struct err *e) {
  switch (io_read(fd, max, b)) {
    case IO_DONE: return 0;
    case IO_LARGER: return fail_larger(e, path, max);
    case IO_MEMORY: return err_memory(e);
    default: return workdir_fail(e, path, errno);
  }
}

int workdir_read(const struct workdir *t, struct str path, size_t max, struct buf *b, struct err *e) {
  struct workdir_walk w;
  struct stat st;
  size_t before = b->n;
  int r = workdir_walk(t, path, 0, &w, e);
  int fd = r < 0 ? -1 : open_regular(&w, O_RDONLY, &st, e);
  workdir_walk_end(&w);
  if (fd < 0) return -1;
  r = (unsigned long long)st.st_size > max ? fail_larger(e, path, max) : read_all(fd, path, max, b, e);
  close(fd);
  if (r < 0) b->n = before;
  return r;
}

/* }}} */

/* {{{ writing */

/* Looks at the file that is to be replaced, which must be writable: 1, 0 when there is none, or -1. */
static int find_old(const struct workdir_walk *w, struct stat *old, struct err *e) {
  struct err why;
  err_clear(&why);
  int fd = open_regular(w, O_WRONLY, old, &why);
  if (fd < 0 && strcmp(why.code, "absent") == 0) return 0;
  if (fd < 0) {
    *e = why;
    return -1;
  }
  close(fd);
  return 1;
}

/* Gives the new file the old one's mode, and its owner where we may: 0, or -1 and errno. */
static int take_after(int fd, const struct stat *old) {
  if (fchown(fd, old->st_uid, old->st_gid) < 0) errno = 0; /* then it is ours */
  return fchmod(fd, old->st_mode & 0777);
}

/* Makes a new file with a name of its own, kept in `name`: the descriptor, or -1 and errno. */
static int open_temporary(int dir, mode_t mode, char name[TEMPORARY]) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  for (int i = 0; i < TRIES; i++) {
    snprintf(name, TEMPORARY, ".koine-%lx-%lx-%x", (unsigned long)getpid(), (unsigned long)now.tv_nsec, (unsigned)i);
    int fd = io_open_at(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* Puts a file with these bytes in the place where the walk ended: 0, or -1. A link that came there meanwhile is
** replaced, not followed. */
static int replace(const struct workdir_walk *w, struct str bytes, struct err *e) {
  char name[TEMPORARY];
  struct stat old;
  int dir = workdir_walk_dir(w), had = find_old(w, &old, e);
  if (had < 0) return -1;
  int fd = open_temporary(dir, had ? 0600 : 0666, name);
  if (fd < 0) return workdir_fail(e, w->asked, errno);
  int reason = io_write(fd, bytes) < 0 || (had && take_after(fd, &old) < 0) ? errno : 0;
  if (close(fd) < 0 && reason == 0) reason = errno;
  if (reason == 0 && renameat(dir, name, dir, w->name) < 0) reason = errno;
  if (reason == 0) return 0;
  unlinkat(dir, name, 0);
  return workdir_fail(e, w->asked, reason);
}

int workdir_write(const struct workdir *t, struct str path, struct str bytes, struct err *e) {
  struct workdir_walk w;
  int r = workdir_walk(t, path, 1, &w, e);
  if (r == 0) r = strcmp(w.name, ".") == 0 ? workdir_fail_kind(e, path, "a directory") : replace(&w, bytes, e);
  workdir_walk_end(&w);
  return r;
}

/* }}} */

/* {{{ listing */

/* Opens the directory at the path for reading: NULL and an err when that fails. */
static DIR *open_directory(const struct workdir *t, struct str path, struct err *e) {
  struct workdir_walk w;
  int fd = -1;
  if (workdir_walk(t, path, 0, &w, e) == 0) {
    fd = io_open_at(workdir_walk_dir(&w), w.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) workdir_fail_kind(e, path, "no directory");
    else if (fd < 0) workdir_fail(e, path, errno);
  }
  workdir_walk_end(&w);
  if (fd < 0) return NULL;
  DIR *d = fdopendir(fd);
  if (d != NULL) return d;
  workdir_fail(e, path, errno);
  close(fd);
  return NULL;
}

static enum workdir_kind entry_kind(DIR *d, const struct dirent *x) {
  struct stat st;
  switch (x->d_type) {
    case DT_REG: return WORKDIR_FILE;
    case DT_DIR: return WORKDIR_DIRECTORY;
    case DT_LNK: return WORKDIR_LINK;
    case DT_UNKNOWN: /* this file system does not say */
      return fstatat(dirfd(d), x->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? kind_of(st.st_mode) : WORKDIR_OTHER;
    default: return WORKDIR_OTHER;
  }
}

/* Appends one entry to the list, whose array has room for *cap: 0, or -1 without memory. */
static int add_entry(struct workdir_list *list, size_t *cap, struct arena *a, const char *name, enum workdir_kind kind) {
  if (list->n == *cap) {
    size_t more = *cap == 0 ? 32 : *cap * 2;
    struct workdir_entry *grown = arena_alloc(a, more * sizeof *grown);
    if (grown == NULL) return -1;
    if (list->n > 0) memcpy(grown, list->entries, list->n * sizeof *grown);
    list->entries = grown;
    *cap = more;
  }
  struct str copy = arena_dup(a, (struct str){ name, strlen(name) });
  if (copy.p == NULL) return -1;
  list->entries[list->n++] = (struct workdir_entry){ copy, kind };
  return 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct workdir_entry *)a)->name.p, ((const struct workdir_entry *)b)->name.p);
}

static int fill(DIR *d, struct str path, size_t max, struct arena *a, struct workdir_list *list, struct err *e) {
  size_t cap = 0;
  struct dirent *x;
  while (errno = 0, (x = readdir(d)) != NULL) {
    if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0) continue;
    if (list->n == max)
      return err_set(e, KIND_LIMIT, "%.*s: more than %zu entries", workdir_shown(path), path.p, max);
    if (add_entry(list, &cap, a, x->d_name, entry_kind(d, x)) < 0) return err_memory(e);
  }
  return errno != 0 ? workdir_fail(e, path, errno) : 0;
}

int workdir_entries(const struct workdir *t, struct str path, size_t max, struct arena *a, struct workdir_list *list,
                 struct err *e) {
  *list = (struct workdir_list){ NULL, 0 };
  DIR *d = open_directory(t, path, e);
  if (d == NULL) return -1;
  int r = fill(d, path, max, a, list, e);
  closedir(d);
  if (r == 0 && list->n > 0) qsort(list->entries, list->n, sizeof *list->entries, by_name);
  return r;
}

/* }}} */
