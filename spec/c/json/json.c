/* Tests of json: the pull reader, strings, trees and the writer. Numbers have number.c. */
#include <math.h>

#include "core/json/json.h"
#include "core/message/event.h"
#include "support/failing.h"
#include "support/test.h"

static struct str z(const char *s) {
  return (struct str){ s, strlen(s) };
}

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

/* s read into a tree and written again, in b. */
static int rewrite(struct buf *b, struct str s, int sorted) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  arena_init(&a, &m);
  b->n = 0;
  struct node *v = json_tree(&a, s, 64, &e);
  int r = v == NULL ? -1 : sorted ? json_write_sorted(b, v, &e) : json_write(b, v, &e);
  arena_free(&a);
  return r;
}

#define REWRITES(in, out) do { CHECK(rewrite(&b, z(in), 0) == 0); CHECK_STR(b.p, b.n, out); } while (0)

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

/* --- strings --- */

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

/* --- trees --- */

static void test_rewrite(void) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  REWRITES(" [ [ ] , { } , null , true , false , \"\" , 0 , 1.0 , 12345678901234567890 ] ",
           "[[],{},null,true,false,\"\",0,1.0,12345678901234567890]");
  REWRITES("{\"b\":1,\"a\":{\"d\":[],\"c\":{}},\"\\u0061b\":\"\\u00e9\"}",
      "{\"b\":1,\"a\":{\"d\":[],\"c\":{}},\"ab\":\"\xC3\xA9\"}");
  REWRITES("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}");
  REWRITES("{\"a\":1,\"b\":2,\"\\u0061\":[3],\"b\":{},\"c\":0,\"a\":4}", "{\"a\":4,\"b\":{},\"c\":0}");
  REWRITES("{\"a\":1,\"a\":2}", "{\"a\":2}");
  CHECK(rewrite(&b, STR("{\"b\":{\"z\":1,\"y\":2},\"a\":[{\"d\":1,\"c\":2}],\"\":0,\"ab\":1,\"B\":2,\"\xC3\xA9\":3}"),
                1) == 0);
  CHECK_STR(b.p, b.n, "{\"\":0,\"B\":2,\"a\":[{\"c\":2,\"d\":1}],\"ab\":1,\"b\":{\"y\":2,\"z\":1},\"\xC3\xA9\":3}");
  buf_free(&b);
}

/* Many members, each key twice: the last value in the first place, and not in quadratic time. */
/* Every beginning of a value is a value that was cut; what is wrong, whole or blank is none. */
static void test_cut(void) {
  static const char doc[] = " {\"a\\u00e9\\n\":[1,-2.5e3,true,false,null,\"x\xC3\xA9\"],\"b\":{}}";
  static const char *const OTHER[] = {
    "", " \n", "{}", "[1] ", "{} {", "{]", "[1,]", "tru!", "nul1", "[\"\\x", "[\"\\u12g", "[\"\x01", "x", "[1 2",
    "<html>"
  };
  for (size_t n = 2; n < sizeof doc - 1; n++) CHECK(json_is_cut((struct str){ doc, n }));
  CHECK(!json_is_cut((struct str){ doc, sizeof doc - 1 }));
  for (size_t i = 0; i < sizeof OTHER / sizeof OTHER[0]; i++)
    CHECK(!json_is_cut((struct str){ OTHER[i], strlen(OTHER[i]) }));
  CHECK(!json_is_cut(STR_NONE));
}

static void test_many_members(void) {
  struct mem m = mem_libc();
  struct buf b, w;
  struct arena a;
  struct err e;
  char text[64];
  int n = 20000;
  buf_init(&b, &m);
  buf_init(&w, &m);
  arena_init(&a, &m);
  CHECK(buf_addc(&b, '{') == 0);
  for (int i = 0; i < 2 * n; i++) {
    snprintf(text, sizeof text, "%s\"k%d\":%d", i > 0 ? "," : "", i * 7919 % n, i);
    CHECK(buf_adds(&b, text) == 0);
  }
  CHECK(buf_addc(&b, '}') == 0);
  struct node *v = json_tree(&a, buf_str(&b), 2, &e);
  CHECK(v != NULL && v->count == (size_t)n && v->last->next == NULL);
  if (v == NULL) return;
  int i = 0;
  for (struct node *c = v->child; c != NULL; c = c->next, i++) {
    snprintf(text, sizeof text, "k%d", i * 7919 % n);
    CHECK(c->u.i == n + i && str_same(c->key, z(text)) && c->mark == 0);
  }
  CHECK(i == n && node_equal(v, node_copy(&a, v)));
  CHECK(json_write_sorted(&w, v, &e) == 0);
  CHECK_STR(w.p, 27, "{\"k0\":20000,\"k1\":37679,\"k10");
  arena_free(&a);
  buf_free(&b);
  buf_free(&w);
}

