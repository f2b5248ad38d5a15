/*
** journal.h: a locked file that grows by records. A reader goes on where it stopped; a record that is cut at the file's
** end was never written. The file says itself how far it is known to be whole, so that damage is told from a cut.
** Failure: -1 and an err, as private_file.h has it.
*/
#ifndef KOINE_FILES_JOURNAL_H
#define KOINE_FILES_JOURNAL_H

#include "private_file.h"

#pragma GCC visibility push(hidden)

#define STAMP_MAX 80

/* Appends the locked file's bytes from `offset` on to b: at most `max` of them. */
int journal_read(const struct file_lock *l, const char *path, size_t offset, size_t max, struct buf *b, struct err *e);
/* Makes `bytes` the end of the locked file, behind its first `offset` bytes, and flushes them to the disk; what was behind
** is gone. Writes `offset`, eight bytes with the lowest first, at `mark`: so far the file is whole. Where it fails, the
** file ends at `offset`, or has a cut record behind. */
int journal_append(const struct file_lock *l, const char *path, size_t mark, size_t offset, struct str bytes, struct err *e);
/* Writes a text that another file, or a file that grew, does not have: of STAMP_MAX bytes. Takes no lock. */
int journal_stamp(const char *path, char *stamp, struct err *e);

#pragma GCC visibility pop

#endif
