/* recordings.c: recorded answers of many providers, through the whole exchange. KOINE_RECORDINGS names the
** folder that has them; without it there is nothing to do. */
#include "codec/kit.h"
#include "core/exchange/exchange.h"
#include "support/file.h"

#define BYTES(s) (int)(s).n, (s).n > 0 ? (s).p : ""

/* {{{ one answer */

struct recording {
  int status;
  struct str type, body;
};

static int load(struct arena *a, const struct mem *m, const char *path, struct recording *r) {
  struct buf b;
  struct err e;
  const struct node *response;
  struct str text;
  buf_init(&b, m);
  if (whole_file(path, &b) != 0) {
    perror(path);
    buf_free(&b);
    return -1;
  }
  text = arena_dup(a, buf_str(&b));
  buf_free(&b);
  response = node_get(json_tree(a, text, 64, &e), "response");
  if (response == NULL) return -1;
  r->status = (int)node_get(response, "status")->u.i;
  r->type = node_str(node_get(node_get(response, "headers"), "content-type"));
  r->body = node_str(node_get(response, "body"));
  return 0;
}

/* The answer in pieces of `step` bytes (0 = whole). *x must be freed; its progress at the end. */
static enum progress replay(const struct mem *m, const struct exchange_spec *spec, const struct recording *r,
                            size_t step, struct exchange **x) {
  struct header h = { STR("content-type"), r->type };
  struct err e;
  struct event delta;
  enum progress p = EXCHANGE_MORE;
  *x = exchange_new(m, spec, &e);
  if (*x == NULL || exchange_head(*x, r->status, &h, 1) != 0) return EXCHANGE_FAILED;
  for (size_t at = 0; at < r->body.n && p != EXCHANGE_FAILED; at += step) {
    struct buf b;
    if (step == 0) step = r->body.n;
    buf_init(&b, m);
    (void)buf_add(&b, r->body.p + at, step < r->body.n - at ? step : r->body.n - at);
    (void)exchange_feed(*x, &b);
    buf_free(&b);
    while ((p = exchange_next(*x, &delta)) == EXCHANGE_DELTA) {}
  }
  exchange_eof(*x, NULL);
  while ((p = exchange_next(*x, &delta)) == EXCHANGE_DELTA) {}
  return p;
}

/* }}} */

/* {{{ what it says, in a line */

static size_t add(char *s, size_t n, const char *key, const struct node *v) {
  if (v != NULL) n += (size_t)sprintf(s + n, " %s=%lld", key, (long long)v->u.i);
  return n;
}

/* Blocks by type, text and reasoning by length; calls whole; token counts; warnings. */
static void summarise(const struct node *message, char *s) {
  const struct node *usage = node_get(message, "usage"), *warnings = node_get(message, "warnings");
  struct str stop = node_str(node_get(message, "stop_reason"));
  size_t n = (size_t)sprintf(s, "%.*s", BYTES(stop));
  for (const struct node *b = node_get(message, "content")->child; b != NULL; b = b->next) {
    struct str type = node_str(node_get(b, "type"));
    const struct node *text = node_get(b, "text") ? node_get(b, "text") : node_get(b, "thinking");
    n += (size_t)sprintf(s + n, ", %.*s", BYTES(type));
    if (text != NULL) n += (size_t)sprintf(s + n, " %zu", text->s.n);
    if (str_eq(type, "tool_use"))
      n += (size_t)sprintf(s + n, " %.*s %.*s%s", BYTES(node_str(node_get(b, "name"))),
                           BYTES(node_str(node_get(b, "arguments_json"))),
                           node_get(b, "arguments_error") ? " bad" : "");
    if (node_get(node_get(b, "provider_data"), "raw") != NULL) n += (size_t)sprintf(s + n, " raw");
  }
  n += (size_t)sprintf(s + n, ";");
  n = add(s, n, "in", node_get(usage, "input_tokens"));
  n = add(s, n, "out", node_get(usage, "output_tokens"));
  n = add(s, n, "read", node_get(usage, "cache_read_tokens"));
  n = add(s, n, "reasoning", node_get(usage, "reasoning_tokens"));
  for (const struct node *w = warnings->child; w != NULL; w = w->next)
    n += (size_t)sprintf(s + n, " !%.*s", BYTES(node_str(node_get(w, "code"))));
}

