/* render.c: the bytes of Chat Completions requests, for every mapping and every quirk. */
#define CODEC codec_chat
#include "codec/render.h"
#include "core/codec/shared/writer.h"

/* {{{ requests */

/* Settings: the request's members behind the model, the body's between model and messages. */
#define WARNS(quirks, in, out, warnings) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','stream':false," in "'messages':[" HI "]}", \
         "{'model':'m'," out "'messages':[" HI "]}", warnings)
#define SETS(quirks, in, out) WARNS(quirks, in, out, "")
/* Messages alone. */
#define MESSAGES(quirks, in, out) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','messages':[" in "]}", "{'model':'m','messages':[" out "]}", "")

#define CALL(id, name) "{'id':'" id "','type':'function','function':{'name':'" name "','arguments':'{}'}}"
#define TOOL(id, content) "{'role':'tool','tool_call_id':'" id "','content':" content "}"
#define ORIGIN "'provider_data':{'provider':'here','model':'m'}"
#define FOREIGN "'provider_data':{'provider':'there','model':'m'}"

/* }}} */

/* {{{ settings */

static void test_order(void) {
  expect(__FILE__, __LINE__, NULL,
         "{'messages':[" HI "],'extra':{'z':1,'a':{'d':1,'c':[]},'model':'other','stream':false,'messages':[],"
         "'parallel_tool_calls':false,'max_tokens':7},'metadata':{'user_id':'u','b':'2','a':'1'},'tool_choice':'any',"
         "'tools':[{'name':'f','description':'d','parameters':{'type':'object','properties':{}}}],'stream':true,"
         "'thinking':'low','stop_sequences':['x','y'],'top_p':0.5,'temperature':1,'max_tokens':100,'system':'s',"
         "'model':'m'}",
         "{'model':'m','max_tokens':100,'temperature':1,'top_p':0.5,'stop':['x','y'],'reasoning_effort':'low',"
         "'stream':true,'stream_options':{'include_usage':true},"
         "'tools':[{'type':'function','function':{'name':'f','description':'d','parameters':{'properties':{},"
         "'type':'object'}}}],'tool_choice':'required','user':'u','metadata':{'a':'1','b':'2'},"
         "'a':{'c':[],'d':1},'parallel_tool_calls':false,'z':1,"
         "'messages':[{'role':'system','content':'s'}," HI "]}",
         "extra.max_tokens,extra.messages,extra.model,extra.stream");
}

static void test_settings(void) {
  SETS(NULL, "", "");
  SETS(NULL, "'max_output':4096,", "");
  SETS("{'max_tokens_field':'max_completion_tokens'}", "'max_tokens':5,", "'max_completion_tokens':5,");
  SETS("{'no_stream_usage':true}", "'temperature':0.0,", "'temperature':0.0,");
  expect(__FILE__, __LINE__, "{'no_stream_usage':true}", "{'model':'m','stream':true,'messages':[" HI "]}",
         "{'model':'m','stream':true,'messages':[" HI "]}", "");
  WARNS("{'no_sampling':true}", "'temperature':1,'top_p':1,", "", "temperature,top_p");
  WARNS("{'no_stop':true}", "'stop_sequences':['x'],", "", "stop_sequences");
  SETS("{'no_stop':true}", "'stop_sequences':[],", "");
  WARNS(NULL, "'betas':['b'],'cache_retention':'short',", "", "betas,cache_retention");
  SETS(NULL, "'betas':[],'cache_retention':'none',", "");
  SETS(NULL, "'metadata':{'user_id':'u'},", "'user':'u',");
  SETS(NULL, "'metadata':{'k':'v'},", "'metadata':{'k':'v'},");
  SETS(NULL, "'metadata':{},", "");
  /* extra never overrides, and an answer is one message. */
  WARNS(NULL, "'extra':{'stream':true,'n':2,'seed':1},", "'seed':1,", "extra.n,extra.stream");
  SETS(NULL, "'extra':{'n':1,'stream_options':{}},", "'n':1,'stream_options':{},");
}

