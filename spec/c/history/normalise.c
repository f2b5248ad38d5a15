/* normalise.c: every rule on histories written as JSON; well-formed ones unchanged, twice the same as once, no leak. */
#include "messages.h"

static const struct norm BARE = { .origin = { { "p", 1 }, { "m", 1 }, { "w", 1 } } };
static const struct norm BLOCKS = { /* an Anthropic-shaped wire */
  .origin = { { "p", 1 }, { "m", 1 }, { "w", 1 } }, .signed_thinking = 1, .drop_blank_text = 1, .merge_blocks = 1,
  .results_first = 1, .id_chars = "word-", .id_max = 64
};
static const struct norm TEXTS = { /* an OpenAI-shaped wire */
  .origin = { { "p", 1 }, { "m", 1 }, { "w", 1 } }, .merge_text = 1, .results_first = 1
};


static void content_to_blocks(void) { /* N1 */
  GIVES(&BARE, "[{\"role\":\"user\",\"content\":\"hi\"}]", "[" USER(TEXT("hi")) "]");
  GIVES(&BARE, "[{\"role\":\"user\",\"content\":5}]", "[" USER(TEXT("5")) "]");
  GIVES(&BARE, "[{\"role\":\"user\",\"content\":true}]", "[" USER(TEXT("true")) "]");
  GIVES(&BARE, "[{\"role\":\"user\"}," USER(TEXT("a")) "]", "[" USER(TEXT("a")) "]");
  GIVES(&BARE, "[{\"role\":\"user\",\"content\":\"\"}," USER(TEXT("a")) "]", "[" USER(TEXT("a")) "]");
  GIVES(&BARE, "[{\"role\":\"user\",\"content\":{}}," USER(TEXT("a")) "]", "[" USER(TEXT("a")) "]");
  GIVES(&BARE, "[{\"role\":\"user\",\"content\":null}," USER(TEXT("a")) "]", "[" USER(TEXT("a")) "]");
  GIVES(&BARE, "[]", "");
  GIVES(&BARE, "{}", "");
  GIVES(&BARE, "[{\"role\":\"user\"}]", "");
  GIVES(&BARE, "[{\"name\":\"x\",\"role\":\"user\",\"content\":\"hi\",\"more\":1}]",
        "[{\"name\":\"x\",\"role\":\"user\",\"content\":[" TEXT("hi") "],\"more\":1}]");
}

static void empty_content(void) { /* N3 */
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL(TEXT("") "," CALL("a")) "," USER(RESULT("a")) "]",
        "[" USER(TEXT("q")) "," MODEL(CALL("a")) "," USER(RESULT("a")) "]");
  SAME(&BLOCKS, "[" USER(TEXT("q")) "," MODEL(CALL("a")) "," USER(RESULT("a")) "]");
  GIVES(&BARE, "[" USER(TEXT("")) "," USER(TEXT("q")) "]", "[" USER(TEXT("q")) "]");
  SAME(&BARE, "[" USER(TEXT(" \\n")) "]");
  GIVES(&BLOCKS, "[" USER(TEXT(" \\n")) "]", "");
  GIVES(&BLOCKS, "[" USER(TEXT("q")) "," MODEL("") "]", "[" USER(TEXT("q")) "]");
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL("{\"type\":\"refusal\",\"text\":\"\"}") "]", "[" USER(TEXT("q")) "]");
  /* a result may be empty, its text blocks may not */
  SAME(&BLOCKS, "[" MODEL(CALL("a")) "," USER("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"\"}") "]");
  GIVES(&BLOCKS,
        "[" MODEL(CALL("a")) "," USER("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":{}}") "]",
        "[" MODEL(CALL("a")) "," USER("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[]}") "]");
  GIVES(&BLOCKS,
        "[" MODEL(CALL("a")) ","
        USER("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[" TEXT(" ") "," TEXT("x") "]}") "]",
        "[" MODEL(CALL("a")) ","
        USER("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[" TEXT("x") "]}") "]");
  /* white space at the very end, only where blank text is refused and only of the last message's last block */
  GIVES(&BLOCKS, "[" USER(TEXT("q ")) "," MODEL(TEXT("a ") "," TEXT("b \\n")) "]",
        "[" USER(TEXT("q ")) "," MODEL(TEXT("a ") "," TEXT("b")) "]");
  SAME(&TEXTS, "[" USER(TEXT("q ")) "," MODEL(TEXT("b \\n")) "]");
}

