/*
** fs.h: files that must not be half-written or readable by others. May call: mem, err, the system.
** Every descriptor is close-on-exec. Failure: -1 and an err (KIND_OTHER, the path and the system's reason).
*/
#ifndef KOINE_FS_H
#define KOINE_FS_H

#include "mem.h"
#include "err.h"

/* Appends the whole file to b; at most `max` bytes (KIND_LIMIT beyond). */
int fs_read(const char *path, size_t max, struct buf *b, struct err *e);
/* Replaces the file by these bytes: a 0600 temporary file in the same directory, flushed, then renamed over it. */
int fs_write_private(const char *path, struct str bytes, struct err *e);

#endif
