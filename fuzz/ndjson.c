/*
** ndjson.c: the framing of JSON lines must give the same records however its input is cut, and touch nothing else.
** The first byte chooses the size of the pieces, the second the caps. Build with -fsanitize=fuzzer,address,undefined.
*/
#include <stdint.h>
#include <stdlib.h>

#include "core/framing/framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Appends a record to out; closed by the end of the input or by its own. */
static void show(struct buf *out, const struct record *r, int unclosed) {
  int has_lf = r->data.n > 0 && memchr(r->data.p, '\n', r->data.n) != NULL;
  if (r->data.n == 0 || r->unclosed != unclosed || (has_lf && !r->joined) || r->name.n > 0) abort();
  buf_addstr(out, r->data);
  buf_addc(out, '>');
}

/* Appends all records, then the outcome, to out. */
static void run(struct buf *out, const char *p, size_t n, size_t piece, size_t cap, int swap) {
  struct mem m = mem_libc();
  struct limits limits = { .line = cap, .event = cap };
  void *s = calloc(1, framing_ndjson.state_size);
  struct buf b;
  struct record r;
  struct err e;
  int got = 0;
  framing_ndjson.init(s, &m, &limits);
  buf_init(&b, &m);
  for (size_t at = 0; at < n && got >= 0; at += piece) {
    size_t k = n - at < piece ? n - at : piece;
    if (swap && buf_add(&b, p + at, k) < 0) abort();
    got = swap ? framing_ndjson.feed(s, &b, &e) : framing_ndjson.feed_copy(s, p + at, k, &e);
    while (got >= 0 && (got = framing_ndjson.next(s, &r, &e)) == 1) show(out, &r, 0);
  }
  if (got >= 0 && (got = framing_ndjson.eof(s, &r, &e)) == 1) show(out, &r, 1);
  buf_addc(out, (char)('0' + got));
  framing_ndjson.free(s);
  free(s);
  buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct buf whole, pieces;
  if (size < 2) return 0;
  size_t piece = (size_t)data[0] % 64 + 1, cap = data[1] % 2 != 0 ? 1 << 20 : data[1];
  buf_init(&whole, &m);
  buf_init(&pieces, &m);
  run(&whole, (const char *)data + 2, size - 2, size, cap, 0);
  run(&pieces, (const char *)data + 2, size - 2, piece, cap, data[0] >= 128);
  if (!str_same(buf_str(&whole), buf_str(&pieces))) abort();
  buf_free(&whole);
  buf_free(&pieces);
  return 0;
}
