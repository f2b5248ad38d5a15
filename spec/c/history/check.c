/* check.c: what a request may look like, and how a wrong one is named. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "support/test.h"
#include "core/history/normalise.h"

#define DEPTH 64

/* Checks the JSON text as a request, or as one message or block called `path`; "" is no complaint. */
static void expect(const char *file, int line, const char *path, const char *in, const char *complaint) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *v;
  int bad;
  arena_init(&a, &m);
  err_clear(&e);
  v = json_tree(&a, (struct str){ in, strlen(in) }, DEPTH, &e);
  if (v == NULL) fprintf(stderr, "test input: %s: %s\n", e.message, in);
  bad = path == NULL ? normalise_check(v, &e) : normalise_check_message(v, path, &e);
  CHECK(bad == (*complaint == '\0' ? 0 : -1));
  test_str(file, line, e.message, strlen(e.message), complaint);
  if (bad != 0) {
    CHECK(e.kind == KIND_ARGUMENT);
    CHECK(strncmp(e.message, e.field, strlen(e.field)) == 0 && strstr(e.message, e.expected) != NULL);
  }
  arena_free(&a);
}

#define REQUEST(in, complaint) expect(__FILE__, __LINE__, NULL, (in), (complaint))
#define BLOCK(in, complaint) expect(__FILE__, __LINE__, "x", (in), (complaint))
#define FINE ""

#define HI "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define MESSAGES(list) "{\"messages\":[" list "]}"
#define USER(blocks) "{\"role\":\"user\",\"content\":[" blocks "]}"
#define MODEL(blocks) "{\"role\":\"assistant\",\"content\":[" blocks "]}"
#define CALL(id) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"f\",\"arguments\":{}}"
#define RESULT(id) "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"r\"}"
#define TYPES "text, image, document, tool_use, tool_result, thinking, redacted_thinking, refusal or opaque expected"

static void messages(void) {
  REQUEST("{" HI "}", FINE);
  REQUEST("{" HI ",\"anything\":{\"else\":[]}}", FINE);
  REQUEST("[]", "request: table expected, got something else");
  REQUEST("{}", "messages: array of messages expected, got nothing");
  REQUEST("{\"messages\":\"hi\"}", "messages: array of messages expected, got \"hi\"");
  REQUEST("{\"messages\":{\"role\":\"user\"}}", "messages: array of messages expected, got a table");
  REQUEST("{\"messages\":{}}", "messages: at least one message expected, got an empty table");
  REQUEST("{\"messages\":[]}", "messages: at least one message expected, got an empty table");
  REQUEST(MESSAGES("\"hi\""), "messages[1]: message {role, content} expected, got \"hi\"");
  REQUEST(MESSAGES("{\"content\":\"x\"}"), "messages[1].role: \"user\" or \"assistant\" expected, got nothing");
  REQUEST(MESSAGES("{\"role\":1}"), "messages[1].role: \"user\" or \"assistant\" expected, got 1");
  REQUEST("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"sytem\"}]}",
          "messages[2].role: \"user\" or \"assistant\" expected, got \"sytem\"");
  REQUEST(MESSAGES("{\"role\":\"system\",\"content\":\"x\"}"),
          "messages[1].role: \"user\" or \"assistant\" (use opts.system for a system prompt) expected, got \"system\"");
  REQUEST(MESSAGES("{\"role\":\"tool\",\"content\":\"x\"}"),
          "messages[1].role: \"user\" or \"assistant\" (a result is a tool_result block of the user) expected, "
          "got \"tool\"");
  REQUEST(MESSAGES("{\"role\":\"user\"}"), FINE);
  REQUEST(MESSAGES("{\"role\":\"user\",\"content\":5}"), FINE);
  REQUEST(MESSAGES("{\"role\":\"user\",\"content\":{}}"), FINE);
  REQUEST(MESSAGES("{\"role\":\"user\",\"content\":[]}"), FINE);
  REQUEST(MESSAGES("{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}"),
          "messages[1].content: string or array of blocks expected, got a table");
}