static void test_sampling(void) {
  SETS(NULL, "'seed':7,", "'seed':7,");
  SETS("{'seed_field':'random_seed'}", "'seed':7,'top_p':1,", "'top_p':1,'random_seed':7,");
  WARNS("{'seed_field':'none'}", "'seed':7,", "", "seed");
  WARNS(NULL, "'seed':7,'no_seed':true,", "", "seed");
  SETS("{'no_sampling':true}", "'seed':7,", "'seed':7,");
  SETS("{'top_k':true,'min_p':true}", "'min_p':0.05,'top_k':40,'seed':1,", "'top_k':40,'min_p':0.05,'seed':1,");
  WARNS(NULL, "'min_p':0.05,'top_k':40,", "", "top_k,min_p");
  WARNS("{'top_k':true,'no_sampling':true}", "'min_p':0.05,'top_k':40,", "", "top_k,min_p");
  WARNS(NULL, "'seed':7,'extra':{'seed':8,'top_k':9},", "'seed':7,'top_k':9,", "extra.seed");
}

static void test_logprobs(void) {
  SETS(NULL, "'logprobs':0,", "'logprobs':true,");
  SETS(NULL, "'logprobs':20,'seed':1,", "'seed':1,'logprobs':true,'top_logprobs':20,");
  SETS("{'logprobs':'count'}", "'logprobs':3,", "'logprobs':3,");
  SETS("{'logprobs':'count'}", "'logprobs':0,", "'logprobs':1,");
  SETS("{'logprobs':'flag'}", "'logprobs':0,", "'logprobs':true,");
  WARNS("{'logprobs':'flag'}", "'logprobs':3,", "'logprobs':true,", "logprobs");
  WARNS("{'logprobs_most':8}", "'logprobs':9,", "'logprobs':true,'top_logprobs':8,", "logprobs");
  SETS("{'logprobs_most':8}", "'logprobs':8,", "'logprobs':true,'top_logprobs':8,");
  WARNS("{'logprobs':'none'}", "'logprobs':3,", "", "logprobs");
  WARNS("{'no_sampling':true}", "'logprobs':3,", "", "logprobs");
  WARNS(NULL, "'logprobs':3,'no_logprobs':true,", "", "logprobs");
  WARNS(NULL, "'logprobs':0,'extra':{'logprobs':false,'top_logprobs':2},", "'logprobs':true,'top_logprobs':2,",
        "extra.logprobs");
}

static void test_thinking(void) {
  SETS(NULL, "'thinking':'xhigh',", "'reasoning_effort':'xhigh',");
  SETS(NULL, "'thinking':false,", "");
  WARNS(NULL, "'thinking_mode':'effort','thinking':false,", "", "thinking");
  WARNS(NULL, "'thinking':{'budget_tokens':4096},", "'reasoning_effort':'low',", "thinking");
  WARNS(NULL, "'thinking':{'budget_tokens':4097},", "'reasoning_effort':'medium',", "thinking");
  WARNS(NULL, "'thinking':{'budget_tokens':12289},", "'reasoning_effort':'high',", "thinking");
  SETS("{'effort':'reasoning'}", "'thinking':'low',", "'reasoning':{'effort':'low'},");
  SETS("{'effort':'reasoning'}", "'thinking':{'budget_tokens':2000},", "'reasoning':{'max_tokens':2000},");
  SETS("{'effort':'reasoning'}", "'thinking':false,", "'reasoning':{'enabled':false},");
  SETS("{'effort':'thinking'}", "'thinking':'max',", "'thinking':{'type':'enabled'},'reasoning_effort':'max',");
  SETS("{'effort':'thinking'}", "'thinking':false,", "'thinking':{'type':'disabled'},");
  WARNS("{'effort':'thinking'}", "'thinking':{'budget_tokens':12289},",
        "'thinking':{'type':'enabled'},'reasoning_effort':'high',", "thinking");
  WARNS("{'effort':'enable_thinking'}", "'thinking':'high',", "'enable_thinking':true,", "thinking");
  WARNS("{'effort':'enable_thinking'}", "'thinking':{'budget_tokens':9000},", "'enable_thinking':true,", "thinking");
  SETS("{'effort':'enable_thinking'}", "'thinking':false,", "'enable_thinking':false,");
  SETS("{'effort':'none_or_high'}", "'thinking':false,", "'reasoning_effort':'none',");
  SETS("{'effort':'none_or_high'}", "'thinking':'none',", "'reasoning_effort':'none',");
  SETS("{'effort':'none_or_high'}", "'thinking':'high',", "'reasoning_effort':'high',");
  WARNS("{'effort':'none_or_high'}", "'thinking':'low',", "'reasoning_effort':'high',", "thinking");
  WARNS("{'effort':'none_or_high'}", "'thinking':{'budget_tokens':2000},", "'reasoning_effort':'high',", "thinking");
  SETS("{'effort':'none_or_high'}", "", "");
  SETS("{'effort':'template'}", "'thinking':false,",
       "'reasoning_effort':'none','chat_template_kwargs':{'enable_thinking':false},");
  SETS("{'effort':'template'}", "'thinking':'low',",
       "'reasoning_effort':'low','chat_template_kwargs':{'enable_thinking':true},");
  SETS("{'effort':'template'}", "'thinking':{'budget_tokens':500},",
       "'thinking_budget_tokens':500,'chat_template_kwargs':{'enable_thinking':true},");
  SETS("{'effort':'template'}",
       "'thinking':false,'extra':{'chat_template_kwargs':{'z':1,'enable_thinking':true,'a':'b'},'seed':1},",
       "'reasoning_effort':'none','chat_template_kwargs':{'enable_thinking':false,'a':'b','z':1},'seed':1,");
  SETS("{'effort':'template'}", "'extra':{'chat_template_kwargs':{'a':1}},", "'chat_template_kwargs':{'a':1},");
  WARNS("{'effort':'template'}", "'thinking':false,'extra':{'chat_template_kwargs':1},",
        "'reasoning_effort':'none','chat_template_kwargs':{'enable_thinking':false},", "extra.chat_template_kwargs");
  WARNS("{'effort':'none'}", "'thinking':'high',", "", "thinking");
  SETS("{'effort':'none'}", "'thinking':false,", "");
  WARNS(NULL, "'thinking_mode':'none','thinking':{'budget_tokens':1},", "", "thinking");
  SETS("{'effort':'reasoning'}", "'thinking_mode':'none','thinking':false,", "");
  SETS(NULL, "'thinking_mode':'effort','thinking':'low',", "'reasoning_effort':'low',");
}

