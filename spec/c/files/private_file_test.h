/* private_file_test.h: what the tests of private files ask of a directory and of a file. */
#ifndef PRIVATE_FILE_TEST_H
#define PRIVATE_FILE_TEST_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files/private_file.h"
#include "support/failing.h"
#include "support/test.h"

/* How many entries the directory has that do not begin with a dot; -1 when it cannot be opened. */
static int entries(const char *dir) {
  int n = 0;
  DIR *d = opendir(dir);
  if (d == NULL) return -1;
  for (struct dirent *x; (x = readdir(d)) != NULL;) n += x->d_name[0] != '.';
  closedir(d);
  return n;
}

/* True when the file at path holds these bytes. */
static int holds(const char *path, const char *text) {
  struct mem m = mem_libc();
  struct buf b;
  struct err e;
  buf_init(&b, &m);
  int same = file_read(path, 100000, &b, &e) == 0 && b.n == strlen(text) && memcmp(b.p, text, b.n) == 0;
  buf_free(&b);
  return same;
}

#endif