static void summarise_error(const struct err *e, char *s) {
  sprintf(s, "error %s %d %s%s", kind_name(e->kind), e->status, e->code, err_retryable(e) ? " retryable" : "");
}

/* }}} */

/* {{{ the answer goes back */

static int set(struct arena *a, struct node *o, const char *key, struct node *v) {
  return node_set(o, arena_dup(a, z(key)), v);
}

static struct node *message(struct arena *a, const char *role, struct node *content) {
  struct node *m = node_new(a, NODE_OBJECT);
  (void)set(a, m, "role", node_string(a, z(role)));
  (void)set(a, m, "content", content);
  return m;
}

/* A request with the message in its history renders, and every call and result has the same id. */
static void send_back(const struct mem *m, const struct exchange_spec *spec, struct node *answer, const char *path) {
  struct arena a;
  struct buf body, to;
  struct err e;
  struct node *request, *messages, *results;
  struct render r = { .a = &a, .quirks = spec->quirks, .provider = spec->provider, .body = &body,
                      .path = &to };
  size_t calls = 0, tools = 0;
  arena_init(&a, m);
  buf_init(&body, m);
  buf_init(&to, m);
  request = r.request = node_new(&a, NODE_OBJECT);
  r.headers = node_new(&a, NODE_OBJECT);
  r.warnings = node_new(&a, NODE_ARRAY);
  messages = node_new(&a, NODE_ARRAY);
  results = node_new(&a, NODE_ARRAY);
  for (const struct node *b = node_get(answer, "content")->child; b != NULL; b = b->next) {
    struct node *result = node_new(&a, NODE_OBJECT);
    if (!str_eq(node_str(node_get(b, "type")), "tool_use")) continue;
    calls++;
    (void)set(&a, result, "type", node_string(&a, STR("tool_result")));
    (void)set(&a, result, "tool_use_id", node_string(&a, node_str(node_get(b, "id"))));
    (void)set(&a, result, "content", node_string(&a, STR("fine")));
    (void)node_add(results, result);
  }
  (void)node_add(messages, message(&a, "user", node_string(&a, STR("q"))));
  (void)node_add(messages, message(&a, "assistant", node_copy(&a, node_get(answer, "content"))));
  (void)node_add(messages, message(&a, "user", calls > 0 ? results : node_string(&a, STR("go on"))));
  (void)set(&a, request, "model", node_string(&a, spec->model));
  (void)set(&a, request, "messages", messages);
  if (codec_chat.render(&r, &e) != 0) {
    fprintf(stderr, "%s: %s\n", path, e.message);
    test_failed++;
  } else {
    const struct node *sent = json_tree(&a, buf_str(&body), 64, &e);
    for (const struct node *v = node_get(sent, "messages")->child; v != NULL; v = v->next)
      if (str_eq(node_str(node_get(v, "role")), "tool")) tools++;
    CHECK(tools == calls);
  }
  buf_free(&body);
  buf_free(&to);
  arena_free(&a);
}

/* }}} */

