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

int main(void) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  test_scan();
  test_strings();
  test_write_string(&b);
  test_write_text(&b);
  buf_free(&b);
  return test_done("json/text");
}
