/*
** family.c: all that descends from a supervisor, found through /proc, signalled together.
** Runs in the supervisor, and in the host where the supervisor is held up: system calls, no libc that allocates or
** locks; memory is mapped. A family owns that and its descriptor of /proc until family_close.
** Failure: -1 where /proc was missing, hidden or another namespace's when the family was opened, or memory or
** descriptors are short: then only the command's group was reached, and what else there is remains unknown.
*/
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mman.h>
#include <sys/prctl.h>
#endif

#include "private.h"

#define PASSES 64 /* attempts at a snapshot without a new process */

#ifdef __linux__

#define MEMBERS 4096 /* processes there is room for at first */

/* Room for twice as many: 0, or -1. */
static int grow(struct family *f) {
  size_t cap = f->cap == 0 ? MEMBERS : f->cap * 2;
  struct member **v[] = { &f->now, &f->before };
  for (int i = 0; i < 2; i++) {
    void *p = *v[i] == NULL
      ? mmap(NULL, cap * sizeof(struct member), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
      : mremap(*v[i], f->cap * sizeof(struct member), cap * sizeof(struct member), MREMAP_MAYMOVE);
    if (p == MAP_FAILED) return -1;
    *v[i] = p;
  }
  f->cap = cap;
  return 0;
}

/* The place of pid in v, or NULL. */
static struct member *find(struct member *v, size_t n, pid_t pid) {
  size_t low = 0;
  while (low < n) {
    size_t mid = low + (n - low) / 2;
    if (v[mid].pid == pid) return &v[mid];
    if (v[mid].pid < pid) low = mid + 1;
    else n = mid;
  }
  return NULL;
}

/* Every process of the system into f->now: how many, or -1. */
static ssize_t read_all(struct family *f) {
  struct numbers v;
  size_t n = 0;
  int pid;
  if ((f->cap == 0 && grow(f) < 0) || lseek(f->proc, 0, SEEK_SET) < 0) return -1;
  numbers_init(&v, f->proc);
  while ((pid = numbers_next(&v)) >= 0) {
    struct member x = { .pid = pid };
    if (proc_read(f->proc, &x) < 0) {
      if (errno == ESRCH) continue;
      return -1;
    }
    if (n == f->cap && grow(f) < 0) return -1;
    f->now[n++] = x;
  }
  return pid == NUMBERS_END ? (ssize_t)n : -1;
}

/* Marks the children of those that are marked, until there are none. */
static void mark(struct family *f, size_t n) {
  for (int more = 1; more;) {
    more = 0;
    for (size_t i = 0; i < n; i++) {
      struct member *x = &f->now[i], *parent;
      if (x->mine) continue;
      parent = x->parent == f->root ? NULL : find(f->now, n, x->parent);
      x->mine = x->parent == f->root || (parent != NULL && parent->mine);
      more = more || x->mine;
    }
  }
}

/* Makes f->now the descendants of the supervisor: how many, or -1. */
static ssize_t snapshot(struct family *f) {
  ssize_t n = -1, mine = 0;
  if (f->proc >= 0) n = read_all(f);
  if (n < 0) return -1;
  mark(f, (size_t)n);
  for (ssize_t i = 0; i < n; i++)
    if (f->now[i].mine) f->now[mine++] = f->now[i];
  return mine;
}

static int send_to(const struct family *f, const struct member *x, int sig) {
  return proc_signal(f->proc, x, sig);
}

void family_open(struct family *f, pid_t root) {
  memset(f, 0, sizeof *f);
  f->root = root;
  if ((f->proc = proc_open()) >= 0) (void)grow(f);
}

void family_close(struct family *f) {
  if (f->now != NULL) munmap(f->now, f->cap * sizeof *f->now);
  if (f->before != NULL) munmap(f->before, f->cap * sizeof *f->before);
  if (f->proc >= 0) close(f->proc);
}

int family_adopt(void) {
  return prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) == 0;
}

#else

/* No other process is known here but the command's group. */
static ssize_t snapshot(struct family *f) {
  (void)f;
  return -1;
}

static struct member *find(struct member *v, size_t n, pid_t pid) {
  (void)v;
  (void)n;
  (void)pid;
  return NULL;
}

static int send_to(const struct family *f, const struct member *x, int sig) {
  (void)f;
  return kill(x->pid, sig);
}

void family_open(struct family *f, pid_t root) {
  memset(f, 0, sizeof *f);
  f->root = root;
  f->proc = -1;
}

void family_close(struct family *f) {
  (void)f;
}

int family_adopt(void) {
  return 0;
}

#endif

int family_signal(struct family *f, int sig) {
  ssize_t n = snapshot(f);
  if (n < 0 && f->command > 0) kill(-f->command, sig);
  for (ssize_t i = 0; i < n; i++) send_to(f, &f->now[i], sig);
  return (int)n;
}

/* A process that is stopped starts no other: once a snapshot shows no new one, all are known. */
int family_kill(struct family *f) {
  ssize_t n, known = 0;
  for (int pass = 0, fresh = 1; fresh && pass < PASSES; pass++, known = n) {
    struct member *v = f->before;
    f->before = f->now;
    f->now = v;
    fresh = 0;
    if ((n = snapshot(f)) < 0) break;
    for (ssize_t i = 0; i < n; i++)
      if (find(f->before, (size_t)known, f->now[i].pid) == NULL) fresh = send_to(f, &f->now[i], SIGSTOP) == 0 || fresh;
  }
  return family_signal(f, SIGKILL);
}