static const struct { const char *path, *quirks, *says; } CASES[] = {
  { "openai-chat/cached-tokens.json", NULL,
    "end_turn, text 1951; in=125 out=353 read=1024 reasoning=0" },
  { "openai-chat/error-400-validation.json", NULL,
    "error invalid_request 400 decimal_above_max_value" },
  { "openai-chat/stream-length-in-tool-arguments.json", NULL,
    "max_tokens, tool_use file_report {\"summary\":\"The cache warmer raced bad; in=101 out=16 read=0 reasoning=0" },
  { "openai-chat/stream-parallel-tool-calls.json", NULL,
    "tool_use, tool_use add {\"a\": 2, \"b\": 3}, tool_use multiply {\"a\": 2, "
    "\"b\": 3}; in=106 out=50 read=0 reasoning=0" },
  { "openai-chat/stream-refusal.json", NULL,
    "refusal, refusal 45; in=49 out=12 read=0 reasoning=0" },
  { "openai-chat/stream-text-usage-chunk.json", NULL,
    "end_turn, text 5; in=19 out=75 read=0 reasoning=64" },
  { "openai-chat/text.json", NULL,
    "end_turn, text 5; in=19 out=139 read=0 reasoning=128" },
  { "openai-chat/tool-call.json", NULL,
    "tool_use, tool_use weather {\"location\":\"Florence, Italy\"}; in=64 out=25 read=0 reasoning=0" },
  { "azure-openai-chat/error-429-retry-after.json", NULL,
    "error rate_limit 429 RateLimitReached retryable" },
  { "copilot-chat/claude-split-choices.json", "{'reasoning_field':'reasoning_text'}",
    "tool_use, text 65, tool_use weather {\"location\":\"London, UK\",\"units\":\"celsius\"}; in=900 out=85" },
  { "copilot-chat/stream-reasoning-text-opaque.json", "{'reasoning_field':'reasoning_text'}",
    "tool_use, thinking 641 raw, text 76, "
    "tool_use file_search {\"query\":\"**/quotes.lua\"}; in=6009 out=123 read=0 reasoning=92" },
  { "copilot-chat/stream-text.json", "{'reasoning_field':'reasoning_text'}",
    "end_turn, text 138;" },
  { "copilot-chat/stream-tool-call.json", "{'reasoning_field':'reasoning_text'}",
    "tool_use, tool_use get_weather {\"city\":\"Paris\",\"country\":\"France\",\"unit\":\"C\"};" },
  { "deepseek-chat/error-400-context.json", "{'reasoning_field':'reasoning_content'}",
    "error context_overflow 400 invalid_request_error" },
  { "deepseek-chat/reasoning.json", "{'reasoning_field':'reasoning_content'}",
    "end_turn, thinking 42, text 1; in=97 out=17 read=0 reasoning=15" },
  { "deepseek-chat/stream-reasoning-parallel-tools.json", "{'reasoning_field':'reasoning_content'}",
    "tool_use, thinking 146, tool_use get_weather {\"city\": \"Tokyo\"}, "
    "tool_use get_air_quality {\"city\": \"Tokyo\"}; in=108 out=108 read=384 reasoning=30" },
  { "deepseek-chat/stream-tool-call.json", "{'reasoning_field':'reasoning_content'}",
    "tool_use, tool_use best_language_to_learn {}; in=112 out=31 read=384" },
  { "groq-chat/error-400-tool-use-failed.json", "{'reasoning_field':'reasoning'}",
    "error invalid_request 400 tool_use_failed retryable" },
  { "groq-chat/reasoning-json-schema.json", "{'reasoning_field':'reasoning'}",
    "end_turn, thinking 279, text 70; in=260 out=100 reasoning=70" },
  { "groq-chat/stream-error-tool-use-failed.json", "{'reasoning_field':'reasoning'}",
    "error invalid_request 400 tool_use_failed retryable" },
  { "groq-chat/stream-parallel-tool-calls.json", "{'reasoning_field':'reasoning'}",
    "tool_use, text 77, tool_use add {\"a\":2,\"b\":3}, tool_use multiply {\"a\":2,\"b\":3}; in=201 out=58" },
  { "mistral-chat/error-401.json", "{'reasoning_field':'content','tool_id':'alnum9'}",
    "error auth 401 " },
  { "mistral-chat/stream-thinking.json", "{'reasoning_field':'content','tool_id':'alnum9'}",
    "end_turn, thinking 174 raw, text 3; in=31 out=66 read=0" },
  { "mistral-chat/stream-tool-call.json", "{'reasoning_field':'content','tool_id':'alnum9'}",
    "tool_use, tool_use weather {\"latitude\": \"52.5200\", \"longitude\": \"13.4050\"}; in=31 out=28 read=128" },
  { "mistral-chat/thinking.json", "{'reasoning_field':'content','tool_id':'alnum9'}",
    "end_turn, thinking 174 raw, text 3; in=31 out=66 read=0" },
  { "openrouter-chat/error-429.json", "{'reasoning_field':'reasoning_details'}",
    "error rate_limit 429 429 retryable" },
  { "openrouter-chat/stream-annotations.json", "{'reasoning_field':'reasoning_details'}",
    "end_turn, text 90 raw; in=2317 out=53 read=0 reasoning=0" },
  { "openrouter-chat/stream-error-in-chunk.json", "{'reasoning_field':'reasoning_details'}",
    "error invalid_request 400 400" },
  { "openrouter-chat/stream-reasoning-details-tool.json", "{'reasoning_field':'reasoning_details'}",
    "tool_use, thinking 211 raw, "
    "tool_use reasoning_weather {\"city\": \"Berlin\"}; in=626 out=106 read=0 reasoning=54" },
  { "xai-chat/stream-reasoning-tools.json", "{'dedup_reasoning':true,'reasoning_outside_output':true}",
    "tool_use, thinking 134, tool_use add {\"a\":2,\"b\":3}, "
    "tool_use multiply {\"a\":2,\"b\":3}; in=274 out=334 read=192 reasoning=266" },
  { "vllm-chat/reasoning-tool-call.json", NULL,
    "tool_use, thinking 105, tool_use get_weather {\"city\": \"Paris\"}; in=167 out=37 read=0 reasoning=25" },
  { "vllm-chat/stream-usage.json", NULL,
    "end_turn, text 13; in=46 out=14 read=0" },
  { "vllm-chat/text.json", NULL,
    "end_turn, text 151; in=43 out=36" },
  { "llamacpp-chat/error-400-context-stream.json", NULL,
    "error context_overflow 400 exceed_context_size_error" },
  { "llamacpp-chat/error-500-tools.json", NULL,
    "error server 500 server_error retryable" },
  { "llamacpp-chat/stream-reasoning-tool-call.json", NULL,
    "tool_use, thinking 71, tool_use weather {\"location\":\"Florence, Italy\"}; in=139 out=41" },
  { "ollama-chat/stream-reasoning-tool-call.json", NULL,
    "tool_use, thinking 81, tool_use weather {\"latitude\":\"52.5200\",\"longitude\":\"13.4050\"}; in=169 out=55" },
};

