/*
** pollset.h: many descriptors behind one, and the list of what has news for its owner. epoll on Linux; kqueue elsewhere
** (unverified until someone runs it). Every entry carries its handler, so sockets and pipes share the descriptor.
*/
#ifndef KOINE_ENGINE_POLLSET_H
#define KOINE_ENGINE_POLLSET_H

#include "core/base/mem.h"
#include "core/base/err.h"

#pragma GCC visibility push(hidden)

#define POLLSET_IN 1
#define POLLSET_OUT 2
#define POLLSET_ERR 4

/* Called by pollset_wait for a ready descriptor; may add, change and remove entries, its own too. */
typedef void (*pollset_handler)(void *ud, int fd, int events);

struct pollset;

/* Embedded in whatever may have news (a transfer, a process); zeroed but for the owner. The pollset links it. */
struct news {
  void *owner;              /* whom it is for: a token of the caller's */
  struct news *prev, *next;
  int queued;
  unsigned turn;            /* in which it got them */
};

/* A pollset that watches nothing, or NULL and *e. */
struct pollset *pollset_new(const struct mem *m, struct err *e);
void pollset_free(struct pollset *p);           /* closes its own descriptor, none of the entries' */
/* In a child made by fork: gives up the copy of the descriptor, behind which is the parent's set. Nothing is watched any
** more, and removing changes nothing. */
void pollset_disown(struct pollset *p);
int pollset_fd(const struct pollset *p);        /* readable when an entry is ready */
/* Adds or changes the entry of fd, which may stand for another file than before. With events 0 epoll goes on to tell of
** errors; kqueue tells of nothing. 0, or -1. */
int pollset_set(struct pollset *p, int fd, int events, pollset_handler h, void *ud, struct err *e);
void pollset_remove(struct pollset *p, int fd); /* before the descriptor is closed */
/* Has the entry of fd wait for the next pollset_set, which costs no call of the system where it wants the same events.
** Until then the handler does not run; once the descriptor is ready, the entry is removed. */
void pollset_rest(struct pollset *p, int fd);
int pollset_is_idle(const struct pollset *p);   /* every entry rests: no handler runs */
/* Waits at most `timeout` seconds (negative = for ever, 0 = not at all) and runs the handlers of what is ready.
** Returns how many ran; 0 on time-out and on EINTR (*interrupted set then); -1 and *e on failure. */
int pollset_wait(struct pollset *p, double timeout, int *interrupted, struct err *e);
/* Waits the same, but runs nothing: 1 when something is ready. */
int pollset_await(struct pollset *p, double timeout, int *interrupted, struct err *e);
/* Runs the handler of one ready descriptor, without waiting: 1, 0 when none is ready, -1 and *e. Called again and
** again, it serves every ready descriptor before it serves one a second time, and sets *lap when it does that. */
int pollset_one(struct pollset *p, int *lap, struct err *e);

/* Puts n behind those with news; idempotent. */
void pollset_news(struct pollset *p, struct news *n);
/* Takes n out; idempotent. Its owner does so before it frees n. */
void pollset_forget(struct pollset *p, struct news *n);
/* The first of those with news, taken out; NULL when there is none. */
struct news *pollset_ready(struct pollset *p);
int pollset_has_news(const struct pollset *p);
/* Begins a turn: pollset_ready_in_turn gives those that have news by now, and not what gets them during the turn. */
void pollset_begin_turn(struct pollset *p);
/* The first of those, taken out; NULL when there is none. */
struct news *pollset_ready_in_turn(struct pollset *p);

#pragma GCC visibility pop

#endif
