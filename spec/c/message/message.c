/* message.c: parts in, deltas out, one message at the end. */
#include "kit.h"

static void test_runs(void) {
  RUN(text(&R, PART_TEXT, 0, "a"); text(&R, PART_TEXT, 0, "b"); text(&R, PART_END, 0, ""); end(&R);
      check(&R, "text_start;text_delta:a;text_delta:b;text_end;", "[{\"type\":\"text\",\"text\":\"ab\"}]"););
  RUN(text(&R, PART_TEXT, 0, ""); text(&R, PART_THINKING, 1, ""); end(&R); check(&R, "", "[]"););
  RUN(text(&R, PART_THINKING, 0, "t"); text(&R, PART_SIGNATURE, 0, "s1"); text(&R, PART_SIGNATURE, 0, "s2");
      text(&R, PART_TEXT, 1, "x"); end(&R);
      check(&R, "thinking_start;thinking_delta:t;thinking_end;text_start;text_delta:x;text_end;",
            "[{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s2\",\"provider_data\":{\"provider\":\"row\",\"model\":\"m-1\",\"wire\":\"wire\"}},"
            "{\"type\":\"text\",\"text\":\"x\"}]"););
  RUN(text(&R, PART_SIGNATURE, 0, "s"); end(&R);
      check(&R, "thinking_start;thinking_end;",
            "[{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s\",\"provider_data\":{\"provider\":\"row\",\"model\":\"m-1\",\"wire\":\"wire\"}}]"););
  RUN(text(&R, PART_REFUSAL, 0, "no"); text(&R, PART_REDACTED, 1, "xyz"); end(&R);
      check(&R, "", "[{\"type\":\"refusal\",\"text\":\"no\"},"
            "{\"type\":\"redacted_thinking\",\"data\":\"xyz\",\"provider_data\":{\"provider\":\"row\",\"model\":\"m-1\",\"wire\":\"wire\"}}]"););
}

/* A container is the message's, and lies with the origin of what ran in it, else of the last block. */
static void test_container(void) {
  struct event ran = { .type = PART_OPAQUE, .key = 1, .text = z("{}"), .name = z("k") };
  struct event box = { .type = PART_CONTAINER, .text = z("{\"id\":\"c\"}") };
#define ORIGIN "\"provider_data\":{\"provider\":\"row\",\"model\":\"m-1\",\"wire\":\"wire\","
  RUN(text(&R, PART_TEXT, 0, "a"); add(&R, ran); add(&R, box); text(&R, PART_TEXT, 2, "b"); end(&R);
      check(&R, "text_start;text_delta:a;text_end;text_start;text_delta:b;text_end;",
            "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"opaque\",\"kind\":\"k\"," ORIGIN
            "\"raw\":\"{}\",\"container\":{\"id\":\"c\"}}},{\"type\":\"text\",\"text\":\"b\"}]"););
  RUN(add(&R, (struct event){ .type = PART_CONTAINER, .text = z("{\"id\":\"old\"}") }); text(&R, PART_TEXT, 0, "a");
      add(&R, box); end(&R);
      check(&R, "text_start;text_delta:a;text_end;",
            "[{\"type\":\"text\",\"text\":\"a\"," ORIGIN "\"container\":{\"id\":\"c\"}}}]"););
  RUN(add(&R, box); end(&R); check(&R, "", "[]"););
}

static void test_surrogates(void) {
  struct event high = { .type = PART_TEXT, .flags = EVENT_SURROGATE, .text = z("a\xED\xA0\xBD") };
  struct event low = { .type = PART_TEXT, .flags = EVENT_SURROGATE, .text = z("\xED\xB8\x80z") };
  RUN(add(&R, high); add(&R, low); end(&R);
      check(&R, "text_start;text_delta:a;text_delta:\xF0\x9F\x98\x80z;text_end;", "[{\"type\":\"text\",\"text\":\"a\xF0\x9F\x98\x80z\"}]"););
  RUN(add(&R, high); text(&R, PART_TEXT, 0, "b"); end(&R);
      check(&R, "text_start;text_delta:a;text_delta:\xEF\xBF\xBD" "b;text_end;", "[{\"type\":\"text\",\"text\":\"a\xEF\xBF\xBD" "b\"}]"););
  RUN(add(&R, low); end(&R);
      check(&R, "text_start;text_delta:\xEF\xBF\xBDz;text_end;", "[{\"type\":\"text\",\"text\":\"\xEF\xBF\xBDz\"}]"););
  RUN(add(&R, high); end(&R);
      check(&R, "text_start;text_delta:a;text_delta:\xEF\xBF\xBD;text_end;", "[{\"type\":\"text\",\"text\":\"a\xEF\xBF\xBD\"}]"););
}

