/* growing.c: values whose text is still coming: at every byte, cut at every byte, against the reader of whole texts. */
#include "json/grown.h"
#include "support/failing.h"
#include "support/random.h"
#include "support/test.h"
#include "support/text.h"

#define LEVELS 64

static const struct growing_limits LIMITS = { LEVELS, 1 << 20 };

/* A reader, the tree of what it said, and their memory. */
struct reading {
  struct mem m;
  struct arena a;
  struct err e;
  struct growing g;
  struct grown w;
};

static void begin(struct reading *r, int fence) {
  memset(&r->w, 0, sizeof r->w);
  r->m = mem_libc();
  arena_init(&r->a, &r->m);
  r->w.a = &r->a;
  growing_init(&r->g, &r->m, &LIMITS, fence, &r->e);
}

static void finish(struct reading *r) {
  growing_free(&r->g);
  arena_free(&r->a);
}

/* The reader's result when the text ends. */
static enum growing_state end(struct reading *r) {
  struct growth s;
  enum growth_type type = growing_end(&r->g, &s);
  if (type > GROWTH_NONE) grown_step(&r->w, type, &s);
  CHECK(growing_end(&r->g, &s) == GROWTH_NONE);
  return growing_state(&r->g);
}

/* The value shown, as JSON; "" before there is one. Lives until the next call. */
static const char *shown(const struct reading *r) {
  static char text[8192];
  struct mem m = mem_libc();
  struct buf b;
  struct err e;
  buf_init(&b, &m);
  text[0] = '\0';
  if (r->w.root != NULL && json_write(&b, r->w.root, &e) == 0 && b.n < sizeof text) {
    memcpy(text, b.p, b.n);
    text[b.n] = '\0';
  }
  buf_free(&b);
  return text;
}

/* --- every prefix, every cut --- */

/* True for a text in which a key comes twice: its first value does not go on, but is replaced. */
static int replaces(struct str text) {
  struct reading r;
  begin(&r, 0);
  grown_feed(&r.w, &r.g, text, text.n + 1);
  int replaced = r.w.replaced;
  finish(&r);
  return replaced;
}

/* A prefix shows the same, whether read at once or byte by byte; `last`, what the whole text shows, goes on from
** it. */
static void check_prefix(struct str text, size_t n, const struct reading *bytes, const struct node *whole,
                         const struct node *last) {
  struct reading r;
  begin(&r, 0);
  growing_feed(&r.g, (struct str){ text.p, n });
  enum growth_type type = grown_read(&r.w, &r.g);
  CHECK(type == (growing_state(&bytes->g) == GROWING_FAILED ? GROWTH_FAILED : GROWTH_NONE));
  CHECK(growing_state(&r.g) == growing_state(&bytes->g) && r.g.depth == bytes->g.depth);
  CHECK(r.w.bytes == bytes->w.bytes && (r.w.root == NULL) == (bytes->w.root == NULL));
  CHECK(r.w.root == NULL || node_equal(r.w.root, bytes->w.root));
  if (last != NULL) CHECK(grown_extends(last, r.w.root));
  growing_feed(&r.g, (struct str){ text.p + n, text.n - n }); /* and the rest */
  if (type == GROWTH_NONE) grown_read(&r.w, &r.g);
  enum growing_state state = end(&r);
  CHECK((whole != NULL) == (state == GROWING_WHOLE && r.g.behind == 0));
  if (whole != NULL) CHECK(r.w.depth == 0 && node_equal(r.w.root, whole) && node_equal(whole, r.w.root));
  finish(&r);
}

static void check_text(struct str text) {
  struct reading bytes;
  struct arena a;
  struct err e;
  begin(&bytes, 0);
  arena_init(&a, &bytes.m);
  err_clear(&e);
  struct node *whole = json_tree(&a, text, LEVELS, &e);
  if (whole != NULL && node_doubles(whole) != 0) whole = NULL;
  struct node *last = replaces(text) ? NULL : whole;
  for (size_t n = 0; n <= text.n; n++) {
    check_prefix(text, n, &bytes, whole, last);
    if (n == text.n || growing_state(&bytes.g) == GROWING_FAILED) continue;
    char *byte = malloc(1); /* so that a reader which keeps or passes it shows */
    if (byte == NULL) abort();
    *byte = text.p[n];
    growing_feed(&bytes.g, (struct str){ byte, 1 });
    grown_read(&bytes.w, &bytes.g);
    free(byte);
  }
  end(&bytes);
  if (last != NULL) CHECK(grown_extends(last, bytes.w.root) && grown_extends(bytes.w.root, last));
  arena_free(&a);
  finish(&bytes);
}

