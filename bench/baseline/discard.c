/* discard.c: LABEL URL REQUEST EVENTS: receives a stream of so many events and throws it away. CPU time per event. */
#include "request.h"

static size_t discard(char *p, size_t size, size_t n, void *ud) {
  (void)p;
  *(size_t *)ud += size * n;
  return size * n;
}

int main(int argc, char **argv) {
  size_t received = 0;
  if (argc != 5) bench_die("usage: discard LABEL URL REQUEST EVENTS");
  double events = atof(argv[4]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *c = request_handle(request_read(argv[2], argv[3]), discard, &received);
  double before = bench_cpu();
  request_run(c);
  bench_report(argv[1], "", (bench_cpu() - before) * 1000 / events, "ns/event");
  curl_easy_cleanup(c);
  return received > 0 ? 0 : 1;
}
