/* many.c: many values: trees of them, compared in any order of members, with and without memory; the cap on values, of
** trees and of values whose text is still coming. */
#include "core/json/growing.h"
#include "core/json/json.h"
#include "support/failing.h"
#include "support/test.h"

#define MANY 200

/* --- equality --- */

/* MANY members, the i-th with key i * step % MANY (step has no factor in common with MANY) and a value made of the key. */
static struct node *shuffled(struct arena *a, size_t step) {
  struct node *o = node_new(a, NODE_OBJECT);
  for (size_t i = 0; i < MANY; i++) {
    size_t k = i * step % MANY;
    char text[16];
    int n = snprintf(text, sizeof text, "k%zu", k);
    struct str key = arena_dup(a, (struct str){ text, (size_t)n });
    node_set(o, key, k % 5 == 0 ? node_new(a, NODE_NULL) : node_int(a, (int64_t)k));
  }
  return o;
}

/* Appends a member even where one of that key stands already. */
static void append(struct node *o, const char *key, struct node *v) {
  v->key = (struct str){ key, strlen(key) };
  node_add(o, v);
}

/* The answer of the sorted way, which is that of the other one, from either side, and also when memory runs out. */
static int same(struct node *x, struct node *y) {
  struct failing f = { 0 }, none = { .fail_at = 1 };
  struct mem m = failing_mem(&f), nothing = failing_mem(&none);
  int r = node_equal_sorted(&m, x, y);
  CHECK(node_equal(x, y) == r && node_equal_sorted(&nothing, x, y) == r && node_equal_sorted(NULL, x, y) == r);
  CHECK(node_equal_sorted(&m, y, x) == node_equal(y, x));
  CHECK(f.live == 0 && f.wrong == 0 && none.live == 0);
  return r;
}

static void test_orders(void) {
  struct mem m = mem_libc();
  struct arena a;
  arena_init(&a, &m);
  CHECK(same(shuffled(&a, 1), shuffled(&a, 1)) && same(shuffled(&a, 1), shuffled(&a, 199)));
  CHECK(same(shuffled(&a, 7), shuffled(&a, 133)));
  struct node *v = shuffled(&a, 133);
  node_remove(v, node_get(v, "k100")); /* null: as if it were there */
  CHECK(same(v, shuffled(&a, 7)));
  node_remove(v, node_get(v, "k101"));
  CHECK(!same(v, shuffled(&a, 7)));
  node_set(v, STR("k300"), node_int(&a, 101));
  CHECK(!same(v, shuffled(&a, 7)));
  node_remove(v, node_get(v, "k300"));
  node_set(v, STR("k101"), node_new(&a, NODE_NULL));
  CHECK(!same(v, shuffled(&a, 7)));
  node_set(v, STR("k101"), node_double(&a, 101));
  CHECK(same(v, shuffled(&a, 7)));
  node_set(v, STR("k101"), node_int(&a, 102));
  CHECK(!same(v, shuffled(&a, 7)));
  arena_free(&a);
}

/* One inside the other: memory is taken and given back at every level. */
static void test_nested(void) {
  struct mem m = mem_libc();
  struct arena a;
  arena_init(&a, &m);
  struct node *x = NULL, *y = NULL;
  for (int i = 0; i < 20; i++) {
    struct node *u = shuffled(&a, 7), *w = shuffled(&a, 133);
    if (x != NULL) node_set(u, STR("k33"), x);
    if (y != NULL) node_set(w, STR("k33"), y);
    x = u;
    y = w;
  }
  CHECK(same(x, y));
  struct node *deepest = y;
  while (node_is(node_get(deepest, "k33"), NODE_OBJECT)) deepest = node_get(deepest, "k33");
  node_set(deepest, STR("k1"), node_int(&a, 0));
  CHECK(!same(x, y));
  arena_free(&a);
}

/* Trees made by hand may hold a key twice: the answers stay those of looking one up after the other. */
static void test_keys_twice(void) {
  struct mem m = mem_libc();
  struct arena a;
  arena_init(&a, &m);
  struct node *x = shuffled(&a, 7), *y = shuffled(&a, 133);
  append(x, "t", node_int(&a, 1));
  append(x, "t", node_int(&a, 2));
  append(y, "t", node_int(&a, 1));
  append(y, "t", node_int(&a, 2));
  CHECK(same(x, y));
  x = shuffled(&a, 7);
  append(x, "t", node_int(&a, 2));
  append(x, "t", node_int(&a, 1));
  CHECK(!same(x, y));
  x = shuffled(&a, 7);
  append(x, "t", node_int(&a, 1));
  append(x, "u", node_int(&a, 2));
  CHECK(!same(x, y));
  x = shuffled(&a, 7);
  y = shuffled(&a, 133);
  append(x, "t", node_int(&a, 1));
  append(y, "t", node_new(&a, NODE_NULL));
  append(y, "t", node_int(&a, 1));
  same(x, y);
  arena_free(&a);
}

