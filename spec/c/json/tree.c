/* tree.c: trees: rewritten, built by hand, compared, packed, and with each allocation failing. Many values: many.c. */
#include <math.h>
#include <stdlib.h>

#include "core/json/json.h"
#include "support/failing.h"
#include "support/test.h"
#include "support/text.h"

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
  node_remove_after(list, list->child);
  node_remove_after(list, list->last); /* nothing is behind it */
  CHECK(list->count == 3 && list->child->next->u.i == 9);
  node_remove_after(list, list->child->next);
  node_remove_after(list, NULL);
  CHECK(list->count == 1 && list->child == list->last && list->child->u.i == 9);
  node_remove_after(list, NULL);
  node_remove_after(list, NULL);
  CHECK(list->count == 0 && list->child == NULL && list->last == NULL);
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
  test_rewrite();
  test_many_members();
  test_nodes();
  test_node_misuse();
  test_equal();
  test_pack();
  test_no_memory();
  return test_done("json/tree");
}
