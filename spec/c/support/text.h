/* text.h: C strings as str, and JSON as it can be read in C. */
#ifndef KOINE_SPEC_C_SUPPORT_TEXT_H
#define KOINE_SPEC_C_SUPPORT_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

static inline struct str z(const char *s) { return (struct str){ s, strlen(s) }; }

/* s with " for each ': a copy in a ring of 32 buffers, so that it lives until 32 more were made. */
static inline const char *json(const char *s) {
  static char ring[32][8192];
  static int next;
  char *to = ring[next++ % 32];
  size_t n = strlen(s);
  if (n >= sizeof ring[0]) abort();
  for (size_t i = 0; i <= n; i++) to[i] = s[i] == '\'' ? '"' : s[i];
  return to;
}

#endif