static void test_nodes(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct buf b;
  struct err e;
  arena_init(&a, &m);
  buf_init(&b, &m);
  struct node *o = node_new(&a, NODE_OBJECT), *list = node_new(&a, NODE_ARRAY);
  CHECK(node_set(o, STR("x"), node_int(&a, 1)) == 0 && node_set(o, STR("y"), node_bool(&a, 1)) == 0);
  CHECK(node_set(o, STR("z"), list) == 0 && node_set(o, STR("x"), node_string(&a, STR("one"))) == 0 && o->count == 3);
  CHECK(node_set(o, STR("q"), NULL) == -1 && node_add(list, NULL) == -1 && node_add(NULL, o) == -1);
  CHECK(node_add(list, node_double(&a, 0.5)) == 0 && node_add(list, node_string(&a, STR("two"))) == 0);
  CHECK(node_add(list, node_new(&a, NODE_NULL)) == 0 && node_add(list, node_bool(&a, 0)) == 0);
  CHECK(json_write(&b, o, &e) == 0);
  CHECK_STR(b.p, b.n, "{\"x\":\"one\",\"y\":true,\"z\":[0.5,\"two\",null,false]}");
  CHECK(node_get(o, "z") == list && node_get(o, "nope") == NULL && node_get(NULL, "z") == NULL &&
        node_get(list, "z") == NULL);
  CHECK(list->child->type == NODE_DOUBLE && list->last->type == NODE_FALSE && list->last->next == NULL);
  CHECK(list->count == 4 && str_eq(node_str(node_get(o, "x")), "one") && node_str(list).p == NULL);
  node_remove(list, list->last);
  node_remove(list, list->child);
  node_remove(list, o); /* not there */
  CHECK(list->count == 2 && list->last == list->child->next && node_add(list, node_int(&a, 9)) == 0);
  node_set(o, STR("z"), node_int(&a, 2)); /* the last member replaced: appending still works */
  CHECK(node_set(o, STR("w"), node_int(&a, 3)) == 0);
  b.n = 0;
  CHECK(json_write(&b, o, &e) == 0 && json_write(&b, list, &e) == 0);
  CHECK_STR(b.p, b.n, "{\"x\":\"one\",\"y\":true,\"z\":2,\"w\":3}[\"two\",null,9]");
  node_add(list, node_double(&a, NAN));
  CHECK(json_write(&b, list, &e) == -1 && e.kind == KIND_ARGUMENT && b.p[b.n - 1] == ']');
  node_remove(o, o->child);
  node_remove(o, o->last);
  node_remove(o, o->last);
  node_remove(o, o->last);
  CHECK(o->count == 0 && o->child == NULL && o->last == NULL);
  buf_free(&b);
  arena_free(&a);
}

static void test_node_misuse(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct json j;
  struct err e;
  arena_init(&a, &m);
  json_open(&j, STR("[[1,2],{\"k\":[3]},4]"), 4, &e);
  CHECK(json_node(&j, &a) == NULL && e.kind == KIND_OTHER);
  CHECK(json_next(&j) == J_ARRAY && json_next(&j) == J_ARRAY);
  struct node *v = json_node(&j, &a);
  CHECK(node_is(v, NODE_ARRAY) && v->count == 2 && v->next == NULL && j.depth == 1);
  CHECK(json_next(&j) == J_OBJECT && json_next(&j) == J_KEY);
  v = json_node(&j, &a);
  CHECK(node_is(v, NODE_ARRAY) && v->count == 1);
  CHECK(json_next(&j) == J_OBJECT_END && json_next(&j) == J_INT);
  v = json_node(&j, &a);
  CHECK(node_is(v, NODE_INT) && v->u.i == 4 && json_next(&j) == J_ARRAY_END && json_next(&j) == J_EOF);
  CHECK(json_tree(&a, STR("[1] x"), 4, &e) == NULL && e.offset == 4);
  CHECK(json_tree(&a, STR("[1, {\"a\": }]"), 4, &e) == NULL && e.offset == 10);
  arena_free(&a);
}

static int equal_text(const char *x, const char *y) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  arena_init(&a, &m);
  struct node *v = json_tree(&a, z(x), 8, &e), *w = json_tree(&a, z(y), 8, &e);
  CHECK(v != NULL && w != NULL);
  int r = node_equal(v, w);
  CHECK(node_equal(w, v) == r && node_equal(v, v) && node_equal(w, w));
  arena_free(&a);
  return r;
}

