/* history.c: the bytes of the history: media, calls, replayed blocks, containers; each allocation fails in turn. */
#include "requests.h"

#define ONE(block) "{'model':'m','messages':[{'role':'user','content':[" block "]}]}"
#define ONE_SENT(block) "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[" block "]}]}"
/* An assistant's blocks between two user messages. */
#define TURN(blocks) "{'model':'m','messages':[{'role':'user','content':'q'},{'role':'assistant','content':[" \
  blocks "]},{'role':'user','content':'go on'}]}"
#define TURN_SENT(blocks) "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text'," \
  "'text':'q'}]},{'role':'assistant','content':[" blocks "]},{'role':'user','content':[{'type':'text'," \
  "'text':'go on'}]}]}"

static void test_media(void) {
  RENDER(ONE("{'type':'image','source':'aGk=','media_type':'image/png','cache_control':{'type':'ephemeral'}}"),
         ONE_SENT("{'type':'image','source':{'type':'base64','media_type':'image/png','data':'aGk='},"
                   "'cache_control':{'type':'ephemeral'}}"));
  RENDER(ONE("{'type':'image','source':'data:image/gif;base64,aGk='}"),
         ONE_SENT("{'type':'image','source':{'type':'base64','media_type':'image/gif','data':'aGk='}}"));
  RENDER(ONE("{'type':'image','source':'https://x.test/a.png'}"),
         ONE_SENT("{'type':'image','source':{'type':'url','url':'https://x.test/a.png'}}"));
  RENDER(ONE("{'type':'document','source':'aGk=','media_type':'application/pdf','title':'T','context':'C'}"),
         ONE_SENT("{'type':'document','source':{'type':'base64','media_type':'application/pdf','data':'aGk='},"
                   "'title':'T','context':'C'}"));
  RENDER(ONE("{'type':'document','source':'http://x.test/a.pdf','citations':{'enabled':true}}"),
         ONE_SENT("{'type':'document','source':{'type':'url','url':'http://x.test/a.pdf'},'citations':{'enabled':true}}"));
  RENDER(ONE("{'type':'document','source':'http://x.test/a.pdf','citations':{'enabled':false}}"),
         ONE_SENT("{'type':'document','source':{'type':'url','url':'http://x.test/a.pdf'}}"));
  RENDER(ONE("{'type':'document','source':'http://x.test/a.pdf'}"),
         ONE_SENT("{'type':'document','source':{'type':'url','url':'http://x.test/a.pdf'}}"));
  RENDER(ONE("{'type':'document','source':'SGVs\\nbG8hIQ==','media_type':'text/markdown'}"),
         ONE_SENT("{'type':'document','source':{'type':'text','media_type':'text/plain','data':'Hello!!'}}"));
  RENDER(ONE("{'type':'document','source':'data:text/plain;charset=utf-8;base64,w6k='}"),
         ONE_SENT("{'type':'document','source':{'type':'text','media_type':'text/plain','data':'\xC3\xA9'}}"));
  REFUSE(ONE("{'type':'image','source':'data:image/png,abc'}"),
         "messages[1].content[1].source: data: URL of base64 data (data:TYPE;base64,DATA) expected, "
         "got \"data:image/png,abc\"");
  REFUSE(ONE("{'type':'document','source':'not base64!','media_type':'text/plain'}"),
         "messages[1].content[1].source: base64 data, as koine.base64(bytes) gives, or a URL "
         "(koine.image.file and koine.document.file read files) expected, got \"not base64!\"");
  REFUSE("{'model':'m','messages':[" CALLED ",{'role':'assistant','content':[{'type':'tool_use','id':'c2',"
         "'name':'f','arguments':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'c2',"
         "'content':[{'type':'image','source':'data:x'}]}]}]}",
         "messages[4].content[1].content[1].source: data: URL of base64 data (data:TYPE;base64,DATA) expected, "
         "got \"data:x\"");
}

