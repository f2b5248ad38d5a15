/* Tests of utf8: lines are legal UTF-8 and fit, whatever comes in; cuts leave whole characters. */
#include "core/base/utf8.h"
#include "support/test.h"

static int is_legal(const char *s, size_t n) {
  for (const char *end = s + n; s < end;) {
    int step = utf8_length(s, end);
    if (step < 0) return 0;
    s += step;
  }
  return 1;
}

static void test_line(void) {
  static const struct { const char *text; size_t n; const char *expect; } CASES[] = {
    { "", 0, "" }, { "plain", 5, "plain" }, { "a\0b\nc\x7F", 6, "a b c " },
    { "\xC2\x80\xC2\x9F\xC2\xA0", 6, "  \xC2\xA0" },                                /* C1, and what comes after */
    { "\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA", 12, "\xE2\x80\xA7  \xE2\x80\xAA" },
    { "\xC3", 1, "\xEF\xBF\xBD" }, { "x\xFFy\x80", 4, "x\xEF\xBF\xBDy\xEF\xBF\xBD" },
    { "\xF0\x9F\x98\x80", 4, "\xF0\x9F\x98\x80" }, { "\xF0\x9F\x98", 3, "\xEF\xBF\xBD" },
    { "\xED\xA0\x80", 3, "\xEF\xBF\xBD" }, { "\xC0\xAF", 2, "\xEF\xBF\xBD\xEF\xBF\xBD" },
  };
  char to[64];
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    size_t n = utf8_line(to, sizeof to, CASES[i].text, CASES[i].n);
    CHECK_STR(to, n, CASES[i].expect);
    CHECK(to[n] == '\0');
  }
}

/* Every three bytes, in rooms of every size. */
static void test_rooms(void) {
  static const unsigned char BYTES[] = { 0, 'a', 0x7F, 0x80, 0x9B, 0xA0, 0xBF, 0xC2, 0xC3, 0xE0, 0xE2, 0xED, 0xF0, 0xF4,
                                         0xFF };
  size_t count = sizeof BYTES;
  for (size_t i = 0; i < count * count * count; i++) {
    char s[3] = { (char)BYTES[i % count], (char)BYTES[i / count % count], (char)BYTES[i / count / count] };
    for (size_t room = 1; room < 12; room++) {
      char to[13];
      memset(to, '#', sizeof to);
      size_t n = utf8_line(to, room, s, sizeof s);
      CHECK(n < room && to[n] == '\0' && to[room] == '#' && strlen(to) == n && is_legal(to, n));
    }
  }
}

static void test_cut(void) {
  static const char TEXT[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  static const size_t CUTS[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10 };
  for (size_t n = 0; n < sizeof TEXT; n++) CHECK(utf8_cut(TEXT, n) == CUTS[n]);
}

int main(void) {
  test_line();
  test_rooms();
  test_cut();
  return test_done("base/utf8");
}
