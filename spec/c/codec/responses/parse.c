/* parse.c: events and answers of the Responses format as parts. Whole messages are in
** spec/wire/responses; here is what only parts show, and that every allocation may fail. */
#define CODEC codec_responses
#include "codec/parts.h"

#include "core/message/message.h"

static const struct origin HERE = { { "here", 4 }, { "m", 1 }, { "responses", 9 } };

/* {{{ events */

#define CREATED "{'type':'response.created','response':{'id':'r1','model':'m1','status':'in_progress','output':[]}}"
#define META "meta r1 model m1\n"
#define ADDED(i, item) "{'type':'response.output_item.added','output_index':" #i ",'item':" item "}"
#define DONE(i, item) "{'type':'response.output_item.done','output_index':" #i ",'item':" item "}"
#define TEXT(i, c, s) \
  "{'type':'response.output_text.delta','item_id':'x','output_index':" #i ",'content_index':" #c ",'delta':'" s "'}"
#define TEXT_DONE(i, c, s) \
  "{'type':'response.output_text.done','output_index':" #i ",'content_index':" #c ",'text':'" s "'}"
#define ARGS(i, s) "{'type':'response.function_call_arguments.delta','output_index':" #i ",'delta':'" s "'}"
#define ARGS_DONE(i, s) "{'type':'response.function_call_arguments.done','output_index':" #i ",'arguments':'" s "'}"
#define SUMMARY(i, n, s) \
  "{'type':'response.reasoning_summary_text.delta','output_index':" #i ",'summary_index':" #n ",'delta':'" s "'}"
#define SUMMARY_DONE(i, n, s) \
  "{'type':'response.reasoning_summary_text.done','output_index':" #i ",'summary_index':" #n ",'text':'" s "'}"
#define COMPLETED "{'type':'response.completed','response':{'id':'r2','model':'m2','status':'completed','output':[]}}"
/* The part that says so, behind a block that was corrected. */
#define CORRECTED "warning stream_corrected the provider's last word on a block differs from what it had streamed\n"
#define END "done\nstop end_turn completed\n"
#define MESSAGE(s) "{'type':'message','content':[{'type':'output_text','text':'" s "'}]}"
#define CALL(id, args) "{'type':'function_call','call_id':'" id "','name':'f','arguments':'" args "'}"

/* }}} */

/* {{{ text */

/* How likely the tokens of a text were, once for each part of it: what deltas say of that is not looked at. */
static void test_logprobs(void) {
#define LIKELY(s, list) "{'type':'output_text','text':'" s "','logprobs':[" list "]}"
  STREAM(META "text 0 a\nlogprobs [{'token':'a','logprob':-0.5}]\ntext 1 b\nlogprobs [{'token':'b'}]\nend 0\nend 1\n" END,
         CREATED, "{'type':'response.output_text.delta','output_index':0,'content_index':0,'delta':'a',"
         "'logprobs':[{'token':'a','logprob':-0.5}]}",
         DONE(0, "{'type':'message','content':[" LIKELY("a", "{'token':'a','logprob':-0.5}") "," LIKELY("b", "{'token':'b'}")
              "]}"),
         "{'type':'response.completed','response':{'id':'r2','model':'m2','status':'completed','output':["
         "{'type':'message','content':[" LIKELY("a", "{'token':'a','logprob':-0.5}") "]}]}}");
  BODY("text 0 a\nlogprobs [{'token':'a'}]\nend 0\nstop end_turn completed\n",
       "{'output':[{'type':'message','content':[" LIKELY("a", "{'token':'a'}") "]}]}");
  BODY("text 0 a\nend 0\nstop end_turn completed\n",
       "{'output':[{'type':'message','content':[{'type':'output_text','text':'a','logprobs':null}]}]}");
}

