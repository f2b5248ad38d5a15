/* parse.c: chunks and answers of Chat Completions as parts: every oddity on record, one case each. */
#define CODEC codec_chat
#include "codec/parts.h"

/* {{{ events */

/* One choice's delta; with a finish_reason. */
#define D(delta) "{'choices':[{'index':0,'delta':" delta "}]}"
#define F(delta, finish) "{'choices':[{'index':0,'delta':" delta ",'finish_reason':'" finish "'}]}"
#define CALL(json) D("{'tool_calls':[" json "]}")
#define USAGE(u) "{'choices':[],'usage':" u "}"

/* }}} */

/* {{{ text, meta, ends */

static void test_text(void) {
  STREAM("meta chatcmpl-1\nmeta model gpt-5-2025-08-07\ntext 0 Ol\xC3\xA1\ntext 0 !\n"
         "usage in=19 out=75 read=0 written=0 reasoning=64\ndone\nstop end_turn stop\n",
         "{'id':'chatcmpl-1','object':'chat.completion.chunk','created':1782321917,'model':'gpt-5-2025-08-07',"
         "'service_tier':'default','system_fingerprint':null,'choices':[{'index':0,'delta':{'role':"
         "'assistant','content':'','refusal':null},'finish_reason':null}],'usage':null,'obfuscation':'mb'}",
         "{'id':'chatcmpl-1','choices':[{'index':0,'delta':{'content':'Ol\xC3\xA1'},'finish_reason':null}]}",
         F("{'content':'!'}", "stop"),
         "{'choices':[],'usage':{'prompt_tokens':19,'completion_tokens':75,'total_tokens':94,"
         "'prompt_tokens_details':{'cached_tokens':0},'completion_tokens_details':{'reasoning_tokens':64}}}",
         "[DONE]", D("{'content':'late'}"), "not even JSON");
  /* Azure: the first chunk has no choices and an empty id. */
  STREAM("meta c1\nmeta model gpt-4.1\ntext 0 The\nstop end_turn stop\n",
         "{'choices':[],'created':0,'id':'','model':'','object':'','prompt_filter_results':[{}]}",
         "{'choices':[{'content_filter_results':{},'delta':{'content':'The','refusal':null,'role':''},"
         "'finish_reason':null,'index':0}],'id':'c1','model':'gpt-4.1'}",
         F("{}", "stop"));
  /* Where the first choice came without id and model, a later chunk is read once, in its own order. */
  STREAM("text 0 a\ntext 0 b\nmeta c1\nmeta model m\nstop end_turn stop\n",
         D("{'content':'a'}"), "{'choices':[{'index':0,'delta':{'content':'b'}}],'id':'c1','model':'m'}", F("{}", "stop"));
  /* No role, null model and id, numeric id; white space and nothing at all as data. */
  STREAM("meta 12\ntext 0 a\nstop end_turn stop\n",
         "{'id':12,'model':null,'choices':[{'delta':{'content':'a'}}]}", "", "  ", F("{'content':null}", "stop"));
  /* Escapes are decoded; content may follow the finish_reason; text after it belongs to the message. */
  STREAM("text 0 '\n\xF0\x9F\x98\x80\ntext 0 tail\nstop end_turn stop\n",
         F("{'content':'\\'\\n\\ud83d\\ude00'}", "stop"), D("{'content':'tail'}"));
}

static void test_ends(void) {
  STREAM("text 0 a\nopen\n", D("{'content':'a'}"));
  STREAM("open\n", USAGE("null"));
  /* An empty finish_reason ends nothing: some proxies send it with every chunk. */
  STREAM("text 0 a\nopen\n", F("{'content':'a'}", ""));
  STREAM("text 0 a\ndone\nwarning missing_finish_reason\nstop end_turn \n", F("{'content':'a'}", ""), "[DONE]");
  STREAM("text 0 a\ndone\nwarning missing_finish_reason\nstop end_turn \n", D("{'content':'a'}"), " [DONE]\n");
  STREAM("tool 0 c f\nargs 0 {}\ndone\nwarning missing_finish_reason\nstop tool_use \n",
         CALL("{'index':0,'id':'c','function':{'name':'f','arguments':'{}'}}"), "[DONE]");
  STREAM("stop max_tokens length\n", F("{}", "length"));
  STREAM("stop max_tokens model_length\n", F("{}", "model_length"));
  STREAM("stop sensitive content_filter\n", F("{}", "content_filter"));
  STREAM("stop end_turn eos\n", F("{}", "eos"));
  STREAM("warning unknown_stop_reason\nstop end_turn fell_over\n", F("{}", "fell_over"));
  STREAM("error server 500 error retryable\n", F("{}", "error"));
  STREAM("error overloaded 503 insufficient_system_resource retryable\n", F("{}", "insufficient_system_resource"));
  STREAM("error protocol 0 empty_tool_turn retryable\n", F("{}", "tool_calls"));
  STREAM("error protocol 0 empty_tool_turn retryable\n", F("{'tool_calls':[]}", "function_call"));
  /* stop, eos and unknown words with calls are tool_use; length and content_filter are not. */
#define WITH_CALL(word) F("{'tool_calls':[{'index':0,'id':'c','function':{'name':'f','arguments':'{'}}]}", word)
  STREAM("tool 0 c f\nargs 0 {\nstop tool_use stop\n", WITH_CALL("stop"));
  STREAM("tool 0 c f\nargs 0 {\nstop tool_use eos\n", WITH_CALL("eos"));
  STREAM("tool 0 c f\nargs 0 {\nstop tool_use tool_calls\n", WITH_CALL("tool_calls"));
  STREAM("tool 0 c f\nargs 0 {\nstop max_tokens length\n", WITH_CALL("length"));
  STREAM("tool 0 c f\nargs 0 {\nstop sensitive content_filter\n", WITH_CALL("content_filter"));
  /* The finish_reason is repeated with the usage (OpenRouter); the graver word counts. */
  STREAM("usage in=3 out=1\nstop end_turn stop\n", F("{}", "stop"),
         "{'choices':[{'index':0,'delta':{'content':''},'finish_reason':'stop'}],"
         "'usage':{'prompt_tokens':3,'completion_tokens':1}}");
  STREAM("stop max_tokens length\n", F("{}", "length"), F("{}", "stop"));
}

