/* settings.c: the bytes of requests: settings, system prompt, tools, path, and what counting sends. */
#include "requests.h"
#include <math.h>

static void test_settings(void) {
  RENDER(ASK(""), SENT(""));
  RENDER("{'model':'m','stream':true,'messages':[{'role':'user','content':'hi'}]}", SENT("'stream':true,"));
  RENDER(ASK("'max_tokens':0,"), "{'model':'m','max_tokens':0," HI_SENT);
  RENDER(ASK("'max_tokens':100.0,'max_output':64000,"), "{'model':'m','max_tokens':100," HI_SENT);
  RENDER(ASK("'max_output':64000,"), "{'model':'m','max_tokens':64000," HI_SENT);
  REFUSE(ASK("'max_tokens':-1,"), "max_tokens: integer, 0 or more expected, got something else");
  REFUSE(ASK("'max_tokens':'9',"), "max_tokens: integer, 0 or more expected, got something else");
  RENDER(ASK("'top_p':0.9,'temperature':0.2,"), SENT("'temperature':0.2,'top_p':0.9,"));
  REFUSE(ASK("'temperature':'hot',"), "temperature: finite number expected, got something else");
  RENDER(ASK("'stop_sequences':['a','b'],"), SENT("'stop_sequences':['a','b'],"));
  RENDER_REST(ASK("'stop_sequences':[' \\n'],"), SENT(""),
              WARNED("unsupported_option", "stop_sequences", "blank stop sequences were left out"));
  RENDER_QUIRK(ASK("'stop_sequences':['a'],"), "{'no_stop':true}", SENT(""),
               WARNED("unsupported_option", "stop_sequences", "the model does not heed stop sequences: left out"));
  RENDER_QUIRK(ASK(""), "{'no_stop':true}", SENT(""), NONE);
  RENDER_QUIRK(ASK("'temperature':0.2,'top_p':1,"), "{'no_sampling':true}", SENT(""),
               "[{'code':'unsupported_option','field':'temperature','message':'the model does not take it: left out'},"
               "{'code':'unsupported_option','field':'top_p','message':'the model does not take it: left out'}]{}");
  RENDER(ASK("'top_k':40,'top_p':0.9,"), SENT("'top_p':0.9,'top_k':40,"));
  RENDER_QUIRK(ASK("'top_k':40,"), "{'no_sampling':true}", SENT(""),
               WARNED("unsupported_option", "top_k", "the model does not take it: left out"));
}

#define IGNORED(name) \
  "{'code':'extra_ignored','field':'extra." name "','message':'the request has this field already: left out'}"

/* Numbers that JSON has no words for. */
static void test_not_finite(void) {
  static const char *const FIELD[] = { "temperature", "extra" };
  for (int i = 0; i < 2; i++) {
    struct mem m = mem_libc();
    struct rendering x;
    struct node *bad;
    CHECK(rendering_open(&x, &codec_anthropic, &m, ASK("'extra':{},")) == 0);
    bad = node_double(&x.a, i == 0 ? HUGE_VAL : nan(""));
    CHECK(node_set(i == 0 ? x.r.request : node_get(x.r.request, "extra"), z(FIELD[i]), bad) == 0);
    CHECK(codec_anthropic.render(&x.r, &x.e) == -1 && x.e.kind == KIND_ARGUMENT);
    CHECK_STR(x.e.field, strlen(x.e.field), FIELD[i]);
    rendering_close(&x);
  }
}

static void test_path(void) {
  expect_path(__FILE__, __LINE__, NULL, 0, "/v1/messages");
  expect_path(__FILE__, __LINE__, NULL, 1, "/v1/messages/count_tokens");
  expect_path(__FILE__, __LINE__, "{'route':'unversioned'}", 0, "/messages");
  expect_path(__FILE__, __LINE__, "{'route':'unversioned'}", 1, "/messages/count_tokens");
}

