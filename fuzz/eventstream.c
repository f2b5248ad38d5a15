/*
** eventstream.c: the framing of AWS's event streams must give the same records however its input is cut, and touch
** nothing else. Half of the inputs get right checksums first: nothing else would come through. The first byte chooses
** the size of the pieces, the second the caps. Build with -fsanitize=fuzzer,address,undefined.
*/
#include <stdint.h>
#include <stdlib.h>

#include "core/bytes/crc32.h"
#include "core/framing/framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put32(char *p, uint32_t v) {
  for (int i = 0; i < 4; i++) p[i] = (char)(v >> (24 - 8 * i) & 0xFF);
}

/* Gives messages right checksums, as far as their lengths hold. */
static void repair(char *p, size_t n) {
  while (n >= 16) {
    size_t total = (size_t)(unsigned char)p[2] << 8 | (unsigned char)p[3];
    p[0] = p[1] = p[4] = p[5] = 0;
    put32(p + 8, crc32_add(0, (struct str){ p, 8 }));
    if (total < 16 || total > n) return;
    put32(p + total - 4, crc32_add(0, (struct str){ p, total - 4 }));
    p += total;
    n -= total;
  }
}

/* Appends a record to out. */
static void show(struct buf *out, const struct record *r) {
  if (r->unclosed || r->joined || r->retry >= 0 || r->id.n > 0) abort();
  buf_addstr(out, r->name);
  buf_addc(out, r->fault ? '!' : '|');
  buf_addstr(out, r->data);
  buf_addc(out, '>');
}

/* Appends all records, then the outcome, to out. */
static void run(struct buf *out, struct str in, size_t piece, size_t cap, int swap) {
  struct mem m = mem_libc();
  struct limits limits = { .line = cap, .event = cap };
  void *s = calloc(1, framing_eventstream.state_size);
  struct buf b;
  struct record r;
  struct err e;
  int got = 0;
  framing_eventstream.init(s, &m, &limits);
  buf_init(&b, &m);
  for (size_t at = 0; at < in.n && got >= 0; at += piece) {
    size_t k = in.n - at < piece ? in.n - at : piece;
    if (swap && buf_add(&b, in.p + at, k) < 0) abort();
    got = swap ? framing_eventstream.feed(s, &b, &e) : framing_eventstream.feed_copy(s, in.p + at, k, &e);
    while (got >= 0 && (got = framing_eventstream.next(s, &r, &e)) == 1) show(out, &r);
  }
  if (got >= 0 && framing_eventstream.eof(s, &r, &e) != 0) abort();
  buf_addc(out, (char)('0' + got));
  framing_eventstream.free(s);
  free(s);
  buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct buf whole, pieces, in;
  if (size < 2) return 0;
  size_t piece = (size_t)data[0] % 64 + 1, cap = data[1] % 2 != 0 ? 1 << 20 : data[1];
  buf_init(&whole, &m);
  buf_init(&pieces, &m);
  buf_init(&in, &m);
  if (buf_add(&in, (const char *)data + 2, size - 2) < 0) abort();
  if (data[1] < 128 && in.n > 0) repair(in.p, in.n);
  run(&whole, buf_str(&in), size, cap, 0);
  run(&pieces, buf_str(&in), piece, cap, data[0] >= 128);
  if (!str_same(buf_str(&whole), buf_str(&pieces))) abort();
  buf_free(&whole);
  buf_free(&pieces);
  buf_free(&in);
  return 0;
}
