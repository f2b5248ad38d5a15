/* calls.c: tool calls in chunks of Chat Completions: every oddity on record, one case each. */
#include "chunks.h"

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
  /* Fields without a canonical name are kept. */
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

int main(void) {
  test_calls();
  test_call_fields();
  return test_done("codec/chat/calls");
}