/* On Vertex AI: the model in the path, the version in the body, betas in their header. */
static void test_vertex(void) {
  static struct result r;
  struct mem m = mem_libc();
#define VERTEX "{'route':'raw_predict'}"
#define VERSIONED(fields) "{'anthropic_version':'vertex-2023-10-16'," fields HI_SENT
  expect_path(__FILE__, __LINE__, VERTEX, 0, "/models/m:rawPredict");
  expect_path(__FILE__, __LINE__, VERTEX, 1, "/models/count-tokens:rawPredict");
  CHECK(run(VERTEX, "{'model':'c@2025/x','stream':true,'messages':[{'role':'user','content':'hi'}]}", 0, &m, &r) == 0);
  CHECK_STR(r.path, strlen(r.path), "/models/c%402025%2Fx:streamRawPredict");
  CHECK_STR(r.body, strlen(r.body), json(VERSIONED("'max_tokens':8192,'stream':true,")));
  CHECK(run(VERTEX, "{'model':'..','messages':[{'role':'user','content':'hi'}]}", 0, &m, &r) == -1);
  CHECK_STR(r.e.field, strlen(r.e.field), "model");
  RENDER_QUIRK(ASK("'betas':['a','b'],'system':'s',"), VERTEX, VERSIONED("'max_tokens':8192,'system':'s',"),
               "[]{'anthropic-beta':'a,b'}");
  expect_all(__FILE__, __LINE__, ASK("'system':'s',"), VERTEX, 1,
             "{'anthropic_version':'vertex-2023-10-16','model':'m','system':'s'," HI_SENT, NONE);
}

static void test_rest(void) {
  RENDER(ASK("'metadata':{'user_id':'u'},"), SENT("'metadata':{'user_id':'u'},"));
  RENDER(ASK("'metadata':{'user_id':7},"), SENT("'metadata':{'user_id':'7'},"));
  RENDER_REST(ASK("'metadata':{'user_id':'u','initiator':'agent'},"), SENT("'metadata':{'user_id':'u'},"),
              WARNED("unsupported_option", "metadata", "only user_id, a string, can be sent: the rest was left out"));
  RENDER_REST(ASK("'betas':['Files-Api','context-1m','files-api','files',''],"), SENT(""),
              "[]{'anthropic-beta':'files-api,context-1m,files'}");
  REFUSE(ASK("'betas':['a\\r\\nx-evil: 1'],"), "betas: names without spaces and commas expected, got something else");
  RENDER(ASK("'extra':{'top_k':5,'inference_geo':'eu','b':{'z':1,'a':[]}},"),
         SENT("'b':{'a':[],'z':1},'inference_geo':'eu','top_k':5,"));
  RENDER_REST(ASK("'temperature':1,'extra':{'temperature':0,'x':1},"), SENT("'temperature':1,'x':1,"),
              "[" IGNORED("temperature") "]{}");
  RENDER_REST(ASK("'extra':{'stream':true,'messages':[]},"), SENT(""),
              "[" IGNORED("messages") "," IGNORED("stream") "]{}");
}

static void test_system(void) {
  RENDER(ASK("'system':'Be brief.',"), SENT("'system':'Be brief.',"));
  RENDER(ASK("'system':'',"), SENT(""));
  RENDER(ASK("'system':[{'type':'text','text':'a'},{'type':'text','text':' '}],"), SENT("'system':'a',"));
  RENDER(ASK("'system':[{'type':'text','text':'a'},{'type':'text','text':'b'}],"),
         SENT("'system':[{'type':'text','text':'a'},{'type':'text','text':'b'}],"));
  RENDER(ASK("'system':[{'type':'text','text':'a','cache_control':{'type':'ephemeral','ttl':'1h'}}],"),
         SENT("'system':[{'type':'text','text':'a','cache_control':{'ttl':'1h','type':'ephemeral'}}],"));
}

