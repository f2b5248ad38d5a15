/*
** head.c: see head.h. Pure functions over borrowed bytes; nothing fails: what cannot be read was not said.
*/
#include "head.h"
#include "core/base/clock.h"
#include "core/json/json.h"

/* Unsigned decimal number at the start of s, moved past; 0 when there is none. */
static int take_number(struct str *s, double *out) {
  size_t n = 0, digits = 0;
  while (n < s->n && ((s->p[n] >= '0' && s->p[n] <= '9') || s->p[n] == '.')) digits += s->p[n++] != '.';
  if (digits == 0 || n > 32) return 0;
  *out = json_double((struct str){ s->p, n });
  s->p += n;
  s->n -= n;
  return 1;
}

/* A number and nothing else. */
static int whole_number(struct str s, double *out) {
  return take_number(&s, out) && s.n == 0;
}

/* A Go-style duration, "1h2m3.5s", "12ms": seconds. 0 when it is none. */
static int duration(struct str s, double *out) {
  double total = 0, v;
  if (s.n == 0) return 0;
  while (s.n > 0) {
    if (!take_number(&s, &v) || s.n == 0) return 0;
    if (s.n >= 2 && s.p[0] == 'm' && s.p[1] == 's') { total += v / 1000; s.p += 2; s.n -= 2; continue; }
    if (s.p[0] == 'h') total += v * 3600;
    else if (s.p[0] == 'm') total += v * 60;
    else if (s.p[0] == 's') total += v;
    else return 0;
    s.p++;
    s.n--;
  }
  *out = total;
  return 1;
}

static struct str find(const struct header *v, size_t n, struct str name) {
  for (size_t i = 0; i < n; i++)
    if (str_same(v[i].name, name)) return v[i].value;
  return STR_NONE;
}

/* Seconds that a retry-after value asks for; 0 when it cannot be read. */
static int retry_after(struct str s, double now, double *out) {
  double date;
  if (s.n == 0) return 0;
  if (whole_number(s, out)) return 1;
  if (clock_http_date(s, &date) != 0) return 0;
  *out = date > now ? date - now : 0;
  return 1;
}

static double read_delay(const struct header *v, size_t n, double now) {
  static const struct str RESET[2][2] = {
    { { "x-ratelimit-remaining-requests", 30 }, { "x-ratelimit-reset-requests", 26 } },
    { { "x-ratelimit-remaining-tokens", 28 }, { "x-ratelimit-reset-tokens", 24 } }
  };
  double d, longest = -1;
  if (whole_number(find(v, n, STR("retry-after-ms")), &d)) return d / 1000;
  if (retry_after(find(v, n, STR("retry-after")), now, &d)) return d;
  for (int i = 0; i < 2; i++)
    if (str_eq(find(v, n, RESET[i][0]), "0") && duration(find(v, n, RESET[i][1]), &d) && d > longest) longest = d;
  return longest;
}

void head_read(struct head *h, int status, const struct header *v, size_t n, struct str id_header, double now) {
  const struct str id[] = { STR("request-id"), STR("x-request-id"), id_header };
  struct str again = find(v, n, STR("x-should-retry"));
  h->request_id = STR_NONE;
  for (size_t i = 0; i < sizeof id / sizeof *id && h->request_id.n == 0; i++)
    if (id[i].n > 0) h->request_id = find(v, n, id[i]);
  h->retry_after = read_delay(v, n, now);
  h->should_retry = str_eq(again, "true") ? 1 : str_eq(again, "false") ? 0 : -1;
  h->date = 0;
  if ((status == 401 || status == 403) && clock_http_date(find(v, n, STR("date")), &h->date) != 0) h->date = 0;
}

struct str head_find(const struct header *v, size_t n, const char *name) {
  return name == NULL ? STR_NONE : find(v, n, (struct str){ name, strlen(name) });
}

void head_complete(const struct head *h, struct err *e) {
  if (e->retry_after < 0) e->retry_after = h->retry_after;
  if (h->should_retry >= 0 && e->kind != KIND_LIMIT) e->retryable = h->should_retry;
  e->server_time = h->date;
}

int head_is_type(const struct header *v, size_t n, const char *type) {
  struct str given = find(v, n, STR("content-type"));
  size_t i = 0;
  while (i < given.n && type[i] != '\0' && str_lower(given.p[i]) == type[i]) i++;
  return type[i] == '\0';
}

int head_check(size_t n, struct err *e) {
  if (n <= HEADERS_MAX) return 0;
  return err_set(e, KIND_LIMIT, "the answer has more than %d headers", HEADERS_MAX);
}

int head_join(const struct header *v, size_t n, struct buf *out) {
  out->n = 0;
  for (size_t i = 0; i < n; i++) {
    if (!str_same(v[i].name, v->name)) continue;
    if ((i > 0 && buf_adds(out, ", ") != 0) || buf_addstr(out, v[i].value) != 0) return -1;
  }
  return 0;
}

struct str head_text(struct arena *a, const struct header *v, size_t n) {
  size_t size = 1;
  char *p, *text;
  for (size_t i = 0; i < n; i++) size += v[i].name.n + v[i].value.n + 3;
  p = text = arena_alloc(a, size);
  if (p == NULL) return STR_NONE;
  for (size_t i = 0; i < n; i++) {
    memcpy(p, v[i].name.p, v[i].name.n);
    p += v[i].name.n;
    *p++ = ':';
    *p++ = ' ';
    if (v[i].value.n > 0) memcpy(p, v[i].value.p, v[i].value.n);
    p += v[i].value.n;
    *p++ = '\n';
  }
  return (struct str){ text, (size_t)(p - text) };
}

size_t head_count(struct str text) {
  size_t n = 0;
  const char *end = text.p + text.n;
  for (const char *p = text.p; p < end; p = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1) n++;
  return n;
}

void head_list(struct str text, struct header *v) {
  const char *end = text.p + text.n;
  for (const char *p = text.p; p < end; v++) {
    const char *colon = memchr(p, ':', (size_t)(end - p)), *lf = memchr(colon, '\n', (size_t)(end - colon));
    v->name = (struct str){ p, (size_t)(colon - p) };
    v->value = (struct str){ colon + 2, (size_t)(lf - colon - 2) };
    p = lf + 1;
  }
}