static void test_tools(void) {
#define F "{'name':'f','parameters':{'type':'object','properties':{},'additionalProperties':false},'strict':true," \
          "'cache_control':{'type':'ephemeral'}}"
#define OUT "'tools':[{'type':'function','function':{'name':'f','parameters':{"
  SETS(NULL, "'tools':[" F "],", OUT "'additionalProperties':false,'properties':{},'type':'object'},'strict':true}}],");
  SETS("{'no_additional_properties':true,'no_strict':true}", "'tools':[" F "],",
       OUT "'properties':{},'type':'object'}}}],");
  SETS(NULL, "'tools':[{'type':'custom','custom':{'name':'c'}},{'type':'browser_search','server_tool':true}],",
       "'tools':[{'custom':{'name':'c'},'type':'custom'},{'type':'browser_search'}],");
  SETS(NULL, "'tools':[{'name':'f'}],", OUT "'properties':{},'type':'object'}}}],");
  SETS(NULL, "'tools':[],", "");
  WARNS(NULL, "'tools':[],'tool_choice':'auto',", "", "tool_choice");
  WARNS(NULL, "'tool_choice':{'type':'tool','name':'f'},", "", "tool_choice");
#define CHOOSES(quirks, in, out) \
  SETS(quirks, "'tools':[{'name':'f'}],'tool_choice':" in ",", \
       OUT "'properties':{},'type':'object'}}}],'tool_choice':" out ",")
  /* gpt-5.4 and later on this wire (litellm#34569). */
#define WITH_TOOL "'reasoning_effort':'none'," OUT "'properties':{},'type':'object'}}}],"
  SETS("{'no_effort_with_tools':true}", "'tools':[{'name':'f'}],", WITH_TOOL);
  SETS("{'no_effort_with_tools':true}", "'thinking':false,'tools':[{'name':'f'}],", WITH_TOOL);
  SETS("{'no_effort_with_tools':true}", "'thinking':'none','tools':[{'name':'f'}],", WITH_TOOL);
  WARNS("{'no_effort_with_tools':true}", "'thinking':'high','tools':[{'name':'f'}],", WITH_TOOL, "thinking");
  SETS("{'no_effort_with_tools':true}", "'thinking':'high',", "'reasoning_effort':'high',");
  CHOOSES(NULL, "'auto'", "'auto'");
  CHOOSES(NULL, "'none'", "'none'");
  CHOOSES(NULL, "'any'", "'required'");
  CHOOSES("{'tool_choice_any':'any'}", "'any'", "'any'");
  CHOOSES(NULL, "{'type':'tool','name':'f'}", "{'type':'function','function':{'name':'f'}}");
}

