/* The common parts of all wire formats: caps, quirks, warnings. */
#include "codec/kit.h"

static void test_limits(void) {
  struct limits l;
  limits_default(&l);
  CHECK(l.line == 33554432 && l.event == 33554432 && l.body == 67108864 && l.decoded == 268435456);
  CHECK(l.argument_bytes == 8388608 && l.high_water == 262144);
  CHECK(l.depth == 128 && l.blocks == 4096 && l.tool_calls == 256);
}

static void test_quirks_default(void) {
  struct quirks q;
  quirks_default(&q);
  CHECK(q.context_window == 0 && !q.thinking_default && !q.no_sampling && q.tool_id_max == 0);
  CHECK_STR(q.max_tokens_field, strlen(q.max_tokens_field), "max_tokens");
  CHECK_STR(q.system_role, strlen(q.system_role), "system");
  CHECK_STR(q.null_content, strlen(q.null_content), "null");
  CHECK_STR(q.reasoning_field, strlen(q.reasoning_field), "none");
  CHECK_STR(q.reasoning_replay, strlen(q.reasoning_replay), "origin");
  CHECK_STR(q.effort, strlen(q.effort), "reasoning_effort");
  CHECK_STR(q.tool_choice_any, strlen(q.tool_choice_any), "required");
  CHECK_STR(q.tool_id, strlen(q.tool_id), "any");
  CHECK_STR(q.route, strlen(q.route), "versioned");
  CHECK_STR(q.structured, strlen(q.structured), "none");
  CHECK_STR(q.schema_dialect, strlen(q.schema_dialect), "plain");
  CHECK(!q.structured_tools && !q.structured_strict && !q.no_json_object);
}

/* Sets a quirk from JSON: 0, or -1 and *e. */
static int set(struct arena *a, struct quirks *q, const char *name, const char *json, struct err *e) {
  struct node *v = json_tree(a, (struct str){ json, strlen(json) }, 8, e);
  err_clear(e);
  return quirks_set(q, (struct str){ name, strlen(name) }, v, e);
}

static void test_quirks_set(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct quirks q;
  struct err e;
  arena_init(&a, &m);
  quirks_default(&q);
  CHECK(set(&a, &q, "no_sampling", "true", &e) == 0 && q.no_sampling == 1);
  CHECK(set(&a, &q, "no_sampling", "false", &e) == 0 && q.no_sampling == 0);
  CHECK(set(&a, &q, "tool_id_max", "40", &e) == 0 && q.tool_id_max == 40);
  CHECK(set(&a, &q, "context_window", "200000.0", &e) == 0 && q.context_window == 200000);
  CHECK(set(&a, &q, "reasoning_field", "\"content\"", &e) == 0);
  CHECK_STR(q.reasoning_field, strlen(q.reasoning_field), "content");

  CHECK(set(&a, &q, "no_sampling", "1", &e) == -1 && e.kind == KIND_ARGUMENT);
  CHECK_STR(e.message, strlen(e.message), "quirks.no_sampling: true or false expected, got 1");
  CHECK(set(&a, &q, "tool_id_max", "-1", &e) == -1);
  CHECK_STR(e.field, strlen(e.field), "quirks.tool_id_max");
  CHECK(set(&a, &q, "tool_id_max", "1.5", &e) == -1 && set(&a, &q, "tool_id_max", "1e300", &e) == -1);
  CHECK(set(&a, &q, "tool_id", "\"nine\"", &e) == -1);
  CHECK_STR(e.message, strlen(e.message), "quirks.tool_id: one of any, alnum9 expected, got \"nine\"");
  CHECK(set(&a, &q, "reasoning_field", "{}", &e) == -1);
  CHECK_STR(e.expected, strlen(e.expected),
            "one of none, reasoning_content, reasoning, reasoning_text, reasoning_details, content");
  CHECK(set(&a, &q, "max_token_field", "true", &e) == -1 && e.kind == KIND_ARGUMENT);
  CHECK_STR(e.message, strlen(e.message), "quirks: name of a known quirk expected, got \"max_token_field\"");
  CHECK(quirks_set(&q, STR("no_stop"), NULL, &e) == -1 && !q.no_stop);
  arena_free(&a);
}

static void test_warnings(void) {
  for (size_t at = 0; at < 12; at++) {
    struct failing f = { .fail_at = at };
    struct mem m = failing_mem(&f);
    struct arena a;
    struct buf b;
    struct err e;
    struct node *list;
    arena_init(&a, &m);
    buf_init(&b, &m);
    list = node_new(&a, NODE_ARRAY);
    if (list != NULL && codec_warn(&a, list, "unsupported_option", "top_p", "left out") == 0 &&
        codec_warn(&a, list, "unclean_end", "", "broke") == 0 && json_write(&b, list, &e) == 0)
      CHECK_STR(b.p, b.n, "[{\"code\":\"unsupported_option\",\"field\":\"top_p\",\"message\":\"left out\"},"
                          "{\"code\":\"unclean_end\",\"message\":\"broke\"}]");
    else CHECK(at > 0);
    buf_free(&b);
    arena_free(&a);
    CHECK(f.live == 0 && f.wrong == 0);
  }
}

/* Options that the codec cannot send are warned of; those that it reads, and other members, are not. */
static void test_options(void) {
  static const char *const OPTIONS[] = { "thinking", "tools", NULL };
  static const struct codec codec = { .name = "a", .options = OPTIONS };
  for (size_t at = 0; ; at++) {
    struct failing f = { .fail_at = at };
    struct mem m = failing_mem(&f);
    struct rendering x;
    int ok = rendering_open(&x, &codec, &m, "{'max_output':1,'messages':[],'model':'m','mood':'glad','no_reasoning':true,"
                                            "'stream':true,'thinking_mode':'none','thinking':false,'tools':[]}") == 0;
    ok = ok && codec_warn_options(&codec, &x.r) == 0 && json_write(&x.body, x.r.warnings, &x.e) == 0;
    if (ok) CHECK_STR(x.body.p, x.body.n, json("[{'code':'unsupported_option','field':'mood',"
                                               "'message':'this wire format has no word for it: left out'}]"));
    rendering_close(&x);
    CHECK(f.live == 0 && f.wrong == 0 && ok == (at == 0 || f.asked < at));
    if (ok && at > 0) break;
  }
#define LISTS(name) CHECK(codec_##name.options != NULL);
  CODEC_LIST(LISTS)
#undef LISTS
}

static void test_names(void) {
#define NAMED(name) CHECK(codec_by_name(STR(#name)) == &codec_##name);
  CODEC_LIST(NAMED)
#undef NAMED
  CHECK(codec_by_name(STR("Chat")) == NULL && codec_by_name(STR("")) == NULL && codec_by_name(STR_NONE) == NULL);
}

int main(void) {
  test_limits();
  test_quirks_default();
  test_quirks_set();
  test_warnings();
  test_options();
  test_names();
  return test_done("codec/quirks");
}
