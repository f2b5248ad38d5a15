/*
** clock.c: time, and HTTP dates without a locale. Owns nothing. Failure: only clock_http_date has one, -1 for what is
** no date.
*/
#include <stdint.h>
#include <time.h>

#include "clock.h"

static double seconds(clockid_t id) {
  struct timespec t = { 0, 0 };
  clock_gettime(id, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds since an arbitrary start, never backwards. */
double clock_monotonic(void) {
  return seconds(CLOCK_MONOTONIC);
}

/* Unix seconds. */
double clock_wall(void) {
  return seconds(CLOCK_REALTIME);
}

/* Unix nanoseconds; 0 where the system has no clock. */
int64_t clock_wall_ns(void) {
  struct timespec t = { 0, 0 };
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A text being read: every reader below moves p, or sets bad. */
struct cursor {
  const char *p, *end;
  int bad;
};

static void expect(struct cursor *c, const char *text) {
  for (; *text != '\0'; text++) {
    if (c->p == c->end || *c->p != *text) {
      c->bad = 1;
      return;
    }
    c->p++;
  }
}

/* A number of exactly `digits` digits; a space may stand for the first when `padded`. */
static int number(struct cursor *c, int digits, int padded) {
  int v = 0;
  for (int i = 0; i < digits; i++) {
    if (c->p == c->end) c->bad = 1;
    else if (i == 0 && padded && *c->p == ' ') c->p++;
    else if (*c->p < '0' || *c->p > '9') c->bad = 1;
    else v = v * 10 + (*c->p++ - '0');
  }
  return v;
}

static int month(struct cursor *c) {
  static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  for (int i = 0; i < 12; i++)
    if (c->end - c->p >= 3 && memcmp(c->p, names + i * 3, 3) == 0) {
      c->p += 3;
      return i + 1;
    }
  c->bad = 1;
  return 0;
}

/* Passes the name of a day, short or long; returns its length. */
static size_t day_name(struct cursor *c) {
  static const char *const names[] = { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday" };
  size_t left = (size_t)(c->end - c->p);
  for (int i = 0; i < 7; i++) {
    size_t n = strlen(names[i]);
    if (left < 3 || memcmp(c->p, names[i], 3) != 0) continue;
    if (left < n || memcmp(c->p, names[i], n) != 0) n = 3;
    c->p += n;
    return n;
  }
  c->bad = 1;
  return 0;
}

struct date {
  int year, month, day, hour, minute, second;
};

static void time_of_day(struct cursor *c, struct date *d) {
  d->hour = number(c, 2, 0);
  expect(c, ":");
  d->minute = number(c, 2, 0);
  expect(c, ":");
  d->second = number(c, 2, 0);
}

/* Days from 1970-01-01 in the Gregorian calendar. */
static int64_t days(int year, int mon, int day) {
  int64_t y = mon <= 2 ? year - 1 : year; /* years that begin in March, so that a leap day comes last */
  int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
  int64_t of_year = (153 * (mon > 2 ? mon - 3 : mon + 9) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* The year that two digits mean: at most 50 years in the future. */
static int full_year(int two_digits) {
  int now = 1970 + (int)(clock_wall() / 31556952.0), year = now - now % 100 + two_digits;
  return year > now + 50 ? year - 100 : year;
}

static int month_length(int year, int mon) {
  static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
  int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return lengths[mon - 1] + (mon == 2 && leap);
}

static int is_real(const struct date *d) {
  return d->day >= 1 && d->day <= month_length(d->year, d->month) && d->hour <= 23 && d->minute <= 59 &&
         d->second <= 60;
}

/* Reads "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or "Sun Nov  6 08:49:37 1994": 0 and Unix
** seconds in *t, or -1. */
int clock_http_date(struct str s, double *t) {
  struct cursor c = { s.p, s.n > 0 ? s.p + s.n : s.p, 0 };
  struct date d;
  size_t name = day_name(&c);
  if (c.p < c.end && *c.p == ' ') {
    expect(&c, " ");
    d.month = month(&c);
    expect(&c, " ");
    d.day = number(&c, 2, 1);
    expect(&c, " ");
    time_of_day(&c, &d);
    expect(&c, " ");
    d.year = number(&c, 4, 0);
  } else {
    int dashes = name > 3;
    expect(&c, ", ");
    d.day = number(&c, 2, 0);
    expect(&c, dashes ? "-" : " ");
    d.month = month(&c);
    expect(&c, dashes ? "-" : " ");
    d.year = dashes ? full_year(number(&c, 2, 0)) : number(&c, 4, 0);
    expect(&c, " ");
    time_of_day(&c, &d);
    expect(&c, " GMT");
  }
  if (c.bad || c.p != c.end || !is_real(&d)) return -1;
  *t = (double)(days(d.year, d.month, d.day) * 86400 + d.hour * 3600 + d.minute * 60 + d.second);
  return 0;
}
