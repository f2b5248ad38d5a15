/* streams.c: LABEL URL REQUEST N [each]: N streams open at once on one multi; memory once each has received something;
** with `each` divided by N, without what the process had before. */
#include "request.h"

static int started;

/* The handle's private pointer is its own flag. */
static size_t first(char *p, size_t size, size_t n, void *ud) {
  (void)p;
  started += *(char *)ud == 0;
  *(char *)ud = 1;
  return size * n;
}

int main(int argc, char **argv) {
  int running = 0;
  struct rlimit files;
  if (argc != 5 && argc != 6) bench_die("usage: streams LABEL URL REQUEST N [each]");
  int n = atoi(argv[4]);
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  struct request *r = request_read(argv[2], argv[3]);
  CURLM *m = curl_multi_init();
  CURL **c = calloc((size_t)n, sizeof *c);
  char *flags = calloc((size_t)n, 1);
  if (m == NULL || c == NULL || flags == NULL) bench_die("memory");
  double before = bench_rss();
  for (int i = 0; i < n; i++) {
    c[i] = request_handle(r, first, &flags[i]);
    curl_multi_add_handle(m, c[i]);
  }
  do {
    curl_multi_perform(m, &running);
    if (started < n && running == n) curl_multi_poll(m, NULL, 0, 1000, NULL);
  } while (started < n && running == n);
  if (running < n) bench_die("a stream ended");
  if (argc == 6) bench_report(argv[1], "", (bench_rss() - before) * 1024 / n, "KiB");
  else bench_report(argv[1], "", bench_rss(), "MiB");
  for (int i = 0; i < n; i++) {
    curl_multi_remove_handle(m, c[i]);
    curl_easy_cleanup(c[i]);
  }
  curl_multi_cleanup(m);
  free(c);
  free(flags);
  return 0;
}
