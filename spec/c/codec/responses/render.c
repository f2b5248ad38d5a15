/* render.c: the bytes of Responses requests, for every mapping and every quirk. */
#define CODEC codec_responses
#include "codec/render.h"
#include "core/codec/responses/responses.h"

/* {{{ requests */

#define HI "{'role':'user','content':'hi'}"
/* Settings: the request's members behind the model, the body's between model and input. */
#define WARNS(quirks, in, out, warnings) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','stream':false," in "'messages':[" HI "]}", \
         "{'model':'m'," out "'input':[" HI "]}", warnings)
#define SETS(quirks, in, out) WARNS(quirks, in, out, "")
/* The history alone. */
#define INPUT(quirks, in, out) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','messages':[" in "]}", \
         "{'model':'m'," ASKED "'input':[" out "]}", "")
#define REFUSES(quirks, messages, field) \
  expect_error(__FILE__, __LINE__, quirks, "{'model':'m','messages':[" messages "]}", field)

#define USER(content) "{'role':'user','content':" content "}"
#define ASSISTANT(content) "{'role':'assistant','content':" content "}"
#define TEXT(s) "{'type':'text','text':'" s "'}"
/* What the model said, as the item of that number. */
#define ITEM(at) "{'type':'message','id':'msg_" #at "','status':'completed','role':'assistant','content':"
#define SAID(at, s) ITEM(at) "[{'type':'output_text','text':'" s "','annotations':[]}]}"
/* What every body asks for that the quirk does not forbid. */
#define ASKED "'store':false,'include':['reasoning.encrypted_content'],"
#define RESULT(id, content) "{'type':'tool_result','tool_use_id':'" id "','content':" content "}"
#define USE(id, name) "{'type':'tool_use','id':'" id "','name':'" name "','arguments':{}}"
#define CALL(id, name) "{'type':'function_call','call_id':'" id "','name':'" name "','arguments':'{}'}"
#define OUTPUT(id, output) "{'type':'function_call_output','call_id':'" id "','output':" output "}"
#define FROM(provider, raw) "'provider_data':{'provider':'" provider "','model':'m','raw':'" raw "'}"
#define MINE(raw) FROM("here", raw)
/* Encrypted reasoning, in a block and as it goes back. */
#define ENCRYPTED "{\\'type\\':\\'reasoning\\', \\'id\\':\\'rs_1\\',\\'summary\\':[],\\'encrypted_content\\':\\'s\\'}"
#define ENCRYPTED_ITEM "{'type':'reasoning', 'id':'rs_1','summary':[],'encrypted_content':'s'}"
#define THINKING(raw) "{'type':'thinking','thinking':'t'," MINE(raw) "}"

/* }}} */

/* {{{ settings */

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
  SETS(NULL, "'extra':{'store':true},", "'include':['reasoning.encrypted_content'],'store':true,");
  WARNS(NULL, "'extra':{'model':'x','input':[],'stream':true,'seed':1},", ASKED "'seed':1,",
        "extra,extra,extra");
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

/* }}} */

/* {{{ the history */