static void test_refusal(void) {
  STREAM("refusal 0 Nono\nrefusal 0  sorry\nstop refusal stop\n",
         D("{'content':null,'refusal':''}"), D("{'refusal':'Nono'}"), F("{'refusal':' sorry'}", "stop"));
  BODY("refusal 0 no\nstop refusal stop\n",
       "{'choices':[{'message':{'content':null,'refusal':'no'},'finish_reason':'stop'}]}");
}

/* }}} */

/* {{{ choices */

static void test_choices(void) {
  /* Copilot splits a message of Claude over two choices without index. */
  BODY("text 0 let me check\ntool 1 tooluse_1 weather\nargs 1 {'location':'London'}\nstop tool_use tool_calls\n",
       "{'choices':[{'finish_reason':'tool_calls','message':{'content':'let me check','role':'assistant'}},"
       "{'finish_reason':'tool_calls','message':{'role':'assistant','tool_calls':[{'function':{'arguments':"
       "'{\\'location\\':\\'London\\'}','name':'weather'},'id':'tooluse_1','type':'function'}]}}]}");
  /* Streamed so: the message is complete when each choice seen has its finish_reason; indexes of calls are per choice. */
  STREAM("text 0 a\ntool 1 x f\ntool 2 y g\nargs 1 {}\nargs 2 {}\nopen\n",
         "{'choices':[{'index':0,'delta':{'content':'a'},'finish_reason':'tool_calls'}]}",
         "{'choices':[{'index':1,'delta':{'tool_calls':[{'index':0,'id':'x','function':{'name':'f'}}]}}]}",
         "{'choices':[{'index':2,'delta':{'tool_calls':[{'index':0,'id':'y','function':{'name':'g'}}]}}]}",
         "{'choices':[{'index':1,'delta':{'tool_calls':[{'index':0,'function':{'arguments':'{}'}}]}},"
         "{'index':2,'delta':{'tool_calls':[{'index':0,'function':{'arguments':'{}'}}]},"
         "'finish_reason':'tool_calls'}]}");
  /* Text of two choices is two blocks. */
  STREAM("text 0 a\ntext 1 b\nstop end_turn stop\n",
         "{'choices':[{'index':0,'delta':{'content':'a'},'finish_reason':'stop'},"
         "{'index':1,'delta':{'content':'b'},'finish_reason':'stop'}]}");
  /* More choices than bits share the last one. */
  STREAM("text 0 a\nstop end_turn stop\n",
         "{'choices':[{'index':100000000000,'delta':{'content':'a'},'finish_reason':'stop'}]}");
  /* null and odd values where objects are expected. */
  STREAM("text 0 a\nstop end_turn stop\n",
         "{'choices':[{'delta':null,'message':null,'finish_reason':{'a':[]}},null,1]}", "{'choices':null}", "{}",
         F("{'content':'a','tool_calls':null,'annotations':{},'reasoning_details':7}", "stop"));
}

