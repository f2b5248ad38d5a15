/* same.c: URL REQUEST: sends the request as the other programs here do and asks the server for the bytes that came. Fails
** when they are not those of the file: then libcurl's lines differ from those that Koine sends. */
#include "request.h"

struct answer { char p[65536]; size_t n; };

static size_t keep(char *p, size_t size, size_t count, void *ud) {
  struct answer *a = ud;
  size_t n = size * count;
  if (a->n + n > sizeof a->p) bench_die("too long an answer");
  memcpy(a->p + a->n, p, n);
  a->n += n;
  return n;
}

/* A stream need not come to its end. */
static size_t stop(char *p, size_t size, size_t count, void *ud) {
  (void)p;
  (void)size;
  (void)count;
  (void)ud;
  return 0;
}

int main(int argc, char **argv) {
  static struct answer came, sent;
  char url[1024];
  if (argc != 3) bench_die("usage: same URL REQUEST");
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *c = request_handle(request_read(argv[1], argv[2]), stop, NULL);
  curl_easy_perform(c);
  curl_easy_cleanup(c);
  snprintf(url, sizeof url, "%s/last", argv[1]);
  c = curl_easy_init();
  curl_easy_setopt(c, CURLOPT_URL, url);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &came);
  curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
  request_run(c);
  curl_easy_cleanup(c);
  FILE *f = fopen(argv[2], "rb");
  sent.n = f != NULL ? fread(sent.p, 1, sizeof sent.p, f) : 0;
  if (f != NULL) fclose(f);
  if (came.n == sent.n && memcmp(came.p, sent.p, sent.n) == 0) return 0;
  fprintf(stderr, "Koine sends\n%.*s\nand the C programs\n%.*s\n", (int)sent.n, sent.p, (int)came.n, came.p);
  return 1;
}
