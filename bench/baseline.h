/* baseline.h: the plain libcurl request that every baseline makes: with the headers that a provider wants, as Koine sends. */
#ifndef KOINE_BASELINE_H
#define KOINE_BASELINE_H

#include <curl/curl.h>

#include "bench.h"

static const char baseline_body[] =
  "{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1024,"
  "\"messages\":[{\"role\":\"user\",\"content\":\"Why is the sky blue?\"}]}";

/* A POST to the URL whose answer goes to `write`. */
static inline CURL *baseline_post(const char *url, curl_write_callback write, void *ud) {
  static char accept[] = "accept: application/json", version[] = "anthropic-version: 2023-06-01", key[] = "x-api-key: bench-key",
              type[] = "content-type: application/json", agent[] = "user-agent: koine/0.1.0";
  static struct curl_slist list[] = {
    { accept, list + 1 }, { version, list + 2 }, { type, list + 3 }, { agent, list + 4 }, { key, NULL }
  };
  CURL *c = curl_easy_init();
  if (c == NULL) bench_die("libcurl cannot start");
  curl_easy_setopt(c, CURLOPT_URL, url);
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(c, CURLOPT_POSTFIELDS, baseline_body);
  curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)sizeof baseline_body - 1);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, write);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, ud);
  curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  return c;
}

/* Runs one exchange; anything but a 200 ends the program. */
static inline void baseline_run(CURL *c) {
  long status = 0;
  CURLcode code = curl_easy_perform(c);
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  if (code != CURLE_OK || status != 200) bench_die(code != CURLE_OK ? curl_easy_strerror(code) : "not a 200");
}

#endif
