/* render.c: the bytes of requests in Ollama's native format. */
#define CODEC codec_ollama
#include "codec/render.h"

#define BODY(request, body) expect(__FILE__, __LINE__, NULL, request, body, "")
#define WARNS(request, body, fields) expect(__FILE__, __LINE__, NULL, request, body, fields)
#define BODY_Q(quirks, request, body, fields) expect(__FILE__, __LINE__, quirks, request, body, fields)
#define REFUSED(request, field) expect_error(__FILE__, __LINE__, NULL, request, field)

#define ASKS "'messages':[{'role':'user','content':'hi'}]"
#define OUT "'messages':[{'role':'user','content':'hi'}]}"
#define HEAD "{'model':'m','stream':false,'think':false,"

static void test_settings(void) {
  BODY("{'model':'m'," ASKS "}", HEAD OUT);
  BODY("{'model':'m','stream':true," ASKS "}", "{'model':'m','stream':true,'think':false," OUT);
  BODY("{'model':'m','stream':false,'max_tokens':5,'temperature':0.5,'top_p':1,'stop_sequences':['a','b']," ASKS "}",
       HEAD "'options':{'num_predict':5,'stop':['a','b'],'temperature':0.5,'top_p':1}," OUT);
  BODY_Q("{'context_window':8192}", "{'model':'m'," ASKS "}", HEAD "'options':{'num_ctx':8192}," OUT, "");
  BODY_Q("{'no_sampling':true}", "{'model':'m','temperature':1,'top_p':1,'max_tokens':2," ASKS "}",
         HEAD "'options':{'num_predict':2}," OUT, "temperature,top_p");
  BODY_Q("{'context_window':8192}", "{'model':'m','extra':{'options':'low'}," ASKS "}",
         HEAD "'options':{'num_ctx':8192}," OUT, "extra.options");
  BODY("{'model':'m','stop_sequences':[],'extra':{'options':[]}," ASKS "}", HEAD "'options':{}," OUT);
}

static void test_sampling(void) {
  BODY("{'model':'m','min_p':0.05,'top_k':40,'seed':7,'temperature':0," ASKS "}",
       HEAD "'options':{'seed':7,'temperature':0,'top_k':40,'min_p':0.05}," OUT);
  BODY_Q("{'no_sampling':true}", "{'model':'m','min_p':0.05,'top_k':40,'seed':7," ASKS "}",
         HEAD "'options':{'seed':7}," OUT, "top_k,min_p");
  WARNS("{'model':'m','seed':7,'extra':{'options':{'seed':8,'x':1}}," ASKS "}", HEAD "'options':{'seed':7,'x':1}," OUT,
        "extra.options.seed");
  BODY("{'model':'m','logprobs':0," ASKS "}", HEAD "'logprobs':true," OUT);
  BODY("{'model':'m','logprobs':3," ASKS "}", HEAD "'logprobs':true,'top_logprobs':3," OUT);
}

static void test_extra(void) {
  BODY("{'model':'m','extra':{'truncate':false,'keep_alive':-1,'format':'json','logprobs':true,"
       "'options':{'top_k':7,'seed':1}},'max_tokens':2," ASKS "}",
       HEAD "'format':'json','keep_alive':-1,'options':{'num_predict':2,'seed':1,'top_k':7},'logprobs':true,"
       "'truncate':false," OUT);
  BODY("{'model':'m','extra':{'options':{'num_ctx':4096}}," ASKS "}", HEAD "'options':{'num_ctx':4096}," OUT);
  BODY_Q("{'context_window':8192}", "{'model':'m','max_tokens':1,'extra':{'options':{'num_ctx':4096,'seed':3}}," ASKS "}",
         HEAD "'options':{'num_predict':1,'num_ctx':4096,'seed':3}," OUT, "");
  BODY_Q("{'context_window':8192}", "{'model':'m','extra':{'options':{'seed':3}}," ASKS "}",
         HEAD "'options':{'num_ctx':8192,'seed':3}," OUT, "");
  BODY_Q("{'context_window':8192}",
         "{'model':'m','max_tokens':1,'extra':{'options':{'num_predict':2,'seed':3},'think':true,'messages':[]}," ASKS "}",
         HEAD "'options':{'num_ctx':8192,'num_predict':1,'seed':3}," OUT,
         "extra.options.num_predict,extra.messages,extra.think");
}