static void test_text(void) {
  STREAM(META "text 0 a\ntext 0 b\nend 0\n" END,
         CREATED, ADDED(0, "{'type':'message','content':[]}"), TEXT(0, 0, "a"), TEXT(0, 0, "b"), TEXT_DONE(0, 0, "ab"),
         DONE(0, MESSAGE("ab")), COMPLETED, TEXT(0, 0, "late"), "not even JSON");
  /* Two parts are two blocks; what has no index is about the first. */
  STREAM("text 0 a\ntext 1 b\nend 0\nend 1\ndone\nstop end_turn completed\n",
         "{'type':'response.output_text.delta','delta':'a'}", TEXT(0, 1, "b"), "{'type':'response.completed'}");
  /* No event of the item but its end; the second one is an echo. */
  STREAM("text 0 a\nend 0\nmeta r2 model m2\n" END, DONE(3, MESSAGE("a")), DONE(3, MESSAGE("b")), TEXT(3, 0, "c"),
         TEXT_DONE(3, 1, "d"), ADDED(3, CALL("c", "")), COMPLETED);
  /* An index that no answer has says nothing: the item at hand. */
  STREAM("text 0 a\ntext 1 b\ntext 1 c\ntext 1 d\nmeta r2 model m2\nend 0\nend 1\n" END,
         TEXT(9223372036854775807, 0, "a"), "{'type':'response.output_item.added','item':{'type':'message'}}",
         "{'type':'response.output_text.delta','delta':'b'}", TEXT(-9223372036854775807, 0, "c"),
         TEXT(1, 0, "d"), COMPLETED);
  /* Items that say nothing: no type, no object, no content. */
  STREAM("end 1\nmeta r2 model m2\n" END, DONE(0, "{}"), DONE(1, "7"), DONE(2, "{'type':'message','content':null}"),
         DONE(2, "{'type':'message','content':[{'type':'output_text','text':'x'}]}"),
         DONE(3, "{'type':'message','content':[7,{},{'type':'output_text'},{'type':null,'text':null}]}"),
         "{'type':'response.output_item.done','output_index':4}", COMPLETED);
  /* A part without a type that has text is text. */
  BODY("text 0 a\nend 0\nstop end_turn completed\n", "{'output':[{'type':'message','content':[{'text':'a'}]}]}");
}

/* The last word on a block differs from what was streamed. */
static void test_corrections(void) {
  STREAM("text 0 a\ntext! 0 c\n" CORRECTED "end 0\nmeta r2 model m2\n" END,
         TEXT(0, 0, "a"), TEXT_DONE(0, 0, "c"), DONE(0, MESSAGE("c")), COMPLETED);
  STREAM("text 0 ab\ntext! 0 a\n" CORRECTED "text 0 c\nend 0\nmeta r2 model m2\n" END,
         TEXT(0, 0, "ab"), TEXT_DONE(0, 0, "a"), DONE(0, MESSAGE("ac")), COMPLETED);
  STREAM("tool 0 c1 f\nargs 0 {b\nargs! 0 {'a':1}\n" CORRECTED "tool 0 c1 f\nend 0\nmeta r2 model m2\n"
         "done\nstop tool_use completed\n",
         ADDED(0, CALL("c1", "")), ARGS(0, "{b"), "{'type':'response.function_call_arguments.done','output_index':0,"
         "'arguments':{'a':1}}", DONE(0, CALL("c1", "")), COMPLETED);
  /* Of a summary only the part that grows is settled; the whole is, with the item. */
  STREAM("thinking 0 a\nthinking 0 \n\n\nthinking 0 b\nthinking! 0 a\n\nB\n" CORRECTED
         "thinking! 0 A\n\nB\n" CORRECTED "raw 0 {'type':'reasoning','summary':[{'text':'A'},{'text':''},"
         "{'text':'B'}]}\nend 0\nmeta r2 model m2\n" END,
         SUMMARY(0, 0, "a"), SUMMARY(0, 1, "b"), SUMMARY_DONE(0, 0, "x"), SUMMARY_DONE(0, 1, "B"),
         DONE(0, "{'type':'reasoning','summary':[{'text':'A'},{'text':''},{'text':'B'}]}"), COMPLETED);
  /* Characters cut apart are compared joined. */
  STREAM("text~ 0 \xED\xA0\xBC\ntext~ 0 \xED\xBC\x8A\ntext 0 !\nend 0\nmeta r2 model m2\n" END,
         TEXT(0, 0, "\\ud83c"), TEXT(0, 0, "\\udf0a"), TEXT_DONE(0, 0, "\xF0\x9F\x8C\x8A"),
         DONE(0, MESSAGE("\\ud83c\\udf0a!")), COMPLETED);
}

