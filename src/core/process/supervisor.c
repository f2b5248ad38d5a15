/*
** supervisor.c: the process between host and command: it starts the command and sees to it that nothing is left
** of it. Owns nothing but its descriptors.
**
** It is a plain fork, made by the system call: the handlers of pthread_atfork may wait for locks of the host's other
** threads, and on Linux a child that is made without a signal raises no SIGCHLD and is invisible to the host's own
** waitpid(-1). posix_spawn has no use here: between fork and exec there is a program of its own. The command is started
** with vfork, from the supervisor's one thread, and reports itself what kept it from its exec.
** The host's death is the end of file on the socket, and on Linux a SIGCHLD that the supervisor asked for, because
** another child of the host may hold the socket's other end. The supervisor keeps the time itself: also while the host
** is busy.
** In here: system calls and what is async-signal-safe, nothing else. Failure: a report, then the end.
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

#include "core/base/clock.h"
#include "private.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

#define FIRST_FREE 3   /* descriptors below are the command's */
#define PAUSE 0.01     /* seconds between two looks where no signal tells */
#define DESCRIPTORS (1 << 20) /* closed one by one at most: Linux allows no more unless it was told to */
#define LOOK 1000000   /* nanoseconds between two looks at a supervisor that ends, where nothing else tells */
#define LOOKS 1000     /* before it is given up */

extern char **environ;

enum phase { RUNNING, LEAVING /* it is to end by itself */, ENDING, KILLING };

struct supervisor {
  const struct launch *launch;
  struct family family;
  enum phase phase;
  int socket;            /* -1: closed */
  pid_t parent;          /* the host, as a namespace of processes may number it */
  int adopts, childless;
  int ended, status;     /* the command's */
  int timed_out, left;
  int blind;             /* the host was told that `left` is -1 */
  double until;          /* the phase's deadline; negative = none */
};

static void report(int socket, int kind, int value, const struct supervisor *s) {
  struct report r;
  memset(&r, 0, sizeof r);
  r.kind = kind;
  r.value = value;
  if (s != NULL) {
    r.timed_out = s->timed_out;
    r.left = s->left;
  }
  (void)send(socket, &r, sizeof r, MSG_NOSIGNAL);
}

/* {{{ the command */

static void default_signals(void) {
  struct sigaction act;
  sigset_t none;
  memset(&act, 0, sizeof act);
  act.sa_handler = SIG_DFL;
  for (int sig = 1; sig < NSIG; sig++) sigaction(sig, &act, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Becomes the command. Like execvp it passes over a file that may not be run, and tells of that only when no other is
** found; unlike execvp it hands no file to a shell. */
static void become(const struct launch *launch, int socket) {
  int reason = ENOENT;
  setsid();
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL); /* when the supervisor is killed */
#endif
  if (launch->cwd != NULL && chdir(launch->cwd) < 0) {
    report(socket, REPORT_NO_DIRECTORY, errno, NULL);
    _exit(127);
  }
  default_signals();
  if (launch->protect) protect_command();
  for (char **path = launch->paths; *path != NULL; path++) {
    execve(*path, launch->argv, launch->env != NULL ? launch->env : environ);
    int missing = errno == ENOENT || errno == ENOTDIR;
    if (!missing || reason != EACCES) reason = errno;
    if (!missing && errno != EACCES) break;
  }
  report(socket, REPORT_NO_PROGRAM, reason, NULL);
  _exit(127);
}

/* }}} */

/* {{{ the supervisor's surroundings */

#ifdef __linux__
/* Closes what /proc lists: 0, or -1 where it does not. */
static int close_listed(int kept) {
  struct numbers v;
  int own = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
  if (own < 0) return -1;
  numbers_init(&v, own);
  while ((fd = numbers_next(&v)) >= 0)
    if (fd >= FIRST_FREE && fd != kept && fd != own) close(fd);
  close(own);
  return fd == NUMBERS_END ? 0 : -1;
}
#endif

/* Closes one by one, for systems without close_range. */
static void close_each(int kept) {
  struct rlimit most;
#ifdef __linux__
  struct statfs fs;
  if (statfs("/proc/self/fd", &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC && close_listed(kept) == 0) return;
#endif
  if (getrlimit(RLIMIT_NOFILE, &most) < 0 || most.rlim_max > DESCRIPTORS) most.rlim_max = DESCRIPTORS;
  for (int fd = FIRST_FREE; fd < (int)most.rlim_max; fd++)
    if (fd != kept) close(fd);
}

/* Closes all descriptors from FIRST_FREE on but `kept`. */
static void close_others(int kept) {
#ifdef SYS_close_range
  if ((kept == FIRST_FREE || syscall(SYS_close_range, FIRST_FREE, kept - 1, 0) == 0) &&
      syscall(SYS_close_range, kept + 1, INT_MAX, 0) == 0) return;
#endif
  close_each(kept);
}

/* The same file under a number that is none of the command's own: fd, or a copy; -1 and errno. */
static int above(int fd) {
  return fd < FIRST_FREE ? fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE) : fd;
}

/* Leaves 0, 1 and 2 as the command is to have them, the socket, and nothing else: 0, or -1 and errno. */
static int arrange(struct supervisor *s) {
  const struct launch *launch = s->launch;
  int in = above(launch->in), out = above(launch->out), err = launch->err < 0 ? out : above(launch->err);
  int socket = above(launch->socket);
  if (in < 0 || out < 0 || err < 0 || socket < 0) return -1;
  s->socket = socket;
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) return -1;
  close_others(socket);
  if (socket == FIRST_FREE) return 0;
  s->socket = fcntl(socket, F_DUPFD_CLOEXEC, FIRST_FREE); /* a low number: select knows no others */
  close(socket);
  return s->socket;
}