static void test_messages(void) {
  INPUT(NULL, USER("[" TEXT("a") "]"), USER("'a'"));
  INPUT(NULL, USER("[" TEXT("a") "," TEXT("b") "]"),
        USER("[{'type':'input_text','text':'a'},{'type':'input_text','text':'b'}]"));
  /* Messages stay apart; each text is one. */
  INPUT(NULL, HI "," HI "," ASSISTANT("[" TEXT("a") "," TEXT("b") "]") "," HI,
        HI "," HI "," SAID(2, "a") "," SAID(3, "b") "," HI);
  INPUT(NULL, HI "," ASSISTANT("[{'type':'refusal','text':'no'}]") "," HI,
        HI "," ITEM(1) "[{'type':'refusal','refusal':'no'}]}," HI);
  /* Phase and citations go back to where they came from; those of Chat Completions do not fit. */
  INPUT(NULL, HI "," ASSISTANT("[{'type':'text','text':'a'," MINE("{\\'phase\\':\\'commentary\\',\\'annotations\\':"
              "[{\\'type\\':\\'url_citation\\',\\'url\\':\\'u\\'}]}") "}]") "," HI,
        HI "," ITEM(1) "[{'type':'output_text','text':'a','annotations':[{'type':'url_citation',"
        "'url':'u'}]}],'phase':'commentary'}," HI);
  INPUT(NULL, HI "," ASSISTANT("[{'type':'text','text':'a'," MINE("{\\'annotations\\':[{\\'type\\':\\'url_citation\\',"
              "\\'url_citation\\':{}}]}") "}]") "," HI, HI "," SAID(1, "a") "," HI);
  INPUT(NULL, HI "," ASSISTANT("[{'type':'text','text':'a'," FROM("there", "{\\'phase\\':\\'commentary\\'}") "}]")
        "," HI, HI "," SAID(1, "a") "," HI);
}

static void test_calls(void) {
  INPUT(NULL, HI "," ASSISTANT("[" TEXT("a") "," USE("c1", "f") "," USE("c2", "g") "]") ","
        USER("[" TEXT("also") "," RESULT("c2", "'2'") "," RESULT("c1", "'1'") "]"),
        HI "," SAID(1, "a") "," CALL("c1", "f") "," CALL("c2", "g") "," OUTPUT("c1", "'1'") "," OUTPUT("c2", "'2'") ","
        USER("'also'"));
  /* The model's own bytes where they still say the same. */
  INPUT(NULL, HI "," ASSISTANT("[{'type':'tool_use','id':'c','name':'f','arguments':{'a':1},'arguments_json':"
              "'{ \\'a\\': 1 }'}]") "," USER("[" RESULT("c", "'r'") "]"),
        HI ",{'type':'function_call','call_id':'c','name':'f','arguments':'{ \\'a\\': 1 }'}," OUTPUT("c", "'r'"));
  /* Its own id only behind its reasoning, and only in the form that is accepted; what else there is, always. */
  INPUT(NULL, HI "," ASSISTANT("[" THINKING(ENCRYPTED) ",{'type':'tool_use','id':'c','name':'f','arguments':{},"
              MINE("{\\'id\\':\\'fc_1\\',\\'space\\':1}") "}]") "," USER("[" RESULT("c", "'r'") "]"),
        HI "," ENCRYPTED_ITEM ",{'type':'function_call','call_id':'c','name':'f','arguments':'{}','id':'fc_1','space':1},"
        OUTPUT("c", "'r'"));
  INPUT(NULL, HI "," ASSISTANT("[" THINKING(ENCRYPTED) ",{'type':'tool_use','id':'c','name':'f','arguments':{},"
              MINE("{\\'id\\':\\'9f3a\\'}") "}]") "," USER("[" RESULT("c", "'r'") "]"),
        HI "," ENCRYPTED_ITEM "," CALL("c", "f") "," OUTPUT("c", "'r'"));
  INPUT(NULL, HI "," ASSISTANT("[{'type':'tool_use','id':'c','name':'f','arguments':{},"
              MINE("{\\'id\\':\\'fc_1\\'}") "},"
              "{'type':'tool_use','id':'d','name':'g','arguments':{}," FROM("there", "{\\'id\\':\\'fc_2\\'}") "}]") ","
        USER("[" RESULT("c", "'r'") "," RESULT("d", "'r'") "]"),
        HI "," CALL("c", "f") "," CALL("d", "g") "," OUTPUT("c", "'r'") "," OUTPUT("d", "'r'"));
  /* Fields of Chat Completions are not this wire's. */
  INPUT(NULL, HI "," ASSISTANT("[{'type':'tool_use','id':'c','name':'f','arguments':{},"
              MINE("{\\'function\\':{}}") "}]") "," USER("[" RESULT("c", "'r'") "]"),
        HI "," CALL("c", "f") "," OUTPUT("c", "'r'"));
}

