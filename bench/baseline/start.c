/* start.c: LABEL: readies libcurl and exits. CPU time of the whole process, loading included. */
#include <curl/curl.h>

#include "bench.h"

int main(int argc, char **argv) {
  if (argc != 2) bench_die("usage: start LABEL");
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) bench_die("libcurl cannot start");
  bench_report(argv[1], "", bench_cpu() / 1000, "ms");
  return 0;
}
