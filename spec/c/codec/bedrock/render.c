/* render.c: canonical requests as bodies and paths of Converse, by family of the model, and that every allocation may
** fail. */
#define CODEC codec_bedrock
#include "codec/render.h"

#define CLAUDE "{'family':'claude'}"
#define NOVA "{'family':'nova'}"
#define LLAMA "{'family':'llama'}"
#define OUT_HI "{'role':'user','content':[{'text':'hi'}]}"
#define SEQUENCES "'additionalModelResponseFieldPaths':['/delta/stop_sequence','/stop_sequence'],"
#define REQUEST(members, messages) "{'model':'m'," members "'messages':[" messages "]}"
#define EXPECT(quirks, request, body, warnings) expect(__FILE__, __LINE__, quirks, request, body, warnings)
/* Fields before the messages; messages alone. */
#define FIELDS(quirks, members, fields, warnings) \
  EXPECT(quirks, REQUEST(members, HI), "{" fields "'messages':[" OUT_HI "]}", warnings)
#define MESSAGES(quirks, in, out) EXPECT(quirks, REQUEST("", in), "{'messages':[" out "]}", "")
#undef USER
#define USER(content) "{'role':'user','content':[" content "]}"
#undef ASSISTANT
#define ASSISTANT(content) "{'role':'assistant','content':[" content "]}"
#undef TEXT
#define TEXT(s) "{'type':'text','text':'" s "'}"
#define CALL(id, name) "{'type':'tool_use','id':'" id "','name':'" name "','arguments':{'a':1}}"
#undef RESULT
#define RESULT(id, more) "{'type':'tool_result','tool_use_id':'" id "'" more "}"
#define OUT_CALL(id, name) "{'toolUse':{'toolUseId':'" id "','name':'" name "','input':{'a':1}}}"
#define OUT_RESULT(id, content, more) "{'toolResult':{'toolUseId':'" id "','content':[" content "]" more "}}"
#define TOOLS(tools) "'toolConfig':{'tools':[" tools "]}"
#define RECALLED(name) "{'toolSpec':{'name':'" name "','inputSchema':{'json':{'type':'object'}}}}"
#undef MINE
#define MINE(raw) "'provider_data':{'provider':'here','model':'m','wire':'bedrock','raw':" raw "}"

static void path_of(const char *model, int stream, const char *path) {
  static struct result r;
  struct mem m = mem_libc();
  char request[512];
  snprintf(request, sizeof request, "{'model':'%s','stream':%s,'messages':[" HI "]}", model, stream ? "true" : "false");
  CHECK(run(NULL, request, 0, &m, &r) == 0);
  CHECK_STR(r.path, strlen(r.path), path);
}

static void test_path(void) {
  path_of("amazon.nova-lite-v1:0", 0, "/model/amazon.nova-lite-v1%3A0/converse");
  path_of("amazon.nova-lite-v1:0", 1, "/model/amazon.nova-lite-v1%3A0/converse-stream");
  path_of("a/b c\xC3\xA9~_.-", 0, "/model/a%2Fb%20c%C3%A9~_.-/converse");
  path_of("../b", 0, "/model/..%2Fb/converse");
  expect_error(__FILE__, __LINE__, NULL, "{'model':'..','messages':[" HI "]}", "model");
  expect_error(__FILE__, __LINE__, NULL, "{'model':'.','messages':[" HI "]}", "model");
}

static void test_settings(void) {
  FIELDS(NULL, "'stream':true,'max_tokens':9,'temperature':0.5,'top_p':0.25,'stop_sequences':['a','  '],"
         "'metadata':{'b':'2','a':'1','n':3},'system':'be brief','extra':{'serviceTier':{'type':'flex'},'stream':false},",
         "'inferenceConfig':{'maxTokens':9,'temperature':0.5,'topP':0.25,'stopSequences':['a']},"
         "'requestMetadata':{'a':'1','b':'2'},'system':[{'text':'be brief'}],'serviceTier':{'type':'flex'},",
         "stop_sequences,metadata,extra.stream");
  FIELDS(CLAUDE, "'temperature':1,'top_p':1,", "'inferenceConfig':{'temperature':1}," SEQUENCES, "top_p");
  FIELDS("{'no_sampling':true}", "'temperature':1,", "", "temperature");
  FIELDS("{'system_role':'user'}", "", "", "");
  EXPECT("{'system_role':'user'}", REQUEST("'system':'s',", HI),
         "{'messages':[{'role':'user','content':[{'text':'s'},{'text':'hi'}]}]}", "");
}