static void test_texts(void) {
  static const char *const texts[] = {
    "{}", "[]", "\"\"", "{\"a\":1}", " {\"a\" : [1, 2.5 , \"x\\ty\"], \"b\": { \"c\": [ ] } , \"d\":true, \"e\": -7 }\n",
    "\xEF\xBB\xBF [true,false,null]", "{\"k\\u00e9\\n\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "[[[[]],{}],{\"\":{\"\":[{}]}}]",
    "[0,-0,0.0,-0.5e+3,1E5,1e-5,12,123,9223372036854775807,-9223372036854775808,9223372036854775808,1e300,0.1]",
    "12", " 12 ", "-0.25e1", "true", "\"x\"", "[\"\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9\"]",
    "[\"\\ud83d\\ude00\",\"\\ud83d\",\"\\ude00\",\"\\ud83dx\",\"\\ud83d\\n\",\"\\ud83d\\u0041\",\"\\ud83d\\ud83d\\ude00\"]",
    "[\"\\ud83d\\ud83d\",\"\\ud83d\\ude00\\ude00\",\"\\u0000\\uFFFF\\uD7ff\\ue000\"]",
    "[\"\xFF\",\"\xC0\x80\",\"\xE2\x82\",\"\xE2\x82x\",\"\xE2\",\"\xED\xA0\x80\",\"\xED\xA0\",\"\xED\xA0x\",\"\x80\x80\"]",
    "[\"\xF0\x90\",\"\xF0\x90\x80x\",\"\xF4\x90\x80\x80\",\"\xED\xA0\xC3\xA9\",\"\xED\xA0\xBD\xED\xB8\x80\",\"\xE2\xE2\x82\"]",
    "[\"\xED\x9F\xBF\xED\xE0\x9F\xBF\xE0\xA0\x80\xF1\x80\x80\xF1\x80\x80\x80\xF5\xC1\xBF\"]",
    "{\"a\":1,\"a\":[2,{\"b\":\"x\"}],\"\\u0061\":\"\",\"b\":0}",
    "{\"a\":\"a longer text than any piece of eight, and more\",\"another key \\u20ac\":[\"\x7F\"]}",
  };
  static const char *const wrong[] = {
    "x", "]", "}", ",", ":", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{\"a\":1 \"b\":2}", "[1}",
    "{\"a\":1]", "[1,]", "[,1]", "[1 2]", "[01]", "[-]", "[-a]", "[1.]", "[1.a", "[.5]", "[1.e1]", "[1e]", "[1e+]", "[+1]",
    "[trux]", "[nulL]", "[truee]", "[nan]", "\"a\nb\"", "\"\x01\"", "[\"\\x\"]", "[\"\\u12G4\"]", "[\"\\ud83d\\u12G4\"]",
    "[\"\\ud83d\\x\"]", "{\"\\x\":1}", "{\"\x01\":1}", "1x", "01", "1,", "{\"a\"::1}", "[\"a\":1]", "/**/1", "\xEF\xBBx", "\v1",
    "```json\n{}\n```", "'a'", "[1", "\"", "{\"a\":tru", "[1,2", "\"\\ud83d", "-", "1.", "1e+", "[\"\xE2\x82",
    "{} {}", "[]x", "{\"a\":1}}", "\"\"\"", "true false", "{}\n\n```",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_text(z(texts[i]));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) check_text(z(wrong[i]));
  check_text(STR("[\"a\0b\"]"));
  check_text(STR("{}\0"));
}

/* Appends made-up JSON, in all spellings; now and then a byte that is wrong. */
static void random_value(struct buf *b, int levels);

static void random_string(struct buf *b) {
  static const char *const parts[] = {
    "a", "text ", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "\xC3\xA9", "\xF0\x9F\x98\x80", "\xE2\x82",
    "\xFF", "\xED\xA0\x80", "\\\\", "\\\"", "01234567890123456789",
  };
  buf_addc(b, '"');
  for (unsigned n = below(6); n > 0; n--) buf_adds(b, parts[below(sizeof parts / sizeof *parts)]);
  buf_addc(b, '"');
}

static void random_space(struct buf *b) { buf_adds(b, below(2) ? "" : below(2) ? " " : "\n \t\r"); }

static void random_members(struct buf *b, int levels, int object) {
  unsigned n = below(5);
  buf_addc(b, object ? '{' : '[');
  for (unsigned i = 0; i < n; i++) {
    if (i > 0) buf_addc(b, ',');
    random_space(b);
    if (object) {
      random_string(b);
      random_space(b);
      buf_addc(b, ':');
      random_space(b);
    }
    random_value(b, levels - 1);
    random_space(b);
  }
  buf_addc(b, object ? '}' : ']');
}

static void random_value(struct buf *b, int levels) {
  static const char *const scalars[] = {
    "0", "-1", "123", "12.5", "1e3", "-0.0", "9223372036854775808", "3.14159E-10", "true", "false", "null"
  };
  unsigned kind = below(levels > 0 ? 5 : 3);
  if (kind >= 3) random_members(b, levels, kind == 3);
  else if (kind == 2) random_string(b);
  else buf_adds(b, scalars[below(sizeof scalars / sizeof *scalars)]);
}

static void test_random(void) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  for (int i = 0; i < 300; i++) {
    b.n = 0;
    random_value(&b, 4);
    if (b.n > 400) continue;
    if (below(4) == 0 && b.n > 0) b.p[below((unsigned)b.n)] = (char)below(256);
    check_text(buf_str(&b));
  }
  buf_free(&b);
}

/* --- what shows when --- */

static void test_steps(void) {
  static const struct { const char *piece, *then; } steps[] = {
    { "{", "{}" }, { "\"nu", "{}" }, { "m\"", "{}" }, { ":", "{}" }, { " 12", "{}" }, { "3", "{}" }, { " ", "{'num':123}" },
    { ", \"text\" :", "{'num':123}" }, { "\"", "{'num':123,'text':''}" }, { "a\\", "{'num':123,'text':'a'}" },
    { "n", "{'num':123,'text':'a\\n'}" }, { "\\ud83d\\ude0", "{'num':123,'text':'a\\n'}" },
    { "0\xE2\x82", "{'num':123,'text':'a\\n\xF0\x9F\x98\x80'}" },
    { "\xAC\"", "{'num':123,'text':'a\\n\xF0\x9F\x98\x80\xE2\x82\xAC'}" },
    { ",\"l\":[", "{'num':123,'text':'a\\n\xF0\x9F\x98\x80\xE2\x82\xAC','l':[]}" },
    { "fals", "{'num':123,'text':'a\\n\xF0\x9F\x98\x80\xE2\x82\xAC','l':[]}" },
    { "e,nul", "{'num':123,'text':'a\\n\xF0\x9F\x98\x80\xE2\x82\xAC','l':[false]}" },
    { "l", "{'num':123,'text':'a\\n\xF0\x9F\x98\x80\xE2\x82\xAC','l':[false,null]}" },
    { ",-1.5e1]", "{'num':123,'text':'a\\n\xF0\x9F\x98\x80\xE2\x82\xAC','l':[false,null,-15.0]}" },
  };
  struct reading r;
  begin(&r, 0);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    growing_feed(&r.g, z(steps[i].piece));
    CHECK(grown_read(&r.w, &r.g) == GROWTH_NONE && growing_state(&r.g) == GROWING_OPEN);
    CHECK_STR(shown(&r), strlen(shown(&r)), json(steps[i].then));
  }
  CHECK(grown_feed(&r.w, &r.g, STR(" } "), 1) == GROWTH_NONE && end(&r) == GROWING_WHOLE && r.g.behind == 0);
  finish(&r);
}

/* A cut text stays open, and a root number is whole only at the end. */
static void test_end(void) {
  static const char *const cut[] = { "", " ", "{", "[1", "\"a", "tru", "-", "1.", "1e", "\xEF\xBB", "{\"a\":1" };
  struct reading r;
  for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
    begin(&r, 0);
    CHECK(grown_feed(&r.w, &r.g, z(cut[i]), 1) == GROWTH_NONE && end(&r) == GROWING_OPEN && r.e.kind == KIND_NONE);
    finish(&r);
  }
  begin(&r, 0);
  CHECK(grown_feed(&r.w, &r.g, STR("12"), 1) == GROWTH_NONE && r.w.root == NULL && end(&r) == GROWING_WHOLE);
  CHECK_STR(shown(&r), strlen(shown(&r)), "12");
  finish(&r);
}