static void unanswered(void) {
  REQUEST(MESSAGES(MODEL(CALL("call_1")) "," USER(RESULT("call_1"))), FINE);
  REQUEST(MESSAGES(MODEL(CALL("call_1")) "," USER("{\"type\":\"text\",\"text\":\"stop\"}")), FINE);
  REQUEST(MESSAGES(MODEL("{\"type\":\"text\",\"text\":\"x\"}," CALL("call_1"))),
          "messages[1].content[2]: a user message after it with the tool_result of \"call_1\" expected, got none");
  REQUEST(MESSAGES(USER("") "," MODEL(CALL("a")) "," USER(RESULT("a")) "," MODEL(CALL("b")) ","
                   MODEL("{\"type\":\"text\",\"text\":\"x\"}")),
          "messages[4].content[1]: a user message after it with the tool_result of \"b\" expected, got none");
  REQUEST(MESSAGES(MODEL(CALL("a")) "," USER(RESULT("a")) ",{\"role\":\"assistant\",\"content\":\"so far\"}"), FINE);
}

static void blocks(void) {
  BLOCK("{\"type\":\"text\",\"text\":\"\",\"more\":1}", FINE);
  BLOCK("{\"type\":\"text\"}", "x.text: string expected, got nothing");
  BLOCK("{\"type\":\"text\",\"text\":null}", "x.text: string expected, got nothing");
  BLOCK("{\"type\":\"text\",\"text\":1.5}", "x.text: string expected, got a number");
  BLOCK("{\"type\":\"video\"}", "x.type: " TYPES ", got \"video\"");
  BLOCK("{\"type\":7}", "x.type: " TYPES ", got 7");
  BLOCK("{\"type\":\"text\",\"text\":\"\",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}", FINE);
  BLOCK("{\"type\":\"text\",\"text\":\"\",\"cache_control\":true}",
        "x.cache_control: {type = \"ephemeral\"} expected, got true");
  BLOCK("{\"type\":\"text\",\"text\":\"\",\"cache_control\":{}}",
        "x.cache_control.type: \"ephemeral\" expected, got nothing");
  BLOCK("{\"type\":\"text\",\"text\":\"\",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":5}}",
        "x.cache_control.ttl: \"5m\" or \"1h\" expected, got 5");
  BLOCK("{\"type\":\"image\",\"source\":\"iVBO\",\"media_type\":\"image/png\"}", FINE);
  BLOCK("{\"type\":\"image\",\"source\":\"https://h/i.png\"}", FINE);
  BLOCK("{\"type\":\"image\",\"source\":\"data:image/png;base64,iVBO\"}", FINE);
  BLOCK("{\"type\":\"image\",\"source\":\"iVBO\"}", "x.media_type: MIME type (source is no URL) expected, got nothing");
  BLOCK("{\"type\":\"image\",\"source\":\"iVBO\",\"media_type\":\"image/png\\u0000x\"}",
        "x.media_type: MIME type without control characters, such as image/png expected, got \"image/png\"");
  BLOCK("{\"type\":\"image\",\"source\":\"iVBO\",\"media_type\":\"png\"}",
        "x.media_type: MIME type without control characters, such as image/png expected, got \"png\"");
  BLOCK("{\"type\":\"image\",\"source\":\"iVBO\",\"media_type\":\"image/\"}",
        "x.media_type: MIME type without control characters, such as image/png expected, got \"image/\"");
  BLOCK("{\"type\":\"image\",\"source\":\"https://h/i.png\",\"media_type\":\"\\u001f\"}",
        "x.media_type: MIME type without control characters, such as image/png expected, got \" \"");
  BLOCK("{\"type\":\"document\",\"source\":\"iVBO\",\"media_type\":\"a/b\\u007f\"}",
        "x.media_type: MIME type without control characters, such as image/png expected, got \"a/b \"");
  BLOCK("{\"type\":\"document\",\"source\":\"iVBO\",\"media_type\":\"a/\xC3\xA9; b=c\"}", FINE);
  BLOCK("{\"type\":\"document\",\"source\":\"iVBO\",\"media_type\":7}", "x.media_type: string expected, got 7");
