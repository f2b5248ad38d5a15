/* leaked.c: tool calls written into the text. Every case whole, cut in two at every place, in single characters, and
** with each allocation failing in turn: the same text is shown, the same calls are read. */
#include "support/test.h"
#include "support/failing.h"
#include "core/codec/shared/leaked/leaked.h"

#define DEPTH 16

static const char TOOLS[] = "[\"f\",\"g\",\"read_file\"]";

struct log {
  char s[2048];
  size_t n;
};

static void say(struct log *l, const char *p, size_t n) {
  if (n > sizeof l->s - l->n) n = sizeof l->s - l->n;
  if (n > 0) memcpy(l->s + l->n, p, n);
  l->n += n;
}

static void says(struct log *l, const char *s) { say(l, s, strlen(s)); }

/* Ends the message: calls as "name args;" and what is left of the text; or the text kept back. 0 or -1. */
static int finish(struct leaked *k, struct arena *a, const struct node *names, int cut, struct log *l) {
  struct leaked_call *call;
  struct str text;
  if (leaked_recover(k, a, names, DEPTH, cut, &call, &text) != 0) return -1;
  if (call == NULL && leaked_release(k, a, &text) != 0) return -1;
  says(l, call == NULL ? "" : "{");
  for (; call != NULL; call = call->next) {
    say(l, call->name.p, call->name.n);
    says(l, " ");
    say(l, call->arguments.p, call->arguments.n);
    says(l, call->next == NULL ? "}" : ";");
  }
  say(l, text.p, text.n);
  return 0;
}

/* Feeds s in pieces of `size` bytes after a first one of `first`; what is shown before the end comes first. */
static int run(const struct mem *m, const char *s, size_t first, size_t size, int cut, struct log *l) {
  struct mem sure = mem_libc();
  struct leaked k;
  struct arena a, names_arena;
  struct node *names;
  struct str out;
  struct err e;
  size_t n = strlen(s), at = 0;
  int r = 0;
  l->n = 0;
  arena_init(&a, m);
  arena_init(&names_arena, &sure);
  names = json_tree(&names_arena, (struct str){ TOOLS, strlen(TOOLS) }, 4, &e);
  leaked_init(&k, m);
  while (r == 0 && at < n) {
    size_t step = at == 0 && first > 0 ? first : size;
    if (step > n - at) step = n - at;
    arena_reset(&a);
    r = leaked_feed(&k, &a, (struct str){ s + at, step }, &out);
    if (r == 0) say(l, out.p, out.n);
    at += step;
  }
  if (r == 0) r = finish(&k, &a, names, cut, l);
  leaked_free(&k);
  arena_free(&a);
  arena_free(&names_arena);
  return r;
}

static void expect(const char *file, int line, const char *s, int cut, const char *wanted) {
  struct mem m = mem_libc();
  struct log l;
  CHECK(run(&m, s, 0, strlen(s) + 1, cut, &l) == 0);
  test_str(file, line, l.s, l.n, wanted);
  for (size_t i = 1; i < strlen(s); i++) {
    CHECK(run(&m, s, i, strlen(s), cut, &l) == 0);
    test_str(file, line, l.s, l.n, wanted);
  }
  for (size_t size = 1; size <= 20; size++) {
    CHECK(run(&m, s, 0, size, cut, &l) == 0);
    test_str(file, line, l.s, l.n, wanted);
  }
  for (size_t at = 1; at < 200; at++) {
    struct failing f = { .fail_at = at };
    struct mem fm = failing_mem(&f);
    int r = run(&fm, s, 0, 7, cut, &l);
    CHECK(f.live == 0 && f.wrong == 0 && (r == -1) == (f.asked >= at));
    if (r == 0) break;
  }
}

#define CASE(s, wanted) expect(__FILE__, __LINE__, s, 0, wanted)
#define CUT(s, wanted) expect(__FILE__, __LINE__, s, 1, wanted)

/* {{{ <invoke> */

static void test_invoke_parameters(void) {
  CASE("<invoke name=\"f\"><parameter name=\"a\">1</parameter><parameter name=\"b\">x y</parameter></invoke>",
       "{f {\"a\":\"1\",\"b\":\"x y\"}}");
  CASE("<invoke name='f'><parameter name='a'>1</parameter></invoke>", "{f {\"a\":\"1\"}}");
  CASE("<invoke name=f><parameter name=a>1</parameter></invoke>", "{f {\"a\":\"1\"}}");
  CASE("<invoke name=\"f\"></invoke>", "{f {}}");
}

