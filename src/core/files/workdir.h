/*
** workdir.h: files below one directory, and nothing else. A path is resolved component by component from the root's
** descriptor; the kernel never follows a link for us. `..`, absolute paths and symbolic links work as long as they stay
** below the root; whatever is swapped meanwhile, nothing outside is read, written, made or listed. Hard links and
** mounts below the root count as below it. Only regular files and directories are opened; nothing blocks on a pipe.
** Git's own files can be read and are never written: nothing at or below a `.git`, however it is spelled and whatever
** link leads there, nor below a repository's directory under another name, and no write makes one.
** Every descriptor is close-on-exec and, but for the root's, closed before a function returns. Failure: -1 and an err
** with the path as it was asked for. KIND_LIMIT beyond a cap; else KIND_OTHER with the code "absent", "outside", "git"
** (not to be written), "kind" (neither a regular file nor a directory, or the other one of the two), "system" (it is
** not the path that is to blame) or none (whatever else the system said).
*/
#ifndef KOINE_FILES_WORKDIR_H
#define KOINE_FILES_WORKDIR_H

#include <limits.h>

#include "core/base/mem.h"
#include "core/base/err.h"

#pragma GCC visibility push(hidden)

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

#define WORKDIR_DEPTH_MAX 64 /* directories below the root on the way to a file, each of which costs a descriptor */
#define WORKDIR_LINKS_MAX 40 /* symbolic links followed for one path */

enum workdir_kind { WORKDIR_FILE, WORKDIR_DIRECTORY, WORKDIR_LINK, WORKDIR_OTHER };

/* A root. Zeroed: closed. */
struct workdir {
  int fd, is_open;
  char real[PATH_MAX];  /* the root's absolute path without links */
  char given[PATH_MAX]; /* as it was asked for when that was absolute, else "" */
};

struct workdir_entry {
  struct str name;
  enum workdir_kind kind; /* of the entry itself: links are not followed */
};

struct workdir_list {
  struct workdir_entry *entries; /* sorted by the bytes of their names */
  size_t n;
};

/* Opens the root. */
int workdir_open(struct workdir *t, const char *dir, struct err *e);
/* Any number of times. */
void workdir_close(struct workdir *t);

/* 0 while the root's path leads to the root; -1 (code "kind") when another directory has taken its place. */
int workdir_in_place(const struct workdir *t, struct err *e);
/* Reads the kind of what the path leads to, links followed, and, of a file, its size. */
int workdir_stat(const struct workdir *t, struct str path, enum workdir_kind *kind, unsigned long long *size, struct err *e);
/* Writes the path's absolute form without links, for others who read or write it, with its NUL. What it leads to need not
** exist. With `writes` set it fails where workdir_write would because of the path, and makes the directories above it. Between
** this and what the others do the path may lead elsewhere. */
int workdir_locate(const struct workdir *t, struct str path, int writes, char real[PATH_MAX], struct err *e);
/* Appends the regular file's bytes to b, at most `max`; b is as before when that fails. */
int workdir_read(const struct workdir *t, struct str path, size_t max, struct buf *b, struct err *e);
/* Replaces the regular file by these bytes, or makes it and the directories above it. A temporary file in the same
** directory is renamed over it, so that no reader sees half of it and another hard link keeps the old bytes; the mode of
** an existing file is kept, and its owner where we may. Not flushed to the disk. */
int workdir_write(const struct workdir *t, struct str path, struct str bytes, struct err *e);
/* The directory's entries but `.` and `..`, in the arena; KIND_LIMIT when there are more than `max`. */
int workdir_entries(const struct workdir *t, struct str path, size_t max, struct arena *a, struct workdir_list *list,
                 struct err *e);

#pragma GCC visibility pop

#endif
