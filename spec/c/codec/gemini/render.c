/* render.c: paths and bytes of Gemini's requests, for every mapping and every quirk. */
#define CODEC codec_gemini
#include "codec/render.h"

/* {{{ requests */

#define HI_OUT "{'role':'user','parts':[{'text':'hi'}]}"
/* Settings: the request's members behind the model, the body's before the contents. */
#define WARNS(quirks, in, out, warnings) \
  expect(__FILE__, __LINE__, quirks, "{'model':'gemini-9','stream':false," in "'messages':[" HI "]}", \
         "{" out "'contents':[" HI_OUT "]}", warnings)
#define SETS(quirks, in, out) WARNS(quirks, in, out, "")
/* The history alone. */
#define CONTENTS_OF(quirks, in, out, warnings) \
  expect(__FILE__, __LINE__, quirks, "{'model':'gemini-9','messages':[" in "]}", "{'contents':[" out "]}", warnings)
#define CONTENTS(in, out) CONTENTS_OF(NULL, in, out, "")

#define TURN(parts) "{'role':'user','parts':[" parts "]}"
#define MODEL(parts) "{'role':'model','parts':[" parts "]}"
#define PART(s) "{'text':'" s "'}"
#define CALLS(id, more) "{'type':'tool_use','id':'" id "','name':'f','arguments':{}" more "}"
#define CALL "{'functionCall':{'name':'f','args':{}}}"
#define UNSIGNED "{'functionCall':{'name':'f','args':{}},'thoughtSignature':'skip_thought_signature_validator'}"
#define OUTPUT(s) "{'functionResponse':{'name':'f','response':{'output':'" s "'}}}"
#define OF(model, raw) ",'provider_data':{'provider':'here','model':'" model "','wire':'gemini','raw':'" raw "'}"
#define OWN(raw) OF("gemini-9", raw)
#define PNG "{'type':'image','source':'AAAA','media_type':'image/png'}"
#define PNG_OUT "{'inlineData':{'mimeType':'image/png','data':'AAAA'}}"
#define OLD "{'before_gemini_3':true}"

/* }}} */

static void test_order(void) {
  expect(__FILE__, __LINE__, "{'metadata_labels':true}",
         "{'messages':[" HI "],'extra':{'z':1,'a':{'d':1,'c':[]},'serviceTier':'flex','safetySettings':[],"
         "'generationConfig':{'responseModalities':['TEXT'],'topP':0},'top_k':3,'toolConfig':{'x':1},"
         "'tools':[{'urlContext':{}}]},'metadata':{'b':'2','a':'1'},'tool_choice':'any','tools':[{'name':'f',"
         "'description':'d','parameters':{'type':'object','properties':{'a':{}}}},{'type':'googleSearch','x':1}],"
         "'stream':true,'thinking':'low','top_p':0.5,'temperature':1,'max_tokens':100,'stop_sequences':['a'],"
         "'system':[" TEXT("s") "," TEXT("") "," TEXT("t") "],'model':'gemini-9'}",
         "{'generationConfig':{'maxOutputTokens':100,'temperature':1,'topP':0.5,'stopSequences':['a'],'topK':3,"
         "'thinkingConfig':{'includeThoughts':true,'thinkingLevel':'LOW'},'responseModalities':['TEXT']},"
         "'safetySettings':[],'systemInstruction':{'parts':[" PART("s") "," PART("t") "]},"
         "'tools':[{'urlContext':{}},{'googleSearch':{'x':1}},{'functionDeclarations':[{'name':'f','description':'d',"
         "'parametersJsonSchema':{'properties':{'a':{}},'type':'object'}}]}],"
         "'toolConfig':{'functionCallingConfig':{'mode':'ANY'},'includeServerSideToolInvocations':true,'x':1},"
         "'labels':{'a':'1','b':'2'},'serviceTier':'flex','a':{'c':[],'d':1},'z':1,'contents':[" HI_OUT "]}",
         "extra.generationConfig.topP");
}