/* A message that takes the parts of a correction holds the last word. */
static void test_corrected_turn(void) {
  struct mem m = mem_libc();
  struct limits l;
  struct message msg;
  struct events deltas;
  struct arena a;
  struct err e;
  struct node *message, *content;
  static const struct event PARTS[] = {
    { .type = PART_TEXT, .key = 1, .text = { "abc", 3 } },
    { .type = PART_TEXT, .key = 1, .text = { "xy", 2 }, .flags = EVENT_REPLACE },
    { .type = PART_TOOL, .key = 2, .id = { "c", 1 }, .name = { "f", 1 } },
    { .type = PART_ARGS, .key = 2, .text = { "{", 1 } },
    { .type = PART_ARGS, .key = 2, .text = { "{\"a\":1}", 7 }, .flags = EVENT_REPLACE },
    { .type = PART_RAW, .key = 3, .text = { "{}", 2 } },
    { .type = PART_RAW, .key = 4, .text = { "{\"b\":2}", 7 }, .name = { "thinking", 8 } },
  };
  limits_default(&l);
  message_init(&msg, &m, &l, &HERE, 1);
  events_init(&deltas, &m);
  arena_init(&a, &m);
  for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) CHECK(message_add(&msg, &PARTS[i], &deltas, &e) == 0);
  CHECK(message_end(&msg, &deltas, &e) == 0);
  message = message_node(&msg, &a, 0);
  content = node_get(message, "content");
  CHECK(content != NULL && content->count == 3);
  CHECK(str_eq(node_str(node_get(content->child, "text")), "xy"));
  CHECK(str_eq(node_str(node_get(content->child->next, "arguments_json")), "{\"a\":1}"));
  CHECK(str_eq(node_str(node_get(content->last, "type")), "thinking"));
  CHECK(node_str(node_get(content->last, "thinking")).n == 0);
  CHECK(str_eq(node_str(node_get(node_get(content->last, "provider_data"), "raw")), "{\"b\":2}"));
  message_free(&msg);
  events_free(&deltas);
  arena_free(&a);
}

/* }}} */

/* {{{ items */

static void test_kept(void) {
  STREAM("text 0 a\nraw 0 {'phase':'commentary','annotations':[{'type':'c'}]}\nend 0\nmeta r2 model m2\n" END,
         DONE(0, "{'type':'message','phase':'commentary','content':[{'type':'output_text','text':'a','logprobs':[],"
              "'annotations':[{'type':'c'}]}]}"), COMPLETED);
  STREAM("tool 0 c1 f\nargs 0 {}\nraw 0 {'id':'fc_1','extra':[1, 2]}\nend 0\nmeta r2 model m2\n"
         "done\nstop tool_use completed\n",
         DONE(0, "{'id':'fc_1','type':'function_call','status':'completed','call_id':'c1','name':'f','arguments':'{}',"
              "'extra':[1, 2],'none':null}"), COMPLETED);
  /* Whatever has no canonical form, as it came. */
  STREAM("opaque 0 web_search_call {'type':'web_search_call', 'x':[]}\nmeta r2 model m2\n" END,
         ADDED(0, "{'type':'web_search_call'}"), DONE(0, "{'type':'web_search_call', 'x':[]}"), COMPLETED);
  STREAM("opaque 0 output_audio {'role':'assistant','content':[{'type':'output_audio'}]}\n"
         "meta r2 model m2\n" END,
         DONE(0, "{'type':'message','content':[{'type':'output_audio'}]}"), COMPLETED);
}

/* A message that is not the model's is no text of it, announced or not. */
static void test_foreign(void) {
#define ECHO "{'type':'message','role':'user','content':[{'type':'input_text','text':'x'}]}"
  STREAM("opaque 0 message " ECHO "\ntext 1 a\nend 1\nmeta r2 model m2\n" END,
         ADDED(0, "{'type':'message','role':'user','content':[]}"), TEXT(0, 0, "x"), DONE(0, ECHO),
         DONE(1, "{'type':'message','role':'assistant','content':[{'type':'output_text','text':'a'}]}"), COMPLETED);
  STREAM("text 0 x\ntext! 0\n" CORRECTED "opaque 1 message " ECHO "\nend 0\nmeta r2 model m2\n" END,
         TEXT(0, 0, "x"), DONE(0, ECHO), COMPLETED);
}