#define CITED(citations) "{\"type\":\"document\",\"source\":\"https://x.org\",\"citations\":" citations "}"
  BLOCK(CITED("{\"enabled\":true}"), FINE);
  BLOCK(CITED("true"), "x.citations: {enabled = true} expected, got true");
  BLOCK(CITED("{}"), "x.citations.enabled: true or false expected, got nothing");
  BLOCK(CITED("{\"enabled\":1}"), "x.citations.enabled: true or false expected, got 1");
  BLOCK("{\"type\":\"text\",\"text\":\"t\",\"citations\":7}", FINE);
  BLOCK("{\"type\":\"image\",\"source\":\"\"}", "x.source: non-empty string expected, got \"\"");
  BLOCK("{\"type\":\"document\",\"source\":\"word\",\"media_type\":\"text/plain\",\"title\":\"t\",\"context\":\"c\"}",
        FINE);
  BLOCK("{\"type\":\"document\",\"source\":\"word\",\"media_type\":\"text/plain\",\"title\":[1]}",
        "x.title: string expected, got an array");
  BLOCK("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s\"}", FINE);
  BLOCK("{\"type\":\"thinking\",\"signature\":\"s\"}", "x.thinking: string expected, got nothing");
  BLOCK("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":{}}",
        "x.signature: string expected, got an empty table");
  BLOCK("{\"type\":\"redacted_thinking\",\"data\":\"d\"}", FINE);
  BLOCK("{\"type\":\"redacted_thinking\"}", "x.data: string expected, got nothing");
  BLOCK("{\"type\":\"refusal\",\"text\":\"no\"}", FINE);
  BLOCK("{\"type\":\"refusal\",\"refusal\":\"no\"}", "x.text: string expected, got nothing");
}

static void calls_and_results(void) {
  BLOCK(CALL("a"), FINE);
  BLOCK("{\"type\":\"tool_use\",\"name\":\"f\",\"arguments\":{}}", "x.id: string expected, got nothing");
  BLOCK("{\"type\":\"tool_use\",\"id\":\"a\",\"arguments\":{}}", "x.name: string expected, got nothing");
  BLOCK("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\"}",
        "x.arguments: table with named fields expected, got nothing");
  BLOCK("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"arguments_json\":\"{}\"}", FINE);
  BLOCK("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}",
        "x.arguments: table with named fields expected, got \"{}\"");
  BLOCK("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"arguments\":[]}", FINE);
  BLOCK("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"arguments\":[1]}",
        "x.arguments: table with named fields expected, got an array");
  BLOCK("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"arguments\":{},\"arguments_error\":1}",
        "x.arguments_error: string expected, got 1");
  BLOCK(RESULT("a"), FINE);
  BLOCK("{\"type\":\"tool_result\",\"content\":\"r\"}", "x.tool_use_id: string expected, got nothing");
  BLOCK("{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}",
        "x.content: string or array of blocks expected, got nothing");
  BLOCK("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":3}",
        "x.content: string or array of blocks expected, got 3");
  BLOCK("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":{}}", FINE);
  BLOCK("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"r\",\"is_error\":1}",
        "x.is_error: true or false expected, got 1");
  BLOCK("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"r\"},"
        "{\"type\":\"image\",\"source\":\"https://h/i\"}]}", FINE);
  BLOCK("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"r\"}," RESULT("b")
        "]}",
        "x.content[2].type: text, image or document (in a tool_result) expected, got \"tool_result\"");
  BLOCK("{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[{\"type\":\"text\"}]}",
        "x.content[1].text: string expected, got nothing");
}

static void origins(void) {
  BLOCK("{\"type\":\"text\",\"text\":\"\",\"provider_data\":{\"provider\":\"p\",\"model\":\"m\"}}", FINE);
  BLOCK("{\"type\":\"text\",\"text\":\"\",\"provider_data\":\"p\"}",
        "x.provider_data: {provider, model, wire, raw} expected, got \"p\"");
  BLOCK("{\"type\":\"text\",\"text\":\"\",\"provider_data\":{\"provider\":\"p\"}}",
        "x.provider_data.model: string expected, got nothing");
  BLOCK("{\"type\":\"opaque\",\"provider_data\":{\"provider\":\"p\",\"model\":\"m\",\"raw\":\"{}\"}}", FINE);
  BLOCK("{\"type\":\"opaque\"}", "x.provider_data: {provider, model, wire, raw} expected, got nothing");
  BLOCK("{\"type\":\"opaque\",\"provider_data\":{\"provider\":\"p\",\"model\":\"m\"}}",
        "x.provider_data.raw: what the provider sent expected, got nothing");
}