static void test_thinking(void) {
  BODY("{'model':'m','thinking':false," ASKS "}", HEAD OUT);
  BODY("{'model':'m','thinking':'high'," ASKS "}", "{'model':'m','stream':false,'think':'high'," OUT);
  WARNS("{'model':'m','thinking':{'budget_tokens':9000}," ASKS "}", "{'model':'m','stream':false,'think':'medium'," OUT,
        "thinking");
  /* A model that always thinks; one that never does. */
  BODY("{'model':'m','thinking_mode':'effort'," ASKS "}", "{'model':'m','stream':false,'think':'low'," OUT);
  WARNS("{'model':'m','thinking_mode':'effort','thinking':false," ASKS "}",
        "{'model':'m','stream':false,'think':'low'," OUT, "thinking");
  BODY("{'model':'m','thinking_mode':'effort','thinking':'high'," ASKS "}",
       "{'model':'m','stream':false,'think':'high'," OUT);
  BODY("{'model':'m','thinking_mode':'none','thinking':false," ASKS "}", "{'model':'m','stream':false," OUT);
  WARNS("{'model':'m','thinking_mode':'none','thinking':'low'," ASKS "}", "{'model':'m','stream':false," OUT, "thinking");
  WARNS("{'model':'m','no_thinking':true,'thinking':'low'," ASKS "}", "{'model':'m','stream':false," OUT, "thinking");
}

static void test_unsupported(void) {
  WARNS("{'model':'m','metadata':{'user_id':'u'},'betas':['b'],'cache_retention':'short'," ASKS "}", HEAD OUT,
        "betas,cache_retention,metadata");
}

#define PARAMETERS "'parameters':{'properties':{},'type':'object'}"
#define TOOL(name) "{'type':'function','function':{'name':'" name "'," PARAMETERS "}}"

static void test_tools(void) {
  BODY("{'model':'m','tools':[{'name':'f','description':'d','cache_control':{'type':'ephemeral'}}]," ASKS "}",
       HEAD "'tools':[{'type':'function','function':{'name':'f','description':'d'," PARAMETERS "}}]," OUT);
  BODY("{'model':'m','tools':[{'name':'f'},{'name':'g'}],'tool_choice':'auto'," ASKS "}",
       HEAD "'tools':[" TOOL("f") "," TOOL("g") "]," OUT);
  BODY("{'model':'m','tools':[{'name':'f'}],'tool_choice':'none'," ASKS "}", HEAD OUT);
  WARNS("{'model':'m','tools':[{'name':'f','strict':true},{'name':'g','strict':true}],'tool_choice':'any'," ASKS "}",
        HEAD "'tools':[" TOOL("f") "," TOOL("g") "]," OUT, "tool_choice,tools");
  WARNS("{'model':'m','tools':[{'name':'f'},{'name':'g'}],'tool_choice':{'type':'tool','name':'g'}," ASKS "}",
        HEAD "'tools':[" TOOL("g") "]," OUT, "tool_choice");
  WARNS("{'model':'m','tools':[{'name':'f'}],'extra':{'parallel_tool_calls':false}," ASKS "}",
        HEAD "'tools':[" TOOL("f") "]," OUT, "extra");
  BODY("{'model':'m','tools':[{'name':'f'}],'extra':{'parallel_tool_calls':true}," ASKS "}", HEAD "'tools':[" TOOL("f")
       "]," OUT);
  BODY("{'model':'m','extra':{'parallel_tool_calls':false}," ASKS "}", HEAD OUT);
  WARNS("{'model':'m','tools':[],'tool_choice':'any'," ASKS "}", HEAD OUT, "tool_choice");
  BODY("{'model':'m','tools':[{'type':'odd','x':1,'server_tool':true}]," ASKS "}",
       HEAD "'tools':[{'type':'odd','x':1}]," OUT);
  REFUSED("{'model':'m','tools':[{'type':'odd'}]," ASKS "}", "tools[1].type");
}

/* A schema and what is made of it. */
static void schema(const char *file, int line, const char *in, const char *out) {
  static char request[8192], body[8192];
  snprintf(request, sizeof request, "{'model':'m','tools':[{'name':'f','parameters':%s}]," ASKS "}", in);
  snprintf(body, sizeof body, HEAD "'tools':[{'type':'function','function':{'name':'f','parameters':%s}}]," OUT, out);
  expect(file, line, NULL, request, body, "");
}
#define SCHEMA(in, out) schema(__FILE__, __LINE__, in, out)
#define PROPERTY(in, out) SCHEMA("{'type':'object','properties':{'a':" in "}}", \
                                 "{'properties':{'a':" out "},'type':'object'}")