static void test_thinking(void) {
  /* The encrypted content of the item that is done; a block without text where there is one. */
  STREAM("raw 0 {'type':'reasoning','summary':[],'encrypted_content':'s2'}\nend 0\nmeta r2 model m2\n" END,
         ADDED(0, "{'type':'reasoning','encrypted_content':'s1'}"),
         DONE(0, "{'type':'reasoning','summary':[],'encrypted_content':'s2'}"), COMPLETED);
  /* The item's own text, and a summary that comes too late. */
  STREAM("thinking 0 own\nraw 0 {'type':'reasoning','content':[{'text':'own'}],'summary':[{'text':'s'}]}\nend 0\n"
         "meta r2 model m2\n" END,
         "{'type':'response.reasoning_text.delta','output_index':0,'content_index':0,'delta':'own'}",
         SUMMARY(0, 0, "s"), DONE(0, "{'type':'reasoning','content':[{'text':'own'}],'summary':[{'text':'s'}]}"),
         COMPLETED);
  BODY("thinking 0 a\n\nb\nraw 0 {'type':'reasoning','summary':[{'text':'a'},{'text':'b'}]}\nend 0\n"
       "stop end_turn completed\n",
       "{'output':[{'type':'reasoning','summary':[{'text':'a'},{'text':'b'}]}]}");
}

static void test_calls(void) {
  STREAM("tool 0 c1 f\ntool 1 c2 f\nargs 0 {\nargs 1 {}\nargs 0 }\ntool 0 c1 f\nend 0\ntool 1 c2 f\nend 1\n"
         "meta r2 model m2\ndone\nstop tool_use completed\n",
         ADDED(0, CALL("c1", "")), ADDED(1, CALL("c2", "")), ARGS(0, "{"), ARGS(1, "{}"), ARGS(0, "}"),
         ARGS_DONE(0, "{}"), DONE(0, CALL("c1", "{}")), DONE(1, CALL("c2", "{}")), COMPLETED);
  /* Never done. */
  STREAM("tool 0 c1 f\nargs 0 {\nmeta r2 model m2\nend 0\ndone\nstop tool_use completed\n",
         ADDED(0, CALL("c1", "")), ARGS(0, "{"), COMPLETED);
  /* Only the items of the last event. */
  STREAM("text 0 a\nend 0\ntool 1 c1 f\nargs 1 {}\nend 1\ndone\nstop tool_use completed\n",
         "{'type':'response.completed','response':{'output':[" MESSAGE("a") "," CALL("c1", "{}") "]}}");
}

#define PARALLEL(args) \
  "{'id':'fc','type':'function_call','call_id':'c','name':'parallel','arguments':'" args "'}"
#define USES "{\\'tool_uses\\':[{\\'recipient_name\\':\\'functions.f\\',\\'parameters\\':{\\'a\\':1}}," \
             "{\\'parameters\\':{},\\'recipient_name\\':\\'functions.g\\'}]}"

static void test_parallel(void) {
  STREAM("tool 1 c_1 f\nargs 1 {'a':1}\nraw 1 {'parallel':'c','item':" PARALLEL(USES) "}\nend 1\n"
         "tool 2 c_2 g\nargs 2 {}\nraw 2 {'parallel':'c'}\nend 2\nmeta r2 model m2\ndone\nstop tool_use completed\n",
         ADDED(0, PARALLEL("")), ARGS(0, USES), DONE(0, PARALLEL(USES)), COMPLETED);
  /* Other arguments: a tool like any other. */
  STREAM("tool 0 c parallel\nargs 0 {'tool_uses':[]}\nraw 0 {'id':'fc'}\nend 0\nmeta r2 model m2\n"
         "done\nstop tool_use completed\n",
         ADDED(0, PARALLEL("")), DONE(0, PARALLEL("{\\'tool_uses\\':[]}")), COMPLETED);
  /* Cut: what came of it. */
  STREAM("meta r2 model m2\ntool 0 c parallel\nargs 0 {'tool_us\nend 0\ndone\nstop tool_use completed\n",
         ADDED(0, PARALLEL("")), ARGS(0, "{\\'tool_us"), COMPLETED);
}

