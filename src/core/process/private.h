/*
** private.h: what the files of the process room share: process.c (the host's half: pipes, output, result),
** launch.c (what is to be run, and its descriptors), and the other half, in the supervisor: supervisor.c,
** family.c, proc.c (after a fork of a host that may have many threads, so system calls only, no mem).
** The last two do the supervisor's work in the host when the supervisor is stopped. protect.c serves both halves.
*/
#ifndef KOINE_PROCESS_PRIVATE_H
#define KOINE_PROCESS_PRIVATE_H

#include <stdint.h>
#include <sys/types.h>

#include "process.h"

#pragma GCC visibility push(hidden)

/* The supervisor's report to the host, over a stream socket. BLIND: it cannot find what is to be killed (its
** descriptors were closed, say); the host does it, if it can. STARTED comes where it was asked for, also behind a
** command that could not be executed. */
enum report_kind {
  REPORT_ENDED = 1, REPORT_BLIND, REPORT_STARTED, REPORT_NO_SETUP, REPORT_NO_DIRECTORY, REPORT_NO_PROGRAM
};
struct report {
  int kind;
  int value;      /* ENDED: status as of waitpid; BLIND, STARTED: 0; otherwise errno */
  int timed_out;
  int left;       /* -1: not known */
};

/* The host's orders to the supervisor, one byte each; the end of file means that the host is gone. */
#define ASK_END 'e'
#define ASK_STOP 's'
#define ASK_KILL 'k'

/* The command to be run: everything the supervisor needs, made before the fork. */
struct launch {
  const struct mem *m;
  char **argv, **paths;         /* paths: the files to try, in order */
  char **env;                   /* NULL: the host's, as it is when the supervisor is forked */
  const char *cwd;
  void *block;                  /* the arrays and their bytes */
  size_t block_n;
  int in, out, err;             /* the command's ends; err is -1 when merged */
  int socket;                   /* the supervisor's end */
  int borrowed;                 /* in, out and err are the caller's to close */
  double timeout, grace;        /* within what a timespec holds */
  int protect;
};

/* launch.c */
/* Copies the spec, and looks PATH up: 0, or -1 and *e. */
int launch_init(struct launch *launch, const struct mem *m, const struct process_spec *s, struct err *e);
/* Makes the descriptors: the command's in launch, the host's ends (close-on-exec, never blocking) in *socket and
** reading[]. 0, or -1, *e, and what was made is the caller's to close: -1 marks what was not. */
int launch_open(struct launch *launch, const struct process_spec *s, int *socket, int *reading, struct err *e);
/* Makes a pipe, close-on-exec, whose host's end never blocks: 0, or -1 and errno. */
int launch_pipe(int *reading, int *writing, int host_writes);
/* Closes the command's ends, unless they are borrowed, and frees the copies. */
void launch_free(struct launch *launch);

/* protect.c */
/* Takes from this process, which is about to become a command, what would let it read the host. */
void protect_command(void);

/* supervisor.c */
#define LAST 1.0 /* seconds after which what SIGKILL did not end is given up */
/* Forks the supervisor: its pid, or -1 and errno. It never returns there. */
pid_t supervisor_start(const struct launch *launch);
/* Takes a supervisor that is about to end. One that a tracer holds back is given up after a second: it stays a zombie
** of the host's. */
void supervisor_reap(pid_t pid);

/* A process of the system; in the order of the numbers, which is /proc's. `start` tells it from a later one of the same
** number. */
struct member {
  pid_t pid, parent;
  int mine;
  unsigned long long start;
};

/* proc.c, Linux only */
/* The names in a directory of /proc that are numbers. */
#define NUMBERS_END (-2)
struct numbers {
  int directory;
  long at, end;
  char bytes[16384] __attribute__((aligned(8)));
};
void numbers_init(struct numbers *v, int directory);
int numbers_next(struct numbers *v);       /* NUMBERS_END, or -1 */
/* Opens /proc where it shows the numbers of our namespace; else -1. */
int proc_open(void);
/* Fills in x by its pid: 0, or -1 and errno: ESRCH where there is no such process, or none that we may see. */
int proc_read(int proc, struct member *x);
/* Signals x, and no later process that got its number: 0, or -1. */
int proc_signal(int proc, const struct member *x, int sig);

/* family.c: all that descends from a supervisor, and from the command's group. */
struct family {
  pid_t root;                   /* the supervisor */
  pid_t command;                /* and its process group; 0 = not known */
  int proc;                     /* opened before the command could cover it; -1 = none */
  struct member *now, *before;  /* snapshots, mapped */
  size_t cap;                   /* of each */
};
void family_open(struct family *f, pid_t root);
void family_close(struct family *f);
/* Sends a signal to all: how many there were, -1 where that cannot be told. */
int family_signal(struct family *f, int sig);
/* Stops all until no new one appears, then kills them: how many there were, or -1. */
int family_kill(struct family *f);
/* True where the family can be followed: it is empty once the supervisor has no child. */
int family_adopt(void);

#pragma GCC visibility pop

#endif