static void test_settings(void) {
  SETS(NULL, "", "");
  WARNS(NULL, "'extra':{'parallel_tool_calls':false},'tools':[{'name':'f'}],",
        "'tools':[{'functionDeclarations':[{'name':'f'}]}],", "extra");
  WARNS(NULL, "'extra':{'parallel_tool_calls':true},'tools':[{'name':'f'}],",
        "'tools':[{'functionDeclarations':[{'name':'f'}]}],", "");
  WARNS(NULL, "'extra':{'parallel_tool_calls':false},", "", "");
  WARNS(NULL, "'metadata':{'user_id':'u'},'cache_retention':'long','tool_choice':'auto',", "",
        "cache_retention,tool_choice,metadata");
  WARNS(NULL, "'stop_sequences':['1','2','3','4','5','6'],", "'generationConfig':{'stopSequences':['1','2','3','4','5']},",
        "stop_sequences");
  SETS(NULL, "'extra':{'seed':7,'presence_penalty':1,'frequency_penalty':2},",
       "'generationConfig':{'seed':7,'presencePenalty':1,'frequencyPenalty':2},");
  WARNS(NULL, "'system':'s','tools':[{'name':'f'}],'tool_choice':'any','extra':{'cachedContent':'cachedContents/1'},",
        "'cachedContent':'cachedContents/1',", "extra");
  /* A model without a place for a system prompt. */
  expect(__FILE__, __LINE__, "{'no_system_prompt':true}", "{'model':'gemma-4','system':'s','messages':[" HI "]}",
         "{'contents':[" TURN("{'text':'s\\n\\n'}," PART("hi")) "]}", "");
}

static void test_sampling(void) {
  SETS(NULL, "'seed':7,'top_k':40,", "'generationConfig':{'topK':40,'seed':7},");
  WARNS(NULL, "'seed':7,'top_k':40,'extra':{'seed':8,'top_k':9,'generationConfig':{'topK':1,'x':2}},",
        "'generationConfig':{'topK':40,'seed':7,'x':2},", "extra.top_k,extra.seed,extra.generationConfig.topK");
  SETS(NULL, "'logprobs':0,", "'generationConfig':{'responseLogprobs':true},");
  SETS(NULL, "'logprobs':20,'stop_sequences':['a'],",
       "'generationConfig':{'stopSequences':['a'],'responseLogprobs':true,'logprobs':20},");
  WARNS("{'logprobs':'none'}", "'logprobs':5,", "", "logprobs");
  WARNS(NULL, "'logprobs':5,'no_logprobs':true,", "", "logprobs");
}

#define THINKS(quirks, mode, in, out, warnings) \
  WARNS(quirks, "'thinking_mode':'" mode "','thinking':" in ",", out, warnings)
#define CONFIG(thinking) "'generationConfig':{'thinkingConfig':{" thinking "}},"
#define SHOWN(thinking) CONFIG("'includeThoughts':true," thinking)

static void test_thinking(void) {
  static const char FLASH[] = "{'least_level':'minimal'}", LITE[] = "{'thinking_least':512}",
                    PRO[] = "{'thinking_least':128,'thinking_most':32768,'thinking_always':true}";
  THINKS(NULL, "level", "'medium'", SHOWN("'thinkingLevel':'MEDIUM'"), "");
  THINKS(NULL, "level", "false", CONFIG("'thinkingLevel':'LOW'"), "thinking");
  THINKS(FLASH, "level", "false", CONFIG("'thinkingLevel':'MINIMAL'"), "thinking");
  THINKS(FLASH, "level", "'minimal'", SHOWN("'thinkingLevel':'MINIMAL'"), "");
  THINKS(NULL, "level", "'minimal'", SHOWN("'thinkingLevel':'LOW'"), "thinking");
  THINKS(NULL, "level", "{'budget_tokens':4096}", SHOWN("'thinkingLevel':'LOW'"), "thinking");
  THINKS(NULL, "level", "{'budget_tokens':4097}", SHOWN("'thinkingLevel':'MEDIUM'"), "thinking");
  THINKS(NULL, "level", "{'budget_tokens':12289}", SHOWN("'thinkingLevel':'HIGH'"), "thinking");
  THINKS(NULL, "budget", "'low'", SHOWN("'thinkingBudget':2048"), "");
  THINKS(NULL, "budget", "'high'", SHOWN("'thinkingBudget':24576"), "");
  THINKS(PRO, "budget", "'high'", SHOWN("'thinkingBudget':32768"), "");
  THINKS(NULL, "budget", "false", CONFIG("'thinkingBudget':0"), "");
  THINKS(PRO, "budget", "false", CONFIG("'thinkingBudget':128"), "thinking");
  THINKS(LITE, "budget", "{'budget_tokens':100}", SHOWN("'thinkingBudget':512"), "thinking");
  THINKS(LITE, "budget", "{'budget_tokens':99999}", SHOWN("'thinkingBudget':24576"), "thinking");
  THINKS(NULL, "none", "'low'", "", "thinking");
  THINKS(NULL, "none", "false", "", "");
  SETS(NULL, "'thinking':'low',", SHOWN("'thinkingLevel':'LOW'")); /* an unknown Gemini */
  expect_error(__FILE__, __LINE__, NULL, "{'model':'gemini-9','thinking':'extreme','messages':[" HI "]}", "thinking");
}

