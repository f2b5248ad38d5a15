/*
** eventstream.c: the framing of AWS's event streams must give the same records however its input is cut, and touch
** nothing else. Half of the inputs get right checksums first: nothing else would come through. The first byte chooses
** the size of the pieces, the second the caps. Build with -fsanitize=fuzzer,address,undefined.
*/
/* The framing drops a message that the end of the input cuts. */
enum { EOF_CAN_FAIL = 0 };

#include "framing_fuzz.h"

#include "core/bytes/crc32.h"

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

/* No record is closed by the end of the input. */
static void show(struct buf *out, const struct record *r, int unclosed) {
  if (unclosed || r->unclosed || r->joined || r->retry >= 0 || r->id.n > 0) abort();
  buf_addstr(out, r->name);
  buf_addc(out, r->fault ? '!' : '|');
  buf_addstr(out, r->data);
  buf_addc(out, '>');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct buf in;
  if (size < 2) return 0;
  buf_init(&in, &m);
  if (buf_add(&in, (const char *)data + 2, size - 2) < 0) abort();
  if (data[1] < 128 && in.n > 0) repair(in.p, in.n);
  compare(&framing_eventstream, buf_str(&in), data[0], data[1]);
  buf_free(&in);
  return 0;
}
