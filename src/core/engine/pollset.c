/*
** pollset.c: many descriptors behind one, and news: epoll on Linux, kqueue elsewhere (unverified until someone runs
** it).
** A pollset owns its own descriptor and a table of entries indexed by descriptor, never the descriptors in it. Failure:
** NULL or -1 and an err (KIND_MEMORY, KIND_OTHER with the system's reason).
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#else
#include <sys/event.h>
#include <sys/time.h>
#include <sys/types.h>
#endif

#include "pollset.h"

#define BATCH 128 /* events taken from the system at a time */

/* The entry of one descriptor. `round` tells an entry from an earlier one of the same number. */
struct entry {
  pollset_handler handler; /* NULL = no entry */
  void *ud;
  uint32_t round;
  uint32_t lap;            /* in which it was served last; 0 = never */
  int events;
  int resting;             /* the system goes on watching, but the handler does not run */
};

struct pollset {
  const struct mem *m;
  struct entry *entries; /* by descriptor: the system gives out the lowest free number */
  size_t cap;
  size_t awake;              /* entries that do not rest */
  uint32_t lap;              /* counts up when one is served a second time */
  struct news *first, *last; /* those with news */
  unsigned turn;             /* counts up */
  int fd;
};

/* Room for the entry of fd: 0, or -1 and nothing changed. */
static int grow(struct pollset *p, int fd) {
  size_t cap = p->cap == 0 ? 16 : p->cap;
  while (cap <= (size_t)fd) cap *= 2;
  if (cap == p->cap) return 0;
  struct entry *v = mem_realloc(p->m, p->entries, p->cap * sizeof *v, cap * sizeof *v);
  if (v == NULL) return -1;
  memset(v + p->cap, 0, (cap - p->cap) * sizeof *v);
  p->entries = v;
  p->cap = cap;
  return 0;
}

/* Whole milliseconds, rounded up: waking early would only mean waiting again. */
static int milliseconds(double seconds) {
  if (seconds < 0) return -1;
  if (seconds >= INT_MAX / 1000) return INT_MAX;
  int ms = (int)(seconds * 1000);
  return (double)ms < seconds * 1000 ? ms + 1 : ms;
}

/* Runs the handler of fd unless its entry is gone or another one by now: 1 when it ran. An entry that rests is removed
** instead, so that its descriptor, which stays ready, is not told of again. */
static int dispatch(struct pollset *p, int fd, uint32_t round, int events) {
  if ((size_t)fd >= p->cap) return 0;
  struct entry n = p->entries[fd];
  if (n.handler == NULL || n.round != round) return 0;
  if (n.lap == p->lap) p->lap++;
  p->entries[fd].lap = p->lap;
  if (n.resting) pollset_remove(p, fd);
  else n.handler(n.ud, fd, events);
  return 1;
}

#ifdef __linux__

static int system_open(void) {
  return epoll_create1(EPOLL_CLOEXEC);
}

static void system_disown(int fd) {
  close(fd);
}

static int system_set(struct pollset *p, int fd, const struct entry *n, int old, int fresh) {
  (void)old;
  struct epoll_event ev = { 0 };
  ev.events = (n->events & POLLSET_IN ? (uint32_t)EPOLLIN : 0) | (n->events & POLLSET_OUT ? (uint32_t)EPOLLOUT : 0);
  ev.data.u64 = (uint64_t)n->round << 32 | (uint32_t)fd;
  if (epoll_ctl(p->fd, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &ev) == 0) return 0;
  /* The number may stand for a new file whose predecessor was closed without a word. */
  if (!fresh && errno == ENOENT) return epoll_ctl(p->fd, EPOLL_CTL_ADD, fd, &ev);
  if (fresh && errno == EEXIST) return epoll_ctl(p->fd, EPOLL_CTL_MOD, fd, &ev);
  return -1;
}

static void system_remove(struct pollset *p, int fd, int old) {
  (void)old;
  struct epoll_event ev = { 0 };
  epoll_ctl(p->fd, EPOLL_CTL_DEL, fd, &ev);
}

