/*
** workdir_walk.c: from the root to the last component of a path, without ever leaving the root.
** Each directory on the way is opened by its name in the one before it, and no link is followed by the kernel: a link's
** target is read and walked like the path itself. `..` goes back to the descriptor we came from, never to what the
** system calls the parent. Allocates nothing. Failure: -1 and an err.
*/
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/io.h"
#include "workdir_private.h"

/* A directory that is only passed through need not be readable. */
#if defined(O_PATH)
#define PASS O_PATH
#elif defined(O_SEARCH)
#define PASS O_SEARCH
#else
#define PASS O_RDONLY
#endif

static void set_code(struct err *e, const char *code) { memcpy(e->code, code, strlen(code) + 1); }

int workdir_fail(struct err *e, struct str path, int reason) {
  if (reason == ENOENT) set_code(e, "absent");
  if (reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == EIO) set_code(e, "system");
  return err_set(e, KIND_OTHER, "%.*s: %s", workdir_shown(path), path.p, strerror(reason));
}

int workdir_fail_kind(struct err *e, struct str path, const char *what) {
  set_code(e, "kind");
  return err_set(e, KIND_OTHER, "%.*s: %s", workdir_shown(path), path.p, what);
}

static int fail_outside(struct err *e, struct str path) {
  set_code(e, "outside");
  return err_set(e, KIND_OTHER, "%.*s: outside the working directory", workdir_shown(path), path.p);
}

static int fail_git(struct err *e, struct str path) {
  set_code(e, "git");
  return err_set(e, KIND_OTHER, "%.*s: git's own files are not written", workdir_shown(path), path.p);
}

/* p without the slashes and `.` components it begins with. */
static const char *skip(const char *p) {
  for (;;) {
    if (*p == '/') p++;
    else if (p[0] == '.' && p[1] == '/') p += 2;
    else return p;
  }
}

static size_t length(const char *p) { return strcspn(p, "/"); }

/* The part of an absolute path below `root` ("" for the root itself), or NULL: compares components, not bytes. */
static const char *below(const char *path, const char *root) {
  path = skip(path);
  for (root = skip(root); *root != '\0'; root = skip(root)) {
    size_t n = length(root);
    if (length(path) != n || memcmp(path, root, n) != 0) return NULL;
    path = skip(path + n);
    root += n;
  }
  return path;
}

/* The same for both names of the root. */
static const char *below_root(const struct workdir *t, const char *path) {
  const char *rest = below(path, t->real);
  return rest == NULL && t->given[0] != '\0' ? below(path, t->given) : rest;
}

/* Back to the directory at `depth`. */
static void go_up(struct workdir_walk *w, int depth) {
  while (w->depth > depth) close(w->fds[w->depth--]);
}

void workdir_walk_end(struct workdir_walk *w) { go_up(w, 0); }

/* Makes `from`, and what follows it at `tail`, the rest: 0, or -1. All names of a walk pass here. */
static int set_rest(struct workdir_walk *w, const char *from, const char *tail, struct err *e) {
  size_t n = strlen(from), m = strlen(tail);
  if (n + m >= sizeof w->rest) return workdir_fail(e, w->asked, ENAMETOOLONG);
  memmove(w->rest + n, tail, m + 1); /* the tail may lie in the rest itself */
  memcpy(w->rest, from, n);
  return w->writes && workdir_names_git(w->rest) ? fail_git(e, w->asked) : 0;
}

/* Walks on at the target of the link `name`, `tail` behind it: 0, or -1. */
static int follow(struct workdir_walk *w, const char *tail, struct err *e) {
  char target[PATH_MAX];
  const char *from = target;
  if (++w->links > WORKDIR_LINKS_MAX) return workdir_fail(e, w->asked, ELOOP);
  ssize_t n = readlinkat(workdir_walk_dir(w), w->name, target, sizeof target);
  if (n < 0) return workdir_fail(e, w->asked, errno);
  if ((size_t)n == sizeof target) return workdir_fail(e, w->asked, ENAMETOOLONG);
  target[n] = '\0';
  if (target[0] == '/') {
    from = below_root(w->workdir, target);
    if (from == NULL) return fail_outside(e, w->asked);
    go_up(w, 0);
  }
  return set_rest(w, from, tail, e);
}

/* Opens the directory `name` and goes into it: 0, or -1. */
static int go_down(struct workdir_walk *w, struct err *e) {
  if (w->depth == WORKDIR_DEPTH_MAX)
    return err_set(e, KIND_LIMIT, "%.*s: more than %d directories deep", workdir_shown(w->asked), w->asked.p,
                   WORKDIR_DEPTH_MAX);
  int fd = io_open_at(workdir_walk_dir(w), w->name, PASS | O_DIRECTORY | O_NOFOLLOW, 0);
  if (fd < 0) return workdir_fail(e, w->asked, errno == ELOOP ? ENOTDIR : errno);
  w->fds[++w->depth] = fd;
  return 0;
}