static void places(void) {
  REQUEST(MESSAGES(USER(CALL("a"))),
          "messages[1].content[1].type: another type (this one belongs in an assistant message) expected, "
          "got \"tool_use\"");
  REQUEST(MESSAGES(USER("{\"type\":\"thinking\",\"thinking\":\"t\"}")),
          "messages[1].content[1].type: another type (this one belongs in an assistant message) expected, "
          "got \"thinking\"");
  REQUEST(MESSAGES(MODEL(RESULT("a"))),
          "messages[1].content[1].type: another type (this one belongs in a user message) expected, "
          "got \"tool_result\"");
  REQUEST(MESSAGES(USER("\"words\"")), "messages[1].content[1]: block (a table with a type) expected, got \"words\"");
  REQUEST(MESSAGES(USER("") "," USER("{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"text\"}")),
          "messages[2].content[2].text: string expected, got nothing");
}

static void system_prompt(void) {
  REQUEST("{" HI ",\"system\":\"x\"}", FINE);
  REQUEST("{" HI ",\"system\":{}}", FINE);
  REQUEST("{" HI ",\"system\":[{\"type\":\"text\",\"text\":\"x\"}]}", FINE);
  REQUEST("{" HI ",\"system\":3}", "system: string or array of text blocks expected, got 3");
  REQUEST("{" HI ",\"system\":[\"x\"]}", "system[1]: text block expected, got \"x\"");
  REQUEST("{" HI ",\"system\":[{\"text\":\"x\"}]}", "system[1].type: \"text\" expected, got nothing");
  REQUEST("{" HI ",\"system\":[{\"type\":\"text\"}]}", "system[1].text: string expected, got nothing");
}

#define TOOL(fields) "{" HI ",\"tools\":[{" fields "}]}"
#define NAMES "tools[1].name: 1 to 64 of A-Z, a-z, 0-9, _ and - expected, got "

static void tools(void) {
  REQUEST(TOOL("\"name\":\"get_weather-2\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"},\"strict\":true"),
          FINE);
  REQUEST(TOOL("\"name\":\"f\",\"parameters\":[]"), FINE);
  REQUEST("{" HI ",\"tools\":{}}", FINE);
  REQUEST("{" HI ",\"tools\":{\"f\":1}}", "tools: array of tools expected, got a table");
  REQUEST("{" HI ",\"tools\":[\"f\"]}", "tools[1]: tool {name, description, parameters} expected, got \"f\"");
  REQUEST(TOOL("\"description\":\"d\""), NAMES "nothing");
  REQUEST(TOOL("\"name\":\"\""), NAMES "\"\"");
  REQUEST(TOOL("\"name\":\"a.b\""), NAMES "\"a.b\"");
  REQUEST(TOOL("\"name\":\"12345678901234567890123456789012345678901234567890123456789012345\""),
          NAMES "\"1234567890123456789012345678901234567890...\"");
  REQUEST("{" HI ",\"tools\":[{\"name\":\"f\"},{\"name\":\"g\"},{\"name\":\"f\"}]}",
          "tools[3].name: a name that no other tool has expected, got \"f\"");
  /* Tools of a provider's own: what they hold is the provider's to judge. */
  REQUEST(TOOL("\"type\":\"x_1\",\"input_schema\":7"), FINE);
  REQUEST(TOOL("\"type\":\"x_1\",\"name\":\"a name\""), FINE);
  REQUEST(TOOL("\"type\":\"function\",\"name\":\"f\""), FINE);
  REQUEST(TOOL("\"type\":7"), "tools[1].type: non-empty string expected, got 7");
  REQUEST(TOOL("\"type\":\"\""), "tools[1].type: non-empty string expected, got \"\"");
  REQUEST(TOOL("\"type\":\"x_1\",\"name\":7"), "tools[1].name: non-empty string expected, got 7");
  REQUEST(TOOL("\"type\":\"x_1\",\"server_tool\":1"), "tools[1].server_tool: true or false expected, got 1");
  REQUEST("{" HI ",\"tools\":[{\"name\":\"f\"},{\"type\":\"x_1\",\"name\":\"f\"}]}",
          "tools[2].name: a name that no other tool has expected, got \"f\"");
  REQUEST(TOOL("\"name\":\"f\",\"description\":1"), "tools[1].description: string expected, got 1");
  REQUEST(TOOL("\"name\":\"f\",\"strict\":1"), "tools[1].strict: true or false expected, got 1");
  REQUEST(TOOL("\"name\":\"f\",\"parameters\":\"{}\""),
          "tools[1].parameters: table with named fields expected, got \"{}\"");
  REQUEST(TOOL("\"name\":\"f\",\"parameters\":{\"type\":\"string\"}"),
          "tools[1].parameters.type: \"object\" expected, got \"string\"");
  REQUEST(TOOL("\"name\":\"f\",\"cache_control\":{\"type\":\"x\"}"),
          "tools[1].cache_control.type: \"ephemeral\" expected, got \"x\"");
}