/* SIGCHLD is for looking again: a child has died, or the parent. */
static void on_child(int sig) {
  (void)sig;
}

/* All signals stay blocked; SIGCHLD is let in while the supervisor waits. */
static void own_signals(void) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = on_child;
  act.sa_flags = SA_NOCLDSTOP;
  sigaction(SIGCHLD, &act, NULL);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, (unsigned long)SIGCHLD); /* whoever else holds the host's end of the socket */
#endif
}

/* }}} */

/* {{{ the end */

/* Enters the next phase, or starts the end. */
static void end(struct supervisor *s, enum phase phase, double now) {
  if (phase <= s->phase) return;
  s->phase = phase;
  s->until = now + (phase == KILLING ? LAST : s->launch->grace);
  if (phase == ENDING) {
    s->left = family_signal(&s->family, SIGTERM);
    family_signal(&s->family, SIGCONT);
  }
}

/* Kills what is left; asks the host to, once, where it cannot be found from here. */
static void kill_all(struct supervisor *s) {
  s->left = family_kill(&s->family);
  if (s->left >= 0 || s->blind || s->socket < 0) return;
  s->blind = 1;
  report(s->socket, REPORT_BLIND, 0, NULL);
}

/* Takes every child that has died. */
static void reap(struct supervisor *s) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != s->family.command) continue;
    s->ended = 1;
    s->status = status;
  }
  s->childless = pid < 0 && errno == ECHILD;
}

/* True when nothing is left. */
static int all_gone(const struct supervisor *s) {
  return s->childless && (s->adopts || kill(-s->family.command, 0) < 0);
}

/* Reads the host's order: to let it end, to end it, to kill; where the socket closes or fails, ends. */
static void listen_to_host(struct supervisor *s, double now) {
  char what;
  ssize_t n = recv(s->socket, &what, 1, 0);
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) {
    close(s->socket);
    s->socket = -1;
    what = ASK_STOP;
  }
  end(s, what == ASK_KILL ? KILLING : what == ASK_END ? LEAVING : ENDING, now);
}

/* Waits for the host, a child, or the time. */
static void wait_for_news(struct supervisor *s) {
  struct timespec ts, *left = NULL;
  sigset_t but_child;
  fd_set set;
  double seconds = s->until - clock_monotonic();
  int busy = s->phase == KILLING || (s->phase == ENDING && !s->adopts);
  if (busy && seconds > PAUSE) seconds = PAUSE;
  if (s->until >= 0) {
    seconds = seconds < 0 ? 0 : seconds < INT_MAX ? seconds : INT_MAX; /* time_t may have 32 bits */
    ts.tv_sec = (time_t)seconds;
    ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
    left = &ts;
  }
  FD_ZERO(&set);
  if (s->socket >= 0) FD_SET((unsigned)s->socket, &set);
  sigfillset(&but_child);
  sigdelset(&but_child, SIGCHLD);
  if (pselect(s->socket + 1, &set, NULL, NULL, left, &but_child) > 0) listen_to_host(s, clock_monotonic());
}

/* From the command's start until nothing is left of it. */
static void watch(struct supervisor *s) {
  for (;;) {
    reap(s);
    if (all_gone(s)) return;
    double now = clock_monotonic();
    if (s->ended || getppid() != s->parent) end(s, ENDING, now);
    if (s->until >= 0 && now >= s->until) {
      if (s->phase == KILLING) return;
      if (s->phase == RUNNING) s->timed_out = 1;
      end(s, s->phase < ENDING ? ENDING : KILLING, now);
    }
    if (s->phase == KILLING) kill_all(s);
    wait_for_news(s);
  }
}

