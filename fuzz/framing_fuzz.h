/*
** framing_fuzz.h: a framing must give the same records however its input is cut, and touch nothing else. The program that
** includes this has `show`, which appends a record to out (`unclosed`: the end of the input closed it) and aborts where
** the record breaks the framing's rules, and EOF_CAN_FAIL: 1 where eof may fail after next has accepted all bytes.
*/
#include <stdint.h>
#include <stdlib.h>

#include "core/framing/framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(struct buf *out, const struct record *r, int unclosed);

/* Appends all records, then the outcome, to out. */
static void run(const struct framing *framing, struct buf *out, struct str in, size_t piece, size_t cap, int swap) {
  struct mem m = mem_libc();
  struct limits limits = { .line = cap, .event = cap };
  void *s = calloc(1, framing->state_size);
  struct buf b;
  struct record r;
  struct err e;
  int got = 0;
  framing->init(s, &m, &limits);
  buf_init(&b, &m);
  for (size_t at = 0; at < in.n && got >= 0; at += piece) {
    size_t k = in.n - at < piece ? in.n - at : piece;
    if (swap && buf_add(&b, in.p + at, k) < 0) abort();
    got = swap ? framing->feed(s, &b, &e) : framing->feed_copy(s, in.p + at, k, &e);
    while (got >= 0 && (got = framing->next(s, &r, &e)) == 1) show(out, &r, 0);
  }
  if (got >= 0) {
    got = framing->eof(s, &r, &e);
    if (got < 0 && !EOF_CAN_FAIL) abort();
    if (got == 1) show(out, &r, 1);
  }
  buf_addc(out, (char)('0' + got));
  framing->free(s);
  free(s);
  buf_free(&b);
}

/* Runs the input whole and in pieces: the byte `piece` chooses their size and how they are handed over, `cap` the caps. */
static void compare(const struct framing *framing, struct str in, uint8_t piece, uint8_t cap) {
  struct mem m = mem_libc();
  struct buf whole, pieces;
  size_t bytes = cap % 2 != 0 ? 1 << 20 : cap;
  buf_init(&whole, &m);
  buf_init(&pieces, &m);
  run(framing, &whole, in, in.n + 2, bytes, 0);
  run(framing, &pieces, in, (size_t)piece % 64 + 1, bytes, piece >= 128);
  if (!str_same(buf_str(&whole), buf_str(&pieces))) abort();
  buf_free(&whole);
  buf_free(&pieces);
}
