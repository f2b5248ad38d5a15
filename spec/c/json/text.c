/* text.c: strings: read with every escape and every kind of bad byte, written, and text that goes out as it came. */
#include "core/json/json.h"
#include "core/json/scan.h"
#include "core/message/event.h"
#include "support/test.h"
#include "support/text.h"

static void text_is(const char *json, const char *want, size_t n, int plain) {
  struct mem m = mem_libc();
  struct arena a;
  struct json j;
  struct err e;
  struct str s;
  arena_init(&a, &m);
  json_open(&j, z(json), 1, &e);
  CHECK(json_next(&j) == J_STRING && j.plain == plain && json_text(&j, &a, &s) == 0);
  CHECK_STR(s.p, s.n, want);
  CHECK(s.n == n && (s.p == json + 1) == plain && json_is_(&j, want, n));
  arena_free(&a);
}

static void test_strings(void) {
  char out[] = "a\0b";
  struct mem m = mem_libc();
  struct arena a;
  struct json j;
  struct err e;
  struct str s;
  unsigned flags = 0;
  text_is("\"\"", "", 0, 1);
  text_is("\"plain text of more than eight bytes\"", "plain text of more than eight bytes", 35, 1);
  text_is("\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", 11, 1);
  text_is("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8, 0);
  text_is("\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\"", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10, 0);
  text_is("\"x\\ud83dx\"", "x\xEF\xBF\xBDx", 5, 0);
  text_is("\"\\udE00\\ud83d\"", "\xEF\xBF\xBD\xEF\xBF\xBD", 6, 0);
  text_is("\"\\ud83d\\ud83d\\ude00\"", "\xEF\xBF\xBD\xF0\x9F\x98\x80", 7, 0);
  text_is("\"\\ud83d\\u0041\"", "\xEF\xBF\xBD" "A", 4, 0);
  text_is("\"\xC0\xAF\"", "\xEF\xBF\xBD\xEF\xBF\xBD", 6, 0);           /* overlong */
  text_is("\"\xE0\x80\xAF\"", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 9, 0);
  text_is("\"\xED\xA0\x80\"", "\xEF\xBF\xBD", 3, 0);                   /* a surrogate in bytes */
  text_is("\"\xF4\x90\x80\x80\"", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 12, 0);
  text_is("\"\xF0\x9F\x98\"", "\xEF\xBF\xBD", 3, 0);                   /* cut */
  text_is("\"\xE2\x82x\xFF\"", "\xEF\xBF\xBDx\xEF\xBF\xBD", 7, 0);
  arena_init(&a, &m);
  json_open(&j, STR("\"a\\u0000b\""), 1, &e);
  CHECK(json_next(&j) == J_STRING && json_text(&j, &a, &s) == 0 && s.n == 3 && memcmp(s.p, out, 3) == 0);
  json_open(&j, STR("[\"x\\ud83d\",\"\\ude00y\",\"\xED\xA0\xBD\",\"\\ud83d\\ude00\",\"\xFF\"]"), 1, &e);
  CHECK(json_next(&j) == J_ARRAY);
  CHECK(json_next(&j) == J_STRING && json_text_wtf8(&j, &a, &s, &flags) == 0 && flags == EVENT_SURROGATE);
  CHECK_STR(s.p, s.n, "x\xED\xA0\xBD");
  flags = 0;
  CHECK(json_next(&j) == J_STRING && json_text_wtf8(&j, &a, &s, &flags) == 0 && flags == EVENT_SURROGATE);
  CHECK_STR(s.p, s.n, "\xED\xB8\x80y");
  flags = 0;
  CHECK(json_next(&j) == J_STRING && json_text_wtf8(&j, &a, &s, &flags) == 0 && flags == EVENT_SURROGATE);
  CHECK_STR(s.p, s.n, "\xED\xA0\xBD");
  flags = 0;
  CHECK(json_next(&j) == J_STRING && json_text_wtf8(&j, &a, &s, &flags) == 0 && flags == 0);
  CHECK_STR(s.p, s.n, "\xF0\x9F\x98\x80");
  CHECK(json_next(&j) == J_STRING && json_text_wtf8(&j, &a, &s, &flags) == 0 && flags == 0);
  CHECK_STR(s.p, s.n, "\xEF\xBF\xBD");
  arena_free(&a);
}

static void test_write_string(struct buf *b) {
  b->n = 0;
  CHECK(json_write_string(b, STR("a\0\x1F\"\\\b\f\n\r\t/\x7F\xE2\x82\xAC")) == 0);
  CHECK_STR(b->p, b->n, "\"a\\u0000\\u001f\\\"\\\\\\b\\f\\n\\r\\t/\x7F\xE2\x82\xAC\"");
  b->n = 0;
  CHECK(json_write_string(b, STR("\xED\xA0\xBD\xC0\xAF ok \xF0\x9F\x98\x80\xF0\x9F")) == 0);
  CHECK_STR(b->p, b->n, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD ok \xF0\x9F\x98\x80\xEF\xBF\xBD\"");
  b->n = 0;
  CHECK(json_write_string(b, STR_NONE) == 0);
  CHECK_STR(b->p, b->n, "\"\"");
}

/* Text that goes out as it came, but for bytes that are no UTF-8. */
static void test_write_text(struct buf *b) {
  b->n = 0;
  CHECK(json_write_text(b, STR("{ \"a\" : 1.50,\"\\u00e9\":\"\xE2\x82\xAC\xF0\x9F\x98\x80\" }")) == 0);
  CHECK_STR(b->p, b->n, "{ \"a\" : 1.50,\"\\u00e9\":\"\xE2\x82\xAC\xF0\x9F\x98\x80\" }");
  b->n = 0;
  CHECK(json_write_text(b, STR("[\"\xFF\xC3\xA9\xED\xA0\x80\",\"\xF0\x9F\"]\xC0")) == 0);
  CHECK_STR(b->p, b->n, "[\"\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\",\"\xEF\xBF\xBD\"]\xEF\xBF\xBD");
  CHECK(json_write_text(b, STR_NONE) == 0);
}

/* Every byte at every place of texts of up to three blocks, none of which begins where memory is aligned. */
static void test_scan(void) {
  char text[1 + 48];
  size_t wrong = 0;
  memset(text, 'x', sizeof text);
  for (size_t n = 0; n < sizeof text; n++) {
    const char *first = text + 1, *end = first + n;
    wrong += scan_plain(first, end) != end;
    for (size_t i = 0; i < n; i++) {
      for (int c = 0; c <= 0xFF; c++) {
        text[1 + i] = (char)c;
        wrong += scan_plain(first, end) != (scan_special((unsigned char)c) ? first + i : end);
      }
      text[1 + i] = 'x';
    }
  }
  CHECK(wrong == 0);
}

static size_t pick(uint32_t *state, size_t n) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % n;
}