static void test_message_in_stream(void) {
  /* A full chat.completion as the only event. */
  STREAM("meta c\nthinking 0 hm\ntext 1 hello\ntool 2 x f\nargs 2 {'a':1}\nusage in=1 out=2\ndone\n"
         "stop tool_use tool_calls\n",
         "{'id':'c','object':'chat.completion','choices':[{'index':0,'message':{'tool_calls':[{'id':'x',"
         "'function':{'name':'f','arguments':'{\\'a\\':1}'}}],'content':'hello','reasoning':'hm'},"
         "'finish_reason':'tool_calls'}],'usage':{'prompt_tokens':1,'completion_tokens':2}}", "[DONE]");
  /* A message beside the delta, or after deltas, repeats them. */
  STREAM("text 0 a\ntext 0 b\nstop end_turn stop\n",
         "{'choices':[{'index':0,'message':{'content':'a'},'delta':{'content':'a'}}]}",
         "{'choices':[{'index':0,'delta':{'content':'b'},'message':{'content':'ab'}}]}",
         "{'object':'chat.completion','choices':[{'index':0,'message':{'content':'ab'},'finish_reason':'stop'}]}");
  /* After a chunk with nothing but the role it still counts. */
  STREAM("text 0 a\nstop end_turn stop\n", D("{'role':'assistant','content':''}"),
         "{'choices':[{'index':0,'message':{'content':'a'},'finish_reason':'stop'}]}");
}

/* }}} */

/* {{{ tool calls */

static void test_calls(void) {
  /* As OpenAI sends them; (a) and (c). */
  STREAM("tool 0 call_a add\nargs 0 {'a'\nargs 0 :2}\ntool 1 call_b multiply\nargs 1 {}\nstop tool_use tool_calls\n",
         CALL("{'index':0,'id':'call_a','type':'function','function':{'name':'add','arguments':''}}"),
         CALL("{'index':0,'function':{'arguments':'{\\'a\\''}}"),
         CALL("{'index':0,'function':{'arguments':':2}'}}"),
         CALL("{'index':1,'id':'call_b','type':'function','function':{'name':'multiply','arguments':''}}"),
         CALL("{'index':1,'function':{'arguments':'{}'}}"), F("{}", "tool_calls"));
  /* The id is repeated with every fragment; the name too. */
  STREAM("tool 0 a f\nargs 0 {\nargs 0 }\nopen\n",
         CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{'}}"),
         CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'}'}}"));
  /* Ollama and gateways: every call has index 0 and no id. Three calls. */
  STREAM("tool 0  a\nargs 0 {'x':'}'}\ntool 1  b\nargs 1 {}\ntool 2  c\nargs 2 {'y':[1]}\nopen\n",
         CALL("{'index':0,'function':{'name':'a','arguments':'{\\'x\\':\\'}\\'}'}}"),
         CALL("{'index':0,'function':{'name':'b','arguments':'{}'}}"),
         CALL("{'index':0,'function':{'name':'c','arguments':{'y': [1]}}}"));
  /* The same without an index at all. */
  STREAM("tool 0  a\nargs 0 {}\ntool 1  b\nargs 1 {}\nopen\n",
         CALL("{'function':{'name':'a','arguments':'{}'}},{'function':{'name':'b','arguments':'{}'}}"));
  /* (b) ids at the same index are calls of their own; an id that comes late is adopted. */
  STREAM("tool 0 a f\nargs 0 {}\ntool 1 b g\nargs 1 {}\nopen\n",
         CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{}'}}"),
         CALL("{'index':0,'id':'b','function':{'name':'g','arguments':'{}'}}"));
  STREAM("tool 0  f\ntool 0 a \nargs 0 {}\nopen\n", CALL("{'index':0,'function':{'name':'f','arguments':''}}"),
         CALL("{'index':0,'id':'a','function':{'arguments':'{}'}}"));
  /* The second call's head has index 0, its tail index 1 (and its id). */
  STREAM("tool 0 a f\nargs 0 {}\ntool 1 b g\nargs 1 {\nargs 1 'k':1\nargs 1 }\nopen\n",
         CALL("{'index':0,'id':'a','function':{'name':'f','arguments':'{}'}}"),
         CALL("{'index':0,'id':'b','function':{'name':'g','arguments':'{'}}"),
         CALL("{'index':1,'id':'b','function':{'arguments':'\\'k\\':1'}}"),
         CALL("{'index':1,'function':{'arguments':'}'}}"));
  /* (e) no index: id, else the latest call. */
  STREAM("tool 0 a f\nargs 0 {\ntool 1 b g\nargs 1 {}\nargs 0 }\nopen\n",
         CALL("{'id':'a','function':{'name':'f','arguments':'{'}}"),
         CALL("{'id':'b','function':{'name':'g'}}"), CALL("{'function':{'arguments':'{}'}}"),
         CALL("{'id':'a','function':{'arguments':'}'}}"));
  /* (d) an unknown index without id is a new call; interleaved fragments find theirs. */
  STREAM("tool 0 a f\ntool 1  g\nargs 1 {\nargs 0 {\nargs 1 }\nargs 0 }\nopen\n",
         CALL("{'index':0,'id':'a','function':{'name':'f'}}"), CALL("{'index':1,'id':null,'function':{'name':'g'}}"),
         CALL("{'index':1,'function':{'arguments':'{'}},{'index':0,'function':{'arguments':'{'}}"),
         CALL("{'index':1,'function':{'arguments':'}'}}"), CALL("{'index':0,'function':{'arguments':'}'}}"));
}