static void orphan_results(void) { /* N4 */
  GIVES(&BARE, "[" USER(RESULT("x")) "," USER(TEXT("q")) "]", "[" USER(TEXT("q")) "]");
  GIVES(&BARE, "[" USER(RESULT("x") "," TEXT("q")) "]", "[" USER(TEXT("q")) "]");
  GIVES(&BARE, "[" USER(RESULT("a") "," TEXT("q")) "," MODEL(CALL("a")) "," USER(RESULT("a")) "]", /* before its call */
        "[" USER(TEXT("q")) "," MODEL(CALL("a")) "," USER(RESULT("a")) "]");
  GIVES(&BARE, "[" MODEL(CALL("a")) "," USER(RESULT("a") "," RESULT("a")) "," USER(RESULT("a")) "]",
        "[" MODEL(CALL("a")) "," USER(RESULT("a")) "]");
  GIVES(&TEXTS, /* moved to the message after its call */
        "[" MODEL(CALL("a")) "," USER(TEXT("x")) "," MODEL(TEXT("y")) "," USER(RESULT("a") "," TEXT("z")) "]",
        "[" MODEL(CALL("a")) "," USER(RESULT("a") "," TEXT("x")) "," MODEL(TEXT("y")) "," USER(TEXT("z")) "]");
  GIVES(&TEXTS, /* ... which may leave nothing behind */
        "[" MODEL(CALL("a")) "," USER(TEXT("x")) "," MODEL(TEXT("y")) "," USER(RESULT("a")) "," MODEL(TEXT("z")) "]",
        "[" MODEL(CALL("a")) "," USER(RESULT("a") "," TEXT("x")) "," MODEL(TEXT("y\\n\\nz")) "]");
  SAME(&BLOCKS, "[" USER(TEXT("q")) "," MODEL(CALL("a") "," CALL("b")) "," USER(RESULT("a") "," RESULT("b")) ","
                MODEL(CALL("c")) "," USER(RESULT("c")) "," MODEL(TEXT("done")) "," USER(TEXT("thanks")) "]");
  /* results stand nowhere but with the user, calls nowhere but with the model */
  GIVES(&BARE, "[" MODEL(CALL("a") "," RESULT("a")) "," USER(RESULT("a") "," CALL("z")) "]",
        "[" MODEL(CALL("a")) "," USER(RESULT("a")) "]");
}

static void unanswered_calls(void) { /* N5 */
  GIVES(&BARE, "[" MODEL(TEXT("ok") "," CALL("a")) "," USER(TEXT("stop")) "]",
        "[" MODEL(TEXT("ok")) "," USER(TEXT("stop")) "]");
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL(CALL("a")) "," USER(TEXT("stop")) "]",
        "[" USER(TEXT("q")) "," USER(TEXT("stop")) "]");
  GIVES(&BLOCKS, "[" USER(TEXT("q")) "," MODEL(THINK("t") "," CALL("a")) "," USER(TEXT("stop")) "]",
        "[" USER(TEXT("q") "," TEXT("stop")) "]");
  GIVES(&TEXTS, "[" USER(TEXT("q")) "," MODEL(TEXT(" ") "," CALL("a") "," CALL("b")) "," USER(TEXT("stop")) "]",
        "[" USER(TEXT("q\\n\\nstop")) "]");
  GIVES(&BARE, "[" MODEL(CALL("a") "," CALL("b") "," CALL("c")) "," USER(RESULT("b")) "]",
        "[" MODEL(CALL("a") "," CALL("b") "," CALL("c")) "," USER(RESULT("b") "," MISSING("a") "," MISSING("c")) "]");
  GIVES(&BLOCKS, "[" MODEL(CALL("a") "," CALL("b") "," CALL("c")) "," USER(TEXT("x") "," RESULT("b")) "]",
        "[" MODEL(CALL("a") "," CALL("b") "," CALL("c")) ","
        USER(MISSING("a") "," RESULT("b") "," MISSING("c") "," TEXT("x")) "]");
  /* an id is missing on the call: nothing can answer it but a result that has none either */
  GIVES(&BARE, "[" MODEL(TEXT("ok") ",{\"type\":\"tool_use\",\"name\":\"f\"}") "," USER(RESULT("a")  "," TEXT("x")) "]",
        "[" MODEL(TEXT("ok")) "," USER(TEXT("x")) "]");
  /* what followed the call was empty */
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL(TEXT("ok") "," CALL("a")) "," USER(TEXT("")) "]",
        "[" USER(TEXT("q")) "," MODEL(TEXT("ok")) "]");
  /* a result for another call is no answer */
  GIVES(&BARE, "[" USER(TEXT("q")) "," MODEL(CALL("a")) "," USER(RESULT("b")) "]", "[" USER(TEXT("q")) "]");
}

