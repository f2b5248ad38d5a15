/* read.c: the pull reader: what it accepts, its tokens, its depth, values that were cut. Numbers have number.c. */
#include "core/json/json.h"
#include "support/test.h"
#include "support/text.h"

/* Reads s to its end: the last token, J_EOF or J_ERROR. */
static enum token read_all(struct str s, int depth, struct err *e) {
  struct json j;
  enum token t;
  err_clear(e);
  json_open(&j, s, depth, e);
  while ((t = json_next(&j)) > J_EOF) continue;
  CHECK(json_next(&j) == t);
  return t;
}

/* The same by skipping: strictness must not differ. */
static enum token skip_all(struct str s, int depth, struct err *e) {
  struct json j;
  err_clear(e);
  json_open(&j, s, depth, e);
  if (json_next(&j) == J_ERROR || json_skip(&j) < 0) return J_ERROR;
  return json_next(&j);
}

static void test_accepts(void) {
  static const char *const good[] = {
    "1", " \t\r\n1 ", "\xEF\xBB\xBF{}", "[]", "{}", "[[],{}]", "\"\"", "-0", "0.5", "1e5", "1E+5", "1e-5", "-1.25e2",
    "true", "false", "null", "{\"a\":[1,2,{\"b\":null}],\"c\":\"\\u0041\\n\"}", "[1 , 2]", "{ \"a\" : 1 , \"b\" : 2 }",
    "\"\x7F\"",
    "123456789012345678901234567890", "1e999", "\"\xFF\xC0\x80\"", "\"\\ud800\"", "[0]", "{\"\":0}",
  };
  static const char *const bad[] = {
    "", " ", "{", "[", "\"", "\"\\", "\"\\u12\"", "\"\\x\"", "\"\\u12G4\"", "01", "-", "-a", "1.", ".5", "1.e1", "1e",
    "1e+", "+1", "tru", "truex", "nul", "False", "[1,]", "[,1]", "[1 2]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
    "{\"a\" 1}", "{a:1}", "{\"a\":1 \"b\":2}", "[1}", "{\"a\":1]", "1 2", "[] []", "]", "}", ",", ":", "\"a\nb\"",
    "\"\x01\"", "'a'", "NaN",
    "Infinity", "0x10", "[1,,2]", "{\"a\":1,,\"b\":2}", "{\"a\"::1}", "{1:1}", "[\"a\":1]", "/**/1", "\xEF\xBB", "\v1",
    "{\"a\":1,\"", "1,", "-01", "00", "[[1]", "{\"a\":{}",
  };
  struct err e;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    CHECK(read_all(z(good[i]), 64, &e) == J_EOF);
    CHECK(skip_all(z(good[i]), 64, &e) == J_EOF);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK(read_all(z(bad[i]), 64, &e) == J_ERROR && e.kind == KIND_PROTOCOL);
    size_t offset = e.offset;
    CHECK(skip_all(z(bad[i]), 64, &e) == J_ERROR && e.kind == KIND_PROTOCOL && e.offset == offset);
  }
  CHECK(read_all(STR("1\0"), 64, &e) == J_ERROR && e.offset == 1);
  CHECK(read_all(STR("\"a\0b\""), 64, &e) == J_ERROR && e.offset == 2);
  CHECK(read_all(STR_NONE, 64, &e) == J_ERROR && e.offset == 0);
  read_all(STR("[1, x]"), 64, &e);
  CHECK_STR(e.message, strlen(e.message), "JSON: a JSON value expected at byte 4, found 0x78");
  read_all(STR("[1"), 64, &e);
  CHECK_STR(e.message, strlen(e.message), "JSON: ',' or ']' expected, but the text ends at byte 2");
}

/* Every prefix of a document, in a block of exactly its size, is an error and reads nothing beyond. */
static void test_prefixes(void) {
  static const char doc[] =
    "{\"k\\u00e9\":[true,false,null,-12.5e+3,\"\xE2\x82\xAC \\ud83d\\ude00\",{\"x\":\"\"}],"
    "\"long key\":\"0123456789\"}";
  struct err e;
  for (size_t n = 0; n < sizeof doc - 1; n++) {
    char *p = malloc(n > 0 ? n : 1);
    if (p == NULL) return;
    memcpy(p, doc, n);
    CHECK(read_all((struct str){ p, n }, 64, &e) == J_ERROR && e.offset <= n);
    CHECK(skip_all((struct str){ p, n }, 64, &e) == J_ERROR);
    free(p);
  }
  CHECK(read_all((struct str){ doc, sizeof doc - 1 }, 64, &e) == J_EOF);
}

