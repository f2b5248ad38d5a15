/* random.h: numbers that look random and are the same in every run. */
#ifndef KOINE_SPEC_C_SUPPORT_RANDOM_H
#define KOINE_SPEC_C_SUPPORT_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 1; /* a program may begin with another */

static inline uint64_t random_next(void) {
  return random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/* A number below n. */
static inline unsigned below(unsigned n) { return (unsigned)(random_next() >> 33) % n; }

#endif