static void test_invoke_bare_children(void) {
  CASE("<invoke name=\"read_file\"><path>src/main.rs</path><start_line>130</start_line></invoke>",
       "{read_file {\"path\":\"src/main.rs\",\"start_line\":\"130\"}}");
  CASE("<invoke name=\"f\">\n  <a>1</a>\n  <parameter name=\"b\">2</parameter>\n</invoke>",
       "{f {\"a\":\"1\",\"b\":\"2\"}}");
}

/* A text that looks like another type stays a string; markup in a value is the value's. */
static void test_values_stay_strings(void) {
  CASE("<invoke name=\"f\"><a>1</a><b>true</b><c>{\"x\":[1]}</c><d></d><e> \n</e></invoke>",
       "{f {\"a\":\"1\",\"b\":\"true\",\"c\":\"{\\\"x\\\":[1]}\",\"d\":\"\",\"e\":\" \\n\"}}");
  CASE("<invoke name=\"f\"><html><p class=\"x\">a &lt; b</p></html></invoke>",
       "{f {\"html\":\"<p class=\\\"x\\\">a &lt; b</p>\"}}");
  CASE("<invoke name=\"f\"><parameter name=\"a\">see </invoke> there</parameter></invoke>",
       "{f {\"a\":\"see </invoke> there\"}}");
  CASE("<invoke name=\"f\"><a>\xF0\x9F\x98\x80\\</a></invoke>", "{f {\"a\":\"\xF0\x9F\x98\x80\\\\\"}}");
}

static void test_invoke_wrapped(void) {
  CASE("<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">1</parameter>\n</invoke>\n</minimax:tool_call>",
       "{f {\"a\":\"1\"}}");
  CASE("<tool_call><invoke name=\"f\"><a>1</a></invoke></tool_call>", "{f {\"a\":\"1\"}}");
  CASE("</tool_call> text <invoke name=\"f\"></invoke></invoke></tool_call>", "</tool_call> text{f {}}");
}

/* As MiniMax M3 leaks it: its token before every tag. */
static void test_minimax_tokens(void) {
  CASE("I need more.]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"read_file\">]<]minimax[>[<path>C:\\a.rs"
       "]<]minimax[>[</path>]<]minimax[>[<end_line>165]<]minimax[>[</end_line>]<]minimax[>[</invoke>\n"
       "]<]minimax[>[</tool_call>",
       "I need more.{read_file {\"path\":\"C:\\\\a.rs\",\"end_line\":\"165\"}}");
  CASE("a ]<]minimax[>[ b", "a ]<]minimax[>[ b");
}

static void test_several(void) {
  CASE("<invoke name=\"f\"><a>1</a></invoke>\n<invoke name=\"g\"><b>2</b></invoke>",
       "{f {\"a\":\"1\"};g {\"b\":\"2\"}}");
  CASE("<tool_call>{\"name\":\"f\"}</tool_call><tool_call>{\"name\":\"g\"}</tool_call>", "{f ;g }");
  CASE("<tool_call>{\"name\":\"f\"}\n<tool_call>{\"name\":\"g\"}", "{f ;g }");
  /* the first family comes first, wherever it stands */
  CASE("<tool_call>{\"name\":\"f\"}</tool_call><invoke name=\"g\"></invoke>", "{g {};f }");
}

static void test_unterminated(void) {
  CASE("<invoke name=\"f\"><a>1</a>", "{f {\"a\":\"1\"}}");
  CASE("<invoke name=\"f\"><parameter name=\"a\">ls -l\n", "{f {\"a\":\"ls -l\"}}");
  CASE("<invoke name=\"f\"><a>ls -l\n", "{f {\"a\":\"ls -l\"}}");
  CASE("<invoke name=\"f\">", "{f {}}");
  CASE("<invoke name=\"f\"><a>1</invoke>", "{f {\"a\":\"1\"}}");
  CASE("<invoke name=\"f\"><parameter name=\"a\">1<parameter name=\"b\">2</parameter></invoke>",
       "{f {\"a\":\"1\",\"b\":\"2\"}}");
  CASE("<invoke name=\"f\"><parameter name=\"a\">1\n<invoke name=\"g\"><parameter name=\"b\">2</parameter></invoke>",
       "{f {\"a\":\"1\"};g {\"b\":\"2\"}}");
  CASE("<tool_call><invoke name=\"f\"><a>1\n</tool_call>", "{f {\"a\":\"1\"}}");
  CASE("<invoke name=\"f", "<invoke name=\"f");
}

