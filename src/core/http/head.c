/*
** head.c: the head of one transfer's answer, as libcurl hands it over line by line: status and headers.
** The bytes and the array of headers belong to the transfer. Failure: noted in the transfer; the callback then returns
** 0, with which libcurl ends it.
*/
#include <strings.h>

#include "private.h"

#define HEAD_EXPECTED ((size_t)1 << 10) /* bytes of names and values: what providers send */

/* The first line of a head is its status line, whatever it looks like: libcurl has read it. An earlier head was
** provisional. 0, or -1 (memory). */
static int begin_head(struct transfer *t) {
  t->in_head = 1;
  t->head.n = 0;
  t->header_count = 0;
  t->encoded = t->in_header = 0;
  return buf_reserve(&t->head, HEAD_EXPECTED);
}

/* Fails a transfer whose answer cannot be HTTP: 0, which the callback returns. */
static int refuse(struct transfer *t, const char *why) {
  struct err e;
  err_clear(&e);
  err_set(&e, KIND_PROTOCOL, "not a valid HTTP answer: %s", why);
  transfer_fail(t, &e);
  return 0;
}

/* Takes note of what the body is packed in. One layer of deflate's kind is let in: others, and a second one, may make
** gigabytes of what libcurl reads at once. libcurl unpacks all that it can, asked for or not. */
static void add_codings(struct transfer *t, const char *p) {
  static const char *const PLAIN[] = { "chunked", "identity", "none" }, *const PACKED[] = { "gzip", "x-gzip", "deflate" };
  for (size_t n; p += strspn(p, " \t,"), (n = strcspn(p, " \t,")) > 0; p += n) {
    int plain = 0, packed = 0;
    for (int i = 0; i < 3; i++) {
      plain = plain || (strncasecmp(p, PLAIN[i], n) == 0 && PLAIN[i][n] == '\0');
      packed = packed || (strncasecmp(p, PACKED[i], n) == 0 && PACKED[i][n] == '\0');
    }
    if (plain) continue;
    if (!packed) refuse(t, "its body is packed in a way that was not asked for");
    else if (t->encoded) refuse(t, "its body is packed twice");
    t->encoded = 1;
  }
}

/* Keeps a folded line: behind a space, more of the header before it (RFC 9112, 5.2). 0, or -1 (memory). */
static int add_folded(struct transfer *t, struct str line) {
  line = str_trim(line);
  if (!t->in_header || line.n == 0) return 0;
  t->head.p[t->head.n - 1] = ' '; /* in place of its NUL */
  return buf_addstr(&t->head, line) < 0 || buf_addc(&t->head, '\0') < 0 ? -1 : 0;
}

/* Keeps "Name: value" as name NUL value NUL; drops lines that are no header. 0, or -1 (memory). */
static int add_header(struct transfer *t, const char *p, size_t n) {
  const char *colon = memchr(p, ':', n);
  if (*p == ' ' || *p == '\t') return add_folded(t, (struct str){ p, n });
  t->in_header = colon != NULL && colon != p;
  if (!t->in_header) return 0;
  struct str value = str_trim((struct str){ colon + 1, (size_t)(p + n - colon - 1) });
  size_t length = (size_t)(colon - p);
  if (buf_reserve(&t->head, length + value.n + 2) < 0) return -1;
  char *name = t->head.p + t->head.n, *behind = name + length + 1;
  str_lower_copy(name, p, length);
  name[length] = '\0';
  if (value.n > 0) memcpy(behind, value.p, value.n);
  behind[value.n] = '\0';
  t->head.n += length + value.n + 2;
  if (str_is((struct str){ name, length }, "content-encoding", 16) ||
      str_is((struct str){ name, length }, "transfer-encoding", 17)) add_codings(t, behind);
  t->header_count++;
  return 0;
}

int transfer_index_head(struct transfer *t, int status) {
  t->status = status;
  if (t->header_count > 0) {
    t->headers = mem_alloc(t->m, t->header_count * sizeof *t->headers);
    if (t->headers == NULL) return -1;
  }
  const char *p = t->head.p;
  for (size_t i = 0; i < t->header_count; i++) {
    struct header *h = &t->headers[i];
    h->name = (struct str){ p, strlen(p) };
    p += h->name.n + 1;
    h->value = (struct str){ p, strlen(p) };
    p += h->value.n + 1;
  }
  if (t->keep != NULL && recording_head(t->keep, status, buf_str(&t->head), t->header_count) < 0) return -1;
  t->head_done = 1;
  pollset_news(t->http->poll, &t->news);
  return 0;
}

/* The blank line: the head is complete unless it was provisional (1xx). The status is the one that libcurl goes by: it
** accepts more kinds of status lines than one would think. 0, noted or not, or -1 (memory). */
static int end_head(struct transfer *t) {
  curl_off_t uploaded = 0;
  long status = 0;
  t->in_head = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  if (status < 100 || status > 999) return refuse(t, "its status line has no status");
  if (status == 101) return refuse(t, "another protocol, which was not asked for");
  if (status < 200) return 0;
  if (transfer_index_head(t, (int)status) < 0) return -1;
  /* Over HTTP/1.1 a request that was sent whole and is answered is never sent again, so a long stream need not hold its
  ** body. Over HTTP/2 libcurl may: the server can still ask for HTTP/1.1. */
  curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
  if (!t->http2 && t->upload > 0 && (size_t)uploaded >= t->upload) {
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, NULL);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, "");
    request_forget(t);
  }
  return 0;
}

/* One line of a head, or a trailer, which is ignored. */
size_t transfer_on_header(char *p, size_t size, size_t count, void *ud) {
  struct transfer *t = ud;
  size_t n = size * count;
  int r = 0;
  if (t->failed) return 0;
  if (t->head_bytes == 0) t->first = t->http->now - t->started;
  t->head_bytes += n;
  if (t->head_bytes > t->head_max) return transfer_too_much(t, "the response's head", "head", t->head_max);
  if (t->head_done) return n;
  if (!t->in_head) r = begin_head(t);
  else if (n > 0 && (p[0] == '\r' || p[0] == '\n')) r = end_head(t);
  else r = add_header(t, p, n);
  if (r < 0) return transfer_no_memory(t);
  return t->failed ? 0 : n;
}
