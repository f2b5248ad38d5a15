/* parse.c: lines and answers of Ollama's native format as parts. Whole messages are in
** spec/wire/ollama-native; here is what only parts show, and that every allocation may fail. */
#define CODEC codec_ollama
#include "codec/parts.h"

#include "core/codec/ollama/ollama.h"

#define LINE(message) "{'model':'m1','created_at':'x','message':{'role':'assistant'," message "},'done':false}"
#define TEXT(s) LINE("'content':'" s "'")
#define THINKING(s) LINE("'content':'','thinking':'" s "'")
#define CALLS(calls) LINE("'content':'','tool_calls':[" calls "]")
#define DONE "{'model':'m1','message':{'role':'assistant','content':''},'done':true,'done_reason':'stop'," \
  "'total_duration':5,'prompt_eval_count':3,'eval_count':2}"
#define META "meta model m1\n"
#define END "usage in=3 out=2\ndone\nstop end_turn stop\n"
#define END_CALLS "usage in=3 out=2\ndone\nstop tool_use stop\n"

static void test_text(void) {
  STREAM(META "text 0 a\ntext 0 b\n" END, TEXT("a"), TEXT(""), TEXT("b"), DONE, TEXT("late"), "no JSON");
  STREAM(META "thinking 0 a\nthinking 0 b\ntext 1 c\nthinking 2 d\ntext 3 e\n" END,
         THINKING("a"), THINKING("b"), TEXT("c"), LINE("'content':'e','thinking':'d'"), DONE);
  /* The members of a line come in any order; what is not known says nothing. */
  STREAM(META "text 0 a\nlogprobs [{'token':'a'}]\nusage in=1 out=2\ndone\nstop max_tokens length\n",
         "{'done':true,'done_reason':'length','eval_count':2,'message':{'images':null,'content':'a','role':'assistant',"
         "'x':[{}]},'prompt_eval_count':1,'remote_model':'r','logprobs':[{'token':'a'}],'model':'m1'}");
  STREAM(META "text 0 a\n" END, "{'status':'loading'}", "{}", "{'message':null,'done':null}",
         "{'message':{'content':null,'thinking':null,'tool_calls':null},'done':false}", TEXT("a"), DONE);
  STREAM(META "text~ 0 \xED\xA0\xBC\ntext~ 0 \xED\xBC\x8A\n" END, TEXT("\\ud83c"), TEXT("\\udf0a"), DONE);
  STREAM(META "text 0 a\nopen\n", TEXT("a"));
  STREAM("open\n", "{}");
}

/* How likely tokens were, line by line: an array, or nothing. */
static void test_logprobs(void) {
  STREAM(META "text 0 a\nlogprobs [{'token':'a','logprob':-0.5}]\nlogprobs []\n" END,
         LINE("'content':'a'},'logprobs':[{'token':'a','logprob':-0.5}],'x':{"), TEXT(""),
         "{'logprobs':null}", "{'logprobs':{}}", "{'logprobs':7}", "{'logprobs':[]}", DONE);
}

/* Values of another type, which would be lost without a word. */
static void test_odd_types(void) {
#define ODD(message) STREAM("error protocol 0 \n", "{'message':" message ",'done':true,'done_reason':'stop'}")
  ODD("'a'");
  ODD("[]");
  ODD("{'content':7}");
  ODD("{'content':['a']}");
  ODD("{'content':'a','thinking':true}");
  STREAM("error protocol 0 \n", "{'message':{'content':'a','tool_calls':{}},'done':true}");
  STREAM("error protocol 0 \n", "{'message':{'content':'','tool_calls':['f']},'done':true}");
  STREAM("error protocol 0 \n", "{'message':{'content':'','tool_calls':[{'function':'f'}]},'done':true}");
}

static void test_calls(void) {
  /* Every element is a call, whatever its index. */
  STREAM(META "tool 0  f\nargs 0 {'a':1}\nend 0\ntool 1 x g\nargs 1 {}\nend 1\ntool 2  f\nend 2\n" END_CALLS,
         CALLS("{'function':{'name':'f','arguments':{'a':1}}},{'id':' x ','function':{'index':0,'name':'g',"
               "'arguments':{}}}"),
         CALLS("{'id':'','function':{'index':0,'name':'f'}},null"), DONE);
  /* On a line with text; on the last line. Text behind a call is a block of its own. */
  STREAM(META "text 0 a\ntool 1 x f\nargs 1 { 'b' : [1, 2] }\nend 1\ntext 2 c\ntool 3 y f\nargs 3 {}\nend 3\n"
         "done\nstop tool_use stop\n",
         LINE("'content':'a','tool_calls':[{'id':'x','function':{'name':'f','arguments':{ 'b' : [1, 2] }}}]"),
         TEXT("c"), "{'message':{'tool_calls':[{'id':'y','function':{'name':'f','arguments':{}}}]},'done':true,"
         "'done_reason':'stop'}");
  /* Arguments are kept as they came; a string is read once. */
  STREAM(META "tool 0 x f\nargs 0 {'b':1,'a':'2'}\nend 0\ntool 1 y g\nargs 1 {'z':0,'a':1}\nend 1\n" END_CALLS,
         CALLS("{'id':'x','function':{'name':'f','arguments':'{\\'b\\':1,\\'a\\':\\'2\\'}'}},"
               "{'id':'y','function':{'arguments':{'z':0,'a':1},'name':'g'}}"), DONE);
  STREAM(META "tool 0  \nend 0\n" END_CALLS, CALLS("{}"), DONE);
}

