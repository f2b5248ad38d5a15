/*
** lines.c: LABEL URL REQUEST EVENTS: receives a stream, finds its lines with memchr and counts the events (blank
** lines; all lines where none is blank). CPU time per event: the floor for anything that reads such a stream.
*/
#include "request.h"

/* A line that a write cut in two waits in `part`. */
struct lines { char *part; size_t n, room, bytes, all, blank; };

static void line(struct lines *l, const char *p, size_t n) {
  if (n == 0 || (n == 1 && p[0] == '\r')) l->blank++;
  l->all++;
  l->bytes += n;
}

static void keep(struct lines *l, const char *p, size_t n) {
  if (l->n + n > l->room) {
    l->room = (l->n + n) * 2;
    l->part = realloc(l->part, l->room);
    if (l->part == NULL) bench_die("memory");
  }
  memcpy(l->part + l->n, p, n);
  l->n += n;
}

static size_t split(char *p, size_t size, size_t count, void *ud) {
  struct lines *l = ud;
  char *end = p + size * count, *lf;
  for (; (lf = memchr(p, '\n', (size_t)(end - p))) != NULL; p = lf + 1) {
    if (l->n > 0) {
      keep(l, p, (size_t)(lf - p));
      line(l, l->part, l->n);
      l->n = 0;
    } else {
      line(l, p, (size_t)(lf - p));
    }
  }
  if (p < end) keep(l, p, (size_t)(end - p));
  return size * count;
}

int main(int argc, char **argv) {
  static struct lines l;
  if (argc != 5) bench_die("usage: lines LABEL URL REQUEST EVENTS");
  double events = atof(argv[4]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *c = request_handle(request_read(argv[2], argv[3]), split, &l);
  double before = bench_cpu();
  request_run(c);
  bench_report(argv[1], "", (bench_cpu() - before) * 1000 / events, "ns/event");
  curl_easy_cleanup(c);
  free(l.part);
  if ((double)(l.blank > 0 ? l.blank : l.all) < events) bench_die("events are missing");
  return 0;
}
