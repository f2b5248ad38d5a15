/*
** private_file.h: files that must not be half-written or readable by others. Every descriptor is close-on-exec.
** Failure: -1 and an err (KIND_OTHER, the path and the system's reason; code "absent" when there is no such file;
** KIND_LIMIT with code "full" where the disk, a quota or a limit leaves no room).
*/
#ifndef KOINE_FILES_PRIVATE_FILE_H
#define KOINE_FILES_PRIVATE_FILE_H

#include "core/base/mem.h"
#include "core/base/err.h"

#pragma GCC visibility push(hidden)

/* The err of a file operation that failed for `reason` (errno), with the code "absent", "denied", "full" or none: -1. */
int file_fail(struct err *e, const char *path, int reason);
/* Appends the whole file to b; at most `max` bytes (KIND_LIMIT beyond). Follows links; refuses what is no regular file, so
** that nothing is waited for. */
int file_read(const char *path, size_t max, struct buf *b, struct err *e);
/* Appends the beginning of the file to b: all of it, or at least `max` bytes; *size: how many bytes it has. Else as
** file_read. */
int file_read_start(const char *path, size_t max, struct buf *b, size_t *size, struct err *e);
/* The same as file_read of a file that holds a secret: refuses a symbolic link, too, a file of another user, and one
** that others than its owner may read or write. */
int private_file_read(const char *path, size_t max, struct buf *b, struct err *e);
/* Replaces the file by these bytes: the one way that Koine writes a file of its own. A new file of mode 0600 in the same
** directory, flushed to the disk, gets the name: whoever reads sees the old bytes or the new ones, whatever
** fails meanwhile. Refuses what is there and no regular file, a symbolic link too. */
int private_file_write(const char *path, struct str bytes, struct err *e);
/* Removes the file, or what a killed process left of writing it: 0, also where there is none, or -1. */
int private_file_remove(const char *path, struct err *e);
/* Makes the directory and those above it that are missing, with mode 0700; what is there stays as it is. */
int private_directory(const char *path, struct err *e);
/* The same for a directory that is ours alone: refuses a symbolic link, one of another user, and one that others may read
** or write. */
int private_directory_only(const char *path, struct err *e);
/* Makes a symbolic link at `path`; fails where something is there. */
int file_link(const char *target, const char *path, struct err *e);

/* A file that this process holds alone: an exclusive advisory lock (flock), which the system frees when the process
** ends. Zeroed: none is held. */
struct file_lock {
  int fd, held;
};
/* Locks the file, made with mode 0600 when it is missing; refuses what private_file_read refuses. Never waits: 1, 0 when
** someone else holds it, or -1. */
int file_lock(const char *path, struct file_lock *l, struct err *e);
/* Appends the locked file to b; at most `max` bytes (KIND_LIMIT beyond). `path` is for the err. */
int file_lock_read(const struct file_lock *l, const char *path, size_t max, struct buf *b, struct err *e);
/* Replaces the locked file as private_file_write does; the lock goes over to the new one. */
int file_lock_write(struct file_lock *l, const char *path, struct str bytes, struct err *e);
/* Frees the lock. Any number of times. */
void file_unlock(struct file_lock *l);

#pragma GCC visibility pop

#endif
