/* still.c: a time() that stands still, to be loaded before libc: Lua seeds the hashes of its strings with it, and with
** another seed in each run the counts of instructions differ by two per cent. */
#include <time.h>

time_t time(time_t *t) {
  const time_t still = 1750000000;
  if (t != NULL) *t = still;
  return still;
}