static void test_results(void) {
#define ANSWERED(result, output) \
  INPUT(NULL, HI "," ASSISTANT("[" USE("c", "f") "]") "," USER("[" result "]"), HI "," CALL("c", "f") "," output)
  ANSWERED(RESULT("c", "[" TEXT("a") "," TEXT("b") "]"), OUTPUT("c", "'a\\nb'"));
  ANSWERED(RESULT("c", "[]"), OUTPUT("c", "''"));
  ANSWERED("{'type':'tool_result','tool_use_id':'c','content':'no','is_error':true}", OUTPUT("c", "'Error: no'"));
  ANSWERED("{'type':'tool_result','tool_use_id':'c','content':'Error: no','is_error':true}",
           OUTPUT("c", "'Error: no'"));
  /* Images are legal in a result. */
#define IMAGE "{'type':'image','source':'AAAA','media_type':'image/png'}"
#define IMAGE_PART "{'type':'input_image','image_url':'data:image/png;base64,AAAA'}"
#define TEXT_PART(s) "{'type':'input_text','text':'" s "'}"
  ANSWERED(RESULT("c", "[" TEXT("a") "," IMAGE "]"), OUTPUT("c", "[" TEXT_PART("a") "," IMAGE_PART "]"));
  ANSWERED("{'type':'tool_result','tool_use_id':'c','content':[" TEXT("a") "," IMAGE "," TEXT("b") "],'is_error':true}",
           OUTPUT("c", "[" TEXT_PART("Error: a") "," IMAGE_PART "," TEXT_PART("b") "]"));
  ANSWERED("{'type':'tool_result','tool_use_id':'c','content':[" IMAGE "],'is_error':true}",
           OUTPUT("c", "[" TEXT_PART("Error: ") "," IMAGE_PART "]"));
  /* A call that nobody answered goes, and the reasoning that led to it. */
  INPUT(NULL, HI "," ASSISTANT("[" TEXT("a") "," THINKING(ENCRYPTED) "," USE("c", "f") "]") "," HI,
        HI "," SAID(1, "a") "," HI);
}

/* Ids longer than 64 characters are shortened, the same way in both places. */
static void test_ids(void) {
#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789"
  static struct result r;
  struct mem m = mem_libc();
  const char *call, *output;
  CHECK(run(NULL, "{'model':'m','messages':[" HI "," ASSISTANT("[" USE(LONG, "f") "]") ","
            USER("[" RESULT(LONG, "'r'") "]") "]}", &m, &r) == 0);
  call = strstr(r.body, "\"call_id\":\"");
  output = call == NULL ? NULL : strstr(call + 1, "\"call_id\":\"");
  CHECK(output != NULL && strchr(call + 11, '"') - call == 11 + 64 && memcmp(call, output, 11 + 65) == 0);
}

static void test_media(void) {
  INPUT(NULL, USER("[" TEXT("a") ",{'type':'image','source':'https://x.org/a.png'}," IMAGE "]"),
        USER("[" TEXT_PART("a") ",{'type':'input_image','image_url':'https://x.org/a.png'}," IMAGE_PART "]"));
  INPUT(NULL, USER("[{'type':'document','source':'AAAA','media_type':'application/pdf','title':'t.pdf'},"
                   "{'type':'document','source':'https://x.org/a.pdf'},"
                   "{'type':'document','source':'AAAA','media_type':'application/pdf'}]"),
        USER("[{'type':'input_file','filename':'t.pdf','file_data':'data:application/pdf;base64,AAAA'},"
             "{'type':'input_file','file_url':'https://x.org/a.pdf'},"
             "{'type':'input_file','filename':'document','file_data':'data:application/pdf;base64,AAAA'}]"));
  REFUSES("{'no_images':true}", USER("[" IMAGE "]"), "messages[1].content[1]");
  REFUSES("{'no_documents':true}", USER("[{'type':'document','source':'AAAA','media_type':'application/pdf'}]"),
          "messages[1].content[1]");
  REFUSES("{'image_data_only':true}", USER("[{'type':'image','source':'https://x.org/a.png'}]"),
          "messages[1].content[1]");
  REFUSES(NULL, HI "," ASSISTANT("[" IMAGE "]") "," HI, "messages[2].content[1].type");
}

