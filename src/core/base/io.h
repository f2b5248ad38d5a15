/*
** io.h: opens and locks files, reads and writes them whole and flushes them to the disk, however often signals interrupt;
** writes without SIGPIPE; says whom a socket is connected to, and whether a fork has come between. Leaf but for mem.
*/
#ifndef KOINE_BASE_IO_H
#define KOINE_BASE_IO_H

#include <sys/types.h>

#include "mem.h"

#pragma GCC visibility push(hidden)

enum io { IO_DONE, IO_FAILED /* errno says why */, IO_LARGER, IO_MEMORY };

/* A number of this process: a child by fork has another one than its parents. It costs no system call. From any thread. */
unsigned io_process(void);
/* As openat, with O_CLOEXEC: a descriptor, or -1 and errno, never EINTR. */
int io_open_at(int dir, const char *path, int flags, mode_t mode);
int io_open(const char *path, int flags, mode_t mode); /* in the current directory */
/* Flushes what was written, and unless data_only also owner, mode and times: 0, or -1 and errno, never EINTR. */
int io_sync(int fd, int data_only);
/* As flock: 0, or -1 and errno, never EINTR. */
int io_lock(int fd, int operation);
/* The port of a socket's other end, once that was reached: the system connects it also while nobody looks. 0: not reached;
** -1: reached, and without a port, as local sockets are. */
int io_peer_port(int fd);
/* Appends what the descriptor has, of files at most `max` bytes, to b. b may have grown also where it failed. */
enum io io_read(int fd, size_t max, struct buf *b);
/* Writes everything: 0, or -1 and errno. */
int io_write(int fd, struct str bytes);
/* As write, without a SIGPIPE: the system has no flag for that where the descriptor is a pipe's. */
ssize_t io_write_quietly(int fd, const char *bytes, size_t n);
/* Until `io_end_quiet` was called as often, no SIGPIPE ends the process, whoever writes: for code that cannot write
** quietly. A host that handles the signal, or ignores it, keeps what it has; programs that it starts have the default.
** From any thread. */
void io_begin_quiet(void);
void io_end_quiet(void);

#pragma GCC visibility pop

#endif
