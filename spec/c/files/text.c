/* Tests of text: what is found where, against the simplest search; lines and their ends. */
#include <stdlib.h>

#include "core/files/text.h"
#include "support/random.h"
#include "support/test.h"

/* The same as text_find, byte by byte. */
static size_t plain_find(struct str text, struct str part, size_t from) {
  for (size_t at = from; at + part.n <= text.n; at++)
    if (memcmp(text.p + at, part.p, part.n) == 0) return at;
  return TEXT_NONE;
}

/* Fills p with n bytes of few letters, which repeat with a period, but for some. */
static void fill(char *p, size_t n, unsigned letters, unsigned period, unsigned odd) {
  for (size_t i = 0; i < n; i++)
    p[i] = i >= period && below(odd) > 0 ? p[i - period] : (char)("abc\0\xFF"[below(letters)]);
}

/* Texts and parts of few letters, which often match nearly. */
static void test_random(void) {
  char text[600], part[80];
  size_t found = 0;
  for (int i = 0; i < 200000; i++) {
    struct str t = { text, below(sizeof text) }, x = { part, 1 + below(i % 3 == 0 ? 6 : sizeof part - 1) };
    unsigned letters = 1 + below(5), period = 1 + below(12), odd = 1 + below(40);
    fill(text, t.n, letters, period, odd);
    if (i % 2 == 0 && t.n > x.n) memcpy(part, text + below((unsigned)(t.n - x.n)), x.n); /* one that is there */
    else fill(part, x.n, letters, period, odd);
    if (i % 4 == 0) part[below((unsigned)x.n)] = 'b';
    size_t from = below(3) == 0 ? below((unsigned)t.n + 4) : 0, at = text_find(t, x, from);
    if (at != plain_find(t, x, from)) CHECK(at == plain_find(t, x, from));
    found += at != TEXT_NONE;
  }
  CHECK(found > 50000 && found < 150000);
}

/* Where every byte begins what is nearly the part. */
static void test_worst(void) {
  size_t n = 1 << 22, m = 1 << 18;
  char *text = malloc(n), *part = malloc(m);
  CHECK(text != NULL && part != NULL);
  if (text != NULL && part != NULL) {
    struct str t = { text, n }, x = { part, m };
    memset(text, 'a', n);
    memset(part, 'a', m);
    CHECK(text_find(t, x, 0) == 0 && text_find(t, x, n - m) == n - m && text_find(t, x, n - m + 1) == TEXT_NONE);
    part[m - 1] = 'b';
    CHECK(text_find(t, x, 0) == TEXT_NONE);
    text[n - 1] = 'b';
    CHECK(text_find(t, x, 0) == n - m);
    part[m - 1] = 'a';
    part[0] = 'b';
    CHECK(text_find(t, x, 0) == TEXT_NONE);
    part[0] = 'a';
    part[m / 2] = 'b';
    CHECK(text_find(t, x, 0) == TEXT_NONE);
    text[n / 2 + m / 2] = 'b';
    CHECK(text_find(t, x, 0) == n / 2);
  }
  free(text);
  free(part);
}

static void test_edges(void) {
  CHECK(text_find(STR_NONE, STR("a"), 0) == TEXT_NONE && text_find(STR("a"), STR("ab"), 0) == TEXT_NONE);
  CHECK(text_find(STR("ab"), STR("ab"), 0) == 0 && text_find(STR("ab"), STR("ab"), 1) == TEXT_NONE);
  CHECK(text_find(STR("ab"), STR("b"), 2) == TEXT_NONE && text_find(STR("ab"), STR("b"), 9) == TEXT_NONE);
  CHECK(text_find(STR("a\0b\0b"), STR("\0b"), 2) == 3);
}

static void test_lines(void) {
  size_t windows;
  CHECK(text_ends(STR_NONE, &windows) == 0 && windows == 0);
  CHECK(text_ends(STR("\n"), &windows) == 1 && windows == 0 && text_ends(STR("\r\n"), &windows) == 1 && windows == 1);
  CHECK(text_ends(STR("a\r\nb\n\r\n\rc"), &windows) == 3 && windows == 2);
  CHECK(text_after(STR_NONE, 0) == 0 && text_after(STR_NONE, 1) == TEXT_NONE);
  CHECK(text_after(STR("a\nb"), 0) == 0 && text_after(STR("a\nb"), 1) == 2 && text_after(STR("a\nb"), 2) == 3);
  CHECK(text_after(STR("a\nb"), 3) == TEXT_NONE && text_after(STR("a\nb\n"), 2) == 4);
  CHECK(text_after(STR("a\nb\n"), 3) == TEXT_NONE && text_after(STR("\n\n"), 1) == 1);
  CHECK(text_after(STR("\n\n"), SIZE_MAX) == TEXT_NONE);
}

int main(void) {
  random_state = 20260103;
  test_edges();
  test_random();
  test_worst();
  test_lines();
  return test_done("files/text");
}