static void test_thinking(void) {
  FIELDS(CLAUDE, "'thinking':{'budget_tokens':2000},'max_tokens':1000,'temperature':1,",
         "'inferenceConfig':{'maxTokens':6096},'additionalModelRequestFields':{'thinking':{'budget_tokens':2000,"
         "'type':'enabled'}}," SEQUENCES, "temperature");
  FIELDS(CLAUDE, "'thinking':{'budget_tokens':2000},",
         "'additionalModelRequestFields':{'thinking':{'budget_tokens':2000,'type':'enabled'}}," SEQUENCES, "");
  FIELDS(CLAUDE, "'thinking':'low','thinking_mode':'adaptive',",
         "'additionalModelRequestFields':{'output_config':{'effort':'low'},'thinking':{'type':'adaptive'}}," SEQUENCES, "");
  FIELDS("{'family':'nova2'}", "'thinking':'medium','max_tokens':5,",
         "'inferenceConfig':{'maxTokens':5},'additionalModelRequestFields':{'reasoningConfig':"
         "{'maxReasoningEffort':'medium','type':'enabled'}},", "");
  FIELDS("{'family':'nova2'}", "'thinking':'high','max_tokens':5,'top_p':1,",
         "'additionalModelRequestFields':{'reasoningConfig':{'maxReasoningEffort':'high','type':'enabled'}},",
         "max_tokens,top_p");
  FIELDS("{'family':'gpt_oss'}", "'thinking':{'budget_tokens':100},",
         "'additionalModelRequestFields':{'reasoning_effort':'low'},", "thinking");
  FIELDS("{'family':'gpt_oss'}", "'thinking':false,", "", "");
  FIELDS(LLAMA, "'thinking':'low',", "", "thinking");
  FIELDS(LLAMA, "'thinking':false,", "", "");
}

/* top_k, betas and what the caller has for the model. */
static void test_more(void) {
  FIELDS(CLAUDE, "'extra':{'top_k':5},'betas':['a','b'],",
         "'additionalModelRequestFields':{'anthropic_beta':['a','b'],'top_k':5}," SEQUENCES, "");
  FIELDS(CLAUDE, "'top_k':5,", "'additionalModelRequestFields':{'top_k':5}," SEQUENCES, "");
  FIELDS(CLAUDE, "'top_k':5,'extra':{'top_k':6},", "'additionalModelRequestFields':{'top_k':5}," SEQUENCES, "extra.top_k");
  FIELDS(CLAUDE, "'top_k':5,'thinking':{'budget_tokens':2000},",
         "'additionalModelRequestFields':{'thinking':{'budget_tokens':2000,'type':'enabled'}}," SEQUENCES, "top_k");
  FIELDS("{'family':'claude','no_sampling':true}", "'top_k':5,", SEQUENCES, "top_k");
  FIELDS(NOVA, "'top_k':5,", "'additionalModelRequestFields':{'inferenceConfig':{'topK':5}},", "");
  FIELDS(LLAMA, "'top_k':5,", "", "top_k");
  FIELDS(NULL, "'top_k':5,'extra':{'top_k':6},", "'additionalModelRequestFields':{'top_k':6},", "top_k");
  FIELDS(NOVA, "'extra':{'top_k':5},'betas':['a'],", "'additionalModelRequestFields':{'inferenceConfig':{'topK':5}},", "betas");
  FIELDS(NULL, "'extra':{'top_k':5,'additionalModelRequestFields':{'top_k':6,'x':{'y':1}}},",
         "'additionalModelRequestFields':{'top_k':5,'x':{'y':1}},", "extra.additionalModelRequestFields.top_k");
  FIELDS("{'family':'nova2'}", "'extra':{'additionalModelRequestFields':{'reasoningConfig':{'x':1,'type':'disabled'}}},"
         "'thinking':'low',",
         "'additionalModelRequestFields':{'reasoningConfig':{'maxReasoningEffort':'low','type':'enabled','x':1}},",
         "extra.additionalModelRequestFields.reasoningConfig.type");
  FIELDS(CLAUDE, "'thinking':{'budget_tokens':2000},'extra':{'additionalModelRequestFields':{'thinking':{'type':'disabled'}}},",
         "'additionalModelRequestFields':{'thinking':{'budget_tokens':2000,'type':'enabled'}}," SEQUENCES,
         "extra.additionalModelRequestFields.thinking");
  FIELDS(NULL, "'max_tokens':9,'extra':{'inferenceConfig':{'temperature':0.5,'maxTokens':1,'x':2}},",
         "'inferenceConfig':{'maxTokens':9,'temperature':0.5,'x':2},", "extra.inferenceConfig.maxTokens");
  FIELDS(NULL, "'extra':{'inferenceConfig':{'temperature':0.5}},", "'inferenceConfig':{'temperature':0.5},", "");
  expect_error(__FILE__, __LINE__, NULL, REQUEST("'extra':{'additionalModelRequestFields':7},", HI),
               "extra.additionalModelRequestFields");
}