/* The answer was cut off: the call that stands open has no valid arguments, complete ones have. */
static void test_cut(void) {
  CUT("<invoke name=\"f\"><a>1</a></invoke><invoke name=\"g\"><b>half", "{f {\"a\":\"1\"};g {\"b\":\"half\"}");
  CUT("<invoke name=\"f\"><a>1</a>", "{f {\"a\":\"1\"}");
  CUT("<invoke name=\"f\"><a>1</a></invoke>", "{f {\"a\":\"1\"}}");
  CUT("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"ha", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"ha");
}

/* }}} */

/* {{{ JSON */

static void test_tool_call(void) {
  CASE("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1,\"b\":[true]}}</tool_call>", "{f {\"a\":1,\"b\":[true]}}");
  CASE("<tool_call>\n{\"arguments\": {\"a\": 1}, \"name\": \"f\"}\n</tool_call>", "{f {\"a\": 1}}");
  CASE("<tool_call>{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call>", "{f {\"a\":1}}");
  CASE("<tool_call>{\"name\":\"f\",\"arguments\":\"{broken\"}</tool_call>", "{f {broken}");
  CASE("<tool_call>{\"id\":7,\"name\":\"f\",\"arguments\":null}</tool_call>", "{f }");
  CASE("<tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>", "{f [1]}");
  CASE("<tool_call>{\"name\":\"f\"}", "{f }");
  CASE("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"<invoke name='g'></invoke></tool_call>\"}}</tool_call>",
       "{f {\"a\":\"<invoke name='g'></invoke></tool_call>\"}}");
}

static void test_tool_call_broken(void) {
  CASE("<tool_call>{\"name\":\"f\",}</tool_call>", "<tool_call>{\"name\":\"f\",}</tool_call>");
  CASE("<tool_call>{\"arguments\":{}}</tool_call>", "<tool_call>{\"arguments\":{}}</tool_call>");
  CASE("<tool_call>{\"name\":7}</tool_call>", "<tool_call>{\"name\":7}</tool_call>");
  CASE("<tool_call>f</tool_call>", "<tool_call>f</tool_call>");
  CASE("<tool_call>{\"name\":\"f\"} and more", "<tool_call>{\"name\":\"f\"} and more");
}

static void test_list(void) {
  CASE("[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{\"a\":1}},{\"name\":\"g\",\"arguments\":{}}]",
       "{f {\"a\":1};g {}}");
  CASE("Sure. [TOOL_CALLS] [{\"name\":\"f\"}] Done.", "Sure.{f }  Done.");
  CASE("[TOOL_CALLS][{\"name\":\"f\"},{\"name\":7}]", "[TOOL_CALLS][{\"name\":\"f\"},{\"name\":7}]");
  CASE("[TOOL_CALLS][{\"name\":\"f\"}", "[TOOL_CALLS][{\"name\":\"f\"}");
  CASE("[TOOL_CALLS] are made", "[TOOL_CALLS] are made");
  /* only where nothing else was found */
  CASE("<invoke name=\"f\"></invoke>[TOOL_CALLS][{\"name\":\"g\"}]", "{f {}}[TOOL_CALLS][{\"name\":\"g\"}]");
}

/* }}} */

/* {{{ what is no call */

static void test_prose(void) {
  CASE("You can invoke f, or write <invoke> yourself.", "You can invoke f, or write <invoke> yourself.");
  CASE("Use <invoke name=...> for that.", "Use <invoke name=...> for that.");
  CASE("a < b [TOOL] ] <tool_cal> x ", "a < b [TOOL] ] <tool_cal> x ");
  CASE("<tool_call", "<tool_call");
  CASE(" \n ", " \n ");
  CASE("", "");
}

/* A tool that was not offered is not called; its markup stays to be seen. */
static void test_not_offered(void) {
  CASE("<invoke name=\"rm\"><a>/</a></invoke>", "<invoke name=\"rm\"><a>/</a></invoke>");
  CASE("<tool_call>{\"name\":\"rm\"}</tool_call>", "<tool_call>{\"name\":\"rm\"}</tool_call>");
  CASE("[TOOL_CALLS][{\"name\":\"rm\"}]", "[TOOL_CALLS][{\"name\":\"rm\"}]");
  CASE("<invoke name=\"f\"></invoke><tool_call>{\"name\":\"rm\"}</tool_call>",
       "{f {}}<tool_call>{\"name\":\"rm\"}</tool_call>");
  CASE("[TOOL_CALLS][{\"name\":\"f\"},{\"name\":\"rm\"}]", "{f }[TOOL_CALLS][{\"name\":\"f\"},{\"name\":\"rm\"}]");
  CASE("<invoke name=\"F\"></invoke>", "<invoke name=\"F\"></invoke>");
}

/* Calls within a thought are not made. One that was shown in part stays whole, later ones go. */
static void test_thoughts(void) {
  CASE("<think><invoke name=\"g\"></invoke></think>yes <invoke name=\"f\"></invoke>",
       "<think><invoke name=\"g\"></invoke></think>yes{f {}}");
  CASE("<invoke name=\"f\"></invoke><Thinking>or <invoke name=\"g\"></invoke></THINKING> yes", "{f {}}yes");
  CASE("<tool_call><reasoning><thought></reasoning><thought></thought><invoke name=\"f\"></invoke>", "{f {}}");
  CASE("<think><invoke name=\"f\"></invoke>", "<think><invoke name=\"f\"></invoke>");
  CASE("<tool_call><thought><invoke name=\"f\"></invoke>", "<tool_call><thought><invoke name=\"f\"></invoke>");
}

/* }}} */

/* The text loses the markup and the white space at its ends; what was shown stays. */
static void test_text(void) {
  CASE("Let me see.\n\n<tool_call>{\"name\":\"f\"}</tool_call>\n", "Let me see.{f }");
  CASE("Let me see.\n<tool_call>{\"name\":\"f\"}</tool_call>\nThen we go on. \n",
       "Let me see.{f }\n\nThen we go on.");
  CASE(" \n<tool_call>{\"name\":\"f\"}</tool_call> and so on", "{f }and so on");
  CASE("<tool_call>{\"name\":\"f\"}</tool_call>", "{f }");
}

/* The text shown when all but the end has come. */
static void shown(const char *file, int line, const char *s, const char *wanted) {
  struct mem m = mem_libc();
  struct leaked k;
  struct arena a;
  struct str out;
  arena_init(&a, &m);
  leaked_init(&k, &m);
  CHECK(leaked_feed(&k, &a, (struct str){ s, strlen(s) }, &out) == 0);
  test_str(file, line, out.p, out.n, wanted);
  leaked_free(&k);
  arena_free(&a);
}

#define SHOWN(s, wanted) shown(__FILE__, __LINE__, s, wanted)

/* Only what may become markup waits. */
static void test_shown(void) {
  SHOWN("Let me see.", "Let me see.");
  SHOWN("Let me see. \n", "Let me see.");
  SHOWN("Let me see. <tool", "Let me see.");
  SHOWN("Let me see. <tool box", "Let me see. <tool box");
  SHOWN("one ]<]mini", "one");
  SHOWN("one ]", "one");
  SHOWN("one ] ", "one ]");
  SHOWN("one [TOOL_CALLS] two three", "one");
  SHOWN("one <think>two <tool_call> three", "one <think>two <tool_call> three");
  SHOWN("one <think>two</think> <tool_call> three", "one <think>two</think>");
}

/* A character cut between two pieces is whole in a value and in text given up. */
static void test_surrogates(void) {
  struct mem m = mem_libc();
  struct leaked k;
  struct arena a;
  struct leaked_call *call;
  struct node name = { .type = NODE_STRING, .s = STR("f") };
  struct node names = { .type = NODE_ARRAY, .child = &name, .last = &name, .count = 1 };
  struct str out, text;
  for (int offered = 0; offered <= 1; offered++) {
    arena_init(&a, &m);
    leaked_init(&k, &m);
    name.s = offered ? STR("f") : STR("g");
    CHECK(leaked_feed(&k, &a, STR("<invoke name=\"f\"><a>\xED\xA0\xBD"), &out) == 0 && out.n == 0);
    CHECK(leaked_feed(&k, &a, STR("\xED\xB8\x80</a></invoke>"), &out) == 0 && out.n == 0);
    CHECK(leaked_recover(&k, &a, &names, DEPTH, 0, &call, &text) == 0 && (call != NULL) == offered);
    if (call != NULL) CHECK_STR(call->arguments.p, call->arguments.n, "{\"a\":\"\xF0\x9F\x98\x80\"}");
    CHECK(leaked_release(&k, &a, &text) == 0 && k.held.n == 0 && !k.found);
    CHECK_STR(text.p, text.n, "<invoke name=\"f\"><a>\xF0\x9F\x98\x80</a></invoke>");
    leaked_free(&k);
    arena_free(&a);
  }
}

int main(void) {
  test_invoke_parameters();
  test_invoke_bare_children();
  test_values_stay_strings();
  test_invoke_wrapped();
  test_minimax_tokens();
  test_several();
  test_unterminated();
  test_cut();
  test_tool_call();
  test_tool_call_broken();
  test_list();
  test_prose();
  test_not_offered();
  test_thoughts();
  test_text();
  test_shown();
  test_surrogates();
  return test_done("codec/shared/leaked");
}