/* }}} */

/* {{{ messages */

static void test_text(void) {
  MESSAGES(NULL, HI, HI);
  MESSAGES(NULL, USER("[" TEXT("a") "]"), USER("'a'"));
  MESSAGES(NULL, USER("[" TEXT("a") "," TEXT("b") "]"), USER("'a\\n\\nb'"));
  MESSAGES(NULL, USER("[{'type':'text','text':'a','cache_control':{'type':'ephemeral'}}]"), USER("'a'"));
  /* Neighbours of one role become one message. */
  MESSAGES(NULL, USER("'a'") "," USER("'b'") "," ASSISTANT("'c'") "," ASSISTANT("[" TEXT("d") "]") "," USER("'e'"),
           USER("'a\\n\\nb'") "," ASSISTANT("'c\\n\\nd'") "," USER("'e'"));
  MESSAGES(NULL, USER("'\xE2\x80\x94 \xFF \\ud800 \\u0001'"), USER("'\xE2\x80\x94 \xEF\xBF\xBD \xEF\xBF\xBD \\u0001'"));
  MESSAGES(NULL, USER("'a'") "," ASSISTANT("[" TEXT("x") "," TEXT("y") "]") "," USER("'b'"),
           USER("'a'") "," ASSISTANT("'xy'") "," USER("'b'"));
  MESSAGES(NULL, USER("'a'") "," ASSISTANT("[{'type':'refusal','text':'no'}]") "," USER("'b'"),
           USER("'a'") "," ASSISTANT("'no'") "," USER("'b'"));
}

static void test_system(void) {
#define SYSTEM(quirks, system, out) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','system':" system ",'messages':[" HI "]}", \
         "{'model':'m','messages':[" out HI "]}", "")
  SYSTEM(NULL, "'be brief'", "{'role':'system','content':'be brief'},");
  SYSTEM(NULL, "[" TEXT("a") "," TEXT("") ",{'type':'text','text':'b','cache_control':{'type':'ephemeral'}}]",
         "{'role':'system','content':'a\\n\\nb'},");
  SYSTEM("{'system_role':'developer'}", "'s'", "{'role':'developer','content':'s'},");
  SYSTEM("{'system_role':'user'}", "'s'", "{'role':'user','content':'s'},");
  SYSTEM(NULL, "''", "");
  SYSTEM(NULL, "[]", "");
}