static void test_call_fields(void) {
  /* Blank ids and names in continuations: "", "null", white space; ids as numbers. */
  STREAM("tool 0 a f\nargs 0 {\nargs 0 }\nopen\n",
         CALL("{'index':0,'id':' a ','function':{'name':'f','arguments':null}}"),
         CALL("{'index':0,'id':'','function':{'name':'','arguments':'{'}}"),
         CALL("{'index':0,'id':'null','function':{'name':'','arguments':'}'}}"));
  STREAM("tool 0 17 f\nargs 0 {}\nopen\n", CALL("{'index':0,'id':17,'function':{'name':'f','arguments':'{}'}}"));
  /* The name comes after arguments. */
  STREAM("tool 0 a \nargs 0 {\ntool 0  f\nargs 0 }\nopen\n", CALL("{'index':0,'id':'a','function':{'arguments':'{'}}"),
         CALL("{'index':0,'function':{'name':'f','arguments':'}'}}"));
  /* Arguments as an object: serialised once, not appended. */
  STREAM("tool 0 a f\nargs 0 {'b':[1,2.5],'a':'\xC3\xA9'}\nopen\n",
         CALL("{'id':'a','function':{'name':'f','arguments':{ 'b' : [1, 2.5], 'a': '\\u00e9' }}}"),
         CALL("{'id':'a','function':{'arguments':{'b':1}}}"));
  /* No arguments at all. */
  STREAM("tool 0 a f\nstop tool_use tool_calls\n",
         F("{'tool_calls':[{'index':0,'id':'a','function':{'name':'f'}}]}", "tool_calls"));
  /* What has no canonical name is kept. */
  STREAM("tool 0 a f\nargs 0 {}\nraw 0 {'extra_content':{'google':{'thought_signature':'s'}}}\nopen\n",
         CALL("{'index':0,'id':'a','type':'function','extra_content':{'google':{'thought_signature':'s'}},"
              "'custom':null,'function':{'name':'f','arguments':'{}'}}"));
  STREAM("tool 0 a f\nraw 0 {'x':1,'function':{'thought_signature':'s'}}\nopen\n",
         CALL("{'x':1,'id':'a','function':{'name':'f','thought_signature':'s'}}"));
  /* A plain answer's calls are whole: an id that comes twice does not join them. */
  BODY("tool 0 a f\nargs 0 {}\ntool 1 a g\nargs 1 {}\nstop tool_use tool_calls\n",
       "{'choices':[{'message':{'tool_calls':[{'id':'a','function':{'name':'f','arguments':'{}'}},"
       "{'id':'a','function':{'name':'g','arguments':'{}'}}]},'finish_reason':'tool_calls'}]}");
  /* Elements that are none. */
  STREAM("tool 0 a f\nopen\n", CALL("null,[1],{'id':'a','function':{'name':'f'}}"), CALL("{'function':null}"));
}

static void test_order(void) {
  /* Text before, between and after calls are blocks of their own; empty arrays of calls change nothing. */
  STREAM("text 0 a\ntool 1 x f\ntext 2 b\nargs 1 {}\ntext 2 c\nopen\n", D("{'content':'a','tool_calls':[]}"),
         CALL("{'index':0,'id':'x','function':{'name':'f'}}"), D("{'content':'b'}"),
         CALL("{'index':0,'function':{'arguments':'{}'}}"), D("{'content':'c','tool_calls':[]}"));
  STREAM("thinking 0 p\ntext 1 q\nthinking 2 r\ntext 3 s\nopen\n", D("{'content':'q','reasoning':'p'}"),
         D("{'reasoning':'r','content':''}"), D("{'content':'s'}"));
}

/* }}} */

/* {{{ reasoning */

static void test_reasoning(void) {
  STREAM("thinking 0 a\nthinking 0 b\nthinking 0 c\nthinking 0 d\ntext 1 x\nopen\n",
         D("{'reasoning_content':'a','content':null}"),
         D("{'reasoning':'b','content':''}"), D("{'reasoning_text':'c'}"),
         D("{'reasoning_content':'d','reasoning':'d'}"), D("{'content':'x'}"));
  /* xAI repeats deltas. */
  STREAM_Q("{'dedup_reasoning':true}", "thinking 0 a\nthinking 0 b\nthinking 0 a\ntext 1 a\ntext 1 a\nopen\n",
           D("{'reasoning_content':'a'}"), D("{'reasoning_content':'a'}"), D("{'reasoning_content':'b'}"),
           D("{'reasoning_content':'a'}"), D("{'content':'a'}"), D("{'content':'a'}"));
  /* Mistral: content as an array. */
  STREAM("thinking 0 The\nthinking 0  user\nraw 0 {'closed':true}\nthinking 0 4.\nraw 0 {'closed':true}\ntext 1 1\n"
         "text 1 44\n"
         "stop end_turn stop\n",
         D("{'content':[{'type':'thinking','thinking':[{'type':'text','text':'The'}]}]}"),
         D("{'content':[{'type':'thinking','thinking':[{'type':'text','text':' user'}],'closed':true}]}"),
         D("{'content':[{'closed':true,'thinking':[{'type':'text','text':'4.'}],'type':'thinking'},"
           "{'type':'text','text':'1'}]}"),
         F("{'content':'44'}", "stop"));
  STREAM("thinking 0 p\ntext 1 a\nopaque 2 reference {'type':'reference','reference_ids':[1]}\ntext 3 b\ntext 3 c\n"
         "open\n",
         D("{'content':[{'type':'thinking','thinking':'p'},{'type':'text','text':'a'},null,"
           "{'type':'reference','reference_ids':[1]},'b',{'text':'c'}]}"));
}

