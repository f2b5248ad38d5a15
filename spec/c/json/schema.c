/* schema.c: schemas read from text and written: the order of properties, with each allocation failing. */
#include "core/json/schema.h"
#include "support/failing.h"
#include "support/test.h"
#include "support/text.h"

/* The schema in the text (' stands for "), written into b. read: as a schema of which the text has the order. 0 or -1. */
static int rewrite(const struct mem *m, struct buf *b, const char *text, int read, int ordering, struct err *e) {
  struct arena a;
  int r;
  arena_init(&a, m);
  struct node *v = read ? json_schema_read(&a, z(json(text)), 200, e) : json_tree(&a, z(json(text)), 200, e);
  r = v == NULL ? -1 : json_write_schema(b, v, ordering, e);
  arena_free(&a);
  return r;
}

static void expect(int line, const char *in, int read, int ordering, const char *out) {
  for (size_t at = 0;; at++) {
    struct failing f = { .fail_at = at };
    struct mem m = failing_mem(&f);
    struct buf b;
    struct err e;
    err_clear(&e);
    buf_init(&b, &m);
    int bad = buf_adds(&b, "x") != 0 || rewrite(&m, &b, in, read, ordering, &e) != 0;
    int failed = at > 0 && f.asked >= at;
    if (!failed) test_str(__FILE__, line, b.p + 1, b.n - 1, json(out));
    CHECK(bad == failed && (!bad || b.n <= 1));
    buf_free(&b);
    CHECK(f.live == 0 && f.wrong == 0);
    if (at > 0 && !failed) return;
  }
}

#define ORDERS(in, out) expect(__LINE__, in, 0, 0, out)
#define LISTS(in, out) expect(__LINE__, in, 0, 1, out)
#define READS(in, out) expect(__LINE__, in, 1, 0, out)
#define READS_LISTS(in, out) expect(__LINE__, in, 1, 1, out)

static void test_order(void) {
  ORDERS("{'type':'object','properties':{'c':{},'b':{},'a':{}}}", "{'properties':{'a':{},'b':{},'c':{}},'type':'object'}");
  ORDERS("{'required':['why','answer'],'properties':{'answer':{},'more':{},'why':{},'also':{}}}",
         "{'properties':{'why':{},'answer':{},'also':{},'more':{}},'required':['why','answer']}");
  /* what is no property, not a name, or there twice */
  ORDERS("{'required':['x','b',1,'b',null,'y'],'properties':{'a':{},'b':{}}}",
         "{'properties':{'b':{},'a':{}},'required':['x','b',1,'b',null,'y']}");
  ORDERS("{'propertyOrdering':['c','a'],'required':['b','a'],'properties':{'a':{},'b':{},'c':{},'d':{},'':{}}}",
         "{'properties':{'c':{},'a':{},'b':{},'':{},'d':{}},'required':['b','a']}");
  /* lists that are none */
  ORDERS("{'propertyOrdering':{},'required':'b','properties':{'b':{},'a':{}}}",
         "{'properties':{'a':{},'b':{}},'required':'b'}");
  ORDERS("{'required':['b'],'properties':[1,{'required':['b'],'x':1,'properties':{'b':1,'a':2}}]}",
         "{'properties':[1,{'properties':{'a':2,'b':1},'required':['b'],'x':1}],'required':['b']}");
  ORDERS("true", "true");
  ORDERS("[{'b':1,'a':2}]", "[{'a':2,'b':1}]");
}

#define PAIR "{'required':['b'],'properties':{'a':{},'b':{}}}"
#define PAIR_OUT "{'properties':{'b':{},'a':{}},'required':['b']}"
/* The same as data: sorted, whole. */
#define DATA "{'propertyOrdering':['b'],'required':['b'],'properties':{'b':1,'a':2}}"
#define DATA_OUT "{'properties':{'a':2,'b':1},'propertyOrdering':['b'],'required':['b']}"

static void test_places(void) {
  static const char *const ONE[] = { "items", "additionalItems", "additionalProperties", "unevaluatedItems",
                                     "unevaluatedProperties", "contains", "propertyNames", "not", "if", "then", "else" };
  static const char *const LIST[] = { "anyOf", "oneOf", "allOf", "prefixItems", "items" };
  static const char *const MAP[] = { "properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
                                     "dependencies" };
  static const char *const NONE[] = { "enum", "const", "default", "examples", "required", "x-foo" };
  char in[256], out[256];
  for (size_t i = 0; i < sizeof ONE / sizeof *ONE; i++) {
    snprintf(in, sizeof in, "{'%s':%s}", ONE[i], PAIR);
    snprintf(out, sizeof out, "{'%s':%s}", ONE[i], PAIR_OUT);
    ORDERS(in, out);
  }
  for (size_t i = 0; i < sizeof LIST / sizeof *LIST; i++) {
    snprintf(in, sizeof in, "{'%s':[true,%s]}", LIST[i], PAIR);
    snprintf(out, sizeof out, "{'%s':[true,%s]}", LIST[i], PAIR_OUT);
    ORDERS(in, out);
  }
  for (size_t i = 0; i < sizeof MAP / sizeof *MAP; i++) {
    snprintf(in, sizeof in, "{'%s':{'properties':%s,'a':['x']}}", MAP[i], PAIR);
    snprintf(out, sizeof out, "{'%s':{'a':['x'],'properties':%s}}", MAP[i], PAIR_OUT);
    ORDERS(in, out);
  }
  for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++) {
    snprintf(in, sizeof in, "{'%s':[%s]}", NONE[i], DATA);
    snprintf(out, sizeof out, "{'%s':[%s]}", NONE[i], DATA_OUT);
    ORDERS(in, out);
  }
  ORDERS("{'const':" DATA "}", "{'const':" DATA_OUT "}");
}

