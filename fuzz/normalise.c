/*
** normalise.c: whatever request passes the check, the rules make it legal, and a second time they change nothing.
** The first byte picks the wire. Then comes the request as JSON, or bytes that are read as a script of messages: JSON
** tests the check, scripts the rules. Build with -fsanitize=fuzzer,address,undefined.
*/
#include <stdint.h>
#include <stdlib.h>

#include "core/history/normalise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH 64
#define REQUIRE(cond) ((cond) ? (void)0 : abort())

static struct norm wire(uint8_t pick) {
  static const char *const CHARS[] = { NULL, "word-", "alnum9", "word-" };
  static const size_t MAX[] = { 0, 9, 0, 64 };
  return (struct norm){
    .origin = { STR("p"), STR("m"), STR("w") }, .signed_thinking = pick & 1, .drop_blank_text = pick >> 1 & 1,
    .merge_blocks = (pick & 12) == 4, .merge_text = (pick & 12) == 8, .results_first = pick >> 4 & 1,
    .id_chars = CHARS[pick >> 5 & 3], .id_max = MAX[pick >> 5 & 3]
  };
}

static int is(const struct node *block, const char *type) {
  return str_is(node_str(node_get(block, "type")), type, strlen(type));
}

/* {{{ a script: each byte one block or the start of a message */

static void member(struct arena *a, struct node *o, const char *key, const char *text) {
  struct str s = { text, strlen(text) };
  REQUIRE(node_set(o, (struct str){ key, strlen(key) }, node_string(a, s)) == 0);
}

static void origin(struct arena *a, struct node *block, unsigned pick) {
  static const char *const MODEL[] = { "m", "other", "m", "m" };
  struct node *o;
  if (pick == 3) return;
  o = node_new(a, NODE_OBJECT);
  member(a, o, "provider", pick == 2 ? "other" : "p");
  member(a, o, "model", MODEL[pick]);
  member(a, o, "raw", "{}");
  REQUIRE(node_set(block, STR("provider_data"), o) == 0);
}

static struct node *user_block(struct arena *a, unsigned pick, const char *id) {
  static const char *const TEXT[] = { "", " ", "x", "y " };
  struct node *b = node_new(a, NODE_OBJECT);
  if (pick < 4) {
    member(a, b, "type", "text");
    member(a, b, "text", TEXT[pick]);
  } else if (pick == 4) {
    member(a, b, "type", "image");
    member(a, b, "source", "https://h/i");
  } else {
    member(a, b, "type", "tool_result");
    member(a, b, "tool_use_id", id);
    member(a, b, "content", "r");
  }
  return b;
}

static struct node *assistant_block(struct arena *a, unsigned pick, const char *id) {
  struct node *b = node_new(a, NODE_OBJECT);
  if (pick >= 5) {
    member(a, b, "type", "tool_use");
    member(a, b, "id", id);
    member(a, b, "name", "f");
    REQUIRE(node_set(b, STR("arguments"), node_new(a, NODE_OBJECT)) == 0);
  } else if (pick == 0) {
    member(a, b, "type", "thinking");
    member(a, b, "thinking", "t");
    member(a, b, "signature", "s");
  } else if (pick == 1) {
    member(a, b, "type", "redacted_thinking");
    member(a, b, "data", "d");
  } else {
    return user_block(a, pick == 2 ? 1 : 2, "");
  }
  return b;
}

/* Two bits say what: a new user message, a new assistant message, a block (twice as likely). */
static struct node *script(struct arena *a, const uint8_t *p, size_t n) {
  static const char *const ID[] = { "a", "b", "a:b", "a/b", "a_b", "", "aaaaaaaaaaaaaaaaaaaa", "Ab3dEf7hI" };
  struct node *request = node_new(a, NODE_OBJECT), *list = node_new(a, NODE_ARRAY), *content = NULL;
  int assistant = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned what = p[i] & 3, pick = p[i] >> 2 & 7, id = p[i] >> 5;
    if (what < 2 || content == NULL) {
      struct node *m = node_new(a, NODE_OBJECT);
      assistant = what == 1;
      member(a, m, "role", assistant ? "assistant" : "user");
      content = node_new(a, pick == 0 ? NODE_OBJECT : NODE_ARRAY); /* as an empty Lua table arrives */
      content->type = pick == 0 && i + 1 < n && (p[i + 1] & 3) >= 2 ? NODE_ARRAY : content->type;
      REQUIRE(node_set(m, STR("content"), content) == 0 && node_add(list, m) == 0);
    } else {
      struct node *b = assistant ? assistant_block(a, pick, ID[id]) : user_block(a, pick, ID[id]);
      if (what == 3) origin(a, b, id & 3);
      REQUIRE(node_add(content, b) == 0);
    }
  }
  REQUIRE(node_set(request, STR("messages"), list) == 0);
  return request;
}

/* }}} */

/* {{{ what must hold afterwards */

static size_t count(const struct node *content, const char *type) {
  size_t n = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) n += (size_t)is(b, type);
  return n;
}

static const struct node *result_of(const struct node *content, struct str id) {
  const struct node *found = NULL;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (!is(b, "tool_result") || !str_same(node_str(node_get(b, "tool_use_id")), id)) continue;
    REQUIRE(found == NULL);
    found = b;
  }
  return found;
}

static void check_id(const struct norm *n, struct str id) {
  REQUIRE(id.n > 0);
  if (n->id_max > 0) REQUIRE(id.n <= n->id_max);
  if (n->id_chars == NULL) return;
  if (strcmp(n->id_chars, "alnum9") == 0) REQUIRE(id.n == 9);
  for (size_t i = 0; i < id.n; i++) {
    char c = id.p[i];
    int letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    REQUIRE(letter || (n->id_chars[0] == 'w' && (c == '_' || c == '-')));
  }
}