static void said_twice(void) { /* content .. tool_calls by hand */
  GIVES(&BARE, "[" MODEL(TEXT("x") "," CALL("a") "," CALL("b") "," CALL("a") "," CALL("b")) ","
               USER(RESULT("a") "," RESULT("b")) "]",
        "[" MODEL(TEXT("x") "," CALL("a") "," CALL("b")) "," USER(RESULT("a") "," RESULT("b")) "]");
  GIVES(&BARE, "[" MODEL(TEXT("x") "," CALL("a")) "," MODEL(CALL("a")) "," USER(RESULT("a")) "]",
        "[" MODEL(TEXT("x") "," CALL("a")) "," USER(RESULT("a")) "]");
}

static void tool_ids(void) { /* N7 */
  struct norm nine = BARE, shorter = BARE, tiny = BLOCKS;
  nine.id_chars = "alnum9";
  shorter.id_max = 40;
  tiny.id_max = 2;
  SAME(&BLOCKS, "[" MODEL(CALL("call_019f-Z")) "," USER(RESULT("call_019f-Z")) "]");
  GIVES(&BLOCKS, "[" MODEL(CALL("call:abc/def 123")) "," USER(RESULT("call:abc/def 123")) "]",
        "[" MODEL(CALL("call_abc_def_123")) "," USER(RESULT("call_abc_def_123")) "]");
  SAME(&TEXTS, "[" MODEL(CALL("functions.f:0")) "," USER(RESULT("functions.f:0")) "]");
  GIVES(&BLOCKS, "[" MODEL(CALL("   ") "," CALL("é")) "," USER(RESULT("   ") "," RESULT("é")) "]",
        "[" MODEL(CALL("___") "," CALL("_")) "," USER(RESULT("___") "," RESULT("_")) "]");
  /* different ids stay different, in order of first appearance */
  GIVES(&BLOCKS, "[" MODEL(CALL("a:b") "," CALL("a/b") "," CALL("a_b")) ","
                 USER(RESULT("a:b") "," RESULT("a/b") "," RESULT("a_b")) "]",
        "[" MODEL(CALL("a_b") "," CALL("a_b_2") "," CALL("a_b_3")) ","
        USER(RESULT("a_b") "," RESULT("a_b_2") "," RESULT("a_b_3")) "]");
  GIVES(&BLOCKS, "[" MODEL(CALL("a_b_2") "," CALL("a:b") "," CALL("a b")) ","
                 USER(RESULT("a_b_2") "," RESULT("a:b") "," RESULT("a b")) "]",
        "[" MODEL(CALL("a_b_2") "," CALL("a_b") "," CALL("a_b_3")) ","
        USER(RESULT("a_b_2") "," RESULT("a_b") "," RESULT("a_b_3")) "]");
  /* blank ones get a name on every wire and are answered in order */
  GIVES(&TEXTS, "[" MODEL(CALL("") "," CALL("")) "," USER(RESULT("") "," RESULT("")) "]",
        "[" MODEL(CALL("tool_0") "," CALL("tool_0_2")) "," USER(RESULT("tool_0") "," RESULT("tool_0_2")) "]");
  GIVES(&BARE, "[" MODEL("{\"type\":\"tool_use\"}") "," USER("{\"type\":\"tool_result\"}") "]",
        "[" MODEL("{\"type\":\"tool_use\",\"id\":\"tool_0\"}") ","
        USER("{\"type\":\"tool_result\",\"tool_use_id\":\"tool_0\"}") "]");
  /* the same id in two replies: two calls, each with its own result */
  GIVES(&BLOCKS,
        "[" MODEL(CALL("a")) "," USER(RESULT("a")) "," MODEL(CALL("a")) "," USER(RESULT("a") "," TEXT("x")) "]",
        "[" MODEL(CALL("a")) "," USER(RESULT("a")) "," MODEL(CALL("a_2")) "," USER(RESULT("a_2") "," TEXT("x")) "]");
  /* too long: a prefix and a hash of the whole */
  GIVES(&shorter, "[" MODEL(CALL("call_0123456789012345678901234567890123|fc_1")) ","
                  USER(RESULT("call_0123456789012345678901234567890123|fc_1")) "]",
        "[" MODEL(CALL("call_012345678901234567_ec1dbfedab6d90a6")) ","
        USER(RESULT("call_012345678901234567_ec1dbfedab6d90a6")) "]");
  /* a limit too small for the numbers gives way */
  GIVES(&tiny, "[" MODEL(CALL("ab") "," CALL("a:") "," CALL("a.") "," CALL("abc")) ","
               USER(RESULT("ab") "," RESULT("a:") "," RESULT("a.") "," RESULT("abc")) "]",
        "[" MODEL(CALL("ab") "," CALL("a_") "," CALL("_2") "," CALL("_f")) ","
        USER(RESULT("ab") "," RESULT("a_") "," RESULT("_2") "," RESULT("_f")) "]");
  /* exactly nine letters and digits */
  SAME(&nine, "[" MODEL(CALL("Ab3dEf7hI")) "," USER(RESULT("Ab3dEf7hI")) "]");
  GIVES(&nine, "[" MODEL(CALL("call_1") "," CALL("")) "," USER(RESULT("call_1") "," RESULT("")) ","
               MODEL(CALL("call_1")) "," USER(RESULT("call_1")) "]",
        "[" MODEL(CALL("FTjTpfz5a") "," CALL("uN4JRl3t5")) "," USER(RESULT("FTjTpfz5a") "," RESULT("uN4JRl3t5")) ","
        MODEL(CALL("KwQjCc0nf")) "," USER(RESULT("KwQjCc0nf")) "]");
}