static void test_details(void) {
  /* OpenRouter: fragments joined by index; the text is also in `reasoning` and counts once. */
  STREAM("thinking 0 The \nthinking 0 user\ntool 1 t f\n"
         "raw 0 {'reasoning_details':[{'type':'reasoning.text','text':'The user','format':'v1','index':0,"
         "'signature':'sig'}]}\nstop tool_use tool_calls\n",
         D("{'content':'','reasoning':'The ','reasoning_details':[{'type':'reasoning.text','text':'The ',"
           "'format':'v1','index':0}]}"),
         D("{'reasoning':'user','reasoning_details':[{'type':'reasoning.text','text':'user','format':'v2',"
           "'index':0}]}"),
         D("{'content':'','reasoning':null,'reasoning_details':[{'type':'reasoning.text','signature':'sig',"
           "'index':0}]}"),
         CALL("{'index':0,'id':'t','function':{'name':'f'}}"),
         F("{'reasoning':null,'reasoning_details':[]}", "tool_calls"));
  /* Text only in the details; summaries; an encrypted entry of the same index but another type stays apart. */
  STREAM("thinking 0 sum\nthinking 0 mary\nredacted 1 AAAA\ntext 2 x\n"
         "raw 0 {'reasoning_details':[{'type':'reasoning.summary','summary':'summary','index':0},"
         "{'type':'reasoning.encrypted','data':'AAAABBBB','id':'i','index':0}]}\nstop end_turn stop\n",
         D("{'reasoning_details':[{'type':'reasoning.summary','summary':'sum','index':0}]}"),
         D("{'reasoning_details':[{'type':'reasoning.summary','summary':'mary','index':0}]}"),
         D("{'reasoning_details':[{'type':'reasoning.encrypted','data':'AAAA','id':'i','index':0}]}"),
         D("{'reasoning_details':[{'data':'BBBB','index':0,'id':'i','type':'reasoning.encrypted'}]}"),
         F("{'content':'x'}", "stop"));
  /* Without an index: a fragment continues the last entry, data never. */
  STREAM("thinking 0 a\nthinking 0 b\nredacted 1 P\nredacted 2 Q\n"
         "raw 0 {'reasoning_details':[{'type':'reasoning.text','text':'ab'},{'type':'reasoning.encrypted','data':'P'},"
         "{'type':'reasoning.encrypted','data':'Q'}]}\nstop end_turn stop\n",
         D("{'reasoning_details':[{'type':'reasoning.text','text':'a'}]}"),
         D("{'reasoning_details':[{'type':'reasoning.text','text':'b'}]}"),
         D("{'reasoning_details':[{'type':'reasoning.encrypted','data':'P'}]}"),
         F("{'reasoning_details':[{'type':'reasoning.encrypted','data':'Q'},5]}", "stop"));
  /* Two choices in one event, both about one entry; another event before the parts are taken. */
#define ENCRYPTED(i, c) "{'index':" #i ",'delta':{'reasoning_details':[{'type':'reasoning.encrypted','index':0,'data':'" \
                     c c c c c c c c "'}]}}"
  STREAM("redacted 0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\ndone\n"
         "raw 0 {'reasoning_details':[{'type':'reasoning.encrypted','index':0,'data':'"
         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
         "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
         "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"
         "DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD'}]}\n"
         "warning missing_finish_reason\nstop end_turn \n",
         "{'choices':[" ENCRYPTED(0, "AAAAAAAAAA") "," ENCRYPTED(1, "BBBBBBBBBB") "]}",
         "{'choices':[" ENCRYPTED(0, "CCCCCCCCCC") "," ENCRYPTED(1, "DDDDDDDDDD") "]}", "[DONE]");
  /* A fragment goes to the newest entry of its index with no other type or id; what an entry did not say may come
  ** later. */
  STREAM("thinking 0 a\nthinking 0 b\nthinking 0 c\nthinking 0 d\nthinking 0 e\nthinking 0 f\n"
         "raw 0 {'reasoning_details':[{'index':1,'text':'abd','id':'i','type':'t'},{'index':1,'id':'j','text':'cf'},"
         "{'index':2,'text':'e','id':7}]}\nstop end_turn stop\n",
         D("{'reasoning_details':[{'index':1,'text':'a'}]}"),
         D("{'reasoning_details':[{'index':1,'id':'i','text':'b'}]}"),
         D("{'reasoning_details':[{'index':1,'id':'j','text':'c'}]}"),
         D("{'reasoning_details':[{'index':1,'id':'i','type':'t','text':'d'}]}"),
         D("{'reasoning_details':[{'index':2,'text':'e','id':7}]}"),
         F("{'reasoning_details':[{'index':1,'text':'f'}]}", "stop"));
  /* A plain answer's entries are whole. */
  BODY("thinking 0 ab\ntext 1 x\nraw 0 {'reasoning_details':[{'type':'reasoning.text','text':'a'},"
       "{'type':'reasoning.text','text':'b'}]}\nstop end_turn stop\n",
       "{'choices':[{'message':{'content':'x','reasoning_details':[{'type':'reasoning.text','text':'a'},"
       "{'type':'reasoning.text','text':'b'}]},'finish_reason':'stop'}]}");
  /* Copilot: reasoning_opaque, with and without text. */
  STREAM("thinking 0 hm\ntool 1 t f\nraw 0 {'reasoning_opaque':'b+/='}\nstop tool_use tool_calls\n",
         D("{'reasoning_text':'hm'}"),
         F("{'content':null,'tool_calls':[{'id':'t','function':{'name':'f'}}],'reasoning_opaque':'b+/='}",
           "tool_calls"));
  STREAM("redacted 0 blob\ntext 1 x\nraw 0 {'reasoning_opaque':'blob'}\nstop end_turn stop\n",
         F("{'content':'x','reasoning_opaque':'blob'}", "stop"));
}

