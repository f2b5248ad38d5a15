/*
** launch.c: what a supervisor is going to run: the argument vector, the files to try for it, its descriptors.
** A launch owns one block with all copies, and the command's ends of the descriptors, until launch_free. Failure: -1 and an
** err (KIND_MEMORY, KIND_OTHER with the system's reason).
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include <unistd.h>

#include "core/base/io.h"
#include "private.h"

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin" /* where there is no PATH at all */

/* {{{ copies */

/* Lays strings and arrays out in one block: first counts (`at` is NULL), then fills. */
struct layout {
  char *at;      /* strings */
  char **slot;   /* arrays */
  size_t bytes, slots;
};

static void put_string(struct layout *l, const char *a, size_t an, const char *b) {
  size_t bn = strlen(b), slash = an > 0;
  if (l->at != NULL) {
    *l->slot++ = l->at;
    memcpy(l->at, a, an);
    if (slash) l->at[an] = '/';
    memcpy(l->at + an + slash, b, bn + 1);
    l->at += an + slash + bn + 1;
  }
  l->bytes += an + slash + bn + 1;
  l->slots++;
}

static void put_end(struct layout *l) {
  if (l->at != NULL) *l->slot++ = NULL;
  l->slots++;
}

static void put_all(struct layout *l, const char *const *v) {
  for (; *v != NULL; v++) put_string(l, "", 0, *v);
  put_end(l);
}

/* The value of PATH that counts. */
static const char *search_path(const struct process_spec *s) {
  for (const char *const *env = s->env; env != NULL && *env != NULL; env++)
    if (strncmp(*env, "PATH=", 5) == 0) return *env + 5;
  const char *own = getenv("PATH");
  return own != NULL ? own : USUAL_PATH;
}

/* The files to try. An empty element of PATH is the current directory, as everywhere. */
static void put_paths(struct layout *l, const char *name, const char *path) {
  if (strchr(name, '/') != NULL || name[0] == '\0') {
    put_string(l, "", 0, name);
  } else {
    for (const char *p = path;; p++) {
      size_t n = strcspn(p, ":");
      if (n == 0) put_string(l, ".", 1, name);
      else put_string(l, p, n, name);
      p += n;
      if (*p == '\0') break;
    }
  }
  put_end(l);
}

/* One pass over all that is copied; the starts of the arrays in *launch. */
static void lay_out(struct layout *l, struct launch *launch, const struct process_spec *s, const char *path) {
  launch->argv = l->slot;
  put_all(l, s->argv);
  launch->paths = l->slot;
  put_paths(l, s->argv[0], path);
  launch->env = s->env != NULL ? l->slot : NULL;
  if (s->env != NULL) put_all(l, s->env);
  if (s->cwd != NULL) {
    launch->cwd = l->at;
    put_string(l, "", 0, s->cwd);
  }
}

/* Fills the launch's block: 0, or -1. */
static int copy_all(struct launch *launch, const struct process_spec *s, const char *path) {
  struct layout l = { 0 };
  lay_out(&l, launch, s, path);
  launch->block_n = l.slots * sizeof(char *) + l.bytes;
  launch->block = mem_alloc(launch->m, launch->block_n);
  if (launch->block == NULL) return -1;
  l.slot = launch->block;
  l.at = (char *)launch->block + l.slots * sizeof(char *);
  lay_out(&l, launch, s, path);
  return 0;
}

/* More than INT_MAX seconds are as good as for ever. */
static double bounded(double seconds) {
  return seconds < INT_MAX ? seconds : INT_MAX;
}

/* PATH is looked up once, and copied first: another thread may change the host's. */
int launch_init(struct launch *launch, const struct mem *m, const struct process_spec *s, struct err *e) {
  const char *path = search_path(s);
  size_t n = strlen(path);
  char *own = mem_alloc(m, n + 1);
  *launch = (struct launch){ .m = m, .in = -1, .out = -1, .err = -1, .socket = -1 };
  launch->timeout = bounded(s->timeout);
  launch->grace = bounded(s->grace);
  launch->protect = s->protect;
  if (own == NULL) return err_memory(e);
  memcpy(own, path, n);
  own[n] = '\0';
  int r = copy_all(launch, s, own);
  mem_free(m, own, n + 1);
  return r < 0 ? err_memory(e) : 0;
}

/* }}} */

/* {{{ descriptors */

static int close_on_exec(int fd) {
  return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int never_block(int fd) {
  return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

int launch_pipe(int *reading, int *writing, int host_writes) {
  int fd[2];
#ifdef __linux__
  if (pipe2(fd, O_CLOEXEC) < 0) return -1;
#else
  if (pipe(fd) < 0) return -1;
  close_on_exec(fd[0]);
  close_on_exec(fd[1]);
#endif
  *reading = fd[0];
  *writing = fd[1];
  return never_block(fd[host_writes ? 1 : 0]);
}

/* A pipe that the host reads. */
static int open_pipe(int *reading, int *writing) {
  return launch_pipe(reading, writing, 0);
}

/* The two ends over which host and supervisor talk. */
static int open_socket(int *host, int *supervisor) {
  int fd[2];
#ifdef SOCK_CLOEXEC
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0) return -1;
#else
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0) return -1;
#endif
#ifdef SO_NOSIGPIPE
  int on = 1; /* where send cannot be told */
  for (int i = 0; i < 2; i++) setsockopt(fd[i], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  *host = fd[0];
  *supervisor = fd[1];
  return close_on_exec(fd[0]) < 0 || close_on_exec(fd[1]) < 0 ? -1 : never_block(fd[0]);
}

/* A file without a name, in memory where the system has that. */
static int open_unnamed(void) {
#ifdef __linux__
  return memfd_create("koine-input", MFD_CLOEXEC);
#else
  char path[] = "/tmp/koine-input-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) return -1;
  unlink(path);
  return close_on_exec(fd) < 0 ? (close(fd), -1) : fd;
#endif
}

/* The command's standard input. A file, not a pipe, which would have to be fed: a command which writes before it
** reads does not block, and one that never reads raises no SIGPIPE in the host. */
static int open_input(struct launch *launch, struct str input) {
  if (input.n == 0) {
    launch->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return launch->in < 0 ? -1 : 0;
  }
  launch->in = open_unnamed();
  return launch->in < 0 || io_write(launch->in, input) < 0 || lseek(launch->in, 0, SEEK_SET) < 0 ? -1 : 0;
}

int launch_open(struct launch *launch, const struct process_spec *s, int *socket, int *reading, struct err *e) {
  if (open_socket(socket, &launch->socket) < 0) return err_system(e, "cannot make a pipe");
  if (s->streams != NULL) {
    launch->borrowed = 1;
    launch->in = s->streams[0], launch->out = s->streams[1], launch->err = s->streams[2];
    return 0;
  }
  if (open_pipe(&reading[PROCESS_OUT], &launch->out) < 0) return err_system(e, "cannot make a pipe");
  if (!s->merge && open_pipe(&reading[PROCESS_ERR], &launch->err) < 0) return err_system(e, "cannot make a pipe");
  if (open_input(launch, s->input) < 0) return err_system(e, "cannot make the standard input");
  return 0;
}

void launch_free(struct launch *launch) {
  int *fd[] = { &launch->in, &launch->out, &launch->err, &launch->socket };
  for (size_t i = 0; i < sizeof fd / sizeof *fd; i++) {
    if (*fd[i] >= 0 && (fd[i] == &launch->socket || !launch->borrowed)) close(*fd[i]);
    *fd[i] = -1;
  }
  mem_free(launch->m, launch->block, launch->block_n);
  launch->block = NULL;
}

/* }}} */