#define NAMED(name) "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"" name "\",\"arguments\":{}}"
#define TEN "0123456789"

/* A model may call a tool by an undeclared name that no wire takes back (N18). */
static void tool_names(void) {
  const struct norm *wires[] = { &BARE, &BLOCKS, &TEXTS };
  for (size_t i = 0; i < 3; i++) {
    SAME(wires[i], "[" MODEL(NAMED("get_weather-2")) "," USER(RESULT("a")) "]");
    GIVES(wires[i], "[" MODEL(NAMED("functions.web search/\xC3\xA9")) "," USER(RESULT("a")) "]",
          "[" MODEL(NAMED("functions_web_search__")) "," USER(RESULT("a")) "]");
    SAME(wires[i], "[" MODEL(NAMED(TEN TEN TEN TEN TEN TEN "0123")) "," USER(RESULT("a")) "]");
    GIVES(wires[i], "[" MODEL(NAMED(TEN TEN TEN TEN TEN TEN "01234")) "," USER(RESULT("a")) "]",
          "[" MODEL(NAMED(TEN TEN TEN TEN TEN TEN "0123")) "," USER(RESULT("a")) "]");
  }
}

static void results_come_first(void) { /* N8 */
  GIVES(&TEXTS, "[" MODEL(CALL("a")) "," USER(TEXT("also") "," RESULT("a")) "]",
        "[" MODEL(CALL("a")) "," USER(RESULT("a") "," TEXT("also")) "]");
  GIVES(&BLOCKS, "[" MODEL(CALL("a") "," CALL("b")) "," USER(RESULT("b") "," IMAGE "," RESULT("a")) "]",
        "[" MODEL(CALL("a") "," CALL("b")) "," USER(RESULT("a") "," RESULT("b") "," IMAGE) "]");
  SAME(&BARE, "[" MODEL(CALL("a") "," CALL("b")) "," USER(RESULT("b") "," TEXT("x") "," RESULT("a")) "]");
  GIVES(&BLOCKS, /* split over several messages */
        "[" MODEL(CALL("a") "," CALL("b")) "," USER(TEXT("x") "," RESULT("b")) "," USER(RESULT("a") "," TEXT("y")) "]",
        "[" MODEL(CALL("a") "," CALL("b")) "," USER(RESULT("a") "," RESULT("b") "," TEXT("x") "," TEXT("y")) "]");
  GIVES(&BLOCKS, "[" MODEL(CALL("a") "," CALL("b") "," CALL("c")) "," USER(RESULT("c") "," TEXT("x") "," RESULT("b") ","
                 RESULT("a")) "]", "[" MODEL(CALL("a") "," CALL("b") "," CALL("c")) "," USER(RESULT("a") "," RESULT("b")
                 "," RESULT("c") "," TEXT("x")) "]");
}