/* Of a wrong text: what is wrong there, at which byte, for good; and what was shown before remains. */
static void test_wrong(void) {
  static const struct { const char *text, *message, *shown; size_t offset; } cases[] = {
    { "{\"a\":[1,2,x", "JSON: a JSON value expected at byte 10, found 0x78", "{'a':[1,2]}", 10 },
    { "[trux", "JSON: a JSON value expected at byte 4, found 0x78", "[]", 4 },
    { "[12x", "JSON: ',' or ']' expected at byte 3, found 0x78", "[]", 3 },
    { "[01]", "JSON: ',' or ']' expected at byte 2, found 0x31", "[]", 2 },
    { "{\"a\":1]", "JSON: ',' or '}' expected at byte 6, found 0x5D", "{}", 6 },
    { "{\"a\":-}", "JSON: a digit expected at byte 6, found 0x7D", "{}", 6 },
    { "{\"a\":\"b\\x\"}", "JSON: a valid escape sequence expected at byte 8, found 0x78", "{'a':'b'}", 8 },
    { "{\"a\":\"b\n\"}", "JSON: a string without raw control bytes expected at byte 7, found 0x0A", "{'a':'b'}", 7 },
    { "{\"a\":1,}", "JSON: a key expected at byte 7, found 0x7D", "{'a':1}", 7 },
    { "{\"a\" 1}", "JSON: ':' expected at byte 5, found 0x31", "{}", 5 },
    { "[1,1e999,2]", "JSON: a number is too large", "[1]", 8 },
    { "[99e999]", "JSON: a number is too large", "[]", 7 },
    { "12x", "JSON: nothing more expected at byte 2, found 0x78", "", 2 },
  };
  struct reading r;
  struct growth s;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (size_t n = 1; n <= 16; n += 15) {
      begin(&r, 0);
      CHECK(grown_feed(&r.w, &r.g, z(cases[i].text), n) == GROWTH_FAILED && growing_state(&r.g) == GROWING_FAILED);
      CHECK(r.e.kind == KIND_PROTOCOL && r.e.offset == cases[i].offset);
      CHECK_STR(r.e.message, strlen(r.e.message), cases[i].message);
      growing_feed(&r.g, STR("\"},1,2,3]}"));
      CHECK(growing_next(&r.g, &s) == GROWTH_FAILED && end(&r) == GROWING_FAILED && r.e.offset == cases[i].offset);
      CHECK_STR(shown(&r), strlen(shown(&r)), json(cases[i].shown));
      finish(&r);
    }
  }
}

