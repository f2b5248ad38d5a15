/*
** process_private.h: what the files of the process room share: process.c (the host's half: pipes, output, result),
** process_plan.c (what is to be run, and its descriptors), and the other half, in the supervisor: process_supervisor.c,
** process_family.c, process_proc.c (after a fork of a host that may have many threads, so system calls only, no mem).
*/
#ifndef KOINE_PROCESS_PRIVATE_H
#define KOINE_PROCESS_PRIVATE_H

#include <stdint.h>
#include <sys/types.h>

#include "process.h"

/* What the supervisor tells the host, over a stream socket. */
enum report_kind { REPORT_ENDED = 1, REPORT_NO_SETUP, REPORT_NO_DIRECTORY, REPORT_NO_PROGRAM };
struct report {
  int kind;
  int value;      /* ENDED: status as of waitpid; otherwise errno */
  int timed_out, left;
};

/* What the host tells the supervisor, one byte each; the end of file means that the host is gone. */
#define ASK_STOP 's'
#define ASK_KILL 'k'

/* What is to be run: everything the supervisor needs, made before the fork. */
struct plan {
  const struct mem *m;
  char **argv, **env, **paths;  /* paths: the files to try, in order */
  const char *cwd;
  void *block;                  /* argv, paths and their bytes */
  size_t block_n;
  int in, out, err;             /* the command's ends; err is -1 when merged */
  int socket;                   /* the supervisor's end */
  pid_t host;
  double timeout, grace;
};

/* process_plan.c */
/* Copies the spec, and looks PATH up: 0, or -1 and *e. */
int plan_init(struct plan *plan, const struct mem *m, const struct process_spec *s, struct err *e);
/* Makes the descriptors: the command's in plan, the host's ends (close-on-exec, never blocking) in *socket and
** reading[]. 0, or -1, *e, and what was made is the caller's to close: -1 marks what was not. */
int plan_open(struct plan *plan, const struct process_spec *s, int *socket, int *reading, struct err *e);
/* Closes the command's ends and frees the copies. */
void plan_free(struct plan *plan);

/* process_supervisor.c */
/* Forks the supervisor: its pid, or -1 and errno. It never returns there. */
pid_t supervisor_start(const struct plan *plan);
/* Waits for a supervisor that has closed its socket, which is about to end. */
void supervisor_reap(pid_t pid);

/* process_proc.c, in the supervisor, Linux only */
/* The names in a directory of /proc that are numbers. */
#define NUMBERS_END (-2)
struct numbers {
  int directory;
  long at, end;
  char bytes[16384] __attribute__((aligned(8)));
};
void numbers_init(struct numbers *v, int directory);
int numbers_next(struct numbers *v);       /* NUMBERS_END, or -1 */
int proc_is_ours(int proc);                /* whether /proc shows the numbers of our namespace */
pid_t proc_parent(int proc, pid_t pid);    /* -1: there is no such process */

/* process_family.c, in the supervisor: all that descends from it, and from the command's group. */
struct family {
  pid_t command;                /* and its process group */
  struct member *now, *before;  /* snapshots, mapped */
  size_t cap;                   /* of each */
};
/* Sends a signal to all: how many there were, -1 where that cannot be told. */
int family_signal(struct family *f, int sig);
/* Stops all until no new one appears, then kills them: how many there were, or -1. */
int family_kill(struct family *f);
/* True where the family can be followed: it is empty once the supervisor has no child. */
int family_adopt(void);

#endif