static void merging_blocks(void) { /* N9, N10 */
  GIVES(&BLOCKS, "[" USER(TEXT("do it")) "," MODEL(TEXT("ok") "," CALL("a")) "," USER(RESULT("a")) "," USER(TEXT("vai"))
                 "," MODEL(TEXT("next")) "]",
        "[" USER(TEXT("do it")) "," MODEL(TEXT("ok") "," CALL("a")) "," USER(RESULT("a") "," TEXT("vai")) ","
        MODEL(TEXT("next")) "]");
  GIVES(&BLOCKS, "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"},{\"role\":\"user\"},"
                 USER(TEXT("c")) "]", "[" USER(TEXT("a") "," TEXT("b") "," TEXT("c")) "]");
  GIVES(&BLOCKS, "[" MODEL(THINK("t1") "," TEXT("x")) "," MODEL(THINK("t2") "," HIDDEN "," TEXT("y")) "]",
        "[" MODEL(THINK("t1") "," TEXT("x") "," TEXT("y")) "]");
  GIVES(&BLOCKS, "[" MODEL(CALL("a")) "," MODEL(CALL("b")) "," USER(RESULT("a") "," RESULT("b")) "]",
        "[" MODEL(CALL("a") "," CALL("b")) "," USER(RESULT("a") "," RESULT("b")) "]");
  SAME(&BARE, "[" USER(TEXT("a")) "," USER(TEXT("b")) "]");
}

static void merging_texts(void) { /* N11 */
  GIVES(&TEXTS, "[{\"role\":\"user\",\"content\":\"First\"},{\"role\":\"user\",\"content\":\"Second\"}]",
        "[" USER(TEXT("First\\n\\nSecond")) "]");
  GIVES(&TEXTS, "[" USER(TEXT("a") "," TEXT("b")) "," USER(TEXT("c") "," TEXT("d")) "," USER(TEXT("e")) "]",
        "[" USER(TEXT("a") "," TEXT("b\\n\\nc") "," TEXT("d\\n\\ne")) "]");
  GIVES(&TEXTS, "[" USER(TEXT("a")) "," USER(IMAGE "," TEXT("b")) "," USER(TEXT("c")) "]",
        "[" USER(TEXT("a") "," IMAGE "," TEXT("b") "," TEXT("c")) "]");
  GIVES(&TEXTS, "[" MODEL(CALL("a")) "," USER(RESULT("a")) "," USER(TEXT("x")) "," USER(TEXT("y")) "]",
        "[" MODEL(CALL("a")) "," USER(RESULT("a") "," TEXT("x\\n\\ny")) "]");
  GIVES(&TEXTS, "[" USER(TEXT("q")) "," MODEL(TEXT("a")) "," MODEL(TEXT("b")) "]",
        "[" USER(TEXT("q")) "," MODEL(TEXT("a\\n\\nb")) "]");
  GIVES(&TEXTS,
        "[" MODEL(TEXT("a")) "," MODEL(CALL("x")) "," MODEL(CALL("y")) "," USER(RESULT("x") "," RESULT("y")) "]",
        "[" MODEL(TEXT("a") "," CALL("x") "," CALL("y")) "," USER(RESULT("x") "," RESULT("y")) "]");
  SAME(&TEXTS, "[" MODEL(TEXT("a")) "," MODEL(TEXT("b") "," CALL("x")) "," USER(RESULT("x")) "," MODEL(TEXT("c")) "]");
  GIVES(&TEXTS, /* nothing may stand between a call and its result */
        "[" MODEL(TEXT("a") "," CALL("x")) "," MODEL(TEXT("b")) "," USER(RESULT("x")) "]",
        "[" MODEL(TEXT("a\\n\\nb") "," CALL("x")) "," USER(RESULT("x")) "]");
}