static void test_annotations(void) {
  STREAM("text 0 see\nraw 0 {'annotations':[{'type':'url_citation','url_citation':{'url':'u'}},{'n':2},{'n':3}]}\n"
         "stop end_turn stop\n",
         D("{'content':'','annotations':[{'type':'url_citation','url_citation':{'url':'u'}}]}"),
         D("{'content':'see','annotations':[ {'n':2} , {'n':3}]}"), F("{'annotations':[]}", "stop"));
  STREAM("stop end_turn stop\n", F("{'annotations':[1]}", "stop"));
}

/* }}} */

/* {{{ usage */

#define U(parts, u) STREAM(parts "open\n", USAGE(u))

static void test_usage(void) {
  U("usage in=60 out=5 read=40 written=0\n",
    "{'prompt_tokens':100,'completion_tokens':5,'prompt_tokens_details':{'cached_tokens':40}}");
  U("usage in=100 out=5\n", "{'prompt_tokens':100,'completion_tokens':5,'prompt_tokens_details':null}");
  U("usage in=100 out=5 read=0 written=0 reasoning=0\n",
    "{'prompt_tokens':100,'completion_tokens':5,'prompt_tokens_details':{},"
    "'completion_tokens_details':{'reasoning_tokens':null}}");
  U("usage in=50 out=5 read=40 written=10\n", "{'prompt_tokens':100,'completion_tokens':5,'prompt_tokens_details':"
    "{'cached_tokens':40,'cache_write_tokens':10}}");
  U("usage in=97 out=17 read=3\n", "{'prompt_tokens':100,'completion_tokens':17,'prompt_cache_hit_tokens':3}");
  U("usage in=97 out=17 read=3\n", "{'prompt_tokens':100,'completion_tokens':17,'cached_tokens':3}");
  U("usage out=17\n", "{'completion_tokens':17.0}");
  /* A cost counts where the quirk says that it is one. */
  U("usage out=17\n", "{'completion_tokens':17,'cost':0.5,'cost_details':{'x':[{}]},'is_byok':false}");
  STREAM_Q("{'reports_cost':true}", "usage out=17 cost=0.5\nopen\n", USAGE("{'completion_tokens':17,'cost':0.5,"
           "'cost_details':{'upstream_inference_cost':2},'is_byok':false}"));
  STREAM_Q("{'reports_cost':true}", "usage out=17 cost=2.5\nopen\n", USAGE("{'is_byok':true,'completion_tokens':17,"
           "'cost_details':{'x':{},'upstream_inference_cost':2},'cost':0.5}"));
  STREAM_Q("{'reports_cost':true}", "usage out=17\nopen\n",
           USAGE("{'is_byok':true,'completion_tokens':17,'cost':0.5}"));
  STREAM_Q("{'reports_cost':true}", "usage cost=0\nopen\n", USAGE("{'cost':{'a':[1],'total_cost':0,'b':{}}}"));
  STREAM_Q("{'reports_cost':true}", "usage out=1\nopen\n", USAGE("{'cost':'1','completion_tokens':1,'is_byok':[]}"));
  STREAM_Q("{'reports_cost':true}", "usage cost=0.25\nopen\n", USAGE("{'cost_in_usd_ticks':2500000000}"));
  U("usage out=1 unpriced=server_tools\n", "{'completion_tokens':1,'num_sources_used':2}");
  U("usage out=1 read=0 written=0 unpriced=audio\n",
    "{'completion_tokens':1,'prompt_tokens_details':{'audio_tokens':7}}");
  STREAM("usage unpriced=service_tier\nusage in=1 unpriced=service_tier\nopen\n",
         "{'service_tier':'flex','choices':[]}", "{'service_tier':'flex','choices':[],'usage':{'prompt_tokens':1}}");
  STREAM("usage in=1\nusage unpriced=service_tier\nopen\n",
         "{'choices':[],'usage':{'prompt_tokens':1},'service_tier':'priority'}");
  STREAM("usage in=1\nopen\n", "{'service_tier':null,'choices':[],'usage':{'prompt_tokens':1}}",
         "{'service_tier':'default','choices':[]}");
  U("", "{}");
  U("", "null");
  U("", "[1]");
  U("", "{'prompt_tokens':'many','completion_tokens':-5,'total_tokens':null}");
  /* More cached than prompt never gives less than nothing. */
  U("usage in=0 out=1 read=20 written=0\n",
    "{'prompt_tokens':10,'completion_tokens':1,'prompt_tokens_details':{'cached_tokens':20}}");
  /* More reasoning than output is reported as it came (Baseten). */
  U("usage in=4 out=10 reasoning=11\n", "{'prompt_tokens':4,'completion_tokens':10,"
    "'completion_tokens_details':{'reasoning_tokens':11}}");
  /* Apart from the output: the total says so (Copilot's Gemini models, top-level field). */
  U("usage in=6009 out=123 read=0 written=0 reasoning=92\n", "{'completion_tokens':31,'prompt_tokens':6009,"
    "'prompt_tokens_details':{'cached_tokens':0},'total_tokens':6132,'reasoning_tokens':92}");
  /* Cumulative usage replaces; x_groq and choice-level usage count as well; null says nothing. */
  STREAM("usage in=5 out=1\nusage in=5 out=2\nopen\n", USAGE("{'prompt_tokens':5,'completion_tokens':1}"),
         USAGE("null"),
         USAGE("{'prompt_tokens':5,'completion_tokens':2}"));
  STREAM("usage in=5 out=1 read=2 written=0\nusage in=3 out=9 read=2 written=0\nopen\n",
         "{'choices':[{'index':0,'delta':{},'usage':{'prompt_tokens':7,'completion_tokens':1,'prompt_tokens_details':"
         "{'cached_tokens':2}}}]}",
         "{'x_groq':{'id':'r','usage':{'prompt_tokens':5,'completion_tokens':9}}}");
  STREAM_Q("{'reasoning_outside_output':true}", "usage in=274 out=334 read=192 written=0 reasoning=266\nopen\n",
           USAGE("{'prompt_tokens':466,'completion_tokens':68,'total_tokens':800,"
                 "'prompt_tokens_details':{'cached_tokens':192},"
                 "'completion_tokens_details':{'reasoning_tokens':266}}"));
  STREAM_Q("{'reasoning_outside_output':true}", "usage in=10 out=1 read=20 written=0\nopen\n",
           USAGE("{'prompt_tokens':10,'completion_tokens':1,'prompt_tokens_details':{'cached_tokens':20}}"));
}