static void test_calls(void) {
  /* Results are messages of their own, in the calls' order, before the text. */
  MESSAGES(NULL,
           USER("'q'") "," ASSISTANT("[" TEXT("ok") "," USE("a", "f") "," USE("b", "g") "]") ","
           USER("[" TEXT("also") "," RESULT("b", "'2'") "," RESULT("a", "[" TEXT("1") "," TEXT("one") "]") "]"),
           USER("'q'") ",{'role':'assistant','content':'ok','tool_calls':[" CALL("a", "f") "," CALL("b", "g") "]},"
           TOOL("a", "'1\\none'") "," TOOL("b", "'2'") "," USER("'also'"));
#define TURN(quirks, use, out, result) \
  MESSAGES(quirks, USER("'q'") "," ASSISTANT("[" use "]") "," USER("[" RESULT("a", "'r'") "]"), \
           USER("'q'") ",{'role':'assistant'," out "}," result)
  TURN(NULL, USE("a", "f"), "'content':null,'tool_calls':[" CALL("a", "f") "]", TOOL("a", "'r'"));
  TURN("{'null_content':'empty'}", USE("a", "f"), "'content':'','tool_calls':[" CALL("a", "f") "]", TOOL("a", "'r'"));
  TURN("{'null_content':'omit'}", USE("a", "f"), "'tool_calls':[" CALL("a", "f") "]", TOOL("a", "'r'"));
  TURN("{'tool_result_name':true}", USE("a", "f"), "'content':null,'tool_calls':[" CALL("a", "f") "]",
       "{'role':'tool','tool_call_id':'a','name':'f','content':'r'}");
  /* The model's own bytes, where they still say the same. */
  TURN(NULL, "{'type':'tool_use','id':'a','name':'f','arguments':{'b':1,'a':2},"
       "'arguments_json':'{\\'b\\': 1, \\'a\\': 2}'}",
       "'content':null,'tool_calls':[{'id':'a','type':'function','function':{'name':'f','arguments':"
       "'{\\'b\\': 1, \\'a\\': 2}'}}]", TOOL("a", "'r'"));
  TURN(NULL, "{'type':'tool_use','id':'a','name':'f','arguments':{'b':1,'a':3},"
       "'arguments_json':'{\\'b\\': 1, \\'a\\': 2}'}",
       "'content':null,'tool_calls':[{'id':'a','type':'function','function':{'name':'f','arguments':"
       "'{\\'a\\':3,\\'b\\':1}'}}]", TOOL("a", "'r'"));
  /* Fields without a canonical name go back to where they came from. */
  TURN(NULL, "{'type':'tool_use','id':'a','name':'f','arguments':{}," MINE("{\\'extra_content\\':{\\'s\\':1},"
       "\\'id\\':\\'z\\',\\'function\\':{\\'thought_signature\\':\\'t\\',\\'name\\':\\'z\\'}}") "}",
       "'content':null,'tool_calls':[{'id':'a','type':'function','function':{'name':'f','arguments':'{}',"
       "'thought_signature':'t'},'extra_content':{'s':1}}]", TOOL("a", "'r'"));
  TURN(NULL, "{'type':'tool_use','id':'a','name':'f','arguments':{},'provider_data':{'provider':'there','model':'m',"
       "'raw':'{\\'extra_content\\':1}'}}", "'content':null,'tool_calls':[" CALL("a", "f") "]", TOOL("a", "'r'"));
  /* A raw that is no JSON is none. */
  TURN(NULL, "{'type':'tool_use','id':'a','name':'f','arguments':{}," MINE("{") "}",
       "'content':null,'tool_calls':[" CALL("a", "f") "]", TOOL("a", "'r'"));
}

static void test_results(void) {
#define ANSWER(quirks, result, out) \
  MESSAGES(quirks, USER("'q'") "," ASSISTANT("[" USE("a", "f") "]") "," USER("[" result "]"), \
           USER("'q'") ",{'role':'assistant','content':null,'tool_calls':[" CALL("a", "f") "]}," out)
#define FAILED(content) "{'type':'tool_result','tool_use_id':'a','is_error':true,'content':" content "}"
  ANSWER(NULL, FAILED("'boom'"), TOOL("a", "'Error: boom'"));
  ANSWER(NULL, FAILED("'Error: boom'"), TOOL("a", "'Error: boom'"));
  ANSWER(NULL, FAILED("[" TEXT("boom") "]"), TOOL("a", "'Error: boom'"));
  ANSWER(NULL, RESULT("a", "''"), TOOL("a", "''"));
  ANSWER(NULL, RESULT("a", "[]"), TOOL("a", "''"));
  /* Images cannot be in a tool message. */
  ANSWER(NULL, TEXT("look") ",{'type':'image','source':'data:image/png;base64,QQ=='},"
         RESULT("a", "[" TEXT("shot") ",{'type':'image','source':'QUJD','media_type':'image/png'}]"),
         TOOL("a", "'shot\\n[attachment 1 of the next user message]'") ","
         USER("[{'type':'image_url','image_url':{'url':'data:image/png;base64,QUJD'}},"
              TEXT("look") ",{'type':'image_url','image_url':{'url':'data:image/png;base64,QQ=='}}]"));
  /* A call without a result, in the middle of a history. */
  MESSAGES(NULL, USER("'q'") "," ASSISTANT("[" TEXT("ok") "," USE("a", "f") "]") "," USER("'stop'"),
           USER("'q'") "," ASSISTANT("'ok'") "," USER("'stop'"));
  REFUSES(NULL, USER("'q'") "," ASSISTANT("[" USE("a", "f") "]"), "messages[2].content[1]");
}

static void test_ids(void) {
#define IDS(quirks, id, out) \
  MESSAGES(quirks, USER("'q'") "," ASSISTANT("[" USE(id, "f") "]") "," USER("[" RESULT(id, "'r'") "]"), \
           USER("'q'") ",{'role':'assistant','content':null,'tool_calls':[" CALL(out, "f") "]}," TOOL(out, "'r'"))
  IDS(NULL, "functions.f:0", "functions.f:0");
  IDS("{'tool_id':'alnum9'}", "g6fVbXS8K", "g6fVbXS8K");
  IDS("{'tool_id_max':40}", "call_0123456789", "call_0123456789");
}

