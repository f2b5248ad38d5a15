/* settings.c: the bytes of Responses requests: settings, tools, the system prompt, and what counting sends. */
#include "requests.h"

static void test_order(void) {
  expect(__FILE__, __LINE__, NULL,
         "{'messages':[" HI "],'extra':{'z':1,'a':{'d':1,'c':[]},'include':['x','reasoning.encrypted_content'],"
         "'text':{'verbosity':'low'}},'metadata':{'user_id':'u','b':'2','a':'1'},'tool_choice':'any',"
         "'tools':[{'name':'f','description':'d','parameters':{'type':'object','properties':{}}}],'stream':true,"
         "'thinking':'low','top_p':0.5,'temperature':1,'max_tokens':100,'system':'s','model':'m'}",
         "{'model':'m','max_output_tokens':100,'temperature':1,'top_p':0.5,"
         "'reasoning':{'effort':'low','summary':'auto'},'store':false,"
         "'include':['reasoning.encrypted_content','x'],'stream':true,'instructions':'s',"
         "'tools':[{'type':'function','name':'f','description':'d','parameters':{'properties':{},'type':'object'},"
         "'strict':false}],'tool_choice':'required','user':'u','metadata':{'a':'1','b':'2'},"
         "'a':{'c':[],'d':1},'text':{'verbosity':'low'},'z':1,'input':[" HI "]}", "");
}

static void test_settings(void) {
  SETS(NULL, "", ASKED);
  SETS(NULL, "'max_output':4096,'temperature':0.0,", "'temperature':0.0," ASKED);
  WARNS("{'no_sampling':true}", "'temperature':1,'top_p':1,", ASKED, "temperature,top_p");
  WARNS(NULL, "'stop_sequences':['x'],", ASKED, "stop_sequences");
  SETS(NULL, "'stop_sequences':[],", ASKED);
  WARNS(NULL, "'betas':['b'],'cache_retention':'short',", ASKED, "betas,cache_retention");
  SETS(NULL, "'metadata':{'user_id':'u'},", ASKED "'user':'u',");
  /* The caller may store; nothing else is overridden. */
  WARNS(NULL, "'extra':{'include':'low'},", ASKED, "extra.include");
  SETS(NULL, "'extra':{'include':{}},", ASKED);
  SETS(NULL, "'extra':{'store':true},", "'include':['reasoning.encrypted_content'],'store':true,");
  WARNS(NULL, "'extra':{'model':'x','input':[],'stream':true,'seed':1},", ASKED "'seed':1,",
        "extra.input,extra.model,extra.stream");
}

#define INCLUDES(names) "'store':false,'include':[" names "],"

static void test_logprobs(void) {
#define BOTH "'reasoning.encrypted_content','message.output_text.logprobs'"
  SETS(NULL, "'logprobs':0,", INCLUDES(BOTH));
  SETS(NULL, "'logprobs':5,", "'top_logprobs':5," INCLUDES(BOTH));
  SETS("{'no_encrypted_reasoning':true}", "'logprobs':5,", "'top_logprobs':5," INCLUDES("'message.output_text.logprobs'"));
  SETS(NULL, "'logprobs':0,'extra':{'include':['x','message.output_text.logprobs'],'top_logprobs':2},",
       INCLUDES(BOTH ",'x'") "'top_logprobs':2,");
  WARNS(NULL, "'logprobs':5,'extra':{'top_logprobs':2},", "'top_logprobs':5," INCLUDES(BOTH), "extra.top_logprobs");
  WARNS("{'logprobs_most':2}", "'logprobs':5,", "'top_logprobs':2," INCLUDES(BOTH), "logprobs");
  WARNS("{'logprobs':'none'}", "'logprobs':5,", ASKED, "logprobs");
  WARNS("{'no_sampling':true}", "'logprobs':5,", ASKED, "logprobs");
  WARNS(NULL, "'logprobs':5,'no_logprobs':true,", ASKED, "logprobs");
}

static void test_thinking(void) {
  SETS(NULL, "'thinking':'xhigh',", "'reasoning':{'effort':'xhigh','summary':'auto'}," ASKED);
  SETS(NULL, "'thinking':'none',", "'reasoning':{'effort':'none'}," ASKED);
  SETS(NULL, "'thinking':false,", ASKED);
  WARNS(NULL, "'thinking':{'budget_tokens':4096},", "'reasoning':{'effort':'low','summary':'auto'}," ASKED, "thinking");
  /* A model that reasons does so unasked. */
  SETS(NULL, "'thinking_mode':'effort',", ASKED);
  WARNS(NULL, "'thinking_mode':'effort','thinking':false,", ASKED, "thinking");
  WARNS(NULL, "'thinking_mode':'none','thinking':'low',", ASKED, "thinking");
  SETS(NULL, "'thinking_mode':'none','thinking':false,", ASKED);
  WARNS("{'effort':'none'}", "'thinking':'low',", ASKED, "thinking");
  /* A model that refuses to be asked, from its row or as it turned out. */
  SETS("{'no_encrypted_reasoning':true}", "", "'store':false,");
  SETS(NULL, "'no_encrypted':true,'extra':{'include':['x']},", "'store':false,'include':['x'],");
  /* A model whose template is told. */
  SETS("{'effort':'template'}", "'thinking':false,",
       "'reasoning_effort':'none','chat_template_kwargs':{'enable_thinking':false}," ASKED);
  SETS("{'effort':'template'}", "'thinking':{'budget_tokens':500},",
       "'thinking_budget_tokens':500,'chat_template_kwargs':{'enable_thinking':true}," ASKED);
  /* Other formats' ways to say it do not matter here. */
  SETS("{'effort':'reasoning'}", "'thinking':'low',", "'reasoning':{'effort':'low','summary':'auto'}," ASKED);
  SETS("{'no_effort_with_tools':true}", "'thinking':'low','tools':[{'name':'f'}],",
       "'reasoning':{'effort':'low','summary':'auto'}," ASKED "'tools':[{'type':'function','name':'f','parameters':"
       "{'properties':{},'type':'object'},'strict':false}],");
}