static void test_equal(void) {
  CHECK(equal_text("{\"a\":1,\"b\":[2,{\"c\":null}]}", "{\"b\":[2.0,{}],\"a\":1e0}"));
  CHECK(equal_text("{\"a\":null,\"b\":null}", "{}") && equal_text("{\"a\":null,\"b\":1}", "{\"b\":1,\"c\":null}"));
  CHECK(!equal_text("{\"a\":1}", "{\"b\":1}") && !equal_text("{\"a\":1}", "{\"a\":null}") && !equal_text("[1]", "{}"));
  CHECK(equal_text("[]", "{}") && equal_text("{\"a\":[]}", "{\"a\":{}}") && !equal_text("[]", "0") && !equal_text("[]", "{\"a\":1}"));
  CHECK(!equal_text("[1,2]", "[2,1]") && !equal_text("[null]", "[]") && !equal_text("\"1\"", "1") &&
        equal_text("-0.0", "0"));
  CHECK(!equal_text("9007199254740993", "9007199254740992.0") && equal_text("9007199254740992", "9007199254740992.0"));
  CHECK(!equal_text("9223372036854775807", "9223372036854775808.0") && !equal_text("true", "false"));
  CHECK(equal_text("12345678901234567890", "12345678901234567890") && equal_text("\"\\u0041\"", "\"A\""));
  CHECK(equal_text("{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"b\":2,\"a\":1}") &&
        !equal_text("{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}"));
  CHECK(node_equal(NULL, NULL));
}

static void test_pack(void) {
  static const char doc[] = "{\"a\":[1,2.5,\"x\\ny\",12345678901234567890],\"b\":{\"c\":null,\"d\":\"\"},\"e\":true}";
  struct mem m = mem_libc();
  struct arena a;
  struct buf b;
  struct err e;
  char *input = malloc(sizeof doc);
  if (input == NULL) return;
  memcpy(input, doc, sizeof doc);
  arena_init(&a, &m);
  buf_init(&b, &m);
  struct node *v = json_tree(&a, z(input), 8, &e);
  size_t n = node_size(v);
  void *block = malloc(n);
  struct node *p = block == NULL ? NULL : node_pack(block, v);
  CHECK((void *)p == block && n > 0);
  arena_free(&a);
  memset(input, 'X', sizeof doc); /* nothing is borrowed any more */
  free(input);
  CHECK(json_write(&b, p, &e) == 0);
  CHECK_STR(b.p, b.n, doc);
  CHECK(node_size(NULL) == 0 && node_pack(block, NULL) == NULL && node_copy(&a, NULL) == NULL);
  buf_free(&b);
  free(block);
}

/* --- out of memory --- */

/* Reads, copies and writes sorted with the n-th allocation failing: 0 when all went well. */
static int with_failure(struct failing *f, struct str s) {
  struct mem m = failing_mem(f);
  struct arena a;
  struct buf b;
  struct err e;
  arena_init(&a, &m);
  buf_init(&b, &m);
  err_clear(&e);
  struct node *v = json_tree(&a, s, 8, &e);
  int r = v == NULL ? -1 : 0;
  if (r == 0 && (v = node_copy(&a, v)) == NULL) r = err_memory(&e);
  if (r == 0) r = json_write_sorted(&b, v, &e);
  CHECK(r == 0 || (e.kind == KIND_MEMORY && b.n == 0));
  arena_free(&a);
  buf_free(&b);
  CHECK(f->live == 0 && f->wrong == 0);
  return r;
}

static void test_no_memory(void) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  CHECK(buf_adds(&b, "{\"z\":0.1,\"long\":\"") == 0);
  for (int i = 0; i < 9000; i++) CHECK(buf_adds(&b, "\\n\xFF") == 0);
  CHECK(buf_adds(&b, "\"") == 0);
  for (int i = 0; i < 200; i++) {
    char text[40];
    snprintf(text, sizeof text, ",\"\\u0041%d\":[{\"b\":1,\"a\":\"\\t\"}]", (i * 37) % 200);
    CHECK(buf_adds(&b, text) == 0);
  }
  CHECK(buf_adds(&b, "}") == 0);
  struct failing f = { 0 };
  CHECK(with_failure(&f, buf_str(&b)) == 0 && f.asked > 15);
  size_t all = f.asked;
  for (size_t n = 1; n <= all; n++) {
    f = (struct failing){ .fail_at = n };
    CHECK(with_failure(&f, buf_str(&b)) == -1);
  }
  buf_free(&b);
}

int main(void) {
  struct mem m = mem_libc();
  struct buf b;
  buf_init(&b, &m);
  test_accepts();
  test_prefixes();
  test_tokens();
  test_depth();
  test_strings();
  test_write_string(&b);
  test_write_text(&b);
  test_rewrite();
  test_cut();
  test_many_members();
  test_nodes();
  test_node_misuse();
  test_equal();
  test_pack();
  test_no_memory();
  buf_free(&b);
  return test_done("json");
}
