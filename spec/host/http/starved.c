/*
** starved.c: libcurl runs out of memory at every allocation in turn: the transfer ends with an error or as if nothing had
** happened, a step never fails, and with memory the next transfer is a good one. libcurl takes its memory from here.
*/
#include <curl/curl.h>

#include "support/world.h"

/* Allocations of libcurl so far, and which of them fail: `from` and all after it; 0 = none. */
static size_t asked, from;

static int refused(void) {
  return ++asked >= from && from != 0;
}

static void *take_bytes(size_t n) {
  return refused() ? NULL : malloc(n);
}

static void *take_more(void *p, size_t n) {
  return refused() ? NULL : realloc(p, n);
}

static char *take_copy(const char *s) {
  return refused() ? NULL : strdup(s);
}

static void *take_zeros(size_t n, size_t size) {
  return refused() ? NULL : calloc(n, size);
}

/* One exchange while allocation n of libcurl's and all after it fail, in an engine that is new or was used before: 1 when it
** went well. */
static int starve(size_t n, const char *path, int used) {
  struct world w;
  struct ask a;
  struct answer r;
  open_world(&w, 0);
  if (used) gives(&w, ask(&a, "GET", "/hello"), 200, "hello");
  asked = 0, from = n;
  ask(&a, "POST", path);
  a.r.body = "body", a.r.body_n = 4;
  a.r.timeouts.total = 30;
  add(&a, "X-A", "b");
  memset(&r, 0, sizeof r);
  err_clear(&r.failure);
  run(&w, &a.r, &r);
  from = 0;
  CHECK(w.e.kind == KIND_NONE); /* of the last step */
  CHECK(r.t == NULL || over(r.t));
  int good = r.failure.kind == KIND_NONE;
  if (good) CHECK(r.status == 200);
  drop(&r);
  gives(&w, ask(&a, "GET", "/hello"), 200, "hello");
  close_world(&w);
  return good;
}

static void test_starved(const char *path, int used) {
  size_t n = 1;
  while (n < 500 && !starve(n, path, used)) n++;
  CHECK(n > 5 && n < 500);
}

int main(void) {
  alarm(120); /* a hang is a failure */
  CHECK(curl_global_init_mem(CURL_GLOBAL_DEFAULT, take_bytes, free, take_more, take_copy, take_zeros) == CURLE_OK);
  server_start(&server);
  for (int used = 0; used < 2; used++) {
    test_starved("/hello", used);
    test_starved("/chunked", used);
    test_starved("/gzip", used);
  }
  server_stop(&server);
  return test_done("http/starved");
}
