/* baseline_discard.c: LABEL URL EVENTS: receives a stream of so many events and throws it away. CPU time per event. */
#include "baseline.h"

static size_t discard(char *p, size_t size, size_t n, void *ud) {
  (void)p;
  *(size_t *)ud += size * n;
  return size * n;
}

int main(int argc, char **argv) {
  size_t received = 0;
  if (argc != 4) bench_die("usage: baseline_discard LABEL URL EVENTS");
  double events = atof(argv[3]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *c = baseline_post(argv[2], discard, &received);
  double before = bench_cpu();
  baseline_run(c);
  bench_report(argv[1], "", (bench_cpu() - before) / events, "us/event");
  curl_easy_cleanup(c);
  return received > 0 ? 0 : 1;
}