/* A descriptor that stays ready goes to the end of epoll's own line when it was told of. */
static int system_wait(struct pollset *p, int most, double timeout, int *ran) {
  struct epoll_event ev[BATCH];
  int n = epoll_wait(p->fd, ev, most, milliseconds(timeout));
  for (int i = 0; i < n; i++) {
    uint32_t got = ev[i].events;
    int events = (got & EPOLLIN ? POLLSET_IN : 0) | (got & EPOLLOUT ? POLLSET_OUT : 0) |
                 (got & (EPOLLERR | EPOLLHUP) ? POLLSET_ERR : 0);
    *ran += dispatch(p, (int)(ev[i].data.u64 & UINT32_MAX), (uint32_t)(ev[i].data.u64 >> 32), events);
  }
  return n;
}

#else

static int system_open(void) {
  int fd = kqueue();
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

/* A child has no copy of it. */
static void system_disown(int fd) {
  (void)fd;
}

/* Turns one filter on or off. It is gone already where a new file has taken the number. */
static int filter(struct pollset *p, int fd, const struct entry *n, int which, int have, int want) {
  struct kevent ev;
  if (!have && !want) return 0;
  EV_SET(&ev, (uintptr_t)fd, which, want ? EV_ADD : EV_DELETE, 0, 0, (void *)(uintptr_t)(n ? n->round : 0));
  return kevent(p->fd, &ev, 1, NULL, 0, NULL) < 0 && (want || errno != ENOENT) ? -1 : 0;
}

static int system_set(struct pollset *p, int fd, const struct entry *n, int old, int fresh) {
  if (fresh) old = 0;
  if (filter(p, fd, n, EVFILT_READ, old & POLLSET_IN, n->events & POLLSET_IN) < 0) return -1;
  return filter(p, fd, n, EVFILT_WRITE, old & POLLSET_OUT, n->events & POLLSET_OUT);
}

static void system_remove(struct pollset *p, int fd, int old) {
  filter(p, fd, NULL, EVFILT_READ, old & POLLSET_IN, 0);
  filter(p, fd, NULL, EVFILT_WRITE, old & POLLSET_OUT, 0);
}

static int system_wait(struct pollset *p, int most, double timeout, int *ran) {
  struct kevent ev[BATCH];
  struct timespec ts;
  if (timeout > INT_MAX) timeout = INT_MAX;
  ts.tv_sec = timeout < 0 ? 0 : (time_t)timeout;
  ts.tv_nsec = timeout < 0 ? 0 : (long)((timeout - (double)ts.tv_sec) * 1e9);
  int n = kevent(p->fd, NULL, 0, ev, most, timeout < 0 ? NULL : &ts);
  for (int i = 0; i < n; i++) {
    int events = ev[i].filter == EVFILT_READ ? POLLSET_IN : POLLSET_OUT;
    if ((ev[i].flags & EV_EOF) && ev[i].fflags != 0) events |= POLLSET_ERR;
    *ran += dispatch(p, (int)ev[i].ident, (uint32_t)(uintptr_t)ev[i].udata, events);
  }
  return n;
}

#endif

/* An empty set; NULL and *e when memory or descriptors are short. */
struct pollset *pollset_new(const struct mem *m, struct err *e) {
  struct pollset *p = mem_alloc(m, sizeof *p);
  if (p == NULL) {
    err_memory(e);
    return NULL;
  }
  *p = (struct pollset){ .m = m, .lap = 1, .fd = system_open() };
  if (p->fd < 0) {
    err_system(e, "cannot create a poll descriptor");
    mem_free(m, p, sizeof *p);
    return NULL;
  }
  return p;
}

/* Closes the set's own descriptor and forgets the entries; NULL is fine. */
void pollset_free(struct pollset *p) {
  if (p == NULL) return;
  if (p->fd >= 0) close(p->fd);
  mem_free(p->m, p->entries, p->cap * sizeof *p->entries);
  mem_free(p->m, p, sizeof *p);
}

/* From now on every change of the set fails in the system, or does nothing. */
void pollset_disown(struct pollset *p) {
  system_disown(p->fd);
  p->fd = -1;
}

/* The descriptor that is readable whenever an entry is ready. */
int pollset_fd(const struct pollset *p) {
  return p->fd;
}

/* Adds or changes the entry of fd: 0, or -1, *e and the entry as it was. */
int pollset_set(struct pollset *p, int fd, int events, pollset_handler h, void *ud, struct err *e) {
  if (fd < 0) return err_set(e, KIND_OTHER, "cannot watch descriptor %d", fd);
  if (grow(p, fd) < 0) return err_memory(e);
  struct entry *n = &p->entries[fd];
  int fresh = n->handler == NULL;
  /* The number keeps its lap: one that is removed and added whenever it is served is not new each time. */
  struct entry next = { h, ud, fresh ? n->round + 1 : n->round, n->lap, events, 0 };
  /* Also for the same events, unless it rested: behind the number there may be another file by now. */
  if (!(n->resting && n->events == events) && system_set(p, fd, &next, n->events, fresh) < 0)
    return err_system(e, "cannot watch a descriptor");
  p->awake += fresh || n->resting;
  *n = next;
  return 0;
}

/* Forgets fd; an event of it that the system has reported already is dropped too. */
void pollset_remove(struct pollset *p, int fd) {
  if (fd < 0 || (size_t)fd >= p->cap || p->entries[fd].handler == NULL) return;
  struct entry *n = &p->entries[fd];
  system_remove(p, fd, n->events);
  p->awake -= !n->resting;
  n->handler = NULL;
  n->ud = NULL;
  n->resting = 0;
}

/* Keeps the entry of fd, if there is one, without its handler. */
void pollset_rest(struct pollset *p, int fd) {
  if (fd < 0 || (size_t)fd >= p->cap || p->entries[fd].handler == NULL || p->entries[fd].resting) return;
  p->entries[fd].resting = 1;
  p->awake--;
}

/* True when no handler can run. */
int pollset_is_idle(const struct pollset *p) {
  return p->awake == 0;
}

/* Returns the result of a wait that failed: 0 after EINTR, else -1 and *e. */
static int fail_wait(int *interrupted, struct err *e) {
  if (errno != EINTR) return err_system(e, "cannot wait for descriptors");
  *interrupted = 1;
  return 0;
}

/* Waits, then runs the handlers of what is ready: how many ran, 0 on time-out and on EINTR, -1 and *e on failure. */
int pollset_wait(struct pollset *p, double timeout, int *interrupted, struct err *e) {
  size_t rounds = p->cap / BATCH + 1; /* a bound, where descriptors stay ready */
  int ran = 0, n;
  *interrupted = 0;
  do {
    n = system_wait(p, BATCH, timeout, &ran);
    timeout = 0;
  } while (n == BATCH && --rounds > 0);
  return n >= 0 || ran > 0 ? ran : fail_wait(interrupted, e);
}

/* Waits without serving a descriptor: 1, 0 on time-out and on EINTR, -1 and *e on failure. */
int pollset_await(struct pollset *p, double timeout, int *interrupted, struct err *e) {
  struct pollfd pf = { p->fd, POLLIN, 0 };
  *interrupted = 0;
  int n = poll(&pf, 1, milliseconds(timeout));
  return n >= 0 ? n > 0 : fail_wait(interrupted, e);
}

/* Serves one descriptor: 1, 0 when none is ready, -1 and *e on failure. */
int pollset_one(struct pollset *p, int *lap, struct err *e) {
  uint32_t before = p->lap;
  int ran = 0, n, interrupted, tries = 2;
  do n = system_wait(p, 1, 0, &ran);
  while (n > 0 && ran == 0 && --tries > 0); /* an event of an entry that is gone */
  *lap = p->lap != before;
  return n >= 0 ? ran : fail_wait(&interrupted, e);
}

/* Appends n to the list. */
void pollset_news(struct pollset *p, struct news *n) {
  if (n->queued) return;
  n->queued = 1;
  n->turn = p->turn;
  n->prev = p->last;
  n->next = NULL;
  if (p->last != NULL) p->last->next = n;
  else p->first = n;
  p->last = n;
}

/* Takes n from the list. */
void pollset_forget(struct pollset *p, struct news *n) {
  if (!n->queued) return;
  n->queued = 0;
  if (n->prev != NULL) n->prev->next = n->next;
  else p->first = n->next;
  if (n->next != NULL) n->next->prev = n->prev;
  else p->last = n->prev;
}

/* The one that waited longest, or NULL. */
struct news *pollset_ready(struct pollset *p) {
  struct news *n = p->first;
  if (n != NULL) pollset_forget(p, n);
  return n;
}

/* True when pollset_ready has one. */
int pollset_has_news(const struct pollset *p) {
  return p->first != NULL;
}

/* Counts up; what is in the list is of an earlier turn from now on. */
void pollset_begin_turn(struct pollset *p) {
  p->turn++;
}

/* The list is in the order of turns. */
struct news *pollset_ready_in_turn(struct pollset *p) {
  return p->first != NULL && p->first->turn != p->turn ? pollset_ready(p) : NULL;
}