/* One call at a time: Claude is told so beside the choice of a tool, which may be said once only. */
static void test_parallel(void) {
#define ONE_TOOL "{'toolSpec':{'name':'f','inputSchema':{'json':{'properties':{},'type':'object'}}}}"
#define WITH(choice, parallel) "'tools':[{'name':'f'}]," choice "'extra':{'parallel_tool_calls':" parallel "},"
#define TOLD(choice) "'additionalModelRequestFields':{'tool_choice':" choice "}," SEQUENCES
#define SINGLE "{'disable_parallel_tool_use':true}"
  FIELDS(CLAUDE, WITH("", "false"), TOLD("{'disable_parallel_tool_use':true,'type':'auto'}") TOOLS(ONE_TOOL) ",", "");
  FIELDS(CLAUDE, WITH("'tool_choice':'auto',", "false"),
         TOLD("{'disable_parallel_tool_use':true,'type':'auto'}") TOOLS(ONE_TOOL) ",", "");
  FIELDS(CLAUDE, WITH("'tool_choice':'any',", "false"),
         TOLD(SINGLE) "'toolConfig':{'tools':[" ONE_TOOL "],'toolChoice':{'any':{}}},", "");
  FIELDS(CLAUDE, WITH("'tool_choice':{'type':'tool','name':'f'},", "false"),
         TOLD(SINGLE) "'toolConfig':{'tools':[" ONE_TOOL "],'toolChoice':{'tool':{'name':'f'}}},", "");
  FIELDS(CLAUDE, "'tools':[{'name':'f'}],'extra':{'parallel_tool_calls':false,'additionalModelRequestFields':{'tool_choice':"
         "{'type':'none'}}},", TOLD("{'disable_parallel_tool_use':true,'type':'none'}") TOOLS(ONE_TOOL) ",", "");
  /* Nothing to tell: it is the default, or there are no tools. */
  FIELDS(CLAUDE, WITH("", "true"), SEQUENCES TOOLS(ONE_TOOL) ",", "");
  FIELDS(CLAUDE, "'extra':{'parallel_tool_calls':false},", SEQUENCES, "");
  FIELDS(NOVA, WITH("", "true"), TOOLS(ONE_TOOL) ",", "");
  /* Others cannot be told. */
  FIELDS(NOVA, WITH("", "false"), TOOLS(ONE_TOOL) ",", "extra");
  FIELDS(NULL, WITH("", "false"), TOOLS(ONE_TOOL) ",", "extra");
  FIELDS(LLAMA, "'extra':{'parallel_tool_calls':7},", "'parallel_tool_calls':7,", "");
}

#define TOOL "{'name':'f','description':'','parameters':{'type':'object','properties':{}},'strict':true}"
#define OUT_TOOL "{'toolSpec':{'name':'f','inputSchema':{'json':{'properties':{},'type':'object'}},'strict':true}}"

