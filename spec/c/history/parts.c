/* parts.c: the rules for single values: system prompt, tool schemas, arguments, texts of failed calls. */
#include "test.h"

#define TEXT(s) "{\"type\":\"text\",\"text\":\"" s "\"}"

/* {{{ N12, N18 */

static void expect_system(const char *file, int line, const char *in, const char *out) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *request, *system;
  arena_init(&a, &m);
  request = json_tree(&a, (struct str){ in, strlen(in) }, DEPTH, &e);
  CHECK(normalise_system(&a, request, &system, &e) == 0);
  if (system == NULL) test_str(file, line, "", 0, out);
  else expect_json(file, line, &a, system, out);
  arena_free(&a);
}
#define SYSTEM(in, out) expect_system(__FILE__, __LINE__, (in), (out))

static void system_prompt(void) {
  SYSTEM("{}", "");
  SYSTEM("{\"system\":\"\"}", "");
  SYSTEM("{\"system\":\" \\n\"}", "");
  SYSTEM("{\"system\":{}}", "");
  SYSTEM("{\"system\":[]}", "");
  SYSTEM("{\"system\":\"be brief\"}", "[" TEXT("be brief") "]");
  SYSTEM("{\"system\":[" TEXT("a") "," TEXT("")
         ",{\"type\":\"text\",\"text\":\"b\",\"cache_control\":{\"type\":\"x\"}}]}",
         "[" TEXT("a") ",{\"type\":\"text\",\"text\":\"b\",\"cache_control\":{\"type\":\"x\"}}]");
}

static void expect_tools(const char *file, int line, int strip, const char *in, const char *out) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *request;
  arena_init(&a, &m);
  request = json_tree(&a, (struct str){ in, strlen(in) }, DEPTH, &e);
  for (int i = 0; i < 2; i++) {
    CHECK(normalise_tools(&a, request, strip, &e) == 0);
    expect_json(file, line, &a, request, out);
  }
  arena_free(&a);
}
#define TOOL(fields) "{\"tools\":[{\"name\":\"f\"," fields "}]}"
#define TOOLS(strip, in, out) expect_tools(__FILE__, __LINE__, (strip), TOOL(in), TOOL(out))

static void tool_schemas(void) {
  expect_tools(__FILE__, __LINE__, 0, "{\"tools\":{},\"tool_choice\":\"any\"}", "{}");
  expect_tools(__FILE__, __LINE__, 0, "{\"tools\":[],\"stream\":true}", "{\"stream\":true}");
  expect_tools(__FILE__, __LINE__, 0, "{\"tool_choice\":\"any\"}", "{}");
  expect_tools(__FILE__, __LINE__, 0, "{\"tools\":[{\"name\":\"f\"}],\"tool_choice\":\"any\"}",
               "{\"tools\":[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}],"
               "\"tool_choice\":\"any\"}");
  TOOLS(0, "\"parameters\":[]", "\"parameters\":{\"type\":\"object\",\"properties\":{}}");
  TOOLS(0, "\"parameters\":{\"properties\":[],\"required\":{}}",
        "\"parameters\":{\"properties\":{},\"required\":[],\"type\":\"object\"}");
  TOOLS(0, "\"parameters\":{\"type\":\"object\",\"properties\":{\"required\":{},\"enum\":{\"enum\":{}},"
           "\"l\":{\"type\":\"array\",\"items\":{\"anyOf\":{},\"default\":{},\"properties\":{\"x\":{\"allOf\":{}}}}}}}",
        "\"parameters\":{\"type\":\"object\",\"properties\":{\"required\":{},\"enum\":{\"enum\":[]},"
        "\"l\":{\"type\":\"array\",\"items\":{\"anyOf\":[],\"default\":{},\"properties\":{\"x\":{\"allOf\":[]}}}}}}");
  TOOLS(0, "\"parameters\":{\"type\":\"object\",\"properties\":{},\"$defs\":{\"a\":{\"required\":{}}},"
           "\"anyOf\":[{\"required\":{}},true],\"additionalProperties\":{\"prefixItems\":{}}}",
        "\"parameters\":{\"type\":\"object\",\"properties\":{},\"$defs\":{\"a\":{\"required\":[]}},"
        "\"anyOf\":[{\"required\":[]},true],\"additionalProperties\":{\"prefixItems\":[]}}");
  TOOLS(1, "\"parameters\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
           "\"additionalProperties\":{\"type\":\"object\",\"additionalProperties\":{}}},"
           "\"oneOf\":[{\"additionalProperties\":true}]}",
        "\"parameters\":{\"type\":\"object\",\"properties\":{\"additionalProperties\":{\"type\":\"object\"}},"
        "\"oneOf\":[{}]}");
}