static void test_end(void) {
  STREAM("done\nstop end_turn \n", "{'done':true}");
  STREAM("done\nstop end_turn \n", "{'done':true,'done_reason':''}");
  STREAM("done\nstop end_turn load\n", "{'done':true,'done_reason':'load'}");
  STREAM("done\nstop end_turn unload\n", "{'done':true,'done_reason':'unload'}");
  STREAM("done\nwarning unknown_stop_reason stop_reason the done_reason is not known\nstop end_turn tired\n",
         "{'done':true,'done_reason':'tired'}");
  STREAM("tool 0 x f\nend 0\ndone\nstop max_tokens length\n",
         "{'message':{'tool_calls':[{'id':'x','function':{'name':'f'}}]},'done':true,'done_reason':'length'}");
  STREAM("tool 0 x f\nend 0\ndone\nstop tool_use \n",
         "{'message':{'tool_calls':[{'id':'x','function':{'name':'f'}}]},'done':true}");
  /* A count of zero is left out; that of a prompt may be unknown. */
  STREAM("usage out=0\ndone\nstop end_turn stop\n", "{'done':true,'done_reason':'stop','total_duration':7}");
  STREAM("usage in=7\ndone\nstop end_turn stop\n", "{'done':true,'done_reason':'stop','prompt_eval_count':7}");
  STREAM("usage in=7 out=0\ndone\nstop end_turn stop\n",
         "{'done':true,'done_reason':'stop','prompt_eval_count':7,'eval_duration':1,'eval_count':-5}");
}

static void test_plain(void) {
  BODY(META "thinking 0 a\ntext 1 b\ntool 2 x f\nargs 2 {}\nend 2\nusage in=3 out=2\nstop tool_use stop\n",
       "{'model':'m1','message':{'content':'b','thinking':'a','tool_calls':[{'id':'x','function':{'name':'f',"
       "'arguments':{}}}]},'done':true,'done_reason':'stop','prompt_eval_count':3,'eval_count':2}\n");
  BODY("error protocol 0 \n", "{'model':'m1','message':{'content':'b'}}");
  BODY("error protocol 0 \n", "{'message':{'content':'b'},'done':false}");
  BODY("error protocol 0 \n", "[]");
  BODY("error protocol 0 \n", "{'done':true} {}");
  BODY("error not_found 404 \n", "{'error':'model \\'x\\' not found'}");
}

static void test_errors(void) {
  STREAM("error server 500  retryable\n", "{'error':'something broke'}");
  STREAM(META "text 0 a\nerror server 500 bad_tool_call retryable\n", TEXT("a"),
         "{'error':'llama-server returned invalid tool call arguments'}");
  STREAM("error context_overflow 400 \n", "{'error':'the prompt is longer than the context length','status':400}");
  STREAM("error invalid_request 400 capability\n", "{'error':'\\'m\\' does not support tools'}");
  STREAM("error overloaded 503  retryable\n", "{'error':'server busy, please try again.','status':503}");
  STREAM("error server 502  retryable\n", "{'error':'unauthorized by somebody else','status':502}");
  STREAM("error server 500 \n", "{'error':'model requires more system memory (9 GiB) than is available (1 GiB)'}");
  STREAM("error server 500  retryable\n", "{'error':{'message':'x'}}");
  STREAM("error protocol 0 \n", "{'model':");
  STREAM("error protocol 0 \n", "<html>");
  STREAM("error protocol 0 \n", "7");
  STREAM("error protocol 0 \n", "{} x");
}

