/* Tests of clock: the three forms of an HTTP date, and what is none. */
#include <time.h>

#include "core/base/clock.h"
#include "support/test.h"

static double date(const char *s) {
  double t = -1e300;
  return clock_http_date((struct str){ s, strlen(s) }, &t) == 0 ? t : -1;
}

int main(void) {
  static const char *const bad[] = {
    "", "Sun", "Sun,", "120", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 EST",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
    "Sun Nov  6 08:49:37 94", "Sun, 06 Nov -994 08:49:37 GMT", "Tue, 29 Feb 1900 00:00:00 GMT",
  };
  double wall = clock_wall(), mono = clock_monotonic();
  CHECK(date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777);
  CHECK(date("Sunday, 06-Nov-94 08:49:37 GMT") == 784111777);
  CHECK(date("Sun Nov  6 08:49:37 1994") == 784111777);
  CHECK(date("Wed Nov 16 08:49:37 1994") == 784111777 + 10 * 86400);
  CHECK(date("Thu, 01 Jan 1970 00:00:00 GMT") == 0);
  CHECK(date("Tue, 29 Feb 2000 23:59:60 GMT") == 951868800);
  CHECK(date("Fri, 31 Dec 9999 23:59:59 GMT") == 253402300799);
  CHECK(date("Fri, 01 Mar 1600 00:00:00 GMT") == -11670912000);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(date(bad[i]) == -1);
  CHECK(clock_http_date(STR_NONE, &mono) == -1);
  const int days = sizeof(time_t) > 4 ? 40000 : 24000;
  for (int day = 0; day < days; day += 7) { /* against the C library */
    time_t t = (time_t)day * 86400 + day;
    char text[64];
    struct tm tm;
    strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&t, &tm));
    CHECK(date(text) == (double)t);
    if (t < (time_t)wall && t > (time_t)wall - (time_t)86400 * 365 * 40) {
      strftime(text, sizeof text, "%A, %d-%b-%y %H:%M:%S GMT", &tm);
      CHECK(date(text) == (double)t);
    }
  }
  CHECK(wall > 1.7e9 && clock_wall() >= wall - 1);
  mono = clock_monotonic();
  for (int i = 0; i < 1000; i++) {
    double next = clock_monotonic();
    CHECK(next >= mono);
    mono = next;
  }
  return test_done("base/clock");
}
