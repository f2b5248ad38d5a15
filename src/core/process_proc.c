/*
** process_proc.c: what the supervisor reads in /proc: lists of numbers, parents. Linux only.
** Runs in the supervisor: system calls alone. A list owns nothing but its buffer. Failure: -1.
*/
#ifdef __linux__

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process_private.h"

#define STAT_MAX 512 /* bytes of /proc/PID/stat: more than its first four fields have */

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

/* True when /proc shows the numbers of our own namespace. */
int proc_is_ours(int proc) {
  char target[24];
  ssize_t n = readlinkat(proc, "self", target, sizeof target - 1);
  if (n <= 0) return 0;
  target[n] = '\0';
  return number(target, '\0') == getpid();
}

/* The parent of a process, -1 when it is gone. A name may hold spaces and parentheses: the last one ends it. */
pid_t proc_parent(int proc, pid_t pid) {
  char path[24], text[STAT_MAX];
  put_path(path, pid, "/stat");
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return -1;
  text[n] = '\0';
  const char *p = strrchr(text, ')');
  return p == NULL || text + n - p < 5 ? -1 : number(p + 4, ' '); /* ") S PPID " */
}

#else

typedef int nothing_here;

#endif