/* A data: URL is all of its pieces, whatever bytes they have. */
static void test_url(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct buf body;
  struct err e;
  struct render r = { .a = &a, .body = &body };
  struct writer w = { .r = &r, .e = &e };
  struct node *block;
  char *scratch;
  arena_init(&a, &m);
  buf_init(&body, &m);
  if ((scratch = arena_alloc(&a, 900)) != NULL) memset(scratch, '#', 900);
  arena_reset(&a);
  block = json_tree(&a, z(json("{'source':'QQ==','media_type':'a/b\\u0000c'}")), 8, &e);
  CHECK(scratch != NULL && block != NULL);
  writer_url(&w, block);
  CHECK(!w.failed);
  CHECK_STR(body.p, body.n, json("'data:a/b\\u0000c;base64,QQ=='"));
  buf_free(&body);
  arena_free(&a);
}

static void test_media(void) {
  REFUSES(NULL, USER("[{'type':'image','source':'QQ==','media_type':'image/png\\u0000x'}]"),
          "messages[1].content[1].media_type");
  MESSAGES(NULL, USER("[" TEXT("a") ",{'type':'image','source':'https://x/y.png'}]"),
           USER("[" TEXT("a") ",{'type':'image_url','image_url':{'url':'https://x/y.png'}}]"));
  MESSAGES("{'image_string':true}", USER("[{'type':'image','source':'QUJD','media_type':'image/jpeg'}]"),
           USER("[{'type':'image_url','image_url':'data:image/jpeg;base64,QUJD'}]"));
  MESSAGES(NULL, USER("[{'type':'document','source':'QUJD','media_type':'application/pdf','title':'a.pdf'}]"),
           USER("[{'type':'file','file':{'filename':'a.pdf','file_data':'data:application/pdf;base64,QUJD'}}]"));
  MESSAGES(NULL, USER("[{'type':'document','source':'data:application/pdf;base64,QQ=='}]"),
           USER("[{'type':'file','file':{'filename':'document','file_data':'data:application/pdf;base64,QQ=='}}]"));
#define IMAGE "{'type':'image','source':'https://x/y.png'}"
#define DATA_IMAGE "{'type':'image','source':'QQ==','media_type':'image/png'}"
  REFUSES("{'no_images':true}", HI "," USER("[" TEXT("a") "," DATA_IMAGE "]"), "messages[2].content[2]");
  REFUSES("{'image_data_only':true}", USER("[" IMAGE "]"), "messages[1].content[1]");
  MESSAGES("{'image_data_only':true}", USER("[" DATA_IMAGE "]"),
           USER("[{'type':'image_url','image_url':{'url':'data:image/png;base64,QQ=='}}]"));
  REFUSES("{'no_documents':true}", USER("[{'type':'document','source':'data:a/b;base64,QQ=='}]"), "messages[1].content[1]");
  REFUSES(NULL, HI "," ASSISTANT("[" DATA_IMAGE "]"), "messages[2].content[1].type");
  REFUSES("{'no_images':true}",
          HI "," ASSISTANT("[" USE("a", "f") "]") "," USER("[" RESULT("a", "[" DATA_IMAGE "]") "]"),
          "messages[3].content[1].content[1]");
}

/* }}} */

/* {{{ reasoning */

/* A message of reasoning and a call, and what the assistant message becomes. */
#define REPLAY(quirks, thinking, content, out) \
  MESSAGES(quirks, USER("'q'") "," ASSISTANT("[" thinking "," USE("a", "f") "]") "," USER("[" RESULT("a", "'r'") "]"), \
           USER("'q'") ",{'role':'assistant','content':" content "," out "'tool_calls':[" CALL("a", "f") "]}," \
           TOOL("a", "'r'"))
#define THOUGHT "{'type':'thinking','thinking':'hm'," ORIGIN "}"