static void test_calls(void) {
  RENDER("{'model':'m','messages':[{'role':'user','content':'q'},{'role':'assistant','content':["
         "{'type':'text','text':'ok'},"
         "{'type':'tool_use','id':'call:1/x','name':'f','arguments':{'b':1,'a':[]},"
         "'arguments_json':'{\\'b\\': 1, \\'a\\': []}'},"
         "{'type':'tool_use','id':'c2','name':'f','arguments':{'b':2,'a':1}},"
         "{'type':'tool_use','id':'c3','name':'f','arguments':{},'arguments_json':'{\\'x','arguments_error':'bad'}]},"
         "{'role':'user','content':[{'type':'text','text':'also'},"
         "{'type':'tool_result','tool_use_id':'c2','content':[{'type':'text','text':'two'},"
         "{'type':'image','source':'aGk=','media_type':'image/png'}]},"
         "{'type':'tool_result','tool_use_id':'call:1/x','content':'','is_error':false},"
         "{'type':'tool_result','tool_use_id':'c3','content':[],'is_error':true}]}]}",
         "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
         "{'role':'assistant','content':[{'type':'text','text':'ok'},"
         "{'type':'tool_use','id':'call_1_x','name':'f','input':{'b': 1, 'a': []}},"
         "{'type':'tool_use','id':'c2','name':'f','input':{'a':1,'b':2}},"
         "{'type':'tool_use','id':'c3','name':'f','input':{'INVALID_JSON':'{\\'x'}}]},"
         "{'role':'user','content':[{'type':'tool_result','tool_use_id':'call_1_x','content':''},"
         "{'type':'tool_result','tool_use_id':'c2','content':[{'type':'text','text':'two'},"
         "{'type':'image','source':{'type':'base64','media_type':'image/png','data':'aGk='}}]},"
         "{'type':'tool_result','tool_use_id':'c3','content':'(no output)','is_error':true},"
         "{'type':'text','text':'also'}]}]}");
}

#define FAILED(call, content, end) \
  "{'role':'user','content':[{'type':'text','text':'q'}]},{'role':'assistant','content':[{'type':'tool_use','id':'c1'," \
  "'name':'f','" call "':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1'," \
  "'content':[" content "]" end "}]}]}"
#define FAILED_ONE(content) "{'model':'m','messages':[" FAILED("arguments", content, ",'is_error':true")
#define FAILED_SENT(content, end) "{'model':'m','max_tokens':8192,'messages':[" FAILED("input", content, end)
#define WORDS(text) "{'type':'text','text':'" text "'}"
#define IMAGE "{'type':'image','source':'aGk=','media_type':'image/png'}"
#define IMAGE_SENT "{'type':'image','source':{'type':'base64','media_type':'image/png','data':'aGk='}}"

static void test_errors(void) {
  RENDER(FAILED_ONE(WORDS("a") "," WORDS("b")), FAILED_SENT(WORDS("a") "," WORDS("b"), ",'is_error':true"));
  RENDER(FAILED_ONE(WORDS("a") "," IMAGE), FAILED_SENT(WORDS("Error:") "," WORDS("a") "," IMAGE_SENT, ""));
  RENDER(FAILED_ONE(IMAGE), FAILED_SENT(WORDS("Error:") "," IMAGE_SENT, ""));
  RENDER(FAILED_ONE(WORDS("Error: a") "," IMAGE), FAILED_SENT(WORDS("Error: a") "," IMAGE_SENT, ""));
}

#define OTHER(raw) "'provider_data':{'provider':'here','model':'n','raw':'" raw "'}"

static void test_replay(void) {
  RENDER(TURN("{'type':'thinking','thinking':'','signature':'s+/='},{'type':'redacted_thinking','data':'d'},"
              "{'type':'refusal','text':'no'}"),
         TURN_SENT("{'type':'thinking','thinking':'','signature':'s+/='},{'type':'redacted_thinking','data':'d'},"
                   "{'type':'text','text':'no'}"));
  RENDER(TURN("{'type':'thinking','thinking':'unsigned'},{'type':'thinking','thinking':'x','signature':'s',"
              OTHER("{}") "},{'type':'opaque'," OTHER("{\\'type\\':\\'x\\'}") "},{'type':'text','text':'t'}"),
         TURN_SENT("{'type':'text','text':'t'}"));
  RENDER(TURN("{'type':'opaque','kind':'server_tool_use','cache_control':{'type':'ephemeral'},"
              MINE("{ \\'type\\' : \\'server_tool_use\\', \\'z\\':1.50,\\'a\\':\\'\\\\u00e9\\'}") "},"
              "{'type':'opaque'," MINE("no json") "},{'type':'text','text':'t'}"),
         TURN_SENT("{ 'type' : 'server_tool_use', 'z':1.50,'a':'\\u00e9'},{'type':'text','text':'t'}"));
  RENDER(TURN("{'type':'text','text':'edited'," MINE("{\\'text\\':\\'old\\',\\'citations\\':[{ \\'a\\':1}]}") "}"),
         TURN_SENT("{'type':'text','text':'edited','citations':[{ 'a':1}]}"));
  RENDER(TURN("{'type':'text','text':'t'," OTHER("{\\'citations\\':[1]}") "}"),
         TURN_SENT("{'type':'text','text':'t'}"));
  RENDER("{'model':'m','messages':[{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f',"
         "'arguments':{}," MINE("{\\'caller\\':{\\'type\\':\\'direct\\'},\\'id\\':\\'old\\'}") "}]},"
         "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}]}",
         "{'model':'m','max_tokens':8192,'messages':[{'role':'assistant','content':[{'type':'tool_use','id':'c1',"
         "'name':'f','input':{},'caller':{'type':'direct'}}]},{'role':'user','content':[{'type':'tool_result',"
         "'tool_use_id':'c1','content':'r'}]}]}");
}