/* }}} */

/* {{{ replay */

static void test_reasoning(void) {
#define TURN(thinking, item) \
  INPUT(NULL, HI "," ASSISTANT("[" thinking "," TEXT("a") "]") "," HI, HI "," item "," HI)
  /* Byte for byte, whatever the user made of its text. */
  TURN(THINKING(ENCRYPTED), ENCRYPTED_ITEM "," SAID(2, "a"));
  TURN("{'type':'thinking','thinking':''," MINE(ENCRYPTED) "}", ENCRYPTED_ITEM "," SAID(2, "a"));
  /* Not encrypted, from elsewhere, of another format, unreadable, none at all: dropped. */
  TURN(THINKING("{\\'type\\':\\'reasoning\\',\\'id\\':\\'rs_1\\',\\'summary\\':[],\\'content\\':[],"
                "\\'encrypted_content\\':null}"), SAID(1, "a"));
  TURN("{'type':'thinking','thinking':'t'," FROM("there", ENCRYPTED) "}", SAID(1, "a"));
  TURN("{'type':'thinking','thinking':'t','provider_data':{'provider':'here','model':'n','raw':'" ENCRYPTED "'}}", SAID(1, "a"));
  TURN(THINKING("{\\'reasoning_details\\':[]}"), SAID(1, "a"));
  TURN(THINKING("{"), SAID(1, "a"));
  TURN("{'type':'thinking','thinking':'t'}", SAID(1, "a"));
  TURN("{'type':'redacted_thinking','data':'d'," MINE(ENCRYPTED) "}", SAID(1, "a"));
  /* Open models have the text itself. */
  TURN(THINKING("{\\'type\\':\\'reasoning\\',\\'summary\\':[],\\'content\\':[{\\'type\\':\\'reasoning_text\\',"
                "\\'text\\':\\'t\\'}]}"),
       "{'type':'reasoning','summary':[],'content':[{'type':'reasoning_text','text':'t'}]}," SAID(2, "a"));
  /* Refused once: not tried again. */
  expect(__FILE__, __LINE__, NULL, "{'model':'m','no_reasoning':true,'messages':[" HI ","
         ASSISTANT("[" THINKING(ENCRYPTED) "," TEXT("a") "]") "," HI "]}",
         "{'model':'m'," ASKED "'input':[" HI "," SAID(1, "a") "," HI "]}", "messages");
  /* Nothing behind it: an orphan. */
  INPUT(NULL, HI "," ASSISTANT("[" TEXT("a") "," THINKING(ENCRYPTED) "]") "," HI, HI "," SAID(1, "a") "," HI);
  INPUT(NULL, HI "," ASSISTANT("[" THINKING(ENCRYPTED) "]") "," HI, HI "," HI);
}

/* A request's tree, which the case may change before it is rendered. */
struct scene {
  struct mem m;
  struct arena a;
  struct buf b, path;
  struct quirks quirks;
  struct err e;
  struct render r;
};

static void scene_open(struct scene *s, const char *request) {
  s->m = mem_libc();
  quirks_default(&s->quirks);
  arena_init(&s->a, &s->m);
  buf_init(&s->b, &s->m);
  buf_init(&s->path, &s->m);
  s->r = (struct render){ .a = &s->a, .quirks = &s->quirks, .provider = STR("here"), .body = &s->b,
                            .path = &s->path };
  s->r.request = json_tree(&s->a, bytes(json(request)), 64, &s->e);
  s->r.headers = node_new(&s->a, NODE_OBJECT);
  s->r.warnings = node_new(&s->a, NODE_ARRAY);
}