#define CALL(id, name, args, json) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":" args \
  ",\"arguments_json\":\"" json "\"}"

static void test_tools(void) {
  RUN(tool(&R, 0, "c1", "f"); text(&R, PART_ARGS, 0, "{\"a\""); text(&R, PART_ARGS, 0, ":1}"); text(&R, PART_END, 0, ""); end(&R);
      check(&R, "tool_use_start@c1=f;tool_use_delta@c1:{\"a\";tool_use_delta@c1::1};tool_use_end@c1;",
            "[" CALL("c1", "f", "{\"a\":1}", "{\\\"a\\\":1}") "]");
      CHECK(R.msg.stop == STOP_TOOL_USE););
  /* the name comes late: the start waits for it, argument bytes are held */
  RUN(text(&R, PART_ARGS, 0, "{}"); tool(&R, 0, "c1", ""); CHECK(R.said.n == 0); tool(&R, 0, "c2", "f"); tool(&R, 0, "", "g"); end(&R);
      check(&R, "tool_use_start@c1=f;tool_use_delta@c1:{};tool_use_end@c1;", "[" CALL("c1", "f", "{}", "{}") "]"););
  /* an id twice in one message */
  RUN(tool(&R, 0, "c", "f"); tool(&R, 1, "c", "g"); end(&R);
      check(&R, "tool_use_start@c=f;tool_use_start@c_2=g;tool_use_end@c;tool_use_end@c_2;",
            "[" CALL("c", "f", "{}", "{}") "," CALL("c_2", "g", "{}", "{}") "]"););
  /* text between fragments follows the call */
  RUN(tool(&R, 0, "c", "f"); text(&R, PART_TEXT, 1, "x"); text(&R, PART_ARGS, 0, "{}"); text(&R, PART_TEXT, 1, "y"); end(&R);
      check(&R, "tool_use_start@c=f;tool_use_delta@c:{};tool_use_end@c;text_start;text_delta:xy;text_end;",
            "[" CALL("c", "f", "{}", "{}") ",{\"type\":\"text\",\"text\":\"xy\"}]"););
  RUN(tool(&R, 0, "c", "f"); text(&R, PART_TEXT, 1, "x"); text(&R, PART_END, 0, ""); text(&R, PART_TEXT, 1, "y"); end(&R);
      check(&R, "tool_use_start@c=f;tool_use_end@c;text_start;text_delta:x;text_delta:y;text_end;",
            "[" CALL("c", "f", "{}", "{}") ",{\"type\":\"text\",\"text\":\"xy\"}]"););
  /* no name at all */
  RUN(tool(&R, 0, "c", ""); end(&R); CHECK(R.failed && R.e.kind == KIND_PROTOCOL););
}

/* Ids made up for want of one: the same for the same message, different within it, blank ones count as none. */
static void test_synthetic_ids(void) {
  struct buf first;
  buf_init(&first, &libc);
  for (int round = 0; round < 2; round++) {
    struct run r;
    run_begin(&r, &libc);
    add(&r, (struct event){ .type = PART_META, .id = z("resp_1"), .name = z("m") });
    tool(&r, 0, "  ", "f");
    text(&r, PART_ARGS, 0, "{}");
    tool(&r, 1, "", "f");
    tool(&r, 1, "late", "");
    end(&r);
    CHECK(!r.failed && r.msg.n == 2);
    CHECK(strncmp(r.said.p, "tool_use_start@call_", 20) == 0);
    CHECK(memmem(r.said.p, r.said.n, "@late=f", 7) != NULL);
    if (round == 0) buf_addstr(&first, buf_str(&r.said));
    else CHECK(str_same(buf_str(&first), buf_str(&r.said)));
    run_free(&r);
  }
  buf_free(&first);
}

