/* descriptors.h: what a directory lists, and the descriptors of this process. */
#ifndef KOINE_SPEC_C_SUPPORT_DESCRIPTORS_H
#define KOINE_SPEC_C_SUPPORT_DESCRIPTORS_H

#include <dirent.h>
#include <string.h>

/* Names in a directory that do not begin with a dot; with `all` set those that do too. -1 where there is none. */
static inline int entries(const char *dir, int all) {
  int n = 0;
  DIR *d = opendir(dir);
  if (d == NULL) return -1;
  for (struct dirent *x; (x = readdir(d)) != NULL;)
    n += x->d_name[0] != '.' || (all && strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0);
  closedir(d);
  return n;
}

/* Descriptors that are open, but for the one that looks. */
static inline int open_descriptors(void) { return entries("/proc/self/fd", 0) - 1; }

#endif