static void test_tools(void) {
  FIELDS(NULL, "'tools':[" TOOL ",{'name':'g','description':'d'}],",
         TOOLS(OUT_TOOL ",{'toolSpec':{'name':'g','description':'d','inputSchema':{'json':{'properties':{},"
               "'type':'object'}}}}") ",", "");
  FIELDS(CLAUDE, "'tools':[" TOOL "],'tool_choice':'any',",
         SEQUENCES "'toolConfig':{'tools':[" OUT_TOOL "],'toolChoice':{'any':{}}},", "");
  FIELDS(CLAUDE, "'tools':[" TOOL "],'tool_choice':{'type':'tool','name':'f'},",
         SEQUENCES "'toolConfig':{'tools':[" OUT_TOOL "],'toolChoice':{'tool':{'name':'f'}}},", "");
  FIELDS(CLAUDE, "'tools':[" TOOL "],'tool_choice':'none',", SEQUENCES TOOLS(OUT_TOOL) ",", "tool_choice");
  FIELDS(CLAUDE, "'tools':[" TOOL "],'tool_choice':'auto',", SEQUENCES TOOLS(OUT_TOOL) ",", "");
  FIELDS(LLAMA, "'tools':[" TOOL "],'tool_choice':'any',", TOOLS(OUT_TOOL) ",", "tool_choice");
  FIELDS(NULL, "'tool_choice':'any',", "", "tool_choice");
  FIELDS("{'no_strict':true,'no_additional_properties':true}",
         "'tools':[{'name':'f','strict':true,'parameters':{'additionalProperties':false}}],",
         TOOLS("{'toolSpec':{'name':'f','inputSchema':{'json':{'properties':{},'type':'object'}}}}") ",", "");
  FIELDS(NULL, "'tools':[{'type':'systemTool','name':'nova_grounding'}],", TOOLS("{'systemTool':{'name':'nova_grounding'}}") ",",
         "");
  expect_error(__FILE__, __LINE__, NULL, REQUEST("'tools':[{'type':'web_search','name':'x'}],", HI), "tools[1].type");
}

static void test_calls(void) {
#define TURN(results) HI "," ASSISTANT(CALL("t1", "f") "," CALL("t2", "e")) "," USER(results)
#define OUT_TURN(results) OUT_HI ",{'role':'assistant','content':[" OUT_CALL("t1", "f") "," OUT_CALL("t2", "e") "]}," USER(results)
#define RECALL TOOLS(RECALLED("e") "," RECALLED("f")) ","
#define RESULTS(quirks, fields, in, out) \
  EXPECT(quirks, REQUEST("", TURN(in)), "{" fields RECALL "'messages':[" OUT_TURN(out) "]}", "")
  /* Tools called before are there again; a result has content. */
  RESULTS(NULL, "", RESULT("t2", ",'content':'two'") "," RESULT("t1", ",'content':''"),
          OUT_RESULT("t1", "{'text':'(no output)'}", "") "," OUT_RESULT("t2", "{'text':'two'}", ""));
  RESULTS(CLAUDE, SEQUENCES, RESULT("t1", ",'content':[],'is_error':true") "," RESULT("t2", ",'content':[" TEXT(" ") "]"),
          OUT_RESULT("t1", "{'text':'(no output)'}", ",'status':'error'") ","
          OUT_RESULT("t2", "{'text':'(no output)'}", ""));
  RESULTS(LLAMA, "", RESULT("t1", ",'content':'bad','is_error':true") ","
          RESULT("t2", ",'content':[{'type':'document','source':'QQ==','media_type':'application/pdf'}],'is_error':true"),
          OUT_RESULT("t1", "{'text':'Error: bad'}", "") ","
          OUT_RESULT("t2", "{'text':'Error:'},{'document':{'format':'pdf','name':'Document 1','source':{'bytes':'QQ=='}}}", ""));
  /* Text beside results: as it is, or in the last of them. */
  RESULTS(NULL, "", TEXT("also") "," RESULT("t1", ",'content':'1'") "," RESULT("t2", ",'content':'2'"),
          OUT_RESULT("t1", "{'text':'1'}", "") "," OUT_RESULT("t2", "{'text':'2'}", "") ",{'text':'also'}");
  RESULTS(LLAMA, "", TEXT("also") "," RESULT("t1", ",'content':'1'") "," RESULT("t2", ",'content':'2'"),
          OUT_RESULT("t1", "{'text':'1'}", "") "," OUT_RESULT("t2", "{'text':'2'},{'text':'also'}", ""));
  /* A document beside results, for Claude. */
  RESULTS(CLAUDE, SEQUENCES, RESULT("t1", ",'content':'1'") "," RESULT("t2", ",'content':''") ","
          "{'type':'document','source':'QQ==','media_type':'text/csv','title':'a.csv'}",
          OUT_RESULT("t1", "{'text':'1'}", "") ","
          OUT_RESULT("t2", "{'document':{'format':'csv','name':'a csv','source':{'bytes':'QQ=='}}}", ""));
  /* Of who wants results alone: into the last one, with the text that a document wants beside it. */
#define CSV "{'document':{'format':'csv','name':'a csv','source':{'bytes':'QQ=='}}}"
  RESULTS(LLAMA, "", RESULT("t1", ",'content':'1'") "," RESULT("t2", ",'content':''") ","
          "{'type':'document','source':'QQ==','media_type':'text/csv','title':'a.csv'}",
          OUT_RESULT("t1", "{'text':'1'}", "") "," OUT_RESULT("t2", CSV ",{'text':'.'}", ""));
  RESULTS("{'family':'mistral_large'}", "", RESULT("t1", ",'content':'1'") "," RESULT("t2", ",'content':'2'") ","
          "{'type':'document','source':'QQ==','media_type':'text/csv','title':'a.csv'}," TEXT("also"),
          OUT_RESULT("t1", "{'text':'1'}", "") "," OUT_RESULT("t2", "{'text':'2'}," CSV ",{'text':'also'}", ""));
  /* An image in a result, where the model takes none there. */
#define PICTURE "{'type':'image','source':'data:image/png;base64,QQ=='}"
#define OUT_PICTURE "{'image':{'format':'png','source':{'bytes':'QQ=='}}}"
  RESULTS(NOVA, "", RESULT("t1", ",'content':[" PICTURE "]") "," RESULT("t2", ",'content':'2'"),
          OUT_RESULT("t1", OUT_PICTURE, "") "," OUT_RESULT("t2", "{'text':'2'}", ""));
  EXPECT(NULL, REQUEST("", TURN(RESULT("t1", ",'content':[" PICTURE "]") "," RESULT("t2", ",'content':'2'"))),
         "{" RECALL "'messages':[" OUT_TURN(OUT_RESULT("t1", "{'text':'(no output)'}", "") ","
         OUT_RESULT("t2", "{'text':'2'}", "") "," OUT_PICTURE) "]}", "messages");
}

