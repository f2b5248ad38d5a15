/* clock.h: time. Leaf. Monotonic seconds for durations, wall seconds for dates; HTTP dates without a locale. */
#ifndef KOINE_BASE_CLOCK_H
#define KOINE_BASE_CLOCK_H

#include <stdint.h>

#include "mem.h"

#pragma GCC visibility push(hidden)

double clock_monotonic(void); /* seconds since an arbitrary start, never backwards */
double clock_wall(void);      /* Unix seconds */
int64_t clock_wall_ns(void);  /* Unix nanoseconds; 0 where the system has no clock */
/* Unix seconds of an HTTP date (IMF-fixdate, RFC 850, asctime; always GMT). 0 and *t, or -1 when it is none. */
int clock_http_date(struct str s, double *t);

#pragma GCC visibility pop

#endif
