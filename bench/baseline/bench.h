/* bench.h: what the C programs of the benchmark share: the process's own CPU time and memory, one line per figure. */
#ifndef KOINE_BENCH_H
#define KOINE_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* CPU time of this process so far, user and system, in microseconds. */
static inline double bench_cpu(void) {
  struct rusage r;
  getrusage(RUSAGE_SELF, &r);
  return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* A line of /proc/self/status in MiB, 0 where the system does not say. */
static inline double bench_status(const char *name) {
  char line[256];
  size_t n = strlen(name);
  long kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, name, n) == 0 && sscanf(line + n, ": %ld", &kib) == 1) break;
  if (f != NULL) fclose(f);
  return (double)kib / 1024;
}

/* Memory in use. */
static inline double bench_rss(void) { return bench_status("VmRSS"); }

/* The most memory that ever was in use. */
static inline double bench_peak(void) { return bench_status("VmHWM"); }

static inline void bench_report(const char *label, const char *what, double value, const char *unit) {
  printf("%s%s %.4g %s\n", label, what, value, unit);
}

/* Ends the program with a message. */
static inline void bench_die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

#endif