/* In one order, or few: no memory is asked for. */
static void test_no_memory(void) {
  struct failing f = { 0 };
  struct mem m = mem_libc(), counted = failing_mem(&f);
  struct arena a;
  struct err e;
  arena_init(&a, &m);
  CHECK(node_equal_sorted(&counted, shuffled(&a, 7), shuffled(&a, 7)) && f.asked == 0);
  struct node *x = json_tree(&a, STR("{\"a\":1,\"b\":2}"), 4, &e), *y = json_tree(&a, STR("{\"b\":2,\"a\":1}"), 4, &e);
  CHECK(node_equal_sorted(&counted, x, y) && f.asked == 0);
  CHECK(node_equal_sorted(&counted, shuffled(&a, 7), shuffled(&a, 133)) && f.asked == 1);
  arena_free(&a);
}

/* --- the cap on values --- */

/* "[1,1,…]" of n values, the array included. */
static void list_of(struct buf *b, size_t n) {
  int bad = buf_adds(b, "[1");
  for (size_t i = 2; i < n; i++) bad |= buf_adds(b, ",1");
  CHECK((bad | buf_addc(b, ']')) == 0);
}

static void test_cap(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct buf most, more;
  struct json j;
  struct err e;
  size_t values = 0;
  arena_init(&a, &m);
  buf_init(&most, &m);
  buf_init(&more, &m);
  list_of(&most, JSON_VALUES_MAX);
  list_of(&more, JSON_VALUES_MAX + 1);
  CHECK(json_tree(&a, buf_str(&most), 4, &e) != NULL);
  arena_reset(&a);
  err_clear(&e);
  CHECK(json_tree(&a, buf_str(&more), 4, &e) == NULL && e.kind == KIND_LIMIT);
  CHECK_STR(e.message, strlen(e.message), "JSON: more than 1000000 values");
  arena_reset(&a);
  err_clear(&e);
  json_open(&j, buf_str(&more), 4, &e);
  CHECK(json_next(&j) == J_ARRAY && json_node(&j, &a) == NULL && e.kind == KIND_LIMIT);
  arena_reset(&a);
  struct node *v = json_tree_within(&a, buf_str(&more), 4, NULL, &e); /* without a count */
  CHECK(v != NULL && v->count == JSON_VALUES_MAX);
  arena_reset(&a);
  CHECK(json_tree_within(&a, STR("[1,{\"a\":2}]"), 4, &values, &e) != NULL && values == 4);
  values = JSON_VALUES_MAX - 1;
  CHECK(json_tree_within(&a, STR("1"), 4, &values, &e) != NULL && values == JSON_VALUES_MAX);
  CHECK(json_tree_within(&a, STR("1"), 4, &values, &e) == NULL && values > JSON_VALUES_MAX && e.kind == KIND_LIMIT);
  buf_free(&most);
  buf_free(&more);
  arena_free(&a);
}

static void test_growing_cap(void) {
  struct mem m = mem_libc();
  struct growing_limits most = { 4, SIZE_MAX };
  struct growing g;
  struct growth s;
  struct err e;
  growing_init(&g, &m, &most, 0, &e);
  enum growth_type type = GROWTH_NONE;
  size_t seen = 0;
  growing_feed(&g, STR("["));
  while ((type = growing_next(&g, &s)) > GROWTH_NONE) seen++;
  for (size_t i = 0; i < JSON_VALUES_MAX && type == GROWTH_NONE; i++) {
    growing_feed(&g, i == 0 ? STR("1 ") : STR(",1 "));
    while ((type = growing_next(&g, &s)) > GROWTH_NONE) seen++;
  }
  CHECK(type == GROWTH_FAILED && e.kind == KIND_LIMIT && seen == JSON_VALUES_MAX);
  CHECK_STR(e.message, strlen(e.message), "JSON: more than 1000000 values");
  growing_free(&g);
}

int main(void) {
  test_orders();
  test_nested();
  test_keys_twice();
  test_no_memory();
  test_cap();
  test_growing_cap();
  return test_done("json/many");
}
