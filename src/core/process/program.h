/*
** program.h: a program that is talked to while it runs: a process whose standard streams are pipes on the engine. Its input
** is queued, its output is read when it is asked for, its standard error is always read, and the end of it kept.
** All that process.h says of processes holds. A program belongs to its caller, who closes it; engine and programs may go in
** any order. Writing never raises SIGPIPE.
** A child that the host forks without exec has the same descriptors: while it lives, a program does not see its input end.
*/
#ifndef KOINE_PROCESS_PROGRAM_H
#define KOINE_PROCESS_PROGRAM_H

#include "core/engine/pipe.h"
#include "process.h"

#pragma GCC visibility push(hidden)

struct program;

struct program_spec {
  struct process_spec process; /* but for input, output_max, merge and streams */
  size_t high_water;           /* bytes that may wait to be written before program_room is 0 */
  size_t line_max;             /* bytes of a line of its output */
  size_t error_max;            /* bytes that are kept of its standard error: the last ones; twice as many for a while */
  int error_lines;             /* a line of its standard error is news */
};

/* Begins; returns at once. `owner` is its news' owner. NULL and *e: KIND_MEMORY, KIND_OTHER. */
struct program *program_start(struct engine *g, const struct program_spec *s, void *owner, struct err *e);
/* 1 once the program runs; 0 before; -1 and *e as process_done has it: it could not be started. */
int program_started(struct program *p, struct err *e);

/* As those of pipe.h. A line that is too long begins the end (process_stop). At the end of the output of a program that
** failed, as process_done has it: PIPE_FAILED. What is written after program_close_input, or when the program reads no more:
** KIND_OTHER, code "closed". */
enum pipe_got program_line(struct program *p, struct str *line, struct err *e);
void program_took(struct program *p);
int program_write(struct program *p, struct str bytes, struct err *e);
int program_room(struct program *p, struct err *e);
/* The program's input ends behind what is queued. Idempotent. */
void program_close_input(struct program *p);
/* Reads output, and drops it; news tell when there is more. For those who wait for the end only. */
void program_drop(struct program *p);
/* The next line of standard error that is still kept: 1, or 0 when there is none. *line lives until the next call for this
** program, and does not come again. */
int program_error_line(struct program *p, struct str *line);

/* Begins the end: its input ends, and the grace period later it is as process_stop has it. Any number of times. */
void program_end(struct program *p);
/* As process_stop, process_done and process_result; the result's output is that of standard error alone. */
void program_stop(struct program *p);
int program_done(struct program *p, const struct err **failure);
void program_result(struct program *p, struct process_result *r);
/* As process_close. */
void program_close(struct program *p);

#pragma GCC visibility pop

#endif
