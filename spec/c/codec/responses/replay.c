/* replay.c: the bytes of what goes back as it came: reasoning, items without a canonical form, joined calls. */
#include "requests.h"
#include "core/codec/responses/responses.h"

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

/* Bytes that are no UTF-8 are repaired on their way. */
static void test_unclean(void) {
  struct rendering s;
  struct node *block, *raw;
  open_request(&s, "{'model':'m','messages':[" HI ","
                 ASSISTANT("[{'type':'opaque','kind':'k'," MINE("") "}]") "," HI "]}");
  block = node_get(node_get(s.r.request, "messages")->child->next, "content")->child;
  raw = node_string(&s.a, STR("{\"type\": \"\xFF\"}"));
  CHECK(node_set(node_get(block, "provider_data"), STR("raw"), raw) == 0);
  CHECK(codec_responses.render(&s.r, &s.e) == 0);
  CHECK_STR(s.body.p, s.body.n, json("{'model':'m'," ASKED "'input':[" HI ",{'type':'\xEF\xBF\xBD'}," HI "]}"));
  rendering_close(&s);
}

/* Reasoning that a provider may be unable to open, and how it says so. */
static void test_encrypted(void) {
  static const struct { const char *message; unsigned remedies; } CASES[] = {
    { ASSISTANT("[" THINKING(ENCRYPTED) "," TEXT("a") "]"), REMEDY_REASONING | REMEDY_ENCRYPTED },
    { ASSISTANT("[" THINKING("{\\'type\\':\\'reasoning\\',\\'content\\':[{\\'type\\':\\'reasoning_text\\',\\'text\\':\\'t\\'}]}") ","
                TEXT("a") "]"), REMEDY_ENCRYPTED },
    { ASSISTANT("[{'type':'thinking','thinking':'t'}," TEXT("a") "]"), REMEDY_ENCRYPTED },
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    char request[4096];
    struct rendering s;
    snprintf(request, sizeof request, "{'model':'m','messages':[" HI ",%s," HI "]}", CASES[i].message);
    open_request(&s, request);
    CHECK(codec_responses.render(&s.r, &s.e) == 0);
    CHECK(s.r.remedies == CASES[i].remedies);
    rendering_close(&s);
  }
}

/* Blocks from the same model of the same provider over another wire are not this wire's. */
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
  /* The result of a custom tool's call is the caller's to write. */
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

int main(void) {
  test_reasoning();
  test_unclean();
  test_encrypted();
  test_wires();
  test_parts();
  test_opaque();
  test_parallel();
  return test_done("codec/responses/replay");
}