/* Writes a string byte by byte, and text as json_write_text does. */
static void write_plainly(struct buf *b, struct str s, int is_string) {
  char u[8];
  for (size_t i = 0; i < s.n;) {
    unsigned char c = (unsigned char)s.p[i];
    int n = utf8_length(s.p + i, s.p + s.n);
    const char *name = c == '\0' ? NULL : strchr("\bb\ff\nn\rr\tt\"\"\\\\", c);
    if (n < 0) CHECK(buf_adds(b, "\xEF\xBF\xBD") == 0);
    else if (!is_string || (c >= 0x20 && c != '"' && c != '\\')) CHECK(buf_add(b, s.p + i, (size_t)n) == 0);
    else if (name != NULL) CHECK(buf_addc(b, '\\') == 0 && buf_addc(b, name[1]) == 0);
    else CHECK(snprintf(u, sizeof u, "\\u%04x", c) == 6 && buf_adds(b, u) == 0);
    i += (size_t)(n < 0 ? -n : n);
  }
}

/* Strings are looked at sixteen bytes at a time, and the last block twice in part: of every length, with a byte of any
** kind at any place, they come out as byte by byte. */
static void test_all_lengths(struct buf *b) {
  static const char *const pieces[] = { "\"", "\\", "\n", "\x01", "\x1F", " ", "\x7F", "\x80", "\xC3\xA9", "\xFF",
                                        "\xF0\x9F\x98\x80", "\xE2\x82", "\xED\xA0\x80" };
  struct mem m = mem_libc();
  struct buf text, want;
  uint32_t state = 1;
  buf_init(&text, &m);
  buf_init(&want, &m);
  for (size_t n = 0; n < 70; n++)
    for (size_t round = 0; round < 40; round++) {
      size_t specials = round < 30 ? 1 : round - 30;
      text.n = want.n = b->n = 0;
      while (text.n < n) CHECK(buf_addc(&text, (char)('a' + pick(&state, 26))) == 0);
      for (size_t i = 0; i < specials && n > 0; i++) {
        const char *piece = pieces[pick(&state, sizeof pieces / sizeof *pieces)];
        size_t at = pick(&state, n), room = n - at < strlen(piece) ? n - at : strlen(piece);
        memcpy(text.p + at, piece, room);
      }
      CHECK(buf_addc(&want, '"') == 0);
      write_plainly(&want, buf_str(&text), 1);
      CHECK(buf_addc(&want, '"') == 0);
      CHECK(json_write_string(b, buf_str(&text)) == 0 && str_same(buf_str(b), buf_str(&want)));
      want.n = b->n = 0;
      write_plainly(&want, buf_str(&text), 0);
      CHECK(json_write_text(b, buf_str(&text)) == 0 && str_same(buf_str(b), buf_str(&want)));
    }
  buf_free(&text);
  buf_free(&want);
}

int main(void) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  test_scan();
  test_strings();
  test_write_string(&b);
  test_write_text(&b);
  test_all_lengths(&b);
  buf_free(&b);
  return test_done("json/text");
}