/* The last container of this origin, unless the caller names one; skills of the caller's are joined to it. */
static void test_container(void) {
#define BOXED(id, more) \
  "{'type':'text','text':'t','provider_data':{'provider':'here','model':'m','container':{'id':'" id "'" more "}}}"
#define ANSWERED(blocks, fields) \
  "{'model':'m'," fields "'messages':[{'role':'user','content':'a'},{'role':'assistant','content':[" blocks "]}," \
  "{'role':'user','content':'b'}]}"
#define ANSWERED_SENT(fields, texts) \
  "{'model':'m','max_tokens':8192," fields "'messages':[{'role':'user','content':[{'type':'text','text':'a'}]}," \
  "{'role':'assistant','content':[" texts "]},{'role':'user','content':[{'type':'text','text':'b'}]}]}"
#define T "{'type':'text','text':'t'}"
  RENDER(ANSWERED(BOXED("c1", "") "," BOXED("c2", ",'expires_at':'2020-01-01T00:00:00Z'"), ""),
         ANSWERED_SENT("'container':'c2',", T "," T));
  RENDER(ANSWERED("{'type':'text','text':'t','provider_data':{'provider':'here','model':'n','container':{'id':'c'}}}",
                  ""), ANSWERED_SENT("", T));
  RENDER(ANSWERED(BOXED("", ""), ""), ANSWERED_SENT("", T));
  RENDER(ANSWERED(BOXED("c", ""), "'extra':{'container':'d'},"), ANSWERED_SENT("'container':'d',", T));
  RENDER(ANSWERED(BOXED("c", ""), "'extra':{'container':null},"), ANSWERED_SENT("'container':null,", T));
  RENDER(ANSWERED(BOXED("c", ""), "'extra':{'container':{'skills':[]}},"),
         ANSWERED_SENT("'container':{'id':'c','skills':[]},", T));
  RENDER(ANSWERED(BOXED("c", ""), "'extra':{'container':{'id':'d'}},"), ANSWERED_SENT("'container':{'id':'d'},", T));
  RENDER_REST(ANSWERED(BOXED("c", ""), "'no_container':true,"), ANSWERED_SENT("", T),
              WARNED("container_dropped", "messages",
                     "the provider does not have the container of earlier messages any more: left out"));
}

static void test_merging(void) {
  RENDER("{'model':'m','messages':[{'role':'user','content':'a'},{'role':'user','content':'  '},"
         "{'role':'user','content':'b'},{'role':'assistant','content':[]},{'role':'user','content':'c'}]}",
         "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'a'},"
         "{'type':'text','text':'b'},{'type':'text','text':'c'}]}]}");
  REFUSE("{'model':'m','messages':[{'role':'user','content':' '}]}",
         "messages: a message with content (results without their calls are not sent) expected, got nothing to send");
}

static void test_render_memory(void) {
  static const char REQUEST[] =
    "{'model':'m','stream':true,'cache_retention':'long','system':[{'type':'text','text':'s'}],'betas':['a','b'],"
    "'metadata':{'user_id':'u','x':1},'tools':[" TOOL ",{'type':'bash_1','name':'b','server_tool':true}],"
    "'tool_choice':'any','thinking':'low','temperature':1,'extra':{'b':1,'a':2,'container':{}},'stop_sequences':['x'],"
    "'messages':[{'role':'user','content':[{'type':'document','source':'SGVsbG8=','media_type':'text/plain'}]}," CALLED ",{'role':'assistant','content':[{'type':'text',"
    "'text':'t'," MINE("{\\'citations\\':[1]}") "}," BOXED("c", "") "]},{'role':'user','content':'q'}]}";
  static struct result r;
  struct mem m = mem_libc();
  CHECK(run(NULL, REQUEST, 0, &m, &r) == 0);
  run_failing(__FILE__, __LINE__, NULL, REQUEST, 0, &r);
}

int main(void) {
  test_media();
  test_calls();
  test_errors();
  test_replay();
  test_container();
  test_merging();
  test_render_memory();
  return test_done("codec/anthropic/history");
}