static void choices(void) {
  REQUEST("{" HI ",\"tool_choice\":\"auto\"}", FINE);
  REQUEST("{" HI ",\"tool_choice\":\"required\"}",
          "tool_choice: \"auto\", \"any\", \"none\" or {type = \"tool\", name = ...} expected, got \"required\"");
  REQUEST("{" HI ",\"tool_choice\":{\"name\":\"f\"}}", "tool_choice.type: \"tool\" expected, got nothing");
  REQUEST("{" HI ",\"tool_choice\":{\"type\":\"tool\"}}", "tool_choice.name: non-empty string expected, got nothing");
  REQUEST("{" HI ",\"tool_choice\":{\"type\":\"tool\",\"name\":\"f\"}}", FINE);
  REQUEST("{" HI ",\"tools\":[{\"name\":\"f\"}],\"tool_choice\":{\"type\":\"tool\",\"name\":\"f\"}}", FINE);
  REQUEST("{" HI ",\"tools\":[{\"name\":\"f\"}],\"tool_choice\":{\"type\":\"tool\",\"name\":\"g\"}}",
          "tool_choice.name: the name of one of the tools expected, got \"g\"");
  REQUEST("{" HI ",\"stop_sequences\":[\"a\"],\"betas\":{}}", FINE);
  REQUEST("{" HI ",\"stop_sequences\":\"a\"}", "stop_sequences: array of strings expected, got \"a\"");
  REQUEST("{" HI ",\"stop_sequences\":[\"a\",1]}", "stop_sequences[2]: string expected, got 1");
  REQUEST("{" HI ",\"betas\":[1]}", "betas[1]: string expected, got 1");
  REQUEST("{" HI ",\"metadata\":{\"user_id\":\"u\"},\"extra\":{}}", FINE);
  REQUEST("{" HI ",\"metadata\":[1]}", "metadata: table with string keys expected, got an array");
  REQUEST("{" HI ",\"extra\":[1]}", "extra: table with string keys expected, got an array");
}

/* JSON text cannot say NaN, a Lua table can. */
static void not_finite(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *call, *list = NULL;
  arena_init(&a, &m);
  err_clear(&e);
  call = json_tree(&a, STR(CALL("a")), DEPTH, &e);
  CHECK((list = node_new(&a, NODE_ARRAY)) != NULL && node_add(list, node_int(&a, 1)) == 0);
  CHECK(node_add(list, node_double(&a, 1.5)) == 0 && node_add(list, node_double(&a, (double)NAN)) == 0);
  CHECK(node_set(node_get(call, "arguments"), STR("list"), list) == 0);
  CHECK(normalise_check_message(call, "tool_use", &e) == -1);
  CHECK_STR(e.message, strlen(e.message), "tool_use.arguments.list[3]: finite number expected, got a number");
  CHECK_STR(e.field, strlen(e.field), "tool_use.arguments.list[3]");
  arena_free(&a);
}

/* Paths and strings of any length are cut, not overrun. */
static void long_names(void) {
  char in[2000] = "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"arguments\":{\"";
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *v, *o;
  arena_init(&a, &m);
  err_clear(&e);
  memset(in + strlen(in), 'k', 1000);
  strcat(in, "\":{\"\xC3\xA9\":{\"z\":1}}}}");
  v = json_tree(&a, (struct str){ in, strlen(in) }, DEPTH, &e);
  CHECK(normalise_check_message(v, "x", &e) == 0);
  for (o = node_get(v, "arguments"); o->child != NULL; o = o->child) continue;
  o->type = NODE_DOUBLE;
  o->u.d = (double)INFINITY;
  CHECK(normalise_check_message(v, "x", &e) == -1);
  CHECK(strncmp(e.field, "x.arguments.kkkk", 16) == 0 && strlen(e.field) == sizeof e.field - 1);
  v = json_tree(&a, STR("{\"role\":\"0123456789012345678901234567890123456789012345678901234567890\"}"), DEPTH, &e);
  CHECK(normalise_check_message(v, "", &e) == -1);
  CHECK_STR(e.message, strlen(e.message),
            "role: \"user\" or \"assistant\" expected, got \"0123456789012345678901234567890123456789...\"");
  arena_free(&a);
}