/* True when the rest goes back up somewhere. */
static int goes_up(const char *rest) {
  for (rest = skip(rest); *rest != '\0'; rest = skip(rest + length(rest)))
    if (length(rest) == 2 && memcmp(rest, "..", 2) == 0) return 1;
  return 0;
}

/* True when the rest can only name a directory: nothing, or `.`, comes after its last slash. */
static int names_directory(const char *rest) {
  const char *last = strrchr(rest, '/');
  return last != NULL && (last[1] == '\0' || strcmp(last, "/.") == 0);
}

/* Copies the component at p to `name`: 0, or -1. */
static int take_name(struct workdir_walk *w, const char *p, struct err *e) {
  size_t n = length(p);
  if (n >= sizeof w->name) return workdir_fail(e, w->asked, ENAMETOOLONG);
  memcpy(w->name, p, n);
  w->name[n] = '\0';
  return 0;
}

/* Deals with the component in `name`, `tail` behind it: 1 when it is the last one, 0 to go on, or -1. */
static int step(struct workdir_walk *w, const char *tail, struct err *e) {
  struct stat st;
  int is_git = w->writes && workdir_in_repository(w);
  w->inside[w->depth] = (unsigned char)is_git;
  if (fstatat(workdir_walk_dir(w), w->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
    if (errno != ENOENT) return workdir_fail(e, w->asked, errno);
    if (is_git) return fail_git(e, w->asked);
    if (tail[0] == '\0') return 1;
    if (!w->writes || goes_up(tail)) return workdir_fail(e, w->asked, ENOENT);
    if (names_directory(tail)) return workdir_fail_kind(e, w->asked, "a directory"); /* before anything is made */
    if (mkdirat(workdir_walk_dir(w), w->name, 0777) < 0 && errno != EEXIST) return workdir_fail(e, w->asked, errno);
  } else if (S_ISLNK(st.st_mode)) {
    return follow(w, tail, e);
  } else if (tail[0] == '\0') {
    return is_git ? fail_git(e, w->asked) : 1;
  }
  if (go_down(w, e) < 0) return -1;
  memmove(w->rest, tail, strlen(tail) + 1);
  return 0;
}

/* Deals with the first component of the rest: 1 when it was the last one, 0 to go on, or -1. */
static int advance(struct workdir_walk *w, struct err *e) {
  const char *p = skip(w->rest);
  if (*p == '\0' || strcmp(p, ".") == 0) {
    memcpy(w->name, ".", 2);
    return 1;
  }
  if (take_name(w, p, e) < 0) return -1;
  p += length(p);
  if (strcmp(w->name, "..") != 0) return step(w, p, e);
  if (w->depth == 0) return fail_outside(e, w->asked);
  go_up(w, w->depth - 1);
  memmove(w->rest, p, strlen(p) + 1);
  return 0;
}

/* Puts the path, made relative to the root, into the rest: 0, or -1. */
static int begin(struct workdir_walk *w, struct err *e) {
  char path[PATH_MAX];
  const char *from = path;
  if (w->asked.n == 0) return err_set(e, KIND_OTHER, "the path is empty");
  if (memchr(w->asked.p, '\0', w->asked.n) != NULL) return err_set(e, KIND_OTHER, "a path cannot hold a NUL byte");
  if (w->asked.n >= sizeof path) return workdir_fail(e, w->asked, ENAMETOOLONG);
  memcpy(path, w->asked.p, w->asked.n);
  path[w->asked.n] = '\0';
  if (path[0] == '/') from = below_root(w->workdir, path);
  if (from == NULL) return fail_outside(e, w->asked);
  if (w->writes && workdir_names_git(w->workdir->real)) return fail_git(e, w->asked);
  return set_rest(w, from, "", e);
}

/* Walks to the last component: 0, or -1. Either way workdir_walk_end closes what is open. */
int workdir_walk(const struct workdir *t, struct str path, int writes, struct workdir_walk *w, struct err *e) {
  int r = 0;
  w->workdir = t;
  w->asked = path;
  w->fds[0] = t->fd;
  w->depth = 0;
  w->links = 0;
  w->writes = writes;
  if (begin(w, e) < 0) return -1;
  while (r == 0) r = advance(w, e);
  return r < 0 ? -1 : 0;
}