#define TOOL(more) "'tools':[{'name':'f','parameters':{'type':'object','properties':{}}" more "}],"
#define DECLARED "'tools':[{'functionDeclarations':[{'name':'f'}]}],"
#define MODE(word, more) "'toolConfig':{'functionCallingConfig':{'mode':'" word "'" more "}},"

static void test_tools(void) {
  SETS(NULL, TOOL(""), DECLARED);
  SETS(NULL, TOOL("") "'tool_choice':'auto',", DECLARED);
  SETS(NULL, TOOL("") "'tool_choice':'any',", DECLARED MODE("ANY", ""));
  SETS(NULL, TOOL("") "'tool_choice':'none',", DECLARED MODE("NONE", ""));
  SETS(NULL, TOOL("") "'tool_choice':{'type':'tool','name':'f'},", DECLARED MODE("ANY", ",'allowedFunctionNames':['f']"));
  SETS(NULL, TOOL(",'strict':true"), DECLARED MODE("VALIDATED", ""));
  SETS(NULL, TOOL(",'strict':false,'cache_control':{'type':'ephemeral'}"), DECLARED);
  SETS(NULL, "'tools':[],", "");
  SETS(NULL, "'tools':[{'type':'codeExecution'}],", "'tools':[{'codeExecution':{}}],");
  SETS(OLD, "'tools':[{'type':'codeExecution'},{'name':'f'}],",
       "'tools':[{'codeExecution':{}},{'functionDeclarations':[{'name':'f'}]}],");
  SETS("{'no_tool_invocations':true}", "'tools':[{'type':'codeExecution'},{'name':'f'}],",
       "'tools':[{'codeExecution':{}},{'functionDeclarations':[{'name':'f'}]}]," MODE("VALIDATED", ""));
  expect_error(__FILE__, __LINE__, NULL, "{'model':'m','tools':[{'type':'x'}],'messages':[" HI "]}", "tools[1].type");
}

static void test_history(void) {
  CONTENTS(USER("'a'") "," USER("'b'") "," ASSISTANT("'c'") "," ASSISTANT("'d'"),
           TURN(PART("a") "," PART("b")) "," MODEL(PART("c") "," PART("d")));
  CONTENTS(HI "," ASSISTANT("[{'type':'refusal','text':'no'},{'type':'thinking','thinking':'t','signature':'s'}]"),
           HI_OUT "," MODEL(PART("no")));
  /* The model's own parts: thoughts and signatures of both of two merged messages. */
  CONTENTS(HI "," ASSISTANT("[{'type':'thinking','thinking':'t'"
                            OWN("{\\'thought\\':true,\\'thoughtSignature\\':\\'a\\'}") "}]")
           "," ASSISTANT("[{'type':'thinking','thinking':'u'" OWN("") "},{'type':'text','text':''"
                         OWN("{\\'thoughtSignature\\':\\'b\\'}") "}," TEXT("") "]"),
           HI_OUT "," MODEL("{'text':'t','thought':true,'thoughtSignature':'a'},{'text':'u','thought':true},"
                            "{'text':'','thoughtSignature':'b'}"));
  /* A thought that says nothing and is not signed. */
  CONTENTS(HI "," ASSISTANT("[{'type':'thinking','thinking':''" OWN("") "}," TEXT("a") "]") "," HI,
           HI_OUT "," MODEL(PART("a")) "," HI_OUT);
  CONTENTS(HI "," ASSISTANT("[{'type':'thinking','thinking':''" OWN("{\\'thought\\':true}") "}]") "," HI,
           TURN(PART("hi") "," PART("hi")));
  CONTENTS(HI "," ASSISTANT("[{'type':'opaque'" OWN("{\\'executableCode\\': {} }") "},{'type':'opaque'"
                            OWN("{\\'groundingMetadata\\':{}}") "},{'type':'opaque'" OF("other", "{\\'toolCall\\':1}")
                            "}]"), HI_OUT "," MODEL("{'executableCode': {} }"));
}

