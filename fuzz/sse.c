/*
** sse.c: the framing of event streams must give the same records however its input is cut, and touch nothing else.
** The first byte chooses the size of the pieces, the second the caps. Build with -fsanitize=fuzzer,address,undefined.
*/
/* The last line may be longer than its cap. */
enum { EOF_CAN_FAIL = 1 };

#include <stdio.h>

#include "framing_fuzz.h"

/* Appends a record to out; closed by the end of the input or by its own. */
static void show(struct buf *out, const struct record *r, int unclosed) {
  int has_lf = r->data.n > 0 && memchr(r->data.p, '\n', r->data.n) != NULL;
  char retry[32];
  if (r->unclosed != unclosed || r->joined != has_lf || r->fault || r->retry < -1) abort();
  if (r->id.n > 0 && (unclosed || memchr(r->id.p, '\0', r->id.n) != NULL)) abort();
  buf_addstr(out, r->name);
  buf_addc(out, r->data.p == NULL ? '!' : '|');
  buf_addstr(out, r->data);
  buf_addc(out, '#');
  buf_addstr(out, r->id);
  snprintf(retry, sizeof retry, "~%ld>", r->retry);
  buf_adds(out, retry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  compare(&framing_sse, (struct str){ (const char *)data + 2, size - 2 }, data[0], data[1]);
  return 0;
}