static void scene_close(struct scene *s) {
  buf_free(&s->b);
  buf_free(&s->path);
  arena_free(&s->a);
}

/* Bytes that are no UTF-8 are repaired on their way. */
static void test_unclean(void) {
  struct scene s;
  struct node *block, *raw;
  scene_open(&s, "{'model':'m','messages':[" HI ","
                 ASSISTANT("[{'type':'opaque','kind':'k'," MINE("") "}]") "," HI "]}");
  block = node_get(node_get(s.r.request, "messages")->child->next, "content")->child;
  raw = node_string(&s.a, STR("{\"type\": \"\xFF\"}"));
  CHECK(node_set(node_get(block, "provider_data"), STR("raw"), raw) == 0);
  CHECK(codec_responses.render(&s.r, &s.e) == 0);
  CHECK_STR(s.b.p, s.b.n, json("{'model':'m'," ASKED "'input':[" HI ",{'type':'\xEF\xBF\xBD'}," HI "]}"));
  scene_close(&s);
}

/* What a provider may be unable to open, and how it says so. */
static void test_encrypted(void) {
  static const struct { const char *message; unsigned remedies; } CASES[] = {
    { ASSISTANT("[" THINKING(ENCRYPTED) "," TEXT("a") "]"), REMEDY_REASONING | REMEDY_ENCRYPTED },
    { ASSISTANT("[" THINKING("{\\'type\\':\\'reasoning\\',\\'content\\':[{\\'type\\':\\'reasoning_text\\',\\'text\\':\\'t\\'}]}") ","
                TEXT("a") "]"), REMEDY_ENCRYPTED },
    { ASSISTANT("[{'type':'thinking','thinking':'t'}," TEXT("a") "]"), REMEDY_ENCRYPTED },
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char request[4096];
    struct scene s;
    snprintf(request, sizeof request, "{'model':'m','messages':[" HI ",%s," HI "]}", CASES[i].message);
    scene_open(&s, request);
    CHECK(codec_responses.render(&s.r, &s.e) == 0);
    CHECK(s.r.remedies == CASES[i].remedies);
    scene_close(&s);
  }
}

/* What came from the same model of the same provider over another wire is not this wire's. */
static void test_wires(void) {
#define OVER(wire, raw) "'provider_data':{'provider':'here','model':'m','wire':'" wire "','raw':'" raw "'}"
#define ENCRYPTED_OVER(wire) "{'type':'thinking','thinking':'t'," OVER(wire, ENCRYPTED) "}"
  TURN(ENCRYPTED_OVER("responses"), ENCRYPTED_ITEM "," SAID(2, "a"));
  TURN(ENCRYPTED_OVER("chat"), SAID(1, "a"));
  TURN("{'type':'opaque','kind':'k'," OVER("chat", "{\\'type\\':\\'image_url\\'}") "}", SAID(1, "a"));
  TURN("{'type':'opaque','kind':'k'," OVER("responses", "{\\'type\\':\\'image_url\\'}") "}",
       "{'type':'image_url'}," SAID(2, "a"));
  INPUT(NULL, HI "," ASSISTANT("[{'type':'tool_use','id':'c','name':'f','arguments':{},"
              OVER("chat", "{\\'id\\':\\'fc_1\\',\\'space\\':1}") "}]") "," USER("[" RESULT("c", "'r'") "]"),
        HI "," CALL("c", "f") "," OUTPUT("c", "'r'"));
}

