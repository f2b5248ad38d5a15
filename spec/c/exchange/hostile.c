/* hostile.c: heads, bodies and calls of a size that no provider sends, and the raw body of a refusal. */
#include "kit.h"

#include <stdlib.h>

static struct mem libc;

/* Everything allocated through it is counted; it fails beyond `max`. */
struct meter { size_t held, max; };

static void *metered(void *ud, void *p, size_t osize, size_t nsize) {
  struct meter *m = ud;
  if (p == NULL) osize = 0;
  if (m->held - osize + nsize > m->max) return NULL;
  m->held += nsize - osize;
  if (nsize == 0) { free(p); return NULL; }
  return realloc(p, nsize);
}

static struct exchange *metered_exchange(const struct mem *m, int stream) {
  struct exchange_spec spec = spec_of(&codec_chat);
  struct err e;
  struct exchange *x;
  spec.stream = stream;
  x = exchange_new(m, &spec, &e);
  CHECK(x != NULL);
  return x;
}

/* A head of n lines: names all alike, or all different. */
static void check_head(size_t n, int alike, enum kind kind) {
  struct meter meter = { 0, 2 << 20 };
  const struct mem m = { metered, &meter };
  struct exchange *x = metered_exchange(&m, 0);
  struct header *h = calloc(n, sizeof *h);
  char (*name)[8] = calloc(n, sizeof *name);
  struct event d;
  for (size_t i = 0; i < n; i++) {
    snprintf(name[i], sizeof name[i], "x%05zu", alike ? 0 : i % 100000);
    h[i] = (struct header){ { name[i], 6 }, STR("v") };
  }
  exchange_head(x, 500, h, n);
  exchange_eof(x, NULL);
  CHECK(exchange_next(x, &d) == EXCHANGE_FAILED);
  CHECK(exchange_error(x)->kind == kind);
  exchange_free(x);
  CHECK(meter.held == 0);
  free(name);
  free(h);
}

/* A plain answer of one call with arguments of n values and some; how it ends. */
static enum progress many_values(size_t n, struct err *e) {
  struct exchange *x = metered_exchange(&libc, 0);
  struct buf b;
  struct event d;
  enum progress p;
  buf_init(&b, &libc);
  buf_adds(&b, "{\"id\":\"c\",\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":"
               "{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":[0");
  for (size_t i = 0; i < n; i++) buf_adds(&b, ",1");
  buf_adds(&b, "]}\"}}]},\"finish_reason\":\"tool_calls\"}]}");
  exchange_head(x, 200, NULL, 0);
  CHECK(exchange_feed(x, &b) == 0);
  exchange_eof(x, NULL);
  while ((p = exchange_next(x, &d)) == EXCHANGE_DELTA) {}
  *e = *exchange_error(x);
  CHECK(exchange_message(x) != NULL && node_is(node_get(exchange_message(x), "partial"), NODE_TRUE) == (p == EXCHANGE_FAILED));
  exchange_free(x);
  buf_free(&b);
  return p;
}

static void check_values(void) {
  struct err e;
  CHECK(many_values(JSON_VALUES_MAX - 100, &e) == EXCHANGE_DONE);
  CHECK(many_values(JSON_VALUES_MAX, &e) == EXCHANGE_FAILED && e.kind == KIND_LIMIT);
}

/* The body of a refusal, without the secret, is made once however often it is asked for. */
static void check_raw(void) {
  static const char BODY[] = "{\"error\":{\"message\":\"no key sk-1234567 here\"}}";
  struct exchange_spec spec = spec_of(&codec_chat);
  struct exchange *x;
  struct event d;
  struct err e;
  struct str first;
  size_t held;
  spec.secrets.v[spec.secrets.n++] = STR("sk-1234567");
  x = exchange_new(&libc, &spec, &e);
  exchange_head(x, 400, NULL, 0);
  feed(x, BODY, sizeof BODY - 1);
  CHECK(exchange_raw(x).n == 0); /* not yet */
  exchange_eof(x, NULL);
  CHECK(exchange_next(x, &d) == EXCHANGE_FAILED);
  first = exchange_raw(x);
  held = exchange_retained(x);
  CHECK(first.n > 0 && memmem(first.p, first.n, "sk-1234567", 10) == NULL);
  for (int i = 0; i < 1000; i++) exchange_raw(x);
  CHECK(exchange_raw(x).p == first.p && exchange_retained(x) == held);
  exchange_free(x);
}

/* White space for a long time, then the answer: every byte is looked at once. */
static void check_blank(void) {
  static const char answer[] =
    "{\"id\":\"c\",\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}";
  struct meter meter = { 0, 32 << 20 };
  const struct mem m = { metered, &meter };
  struct exchange *x = metered_exchange(&m, 1);
  struct event d;
  exchange_head(x, 200, NULL, 0);
  for (int i = 0; i < 300000; i++) {
    feed(x, "\n\n\n\n", 4);
    CHECK(exchange_next(x, &d) == EXCHANGE_MORE);
  }
  feed(x, answer, sizeof answer - 1);
  exchange_eof(x, NULL);
  while (exchange_next(x, &d) == EXCHANGE_DELTA) {}
  CHECK(exchange_next(x, &d) == EXCHANGE_DONE);
  CHECK(exchange_message(x) != NULL);
  exchange_free(x);
  CHECK(meter.held == 0);
}

int main(void) {
  libc = mem_libc();
  check_head(1000, 0, KIND_SERVER);
  check_head(1000, 1, KIND_SERVER);
  check_head(40000, 0, KIND_LIMIT);
  check_head(40000, 1, KIND_LIMIT);
  check_blank();
  check_values();
  check_raw();
  return test_done("exchange/hostile");
}
