/*
** library.c: which libcurl is running, and what it can do. Owns nothing. Failure: -1 and an err.
*/
#include <pthread.h>

#include "private.h"

#define HTTP2_SINCE 0x080E00   /* the first libcurl whose HTTP/2 is offered */
#ifndef HANDLES_SINCE          /* `make callgrind` counts with other values, too */
#define HANDLES_SINCE 0x080300 /* the first libcurl whose easy handles may be used again */
#endif

/* The one thing that is shared by all: whether libcurl is ready. Written once, under pthread_once. */
static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_result;

/* Runs once in the process. */
static void global_init(void) {
  global_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Readies libcurl, once: 0, or -1 and *e, the same every time. */
int library_start(struct err *e) {
  pthread_once(&global_once, global_init);
  if (global_result == CURLE_OK) return 0;
  return err_set(e, KIND_OTHER, "libcurl: %s", curl_easy_strerror(global_result));
}

/* libcurl's own word. */
const char *http_library(void) {
  return curl_version_info(CURLVERSION_NOW)->version;
}

/*
** In older ones frames without content hold the loop: padding, and unknown types, 20 s past the deadline.
*/
const char *http2_problem(void) {
  return curl_version_info(CURLVERSION_NOW)->version_num < HTTP2_SINCE
    ? "HTTP/2 needs libcurl 8.14 or later; with older ones a server can hold the program up" : NULL;
}

/* Fills in what depends on the version and the build. */
void library_find(struct http *http) {
  const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
  http->keeps_handles = curl->version_num >= HANDLES_SINCE;
  http->codings = (curl->features & CURL_VERSION_LIBZ) != 0 ? "gzip, deflate" : NULL;
}