static void check(const char *folder, const char *path, const char *quirks, const char *says) {
  static char line[1 << 16], again[1 << 16];
  struct mem m = mem_libc();
  struct arena a;
  struct recording r;
  struct exchange_spec spec = {
    .codec = &codec_chat, .provider = STR("here"), .model = STR("m"), .request_messages = 1
  };
  struct exchange *x;
  char full[1024];
  struct quirks q;
  quirks_default(&q);
  spec.quirks = &q;
  limits_default(&spec.limits);
  arena_init(&a, &m);
  snprintf(full, sizeof full, "%s/%s", folder, path);
  if (quirks != NULL) set_quirks(&q, quirks);
  if (load(&a, &m, full, &r) == 0) {
    spec.stream = r.body.n > 0 && r.body.p[0] != '{';
    for (size_t step = 0; step < 3; step++) {
      enum progress p = replay(&m, &spec, &r, step, &x);
      if (p == EXCHANGE_DONE) summarise(exchange_message(x), step == 0 ? line : again);
      else summarise_error(exchange_error(x), step == 0 ? line : again);
      if (step > 0) test_str(full, (int)step, again, strlen(again), line);
      else if (p == EXCHANGE_DONE) send_back(&m, &spec, exchange_message(x), full);
      exchange_free(x);
    }
    test_str(full, 0, line, strlen(line), says);
  } else test_failed++;
  arena_free(&a);
}

int main(void) {
  const char *folder = getenv("KOINE_RECORDINGS");
  if (folder == NULL || folder[0] == '\0') {
    printf("codec/chat/recordings: KOINE_RECORDINGS is not set, nothing to replay\n");
    return 0;
  }
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
    check(folder, CASES[i].path, CASES[i].quirks, CASES[i].says);
  return test_done("codec/chat/recordings");
}
