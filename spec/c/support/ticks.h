/* ticks.h: a signal every millisecond, for tests of waits that signals end: one before the wait does no harm. */
#ifndef KOINE_SPEC_C_SUPPORT_TICKS_H
#define KOINE_SPEC_C_SUPPORT_TICKS_H

#include <signal.h>
#include <sys/time.h>

static struct sigaction ticks_action;
static struct itimerval ticks_alarm; /* the program's own, which ends it when it hangs */

static inline void on_tick(int sig) { (void)sig; }

static inline void ticks_start(void) {
  struct sigaction act = { 0 };
  struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
  act.sa_handler = on_tick;
  sigaction(SIGALRM, &act, &ticks_action);
  setitimer(ITIMER_REAL, &every, &ticks_alarm);
}

static inline void ticks_stop(void) {
  struct itimerval off = { { 0, 0 }, { 0, 0 } };
  struct sigaction ignore = { 0 };
  ignore.sa_handler = SIG_IGN;
  setitimer(ITIMER_REAL, &off, NULL);
  sigaction(SIGALRM, &ignore, NULL); /* one that is on its way is gone */
  sigaction(SIGALRM, &ticks_action, NULL);
  setitimer(ITIMER_REAL, &ticks_alarm, NULL);
}

#endif