/* }}} */

/* {{{ N14, N22 */

/* `problem` is how the reason must begin, NULL when there must be none. */
static void expect_read(const char *file, int line, struct str in, const char *tree, const char *json,
                        const char *problem) {
  struct mem m = mem_libc();
  struct arena a;
  struct node *arguments;
  struct str kept;
  const char *why;
  arena_init(&a, &m);
  CHECK(normalise_read_arguments_within(&a, in, DEPTH, &(size_t){ 0 }, &arguments, &kept, &why) == 0);
  CHECK(arguments->type == NODE_OBJECT);
  expect_json(file, line, &a, arguments, tree);
  test_str(file, line, kept.p, kept.n, json);
  if (why == NULL || problem == NULL) CHECK(why == problem);
  else test_str(file, line, why, strlen(why) < strlen(problem) ? strlen(why) : strlen(problem), problem);
  arena_free(&a);
}
#define READ(in, tree, json, problem) \
  expect_read(__FILE__, __LINE__, (struct str){ (in), sizeof(in) - 1 }, (tree), (json), (problem))

static void reading_arguments(void) {
  READ("", "{}", "{}", NULL);
  READ(" \r\n\t", "{}", "{}", NULL);
  READ("null", "{}", "{}", NULL);
  READ("\xEF\xBB\xBF {\"a\": 1} ", "{\"a\":1}", "{\"a\": 1}", NULL);
  READ("{\"b\":1, \"a\":9007199254740993}", "{\"b\":1,\"a\":9007199254740993}",
       "{\"b\":1, \"a\":9007199254740993}", NULL);
  READ("{\"a\":null,\"b\":{\"c\":null},\"d\":[null]}", "{\"b\":{},\"d\":[null]}",
       "{\"a\":null,\"b\":{\"c\":null},\"d\":[null]}", NULL);
  READ("{\"a\":null,\"b\":null}", "{}", "{\"a\":null,\"b\":null}", NULL);
  READ("{\"a\":1,\"b\":null,\"c\":null,\"d\":{\"e\":null,\"f\":2,\"g\":null},\"h\":[{\"i\":null}]}",
       "{\"a\":1,\"d\":{\"f\":2},\"h\":[{}]}",
       "{\"a\":1,\"b\":null,\"c\":null,\"d\":{\"e\":null,\"f\":2,\"g\":null},\"h\":[{\"i\":null}]}", NULL);
  READ("\"{\\\"a\\\":1}\"", "{\"a\":1}", "{\"a\":1}", NULL); /* encoded twice */
  READ("\"\"", "{}", "{}", NULL);
  READ("\"null\"", "{}", "{}", NULL);
  READ("\"\\\"{}\\\"\"", "{}", "\"\\\"{}\\\"\"", "a string, not a JSON object"); /* three times is once too many */
  READ("\"x\"", "{}", "\"x\"", "a string, not a JSON object");
  READ(" [1] ", "{}", "[1]", "an array, not a JSON object");
  READ("17", "{}", "17", "a number, not a JSON object");
  READ("true", "{}", "true", "a boolean, not a JSON object");
  READ("{\"a\":1", "{}", "{\"a\":1", "invalid JSON: ");
  READ("{} {}", "{}", "{} {}", "invalid JSON: ");
}