static void test_stop(void) {
  static const struct { enum stop wire; int tools; enum stop expected; } CASES[] = {
    { STOP_NONE, 0, STOP_END_TURN }, { STOP_NONE, 1, STOP_TOOL_USE }, { STOP_END_TURN, 1, STOP_TOOL_USE },
    { STOP_TOOL_USE, 0, STOP_END_TURN }, { STOP_MAX_TOKENS, 1, STOP_MAX_TOKENS }, { STOP_REFUSAL, 0, STOP_REFUSAL },
    { STOP_SENSITIVE, 1, STOP_SENSITIVE }, { STOP_PAUSE_TURN, 0, STOP_PAUSE_TURN }, { STOP_SEQUENCE, 0, STOP_SEQUENCE }
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
    RUN(if (CASES[i].tools) tool(&R, 0, "c", "f");
        add(&R, (struct event){ .type = PART_STOP, .stop = CASES[i].wire, .text = z("w") }); end(&R);
        CHECK(R.msg.stop == CASES[i].expected););
}

/* The call of the tool that the answer comes in is marked, and the message does not wait for its result. */
static void test_output(void) {
#define CALL_OF(id, name, rest) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":{}," \
                                "\"arguments_json\":\"{}\"" rest "}"
  RUN(R.msg.output_tool = z("answer"); tool(&R, 0, "a", "answer"); end(&R);
      check(&R, "tool_use_start@a=answer;tool_use_end@a;", "[" CALL_OF("a", "answer", ",\"output\":true") "]");
      CHECK(R.msg.stop == STOP_END_TURN););
  RUN(R.msg.output_tool = z("answer"); tool(&R, 0, "a", "f"); tool(&R, 1, "b", "answer"); end(&R);
      check(&R, "tool_use_start@a=f;tool_use_start@b=answer;tool_use_end@a;tool_use_end@b;",
            "[" CALL_OF("a", "f", "") "," CALL_OF("b", "answer", ",\"output\":true") "]");
      CHECK(R.msg.stop == STOP_END_TURN););
  RUN(R.msg.output_tool = z("answer"); tool(&R, 0, "a", "answers"); end(&R); CHECK(R.msg.stop == STOP_TOOL_USE););
  RUN(tool(&R, 0, "a", "answer"); end(&R); CHECK(R.msg.stop == STOP_TOOL_USE););
  RUN(R.msg.output_tool = z("answer"); tool(&R, 0, "a", "answer");
      add(&R, (struct event){ .type = PART_STOP, .stop = STOP_MAX_TOKENS }); end(&R);
      CHECK(R.msg.stop == STOP_MAX_TOKENS););
}

static void test_limits(void) {
  limits.blocks = 2;
  limits.tool_calls = 1;
  limits.argument_bytes = 4;
  RUN(for (int i = 0; i < 3; i++) text(&R, PART_REDACTED, i, "x"); CHECK(R.failed && R.e.kind == KIND_LIMIT););
  RUN(tool(&R, 0, "a", "f"); tool(&R, 1, "b", "f"); CHECK(R.failed && R.e.kind == KIND_LIMIT););
  RUN(tool(&R, 0, "a", "f"); text(&R, PART_ARGS, 0, "{}  "); CHECK(!R.failed);
      text(&R, PART_ARGS, 0, " "); CHECK(R.failed && R.e.kind == KIND_LIMIT););
  RUN(tool(&R, 0, "a", "f"); text(&R, PART_ARGS, 0, "{}");
      add(&R, (struct event){ .type = PART_ARGS, .flags = EVENT_REPLACE, .text = z("{'a'}") });
      CHECK(R.failed && R.e.kind == KIND_LIMIT););
  limits_default(&limits);
}

/* Of many values or none: a container that is read again is small. */
static void test_container_limit(void) {
  static char long_one[CONTAINER_MAX + 2];
  memset(long_one, ' ', sizeof long_one);
  memcpy(long_one, "{\"id\":\"c\"}", 10);
  long_one[CONTAINER_MAX] = '\0';
  RUN(add(&R, (struct event){ .type = PART_CONTAINER, .text = z(long_one) }); text(&R, PART_TEXT, 0, "x"); end(&R);
      CHECK(!R.failed);
      struct arena a;
      arena_init(&a, &libc);
      CHECK(node_get(message_node(&R.msg, &a, 0), "container") != NULL);
      arena_free(&a););
  long_one[CONTAINER_MAX] = ' ';
  long_one[CONTAINER_MAX + 1] = '\0';
  RUN(add(&R, (struct event){ .type = PART_CONTAINER, .text = z(long_one) });
      CHECK(R.failed && R.e.kind == KIND_LIMIT););
}

/* The id and the name of a call are short. */
static void test_labels(void) {
  char long_one[TOOL_CALL_ID_MAX + 2];
  memset(long_one, 'x', sizeof long_one);
  long_one[TOOL_CALL_ID_MAX] = '\0';
  RUN(tool(&R, 0, long_one, "f"); tool(&R, 1, "a", long_one); CHECK(!R.failed););
  long_one[TOOL_CALL_ID_MAX] = 'x';
  long_one[TOOL_CALL_ID_MAX + 1] = '\0';
  RUN(tool(&R, 0, long_one, "f"); CHECK(R.failed && R.e.kind == KIND_LIMIT);
      CHECK_STR(R.e.message, strlen(R.e.message), "a tool call's id exceeds 4096 bytes"););
  RUN(tool(&R, 0, "a", long_one); CHECK(R.failed && R.e.kind == KIND_LIMIT);
      CHECK_STR(R.e.message, strlen(R.e.message), "a tool call's name exceeds 4096 bytes"););
}

/* The ids that calls end up with: those given, or the first that is free behind _2, _3, … */
static void check_ids(const char *const *given, const char *const *got, int n) {
  struct run r;
  struct buf want;
  run_begin(&r, &libc);
  buf_init(&want, &libc);
  for (int i = 0; i < n; i++) {
    tool(&r, i, given[i], "f");
    buf_adds(&want, "tool_use_start@");
    buf_adds(&want, got[i]);
    buf_adds(&want, "=f;");
  }
  buf_addc(&want, '\0');
  CHECK_STR(r.said.p, r.said.n, want.p);
  buf_free(&want);
  run_free(&r);
}

static void test_equal_ids(void) {
  static const char *const A[] = { "c", "c_2", "c", "c", "c_2", "c_3", "c", "d", "c_2", "c_2_2" };
  static const char *const A_GOT[] = { "c", "c_2", "c_3", "c_4", "c_2_2", "c_3_2", "c_5", "d", "c_2_3", "c_2_2_2" };
  static const char *const B[] = { "c", "c", "c_2", "c_2", "c" };
  static const char *const B_GOT[] = { "c", "c_2", "c_2_2", "c_2_3", "c_3" };
  check_ids(A, A_GOT, 10);
  check_ids(B, B_GOT, 5);
  /* starts come in another order than blocks: the id counts from the start on */
  RUN(tool(&R, 0, "c", ""); tool(&R, 1, "c", "g"); tool(&R, 2, "c", "h"); tool(&R, 0, "", "f"); tool(&R, 3, "c", "i");
      CHECK_STR(R.said.p, R.said.n, "tool_use_start@c=g;tool_use_start@c_2=h;tool_use_start@c_3=f;tool_use_start@c_4=i;"););
}

/* Adds a call whose arguments are `head`, so many "1,", and `tail`. */
static void call_of(struct run *r, int key, const char *head, size_t n, const char *tail) {
  struct buf b;
  buf_init(&b, &libc);
  buf_adds(&b, head);
  for (size_t i = 0; i < n; i++) buf_adds(&b, "1,");
  buf_adds(&b, tail);
  tool(r, key, "", "f");
  add(r, (struct event){ .type = PART_ARGS, .key = key, .text = buf_str(&b) });
  buf_free(&b);
}

/* The values of a message's arguments are counted together, those of JSON inside a string too. */
static void test_values(void) {
  static const char *const HEAD[] = { "{\"a\":[", "\"{\\\"a\\\":[" }, *const TAIL[] = { "1]}", "1]}\"" };
  for (int twice = 0; twice < 2; twice++) {
    /* of each call: 3 values and the ones; read from a string: that, too */
    size_t half = JSON_VALUES_MAX / 2 - 3 - (size_t)twice;
    RUN(call_of(&R, 0, HEAD[twice], half, TAIL[twice]); call_of(&R, 1, HEAD[twice], half, TAIL[twice]); end(&R);
        CHECK(!R.failed););
    RUN(struct arena a;
        arena_init(&a, &libc);
        call_of(&R, 0, HEAD[twice], half, TAIL[twice]); call_of(&R, 1, HEAD[twice], half + 1, TAIL[twice]); end(&R);
        CHECK(R.failed && R.e.kind == KIND_LIMIT);
        CHECK_STR(R.e.message, strlen(R.e.message),
                  "the arguments of the answer's tool calls hold more than 1000000 values");
        /* what had arrived: the call that was too much says so */
        const struct node *content = node_get(message_node(&R.msg, &a, 1), "content");
        CHECK(content->count == 2 && node_get(content->child, "arguments_error") == NULL);
        CHECK(node_get(content->last, "arguments_error") != NULL);
        CHECK(node_get(content->last, "arguments")->count == 0);
        arena_free(&a););
  }
  /* many bytes are not many values */
  RUN(char *p = malloc(2 * JSON_VALUES_MAX); struct buf b = { p, 2 * JSON_VALUES_MAX, 0, NULL };
      memset(p, ',', b.n); memcpy(p, "{\"a\":\"", 6); memcpy(p + b.n - 2, "\"}", 2);
      tool(&R, 0, "c", "f"); add(&R, (struct event){ .type = PART_ARGS, .text = buf_str(&b) }); end(&R);
      CHECK(!R.failed); free(p););
}

static void everything(struct run *r) {
  add(r, (struct event){ .type = PART_META, .id = z("id"), .name = z("model") });
  text(r, PART_THINKING, 0, "think");
  text(r, PART_SIGNATURE, 0, "sig");
  text(r, PART_TEXT, 1, "text");
  text(r, PART_RAW, 1, "{\"citations\":[]}");
  add(r, (struct event){ .type = PART_WARNING, .id = z("code"), .name = z("field"), .text = z("words") });
  tool(r, 2, "", "f");
  text(r, PART_ARGS, 2, "{\"a\":[1,2]}");
  tool(r, 3, "call", "g");
  tool(r, 6, "call", "h");
  text(r, PART_TEXT, 4, "after");
  text(r, PART_OPAQUE, 5, "{\"type\":\"x\"}");
  add(r, (struct event){ .type = PART_LOGPROBS,
                         .text = z("[{\"token\":\"\\n\",\"bytes\":[1],\"top_logprobs\":[{\"token\":\"b\",\"logprob\":1}]}]") });
  add(r, (struct event){ .type = PART_STOP, .stop = STOP_MAX_TOKENS, .text = z("length"), .name = z("seq") });
  end(r);
}

/* Every allocation fails in turn: an error, nothing lost. */
static void test_memory(void) {
  int done = 0;
  for (long n = 1; !done && n < 1000; n++) {
    struct failing f = { .fail_at = (size_t)n };
    struct mem m = failing_mem(&f);
    struct run r;
    struct arena a;
    run_begin(&r, &m);
    arena_init(&a, &m);
    everything(&r);
    done = !r.failed && message_node(&r.msg, &a, 0) != NULL && message_node(&r.msg, &a, 1) != NULL;
    CHECK(done || !r.failed || r.e.kind == KIND_MEMORY);
    arena_free(&a);
    run_free(&r);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(done);
}

int main(void) {
  libc = mem_libc();
  limits_default(&limits);
  test_runs();
  test_container();
  test_surrogates();
  test_tools();
  test_synthetic_ids();
  test_stop();
  test_output();
  test_limits();
  test_container_limit();
  test_labels();
  test_equal_ids();
  test_values();
  test_memory();
  return test_done("message/message");
}