static void test_ids(void) {
#define LONG "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm"
  static struct result r;
  struct mem m = mem_libc();
  const char *first, *second;
  EXPECT(NULL, REQUEST("", HI "," ASSISTANT(CALL("a.b:c-d_e/f", "f.g")) "," USER(RESULT("a.b:c-d_e/f", ",'content':'1'"))),
         "{" TOOLS(RECALLED("f_g")) ",'messages':[" OUT_HI ",{'role':'assistant','content':[" OUT_CALL("a.b:c-d_e_f", "f_g")
         "]}," USER(OUT_RESULT("a.b:c-d_e_f", "{'text':'1'}", "")) "]}", "");
  CHECK(run(NULL, REQUEST("", HI "," ASSISTANT(CALL(LONG, "f")) "," USER(RESULT(LONG, ",'content':'1'"))), 0, &m, &r) == 0);
  first = strstr(r.body, "toolUseId");
  second = first != NULL ? strstr(first + 1, "toolUseId") : NULL;
  CHECK(second != NULL && strncmp(first, second, 12 + 64 + 1) == 0 && first[12 + 64] == '"');
  CHECK(run("{'tool_id':'alnum9'}", REQUEST("", HI "," ASSISTANT(CALL("a.b", "f")) "," USER(RESULT("a.b", ",'content':'1'"))),
            0, &m, &r) == 0);
  CHECK((first = strstr(r.body, "toolUseId")) != NULL && first[12 + 9] == '"');
}

