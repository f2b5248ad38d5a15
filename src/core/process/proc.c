/*
** proc.c: what is read in /proc: lists of numbers, parents, when a process began; and signals to exactly the
** process that was read of. Linux only.
** Runs in the supervisor, and in the host where the supervisor is held up: system calls alone. A list owns nothing but
** its buffer. Failure: -1, and errno where it says so.
*/
#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "private.h"

#define STAT_MAX 1024 /* bytes of /proc/PID/stat: more than its first 22 fields have */

/* A directory's entry as the system call has it. */
struct entry {
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[];
};

/* The number that `s` is, up to the byte `end`; -1 when it is none. */
static int number(const char *s, char end) {
  int n = 0;
  if (*s < '0' || *s > '9') return -1;
  while (*s >= '0' && *s <= '9') n = n * 10 + (*s++ - '0');
  return *s == end ? n : -1;
}

void numbers_init(struct numbers *v, int directory) {
  v->directory = directory;
  v->at = v->end = 0;
}

/* The next name that is a number; NUMBERS_END, or -1. */
int numbers_next(struct numbers *v) {
  for (;;) {
    if (v->at == v->end) {
      v->at = 0;
      v->end = syscall(SYS_getdents64, v->directory, v->bytes, sizeof v->bytes);
      if (v->end <= 0) return v->end == 0 ? NUMBERS_END : -1;
    }
    const struct entry *d = (const void *)(v->bytes + v->at);
    v->at += d->size;
    int n = number(d->name, '\0');
    if (n >= 0) return n;
  }
}

/* Writes n and `rest` into `to`. */
static void put_path(char *to, int n, const char *rest) {
  char digits[12];
  size_t count = 0;
  do digits[count++] = (char)('0' + n % 10);
  while ((n /= 10) > 0);
  while (count > 0) *to++ = digits[--count];
  memcpy(to, rest, strlen(rest) + 1);
}

/* True when this is a procfs, and shows the numbers of our own namespace. */
static int is_ours(int proc) {
  struct statfs fs;
  char target[24];
  if (fstatfs(proc, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC) return 0;
  ssize_t n = readlinkat(proc, "self", target, sizeof target - 1);
  if (n <= 0) return 0;
  target[n] = '\0';
  return number(target, '\0') == getpid();
}

int proc_open(void) {
  int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || is_ours(fd)) return fd;
  close(fd);
  return -1;
}

/* The parent and the start in a line of stat. A name may hold spaces and parentheses: the last one ends it. */
static int parse(const char *text, struct member *x) {
  const char *p = strrchr(text, ')');
  if (p == NULL || strlen(p) < 5) return -1;
  p += 4; /* ") S PPID ": the parent is field 4 */
  x->parent = number(p, ' ');
  for (int field = 4; field < 22; field++) {
    p = strchr(p, ' ');
    if (p++ == NULL) return -1;
  }
  x->start = 0;
  while (*p >= '0' && *p <= '9') x->start = x->start * 10 + (unsigned long long)(*p++ - '0');
  return x->parent < 0 ? -1 : 0;
}

int proc_read(int proc, struct member *x) {
  char path[24], text[STAT_MAX];
  put_path(path, x->pid, "/stat");
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC), reason;
  if (fd >= 0) {
    ssize_t n = read(fd, text, sizeof text - 1);
    reason = n < 0 ? errno : ESRCH;
    close(fd);
    text[n < 0 ? 0 : n] = '\0';
    if (n > 0 && parse(text, x) == 0) return 0;
  } else {
    reason = errno == ENOENT || errno == EACCES || errno == EPERM ? ESRCH : errno;
  }
  errno = reason;
  return -1;
}

/* A descriptor stands for one process for good; once it is there, what the number says is what the descriptor is. */
int proc_signal(int proc, const struct member *x, int sig) {
  struct member now = { .pid = x->pid };
  int fd = -1, r = -1;
  errno = ENOSYS;
#ifdef SYS_pidfd_open
  fd = (int)syscall(SYS_pidfd_open, x->pid, 0);
#endif
  if (fd < 0 && errno == ESRCH) return -1;
  if (proc_read(proc, &now) == 0 && now.start == x->start) {
#ifdef SYS_pidfd_send_signal
    if (fd >= 0) r = (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
#endif
    if (fd < 0) r = kill(x->pid, sig); /* an old kernel: the moment in between stays */
  }
  if (fd >= 0) close(fd);
  return r;
}

#else

typedef int nothing_here;

#endif