/* }}} */

/* {{{ errors, bodies */

static void test_errors(void) {
  STREAM("text 0 a\nerror invalid_request 400 400\n", D("{'content':'a'}"),
         "{'error':{'code':400,'message':'Token limit reached'},'choices':[{'index':0,'delta':{'content':''}}]}");
  STREAM("error overloaded 503 503 retryable\n", "{'choices':[],'error':{'code':503,'message':'busy'}}");
  STREAM("error server 500  retryable\n", "{'error':'something broke'}");
  STREAM("error overloaded 503 The service is currently unavailable retryable\n",
         "{'code':'The service is currently unavailable','error':'Service temporarily unavailable.'}");
  STREAM("error invalid_request 400 tool_use_failed retryable\n",
         "event:error {'error':{'message':'no','type':'invalid_request_error','code':'tool_use_failed'}}");
  STREAM("error rate_limit 429 rate_limit_exceeded retryable\n",
         "event:error {'message':'slow','code':'rate_limit_exceeded'}");
  STREAM("error server 500  retryable\n", "{'message':'broke','type':'error'}");
  STREAM("error auth 401 \n", "{'detail':'Invalid API Key'}");
  STREAM("error server 500 500 retryable\n", "[{'error':{'code':500,'message':'x'}}]");
  STREAM("error overloaded 503 503 retryable\n",
         "{'choices':[{'index':0,'delta':{},'finish_reason':'error','error':{'code':503,'message':'busy'}}]}");
  STREAM("error server 500  retryable\n", "{'choices':[],'x_groq':{'error':'over capacity'}}");
  STREAM("stop end_turn stop\n", "{'error':null,'choices':[]}", "{'error':'','x_groq':{'error':null}}", F("{}",
         "stop"));
  /* The other wire of the same house. */
  STREAM("error protocol 0 wrong_endpoint\n", "{'type':'response.created','response':{}}");
  BODY("error protocol 0 wrong_endpoint\n", "{'id':'resp_1','object':'response','output':[]}");
  /* What is no JSON, or none of this wire's. */
  STREAM("error protocol 0 \n", "{'choices':[");
  STREAM("text 0 a\nerror protocol 0 \n", D("{'content':'a'}"), D("{'content':'b'}") "x");
  STREAM("error protocol 0 \n", "true");
  BODY("error protocol 0 \n", "{'id':'x','model':'m'}");
  BODY("error protocol 0 \n", "");
  BODY("error auth 401 \n", "{'detail':'Invalid API Key'}");
}

