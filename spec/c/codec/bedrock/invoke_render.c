/* invoke_render.c: canonical requests as bodies and paths of Claude through invoke, and that every allocation may fail. */
#define CODEC codec_bedrock_invoke
#include "codec/render.h"

#define REQUEST(members, messages) "{'model':'m'," members "'messages':[" messages "]}"
#define OUT_HI "{'role':'user','content':[{'type':'text','text':'hi'}]}"
#define VERSION "'anthropic_version':'bedrock-2023-05-31',"
#define FIELDS(members, fields, warnings) \
  expect(__FILE__, __LINE__, NULL, REQUEST(members, HI), "{" VERSION fields "'messages':[" OUT_HI "]}", warnings)
#define MAX "'max_tokens':8192,"
#define OF_WIRE(wire) "'provider_data':{'provider':'here','model':'m','wire':'" wire "','raw':" RAW "}"
#define RAW "{'type':'thinking','thinking':'t','signature':'s'}"
#define THOUGHT(wire) ASSISTANT("[{'type':'thinking','thinking':'t','signature':'s'," OF_WIRE(wire) "}," TEXT("a") "]")

static void test_path(void) {
  static struct result r;
  struct mem m = mem_libc();
  expect_path(__FILE__, __LINE__, NULL, 0, "/model/m/invoke");
  CHECK(run(NULL, "{'model':'us.a:0/b','stream':true,'messages':[" HI "]}", 0, &m, &r) == 0);
  CHECK_STR(r.path, strlen(r.path), "/model/us.a%3A0%2Fb/invoke-with-response-stream");
  expect_error(__FILE__, __LINE__, NULL, "{'model':'..','messages':[" HI "]}", "model");
  CHECK(codec_bedrock_invoke.render_count == NULL);
}

static void test_fields(void) {
  FIELDS("", MAX, "");
  FIELDS("'stream':true,", MAX, ""); /* the path says it */
  FIELDS("'stream':true,'max_tokens':9,'system':'s','betas':['B','a','b'],'extra':{'top_k':3,'anthropic_beta':['x']},",
         "'anthropic_beta':['b','a'],'max_tokens':9,'system':'s','top_k':3,", "extra.anthropic_beta");
  FIELDS("'extra':{'anthropic_version':'x'},", MAX, "extra.anthropic_version");
  FIELDS("'extra':{'anthropic_beta':['x']},", MAX "'anthropic_beta':['x'],", "");
}

static void test_messages(void) {
#define MESSAGES(in, out) expect(__FILE__, __LINE__, NULL, REQUEST("", in), "{" VERSION MAX "'messages':[" out "]}", "")
  /* Blocks that Mantle signed do not come back here, those from here do. */
  MESSAGES(HI "," THOUGHT("bedrock_invoke") "," HI, OUT_HI ",{'role':'assistant','content':[" RAW ","
           TEXT("a") "]}," OUT_HI);
  MESSAGES(HI "," THOUGHT("anthropic") "," HI, OUT_HI "," ASSISTANT("[" TEXT("a") "]") "," OUT_HI);
  /* No addresses. */
#define REFUSES_BLOCK(quirks, block, field) \
  expect_error(__FILE__, __LINE__, quirks, REQUEST("", USER("[" block "]")), field)
  REFUSES_BLOCK("{'image_data_only':true}", "{'type':'image','source':'https://x/y.png'}", "messages[1].content[1]");
  REFUSES_BLOCK(NULL, "{'type':'document','source':'https://x/y.pdf'}", "messages[1].content[1]");
}

int main(void) {
  test_path();
  test_fields();
  test_messages();
  expect_prefix();
  return test_done("codec/bedrock/invoke_render");
}
