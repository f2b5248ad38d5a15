/* parse.c: chunks and answers of Chat Completions as parts: text, ends, choices, errors, whole bodies. */
#include "chunks.h"

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
  STREAM("text 0 a\ndone\n" NO_FINISH_REASON "stop end_turn \n", F("{'content':'a'}", ""), "[DONE]");
  STREAM("text 0 a\ndone\n" NO_FINISH_REASON "stop end_turn \n", D("{'content':'a'}"), " [DONE]\n");
  STREAM("tool 0 c f\nargs 0 {}\ndone\n" NO_FINISH_REASON "stop tool_use \n",
         CALL("{'index':0,'id':'c','function':{'name':'f','arguments':'{}'}}"), "[DONE]");
  STREAM("stop max_tokens length\n", F("{}", "length"));
  STREAM("stop max_tokens model_length\n", F("{}", "model_length"));
  STREAM("stop sensitive content_filter\n", F("{}", "content_filter"));
  STREAM("stop end_turn eos\n", F("{}", "eos"));
  STREAM("warning unknown_stop_reason the finish_reason is not known\nstop end_turn fell_over\n", F("{}", "fell_over"));
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

static void test_order(void) {
  /* Text before, between and after calls are blocks of their own; empty arrays of calls change nothing. */
  STREAM("text 0 a\ntool 1 x f\ntext 2 b\nargs 1 {}\ntext 2 c\nopen\n", D("{'content':'a','tool_calls':[]}"),
         CALL("{'index':0,'id':'x','function':{'name':'f'}}"), D("{'content':'b'}"),
         CALL("{'index':0,'function':{'arguments':'{}'}}"), D("{'content':'c','tool_calls':[]}"));
  STREAM("thinking 0 p\ntext 1 q\nthinking 2 r\ntext 3 s\nopen\n", D("{'content':'q','reasoning':'p'}"),
         D("{'reasoning':'r','content':''}"), D("{'content':'s'}"));
}

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
  /* Answers that are no JSON, or none of this wire's. */
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
  BODY("usage in=1 out=0\n" NO_FINISH_REASON "stop end_turn \n",
       "{'choices':[],'usage':{'prompt_tokens':1,'completion_tokens':0}}");
  BODY("text 0 x\n" NO_FINISH_REASON "stop end_turn \n",
       "{'choices':[{'message':{'content':'x'},'finish_reason':null}]}");
  BODY("text 0 x\nstop end_turn stop\n", "{'choices':[{'delta':{'content':'x'},'finish_reason':'stop'}]}");
}

int main(void) {
  test_text();
  test_ends();
  test_refusal();
  test_choices();
  test_message_in_stream();
  test_order();
  test_errors();
  test_bodies();
  return test_done("codec/chat/parse");
}