/* A state of failure is that of a text which no bytes behind it can mend: json_is_cut says the same of every prefix. */
static void test_cut(void) {
  static const char *const texts[] = {
    "{\"a\\u00e9\":[1,-2.5e3,true,false,null],\"b\":{}}", "[1,tru!", "[\"\\u12g4\"]", "[1 2]", "{\"a\"t"
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    for (size_t n = 1; n <= strlen(texts[i]); n++) {
      struct reading r;
      struct str s = { texts[i], n };
      begin(&r, 0);
      grown_feed(&r.w, &r.g, s, 3);
      CHECK((growing_state(&r.g) == GROWING_OPEN) == json_is_cut(s));
      finish(&r);
    }
  }
}

static void test_behind(void) {
  static const struct { const char *text; int fence; size_t behind; const char *shown; } cases[] = {
    { "{} \n", 0, 0, "{}" }, { "{} x", 0, 3, "{}" }, { "{}{}", 0, 2, "{}" }, { "[1]]", 0, 3, "[1]" }, { "true1", 0, 4, "true" },
    { "```json\n{\"a\":[1]}\n```\n", 1, 0, "{'a':[1]}" }, { " \n```\r\n [1] ```", 1, 0, "[1]" }, { "{}", 1, 0, "{}" },
    { "```json {\"a\":1}```", 1, 0, "{'a':1}" }, { "```\n12\n```", 1, 0, "12" }, { "{}\n```", 1, 3, "{}" },
    { "```\n{}\n```\nas you see", 1, 11, "{}" }, { "```\n{}\n````", 1, 10, "{}" }, { "```\n{} x", 1, 7, "{}" },
    { "\xEF\xBB\xBF```\n{}", 1, 0, "{}" },
  };
  struct reading r;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (size_t n = 1; n <= 32; n += 31) {
      begin(&r, cases[i].fence);
      CHECK(grown_feed(&r.w, &r.g, z(cases[i].text), n) == GROWTH_NONE && end(&r) == GROWING_WHOLE);
      CHECK(r.g.behind == cases[i].behind);
      CHECK_STR(shown(&r), strlen(shown(&r)), json(cases[i].shown));
      finish(&r);
    }
  }
  begin(&r, 1);
  CHECK(grown_feed(&r.w, &r.g, STR("``x"), 1) == GROWTH_FAILED && r.e.offset == 2);
  finish(&r);
}

