/* cuts.c: recorded answers of Ollama's native API through the whole exchange, in two pieces cut at each byte, and
** broken off behind each line: the same message, or an error that says that it broke off, with what had come of the
** message. KOINE_RECORDINGS names the folder that has them; without it an answer written by hand is cut. */
#include <stdlib.h>

#include "core/exchange/exchange.h"
#include "support/file.h"
#include "support/test.h"

/* How often a long body is cut into pieces: at each byte up to so many, then behind each line and at every 257th byte. */
#define EACH 1024

struct outcome {
  enum progress p;
  enum kind kind;
  struct buf json; /* of the message, or of what had arrived */
};

/* An answer of a status and these bytes, in two pieces, then its end. */
static void run(const struct mem *m, struct str body, size_t cut, int stream, struct outcome *o) {
  struct exchange_spec spec = {
    .codec = &codec_ollama, .provider = STR("ollama"), .model = STR("m"), .request_messages = 1, .stream = stream
  };
  struct header h = { STR("content-type"), stream ? STR("application/x-ndjson") : STR("application/json") };
  struct exchange *x;
  struct event delta;
  struct node *tree;
  struct err e;
  struct quirks quirks;
  quirks_default(&quirks);
  spec.quirks = &quirks;
  limits_default(&spec.limits);
  x = exchange_new(m, &spec, &e);
  CHECK(x != NULL && exchange_head(x, 200, &h, 1) == 0);
  (void)exchange_feed_copy(x, body.p, cut);
  while ((o->p = exchange_next(x, &delta)) == EXCHANGE_DELTA) {}
  (void)exchange_feed_copy(x, body.p + cut, body.n - cut);
  while ((o->p = exchange_next(x, &delta)) == EXCHANGE_DELTA) {}
  exchange_eof(x, NULL);
  while ((o->p = exchange_next(x, &delta)) == EXCHANGE_DELTA) {}
  o->kind = o->p == EXCHANGE_FAILED ? exchange_error(x)->kind : KIND_NONE;
  o->json.n = 0;
  tree = exchange_message(x);
  if (node_get(tree, "raw") != NULL) node_remove(tree, node_get(tree, "raw"));
  if (tree != NULL) CHECK(json_write(&o->json, tree, &e) == 0);
  exchange_free(x);
}

static int same(const struct outcome *a, const struct outcome *b) {
  return a->p == b->p && a->kind == b->kind && str_same(buf_str(&a->json), buf_str(&b->json));
}

/* True when a block is what had come of another. */
static int begins(const struct node *part, const struct node *whole) {
  static const char *const TEXTS[] = { "text", "thinking" };
  if (!str_same(node_str(node_get(part, "type")), node_str(node_get(whole, "type")))) return 0;
  for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
    struct str some = node_str(node_get_(part, TEXTS[i], strlen(TEXTS[i])));
    struct str all = node_str(node_get_(whole, TEXTS[i], strlen(TEXTS[i])));
    if (some.n > all.n || (some.n > 0 && memcmp(some.p, all.p, some.n) != 0)) return 0;
  }
  return str_same(node_str(node_get(part, "arguments_json")), node_str(node_get(whole, "arguments_json")));
}

/* True when every block of a message (JSON) is that of another, in its place, or had begun as it does. */
static int is_part(const struct mem *m, struct str part, struct str whole, size_t *blocks) {
  struct arena a;
  struct err e;
  const struct node *some, *all; /* arrays of blocks, then blocks */
  int ok = 1;
  arena_init(&a, m);
  some = node_get(json_tree(&a, part, 64, &e), "content");
  all = node_get(json_tree(&a, whole, 64, &e), "content");
  some = some == NULL ? NULL : some->child;
  all = all == NULL ? NULL : all->child;
  for (; some != NULL && ok; some = some->next, all = all == NULL ? NULL : all->next, ++*blocks)
    ok = all != NULL && begins(some, all);
  arena_free(&a);
  return ok;
}

/* The body with CRLF where it has LF, in the arena. */
static struct str crlf(struct arena *a, struct str s) {
  char *to = arena_alloc(a, 2 * s.n + 1);
  size_t n = 0;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] == '\n') to[n++] = '\r';
    to[n++] = s.p[i];
  }
  return (struct str){ to, n };
}

