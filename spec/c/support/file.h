/* file.h: whole files, and the JSON files of a folder, for tests that read them. */
#ifndef KOINE_SPEC_C_SUPPORT_FILE_H
#define KOINE_SPEC_C_SUPPORT_FILE_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"

/* Appends the file's bytes to b: 0, or -1 when it cannot be read or memory is short. */
static inline int whole_file(const char *path, struct buf *b) {
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

/* True when the file holds exactly this text. */
static inline int holds(const char *path, const char *text) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  int same = whole_file(path, &b) == 0 && str_same(buf_str(&b), (struct str){ text, strlen(text) });
  buf_free(&b);
  return same;
}

/* Calls f with each NAME.json of root/folder: how many there were. */
static inline int each_json(const char *root, const char *folder, void (*f)(const char *folder, const char *path)) {
  char path[1024];
  int n = 0;
  snprintf(path, sizeof path, "%s/%s", root, folder);
  DIR *d = opendir(path);
  if (d == NULL) return 0;
  for (struct dirent *x; (x = readdir(d)) != NULL;) {
    size_t length = strlen(x->d_name);
    if (length < 5 || strcmp(x->d_name + length - 5, ".json") != 0) continue;
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, x->d_name);
    f(folder, path);
    n++;
  }
  closedir(d);
  return n;
}

#endif