static void test_schemas(void) {
  PROPERTY("{'type':'string','description':'d','enum':['a'],'anyOf':[{'type':'string'}]}",
           "{'anyOf':[{'type':'string'}],'description':'d','enum':['a'],'type':'string'}");
  PROPERTY("{'type':'integer','minimum':1,'maximum':5,'description':'How many.'}",
           "{'description':'How many. {minimum: 1, maximum: 5}','type':'integer'}");
  PROPERTY("{'type':'string','pattern':'^a$','default':'a'}",
           "{'description':'{pattern: \\'^a$\\', default: \\'a\\'}','type':'string'}");
  PROPERTY("{'oneOf':[{'const':1},{'type':'array','items':{'type':'integer','minimum':0}}]}",
           "{'anyOf':[{'enum':[1]},{'items':{'description':'{minimum: 0}','type':'integer'},'type':'array'}]}");
  PROPERTY("{'type':'object','additionalProperties':false}", "{'type':'object'}");
  PROPERTY("{'type':'object','additionalProperties':{'type':'integer'}}",
           "{'description':'{additionalProperties: {\\'type\\':\\'integer\\'}}','type':'object'}");
  PROPERTY("{'allOf':[{'properties':{'x':{'type':'string'}},'required':['x']},"
           "{'properties':{'y':true},'required':['y']}]}",
           "{'properties':{'x':{'type':'string'},'y':true},'required':['x','y']}");
  PROPERTY("true", "true");
}

static void test_references(void) {
  SCHEMA("{'type':'object','properties':{'a':{'$ref':'#/$defs/p','description':'mine'},'b':{'$ref':'#/$defs/q'}},"
         "'$defs':{'p':{'type':'string','description':'its','maxLength':3},'q':{'$ref':'#/$defs/p'}}}",
         "{'properties':{'a':{'description':'mine {maxLength: 3}','type':'string'},"
         "'b':{'description':'its {maxLength: 3}','type':'string'}},'type':'object'}");
  /* A reference to itself ends there; so does one to nothing. */
  SCHEMA("{'type':'object','properties':{'t':{'$ref':'#/definitions/t'},'u':{'$ref':'#/none'},'v':{'$ref':'other.json'},"
         "'w':{'$ref':'#'}},'definitions':{'t':{'type':'object','properties':{'next':{'$ref':'#/definitions/t'}}}}}",
         "{'properties':{'t':{'properties':{'next':{}},'type':'object'},'u':{},'v':{},'w':{}},'type':'object'}");
  SCHEMA("{'type':'object','properties':{'a':{'$ref':'#/$defs/a'}},'$defs':{'a':{'$ref':'#/$defs/b'},"
         "'b':{'$ref':'#/$defs/a'}}}", "{'properties':{'a':{}},'type':'object'}");
  SCHEMA("{'type':'object','properties':{'a':{'allOf':[{'$ref':'#/$defs/a'},{'$ref':'#/$defs/b'}]}},'$defs':{"
         "'a':{'type':'object','properties':{'x':{}}},'b':{'properties':{'y':{}}}}}",
         "{'properties':{'a':{'properties':{'x':{},'y':{}},'type':'object'}},'type':'object'}");
}

/* References that double with each of them do not fill the memory. */
static void test_doubling(void) {
  static struct result r;
  struct mem m = mem_libc();
  char request[4096];
  size_t n = (size_t)snprintf(request, sizeof request, "{'model':'m',%s,'tools':[{'name':'f','parameters':{'type':"
                              "'object','properties':{'a':{'$ref':'#/$defs/d0'}},'$defs':{", ASKS);
  for (int i = 0; i < 30; i++)
    n += (size_t)snprintf(request + n, sizeof request - n, "'d%d':{'properties':{'a':{'$ref':'#/$defs/d%d'},"
                          "'b':{'$ref':'#/$defs/d%d'}}},", i, i + 1, i + 1);
  snprintf(request + n, sizeof request - n, "'d30':{}}}}]}");
  CHECK(run(NULL, request, 0, &m, &r) == 0);
}

static void test_messages(void) {
  BODY("{'model':'m','system':[{'type':'text','text':'a'},{'type':'text','text':'b','cache_control':{'type':"
       "'ephemeral'}}],'messages':[{'role':'user','content':[{'type':'text','text':'c'},{'type':'text','text':'d'}]},"
       "{'role':'user','content':'e'},{'role':'assistant','content':'f'}]}",
       HEAD "'messages':[{'role':'system','content':'a\\n\\nb'},{'role':'user','content':'c\\n\\nd\\n\\ne'},"
       "{'role':'assistant','content':'f'}]}");
  BODY("{'model':'m','messages':[{'role':'user','content':[{'type':'image','source':'AAAA','media_type':'image/png'},"
       "{'type':'text','text':'a'},{'type':'image','source':'data:image/png;base64,BBBB'}]}]}",
       HEAD "'messages':[{'role':'user','content':'a','images':['AAAA','BBBB']}]}");
  BODY("{'model':'m','messages':[{'role':'user','content':[{'type':'document','source':'YWI=','media_type':'text/plain',"
       "'title':'T'},{'type':'text','text':'c'}]}]}",
       HEAD "'messages':[{'role':'user','content':'T\\nab\\n\\nc'}]}");
  REFUSED("{'model':'m','messages':[{'role':'user','content':[{'type':'image','source':'https://a/b.png'}]}]}",
          "messages[1].content[1]");
  REFUSED("{'model':'m','messages':[{'role':'user','content':[{'type':'document','source':'AAAA','media_type':"
          "'application/pdf'}]}]}", "messages[1].content[1]");
  REFUSED("{'model':'m','messages':[{'role':'user','content':[{'type':'document','source':'!','media_type':"
          "'text/plain'}]}]}", "messages[1].content[1].source");
}

