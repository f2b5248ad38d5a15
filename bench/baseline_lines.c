/*
** baseline_lines.c: LABEL URL EVENTS: receives a stream, finds its lines with memchr and counts the events (blank
** lines; all lines where none is blank). CPU time per event: the floor for anything that reads such a stream.
*/
#include "baseline.h"

/* A line that a write cut in two waits in `part`. */
struct lines { char part[65536]; size_t n, bytes, all, blank; };

static void line(struct lines *l, const char *p, size_t n) {
  if (n == 0 || (n == 1 && p[0] == '\r')) l->blank++;
  l->all++;
  l->bytes += n;
}

static size_t split(char *p, size_t size, size_t count, void *ud) {
  struct lines *l = ud;
  char *end = p + size * count, *lf;
  for (; (lf = memchr(p, '\n', (size_t)(end - p))) != NULL; p = lf + 1) {
    if (l->n > 0) {
      if (l->n + (size_t)(lf - p) > sizeof l->part) return 0;
      memcpy(l->part + l->n, p, (size_t)(lf - p));
      line(l, l->part, l->n + (size_t)(lf - p));
      l->n = 0;
    } else {
      line(l, p, (size_t)(lf - p));
    }
  }
  if (l->n + (size_t)(end - p) > sizeof l->part) return 0;
  memcpy(l->part + l->n, p, (size_t)(end - p));
  l->n += (size_t)(end - p);
  return size * count;
}

int main(int argc, char **argv) {
  static struct lines l;
  if (argc != 4) bench_die("usage: baseline_lines LABEL URL EVENTS");
  double events = atof(argv[3]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *c = baseline_post(argv[2], split, &l);
  double before = bench_cpu();
  baseline_run(c);
  bench_report(argv[1], "", (bench_cpu() - before) / events, "us/event");
  curl_easy_cleanup(c);
  if ((double)(l.blank > 0 ? l.blank : l.all) < events) bench_die("events are missing");
  return 0;
}