/* Parts without a canonical form are messages, of whatever form they were kept in; what is not the model's stays as it is. */
static void test_parts(void) {
#define PART "[{\\'type\\':\\'output_audio\\'}]"
#define KEPT(raw) HI "," ASSISTANT("[{'type':'opaque','kind':'k'," MINE(raw) "}]") "," HI
  INPUT(NULL, KEPT("{\\'role\\':\\'assistant\\',\\'content\\':" PART "}"),
        HI "," ITEM(1) "[{'type':'output_audio'}]}," HI);
  INPUT(NULL, KEPT("{\\'type\\':\\'message\\',\\'role\\':\\'assistant\\',\\'content\\':" PART ",\\'phase\\':\\'p\\'}"),
        HI "," ITEM(1) "[{'type':'output_audio'}],'phase':'p'}," HI);
  INPUT(NULL, KEPT("{\\'type\\':\\'message\\',\\'role\\':\\'user\\',\\'content\\':\\'x\\'}"),
        HI ",{'type':'message','role':'user','content':'x'}," HI);
}

static void test_opaque(void) {
#define SEARCH "{\\'type\\':\\'web_search_call\\', \\'id\\':\\'ws_1\\'}"
  INPUT(NULL, HI "," ASSISTANT("[" THINKING(ENCRYPTED) ",{'type':'opaque','kind':'web_search_call'," MINE(SEARCH) "},"
              TEXT("a") "]") "," HI,
        HI "," ENCRYPTED_ITEM ",{'type':'web_search_call', 'id':'ws_1'}," SAID(3, "a") "," HI);
  INPUT(NULL, HI "," ASSISTANT("[{'type':'opaque','kind':'web_search_call'," FROM("there", SEARCH) "}," TEXT("a") "]")
        "," HI, HI "," SAID(1, "a") "," HI);
  /* What answers a custom tool's call is the caller's to write. */
  INPUT(NULL, HI "," ASSISTANT("[{'type':'opaque','kind':'custom_tool_call',"
              MINE("{\\'type\\':\\'custom_tool_call\\'}") "}]") ","
        USER("[" TEXT("b") ",{'type':'opaque','kind':'custom_tool_call_output',"
              MINE("{\\'type\\':\\'custom_tool_call_output\\'}") "}]"),
        HI ",{'type':'custom_tool_call'},{'type':'custom_tool_call_output'}," USER("'b'"));
}

/* Calls that came in one go back in one, with one result. */
static void test_parallel(void) {
#define Q "\\\\\\'" /* a quote inside of a string inside of a string */
#define USED(name, parameters) \
  "{" Q "recipient_name" Q ":" Q "functions." name Q "," Q "parameters" Q ":" parameters "}"
#define USES "{" Q "tool_uses" Q ":[" USED("f", "{" Q "a" Q ":1}") "," USED("g", "{}") "]}"
#define WHOLE "{\\'parallel\\':\\'c\\',\\'item\\':{\\'id\\':\\'fc_1\\',\\'type\\':\\'function_call\\'," \
              "\\'call_id\\':\\'c\\',\\'name\\':\\'parallel\\',\\'arguments\\':\\'" USES "\\'}}"
#define FIRST(args) "{'type':'tool_use','id':'c_1','name':'f','arguments':" args "," MINE(WHOLE) "}"
#define SECOND "{'type':'tool_use','id':'c_2','name':'g','arguments':{}," MINE("{\\'parallel\\':\\'c\\'}") "}"
#define BOTH "{'type':'function_call','call_id':'c','name':'parallel','arguments':'{\\'tool_uses\\':[" \
             "{\\'recipient_name\\':\\'functions.f\\',\\'parameters\\':{\\'a\\':1}}," \
             "{\\'recipient_name\\':\\'functions.g\\',\\'parameters\\':{}}]}'}"
  INPUT(NULL, HI "," ASSISTANT("[" FIRST("{'a':1}") "," SECOND "]") ","
        USER("[" RESULT("c_2", "'two'") "," RESULT("c_1", "[" TEXT("one") "]") "," TEXT("b") "]"),
        HI "," BOTH "," OUTPUT("c", "'one\\ntwo'") "," USER("'b'"));
  INPUT(NULL, HI "," ASSISTANT("[" FIRST("{'a':1}") "," SECOND "]") ","
        USER("[" RESULT("c_1", "'one'") ",{'type':'tool_result','tool_use_id':'c_2','content':[" IMAGE "],"
             "'is_error':true}]"),
        HI "," BOTH "," OUTPUT("c", "[" TEXT_PART("one") "," TEXT_PART("Error: ") "," IMAGE_PART "]"));
  /* Half answered. */
  INPUT(NULL, HI "," ASSISTANT("[" FIRST("{'a':1}") "," SECOND "]") "," USER("[" RESULT("c_2", "'two'") "]"),
        HI "," BOTH "," OUTPUT("c", "'two'"));
  /* Changed, or one taken away: calls like any other. */
  INPUT(NULL, HI "," ASSISTANT("[" FIRST("{'a':2}") "," SECOND "]") "," USER("[" RESULT("c_1", "'one'") ","
        RESULT("c_2", "'two'") "]"),
        HI ",{'type':'function_call','call_id':'c_1','name':'f','arguments':'{\\'a\\':2}'}," CALL("c_2", "g") ","
        OUTPUT("c_1", "'one'") "," OUTPUT("c_2", "'two'"));
  INPUT(NULL, HI "," ASSISTANT("[" FIRST("{'a':1}") "]") "," USER("[" RESULT("c_1", "'one'") "]"),
        HI ",{'type':'function_call','call_id':'c_1','name':'f','arguments':'{\\'a\\':1}'}," OUTPUT("c_1", "'one'"));
}