static void test_tokens(void) {
  struct json j;
  struct err e;
  struct str raw;
  json_open(&j, STR(" {\"a\" : [1, 2.5 , \"x\\ty\"], \"b\": { \"c\": [ ] } , \"d\":true, \"e\": -7 }"), 8, &e);
  CHECK(json_next(&j) == J_OBJECT && j.depth == 1);
  CHECK(json_next(&j) == J_KEY && json_is(&j, "a") && !json_is(&j, "b") && j.plain);
  CHECK(json_next(&j) == J_ARRAY && j.depth == 2);
  CHECK(json_next(&j) == J_INT && j.i == 1);
  CHECK(json_next(&j) == J_DOUBLE && j.d == 2.5);
  CHECK_STR(j.text.p, j.text.n, "2.5");
  CHECK(json_next(&j) == J_STRING && !j.plain && json_is(&j, "x\ty") && !json_is(&j, "x\t") && !json_is(&j, "x\tyz"));
  CHECK(json_next(&j) == J_ARRAY_END && json_skip(&j) == 0);
  CHECK(json_next(&j) == J_KEY && json_raw(&j, &raw) == 0);
  CHECK_STR(raw.p, raw.n, "{ \"c\": [ ] }");
  CHECK(json_skip(&j) == 0);
  CHECK(json_next(&j) == J_KEY && json_is(&j, "d") && json_skip(&j) == 0);
  CHECK(json_next(&j) == J_KEY && json_raw(&j, &raw) == 0);
  CHECK_STR(raw.p, raw.n, "-7");
  CHECK(json_next(&j) == J_OBJECT_END && json_next(&j) == J_EOF && json_next(&j) == J_EOF);
  json_open(&j, STR("{\"a\": [1, [2, 3], 4], \"b\": 5}"), 8, &e);
  CHECK(json_next(&j) == J_OBJECT && json_next(&j) == J_KEY && json_next(&j) == J_ARRAY && json_next(&j) == J_INT);
  CHECK(json_skip(&j) == 0 && json_next(&j) == J_ARRAY && json_skip(&j) == 0); /* the inner array only */
  CHECK_STR(j.start, (size_t)(j.p - j.start), "[2, 3]");
  CHECK(json_next(&j) == J_INT && j.i == 4);
}

static void test_depth(void) {
  struct err e;
  size_t n = 100000;
  char *p = malloc(2 * n);
  if (p == NULL) return;
  memset(p, '[', n);
  memset(p + n, ']', n);
  CHECK(read_all((struct str){ p, 2 * n }, JSON_DEPTH_MAX, &e) == J_ERROR && e.kind == KIND_LIMIT && e.offset == 1024);
  CHECK(skip_all((struct str){ p, 2 * n }, 1 << 30, &e) == J_ERROR && e.kind == KIND_LIMIT && e.offset == 1024);
  CHECK(read_all((struct str){ p + n - 1024, 2048 }, JSON_DEPTH_MAX, &e) == J_EOF);
  CHECK(read_all((struct str){ p + n - 3, 6 }, 3, &e) == J_EOF);
  CHECK(read_all((struct str){ p + n - 4, 8 }, 3, &e) == J_ERROR && e.kind == KIND_LIMIT && e.offset == 3);
  CHECK_STR(e.message, strlen(e.message), "JSON: nested deeper than 3 levels at byte 3");
  struct mem m = mem_libc();
  struct arena a;
  struct buf b;
  arena_init(&a, &m);
  buf_init(&b, &m);
  struct node *v = json_tree(&a, (struct str){ p + n - 1024, 2048 }, JSON_DEPTH_MAX, &e);
  struct node *deep = node_new(&a, NODE_ARRAY);
  CHECK(v != NULL && json_write(&b, v, &e) == 0 && b.n == 2048 && node_equal(v, node_copy(&a, v)));
  struct node *c = deep;
  for (size_t i = 0; i < n; i++) {
    node_add(c, node_new(&a, NODE_ARRAY));
    c = c->child;
  }
  err_clear(&e);
  CHECK(json_write(&b, deep, &e) == -1 && e.kind == KIND_ARGUMENT && b.n == 2048);
  CHECK(node_copy(&a, deep) == NULL && node_size(deep) == 0 && node_pack(p, deep) == NULL && !node_equal(deep, deep));
  arena_free(&a);
  buf_free(&b);
  free(p);
}

/* Every beginning of a value is a value that was cut; what is wrong, whole or blank is none. */
static void test_cut(void) {
  static const char doc[] = " {\"a\\u00e9\\n\":[1,-2.5e3,true,false,null,\"x\xC3\xA9\"],\"b\":{}}";
  static const char *const OTHER[] = {
    "", " \n", "{}", "[1] ", "{} {", "{]", "[1,]", "tru!", "nul1", "[\"\\x", "[\"\\u12g", "[\"\x01", "x", "[1 2",
    "<html>", "{\"a\"t", "{\"a\"\\", "{\"a\":1 n", "[1 f", "[1\\u00", "{}t", "{n", "{\\"
  };
  for (size_t n = 2; n < sizeof doc - 1; n++) CHECK(json_is_cut((struct str){ doc, n }));
  CHECK(!json_is_cut((struct str){ doc, sizeof doc - 1 }));
  for (size_t i = 0; i < sizeof OTHER / sizeof OTHER[0]; i++)
    CHECK(!json_is_cut((struct str){ OTHER[i], strlen(OTHER[i]) }));
  CHECK(!json_is_cut(STR_NONE));
}

int main(void) {
  test_accepts();
  test_prefixes();
  test_tokens();
  test_depth();
  test_cut();
  return test_done("json/read");
}
