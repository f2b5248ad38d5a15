/* folder.h: folders and files of a test's own, below TMPDIR: tools/run-tests.lua gives each test one, looks into it at
** the end, and removes it. */
#ifndef KOINE_SPEC_C_SUPPORT_FOLDER_H
#define KOINE_SPEC_C_SUPPORT_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER_MAX 64 /* bytes of a path: those of sockets in it are short */

/* Writes what mkdtemp and mkstemp make a name of. */
static inline char *folder_template(char path[FOLDER_MAX]) {
  static const char name[] = "/koine-XXXXXX";
  const char *base = getenv("TMPDIR");
  if (base == NULL || *base == '\0' || strlen(base) + sizeof name > FOLDER_MAX) base = "/tmp";
  snprintf(path, FOLDER_MAX, "%.*s%s", (int)(FOLDER_MAX - sizeof name), base, name);
  return path;
}

/* Makes an empty folder and writes its path: 0, or -1. */
static inline int folder_new(char path[FOLDER_MAX]) { return mkdtemp(folder_template(path)) == NULL ? -1 : 0; }

/* The same in memory, where the system has such folders. Its name holds that of TMPDIR: the runner finds it by that. */
static inline int folder_in_memory(char path[FOLDER_MAX]) {
  const char *base = getenv("TMPDIR"), *name = base == NULL ? NULL : strrchr(base, '/');
  int n = snprintf(path, FOLDER_MAX, "/dev/shm/koine-%s-XXXXXX", name == NULL ? "tmp" : name + 1);
  return n < FOLDER_MAX && mkdtemp(path) != NULL ? 0 : folder_new(path);
}

#endif
