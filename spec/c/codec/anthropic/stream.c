/* stream.c: the parts of streams: text, event names, thinking, calls, blocks of other types. */
#include "events.h"

static void test_stream_text(void) {
  STREAM(STARTED "text 0\ntext 0 Hel\ntext 0 lo\nend 0\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'text','text':''}"), PING, TEXT(0, "Hel"), TEXT(0, "lo"), STOP(0),
         ENDING("end_turn"), END);
  /* other key orders, padding, unknown fields, deltas and events */
  STREAM(STARTED "text 0 a\ntext 0 b\nend 0\n" ENDED("end_turn"),
         START, "{'content_block':{'text':'a','type':'text','citations':null},'index':0,'type':'content_block_start'}",
         "{ 'delta' : {'text':'b','new':{'a':[1]},'type':'text_delta'} , 'index':0, 'x':null,"
         "'type':'content_block_delta'   } ", DELTA(0, "{'type':'new_delta','text':'no'}"), "{'type':'new_event'}",
         STOP(0), ENDING("end_turn"), END);
  /* a surrogate pair cut in two */
  STREAM(STARTED "text 0\ntext~ 0 \xED\xA0\xBD\ntext~ 0 \xED\xB8\x80!\nend 0\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'text','text':''}"), TEXT(0, "\\ud83d"), TEXT(0, "\\ude00!"), STOP(0),
         ENDING("end_turn"), END);
  /* what comes after the end, and [DONE], says nothing */
  STREAM(STARTED ENDED("end_turn"), START, "[DONE]", ENDING("end_turn"), END, "[DONE]", "no json", START);
  /* a block that was never begun or never stopped; sparse and late stops */
  STREAM(STARTED "text 0\ntext 0 a\nthinking 1\nthinking 1 b\nusage out=5\nend 0\nend 1\ndone\n"
         "stop end_turn end_turn\n",
         START, TEXT(7, "a"), DELTA(9, "{'type':'thinking_delta','thinking':'b'}"),
         DELTA(11, "{'type':'citations_delta','citation':{}}"),
         STOP(3), ENDING("end_turn"), END);
}

static void test_stream_names(void) {
  STREAM("text 0\ntext 0 a\ntext 0 b\nend 0\ndone\n",
         "event:content_block_delta {'index':0,'delta':{'type':'text_delta','text':'a'}}",
         "event:wrong_name " TEXT(0, "b"), "event:message_stop {}");
}

static void test_stream_thinking(void) {
  STREAM(STARTED "thinking 0\nthinking 0 hm\nthinking 0\nsignature 0 one\nsignature 0 two\nend 0\nredacted 1 blob\n"
         "thinking 2\nsignature 2 s\nend 2\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'thinking','thinking':'','signature':''}"),
         DELTA(0, "{'type':'thinking_delta','thinking':'hm'}"), DELTA(0, "{'type':'thinking_delta','thinking':''}"),
         DELTA(0, "{'type':'signature_delta','signature':'one'}"),
         DELTA(0, "{'signature':'two','type':'signature_delta'}"),
         STOP(0), BLOCK(1, "{'type':'redacted_thinking','data':'blob'}"), STOP(1),
         BLOCK(2, "{'type':'thinking','thinking':''}"), DELTA(2, "{'type':'signature_delta','signature':'s'}"), STOP(2),
         ENDING("end_turn"), END);
}

static void test_stream_tools(void) {
  STREAM(STARTED "tool 0 t1 f\nargs 0 {'a'\nargs 0 : 1}\nraw 0 {'caller':{'type':'direct'}}\nend 0\n"
         "tool 1 t2 g\nend 1\ntool 2 t3 h\nargs 2 {'x':1}\nend 2\n" ENDED("tool_use"),
         START,
         BLOCK(0, "{'type':'tool_use','id':'t1','name':'f','input':{},'caller':{'type':'direct'},'toolset_name':null}"),
         JSON(0, ""), JSON(0, "{\\'a\\'"), JSON(0, ": 1}"), STOP(0),
         BLOCK(1, "{'type':'tool_use','id':'t2','name':'g','input':{ }}"), JSON(1, ""), STOP(1),
         BLOCK(2, "{'type':'tool_use','id':'t3','name':'h','input':{'x':1}}"), STOP(2), ENDING("tool_use"), END);
  /* interleaved, and the placeholder loses against deltas */
  STREAM(STARTED "tool 0 a f\ntool 1 b f\nargs 0 {\nargs 1 [\nargs 0 }\nend 0\nend 1\n" ENDED("tool_use"),
         START, BLOCK(0, "{'type':'tool_use','id':'a','name':'f','input':{'p':1}}"),
         BLOCK(1, "{'type':'tool_use','id':'b','name':'f','input':null}"), JSON(0, "{"), JSON(1, "["), JSON(0, "}"),
         STOP(0), STOP(1), ENDING("tool_use"), END);
  /* an index used again is a new block */
  STREAM(STARTED "text 0 a\nend 0\ntext 1 b\nend 1\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'text','text':'a'}"), BLOCK(0, "{'type':'text','text':'b'}"), STOP(0),
         ENDING("end_turn"), END);
}