static void test_tools(void) {
#define F(more) "'tools':[{'type':'function','name':'f','parameters':{'properties':{},'type':'object'}" more "}],"
  SETS(NULL, "'tools':[{'name':'f'}],", ASKED F(",'strict':false"));
  SETS(NULL, "'tools':[{'name':'f','strict':true}],", ASKED F(",'strict':true"));
  SETS("{'no_strict':true}", "'tools':[{'name':'f','strict':true}],", ASKED F(""));
  SETS(NULL, "'tools':[{'name':'f'}],'tool_choice':{'type':'tool','name':'f'},",
       ASKED F(",'strict':false") "'tool_choice':{'type':'function','name':'f'},");
  SETS(NULL, "'tools':[{'name':'f'}],'tool_choice':'none',",
       ASKED F(",'strict':false") "'tool_choice':'none',");
  SETS("{'tool_choice_any':'any'}", "'tools':[{'name':'f'}],'tool_choice':'any',",
       ASKED F(",'strict':false") "'tool_choice':'any',");
  SETS("{'no_additional_properties':true}",
       "'tools':[{'name':'f','parameters':{'type':'object','properties':{},'additionalProperties':false}}],",
       ASKED F(",'strict':false"));
  WARNS(NULL, "'tools':[],'tool_choice':'auto',", ASKED, "tool_choice");
  /* The provider's own, as they are, without marks for a cache; those without a name are chosen by their type. */
  SETS(NULL, "'tools':[{'name':'f'},{'type':'web_search_2025_08_26','cache_control':{'type':'ephemeral'}},"
       "{'type':'new','server_tool':true,'b':1,'a':2}],'tool_choice':{'type':'tool','name':'new'},",
       ASKED "'tools':[{'type':'function','name':'f','parameters':{'properties':{},'type':'object'},'strict':false},"
       "{'type':'web_search_2025_08_26'},{'a':2,'b':1,'type':'new'}],'tool_choice':{'type':'new'},");
  SETS(NULL, "'tools':[{'type':'mcp','server_label':'s','name':'m'}],'tool_choice':{'type':'tool','name':'m'},",
       ASKED "'tools':[{'name':'m','server_label':'s','type':'mcp'}],"
       "'tool_choice':{'type':'mcp','name':'m','server_label':'s'},");
  expect_error(__FILE__, __LINE__, NULL, "{'model':'m','tools':[{'type':'nothing'}],'messages':[" HI "]}",
               "tools[1].type");
}

static void test_system(void) {
  SETS(NULL, "'system':[" TEXT("a") "," TEXT(" ") ",{'type':'text','text':'b','cache_control':{'type':'ephemeral'}}],",
       ASKED "'instructions':'a\\n\\nb',");
  SETS(NULL, "'system':'',", ASKED);
  expect(__FILE__, __LINE__, "{'system_in_input':true,'system_role':'developer'}",
         "{'model':'m','system':'s','messages':[" HI "]}",
         "{'model':'m'," ASKED "'input':[{'role':'developer','content':'s'}," HI "]}", "");
  INPUT("{'system_in_input':true}", HI, HI);
}

/* Counting: what costs tokens, and nothing of how the answer is to come. */
static void test_count(void) {
  struct rendering s;
  open_request(&s, "{'model':'m','stream':true,'max_tokens':9,'temperature':1,'system':'s','thinking':'low',"
                 "'metadata':{'k':'v'},'extra':{'x':1},'tools':[{'name':'f'}],'messages':[" HI "]}");
  CHECK(codec_responses.render_count(&s.r, &s.e) == 0);
  CHECK_STR(s.body.p, s.body.n, json("{'model':'m','reasoning':{'effort':'low','summary':'auto'},'instructions':'s','tools':"
                               "[{'type':'function','name':'f','parameters':{'properties':{},'type':'object'},"
                               "'strict':false}],'input':[" HI "]}"));
  CHECK_STR(s.path.p, s.path.n, "/responses/input_tokens");
  rendering_close(&s);
}

int main(void) {
  expect_path(__FILE__, __LINE__, NULL, 0, "/responses");
  test_order();
  test_settings();
  test_logprobs();
  test_thinking();
  test_tools();
  test_system();
  test_count();
  return test_done("codec/responses/settings");
}
