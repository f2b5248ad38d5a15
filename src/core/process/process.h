/*
** process.h: a program started from an argument vector, its output, its end, and the end of everything it started.
** A process belongs to its caller, who closes it. Where its engine goes first, its end begins then (KIND_CANCELLED).
**
** Between the host and the command stands a supervisor, a fork of the host that runs this room's code and nothing else.
** It starts the command in a session of its own and stays until the command and all its descendants are gone. When the
** command ends, its time is over, the host asks for it or is dead (also by SIGKILL), whatever is left gets SIGTERM, and
** after the grace period SIGKILL. On Linux the supervisor is the subreaper of all it started, so that none gets away:
** not by a session of its own, not by a double fork. Elsewhere it ends the command's process group, no more.
** A process that the supervisor may not signal (a descendant of another user) survives, and so does one that another
** service starts on the command's behalf. The supervisor shares the host's memory copy-on-write: it costs page tables
** (5 ms to start where the host holds 100 MB), and a copy of what the host overwrites meanwhile.
**
** The command runs as the same user and may turn on its supervisor. On Linux it may not trace it (without `protect`,
** root may), and where it stops it, takes its descriptors or covers /proc, the host does the work instead: once a second
** while it is pumped.
** Not cured: a supervisor that the command kills takes only the command with it, the rest is lost sight of and may live
** on, which is told; while it is held up, nothing happens if the host dies; and without a time-out, a descendant that
** holds it up after the command's end is waited for.
*/
#ifndef KOINE_PROCESS_H
#define KOINE_PROCESS_H

#include "core/base/mem.h"
#include "core/base/err.h"
#include "core/engine/engine.h"

#pragma GCC visibility push(hidden)

struct process;

/* Everything is copied by process_start, but for the host's own environment: that is read as it is at that moment, so
** that no other thread may be changing it (as with getenv). */
struct process_spec {
  const char *const *argv;  /* NULL-terminated, not empty; a name without a slash is looked for in PATH: the one in
                               env when it is there, else the host's */
  const char *const *env;   /* "NAME=value", NULL-terminated: the whole environment; NULL = the host's */
  const char *cwd;          /* NULL = the host's */
  struct str input;         /* what the command reads on its standard input: a file of its own; empty = nothing */
  double timeout;           /* seconds until the end is brought about; 0 = none; 68 years at most */
  double grace;             /* seconds between SIGTERM and SIGKILL */
  size_t output_max;        /* bytes kept of each stream; the rest is read, counted and dropped */
  int merge;                /* standard error goes where standard output goes */
  int protect;              /* process_protect first, and the command gets no CAP_SYS_PTRACE */
  const int *streams;       /* NULL, or the descriptors of its three streams, borrowed: input and output are then the
                               caller's business, and process_started tells */
};

enum { PROCESS_OUT, PROCESS_ERR, PROCESS_STREAMS };

struct process_result {
  int code;                 /* exit code; -1 when a signal ended the command */
  int signal;               /* 0 = none */
  int timed_out;
  int left;                 /* descendants that could not be killed; -1: there are some, and they could not be found */
  struct str output[PROCESS_STREAMS]; /* owned by the process */
  unsigned long long dropped[PROCESS_STREAMS];
};

/* Keeps this process's memory, environment and descriptors from other processes of its user, from now on, as far as the
** system lets it: Linux only. It leaves no core dump then, and its user cannot attach a debugger to it. Where it runs as
** root, root can read it none the less; its environment, as /proc shows it, becomes empty for all users. getenv answers
** as before. Any number of times. */
void process_protect(void);

/* Begins; returns at once, not knowing yet whether there is such a program. NULL and *e: KIND_MEMORY, KIND_OTHER. */
struct process *process_start(struct engine *g, const struct process_spec *s, void *owner, struct err *e);
/* True when the command and all its descendants are gone, which is its news, or its engine is (KIND_CANCELLED). *failure,
** when not NULL then: the command could not be started (KIND_OTHER; code "absent": there is no such program), or not be
** watched to its end, or its output not be kept (KIND_MEMORY). */
int process_done(const struct process *p, const struct err **failure);
/* With `streams`: true once the command runs, which is its news. One that cannot be started is done soon. */
int process_started(const struct process *p);
/* Fills in the result, once the process is done without a failure. */
void process_result(const struct process *p, struct process_result *r);
/* Begins the end: SIGTERM, grace, SIGKILL. Any number of times; the news is process_done. */
void process_stop(struct process *p);
/* The same, but the command and its descendants have the grace period to end by themselves, before SIGTERM. Their
** input is the caller's to end. */
void process_end(struct process *p);
/* Kills what is left without grace, waits for that, and frees: milliseconds; where the supervisor is held up, at most
** 2 s until it is killed too, and another until it is left behind as a zombie. NULL is fine. */
void process_close(struct process *p);

#pragma GCC visibility pop

#endif
