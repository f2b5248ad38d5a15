/*
** standard.h: this process's own standard input and output, taken for a protocol: a pipe on the engine. While they are
** taken, descriptor 0 reads nothing (/dev/null) and 1 is standard error, so that neither a stray print, of C code too, nor
** a child can spoil the protocol. Closing puts them back.
** The file behind a descriptor may be shared with others (a terminal, a shell's pipe), and O_NONBLOCK would change it for
** them all. It is never set: each read and write first asks whether it would block. It can block all the same where
** another process takes the bytes, or the room, in between, and where a terminal is stopped.
** It belongs to its caller, who closes it; engine and it may go in any order. Failure: NULL or -1 and an err.
*/
#ifndef KOINE_PROCESS_STANDARD_H
#define KOINE_PROCESS_STANDARD_H

#include "core/engine/engine.h"
#include "core/engine/pipe.h"

#pragma GCC visibility push(hidden)

struct standard;

/* Takes both descriptors. `owner` is its news' owner. NULL and *e: KIND_MEMORY, KIND_OTHER (one is closed). */
struct standard *standard_open(struct engine *g, size_t high_water, size_t line_max, void *owner, struct err *e);
/* As those of pipe.h. Writing to a side that reads no more: KIND_OTHER, code "closed". */
enum pipe_got standard_line(struct standard *s, struct str *line, struct err *e);
void standard_took(struct standard *s);
int standard_write(struct standard *s, struct str bytes, struct err *e);
int standard_room(const struct standard *s, struct err *e);
size_t standard_waiting(const struct standard *s);
/* Puts the descriptors back; what waits to be written is dropped. NULL is fine. */
void standard_close(struct standard *s);

#pragma GCC visibility pop

#endif
