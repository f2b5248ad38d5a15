/* file.h: whole files, for tests that read them. */
#ifndef KOINE_SPEC_C_SUPPORT_FILE_H
#define KOINE_SPEC_C_SUPPORT_FILE_H

#include <stdio.h>

#include "core/base/mem.h"

/* Appends the file's bytes to b: 0, or -1 when it cannot be read or memory is short. */
static inline int file_read(const char *path, struct buf *b) {
  FILE *f = fopen(path, "rb");
  char chunk[4096];
  size_t n = 0;
  int r = 0;
  if (f == NULL) return -1;
  while (r == 0 && (n = fread(chunk, 1, sizeof chunk, f)) > 0) r = buf_add(b, chunk, n);
  if (ferror(f)) r = -1;
  fclose(f);
  return r;
}

#endif