/* What the provider has is not sent again. */
static void test_continued(void) {
  expect(__FILE__, __LINE__, NULL, "{'model':'m','extra':{'store':true,'previous_response_id':'r'},'messages':[" HI ","
         ASSISTANT("[" TEXT("a") "," USE("c", "f") "]") "," USER("[" RESULT("c", "'r'") "," TEXT("b") "]") "]}",
         "{'model':'m','include':['reasoning.encrypted_content'],'previous_response_id':'r','store':true,'input':[" OUTPUT("c", "'r'") "," USER("'b'") "]}", "");
  expect(__FILE__, __LINE__, NULL, "{'model':'m','extra':{'conversation':'c'},'messages':[" HI "]}",
         "{'model':'m'," ASKED "'conversation':'c','input':[" HI "]}", "");
}

/* }}} */

static void test_arguments(void) {
  REFUSES(NULL, "", "messages");
  REFUSES(NULL, "{'role':'system','content':'x'}", "messages[1].role");
  REFUSES(NULL, USER("''"), "messages");
}

/* Counting: what costs tokens, and nothing of how the answer is to come. */
static void test_count(void) {
  struct scene s;
  scene_open(&s, "{'model':'m','stream':true,'max_tokens':9,'temperature':1,'system':'s','thinking':'low',"
                 "'metadata':{'k':'v'},'extra':{'x':1},'tools':[{'name':'f'}],'messages':[" HI "]}");
  CHECK(codec_responses.render_count(&s.r, &s.e) == 0);
  CHECK_STR(s.b.p, s.b.n, json("{'model':'m','reasoning':{'effort':'low','summary':'auto'},'instructions':'s','tools':"
                               "[{'type':'function','name':'f','parameters':{'properties':{},'type':'object'},"
                               "'strict':false}],'input':[" HI "]}"));
  CHECK_STR(s.path.p, s.path.n, "/responses/input_tokens");
  scene_close(&s);
}

int main(void) {
  expect_path(__FILE__, __LINE__, NULL, "/responses");
  test_order();
  test_settings();
  test_thinking();
  test_tools();
  test_system();
  test_messages();
  test_calls();
  test_results();
  test_ids();
  test_media();
  test_reasoning();
  test_unclean();
  test_encrypted();
  test_wires();
  test_parts();
  test_opaque();
  test_parallel();
  test_continued();
  test_arguments();
  expect_prefix();
  test_count();
  return test_done("codec/responses/render");
}
