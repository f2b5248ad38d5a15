/*
** log.h: a file that processes add whole lines to. Each addition is one write at the file's end, so lines of several
** processes do not mix. A file that is made has mode 0600; one that was there keeps its own. Failure: -1 and an err, as
** private_file.h has it.
*/
#ifndef KOINE_FILES_LOG_H
#define KOINE_FILES_LOG_H

#include "private_file.h"

#pragma GCC visibility push(hidden)

/* Zeroed is not open. */
struct log {
  int fd, open, cut; /* cut: the file may end within a line */
};

/* Opens the file, made when it is missing; refuses what is no regular file. `l` is not open. */
int log_open(struct log *l, const char *path, struct err *e);
/* Adds the bytes at the end. Where the file has `rotate` bytes or more (0: never), it first becomes `path` with ".1" behind,
** in place of an older one, and a new one is made. Goes on in the file that is at `path`, also where another process
** made it anew. */
int log_append(struct log *l, const char *path, struct str bytes, size_t rotate, struct err *e);
/* Any number of times. */
void log_close(struct log *l);

#pragma GCC visibility pop

#endif