static void test_tools(void) {
  RENDER(ASK("'tools':[" TOOL "],"), SENT("'tools':[" TOOL_SENT "}],"));
  RENDER(ASK("'tools':[{'name':'g'},{'name':'h','description':'','strict':true,'parameters':{}}],"),
         SENT("'tools':[{'name':'g','input_schema':{'properties':{},'type':'object'}},"
              "{'name':'h','input_schema':{'properties':{},'type':'object'},'strict':true}],"));
  RENDER(ASK("'tools':[{'name':'g','cache_control':{'type':'ephemeral'}}],"),
         SENT("'tools':[{'name':'g','input_schema':{'properties':{},'type':'object'},"
              "'cache_control':{'type':'ephemeral'}}],"));
  RENDER(ASK("'tools':[],"), SENT(""));
  RENDER(ASK("'tool_choice':'auto','tools':[" TOOL "],"),
         SENT("'tools':[" TOOL_SENT "}],'tool_choice':{'type':'auto'},"));
  RENDER(ASK("'tool_choice':'any','tools':[" TOOL "],"),
         SENT("'tools':[" TOOL_SENT "}],'tool_choice':{'type':'any'},"));
  RENDER(ASK("'tool_choice':'none','tools':[" TOOL "],"),
         SENT("'tools':[" TOOL_SENT "}],'tool_choice':{'type':'none'},"));
  RENDER(ASK("'tool_choice':{'type':'tool','name':'f'},'tools':[" TOOL "],"),
         SENT("'tools':[" TOOL_SENT "}],'tool_choice':{'type':'tool','name':'f'},"));
  /* One call at a time is a member of the choice. */
#define SINGLE(choice) ASK(choice "'extra':{'parallel_tool_calls':false},'tools':[" TOOL "],")
#define CHOSEN(choice) SENT("'tools':[" TOOL_SENT "}],'tool_choice':{" choice "},")
  RENDER(SINGLE(""), CHOSEN("'type':'auto','disable_parallel_tool_use':true"));
  RENDER(SINGLE("'tool_choice':'any',"), CHOSEN("'type':'any','disable_parallel_tool_use':true"));
  RENDER(SINGLE("'tool_choice':{'type':'tool','name':'f'},"),
         CHOSEN("'type':'tool','name':'f','disable_parallel_tool_use':true"));
  RENDER(SINGLE("'tool_choice':'none',"), CHOSEN("'type':'none'"));
  RENDER(ASK("'extra':{'parallel_tool_calls':true},'tools':[" TOOL "],"), SENT("'tools':[" TOOL_SENT "}],"));
  RENDER(ASK("'extra':{'parallel_tool_calls':false},"), SENT(""));
  RENDER(ASK("'extra':{'parallel_tool_calls':false,'tool_choice':{'type':'any'}},'tools':[" TOOL "],"),
         SENT("'tools':[" TOOL_SENT "}],'tool_choice':{'type':'any'},"));
  /* The provider's own, as they are: of a type known but for its date, or of any that is said to pass. */
  RENDER(ASK("'tools':[{'type':'function','name':'g'},{'type':'web_search_20250305','name':'web_search','b':1,'a':[]},"
             "{'type':'new_1','server_tool':true,'name':'n'}],'tool_choice':{'type':'tool','name':'web_search'},"),
         SENT("'tools':[{'name':'g','input_schema':{'properties':{},'type':'object'}},{'a':[],'b':1,'name':'web_search',"
              "'type':'web_search_20250305'},{'name':'n','type':'new_1'}],"
              "'tool_choice':{'type':'tool','name':'web_search'},"));
  RENDER(ASK("'cache_retention':'short','tools':[{'type':'mcp_toolset'}],"),
         "{'model':'m','max_tokens':8192,'tools':[{'cache_control':{'type':'ephemeral'},'type':'mcp_toolset'}],"
         "'messages':[{'role':'user','content':[{'type':'text','text':'hi','cache_control':{'type':'ephemeral'}}]}]}");
#define KNOWN \
  "koine.server_tool {…}, or one of advisor_DATE, bash_DATE, browser_toolset_DATE, code_execution_DATE, computer_DATE, " \
  "computer_toolset_DATE, mcp_toolset, memory_DATE, text_editor_DATE, tool_search_tool_bm25, tool_search_tool_regex, " \
  "web_fetch_DATE, web_search_DATE expected, got "
  REFUSE(ASK("'tools':[" TOOL ",{'type':'web_search','name':'w'}],"), "tools[2].type: " KNOWN "'web_search'");
  REFUSE(ASK("'tools':[{'type':'x','name':'w','server_tool':false}],"), "tools[1].type: " KNOWN "'x'");
  RENDER_REST(ASK("'tool_choice':'any',"), SENT(""),
              WARNED("unsupported_option", "tool_choice", "there are no tools to choose from: left out"));
}

static void test_count(void) {
  expect_all(__FILE__, __LINE__, ASK("'system':'s','tools':[" TOOL "],'tool_choice':'auto','temperature':1,'max_tokens':5,"
                             "'thinking':{'budget_tokens':2000},'metadata':{'user_id':'u'},'extra':{'x':1},"
                             "'stop_sequences':['a'],"), NULL, 1,
               "{'model':'m','system':'s','tools':[" TOOL_SENT "}],'tool_choice':{'type':'auto'},"
               "'thinking':{'type':'enabled','budget_tokens':2000}," HI_SENT, NONE);
}

int main(void) {
  test_settings();
  test_not_finite();
  test_path();
  test_vertex();
  test_rest();
  test_system();
  test_tools();
  test_count();
  return test_done("codec/anthropic/settings");
}
