/*
** request.h: the request that every baseline makes: the bytes that Koine sent, which koine/request.lua wrote to a file.
** libcurl itself makes the lines Host, Accept-Encoding and Content-Length again; same.c tells whether all came out equal.
** A request lives as long as the program. What cannot go on ends the program.
*/
#ifndef KOINE_BASELINE_REQUEST_H
#define KOINE_BASELINE_REQUEST_H

#include <curl/curl.h>
#include <strings.h>

#include "bench.h"

struct request { char text[65536], url[1024], *encoding, *body; size_t body_n; struct curl_slist *headers; };

/* The value of a line of the head, if it has this name. */
static inline char *request_value(char *line, const char *name) {
  size_t n = strlen(name);
  if (strncasecmp(line, name, n) != 0 || line[n] != ':') return NULL;
  return line + n + 1 + strspn(line + n + 1, " ");
}

/* Reads the file of a request that is to go to the server at `url`, which has no path. */
static inline struct request *request_read(const char *url, const char *file) {
  struct request *r = calloc(1, sizeof *r);
  FILE *f = fopen(file, "rb");
  size_t n = f != NULL && r != NULL ? fread(r->text, 1, sizeof r->text - 1, f) : 0;
  char *end = n > 0 ? strstr(r->text, "\r\n\r\n") : NULL, *value;
  if (end == NULL) bench_die("no request in the file");
  fclose(f);
  r->body = end + 4;
  r->body_n = n - (size_t)(r->body - r->text);
  *end = '\0';
  snprintf(r->url, sizeof r->url, "%s%.*s", url, (int)strcspn(r->text + 5, " "), r->text + 5); /* behind "POST " */
  for (char *line = strstr(r->text, "\r\n"), *next; line != NULL; line = next) {
    *line = '\0';
    line += 2;
    next = strstr(line, "\r\n");
    if (next != NULL) *next = '\0';
    if ((value = request_value(line, "accept-encoding")) != NULL) r->encoding = value;
    else if (request_value(line, "host") == NULL && request_value(line, "content-length") == NULL)
      r->headers = curl_slist_append(r->headers, line);
  }
  return r;
}

/* A handle for the request, whose answer goes to `write`. */
static inline CURL *request_handle(const struct request *r, curl_write_callback write, void *ud) {
  CURL *c = curl_easy_init();
  if (c == NULL) bench_die("libcurl cannot start");
  curl_easy_setopt(c, CURLOPT_URL, r->url);
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, r->headers);
  curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, r->encoding);
  curl_easy_setopt(c, CURLOPT_POSTFIELDS, r->body);
  curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)r->body_n);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, write);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, ud);
  curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  return c;
}

/* Runs one exchange; anything but a 200 ends the program. */
static inline void request_run(CURL *c) {
  long status = 0;
  CURLcode code = curl_easy_perform(c);
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  if (code != CURLE_OK || status != 200) bench_die(code != CURLE_OK ? curl_easy_strerror(code) : "not a 200");
}

#endif