static void test_ordering(void) {
  LISTS("{'type':'object','required':['b'],'properties':{'a':{},'b':{},'c':{}}}",
        "{'properties':{'b':{},'a':{},'c':{}},'propertyOrdering':['b','a','c'],'required':['b'],'type':'object'}");
  LISTS("{'propertyOrdering':['x','b'],'properties':{'a':{'propertyOrdering':['x']},'b':{}}}",
        "{'properties':{'b':{},'a':{}},'propertyOrdering':['b','a']}");
  LISTS("{'properties':{'a':{}},'propertyOrdering':['a']}", "{'properties':{'a':{}}}");
  LISTS("{'properties':{},'items':{'properties':{'propertyOrdering':{},'a':{}}}}",
        "{'items':{'properties':{'a':{},'propertyOrdering':{}},'propertyOrdering':['a','propertyOrdering']},"
        "'properties':{}}");
}

static void test_read(void) {
  READS("{'required':['a'],'properties':{'c':{'properties':{'z':{},'y':{}}},'a':{},'b':{}},'default':{'z':1,'y':2}}",
        "{'default':{'y':2,'z':1},'properties':{'c':{'properties':{'z':{},'y':{}}},'a':{},'b':{}},'required':['a']}");
  READS("{'properties':{'b':{},'a':{}},'propertyOrdering':['a']}", "{'properties':{'a':{},'b':{}}}");
  READS_LISTS("{'$defs':{'x':{'anyOf':[{'properties':{'b':{},'a':{}}}]}}}",
              "{'$defs':{'x':{'anyOf':[{'properties':{'b':{},'a':{}},'propertyOrdering':['b','a']}]}}}");
  READS("{'properties':[],'items':3}", "{'items':3,'properties':[]}");
}

/* The names of the list that are properties; each allocation fails. */
static void keeps(int line, const char *list, const char *properties, const char *out) {
  struct mem sure = mem_libc();
  for (size_t at = 0;; at++) {
    struct failing f = { .fail_at = at };
    struct mem m = failing_mem(&f);
    struct arena a, given;
    struct buf b;
    struct err e;
    arena_init(&a, &m);
    arena_init(&given, &sure);
    buf_init(&b, &sure);
    struct node *names = json_tree(&given, z(json(list)), 8, &e);
    const struct node *o = properties != NULL ? json_tree(&given, z(json(properties)), 8, &e) : NULL;
    int bad = json_schema_keep_names(&a, names, o), failed = at > 0 && f.asked >= at;
    CHECK((bad != 0) == failed);
    if (!failed && json_write(&b, names, &e) == 0) test_str(__FILE__, line, b.p, b.n, json(out));
    buf_free(&b);
    arena_free(&given);
    arena_free(&a);
    CHECK(f.live == 0 && f.wrong == 0);
    if (at > 0 && !failed) return;
  }
}

#define KEEPS(list, properties, out) keeps(__LINE__, list, properties, out)

static void test_names(void) {
  KEEPS("['c','a','x',1,'a',null,{}]", "{'a':1,'b':2,'c':3}", "['c','a','a']");
  KEEPS("['a']", "{}", "[]");
  KEEPS("['a']", NULL, "[]");
  KEEPS("['a']", "['a']", "[]");
  KEEPS("[]", "{'a':1}", "[]");
}

static void test_refused(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct buf b;
  struct err e;
  struct node *v, *inner;
  arena_init(&a, &m);
  buf_init(&b, &m);
  CHECK(json_schema_read(&a, STR("{\"a\":"), 8, &e) == NULL && e.kind == KIND_PROTOCOL);
  CHECK(json_schema_read(&a, STR("{\"not\":{\"not\":{}}}"), 2, &e) == NULL && e.kind == KIND_LIMIT);
  v = inner = node_new(&a, NODE_OBJECT);
  for (int i = 0; i < JSON_DEPTH_MAX; i++) {
    struct node *next = node_new(&a, NODE_OBJECT);
    CHECK(node_set(inner, STR("not"), next) == 0);
    inner = next;
  }
  CHECK(json_write_schema(&b, v, 0, &e) == -1 && e.kind == KIND_ARGUMENT && b.n == 0);
  CHECK(json_write_schema(&b, v->child, 0, &e) == 0);
  buf_free(&b);
  arena_free(&a);
}

int main(void) {
  test_order();
  test_places();
  test_ordering();
  test_read();
  test_names();
  test_refused();
  return test_done("json/schema");
}