static void check(const struct mem *m, const char *name, struct str body) {
  int stream = memchr(body.p, '\n', str_trim(body).n) != NULL;
  struct outcome whole = { .p = EXCHANGE_MORE }, again = { .p = EXCHANGE_MORE };
  struct arena a;
  size_t lines = 0, blocks = 0;
  arena_init(&a, m);
  buf_init(&whole.json, m);
  buf_init(&again.json, m);
  run(m, body, body.n, stream, &whole);
  CHECK(whole.p == EXCHANGE_DONE && whole.json.n > 0);
  for (size_t cut = 0; cut < body.n; cut++) {
    if (cut >= EACH && body.p[cut - 1] != '\n' && cut % 257 != 0) continue;
    run(m, body, cut, stream, &again);
    if (!same(&whole, &again)) {
      fprintf(stderr, "%s: cut at %zu\n", name, cut);
      test_failed++;
    }
  }
  run(m, crlf(&a, body), body.n / 2, stream, &again);
  CHECK(same(&whole, &again));
  run(m, str_trim(body), 7, stream, &again);
  CHECK(same(&whole, &again));
  for (size_t n = 0; n < str_trim(body).n; n++) {
    if (body.p[n] != '\n' && n % 997 != 1) continue;
    lines += body.p[n] == '\n';
    run(m, (struct str){ body.p, n + 1 }, n, stream, &again);
    if (again.p != EXCHANGE_FAILED || again.kind != KIND_STREAM_TRUNCATED) {
      fprintf(stderr, "%s: broken off at %zu: %s\n", name, n, kind_name(again.kind));
      test_failed++;
    }
    CHECK(is_part(m, buf_str(&again.json), buf_str(&whole.json), &blocks));
  }
  CHECK(!stream || (lines > 0 && blocks > 0));
  buf_free(&whole.json);
  buf_free(&again.json);
  arena_free(&a);
}

/* The body of a recording, in the arena; p is NULL where there is none. */
static struct str load(struct arena *a, const struct mem *m, const char *path) {
  struct buf b;
  struct err e;
  struct str text = STR_NONE;
  buf_init(&b, m);
  if (whole_file(path, &b) == 0) text = arena_dup(a, buf_str(&b));
  else perror(path);
  buf_free(&b);
  if (text.p == NULL) return STR_NONE;
  return node_str(node_get(node_get(json_tree(a, text, 64, &e), "response"), "body"));
}

static const char *const NAMES[] = {
  "done-reason-length", "stream-cloud", "stream-think-false-leak", "stream-thinking-gpt-oss", "stream-thinking-tool-call",
  "stream-thinking-two-tools", "stream-tools", "structured-output-thinking", "thinking-tool-call"
};

int main(void) {
  static const char OWN[] =
    "{\"model\":\"m1\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"\\u00e9\"},\"done\":false}\n"
    "{\"model\":\"m1\",\"message\":{\"role\":\"assistant\",\"content\":\"a {\\\" \\ud83c\\udf0a\"},\"done\":false}\n"
    "{\"model\":\"m1\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
    "\"arguments\":{\"a\":[1]}}}]},\"done\":false}\n\n"
    "{\"model\":\"m1\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\","
    "\"total_duration\":5,\"prompt_eval_count\":7}\n";
  const char *folder = getenv("KOINE_RECORDINGS");
  struct mem m = mem_libc();
  check(&m, "by hand", STR(OWN));
  for (size_t i = 0; folder != NULL && folder[0] != '\0' && i < sizeof NAMES / sizeof NAMES[0]; i++) {
    struct arena a;
    struct str body;
    char path[1024];
    snprintf(path, sizeof path, "%s/ollama-native/%s.json", folder, NAMES[i]);
    arena_init(&a, &m);
    body = load(&a, &m, path);
    if (body.p != NULL) check(&m, NAMES[i], body);
    else test_failed++;
    arena_free(&a);
  }
  return test_done("codec/ollama/cuts");
}
