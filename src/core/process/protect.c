/*
** protect.c: keeps what this process knows from the programs that it starts, as far as the system lets it.
** The host: it cannot be traced, nor its memory, its environment or its descriptors be read in /proc, by other processes
** of its user; and /proc shows all users an empty environment. The memory itself is not touched: getenv answers as
** before, children inherit as before. The command: it is without CAP_SYS_PTRACE, which would pass over that.
** System calls alone, because the second half runs between vfork and exec. prctl reads each argument as an unsigned
** long, so each is passed as one. Owns nothing. Nothing here can fail: what the system refuses stays as it was.
*/
#ifdef __linux__

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private.h"

#define STAT_MAX 2048 /* bytes of /proc/self/stat: more than there can be */

/* Fields of /proc/PID/stat, as proc(5) numbers them. */
enum {
  STATE = 3, THREADS = 20, CODE_START = 26, CODE_END, STACK_START, DATA_START = 45, DATA_END, BRK_START, ARG_START,
  ARG_END, ENV_START, ENV_END, FIELDS
};

/* Reads the numbers behind a process's name: 0, or -1 where one is missing. */
static int read_fields(unsigned long long *v) {
  char text[STAT_MAX];
  int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char *p = strrchr(text, ')');
  for (int field = STATE; field < FIELDS; field++) {
    if (p == NULL || (p = strchr(p, ' ')) == NULL) return -1;
    v[field] = 0;
    for (p++; *p >= '0' && *p <= '9'; p++) v[field] = v[field] * 10 + (unsigned long long)(*p - '0');
  }
  return 0;
}

/* Tells the kernel that the environment that this process was started with is empty. With one call for that field,
** which needs CAP_SYS_RESOURCE; else with the call for all fields at once, which needs nothing. That one sets the end of
** the heap too, which another thread might be moving: not where there is one. */
static void hide_environment(void) {
  unsigned long long v[FIELDS];
  if (read_fields(v) < 0 || v[ENV_START] == 0 || v[ENV_START] >= v[ENV_END]) return;
  if (prctl(PR_SET_MM, PR_SET_MM_ENV_END, (unsigned long)v[ENV_START], 0UL, 0UL) == 0 || v[THREADS] != 1) return;
  struct prctl_mm_map map = {
    .start_code = v[CODE_START], .end_code = v[CODE_END], .start_stack = v[STACK_START],
    .start_data = v[DATA_START], .end_data = v[DATA_END], .start_brk = v[BRK_START],
    .brk = (unsigned long long)syscall(SYS_brk, 0), .arg_start = v[ARG_START], .arg_end = v[ARG_END],
    .env_start = v[ENV_START], .env_end = v[ENV_START], .exe_fd = (unsigned)-1
  };
  prctl(PR_SET_MM, PR_SET_MM_MAP, &map, (unsigned long)sizeof map, 0UL);
}

void process_protect(void) {
  if (prctl(PR_GET_DUMPABLE) == 1) prctl(PR_SET_DUMPABLE, 0UL);
  hide_environment();
}

/* A program that root executes gets what is in the bounding set; a program of another user, what is inheritable. */
void protect_command(void) {
  struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  prctl(PR_CAPBSET_DROP, (unsigned long)CAP_SYS_PTRACE, 0UL, 0UL, 0UL);
  if (syscall(SYS_capget, &head, sets) < 0) return;
  sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].inheritable &= ~(__u32)CAP_TO_MASK(CAP_SYS_PTRACE); /* and so ambient */
  syscall(SYS_capset, &head, sets);
}

#else

#include "private.h"

void process_protect(void) {}
void protect_command(void) {}

#endif