/* A list without its null members is like any other: it can be appended to. */
static void without_nulls(void) {
  static const char *const IN[] = { "{\"a\":null}", "{\"a\":1,\"b\":null}", "{\"a\":null,\"b\":1}" };
  static const char *const OUT[] = { "{\"z\":9}", "{\"a\":1,\"z\":9}", "{\"b\":1,\"z\":9}" };
  struct mem m = mem_libc();
  struct arena a;
  arena_init(&a, &m);
  for (size_t i = 0; i < 3; i++) {
    struct node *arguments;
    struct str kept;
    const char *why;
    struct str in = { IN[i], strlen(IN[i]) };
    CHECK(normalise_read_arguments_within(&a, in, DEPTH, &(size_t){ 0 }, &arguments, &kept, &why) == 0);
    CHECK(arguments->count == (i > 0));
    CHECK(node_set(arguments, STR("z"), node_int(&a, 9)) == 0);
    expect_json(__FILE__, __LINE__, &a, arguments, OUT[i]);
  }
  arena_free(&a);
}

/* Too many values: the rest of the cap is gone for the calls behind it. */
static void sharing_the_cap(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct node *arguments;
  struct str kept;
  const char *why;
  size_t values = JSON_VALUES_MAX - 2;
  arena_init(&a, &m);
  CHECK(normalise_read_arguments_within(&a, STR("{\"a\":1}"), DEPTH, &values, &arguments, &kept, &why) == 0);
  CHECK(why == NULL && arguments->count == 1 && values == JSON_VALUES_MAX);
  CHECK(normalise_read_arguments_within(&a, STR("{\"a\":1}"), DEPTH, &values, &arguments, &kept, &why) == 0);
  CHECK(why != NULL && arguments->count == 0 && values > JSON_VALUES_MAX);
  CHECK_STR(why, strlen(why), "invalid JSON: JSON: more than 1000000 values");
  CHECK_STR(kept.p, kept.n, "{\"a\":1}");
  arena_free(&a);
}

static void expect_write(const char *file, int line, const char *block, const char *out) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *b;
  struct str s;
  arena_init(&a, &m);
  b = json_tree(&a, (struct str){ block, strlen(block) }, DEPTH, &e);
  s = normalise_arguments(&a, b, DEPTH);
  CHECK(s.p != NULL);
  test_str(file, line, s.p, s.n, out);
  arena_free(&a);
}
#define WRITE(block, out) expect_write(__FILE__, __LINE__, (block), (out))