/* --- limits and memory --- */

static void test_limits(void) {
  struct mem m = mem_libc();
  struct reading r;
  static char deep[2 * LEVELS + 2];
  memset(deep, '[', LEVELS + 1);
  for (size_t n = 1; n <= 256; n *= 4) {
    begin(&r, 0);
    CHECK(grown_feed(&r.w, &r.g, z(deep), n) == GROWTH_FAILED && r.e.kind == KIND_LIMIT && r.e.offset == LEVELS);
    CHECK_STR(r.e.message, strlen(r.e.message), "JSON: nested deeper than 64 levels at byte 64");
    finish(&r);
    begin(&r, 0);
    struct growing_limits few = { LEVELS, 10 };
    growing_init(&r.g, &m, &few, 0, &r.e);
    CHECK(grown_feed(&r.w, &r.g, STR("[\"a\",\"b\",\"c\"]"), n) == GROWTH_FAILED && r.e.kind == KIND_LIMIT);
    CHECK(r.e.offset == 10);
    CHECK_STR(shown(&r), strlen(shown(&r)), "[\"a\",\"b\",\"\"]");
    finish(&r);
  }
  memset(deep, '[', LEVELS);
  memset(deep + LEVELS, ']', LEVELS);
  begin(&r, 0);
  CHECK(grown_feed(&r.w, &r.g, z(deep), 7) == GROWTH_NONE && end(&r) == GROWING_WHOLE);
  finish(&r);
}

/* Each allocation fails in turn: the reader says so and stays so. */
static void test_memory(void) {
  static const char text[] =
    "{\"a key of more bytes than a buffer has at first, so that it has to grow, and then once more: 0123456789\":"
    "[12345678901234567890123456789012345678901234567890123456789012345678901234567890],\"k\":1}";
  for (size_t fail_at = 1;; fail_at++) {
    struct failing f = { .fail_at = fail_at };
    struct mem m = failing_mem(&f);
    struct growing g;
    struct growth s;
    struct err e;
    enum growth_type type = GROWTH_NONE;
    growing_init(&g, &m, &LIMITS, 0, &e);
    for (size_t i = 0; text[i] != '\0' && type == GROWTH_NONE; i++) {
      growing_feed(&g, (struct str){ text + i, 1 });
      while ((type = growing_next(&g, &s)) > GROWTH_NONE) continue;
    }
    int failed = type == GROWTH_FAILED;
    CHECK(failed ? e.kind == KIND_MEMORY && growing_next(&g, &s) == GROWTH_FAILED : growing_state(&g) == GROWING_WHOLE);
    growing_free(&g);
    CHECK(f.live == 0 && f.wrong == 0);
    if (!failed) {
      CHECK(fail_at > 4);
      break;
    }
  }
}

int main(void) {
  test_texts();
  test_random();
  test_steps();
  test_end();
  test_wrong();
  test_cut();
  test_behind();
  test_limits();
  test_memory();
  return test_done("json/growing");
}