/* Answers with a status. */
static void test_refusals(void) {
  static const struct { int status; const char *body, *kind, *code, *message; int retryable; } CASES[] = {
    { 401, "{'error':'unauthorized','signin_url':'https://ollama.com/connect?name=a'}", "auth", "",
      "unauthorized (log in at https://ollama.com/connect?name=a)", 0 },
    { 400, "{'error':'\\'m\\' does not support thinking'}", "invalid_request", "capability", NULL, 0 },
    { 400, "{'error':'input length exceeds the context length'}", "context_overflow", "", NULL, 0 },
    { 400, "{'error':'request (9 tokens) exceeds the available context size'}", "context_overflow", "", NULL, 0 },
    { 400, "{'error':'invalid format: xml'}", "invalid_request", "", NULL, 0 },
    { 403, "{'error':'ollama cloud is disabled: remote inference is unavailable'}", "permission", "", NULL, 0 },
    { 404, "{'error':'model \\'x\\' not found, try pulling it first'}", "not_found", "",
      "model 'x' not found, try pulling it first", 0 },
    { 429, "{'error':'too many'}", "rate_limit", "", NULL, 1 },
    { 499, "{'error':'request canceled'}", "server", "", NULL, 1 },
    { 500, "{'error':'error parsing tool call: raw=x'}", "server", "bad_tool_call", NULL, 1 },
    { 500, "{'error':'unable to load model: /x'}", "server", "", NULL, 0 },
    { 500, "{'error':'CUDA error: out of memory'}", "server", "", NULL, 0 },
    { 500, "{'error':'does not support'}", "server", "", NULL, 1 },
    { 502, "{'error':'cloud unreachable'}", "server", "", NULL, 1 },
    { 503, "{'error':'server busy, please try again.  maximum pending requests exceeded'}", "overloaded", "", NULL, 1 },
    { 502, "<html><title>502 Bad Gateway</title></html>", "server", "", "HTTP 502: 502 Bad Gateway", 1 },
    { 500, "", "server", "", "HTTP 500 with an empty body", 1 },
  };
  struct mem m = mem_libc();
  struct arena a;
  arena_init(&a, &m);
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    const char *body = json(CASES[i].body);
    struct err e;
    codec_ollama.read_error(&a, CASES[i].status, STR_NONE, (struct str){ body, strlen(body) }, &e);
    CHECK_STR(kind_name(e.kind), strlen(kind_name(e.kind)), CASES[i].kind);
    CHECK(e.status == CASES[i].status && err_retryable(&e) == CASES[i].retryable);
    CHECK_STR(e.code, strlen(e.code), CASES[i].code);
    if (CASES[i].message != NULL) CHECK_STR(e.message, strlen(e.message), json(CASES[i].message));
    arena_reset(&a);
  }
  arena_free(&a);
}

/* A history that the server cut shows in what it read. */
static void test_cut(void) {
  static char body[40000];
  struct ollama_sent s = { 0, 0 };
  size_t n = (size_t)snprintf(body, sizeof body, "{\"options\":{\"num_ctx\":4096},\"messages\":[{\"role\":\"user\","
                              "\"content\":\"");
  for (int i = 0; i < 4000; i++) n += (size_t)snprintf(body + n, sizeof body - n, "abcdefg ");
  snprintf(body + n, sizeof body - n, "\",\"images\":[\"AAAA\"]},{\"content\":\"x  \\n\\n==== \xC3\xA9\\\"\"}]}");
  ollama_sent_read(&s, (struct str){ body, strlen(body) });
  CHECK(s.context == 4096 && s.characters == 32000 + 6);
  CHECK_STR(ollama_cut_of(&s, 3900, 20).code, 11, "history_cut");
  CHECK(ollama_cut_of(&s, 4001, 20).code == NULL);
  CHECK(ollama_cut_of(&s, -1, 20).code == NULL && ollama_cut_of(&s, 0, 20).code == NULL);
  CHECK_STR(ollama_cut_of(&s, 4001, 95).code, 12, "context_full");
  s.context = 0;
  CHECK(ollama_cut_of(&s, 4001, 95).code == NULL);
  s.characters = 2047;
  CHECK(ollama_cut_of(&s, 1, 1).code == NULL);
  s.characters = 2048;
  CHECK(ollama_cut_of(&s, 1, 1).code != NULL);
  for (size_t cut = 0; cut < 200; cut++) { /* what is no request says nothing, and breaks nothing */
    struct ollama_sent t = { 5, 0 };
    ollama_sent_read(&t, (struct str){ body, cut });
    CHECK(t.context == 5 || t.context <= 4096);
  }
}

/* A request that says its context, and an answer that fills it. */
static void test_full(void) {
  STREAM_Q("{'context_window':5}", "usage in=3 out=2\ndone\nwarning context_full messages prompt and answer fill "
           "the context (num_ctx): the server leaves out the oldest messages, or ends the answer\nstop max_tokens length\n",
           "{'done':true,'done_reason':'length','prompt_eval_count':3,'eval_count':2}");
  STREAM_Q("{'context_window':6}", "usage in=3 out=2\ndone\nstop max_tokens length\n",
           "{'done':true,'done_reason':'length','prompt_eval_count':3,'eval_count':2}");
}

static void test_limits(void) {
  struct limits limits;
  limits_default(&limits);
  limits.depth = 4;
  CHECK(limited(&limits, CHUNKS(CALLS("{'function':{'name':'f','arguments':{}}}"))) == KIND_LIMIT);
  CHECK(limited(&limits, CHUNKS(TEXT("a"))) == KIND_NONE);
}

int main(void) {
  test_text();
  test_logprobs();
  test_odd_types();
  test_calls();
  test_end();
  test_plain();
  test_errors();
  test_refusals();
  test_cut();
  test_full();
  test_limits();
  return test_done("codec/ollama/parse");
}