static void test_stream_others(void) {
  STREAM(STARTED "opaque 0 server_tool_use {'type':'server_tool_use','id':'s','input':{'q': 1},'name':'web'}\n"
         "opaque 1 web_search_tool_result { 'type': 'web_search_tool_result', 'content':[1.0]}\n"
         "text 2\ntext 2 T\nraw 2 {'citations':[{ 'a':1},{'b':'\\u00e9'}]}\nend 2\n"
         "usage out=5 unpriced=server_tools\ndone\nstop end_turn end_turn\n",
         START, BLOCK(0, "{'type':'server_tool_use','id':'s','input':{},'name':'web'}"), JSON(0, ""),
         JSON(0, "{\\'q\\'"), JSON(0, ": 1}"), STOP(0),
         BLOCK(1, "{ 'type': 'web_search_tool_result', 'content':[1.0]}"), STOP(1),
         BLOCK(2, "{'citations':[],'type':'text','text':''}"),
         DELTA(2, "{'type':'citations_delta','citation':{ 'a':1}}"), TEXT(2, "T"),
         DELTA(2, "{'type':'citations_delta','citation':{'b':'\\u00e9'}}"), STOP(2), ENDING("end_turn"), END);
  /* a member that the block did not begin with; input cut short; a delta of an unknown type */
  STREAM(STARTED "opaque 0 compaction {'type':'compaction','content':'sum'}\n"
         "opaque 1 mcp_tool_use {'type':'mcp_tool_use','input':{'INVALID_JSON':'{\\'q'}}\n"
         "opaque 2 fallback {'type':'fallback','x':{}}\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'compaction'}"), DELTA(0, "{'type':'compaction_delta','content':null}"),
         DELTA(0, "{'type':'compaction_delta','content':'sum'}"), STOP(0),
         BLOCK(1, "{'type':'mcp_tool_use'}"), JSON(1, "{\\'q"), STOP(1),
         BLOCK(2, "{'type':'fallback','x':{}}"), TEXT(2, "ignored"), STOP(2), ENDING("end_turn"), END);
  /* where code ran: in the message or at its end; anything but an object with an id says nothing */
  STREAM(STARTED "container {'id':'c','x':[1]}\ndone\nstop end_turn end_turn\n", START,
         "{'type':'message_delta','delta':{'stop_reason':'end_turn','container':{'id':'c','x':[1]}}}", END);
  STREAM("meta m model c\ncontainer {'id':'c'}\n" ENDED("end_turn"),
         "{'type':'message_start','message':{'id':'m','model':'c','container':{'id':'c'}}}",
         "{'type':'message_delta','delta':{'container':null}}",
         "{'type':'message_delta','delta':{'container':{'id':7}}}", "{'type':'message_delta','delta':{'container':'c'}}",
         ENDING("end_turn"), END);
  /* complete blocks inside message_start */
  STREAM("meta m model c\ntool 0 t f\nargs 0 {'x':2}\nend 0\ntext 1 after\nend 1\n" ENDED("tool_use"),
         "{'type':'message_start','message':{'id':'m','model':'c','content':[{'type':'tool_use','id':'t','name':'f',"
         "'input':{'x':2}}]}}", BLOCK(0, "{'type':'text','text':'after'}"), STOP(0), ENDING("tool_use"), END);
}

int main(void) {
  test_stream_text();
  test_stream_names();
  test_stream_thinking();
  test_stream_tools();
  test_stream_others();
  return test_done("codec/anthropic/stream");
}