/* Every call of the reply m .. end (not included) has its result in `end`, and that message has no other results. */
static void check_reply(const struct norm *n, const struct node *m, const struct node *end) {
  const struct node *answers = end == NULL ? NULL : node_get(end, "content");
  size_t calls = 0;
  for (; m != end; m = m->next)
    for (const struct node *b = node_get(m, "content")->child; b != NULL; b = b->next) {
      REQUIRE(!is(b, "tool_result"));
      if (!is(b, "tool_use")) continue;
      check_id(n, node_str(node_get(b, "id")));
      REQUIRE(answers != NULL && result_of(answers, node_str(node_get(b, "id"))) != NULL);
      calls++;
    }
  if (answers == NULL) return;
  REQUIRE(count(answers, "tool_result") == calls);
  const struct node *b = answers->child;
  for (size_t i = 0; n->results_first && i < calls; i++, b = b->next) REQUIRE(is(b, "tool_result"));
}

static int assistant(const struct node *m) { return str_eq(node_str(node_get(m, "role")), "assistant"); }

static void check_messages(const struct norm *n, const struct node *messages) {
  const struct node *m, *end, *before = NULL;
  REQUIRE(messages->type == NODE_ARRAY && messages->count > 0);
  for (m = messages->child; m != NULL; m = m->next) {
    REQUIRE(node_is(node_get(m, "content"), NODE_ARRAY) && node_get(m, "content")->count > 0);
    if (before != NULL && n->merge_blocks) REQUIRE(assistant(m) != assistant(before));
    if (before != NULL && n->merge_text && !assistant(m)) REQUIRE(assistant(before));
    if (before != NULL && n->merge_text && assistant(before) && count(node_get(before, "content"), "tool_use") > 0)
      REQUIRE(!assistant(m));
    if (!assistant(m) && (before == NULL || !assistant(before)))
      REQUIRE(count(node_get(m, "content"), "tool_result") == 0);
    before = m;
  }
  for (m = messages->child; m != NULL; m = end == NULL ? NULL : end->next) {
    for (end = m; end != NULL && assistant(end); end = end->next) continue;
    if (end != m) check_reply(n, m, end);
  }
}

/* Equal ids would make two calls one. */
static void check_distinct(const struct node *messages) {
  for (const struct node *m = messages->child; m != NULL; m = m->next)
    for (const struct node *b = node_get(m, "content")->child; b != NULL; b = b->next)
      for (const struct node *k = m; is(b, "tool_use") && k != NULL; k = k->next)
        for (const struct node *c = k == m ? b->next : node_get(k, "content")->child; c != NULL; c = c->next)
          REQUIRE(!is(c, "tool_use") || !str_same(node_str(node_get(b, "id")), node_str(node_get(c, "id"))));
}

/* }}} */

static void run(struct arena *a, struct node *request, const struct norm *n) {
  struct buf once, twice;
  struct err e;
  err_clear(&e);
  if (normalise_check(request, &e) != 0) {
    REQUIRE(e.kind == KIND_ARGUMENT && e.field[0] != '\0' && e.expected[0] != '\0');
    return;
  }
  if (normalise_messages(a, request, n, &e) != 0) {
    REQUIRE(e.kind == KIND_ARGUMENT);
    return;
  }
  check_messages(n, node_get(request, "messages"));
  if (node_get(request, "messages")->count < 200) check_distinct(node_get(request, "messages"));
  REQUIRE(normalise_tools(a, request, n->merge_text, &e) == 0);
  buf_init(&once, a->m);
  buf_init(&twice, a->m);
  if (json_write(&once, request, &e) == 0) {
    REQUIRE(normalise_check(request, &e) == 0 && normalise_messages(a, request, n, &e) == 0);
    REQUIRE(normalise_tools(a, request, n->merge_text, &e) == 0 && json_write(&twice, request, &e) == 0);
    REQUIRE(str_same(buf_str(&once), buf_str(&twice)));
  }
  buf_free(&twice);
  buf_free(&once);
}

/* The argument bytes of a model, read and written back. */
static void run_arguments(struct arena *a, struct str bytes) {
  struct node *arguments, *again, *call = node_new(a, NODE_OBJECT);
  struct str json, out;
  const char *problem;
  REQUIRE(normalise_read_arguments_within(a, bytes, DEPTH, &(size_t){ 0 }, &arguments, &json, &problem) == 0);
  REQUIRE(arguments->type == NODE_OBJECT && (problem == NULL || arguments->count == 0));
  if (problem != NULL) return;
  REQUIRE(node_set(call, STR("arguments"), arguments) == 0);
  REQUIRE(node_set(call, STR("arguments_json"), node_string(a, json)) == 0);
  out = normalise_arguments(a, call, DEPTH);
  REQUIRE(out.p != NULL);
  REQUIRE(normalise_read_arguments_within(a, out, DEPTH, &(size_t){ 0 }, &again, &json, &problem) == 0);
  REQUIRE(problem == NULL && node_equal(again, arguments));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *request;
  struct norm n;
  struct str s;
  if (size < 2) return 0;
  arena_init(&a, &m);
  n = wire(data[0]);
  s = (struct str){ (const char *)data + 1, size - 1 };
  request = data[1] == '{' ? json_tree(&a, s, DEPTH, &e) : script(&a, data + 1, size - 1);
  if (request != NULL) run(&a, request, &n);
  run_arguments(&a, s);
  arena_free(&a);
  return 0;
}