static void test_reasoning(void) {
  REPLAY(NULL, THOUGHT, "null", "");
  REPLAY("{'reasoning_field':'reasoning_content'}", THOUGHT, "null", "'reasoning_content':'hm',");
  REPLAY("{'reasoning_field':'reasoning'}", THOUGHT "," TEXT("t") "," THOUGHT, "'t'", "'reasoning':'hmhm',");
  REPLAY("{'reasoning_field':'reasoning','reasoning_replay':'never'}", THOUGHT, "null", "");
  REPLAY("{'reasoning_field':'reasoning'}", "{'type':'thinking','thinking':'hm'," FOREIGN "}", "null", "");
  REPLAY("{'reasoning_field':'reasoning'}", "{'type':'thinking','thinking':'hm','signature':'s'}", "null", "");
  REPLAY("{'reasoning_field':'reasoning_content','reasoning_replay':'always'}",
         "{'type':'thinking','thinking':'hm'," FOREIGN "}", "null", "'reasoning_content':'',");
  /* Always: from the first reply on, once tools are in use. */
  expect(__FILE__, __LINE__, "{'reasoning_field':'reasoning_content','reasoning_replay':'always'}",
         "{'model':'m','tools':[{'name':'f'}],'messages':[" HI "," ASSISTANT("'yes'") "," HI "]}",
         "{'model':'m'," OUT "'properties':{},'type':'object'}}}],"
         "'messages':[" HI ",{'role':'assistant','content':'yes','reasoning_content':''}," HI "]}", "");
  MESSAGES("{'reasoning_field':'reasoning_content','reasoning_replay':'always'}",
           HI "," ASSISTANT("[" THOUGHT "," TEXT("yes") "]") "," HI, HI "," ASSISTANT("'yes'") "," HI);
  REPLAY("{'reasoning_field':'reasoning_text'}",
         "{'type':'thinking','thinking':'hm'," MINE("{\\'reasoning_opaque\\':\\'b+/=\\'}") "}",
         "null", "'reasoning_text':'hm','reasoning_opaque':'b+/=',");
  REPLAY("{'reasoning_field':'reasoning_text'}",
         "{'type':'redacted_thinking','data':'b'," MINE("{\\'reasoning_opaque\\':\\'b\\'}") "}",
         "null", "'reasoning_opaque':'b',");
  REPLAY("{'reasoning_field':'reasoning_details'}", "{'type':'thinking','thinking':'hm',"
         MINE("{\\'reasoning_details\\':[{\\'type\\':\\'reasoning.text\\',\\'text\\':\\'hm\\',\\'signature\\':\\'s\\'},"
              "{\\'b\\':1,\\'a\\':2}]}") "}",
         "null", "'reasoning_details':[{'type':'reasoning.text','text':'hm','signature':'s'},{'b':1,'a':2}],");
  REPLAY("{'reasoning_field':'reasoning_details'}", THOUGHT, "null", "");
  /* As a part of the content. */
  REPLAY("{'reasoning_field':'content'}",
         "{'type':'thinking','thinking':'hm'," MINE("{\\'closed\\':true}") "}," TEXT("t"),
         "[{'type':'thinking','thinking':[" TEXT("hm") "],'closed':true}," TEXT("t") "]", "");
  /* Blocks unknown to this wire go back whole, in their place. */
  REPLAY(NULL, TEXT("t") ",{'type':'opaque','kind':'reference'," MINE("{\\'type\\':\\'reference\\',\\'ids\\':[1]}") "}",
         "[" TEXT("t") ",{'type':'reference','ids':[1]}]", "");
  REPLAY(NULL, TEXT("t") ",{'type':'opaque','kind':'x','provider_data':{'provider':'there','model':'m','raw':'{}'}}",
         "'t'", "");
  /* Thinking alone says nothing here. */
  MESSAGES("{'reasoning_field':'reasoning'}", HI "," ASSISTANT("[" THOUGHT "]") "," HI, HI "," HI);
}

/* }}} */

/* {{{ wrong use, sameness */

static void test_arguments(void) {
  REFUSES(NULL, "", "messages");
  REFUSES(NULL, "{'role':'system','content':'x'}", "messages[1].role");
  REFUSES(NULL, USER("''"), "messages");
}

/* }}} */

int main(void) {
  test_order();
  test_settings();
  test_sampling();
  test_logprobs();
  test_thinking();
  test_tools();
  test_text();
  test_system();
  test_calls();
  test_results();
  test_ids();
  test_media();
  test_url();
  test_reasoning();
  test_arguments();
  expect_prefix();
  expect_path(__FILE__, __LINE__, NULL, 0, "/chat/completions");
  CHECK(codec_chat.render_count == NULL);
  return test_done("codec/chat/render");
}