static void writing_arguments(void) {
  WRITE("{\"arguments\":{\"b\":1,\"a\":{\"d\":1,\"c\":[]}}}", "{\"a\":{\"c\":[],\"d\":1},\"b\":1}");
  WRITE("{\"arguments\":{}}", "{}");
  WRITE("{\"arguments\":[]}", "{}");
  WRITE("{}", "{}");
  /* the model's own bytes as long as they say the same */
  WRITE("{\"arguments\":{\"a\":2,\"b\":1},\"arguments_json\":\"{ \\\"b\\\":1, \\\"a\\\":2.0 }\"}",
        "{ \"b\":1, \"a\":2.0 }");
  WRITE("{\"arguments\":{\"b\":1},\"arguments_json\":\"{\\\"b\\\":1,\\\"a\\\":null}\"}", "{\"b\":1,\"a\":null}");
  WRITE("{\"arguments_json\":\"{ \\\"b\\\":1}\"}", "{ \"b\":1}");
  WRITE("{\"arguments\":{},\"arguments_json\":\"\"}", "{}");
  WRITE("{\"arguments\":[],\"arguments_json\":\"{ }\"}", "{ }");
  WRITE("{\"arguments\":{\"b\":3},\"arguments_json\":\"{ \\\"b\\\":1}\"}", "{\"b\":3}"); /* edited */
  WRITE("{\"arguments\":{},\"arguments_json\":\"{ \\\"b\\\":1}\"}", "{}");
  WRITE("{\"arguments\":[],\"arguments_json\":\"{ \\\"b\\\":1}\"}", "{}");
  WRITE("{\"arguments\":{\"b\":3},\"arguments_json\":\"{ \\\"b\"}", "{\"b\":3}");
  WRITE("{\"arguments\":{\"b\":\"\xEF\xBF\xBD\"},\"arguments_json\":\"{ \\\"b\\\":\\\"\\\\ud800\\\"}\"}",
        "{\"b\":\"\xEF\xBF\xBD\"}"); /* repaired */
  /* no object: shown to the model inside one */
  WRITE("{\"arguments\":{},\"arguments_json\":\"{\\\"a\",\"arguments_error\":\"invalid JSON\"}",
        "{\"INVALID_JSON\":\"{\\\"a\"}");
  WRITE("{\"arguments_json\":\"[1]\"}", "{\"INVALID_JSON\":\"[1]\"}");
}

/* Bytes that may have been repaired are written anew, all others stay: by chance, against the tree of the text. */
static void repairing_arguments(void) {
  static const char *const pieces[] = { "a", "bc", " ", "\\n", "\\u0041", "\\ufffd", "\\ud800", "\\ud83d\\ude00", "\xFF",
                                        "\xEF\xBF\xBD", "\xC3\xA9", "\xE2\x82" };
  uint32_t state = 7;
  int kept = 0, anew = 0;
  for (int round = 0; round < 3000; round++) {
    struct mem m = mem_libc();
    struct arena a;
    struct buf json, written;
    struct err e;
    int marked = 0;
    arena_init(&a, &m);
    buf_init(&json, &m);
    buf_init(&written, &m);
    err_clear(&e);
    CHECK(buf_adds(&json, "{ ") == 0);
    for (int part = 0; part < 2; part++) {
      CHECK(buf_addc(&json, '"') == 0);
      for (int i = 0; i < 3; i++) {
        state = state * 1664525u + 1013904223u;
        size_t kinds = part == 0 || round % 2 == 0 ? 5 : sizeof pieces / sizeof *pieces;
        CHECK(buf_adds(&json, pieces[(state >> 8) % kinds]) == 0);
      }
      CHECK(buf_adds(&json, part == 0 ? "\":" : "\"}") == 0);
    }
    struct node *call = node_new(&a, NODE_OBJECT), *tree = json_tree(&a, buf_str(&json), DEPTH, &e);
    CHECK(tree != NULL && node_set(call, STR("arguments_json"), node_string(&a, buf_str(&json))) == 0);
    CHECK(json_write_sorted(&written, tree, &e) == 0);
    marked = memmem(written.p, written.n, "\xEF\xBF\xBD", 3) != NULL;
    kept += !marked;
    anew += marked;
    CHECK(str_same(normalise_arguments(&a, call, DEPTH), marked ? buf_str(&written) : buf_str(&json)));
    buf_free(&json);
    buf_free(&written);
    arena_free(&a);
  }
  CHECK(kept > 500 && anew > 500);
}

