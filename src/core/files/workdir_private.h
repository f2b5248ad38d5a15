/*
** workdir_private.h: what the files of the working directory share: the walk from the root to a path's last component.
** A walk owns the descriptors it opened; workdir_walk_end closes them, also after a failure.
*/
#ifndef KOINE_FILES_WORKDIR_PRIVATE_H
#define KOINE_FILES_WORKDIR_PRIVATE_H

#include "workdir.h"

#pragma GCC visibility push(hidden)

#ifndef NAME_MAX
#define NAME_MAX 255
#endif

struct workdir_walk {
  const struct workdir *workdir;
  struct str asked;             /* the path as it was asked for */
  int fds[WORKDIR_DEPTH_MAX + 1];  /* [0] is the root's; the last one is the directory that holds `name` */
  int depth;                    /* index of the last one */
  int links;                    /* followed so far */
  int writes;                   /* the path is to be written: what is git's is refused */
  unsigned char inside[WORKDIR_DEPTH_MAX + 1]; /* when it writes: whether that directory is below a repository's own one */
  char rest[PATH_MAX];          /* what is still to be walked */
  char name[NAME_MAX + 1];      /* the last component, no link when it was looked at; "." for the directory itself */
};

/* Walks to the path's last component, which need not exist. A walk that writes makes directories that are missing on
** the way, and fails with the code "git" before it makes or ends at anything of git's (workdir_git.c). */
int workdir_walk(const struct workdir *t, struct str path, int writes, struct workdir_walk *w, struct err *e);
void workdir_walk_end(struct workdir_walk *w);
static inline int workdir_walk_dir(const struct workdir_walk *w) { return w->fds[w->depth]; }

/* True when a component of the path means `.git`. */
int workdir_names_git(const char *path);
/* True when the directory that the walk is in belongs to a repository itself, or would with an entry of the walk's
** `name`. */
int workdir_in_repository(const struct workdir_walk *w);

/* How many bytes of a path a message shows, for "%.*s". */
static inline int workdir_shown(struct str path) { return path.n < 200 ? (int)path.n : 200; }

/* Fills e from an errno; returns -1. */
int workdir_fail(struct err *e, struct str path, int reason);
/* The path is fine but what it leads to is not: "PATH: WHAT", code "kind". Returns -1. */
int workdir_fail_kind(struct err *e, struct str path, const char *what);

#pragma GCC visibility pop

#endif