/* One value of a list of them, by chance. */
#define PICK(state, list) (list)[pick(state, sizeof(list) / sizeof *(list))]

static size_t pick(uint32_t *state, size_t n) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % n;
}

/* A block of some type with some fields of some values; most are wrong. */
static void some_block(struct buf *b, uint32_t *state, int depth) {
  static const char *const types[] = { "text", "image", "document", "tool_use", "tool_result", "thinking",
                                       "redacted_thinking", "refusal", "opaque", "other" };
  static const char *const keys[] = { "text", "source", "media_type", "id", "name", "arguments", "arguments_json",
    "tool_use_id", "thinking", "signature", "data", "provider_data", "cache_control", "citations", "is_error", "title" };
  static const char *const values[] = { "\"aGk=\"", "\"a/b\"", "\"https://x\"", "\"\"", "\"..\"", "null", "true", "7",
    "{}", "[]", "{\"x\":[1,{\"y\":0.5}]}", "{\"type\":\"ephemeral\"}",
    "{\"type\":\"ephemeral\",\"ttl\":\"2h\"}",
    "{\"enabled\":true}", "{\"provider\":\"p\",\"model\":\"m\",\"raw\":\"{}\"}", "{\"provider\":\"p\"}" };
  CHECK(buf_adds(b, "{\"type\":\"") == 0 && buf_adds(b, PICK(state, types)) == 0 && buf_adds(b, "\"") == 0);
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    int likely = k < 11 && pick(state, k == 5 ? 2 : 8) != 0;
    if (pick(state, 6) < (k < 11 ? 2u : 5u)) continue;
    CHECK(buf_adds(b, ",\"") == 0 && buf_adds(b, keys[k]) == 0 && buf_adds(b, "\":") == 0);
    CHECK(buf_adds(b, !likely ? PICK(state, values) : k == 5 ? "{}" : values[pick(state, 3)]) == 0);
  }
  CHECK(buf_adds(b, ",\"content\":[") == 0);
  if (depth > 0 && pick(state, 2) == 0) some_block(b, state, depth - 1);
  CHECK(buf_adds(b, "]}") == 0);
}

/* Makes the numbers with fractions infinite, which JSON cannot say. */
static void spoil(struct node *v) {
  if (v->type == NODE_DOUBLE) v->u.d = (double)INFINITY;
  for (struct node *m = v->child; m != NULL; m = m->next) spoil(m);
}

/* A request is checked without paths first. That says no more and no less than the check of its message with a path. */
static void the_same_without_paths(void) {
  size_t fine = 0;
  for (uint32_t seed = 1; seed <= 20000; seed++) {
    struct mem m = mem_libc();
    struct arena a;
    struct buf b;
    struct err quick, plain;
    struct node *v;
    uint32_t state = seed * 2654435761u;
    int bad;
    arena_init(&a, &m);
    buf_init(&b, &m);
    err_clear(&quick);
    err_clear(&plain);
    CHECK(buf_adds(&b, "{\"messages\":[{\"role\":\"") == 0 &&
          buf_adds(&b, pick(&state, 2) == 0 ? "user" : "assistant") == 0 && buf_adds(&b, "\",\"content\":[") == 0);
    some_block(&b, &state, 1);
    CHECK(buf_adds(&b, "]},{\"role\":\"user\",\"content\":\"x\"}]}") == 0);
    v = json_tree(&a, buf_str(&b), DEPTH, &plain);
    CHECK(v != NULL);
    spoil(v);
    bad = normalise_check(v, &quick);
    fine += bad == 0;
    if (bad != normalise_check_message(node_get(v, "messages")->child, "messages[1]", &plain) ||
        strcmp(quick.message, plain.message) != 0 || strcmp(quick.field, plain.field) != 0) {
      fprintf(stderr, "seed %u: %s, plainly %s\n", (unsigned)seed, quick.message, plain.message);
      CHECK(0);
    }
    buf_free(&b);
    arena_free(&a);
  }
  CHECK(fine > 100 && fine < 10000);
}

int main(void) {
  messages();
  unanswered();
  blocks();
  calls_and_results();
  origins();
  places();
  system_prompt();
  tools();
  choices();
  not_finite();
  long_names();
  the_same_without_paths();
  return test_done("history/check");
}