static void foreign_data(void) { /* N13 */
#define WITH(type, fields, p, m) "{\"type\":\"" type "\"," fields "," FROM(p, m) "}"
  const char *ours = "[" MODEL(
    WITH("thinking", "\"thinking\":\"t\",\"signature\":\"s\"", "p", "m") ","
    WITH("redacted_thinking", "\"data\":\"d\"", "p", "m") "," WITH("opaque", "\"kind\":\"k\"", "p", "m") ","
    WITH("text", "\"text\":\"x\"", "p", "m")) "," USER(TEXT("q")) "]";
  const char *model = "[" MODEL(
    WITH("thinking", "\"thinking\":\"t\",\"signature\":\"s\"", "p", "n") ","
    WITH("redacted_thinking", "\"data\":\"d\"", "p", "n") "," WITH("opaque", "\"kind\":\"k\"", "p", "n") ","
    WITH("text", "\"text\":\"x\"", "p", "n")) "," USER(TEXT("q")) "]";
  const char *provider = "[" MODEL(
    WITH("thinking", "\"thinking\":\"t\",\"signature\":\"s\"", "o", "m") ","
    WITH("tool_use", "\"id\":\"a\",\"name\":\"f\",\"arguments\":{}", "o", "m") ","
    WITH("refusal", "\"text\":\"no\"", "o", "m")) "," USER(RESULT("a")) "]";
  SAME(&BLOCKS, ours);
  SAME(&TEXTS, ours);
  GIVES(&BLOCKS, model, "[" MODEL(TEXT("x")) "," USER(TEXT("q")) "]");
  GIVES(&TEXTS, model, "[" MODEL(TEXT("x")) "," USER(TEXT("q")) "]");
  GIVES(&BLOCKS, provider, "[" MODEL(CALL("a") ",{\"type\":\"refusal\",\"text\":\"no\"}") "," USER(RESULT("a")) "]");
  /* thinking from nowhere: a signature makes it the signing wire's own */
  SAME(&BLOCKS, "[" MODEL(THINK("t") "," HIDDEN "," TEXT("x")) "]");
  GIVES(&TEXTS, "[" MODEL(THINK("t") "," HIDDEN "," TEXT("x")) "]", "[" MODEL(TEXT("x")) "]");
  GIVES(&BLOCKS, "[" MODEL("{\"type\":\"thinking\",\"thinking\":\"t\"}," TEXT("x")) "]", "[" MODEL(TEXT("x")) "]");
  GIVES(&BLOCKS, "[" MODEL("{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"\"}," TEXT("x")) "]",
        "[" MODEL(TEXT("x")) "]");
  GIVES(&BLOCKS, /* its own, but the stream broke before the signature */
        "[" MODEL("{\"type\":\"thinking\",\"thinking\":\"t\",\"provider_data\":{\"provider\":\"p\",\"model\":\"m\"}},"
                  TEXT("x")) "]", "[" MODEL(TEXT("x")) "]");
  /* a reply of nothing but foreign thinking vanishes, and its neighbours meet */
  GIVES(&TEXTS, "[" USER(TEXT("a")) "," MODEL(THINK("t")) "," USER(TEXT("b")) "]", "[" USER(TEXT("a\\n\\nb")) "]");
}