/* }}} */

/* Waits until the command's exec is over, which closes its end of the pipe; vfork has waited where it is no plain fork. */
static void await_exec(const int *ends) {
  char none;
  close(ends[1]);
  while (read(ends[0], &none, 1) < 0 && errno == EINTR) continue;
  close(ends[0]);
}

/* Starts the command and lets go of its streams; where that fails, reports it and ends. */
static void start(struct supervisor *s) {
  int ends[2] = { -1, -1 }, watched = s->launch->borrowed;
  family_open(&s->family, getpid());
#ifdef __linux__
  prctl(PR_SET_DUMPABLE, 0UL); /* what runs as the same user cannot trace the supervisor, also without `protect` */
#endif
  if (watched && launch_pipe(&ends[0], &ends[1], 1) < 0) {
    report(s->socket, REPORT_NO_SETUP, errno, NULL);
    _exit(1);
  }
  /* One thread, and the child only execs or ends: what vfork is for. posix_spawn could not say why the exec failed. */
  pid_t pid = vfork(); /* NOLINT(clang-analyzer-unix.Vfork,clang-analyzer-security.insecureAPI.vfork) */
  if (pid == 0) become(s->launch, s->socket); /* NOLINT(clang-analyzer-unix.Vfork) */
  if (pid < 0) {
    report(s->socket, REPORT_NO_SETUP, errno, NULL);
    _exit(1);
  }
  s->family.command = pid;
  for (int fd = 0; fd < FIRST_FREE; fd++) close(fd); /* or a pipe would not end with the command */
  if (!watched) return;
  await_exec(ends);
  report(s->socket, REPORT_STARTED, 0, NULL);
}

/* The supervisor's life. A host that died before `parent` was asked for is missed on the socket. */
static void supervise(const struct launch *launch) {
  struct supervisor s;
  memset(&s, 0, sizeof s);
  s.launch = launch;
  s.parent = getppid();
  s.socket = launch->socket;
  s.until = launch->timeout > 0 ? clock_monotonic() + launch->timeout : -1;
  setsid(); /* what is sent to the host's group or session does not reach it */
  own_signals();
  s.adopts = family_adopt();
  if (arrange(&s) < 0) {
    report(s.socket, REPORT_NO_SETUP, errno, NULL);
    _exit(1);
  }
  start(&s);
  (void)!chdir("/");
#ifdef __linux__
  prctl(PR_SET_NAME, "koine-process");
#endif
  watch(&s);
  if (all_gone(&s)) s.left = 0;
  if (s.socket >= 0) report(s.socket, REPORT_ENDED, s.status, &s);
  _exit(0);
}

/* The pid, 0 in the child, -1 and errno. An emulator of user programs (QEMU's) and some sandboxes know no child without
** a signal: theirs raises SIGCHLD, and the host's waitpid(-1) may see it. */
static pid_t fork_silently(void) {
#ifdef __linux__
  pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
  if (pid >= 0 || (errno != EINVAL && errno != ENOSYS && errno != EPERM)) return pid;
#endif
  return fork();
}

/* No handler of the host's runs in the supervisor: signals are blocked before it exists. */
pid_t supervisor_start(const struct launch *launch) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork_silently();
  if (pid == 0) supervise(launch);
  int reason = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = reason;
  return pid;
}

/* Takes it if it has ended: true when there is nothing more to take. Without a signal of its own, only its number
** finds it. */
static int take(pid_t pid) {
#ifdef __linux__
  pid_t got = waitpid(pid, NULL, __WALL | WNOHANG);
#else
  pid_t got = waitpid(pid, NULL, WNOHANG);
#endif
  return got > 0 || (got < 0 && errno != EINTR);
}

/* Waits a second at most for its end: true, or false where only looking again and again tells. */
static int await_exit(pid_t pid) {
  int fd = -1;
#ifdef SYS_pidfd_open
  fd = (int)syscall(SYS_pidfd_open, pid, 0);
#else
  (void)pid;
#endif
  if (fd < 0) return 0;
  struct pollfd pf = { fd, POLLIN, 0 };
  double end = clock_monotonic() + LAST;
  while (poll(&pf, 1, (int)(LAST * 1000)) < 0 && errno == EINTR && clock_monotonic() < end) continue;
  close(fd);
  return 1;
}

/* Its socket closes a moment before it can be taken. */
void supervisor_reap(pid_t pid) {
  static const struct timespec pause = { 0, LOOK };
  if (take(pid)) return;
  if (await_exit(pid)) {
    take(pid);
    return;
  }
  for (int look = 0; look < LOOKS && !take(pid); look++) nanosleep(&pause, NULL);
}