static void test_calls(void) {
  /* Without a signature a word stands for that of the first call alone; older models want none. */
  CONTENTS(HI "," ASSISTANT("[" CALLS("a", "") "," CALLS("b", "") "]") ","
           USER("[" TEXT("and") "," RESULT("b", "'B'") "," RESULT("a", "[" TEXT("A") "," TEXT("a") "]") "]"),
           HI_OUT "," MODEL(UNSIGNED "," CALL) "," TURN(OUTPUT("A\\na") "," OUTPUT("B") "," PART("and")));
  CONTENTS_OF(OLD, HI "," ASSISTANT("[" CALLS("a", "") "]") "," USER("[" RESULT("a", "''") "]"),
              HI_OUT "," MODEL(CALL) "," TURN(OUTPUT("")), "");
  /* Ids go out where the server gave them, in both places; the signature stays where it was. */
  CONTENTS(HI "," ASSISTANT("["
           CALLS("a", OWN("{\\'thoughtSignature\\':\\'s\\',\\'functionCall\\':{\\'id\\':\\'a0\\'}}")) ","
                            CALLS("b", "") "]") "," USER("[" RESULT("a", "'A'") "," RESULT("b", "'B'") "]"),
           HI_OUT "," MODEL("{'functionCall':{'name':'f','args':{},'id':'a0'},'thoughtSignature':'s'}," CALL) ","
           TURN("{'functionResponse':{'name':'f','response':{'output':'A'},'id':'a0'}}," OUTPUT("B")));
  /* Another model's signature does not count. */
  CONTENTS_OF(NULL, HI "," ASSISTANT("[" CALLS("a", OF("gemini-8", "{\\'thoughtSignature\\':\\'s\\'}")) "]") ","
              USER("[" RESULT("a", "'A'") "]"), HI_OUT "," MODEL(UNSIGNED) "," TURN(OUTPUT("A")), "messages");
  CONTENTS(HI "," ASSISTANT("[" CALLS("a", "") "]") ","
           USER("[{'type':'tool_result','tool_use_id':'a','content':'no','is_error':true}]"),
           HI_OUT "," MODEL(UNSIGNED) "," TURN("{'functionResponse':{'name':'f','response':{'error':'no'}}}"));
}

/* A name begins with a letter or an underscore here: the others get one, and so does what would then look like them. */
static void test_names(void) {
#define NAMED(id, name) "{'type':'tool_use','id':'" id "','name':'" name "','arguments':{}}"
#define OUT_NAMED(name, more) "{'functionCall':{'name':'" name "','args':{}}" more "}"
#define ANSWERED(name) "{'functionResponse':{'name':'" name "','response':{'output':'ok'}}}"
#define SENTINEL ",'thoughtSignature':'skip_thought_signature_validator'"
  SETS(NULL, "'tools':[{'name':'3d'},{'name':'-x'},{'name':'_3d'},{'name':'_a'},{'name':'_'}],"
       "'tool_choice':{'type':'tool','name':'3d'},",
       "'tools':[{'functionDeclarations':[{'name':'_3d'},{'name':'_-x'},{'name':'__3d'},{'name':'_a'},{'name':'_'}]}],"
       "'toolConfig':{'functionCallingConfig':{'mode':'ANY','allowedFunctionNames':['_3d']}},");
  CONTENTS(HI "," ASSISTANT("[" NAMED("a", "1abc") "," NAMED("b", "_9") "," NAMED("c", ".x") "]") ","
           USER("[" RESULT("a", "'ok'") "," RESULT("b", "'ok'") "," RESULT("c", "'ok'") "]"),
           HI_OUT "," MODEL(OUT_NAMED("_1abc", SENTINEL) "," OUT_NAMED("__9", "") "," OUT_NAMED("_x", "")) ","
           TURN(ANSWERED("_1abc") "," ANSWERED("__9") "," ANSWERED("_x")));
  CONTENTS_OF(OLD, HI "," ASSISTANT("[" NAMED("a", "1a") "]") "," USER("[" RESULT("a", "[" TEXT("ok") "," PNG "]") "]"),
              HI_OUT "," MODEL(OUT_NAMED("_1a", "")) "," TURN(ANSWERED("_1a") "," PART("Result of _1a:") "," PNG_OUT), "");
}