static void test_bodies(void) {
  BODY("meta c\nmeta model m\ntext 0 Hello\nusage in=1 out=2\nstop end_turn stop\n",
       "\n\n {'id':'c','object':'chat.completion','model':'m','choices':[{'index':0,'message':{'role':'assistant',"
       "'content':'Hello','refusal':null,'annotations':[],'tool_calls':[]},'logprobs':null,'finish_reason':'stop'}],"
       "'usage':{'prompt_tokens':1,'completion_tokens':2},'service_tier':'default'}\n");
  BODY("thinking 0 p\nraw 0 {'closed':true}\ntext 1 144\nstop end_turn stop\n",
       "{'choices':[{'index':0,'finish_reason':'stop','message':{'role':'assistant','tool_calls':null,'content':["
       "{'type':'thinking','thinking':[{'type':'text','text':'p'}],'closed':true},{'type':'text','text':'144'}]}}]}");
  /* No choices: an empty message, its usage kept. */
  BODY("usage in=1 out=0\nwarning missing_finish_reason\nstop end_turn \n",
       "{'choices':[],'usage':{'prompt_tokens':1,'completion_tokens':0}}");
  BODY("text 0 x\nwarning missing_finish_reason\nstop end_turn \n",
       "{'choices':[{'message':{'content':'x'},'finish_reason':null}]}");
  BODY("text 0 x\nstop end_turn stop\n", "{'choices':[{'delta':{'content':'x'},'finish_reason':'stop'}]}");
}

/* }}} */

/* {{{ limits */

/* An entry of reasoning_details with n members. */
static enum kind entry_of(int n) {
  struct limits limits;
  char s[4096];
  int at = snprintf(s, sizeof s, "{'choices':[{'index':0,'delta':{'reasoning_details':[{'index':0");
  limits_default(&limits);
  for (int i = 1; i < n; i++) at += snprintf(s + at, sizeof s - (size_t)at, ",'%d':1", i);
  snprintf(s + at, sizeof s - (size_t)at, "}]}}]}");
  return limited(&limits, CHUNKS(s, s));
}

static void test_limits(void) {
  static const struct limits TIGHT = { .tool_calls = 3, .depth = 8, .blocks = 8, .argument_bytes = 64, .decoded = 4096 };
#define NAMED(index) CALL("{'index':" #index ",'function':{'name':'f'}}")
  CHECK(limited(&TIGHT, CHUNKS(NAMED(0), NAMED(1), NAMED(2))) == KIND_NONE);
  CHECK(limited(&TIGHT, CHUNKS(NAMED(0), NAMED(1), NAMED(2), NAMED(3))) == KIND_LIMIT);
  CHECK(limited(&TIGHT, CHUNKS("{'a':[[[[[[[[1]]]]]]]]}")) == KIND_LIMIT);
#define ENTRIES "{'index':0},{'index':1},{'index':2},{'index':3},{'index':4},{'index':5},{'index':6},{'index':7}"
  CHECK(limited(&TIGHT, CHUNKS(D("{'reasoning_details':[" ENTRIES ",{'index':0}]}"))) == KIND_NONE);
  CHECK(limited(&TIGHT, CHUNKS(D("{'reasoning_details':[" ENTRIES ",{'index':8}]}"))) == KIND_LIMIT);
  CHECK(entry_of(256) == KIND_NONE);
  CHECK(entry_of(257) == KIND_LIMIT);
}

/* }}} */

int main(void) {
  test_text();
  test_ends();
  test_refusal();
  test_choices();
  test_message_in_stream();
  test_calls();
  test_call_fields();
  test_order();
  test_reasoning();
  test_details();
  test_annotations();
  test_usage();
  test_errors();
  test_bodies();
  test_limits();
  return test_done("codec/chat/parse");
}