static void test_messages(void) {
  MESSAGES(NULL, "{'role':'assistant','content':'a'}," HI,
           "{'role':'user','content':[{'text':'.'}]},{'role':'assistant','content':[{'text':'a'}]}," OUT_HI);
  MESSAGES(NULL, HI "," HI ",{'role':'assistant','content':'a '}",
           "{'role':'user','content':[{'text':'hi'},{'text':'hi'}]},{'role':'assistant','content':[{'text':'a'}]}");
  expect_error(__FILE__, __LINE__, "{'no_prefill':true}", REQUEST("", HI ",{'role':'assistant','content':'a'}"),
               "messages[2]");
  /* Refusals are text; bytes that are no UTF-8. */
  MESSAGES(NULL, HI "," ASSISTANT("{'type':'refusal','text':'no'}") "," USER(TEXT("a\xFF")),
           OUT_HI ",{'role':'assistant','content':[{'text':'no'}]},{'role':'user','content':[{'text':'a\xEF\xBF\xBD'}]}");
}

static void test_reasoning(void) {
#define THOUGHT(more) "{'type':'thinking','thinking':'t'," more "}"
#define REPLY(block) HI "," ASSISTANT(block "," TEXT("a")) "," HI
#define OUT_REPLY(block) OUT_HI ",{'role':'assistant','content':[" block "{'text':'a'}]}," OUT_HI
  EXPECT(CLAUDE, REQUEST("", REPLY(THOUGHT("'signature':'s'," MINE("null")))),
         "{" SEQUENCES "'messages':[" OUT_REPLY("{'reasoningContent':{'reasoningText':{'text':'t','signature':'s'}}},") "]}", "");
  /* Without a signature, from elsewhere, to a model that does not reason. */
  EXPECT(CLAUDE, REQUEST("", REPLY(THOUGHT(MINE("null")))), "{" SEQUENCES "'messages':[" OUT_REPLY("") "]}", "");
  EXPECT(CLAUDE, REQUEST("", REPLY(THOUGHT("'signature':'s'"))), "{" SEQUENCES "'messages':[" OUT_REPLY("") "]}", "");
  MESSAGES(LLAMA, REPLY(THOUGHT("'signature':'s'," MINE("null"))), OUT_REPLY(""));
  MESSAGES("{'family':'gpt_oss'}", REPLY(THOUGHT(MINE("null"))),
           OUT_REPLY("{'reasoningContent':{'reasoningText':{'text':'t'}}},"));
  EXPECT(CLAUDE, REQUEST("", REPLY("{'type':'redacted_thinking','data':'Zg=='," MINE("null") "}")),
         "{" SEQUENCES "'messages':[" OUT_REPLY("{'reasoningContent':{'redactedContent':'Zg=='}},") "]}", "");
  MESSAGES(NULL, REPLY("{'type':'opaque'," MINE("'{\\'guardContent\\':{\\'b\\':1,\\'a\\':2}}'") "}"),
           OUT_REPLY("{'guardContent':{'b':1,'a':2}},"));
  MESSAGES(NULL, REPLY("{'type':'opaque'," MINE("'[]'") "}"), OUT_REPLY(""));
}

static void test_media(void) {
#define DOCUMENT(more) "{'type':'document','source':'QQ==','media_type':'application/pdf'" more "}"
#define OUT_DOCUMENT(name, more) "{'document':{'format':'pdf','name':'" name "','source':{'bytes':'QQ=='}" more "}}"
  MESSAGES(NULL, USER(DOCUMENT("")), USER(OUT_DOCUMENT("Document 1", "") ",{'text':'.'}"));
  MESSAGES(NULL, USER(DOCUMENT(",'title':' a/b..c ','context':'x','citations':{'enabled':true}") "," DOCUMENT(",'title':'a b c'")
                      "," DOCUMENT("") "," DOCUMENT(",'title':'\xC3\xA9'") "," TEXT("t")),
           USER(OUT_DOCUMENT("a b c", ",'context':'x','citations':{'enabled':true}") "," OUT_DOCUMENT("a b c 3", "") ","
                OUT_DOCUMENT("Document 3", "") "," OUT_DOCUMENT("Document 4", "") ",{'text':'t'}"));
  MESSAGES(NULL, USER("{'type':'image','source':'s3://b/k','media_type':'image/webp'}"),
           USER("{'image':{'format':'webp','source':{'s3Location':{'uri':'s3://b/k'}}}}"));
  MESSAGES(NULL, USER("{'type':'document','source':'data:text/plain;charset=x;base64,QQ=='}," TEXT("t")),
           USER("{'document':{'format':'txt','name':'Document 1','source':{'bytes':'QQ=='}}},{'text':'t'}"));
#undef REFUSES
#define REFUSES(quirks, block, field) expect_error(__FILE__, __LINE__, quirks, REQUEST("", USER(block)), field)
  REFUSES(NULL, "{'type':'image','source':'https://x/y.png'}", "messages[1].content[1].source");
  REFUSES(NULL, "{'type':'image','source':'QQ==','media_type':'image/bmp'}", "messages[1].content[1].media_type");
  REFUSES(NULL, "{'type':'document','source':'QQ==','media_type':'application/zip'}", "messages[1].content[1].media_type");
  REFUSES("{'no_images':true}", "{'type':'image','source':'QQ==','media_type':'image/png'}", "messages[1].content[1]");
  REFUSES("{'no_documents':true}", DOCUMENT(""), "messages[1].content[1]");
}