static void test_media(void) {
  CONTENTS(USER("[" PNG ",{'type':'image','source':'data:image/gif;base64,R0lG'},{'type':'document',"
                "'source':'https://x.example/a.PDF?b=c'},{'type':'document','source':'gs://b/c','media_type':'text/plain'},"
                "{'type':'document','source':'https://youtu.be/x'}]"),
           TURN(PNG_OUT ",{'inlineData':{'mimeType':'image/gif','data':'R0lG'}},"
                "{'fileData':{'mimeType':'application/pdf','fileUri':'https://x.example/a.PDF?b=c'}},"
                "{'fileData':{'mimeType':'text/plain','fileUri':'gs://b/c'}},"
                "{'fileData':{'fileUri':'https://youtu.be/x'}}"));
  REFUSES(NULL, USER("[{'type':'image','source':'https://x.example/a'}]"), "messages[1].content[1].media_type");
  REFUSES(NULL, USER("[{'type':'image','source':'AAAA'}]"), "messages[1].content[1].media_type");
  REFUSES(NULL, USER("[{'type':'image','source':'data:image/png,AAAA'}]"), "messages[1].content[1].source");
  /* In a result: inside it, or behind all results with a word whose it is. */
  CONTENTS(HI "," ASSISTANT("[" CALLS("a", "") "," CALLS("b", "") "]") ","
           USER("[" RESULT("a", "[" PNG ",{'type':'image','source':'AAAA','media_type':'image/gif'}]") ","
                RESULT("b", "'B'") "]"),
           HI_OUT "," MODEL(UNSIGNED "," CALL) ","
           TURN("{'functionResponse':{'name':'f','response':{'output':''},'parts':[" PNG_OUT "]}}," OUTPUT("B") ","
                PART("Result of f:") ",{'inlineData':{'mimeType':'image/gif','data':'AAAA'}}"));
  CONTENTS_OF(OLD, HI "," ASSISTANT("[" CALLS("a", "") "]") "," USER("[" RESULT("a", "[" PNG "]") "]"),
              HI_OUT "," MODEL(CALL) "," TURN(OUTPUT("") "," PART("Result of f:") "," PNG_OUT), "");
}

static void expect_model(int line, const char *model, const char *more, const char *path) {
  static struct result r;
  struct mem m = mem_libc();
  char request[256];
  snprintf(request, sizeof request, "{'model':'%s',%s'messages':[" HI "]}", model, more);
  CHECK(run(NULL, request, 0, &m, &r) == 0);
  test_str(__FILE__, line, r.path, strlen(r.path), path);
}

static void test_paths(void) {
  expect_path(__FILE__, __LINE__, NULL, 0, "/models/m:generateContent");
  expect_path(__FILE__, __LINE__, NULL, 1, "/models/m:countTokens");
  expect_model(__LINE__, "m", "'stream':true,", "/models/m:streamGenerateContent?alt=sse");
  expect_model(__LINE__, "tunedModels/x-1", "", "/tunedModels/x-1:generateContent");
  expect_model(__LINE__, "a b?c:d#", "", "/models/a%20b%3Fc%3Ad%23:generateContent");
}

/* A segment that a client of HTTP folds would leave the API's path. */
static void test_folded_paths(void) {
  static const char *const FOLDED[] = { "..", ".", "a/../../b", "../../v1/x", "models/..", "models/./x" };
  char request[128];
  for (size_t i = 0; i < sizeof FOLDED / sizeof *FOLDED; i++) {
    snprintf(request, sizeof request, "{'model':'%s','messages':[" HI "]}", FOLDED[i]);
    expect_error(__FILE__, __LINE__, NULL, request, "model");
  }
  expect_model(__LINE__, "%2e%2E/x", "", "/%252e%252E/x:generateContent");
  expect_model(__LINE__, ".../..a", "", "/.../..a:generateContent");
}

static void expect_count(int line, const char *quirks, const char *body) {
  static const char REQUEST[] = "{'model':'m','max_tokens':5,'system':'s','extra':{'z':1,'safetySettings':[]},"
                                "'tools':[{'name':'f','strict':true}],'metadata':{'a':'b'},'messages':[" HI "]}";
  static struct result r;
  struct mem m = mem_libc();
  CHECK(run(quirks, REQUEST, 1, &m, &r) == 0);
  test_str(__FILE__, line, r.body, strlen(r.body), json(body));
  run_failing(__FILE__, line, quirks, REQUEST, 1, &r);
}

#define COUNTED(config) \
  "'systemInstruction':{'parts':[" PART("s") "]},'tools':[{'functionDeclarations':[{'name':'f'}]}]," config \
  "'contents':[" HI_OUT "]}"

#define SETTINGS "'generationConfig':{'maxOutputTokens':5},"

static void test_count(void) {
  expect_count(__LINE__, NULL, "{'generateContentRequest':{'model':'models/m'," SETTINGS "'safetySettings':[],"
               COUNTED("'toolConfig':{'functionCallingConfig':{'mode':'VALIDATED'}},") "}");
  expect_count(__LINE__, "{'plain_count':true}", "{" SETTINGS COUNTED(""));
}

int main(void) {
  test_order();
  test_settings();
  test_sampling();
  test_thinking();
  test_tools();
  test_history();
  test_calls();
  test_names();
  test_media();
  test_paths();
  test_folded_paths();
  test_count();
  expect_prefix();
  return test_done("codec/gemini/render");
}