static void longer_histories_keep_their_beginning(void) {
  static const char *const HISTORY[] = {
    USER(TEXT("q")), MODEL(THINK("t") "," CALL("a:1") "," CALL("a/1")), USER(RESULT("a/1") "," RESULT("a:1")),
    MODEL(TEXT("x") "," CALL("a_1")), USER(TEXT("y") "," RESULT("a_1")), MODEL(TEXT("z")), USER(TEXT("w"))
  };
  struct mem m = mem_libc();
  char before[4096] = "", in[4096] = "[", now[4096];
  for (size_t i = 0; i < sizeof HISTORY / sizeof *HISTORY; i++) {
    struct arena a;
    struct buf b;
    struct err e;
    struct node *request;
    strcat(strcat(in, i > 0 ? "," : ""), HISTORY[i]);
    if (strstr(HISTORY[i], "tool_use\",") != NULL) continue; /* waits for results */
    arena_init(&a, &m);
    buf_init(&b, &m);
    request = request_of(&a, strcat(strcpy(now, in), "]"));
    CHECK(normalise_messages(&a, request, &BLOCKS, &e) == 0);
    CHECK(json_write(&b, node_get(request, "messages"), &e) == 0);
    CHECK(b.n - 1 >= strlen(before) && memcmp(b.p, before, strlen(before)) == 0);
    memcpy(before, b.p, b.n - 1);
    before[b.n - 1] = '\0';
    buf_free(&b);
    arena_free(&a);
  }
}

static void many_calls_of_one_id(void) {
  enum { TURNS = 20000 };
  struct mem m = mem_libc();
  struct arena a;
  struct buf b;
  struct err e;
  struct node *request;
  arena_init(&a, &m);
  buf_init(&b, &m);
  CHECK(buf_addc(&b, '[') == 0);
  for (int i = 0; i < TURNS; i++)
    CHECK(buf_adds(&b, i > 0 ? "," : "") == 0 && buf_adds(&b, MODEL(CALL("call_0")) "," USER(RESULT("call_0"))) == 0);
  CHECK(buf_adds(&b, "]") == 0 && buf_addc(&b, '\0') == 0);
  request = request_of(&a, b.p);
  CHECK(normalise_messages(&a, request, &BLOCKS, &e) == 0);
  struct node *last = node_get(request, "messages")->last;
  struct str id = node_str(node_get(node_get(last, "content")->child, "tool_use_id"));
  CHECK_STR(id.p, id.n, "call_0_20000");
  buf_free(&b);
  arena_free(&a);
}

/* {{{ failing allocations */

static int everything(const struct mem *m, const struct norm *n) {
  static const char IN[] = "[{\"role\":\"user\",\"content\":1},{\"role\":\"user\",\"content\":\"b\"},"
    MODEL(THINK("t") "," TEXT("x") "," CALL("a:b") "," CALL("a/b") "," CALL("")) "," USER(TEXT("y")) ","
    USER(RESULT("a/b") "," TEXT("z")) "," MODEL(TEXT("u")) "," MODEL(TEXT("v")) "," USER(RESULT("a:b")) "]";
  struct arena a;
  struct err e;
  struct node *request;
  int bad;
  err_clear(&e);
  arena_init(&a, m);
  request = node_new(&a, NODE_OBJECT);
  bad = request == NULL || node_set(request, STR("messages"), json_tree(&a, STR(IN), DEPTH, &e)) != 0;
  if (!bad && normalise_messages(&a, request, n, &e) != 0) {
    CHECK(e.kind == KIND_MEMORY);
    bad = 1;
  }
  arena_free(&a);
  return bad ? -1 : 0;
}

static int bare(const struct mem *m) { return everything(m, &BARE); }
static int blocks(const struct mem *m) { return everything(m, &BLOCKS); }
static int texts(const struct mem *m) { return everything(m, &TEXTS); }

/* }}} */

int main(void) {
  content_to_blocks();
  empty_content();
  orphan_results();
  unanswered_calls();
  said_twice();
  tool_ids();
  tool_names();
  results_come_first();
  merging_blocks();
  merging_texts();
  foreign_data();
  longer_histories_keep_their_beginning();
  many_calls_of_one_id();
  each_allocation_failing(bare);
  each_allocation_failing(blocks);
  each_allocation_failing(texts);
  return test_done("history/normalise");
}
