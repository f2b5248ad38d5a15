/* texts.c: what a model's answer is made of: pieces of text of varying length, with marks, line ends, quotes and letters
** beyond ASCII, as JSON writes them. And the buffer that answers are written into. */
#include "answers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About as long as tokens are: four bytes and a half each, on average. A prime number of them, so that no padding or
** number beside them repeats in step. */
static const char *const pieces[] = {
  " the", " sky", " is", " blue", " because", " air", " scatters", " short", " waves", " most", ".", " Light", " from",
  " the", " Sun", ",", " which", " is", " white", ",", " meets", " molecules", " of", " nitrogen", " and", " oxygen",
  ";", " its", " violet", " part", " is", " absorbed", " higher", " up", ".", "\\n\\n", "**", "Ray", "leigh", "**", ":",
  " I", "\xE2\x80\xAF~", " 1", "/", "\xCE\xBB", "\xE2\x81\xB4", " \xE2\x80\x94", " a", " wave", " of", " ", "450",
  " nm", " is", " bent", " \\\"", "five", " times", "\\\"", " as", " much", " as", " one", " of", " 700", " nm", "\\n",
  "-", " near", " the", " horizon", " the", " path", " through", " the", " atmosphere", " is", " about", " thirty",
  "-", "eight", " times", " longer", ",", " so", " orange", " remains", "!"
};

enum { PIECES = sizeof pieces / sizeof *pieces };
_Static_assert(PIECES == 89, "their number must be a prime");

/* UTF-16 units of a JSON string without \u escapes; none of the pieces has a character above U+FFFF. */
static size_t units_of(const char *p) {
  size_t n = 0;
  for (; *p != '\0'; p++) {
    if (*p == '\\') p++;
    n += ((unsigned char)*p & 0xC0) != 0x80;
  }
  return n;
}

void text_of(const struct format *f, size_t i, struct text *t) {
  size_t count = f->least + i * 7 % (f->most - f->least + 1);
  t->n = t->units = 0;
  for (size_t k = 0; k < count; k++) {
    const char *piece = pieces[(i * f->most + k) % PIECES];
    size_t n = strlen(piece);
    memcpy(t->p + t->n, piece, n + 1);
    t->n += n;
    t->units += units_of(piece);
  }
}

static void room_for(struct bytes *b, size_t n) {
  if (b->n + n <= b->room) return;
  b->room = (b->n + n) * 2;
  b->p = realloc(b->p, b->room);
  if (b->p == NULL) abort();
}

void bytes_add(struct bytes *b, const void *p, size_t n) {
  room_for(b, n);
  memcpy(b->p + b->n, p, n);
  b->n += n;
}

void bytes_format(struct bytes *b, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  room_for(b, (size_t)n + 1);
  va_start(args, format);
  vsnprintf(b->p + b->n, (size_t)n + 1, format, args);
  va_end(args);
  b->n += (size_t)n;
}