#define CALL(id, args) "{'type':'tool_use','id':'" id "','name':'f','arguments':" args "}"
#define ANSWER(id, more) "{'type':'tool_result','tool_use_id':'" id "'," more "}"
#define SENT(id, index, args) "{'id':'" id "','function':{'index':" #index ",'name':'f','arguments':" args "}}"
#define TOLD(id, text) "{'role':'tool','content':'" text "','tool_name':'f','tool_call_id':'" id "'}"

static void test_calls(void) {
  BODY("{'model':'m','messages':[{'role':'user','content':'a'},{'role':'assistant','content':["
       "{'type':'thinking','thinking':'t','provider_data':{'provider':'here','model':'m','wire':'ollama'}},"
       "{'type':'thinking','thinking':'u','provider_data':{'provider':'there','model':'m'}},"
       "{'type':'text','text':'b'}," CALL("x/1", "{'z':1,'a':2}") "," CALL("y", "{}") "]},"
       "{'role':'user','content':[{'type':'text','text':'d'}," ANSWER("y", "'content':''") ","
       ANSWER("x/1", "'content':[{'type':'text','text':'c'},{'type':'image','source':'AAAA','media_type':'image/png'}],"
              "'is_error':true") "]}]}",
       HEAD "'messages':[{'role':'user','content':'a'},{'role':'assistant','content':'b','thinking':'t','tool_calls':["
       SENT("x/1", 0, "{'a':2,'z':1}") "," SENT("y", 1, "{}") "]},"
       "{'role':'tool','content':'Error: c','images':['AAAA'],'tool_name':'f','tool_call_id':'x/1'},"
       TOLD("y", "(no output)") ",{'role':'user','content':'d'}]}");
  /* A message of calls alone has content; one of thinking alone is none. */
  BODY("{'model':'m','messages':[{'role':'user','content':'a'},{'role':'assistant','content':[" CALL("x", "{}") "]},"
       "{'role':'user','content':[" ANSWER("x", "'content':[],'is_error':true") "]},{'role':'assistant','content':["
       "{'type':'thinking','thinking':'t','provider_data':{'provider':'here','model':'m','wire':'ollama'}}]}]}",
       HEAD "'messages':[{'role':'user','content':'a'},{'role':'assistant','content':'','tool_calls':["
       SENT("x", 0, "{}") "]}," TOLD("x", "Error: (no output)") "]}");
  /* The model's own bytes, where they still mean the arguments. */
  BODY("{'model':'m','messages':[{'role':'user','content':'a'},{'role':'assistant','content':[{'type':'tool_use','id':'x',"
       "'name':'f','arguments':{'a':1,'b':2},'arguments_json':'{ \\'b\\':2,\\'a\\':1}'}]},{'role':'user','content':["
       ANSWER("x", "'content':'c'") "]}]}",
       HEAD "'messages':[{'role':'user','content':'a'},{'role':'assistant','content':'','tool_calls':["
       SENT("x", 0, "{ 'b':2,'a':1}") "]}," TOLD("x", "c") "]}");
}

/* The codec of downloads. */
static void test_pull(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct buf body, path;
  struct quirks q;
  struct err e;
  struct render r = { .a = &a, .quirks = &q, .provider = STR("here"), .body = &body, .path = &path };
  quirks_default(&q);
  arena_init(&a, &m);
  buf_init(&body, &m);
  buf_init(&path, &m);
  r.request = json_tree(&a, STR("{\"model\":\"m\"}"), 8, &e);
  CHECK(codec_ollama_pull.render(&r, &e) == 0);
  CHECK_STR(path.p, path.n, "/api/pull");
  CHECK_STR(body.p, body.n, "{\"model\":\"m\",\"stream\":true}");
  buf_free(&body);
  buf_free(&path);
  arena_free(&a);
}

int main(void) {
  expect_path(__FILE__, __LINE__, NULL, 0, "/api/chat");
  test_settings();
  test_sampling();
  test_extra();
  test_thinking();
  test_unsupported();
  test_tools();
  test_schemas();
  test_references();
  test_doubling();
  test_messages();
  test_calls();
  test_pull();
  expect_prefix();
  return test_done("codec/ollama/render");
}
