/* history.c: the bytes of the history: messages, calls, results, media, and what the provider has already. */
#include "requests.h"

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
  ANSWERED(RESULT("c", "[" TEXT("a") "," IMAGE "]"), OUTPUT("c", "[" TEXT_PART("a") "," IMAGE_PART "]"));
  ANSWERED("{'type':'tool_result','tool_use_id':'c','content':[" TEXT("a") "," IMAGE "," TEXT("b") "],'is_error':true}",
           OUTPUT("c", "[" TEXT_PART("Error: a") "," IMAGE_PART "," TEXT_PART("b") "]"));
  ANSWERED("{'type':'tool_result','tool_use_id':'c','content':[" IMAGE "],'is_error':true}",
           OUTPUT("c", "[" TEXT_PART("Error: ") "," IMAGE_PART "]"));
  /* A call without a result goes, and the reasoning that led to it. */
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
            USER("[" RESULT(LONG, "'r'") "]") "]}", 0, &m, &r) == 0);
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

/* Messages that the provider has are not sent again. */
static void test_continued(void) {
  expect(__FILE__, __LINE__, NULL, "{'model':'m','extra':{'store':true,'previous_response_id':'r'},'messages':[" HI ","
         ASSISTANT("[" TEXT("a") "," USE("c", "f") "]") "," USER("[" RESULT("c", "'r'") "," TEXT("b") "]") "]}",
         "{'model':'m','include':['reasoning.encrypted_content'],'previous_response_id':'r','store':true,'input':[" OUTPUT("c", "'r'") "," USER("'b'") "]}", "");
  expect(__FILE__, __LINE__, NULL, "{'model':'m','extra':{'conversation':'c'},'messages':[" HI "]}",
         "{'model':'m'," ASKED "'conversation':'c','input':[" HI "]}", "");
}

static void test_arguments(void) {
  REFUSES(NULL, "", "messages");
  REFUSES(NULL, "{'role':'system','content':'x'}", "messages[1].role");
  REFUSES(NULL, USER("''"), "messages");
}

int main(void) {
  test_messages();
  test_calls();
  test_results();
  test_ids();
  test_media();
  test_continued();
  test_arguments();
  expect_prefix();
  return test_done("codec/responses/history");
}
