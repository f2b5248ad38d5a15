/*
** request.c: what may be asked for, and how libcurl is told. Names, values and URLs that could smuggle a second
** header or request are refused here. One block per transfer holds the header list and the body that libcurl borrows;
** it is freed once both are sent and answered. Failure: -1 and KIND_ARGUMENT, KIND_CONNECT (offline) or KIND_MEMORY. No
** error repeats a URL or a header's value: they may hold credentials.
*/
#include <arpa/inet.h>
#include <limits.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "private.h"


/* RFC 9110's token: what a method or a header's name is made of. */
static int is_token(struct str s) {
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) continue;
    if (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL) return 0;
  }
  return s.n > 0;
}

/* True when a header line can hold s. */
static int is_value(struct str s) {
  for (size_t i = 0; i < s.n; i++)
    if (((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t') || s.p[i] == 0x7F) return 0;
  return 1;
}

/* True when libcurl would take the value for none. */
static int is_blank(struct str s) {
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] != ' ' && s.p[i] != '\t') return 0;
  return 1;
}

/* No control byte and no space: nothing that could end the request line. */
static int is_url(const char *s) {
  for (; *s != '\0'; s++)
    if ((unsigned char)*s <= 0x20 || *s == 0x7F) return 0;
  return 1;
}

/* True when s is `lower`, given in lower case, in any case. */
static int same_name(struct str s, const char *lower) {
  if (s.n != strlen(lower)) return 0;
  for (size_t i = 0; i < s.n; i++)
    if (str_lower(s.p[i]) != lower[i]) return 0;
  return 1;
}

/* -1 and *e, naming the header. */
static int bad_header(const struct header *h, const char *expected, const char *got, struct err *e) {
  char field[sizeof e->field];
  snprintf(field, sizeof field, "headers.%.*s", h->name.n > 64 ? 64 : (int)h->name.n, h->name.p);
  return err_argument(e, field, expected, got);
}

/* 0, or -1 and *e. */
static int check_header(const struct header *h, struct err *e) {
  if (!is_token(h->name)) return err_argument(e, "headers", "names of letters, digits and hyphens", "another one");
  if (!is_value(h->value)) return bad_header(h, "text without control characters", "one with a control character", e);
  if (same_name(h->name, "content-length") || same_name(h->name, "transfer-encoding"))
    return bad_header(h, "nothing (it is made from the body)", "a value", e);
  return 0;
}

/* 0, or -1 and *e. */
static int check_url(const char *field, const char *url, struct err *e) {
  if (is_url(url)) return 0;
  return err_argument(e, field, "a URL without spaces and control characters",
                      "one with a space or control character");
}

/* -1 and *e, saying what stands against HTTP/2. */
static int refuse_http2(struct err *e) {
  char got[160];
  snprintf(got, sizeof got, "true: %s", http2_problem());
  return err_argument(e, "http2", "false", got);
}

/* 0, or -1 and KIND_ARGUMENT naming method, url, proxy or a header. */
int http_check(const struct http_request *r, struct err *e) {
  const char *m = r->method;
  if (!is_token((struct str){ m, strlen(m) })) return err_argument(e, "method", "an HTTP method", "another string");
  if (check_url("url", r->url, e) < 0 || (r->proxy != NULL && check_url("proxy", r->proxy, e) < 0)) return -1;
  if (r->http2 && http2_problem() != NULL) return refuse_http2(e);
  for (size_t i = 0; i < r->header_count; i++)
    if (check_header(&r->headers[i], e) < 0) return -1;
  return 0;
}

/* True for localhost, 127.0.0.0/8 and ::1. libcurl has normalised the forms of IPv4 addresses. */
static int is_loopback(const char *host) {
  struct in_addr v4;
  struct in6_addr v6;
  char inner[INET6_ADDRSTRLEN];
  size_t n = strlen(host);
  if (same_name((struct str){ host, n }, "localhost")) return 1;
  if (inet_pton(AF_INET, host, &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  if (n < 2 || host[0] != '[' || n - 2 >= sizeof inner) return 0;
  memcpy(inner, host + 1, n - 2);
  inner[n - 2] = '\0';
  return inet_pton(AF_INET6, inner, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* Reads the URL: CURLUE_OK and whether its host is loopback, its scheme https. Else: no usable URL, or memory. */
static CURLUcode url_facts(CURLU *u, int *loopback, int *https) {
  char *scheme = NULL, *host = NULL;
  CURLUcode code = curl_url_get(u, CURLUPART_SCHEME, &scheme, 0);
  if (code == CURLUE_OK) code = curl_url_get(u, CURLUPART_HOST, &host, 0);
  if (code == CURLUE_OK) {
    *https = strcmp(scheme, "https") == 0;
    if (!*https && strcmp(scheme, "http") != 0) code = CURLUE_UNSUPPORTED_SCHEME;
    *loopback = is_loopback(host);
  }
  curl_free(scheme);
  curl_free(host);
  return code;
}

/* True when the proxy, given with or without a scheme, is on this machine. */
static int proxy_is_loopback(const char *proxy) {
  char *host = NULL;
  CURLU *u = curl_url();
  int yes = u != NULL &&
            curl_url_set(u, CURLUPART_URL, proxy, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
            curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK && is_loopback(host);
  curl_free(host);
  curl_url_cleanup(u);
  return yes;
}

/* Reads a URL that is not the one of before: 0, or -1 and *e. The http then remembers it. */
static int learn_url(struct http *http, const char *url, struct err *e) {
  size_t n = strlen(url) + 1;
  int loopback = 0, https = 0;
  CURLU *u = curl_url();
  CURLUcode code = u == NULL ? CURLUE_OUT_OF_MEMORY : curl_url_set(u, CURLUPART_URL, url, 0);
  if (code == CURLUE_OK) code = url_facts(u, &loopback, &https);
  curl_url_cleanup(u);
  if (code == CURLUE_OUT_OF_MEMORY) return err_memory(e);
  if (code != CURLUE_OK) return err_argument(e, "url", "an http or https URL", "another string");
  char *copy = mem_realloc(http->m, http->url, http->url_n, n);
  if (copy == NULL) return err_memory(e);
  http->url = memcpy(copy, url, n);
  http->url_n = n;
  http->url_loopback = loopback;
  http->url_https = https;
  return 0;
}

/* Checks the URL and the offline rule: 0, or -1 and *e. */
static int check_route(struct http *http, const struct http_request *r, struct err *e) {
  if ((http->url == NULL || strcmp(http->url, r->url) != 0) && learn_url(http, r->url, e) < 0) return -1;
  if (!http->offline || r->unix_path != NULL) return 0;
  if (http->url_loopback && (r->proxy == NULL || r->proxy[0] == '\0' || proxy_is_loopback(r->proxy))) return 0;
  failure_offline(e);
  return -1;
}

/* Writes "name: value" with its NUL; "name;" is how libcurl is asked for an empty header. */
static char *put_header(char *p, const struct header *h) {
  memcpy(p, h->name.p, h->name.n);
  p += h->name.n;
  if (is_blank(h->value)) {
    *p++ = ';';
  } else {
    *p++ = ':';
    *p++ = ' ';
    memcpy(p, h->value.p, h->value.n);
    p += h->value.n;
  }
  *p++ = '\0';
  return p;
}

/* Copies headers and body into one block: a list that libcurl can read, the strings, the body. 0, or -1 (memory). */
static int copy(struct transfer *t, const struct http_request *r, char **body) {
  static const char no_expect[] = "Expect:"; /* or libcurl waits for a 100 before it sends a large body */
  size_t n = (r->header_count + 1) * sizeof(struct curl_slist) + sizeof no_expect + r->body_n;
  for (size_t i = 0; i < r->header_count; i++) n += r->headers[i].name.n + r->headers[i].value.n + 3;
  t->sent = mem_alloc(t->m, n);
  if (t->sent == NULL) return -1;
  t->sent_n = n;
  t->upload = r->body_n;
  struct curl_slist *node = (struct curl_slist *)(void *)t->sent;
  char *p = (char *)(node + r->header_count + 1);
  for (size_t i = 0; i < r->header_count; i++, node++) {
    node->data = p;
    node->next = node + 1;
    p = put_header(p, &r->headers[i]);
  }
  node->data = memcpy(p, no_expect, sizeof no_expect);
  node->next = NULL;
  *body = p + sizeof no_expect;
  if (r->body_n > 0) memcpy(*body, r->body, r->body_n);
  return 0;
}

/* Frees the copy; idempotent. */
void request_forget(struct transfer *t) {
  mem_free(t->m, t->sent, t->sent_n);
  t->sent = NULL;
}

/* Seconds as libcurl's milliseconds, rounded up: a time-out is never early, and then ours to put into words. No limit is
** its largest, since 0 would mean its own default. */
static long milliseconds(double s) {
  return s <= 0 || s >= INT_MAX / 1000 ? INT_MAX : (long)ceil(s * 1000);
}

#define SET(option, value) \
  do { \
    if (curl_easy_setopt(c, option, value) != CURLE_OK) return -1; \
  } while (0)

/* 0, or -1 when libcurl is out of memory. Redirects are never followed: a 3xx is the answer. */
int request_prepare(CURL *c, const char *codings) {
#if LIBCURL_VERSION_NUM >= 0x075500
  SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  SET(CURLOPT_QUICK_EXIT, 1L);
#endif
  SET(CURLOPT_NOSIGNAL, 1L);
  SET(CURLOPT_FOLLOWLOCATION, 0L);
  SET(CURLOPT_TCP_KEEPALIVE, 1L);
  SET(CURLOPT_TCP_KEEPIDLE, 30L);
  SET(CURLOPT_TCP_KEEPINTVL, 15L);
  SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  SET(CURLOPT_ACCEPT_ENCODING, codings);
  SET(CURLOPT_BUFFERSIZE, (long)READ_MAX);
  return 0;
}

/* Method, headers and body. */
static int set_message(struct transfer *t, const struct http_request *r, const char *body) {
  CURL *c = t->easy;
  int post = r->body != NULL || strcmp(r->method, "POST") == 0;
  SET(CURLOPT_HTTPHEADER, (struct curl_slist *)(void *)t->sent);
  if (post) {
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, body);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_n);
  } else {
    SET(CURLOPT_HTTPGET, 1L);
  }
  if (strcmp(r->method, post ? "POST" : "GET") == 0) return 0;
  t->plain = 0;
  if (strcmp(r->method, "HEAD") == 0) SET(CURLOPT_NOBODY, 1L);
  else SET(CURLOPT_CUSTOMREQUEST, r->method);
  return 0;
}

/* The way to the host. */
static int set_route(struct transfer *t, const struct http_request *r) {
  CURL *c = t->easy;
  SET(CURLOPT_URL, r->url);
  SET(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(r->timeouts.connect));
  SET(CURLOPT_PROXY, r->proxy != NULL ? r->proxy : t->http->url_loopback ? "" : NULL);
  if (r->proxy != NULL) SET(CURLOPT_NOPROXY, "");
  if (r->ca_file != NULL) {
    SET(CURLOPT_CAINFO, r->ca_file);
    SET(CURLOPT_CAPATH, NULL);
  }
  if (r->http2) { /* a libcurl without HTTP/2 refuses this and stays at 1.1 */
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    if (t->http->url_https) SET(CURLOPT_PIPEWAIT, 1L);
  }
  if (r->proxy != NULL || r->ca_file != NULL || r->http2) t->plain = 0;
  return 0;
}

/* A connection of its own, without a request and without the protocols that TLS would offer for one. */
static int set_link(struct transfer *t, const struct http_request *r) {
  CURL *c = t->easy;
  t->plain = 0;
  SET(CURLOPT_CONNECT_ONLY, 1L);
  SET(CURLOPT_FRESH_CONNECT, 1L);
  SET(CURLOPT_SSL_ENABLE_ALPN, 0L);
  SET(CURLOPT_BUFFERSIZE, (long)LINK_READ_MAX);
  if (r->unix_path != NULL) SET(CURLOPT_UNIX_SOCKET_PATH, r->unix_path);
  return 0;
}

/* 0, or -1 and *e; the handle is then of no use. */
int request_apply(struct transfer *t, const struct http_request *r, struct err *e) {
  char *body = NULL;
  if (check_route(t->http, r, e) < 0) return -1;
  t->plain = 1;
  if (copy(t, r, &body) < 0 || set_message(t, r, body) < 0 || set_route(t, r) < 0 ||
      (r->link && set_link(t, r) < 0))
    return err_memory(e);
  return 0;
}
