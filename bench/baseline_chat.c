/*
** baseline_chat.c: LABEL URL N: N small POSTs, one after the other, on one kept-alive connection.
** CPU time per request, requests per second, memory at the end.
*/
#include "baseline.h"

struct answer { char p[4096]; size_t n; };

static size_t keep(char *p, size_t size, size_t count, void *ud) {
  struct answer *a = ud;
  size_t n = size * count;
  if (a->n + n > sizeof a->p) return 0;
  memcpy(a->p + a->n, p, n);
  a->n += n;
  return n;
}

int main(int argc, char **argv) {
  struct answer a = { .n = 0 };
  if (argc != 4) bench_die("usage: baseline_chat LABEL URL N");
  long n = atol(argv[3]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *c = baseline_post(argv[2], keep, &a);
  baseline_run(c); /* connects */
  double cpu = bench_cpu(), wall = bench_wall();
  for (long i = 0; i < n; i++) {
    a.n = 0;
    baseline_run(c);
  }
  cpu = bench_cpu() - cpu;
  wall = bench_wall() - wall;
  bench_report(argv[1], "_cpu", cpu / (double)n, "us/request");
  bench_report(argv[1], "_rate", (double)n / wall, "requests/s");
  bench_report(argv[1], "_rss", bench_rss(), "MiB");
  curl_easy_cleanup(c);
  return a.n > 0 ? 0 : 1;
}
