/*
** chat.c: LABEL URL REQUEST N [fresh]: N small POSTs, one after the other, on one kept-alive connection: with one handle,
** or with a fresh one for each, on one multi, as Koine must have on an old libcurl. CPU per request, memory at the end.
*/
#include "request.h"

struct answer { char p[4096]; size_t n; };

static struct answer a;
static CURL *kept;
static CURLM *fresh; /* holds the connection */

static size_t keep(char *p, size_t size, size_t count, void *ud) {
  size_t n = size * count;
  (void)ud;
  if (a.n + n > sizeof a.p) return 0;
  memcpy(a.p + a.n, p, n);
  a.n += n;
  return n;
}

static void chat_fresh(const struct request *r) {
  int running = 1, left;
  CURL *c = request_handle(r, keep, NULL);
  curl_multi_add_handle(fresh, c);
  while (running > 0) {
    curl_multi_perform(fresh, &running);
    if (running > 0) curl_multi_poll(fresh, NULL, 0, 1000, NULL);
  }
  CURLMsg *message = curl_multi_info_read(fresh, &left);
  if (message == NULL || message->data.result != CURLE_OK) bench_die("a chat failed");
  curl_multi_remove_handle(fresh, c);
  curl_easy_cleanup(c);
}

static void chat(const struct request *r) {
  a.n = 0;
  if (fresh != NULL) chat_fresh(r);
  else request_run(kept);
}

int main(int argc, char **argv) {
  if (argc != 5 && argc != 6) bench_die("usage: chat LABEL URL REQUEST N [fresh]");
  long n = atol(argv[4]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  struct request *r = request_read(argv[2], argv[3]);
  if (argc == 6) fresh = curl_multi_init();
  else kept = request_handle(r, keep, NULL);
  chat(r); /* connects */
  double cpu = bench_cpu();
  for (long i = 0; i < n; i++) chat(r);
  bench_report(argv[1], "_us", (bench_cpu() - cpu) / (double)n, "us/request");
  bench_report(argv[1], "_rss_mb", bench_rss(), "MiB");
  curl_easy_cleanup(kept);
  curl_multi_cleanup(fresh);
  return a.n > 0 ? 0 : 1;
}