/* }}} */

/* {{{ ends, errors */

static void test_ends(void) {
  STREAM(META "open\n", CREATED, "[DONE]", "{'type':'response.in_progress'}");
  STREAM(META "open\n", CREATED, DONE(0, "{}"));
  STREAM("meta r model m\nusage in=5 out=7 read=3 written=0 reasoning=2\ndone\nstop max_tokens max_output_tokens\n",
         "{'type':'response.incomplete','response':{'id':'r','model':'m','status':'incomplete','incomplete_details':"
         "{'reason':'max_output_tokens'},'output':[],'usage':{'input_tokens':8,'input_tokens_details':"
         "{'cached_tokens':3},'output_tokens':7,'output_tokens_details':{'reasoning_tokens':2},'total_tokens':17}}}");
  STREAM("warning unknown_stop_reason stop_reason why the answer is incomplete is not known\nstop end_turn odd\n",
         "{'object':'response','status':'incomplete','incomplete_details':{'reason':'odd'},'output':[]}");
  BODY("stop sensitive content_filter\n",
       "{'status':'incomplete','incomplete_details':{'reason':'content_filter'},'output':[]}");
}

static void test_errors(void) {
  STREAM("error rate_limit 429 rate_limit_exceeded retryable\n",
         "{'type':'error','code':'rate_limit_exceeded','message':'x','param':null}");
  STREAM("error server 500 server_error retryable\n",
         "{'type':'error','error':{'type':'server_error','code':'server_error','message':'x'}}");
  STREAM("error invalid_request 400 invalid_prompt\n",
         "{'type':'response.failed','response':{'status':'failed','error':{'code':'invalid_prompt','message':'x'}}}");
  STREAM("error server 500  retryable\n", "{'type':'response.failed','response':{'status':'failed','error':null}}");
  STREAM("error protocol 0 wrong_endpoint\n", "{'object':'chat.completion.chunk','choices':[]}");
  STREAM("error protocol 0 \n", "[1]");
  STREAM("error protocol 0 \n", "{'type':'ping'} x");
  BODY("error protocol 0 wrong_endpoint\n", "{'object':'chat.completion','choices':[]}");
  BODY("error protocol 0 \n", "{'status':'completed'}");
  BODY("error protocol 0 \n", "{'status':'queued','output':[]}");
  BODY("error protocol 0 \n", "7");
  BODY("error auth 401 invalid_api_key\n", "{'error':{'message':'x','code':'invalid_api_key'}}");
}

static void test_limits(void) {
  static const struct limits TIGHT = { .blocks = 2, .argument_bytes = 8, .depth = 8 };
  CHECK(limited(&TIGHT, CHUNKS(TEXT(0, 0, "a"), TEXT(1, 0, "a"))) == KIND_NONE);
  CHECK(limited(&TIGHT, CHUNKS(TEXT(0, 0, "a"), TEXT(1, 0, "a"), TEXT(2, 0, "a"))) == KIND_LIMIT);
  CHECK(limited(&TIGHT, CHUNKS(ARGS(0, "12345678"))) == KIND_NONE);
  CHECK(limited(&TIGHT, CHUNKS(ARGS(0, "1234"), ARGS(0, "56789"))) == KIND_LIMIT);
  CHECK(limited(&TIGHT, CHUNKS(ARGS(0, "1234"), ARGS_DONE(0, "56789"))) == KIND_NONE);
  CHECK(limited(&TIGHT, CHUNKS(ARGS(0, "1234"), ARGS_DONE(0, "567890123"))) == KIND_LIMIT);
  CHECK(limited(&TIGHT, CHUNKS(ADDED(0, PARALLEL("")), ARGS(0, "123456789"))) == KIND_LIMIT);
  CHECK(limited(&TIGHT, CHUNKS("{'a':[[[[[[[[1]]]]]]]]}")) == KIND_LIMIT);
}

/* }}} */

int main(void) {
  test_text();
  test_logprobs();
  test_corrections();
  test_corrected_turn();
  test_kept();
  test_foreign();
  test_thinking();
  test_calls();
  test_parallel();
  test_ends();
  test_errors();
  test_limits();
  return test_done("codec/responses/parse");
}