static void test_cache(void) {
#define POINT "{'cachePoint':{'type':'default'}}"
#define HOUR "{'cachePoint':{'type':'default','ttl':'1h'}}"
#define MARK ",'cache_control':{'type':'ephemeral'}"
#define KEPT(words) "'cache_retention':'" words "','system':'s','tools':[{'name':'f'}],"
#define OUT_F "{'toolSpec':{'name':'f','inputSchema':{'json':{'properties':{},'type':'object'}}}}"
  EXPECT(CLAUDE, REQUEST(KEPT("short"), HI), "{" SEQUENCES "'system':[{'text':'s'}," POINT "]," TOOLS(OUT_F "," POINT)
         ",'messages':[{'role':'user','content':[{'text':'hi'}," POINT "]}]}", "");
  EXPECT(CLAUDE, REQUEST(KEPT("long"), HI), "{" SEQUENCES "'system':[{'text':'s'}," HOUR "]," TOOLS(OUT_F "," HOUR)
         ",'messages':[{'role':'user','content':[{'text':'hi'}," HOUR "]}]}", "");
  EXPECT(NOVA, REQUEST(KEPT("long"), HI), "{'system':[{'text':'s'}," POINT "]," TOOLS(OUT_F)
         ",'messages':[{'role':'user','content':[{'text':'hi'}," POINT "]}]}", "");
  EXPECT(LLAMA, REQUEST(KEPT("short"), USER("{'type':'text','text':'hi'" MARK "}")),
         "{'system':[{'text':'s'}]," TOOLS(OUT_F) ",'messages':[" OUT_HI "]}", "");
  /* At most four, the oldest give way. */
#define MARKED "{'type':'text','text':'x'" MARK "}"
#define OUT_MARKED "{'text':'x'}," POINT
  MESSAGES(NOVA, USER(MARKED "," MARKED "," MARKED "," MARKED "," MARKED),
           USER("{'text':'x'}," OUT_MARKED "," OUT_MARKED "," OUT_MARKED "," OUT_MARKED));
  /* None behind a document. */
  MESSAGES(NOVA, USER(TEXT("a") "," DOCUMENT(MARK) "," TEXT("b")),
           USER("{'text':'a'}," POINT "," OUT_DOCUMENT("Document 1", "") ",{'text':'b'}"));
  MESSAGES(NOVA, USER(DOCUMENT(MARK)), USER(OUT_DOCUMENT("Document 1", "") ",{'text':'.'}," POINT));
}

static void test_count(void) {
  static struct result r;
  struct mem m = mem_libc();
  CHECK(run(NULL, REQUEST("'max_tokens':5,'stream':true,'system':'s','tools':[{'name':'f'}],", HI), 1, &m, &r) == 0);
  CHECK_STR(r.path, strlen(r.path), "/model/m/count-tokens");
  CHECK_STR(r.body, strlen(r.body),
            json("{'input':{'converse':{'system':[{'text':'s'}]," TOOLS(OUT_F) ",'messages':[" OUT_HI "]}}}"));
}

int main(void) {
  test_path();
  test_settings();
  test_thinking();
  test_more();
  test_parallel();
  test_tools();
  test_calls();
  test_ids();
  test_messages();
  test_reasoning();
  test_media();
  test_cache();
  test_count();
  expect_prefix();
  expect_path(__FILE__, __LINE__, NULL, 0, "/model/m/converse");
  return test_done("codec/bedrock/render");
}
