/*
** pipe.h: bytes to and from somebody: a queue out with a high-water mark, a buffer in, lines. What moves them (a TLS
** connection, a pair of descriptors) is given by the owner; it must not block. Nothing is read before it is asked for.
** A pipe is embedded in its owner, who gets news when asking again may help. Failure: -1 and an err, the same from then on.
*/
#ifndef KOINE_ENGINE_PIPE_H
#define KOINE_ENGINE_PIPE_H

#include "pollset.h"

#pragma GCC visibility push(hidden)

enum pipe_got { PIPE_FAILED = -1, PIPE_LATER = 0 /* news will come */, PIPE_BYTES = 1, PIPE_END = 2 };

#define PIPE_AGAIN (-2)

/* What moves the bytes. */
struct pipe_io {
  /* Reads at most n > 0 bytes: how many; 0: the end; PIPE_AGAIN: none before in_fd is readable; -1 and *e. */
  long (*read)(void *ud, char *p, size_t n, struct err *e);
  /* Writes of n > 0 bytes: how many; PIPE_AGAIN: none before out_fd is writable; -1 and *e. Bytes that it put off come again
  ** from the same address, and as many. */
  long (*write)(void *ud, const char *p, size_t n, struct err *e);
  /* After pipe_finish or pipe_cut, once: out_fd is neither written nor watched any more, its owner may close it. NULL is
  ** fine. */
  void (*finish)(void *ud);
};

/* One direction's bytes: those from `at` on are left. */
struct pipe_bytes { struct buf b; size_t at; };

struct pipe {
  const struct pipe_io *io;
  void *ud;
  struct pollset *poll;
  struct news *news;
  int in_fd, out_fd;             /* -1: not there yet, or gone; may be one */
  int in_events, out_events;     /* what they are watched for */
  size_t high_water, line_max;
  struct pipe_bytes in;
  size_t seen;                   /* bytes of `in` without an LF */
  size_t given;                  /* bytes of `in` that the last call handed out */
  struct pipe_bytes out, next;   /* being written, where it must not move; and what comes behind it */
  int ended;                     /* the other side sends no more */
  int finishing;                 /* nothing more is queued */
  struct err in_failure, out_failure; /* KIND_NONE: none */
};

/* An empty one, which reads and writes nothing before pipe_open. Whoever waits is told by `news`. A line may have line_max
** bytes; pipe_full beyond high_water. */
void pipe_init(struct pipe *p, const struct mem *m, struct pollset *poll, struct news *news, size_t high_water,
               size_t line_max);
/* From now on bytes move. What was queued before is written. */
void pipe_open(struct pipe *p, const struct pipe_io *io, void *ud, int in_fd, int out_fd);
/* The descriptors are no longer there, or watched by nobody: reading and writing fail with *e. What was read stays. */
void pipe_lose(struct pipe *p, const struct err *e);
/* Takes the descriptors, where they are still there, from the pollset, before the owner closes them; frees the buffers. */
void pipe_free(struct pipe *p);

/* What is there, at most n > 0 bytes. *bytes lives until the next call for this pipe, and comes again unless pipe_took says
** that the caller has it. */
enum pipe_got pipe_read(struct pipe *p, size_t n, struct str *bytes, struct err *e);
/* The next line, without its LF and a CR before that; behind the last LF what is left counts as one. KIND_LIMIT (code
** "line") where it is longer than line_max. */
enum pipe_got pipe_line(struct pipe *p, struct str *line, struct err *e);
/* The caller has what the last call handed out. Idempotent. */
void pipe_took(struct pipe *p);
/* Queues all of the bytes, and writes what can be written: 0, or -1 and *e. Where there was no memory to queue them, the queue
** is as it was, and the next call may succeed; after any other failure it is lost. */
int pipe_write(struct pipe *p, struct str bytes, struct err *e);
/* Queues nothing any more: writing fails (KIND_OTHER, code "closed"). What is queued is still written. Idempotent. */
void pipe_finish(struct pipe *p);
/* The same, but drops the queue, and from now on writing fails with *e. */
void pipe_cut(struct pipe *p, const struct err *e);
/* Whether a writer may go on: 1; 0: the queue is full; -1 and *e: what was queued is lost. */
int pipe_room(const struct pipe *p, struct err *e);
/* Bytes that wait to be written, and whether those are more than high_water. */
size_t pipe_waiting(const struct pipe *p);
int pipe_full(const struct pipe *p);

#pragma GCC visibility pop

#endif
