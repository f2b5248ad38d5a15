/* reasoning.c: reasoning in chunks of Chat Completions: its fields, its details, annotations, what limits it. */
#include "chunks.h"

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
         NO_FINISH_REASON "stop end_turn \n",
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

int main(void) {
  test_reasoning();
  test_details();
  test_annotations();
  test_limits();
  return test_done("codec/chat/reasoning");
}