/* Many members in another order are the model's own as long as they say the same, whatever memory is left. */
static void writing_many(void) {
  enum { N = 40 };
  for (int edited = 0; edited < 2; edited++) {
    int done = 0;
    for (size_t at = 1; !done && at < 100; at++) {
      struct failing f = { .fail_at = at };
      struct mem libc = mem_libc(), m = failing_mem(&f);
      struct arena own, a;
      struct buf json;
      struct err e;
      char text[16];
      arena_init(&own, &libc);
      arena_init(&a, &m);
      buf_init(&json, &libc);
      struct node *call = node_new(&own, NODE_OBJECT), *arguments = node_new(&own, NODE_OBJECT);
      for (int i = 0; i < N; i++) {
        int n = snprintf(text, sizeof text, "k%02d", i);
        node_set(arguments, arena_dup(&own, (struct str){ text, (size_t)n }), node_int(&own, i + edited * (i == 7)));
        snprintf(text, sizeof text, "%s \"k%02d\":%d", i == 0 ? "{" : ",", N - 1 - i, N - 1 - i);
        buf_adds(&json, text);
      }
      buf_addc(&json, '}');
      node_set(call, STR("arguments"), arguments);
      node_set(call, STR("arguments_json"), node_string(&own, buf_str(&json)));
      struct str out = normalise_arguments(&a, call, DEPTH);
      err_clear(&e);
      if (edited) {
        json.n = 0;
        CHECK(json_write_sorted(&json, arguments, &e) == 0);
      }
      done = out.p != NULL;
      CHECK(!done || str_same(out, buf_str(&json)));
      arena_free(&a);
      arena_free(&own);
      buf_free(&json);
      CHECK(f.live == 0 && f.wrong == 0);
    }
    CHECK(done);
  }
}

static void error_texts(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct str s;
  arena_init(&a, &m);
  s = normalise_error_text(&a, STR("no such file"));
  CHECK_STR(s.p, s.n, "Error: no such file");
  s = normalise_error_text(&a, STR("Error: no such file"));
  CHECK_STR(s.p, s.n, "Error: no such file");
  s = normalise_error_text(&a, STR("Errors"));
  CHECK_STR(s.p, s.n, "Error: Errors");
  s = normalise_error_text(&a, STR_NONE);
  CHECK_STR(s.p, s.n, "Error: ");
  arena_free(&a);
}

/* }}} */

/* {{{ failing allocations */

static int everything(const struct mem *m) {
  static const char IN[] = "{\"system\":[" TEXT("s") "," TEXT(" ") "],"
                           "\"tools\":[{\"name\":\"f\"},{\"parameters\":{}}]}";
  struct arena a;
  struct err e;
  struct node *request, *system, *arguments, *call;
  struct str json, s;
  const char *problem;
  int bad;
  err_clear(&e);
  arena_init(&a, m);
  request = json_tree(&a, STR(IN), DEPTH, &e);
  call = json_tree(&a, STR("{\"arguments\":{\"a\":[1]},\"arguments_json\":\"{}\"}"), DEPTH, &e);
  bad = request == NULL || call == NULL || normalise_system(&a, request, &system, &e) != 0 ||
        normalise_tools(&a, request, 1, &e) != 0;
  if (bad) CHECK(e.kind == KIND_MEMORY);
  bad = bad || normalise_read_arguments_within(&a, STR("\"{\\\"a\\\":1}\""), DEPTH, &(size_t){ 0 }, &arguments, &json,
                                               &problem) != 0 ||
        normalise_read_arguments_within(&a, STR("{"), DEPTH, &(size_t){ 0 }, &arguments, &json, &problem) != 0;
  if (!bad) {
    s = normalise_arguments(&a, call, DEPTH);
    bad = s.p == NULL;
    if (!bad) CHECK_STR(s.p, s.n, "{\"a\":[1]}");
  }
  if (!bad) {
    s = normalise_error_text(&a, STR("x"));
    bad = s.p == NULL;
    if (!bad) CHECK_STR(s.p, s.n, "Error: x");
  }
  arena_free(&a);
  return bad ? -1 : 0;
}

/* }}} */

int main(void) {
  system_prompt();
  tool_schemas();
  reading_arguments();
  without_nulls();
  sharing_the_cap();
  writing_arguments();
  repairing_arguments();
  writing_many();
  error_texts();
  each_allocation_failing(everything);
  return test_done("history/parts");
}
