/*
** The Anthropic Messages format: literal request bytes, the parts of streams and of plain answers.
** In the texts here ' stands for ", so that JSON can be read.
*/
#include "support/test.h"
#include "support/failing.h"
#include "core/codec/codec.h"
#include "core/message/message.h"

#include <dirent.h>
#include <math.h>

static const struct origin HERE = { { "anthropic", 9 }, { "m", 1 }, { "anthropic", 9 } };

/* s with its quotes, in a buffer of that size. */
static const char *quoted(char *to, size_t size, const char *s) {
  size_t n = strlen(s);
  CHECK(n < size);
  for (size_t i = 0; i <= n && i < size; i++) to[i] = s[i] == '\'' ? '"' : s[i];
  return to;
}

#define TEXT_MAX 4096

/* Compares what was made with a text of the above kind. */
static void same(int line, const char *p, size_t n, const char *expect) {
  char text[TEXT_MAX];
  test_str(__FILE__, line, p, n, quoted(text, sizeof text, expect));
}

/* {{{ rendering */

/* One request on its way: what a test may look at afterwards. */
struct shot {
  struct mem m;
  struct arena a;
  struct buf body, path, rest; /* rest: warnings, then headers, as JSON */
  struct quirks quirks;
  struct err e;
  int r;
};

/* quirk: a flag, or "route", which becomes "unversioned"; NULL = none. */
static void shoot(struct shot *s, const struct mem *m, const char *request, const char *quirk, int count) {
  struct render r = { .provider = STR("anthropic"), .framing = &framing_sse };
  struct node value = { .type = NODE_TRUE };
  struct str copy;
  char text[TEXT_MAX];
  request = quoted(text, sizeof text, request);
  s->m = *m;
  arena_init(&s->a, &s->m);
  buf_init(&s->body, &s->m);
  buf_init(&s->path, &s->m);
  buf_init(&s->rest, &s->m);
  quirks_default(&s->quirks);
  err_clear(&s->e);
  if (quirk != NULL && strcmp(quirk, "route") == 0) value = (struct node){ .type = NODE_STRING, .s = STR("unversioned") };
  if (quirk != NULL) CHECK(quirks_set(&s->quirks, (struct str){ quirk, strlen(quirk) }, &value, &s->e) == 0);
  r.a = &s->a;
  r.quirks = &s->quirks;
  r.body = &s->body;
  r.path = &s->path;
  copy = arena_dup(&s->a, (struct str){ request, strlen(request) });
  if (copy.p == NULL) err_memory(&s->e);
  else r.request = json_tree(&s->a, copy, 64, &s->e);
  r.headers = node_new(&s->a, NODE_OBJECT);
  r.warnings = node_new(&s->a, NODE_ARRAY);
  s->r = -1;
  if (r.headers == NULL || r.warnings == NULL) err_memory(&s->e);
  if (s->e.kind != KIND_NONE) return;
  s->r = (count ? codec_anthropic.render_count : codec_anthropic.render)(&r, &s->e);
  if (s->r == 0) s->r = json_write(&s->rest, r.warnings, &s->e);
  if (s->r == 0) s->r = json_write(&s->rest, r.headers, &s->e);
  CHECK(r.framing == &framing_sse);
}

static void shot_free(struct shot *s) {
  buf_free(&s->body);
  buf_free(&s->path);
  buf_free(&s->rest);
  arena_free(&s->a);
}

/* Renders and compares the body, the warnings and the headers. */
static void render_check(int line, const char *request, const char *quirk, int count, const char *body,
                         const char *rest) {
  struct mem m = mem_libc();
  struct shot s;
  shoot(&s, &m, request, quirk, count);
  if (s.r != 0) fprintf(stderr, "%d: %s\n", line, s.e.message);
  CHECK(s.r == 0);
  same(line, s.body.p, s.body.n, body);
  same(line, s.rest.p, s.rest.n, rest);
  shot_free(&s);
}

/* Renders what must be refused, and compares the message. */
static void refuse_check(int line, const char *request, const char *quirk, const char *message) {
  struct mem m = mem_libc();
  struct shot s;
  shoot(&s, &m, request, quirk, 0);
  CHECK(s.r == -1 && s.e.kind == KIND_ARGUMENT);
  same(line, s.e.message, strlen(s.e.message), message);
  shot_free(&s);
}

#define NONE "[]{}"
#define RENDER(request, body) render_check(__LINE__, request, NULL, 0, body, NONE)
#define RENDER_REST(request, body, rest) render_check(__LINE__, request, NULL, 0, body, rest)
#define RENDER_QUIRK(request, quirk, body, rest) render_check(__LINE__, request, quirk, 0, body, rest)
#define REFUSE(request, message) refuse_check(__LINE__, request, NULL, message)

/* A request with one user message, further fields in front; and its bytes. */
#define ASK(fields) "{'model':'m','stream':false," fields "'messages':[{'role':'user','content':'hi'}]}"
#define HI "'messages':[{'role':'user','content':[{'type':'text','text':'hi'}]}]}"
#define SENT(fields) "{'model':'m','max_tokens':8192," fields HI
#define WARNED(code, field, message) "[{'code':'" code "','field':'" field "','message':'" message "'}]{}"

static void test_settings(void) {
  RENDER(ASK(""), SENT(""));
  RENDER("{'model':'m','stream':true,'messages':[{'role':'user','content':'hi'}]}", SENT("'stream':true,"));
  RENDER(ASK("'max_tokens':0,"), "{'model':'m','max_tokens':0," HI);
  RENDER(ASK("'max_tokens':100.0,'max_output':64000,"), "{'model':'m','max_tokens':100," HI);
  RENDER(ASK("'max_output':64000,"), "{'model':'m','max_tokens':64000," HI);
  REFUSE(ASK("'max_tokens':-1,"), "max_tokens: integer, 0 or more expected, got something else");
  REFUSE(ASK("'max_tokens':'9',"), "max_tokens: integer, 0 or more expected, got something else");
  RENDER(ASK("'top_p':0.9,'temperature':0.2,"), SENT("'temperature':0.2,'top_p':0.9,"));
  REFUSE(ASK("'temperature':'hot',"), "temperature: finite number expected, got something else");
  RENDER(ASK("'stop_sequences':['a','b'],"), SENT("'stop_sequences':['a','b'],"));
  RENDER_REST(ASK("'stop_sequences':[' \\n'],"), SENT(""),
              WARNED("unsupported_option", "stop_sequences", "blank stop sequences were left out"));
  RENDER_QUIRK(ASK("'temperature':0.2,'top_p':1,"), "no_sampling", SENT(""),
               "[{'code':'unsupported_option','field':'temperature','message':'the model does not take it: left out'},"
               "{'code':'unsupported_option','field':'top_p','message':'the model does not take it: left out'}]{}");
}

#define IGNORED \
  "{'code':'extra_ignored','field':'extra','message':'a field that the request has already was left out'}"

/* Numbers that JSON has no words for. */
static void test_not_finite(void) {
  static const char *const FIELD[] = { "temperature", "extra" };
  for (int i = 0; i < 2; i++) {
    struct mem m = mem_libc();
    struct arena a;
    struct buf body, path;
    struct quirks q;
    struct err e;
    struct str text = STR("{\"model\":\"m\",\"extra\":{},\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    struct render r = { .provider = STR("anthropic"), .a = &a, .quirks = &q, .body = &body, .path = &path };
    struct str name = { FIELD[i], strlen(FIELD[i]) };
    struct node *bad;
    arena_init(&a, &m);
    buf_init(&body, &m);
    buf_init(&path, &m);
    quirks_default(&q);
    err_clear(&e);
    r.request = json_tree(&a, text, 16, &e);
    r.headers = node_new(&a, NODE_OBJECT);
    r.warnings = node_new(&a, NODE_ARRAY);
    bad = node_double(&a, i == 0 ? HUGE_VAL : nan(""));
    CHECK(node_set(i == 0 ? r.request : node_get(r.request, "extra"), name, bad) == 0);
    CHECK(codec_anthropic.render(&r, &e) == -1 && e.kind == KIND_ARGUMENT);
    CHECK_STR(e.field, strlen(e.field), FIELD[i]);
    buf_free(&body);
    buf_free(&path);
    arena_free(&a);
  }
}

static void test_path(void) {
  static const struct { const char *quirk; int count; const char *path; } CASES[] = {
    { NULL, 0, "/v1/messages" }, { NULL, 1, "/v1/messages/count_tokens" },
    { "route", 0, "/messages" }, { "route", 1, "/messages/count_tokens" },
  };
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    struct mem m = mem_libc();
    struct shot s;
    shoot(&s, &m, ASK(""), CASES[i].quirk, CASES[i].count);
    CHECK(s.r == 0);
    CHECK_STR(s.path.p, s.path.n, CASES[i].path);
    shot_free(&s);
  }
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
              "[" IGNORED "]{}");
  RENDER_REST(ASK("'extra':{'stream':true,'messages':[]},"), SENT(""),
              "[" IGNORED "," IGNORED "]{}");
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

#define TOOL "{'name':'f','description':'d','parameters':{'type':'object','properties':{'x':{'type':'string'}}}}"
#define TOOL_SENT \
  "{'name':'f','description':'d','input_schema':{'properties':{'x':{'type':'string'}},'type':'object'}"

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

/* }}} */

/* {{{ thinking */

#define THINK(mode, value) ASK("'thinking_mode':'" mode "','thinking':" value ",")
#define BUDGET(max, n) "{'model':'m','max_tokens':" #max ",'thinking':{'type':'enabled','budget_tokens':" #n "}," HI
#define ADAPTIVE(effort) SENT("'thinking':{'type':'adaptive'},'output_config':{'effort':'" effort "'},")
#define FORCED "'tool_choice':'any','tools':[" TOOL "],"
#define FORCED_SENT "'tools':[" TOOL_SENT "}],'tool_choice':{'type':'any'},"

static void test_thinking_modes(void) {
  RENDER(THINK("budget", "{'budget_tokens':8000}"), BUDGET(12096, 8000));
  RENDER(THINK("budget", "'medium'"), BUDGET(12288, 8192));
  RENDER(THINK("budget", "'low'"), BUDGET(8192, 2048));
  RENDER(THINK("budget", "'high'"), BUDGET(28672, 24576));
  RENDER(ASK("'max_tokens':16384,'thinking_mode':'budget','thinking':'medium',"), BUDGET(16384, 8192));
  RENDER(ASK("'max_tokens':16384,'max_output':10000,'thinking_mode':'budget','thinking':'medium',"),
         BUDGET(10000, 8192));
  RENDER_REST(ASK("'max_output':8192,'thinking_mode':'budget','thinking':'high',"), BUDGET(8192, 7168),
              WARNED("adjusted_option", "thinking", "the budget was lowered to what the answer leaves room for"));
  RENDER_REST(THINK("budget", "{'budget_tokens':5}"), BUDGET(8192, 1024),
              WARNED("adjusted_option", "thinking", "the budget was raised to 1024 tokens, the least there is"));
  RENDER(ASK("'thinking':{'budget_tokens':2000.0},"), BUDGET(8192, 2000));
  RENDER(THINK("adaptive", "'minimal'"), ADAPTIVE("low"));
  RENDER(THINK("adaptive", "'max'"), ADAPTIVE("max"));
  RENDER(ASK("'thinking':'high',"), ADAPTIVE("high"));
  static const struct { const char *budget, *sent; } NEAREST[] = {
    { THINK("adaptive", "{'budget_tokens':4096}"), ADAPTIVE("low") },
    { THINK("adaptive", "{'budget_tokens':4097}"), ADAPTIVE("medium") },
    { THINK("adaptive", "{'budget_tokens':12288}"), ADAPTIVE("medium") },
    { THINK("adaptive", "{'budget_tokens':12289}"), ADAPTIVE("high") }
  };
  for (size_t i = 0; i < sizeof NEAREST / sizeof *NEAREST; i++)
    RENDER_REST(NEAREST[i].budget, NEAREST[i].sent,
                WARNED("adjusted_option", "thinking", "the model takes no budget: the nearest effort was sent"));
  RENDER(THINK("effort", "'xhigh'"), SENT("'output_config':{'effort':'xhigh'},"));
  RENDER_REST(THINK("none", "'low'"), SENT(""),
              WARNED("unsupported_option", "thinking", "the model does not think: left out"));
}

static void test_thinking_off(void) {
  RENDER(THINK("budget", "false"), SENT(""));
  RENDER(ASK("'temperature':0.2,'thinking_mode':'budget','thinking':{'budget_tokens':0},"), SENT("'temperature':0.2,"));
  RENDER_QUIRK(THINK("adaptive", "false"), "thinking_default", SENT("'thinking':{'type':'disabled'},"), NONE);
  RENDER_QUIRK(ASK("'thinking_mode':'adaptive',"), "thinking_default", SENT(""), NONE);
  REFUSE(THINK("budget", "'xhigh'"), "thinking: false, low, medium, high or {budget_tokens = n} expected, got 'xhigh'");
  REFUSE(THINK("adaptive", "'loud'"),
         "thinking: false, low, medium, high, xhigh, max or {budget_tokens = n} expected, got 'loud'");
  REFUSE(THINK("none", "''"), "thinking: false, low, medium, high, xhigh, max or {budget_tokens = n} expected, got ''");
  REFUSE(THINK("budget", "{}"), "thinking.budget_tokens: integer, 0 or more expected, got nothing");
  REFUSE(THINK("budget", "{'budget_tokens':-4}"),
         "thinking.budget_tokens: integer, 0 or more expected, got something else");
  REFUSE(THINK("budget", "true"), "thinking: false, a level or {budget_tokens = n} expected, got something else");
}

#define CALLED "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','arguments':{}}]}," \
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}"
#define CALLED_SENT "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','input':{}}]}," \
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}"

static void test_thinking_conflicts(void) {
  RENDER_REST(ASK("'temperature':0.2,'thinking_mode':'adaptive','thinking':'low',"), ADAPTIVE("low"),
              WARNED("conflicting_options", "temperature", "a model that thinks does not take it: left out"));
  RENDER_REST(ASK(FORCED "'thinking_mode':'budget','thinking':'low',"), SENT(FORCED_SENT),
              WARNED("conflicting_options", "thinking", "tool_choice forces a call: thinking was left off"));
  RENDER_QUIRK(ASK(FORCED "'thinking_mode':'adaptive','temperature':1,'thinking':'low',"), "thinking_default",
               "{'model':'m','max_tokens':8192,'temperature':1," FORCED_SENT "'thinking':{'type':'disabled'}," HI,
               WARNED("conflicting_options", "thinking", "tool_choice forces a call: thinking was left off"));
  RENDER_QUIRK(ASK(FORCED "'thinking_mode':'adaptive',"), "thinking_default",
               SENT(FORCED_SENT "'thinking':{'type':'disabled'},"), NONE);
  RENDER(ASK(FORCED "'thinking_mode':'effort','thinking':'low',"),
         SENT(FORCED_SENT "'output_config':{'effort':'low'},"));
  RENDER_REST("{'model':'m','thinking_mode':'budget','thinking':'low','messages':[{'role':'user','content':'q'},"
              CALLED "]}",
              "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
              CALLED_SENT "]}",
              WARNED("conflicting_options", "thinking",
                     "the last assistant message with calls has lost its thinking: thinking was left off"));
  RENDER("{'model':'m','thinking_mode':'adaptive','thinking':'low','messages':[{'role':'user','content':'q'},"
         CALLED "]}",
         "{'model':'m','max_tokens':8192,'thinking':{'type':'adaptive'},'output_config':{'effort':'low'},"
         "'messages':[{'role':'user','content':[{'type':'text','text':'q'}]}," CALLED_SENT "]}");
}

static void test_prefill(void) {
  static const char PREFILL[] = "{'model':'m','thinking':'low','messages':[{'role':'user','content':'q'},"
                                "{'role':'assistant','content':'Sure: \\n'}]}";
  RENDER_REST(PREFILL,
              "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
              "{'role':'assistant','content':[{'type':'text','text':'Sure:'}]}]}",
              WARNED("conflicting_options", "thinking",
                     "the last message is an answer to continue: thinking was left off"));
  refuse_check(__LINE__, PREFILL, "no_prefill",
               "messages[2]: a user message at the end (the model does not continue an answer) expected, "
               "got an assistant message");
}

/* }}} */

/* {{{ the history */

#define USER(block) "{'model':'m','messages':[{'role':'user','content':[" block "]}]}"
#define USER_SENT(block) "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[" block "]}]}"
/* An assistant's blocks between two user messages. */
#define TURN(blocks) "{'model':'m','messages':[{'role':'user','content':'q'},{'role':'assistant','content':[" \
  blocks "]},{'role':'user','content':'go on'}]}"
#define TURN_SENT(blocks) "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text'," \
  "'text':'q'}]},{'role':'assistant','content':[" blocks "]},{'role':'user','content':[{'type':'text'," \
  "'text':'go on'}]}]}"

static void test_media(void) {
  RENDER(USER("{'type':'image','source':'aGk=','media_type':'image/png','cache_control':{'type':'ephemeral'}}"),
         USER_SENT("{'type':'image','source':{'type':'base64','media_type':'image/png','data':'aGk='},"
                   "'cache_control':{'type':'ephemeral'}}"));
  RENDER(USER("{'type':'image','source':'data:image/gif;base64,aGk='}"),
         USER_SENT("{'type':'image','source':{'type':'base64','media_type':'image/gif','data':'aGk='}}"));
  RENDER(USER("{'type':'image','source':'https://x.test/a.png'}"),
         USER_SENT("{'type':'image','source':{'type':'url','url':'https://x.test/a.png'}}"));
  RENDER(USER("{'type':'document','source':'aGk=','media_type':'application/pdf','title':'T','context':'C'}"),
         USER_SENT("{'type':'document','source':{'type':'base64','media_type':'application/pdf','data':'aGk='},"
                   "'title':'T','context':'C'}"));
  RENDER(USER("{'type':'document','source':'http://x.test/a.pdf','citations':{'enabled':true}}"),
         USER_SENT("{'type':'document','source':{'type':'url','url':'http://x.test/a.pdf'},'citations':{'enabled':true}}"));
  RENDER(USER("{'type':'document','source':'http://x.test/a.pdf','citations':{'enabled':false}}"),
         USER_SENT("{'type':'document','source':{'type':'url','url':'http://x.test/a.pdf'}}"));
  RENDER(USER("{'type':'document','source':'http://x.test/a.pdf'}"),
         USER_SENT("{'type':'document','source':{'type':'url','url':'http://x.test/a.pdf'}}"));
  RENDER(USER("{'type':'document','source':'SGVs\\nbG8hIQ==','media_type':'text/markdown'}"),
         USER_SENT("{'type':'document','source':{'type':'text','media_type':'text/plain','data':'Hello!!'}}"));
  RENDER(USER("{'type':'document','source':'data:text/plain;charset=utf-8;base64,w6k='}"),
         USER_SENT("{'type':'document','source':{'type':'text','media_type':'text/plain','data':'\xC3\xA9'}}"));
  REFUSE(USER("{'type':'image','source':'data:image/png,abc'}"),
         "messages[1].content[1].source: http(s) URL, base64 data: URL, or base64 data with a media_type expected, "
         "got something else");
  REFUSE(USER("{'type':'document','source':'not base64!','media_type':'text/plain'}"),
         "messages[1].content[1].source: base64-encoded text expected, got something else");
  REFUSE("{'model':'m','messages':[" CALLED ",{'role':'assistant','content':[{'type':'tool_use','id':'c2',"
         "'name':'f','arguments':{}}]},{'role':'user','content':[{'type':'tool_result','tool_use_id':'c2',"
         "'content':[{'type':'image','source':'data:x'}]}]}]}",
         "messages[4].content[1].content[1].source: http(s) URL, base64 data: URL, or base64 data with a media_type "
         "expected, got something else");
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

#define OWN(raw) "'provider_data':{'provider':'anthropic','model':'m','raw':'" raw "'}"
#define OTHER(raw) "'provider_data':{'provider':'anthropic','model':'n','raw':'" raw "'}"

static void test_replay(void) {
  RENDER(TURN("{'type':'thinking','thinking':'','signature':'s+/='},{'type':'redacted_thinking','data':'d'},"
              "{'type':'refusal','text':'no'}"),
         TURN_SENT("{'type':'thinking','thinking':'','signature':'s+/='},{'type':'redacted_thinking','data':'d'},"
                   "{'type':'text','text':'no'}"));
  RENDER(TURN("{'type':'thinking','thinking':'unsigned'},{'type':'thinking','thinking':'x','signature':'s',"
              OTHER("{}") "},{'type':'opaque'," OTHER("{\\'type\\':\\'x\\'}") "},{'type':'text','text':'t'}"),
         TURN_SENT("{'type':'text','text':'t'}"));
  RENDER(TURN("{'type':'opaque','kind':'server_tool_use','cache_control':{'type':'ephemeral'},"
              OWN("{ \\'type\\' : \\'server_tool_use\\', \\'z\\':1.50,\\'a\\':\\'\\\\u00e9\\'}") "},"
              "{'type':'opaque'," OWN("no json") "},{'type':'text','text':'t'}"),
         TURN_SENT("{ 'type' : 'server_tool_use', 'z':1.50,'a':'\\u00e9'},{'type':'text','text':'t'}"));
  RENDER(TURN("{'type':'text','text':'edited'," OWN("{\\'text\\':\\'old\\',\\'citations\\':[{ \\'a\\':1}]}") "}"),
         TURN_SENT("{'type':'text','text':'edited','citations':[{ 'a':1}]}"));
  RENDER(TURN("{'type':'text','text':'t'," OTHER("{\\'citations\\':[1]}") "}"),
         TURN_SENT("{'type':'text','text':'t'}"));
  RENDER("{'model':'m','messages':[{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f',"
         "'arguments':{}," OWN("{\\'caller\\':{\\'type\\':\\'direct\\'},\\'id\\':\\'old\\'}") "}]},"
         "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}]}",
         "{'model':'m','max_tokens':8192,'messages':[{'role':'assistant','content':[{'type':'tool_use','id':'c1',"
         "'name':'f','input':{},'caller':{'type':'direct'}}]},{'role':'user','content':[{'type':'tool_result',"
         "'tool_use_id':'c1','content':'r'}]}]}");
}

/* The last container of this origin, unless the caller names one; skills of the caller's are joined to it. */
static void test_container(void) {
#define BOXED(id, more) \
  "{'type':'text','text':'t','provider_data':{'provider':'anthropic','model':'m','container':{'id':'" id "'" more "}}}"
#define ANSWERED(blocks, fields) \
  "{'model':'m'," fields "'messages':[{'role':'user','content':'a'},{'role':'assistant','content':[" blocks "]}," \
  "{'role':'user','content':'b'}]}"
#define ANSWERED_SENT(fields, texts) \
  "{'model':'m','max_tokens':8192," fields "'messages':[{'role':'user','content':[{'type':'text','text':'a'}]}," \
  "{'role':'assistant','content':[" texts "]},{'role':'user','content':[{'type':'text','text':'b'}]}]}"
#define T "{'type':'text','text':'t'}"
  RENDER(ANSWERED(BOXED("c1", "") "," BOXED("c2", ",'expires_at':'2020-01-01T00:00:00Z'"), ""),
         ANSWERED_SENT("'container':'c2',", T "," T));
  RENDER(ANSWERED("{'type':'text','text':'t','provider_data':{'provider':'anthropic','model':'n','container':{'id':'c'}}}",
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
         "messages: a message with content expected, got nothing to send");
}

static void test_count(void) {
  render_check(__LINE__, ASK("'system':'s','tools':[" TOOL "],'tool_choice':'auto','temperature':1,'max_tokens':5,"
                             "'thinking':{'budget_tokens':2000},'metadata':{'user_id':'u'},'extra':{'x':1},"
                             "'stop_sequences':['a'],"), NULL, 1,
               "{'model':'m','system':'s','tools':[" TOOL_SENT "}],'tool_choice':{'type':'auto'},"
               "'thinking':{'type':'enabled','budget_tokens':2000}," HI, NONE);
}

/* }}} */

/* {{{ caching */

/* Renders n messages of one block and lists the marked ones: "t" tools, "s" system, blocks of messages as numbers from
** 0, "h" behind what lasts an hour. `marked` are those that the caller marks, as <n>. */
static void cache_check(int line, int n, const char *fields, const char *marked, const char *expect) {
  struct mem m = mem_libc();
  struct shot s;
  char request[8192], got[256] = "", *p = request;
  struct node *body, *list;
  const char *const PART[] = { "tools", "system" };
  int at = 0;
  p += sprintf(p, "{'model':'m',%s'messages':[", fields);
  for (int i = 0; i < n; i++) {
    char number[16];
    sprintf(number, "<%d>", i);
    p += sprintf(p, "%s{'role':'%s','content':[{'type':'text','text':'b'%s}]}", i > 0 ? "," : "",
                 i % 2 ? "assistant" : "user", strstr(marked, number) ? ",'cache_control':{'type':'ephemeral'}" : "");
  }
  sprintf(p, "]}");
  shoot(&s, &m, request, NULL, 0);
  CHECK(s.r == 0);
  body = json_tree(&s.a, buf_str(&s.body), 64, &s.e);
  for (int i = 0; i < 2; i++) {
    list = node_get_(body, PART[i], strlen(PART[i]));
    for (struct node *v = list != NULL && list->type == NODE_ARRAY ? list->child : NULL; v != NULL; v = v->next)
      if (node_get(v, "cache_control") != NULL)
        sprintf(got + strlen(got), "%c%s ", PART[i][0], node_get(node_get(v, "cache_control"), "ttl") ? "h" : "");
  }
  list = node_get(body, "messages");
  for (struct node *v = list->child; v != NULL; v = v->next)
    for (struct node *b = node_get(v, "content")->child; b != NULL; b = b->next, at++)
      if (node_get(b, "cache_control") != NULL)
        sprintf(got + strlen(got), "%d%s ", at, node_get(node_get(b, "cache_control"), "ttl") ? "h" : "");
  test_str(__FILE__, line, got, strlen(got), expect);
  shot_free(&s);
}

#define CACHE(n, fields, marked, expect) cache_check(__LINE__, n, fields, marked, expect)
#define SHORT "'cache_retention':'short',"
#define LONG "'cache_retention':'long',"
#define SYSTEM "'system':'s',"
#define MARK "'cache_control':{'type':'ephemeral'}"
#define HOUR "'cache_control':{'type':'ephemeral','ttl':'1h'}"

static void test_cache(void) {
  CACHE(3, SYSTEM, "", "");
  CACHE(3, "'cache_retention':'none'," SYSTEM, "<0>", "0 ");
  CACHE(1, SHORT, "", "0 ");
  CACHE(19, SHORT, "", "18 ");
  CACHE(21, SHORT, "", "5 20 ");
  CACHE(25, SHORT, "", "9 24 ");
  CACHE(25, SHORT, "<24>", "9 24 ");
  CACHE(3, SHORT SYSTEM "'tools':[{'name':'f'},{'name':'g'}],", "", "t s 2 ");
  CACHE(9, SHORT SYSTEM "'tools':[{'name':'f'}],", "<2><4>", "t s 4 8 ");
  CACHE(9, SYSTEM, "<0><1><2><3><4><5>", "2 3 4 5 ");
  CACHE(25, SHORT SYSTEM "'tools':[{'name':'f'}],", "<20>", "t s 20 24 ");
  CACHE(3, SHORT "'tools':[{'name':'a'," MARK "},{'name':'b'," MARK "},{'name':'c'," MARK "},{'name':'d'," MARK
        "},{'name':'e'}]," SYSTEM, "<0>", "t t t t ");
}

static void test_cache_lifetimes(void) {
  CACHE(25, LONG SYSTEM "'tools':[{'name':'f'}],", "", "th sh 9h 24h ");
  CACHE(3, LONG SYSTEM "'tools':[{'name':'f'," MARK "}],", "", "t s 2 ");
  CACHE(3, LONG SYSTEM "'tools':[{'name':'f'," HOUR "}],", "", "th sh 2h ");
  CACHE(3, SHORT "'system':[{'type':'text','text':'s'," HOUR "}],'tools':[{'name':'f'}],", "", "th sh 2 ");
}

static void test_cache_blocks(void) {
  RENDER("{'model':'m'," SHORT "'messages':[{'role':'user','content':'q'}," CALLED "]}",
         "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
         "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','input':{}}]},"
         "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'," MARK "}]}]}");
  RENDER("{'model':'m'," SHORT "'messages':[{'role':'user','content':'q'},{'role':'assistant','content':["
         "{'type':'thinking','thinking':'t','signature':'s','cache_control':{'type':'ephemeral'}}]}]}",
         "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'," MARK "}]},"
         "{'role':'assistant','content':[{'type':'thinking','thinking':'t','signature':'s'}]}]}");
  REFUSE("{'model':'m','system':[{'type':'text','text':'s'," MARK "}],'tools':[{'name':'a'," MARK "},{'name':'b',"
         MARK "},{'name':'c'," MARK "},{'name':'d'," MARK "}],'messages':[{'role':'user','content':'q'}]}",
         "cache_control: at most 4 cache breakpoints on tools and system expected, got more");
}

/* }}} */

/* {{{ parsing */

/* A codec at work: parts as text, one per line. */
struct scene {
  struct mem m;
  struct arena a;
  struct quirks quirks;
  struct limits limits;
  struct parse p;
  struct events parts;
  struct buf text;
  struct err e;
  void *state;
  int r, oom;
};

static void scene_init(struct scene *s, const struct mem *m) {
  memset(s, 0, sizeof *s);
  s->m = *m;
  arena_init(&s->a, &s->m);
  quirks_default(&s->quirks);
  limits_default(&s->limits);
  s->p = (struct parse){ &s->m, &s->a, &s->quirks, &s->limits, NULL, 0, NULL };
  events_init(&s->parts, &s->m);
  buf_init(&s->text, &s->m);
  err_clear(&s->e);
  s->state = mem_alloc(&s->m, codec_anthropic.state_size);
  if (s->state == NULL) { s->oom = 1; return; }
  memset(s->state, 0, codec_anthropic.state_size);
  codec_anthropic.init(s->state, &s->p);
}

static void scene_free(struct scene *s) {
  if (s->state != NULL) {
    codec_anthropic.free(s->state);
    mem_free(&s->m, s->state, codec_anthropic.state_size);
  }
  events_free(&s->parts);
  buf_free(&s->text);
  arena_free(&s->a);
}

static void say(struct scene *s, const char *fmt, int64_t i) {
  char line[64];
  snprintf(line, sizeof line, fmt, (long long)i);
  s->oom |= buf_adds(&s->text, line);
}

static void say_str(struct scene *s, const char *before, struct str v) {
  s->oom |= buf_adds(&s->text, before);
  s->oom |= buf_addstr(&s->text, v);
}

static void describe(struct scene *s, const struct event *ev) {
  static const char *const NAME[] = {
    [PART_META] = "meta", [PART_TEXT] = "text", [PART_THINKING] = "thinking", [PART_SIGNATURE] = "signature",
    [PART_REDACTED] = "redacted", [PART_REFUSAL] = "refusal", [PART_OPAQUE] = "opaque", [PART_TOOL] = "tool",
    [PART_ARGS] = "args", [PART_RAW] = "raw", [PART_END] = "end", [PART_USAGE] = "usage", [PART_STOP] = "stop",
    [PART_CONTAINER] = "container", [PART_WARNING] = "warning", [PART_DONE] = "done"
  };
  s->oom |= buf_adds(&s->text, NAME[ev->type]);
  if (ev->type >= PART_TEXT && ev->type <= PART_END) say(s, " %lld", ev->key);
  if (ev->type == PART_USAGE) {
    say(s, " %lld", ev->usage.input);
    say(s, " %lld", ev->usage.output);
    say(s, " %lld", ev->usage.cache_read);
    say(s, " %lld", ev->usage.cache_creation);
    say(s, " %lld", ev->usage.reasoning);
    if (ev->usage.cache_hour > 0) say(s, " hour=%lld", ev->usage.cache_hour);
    if (ev->usage.unpriced != NULL) say_str(s, " ", (struct str){ ev->usage.unpriced, strlen(ev->usage.unpriced) });
  }
  if (ev->type == PART_STOP) say_str(s, " ", (struct str){ stop_name(ev->stop), strlen(stop_name(ev->stop)) });
  if (ev->flags) say(s, " flags=%lld", ev->flags);
  if (ev->id.n > 0) say_str(s, " ", ev->id);
  if (ev->name.n > 0) say_str(s, " ", ev->name);
  if (ev->text.n > 0) say_str(s, " ", ev->text);
  s->oom |= buf_adds(&s->text, "\n");
}

static void drain(struct scene *s) {
  const struct event *ev;
  while ((ev = events_take(&s->parts)) != NULL) describe(s, ev);
}

/* Hands the codec a record that is one event: 0, or -1. */
static int parse(struct scene *s, const char *name, struct str data) {
  const struct record record = { .name = { name, strlen(name) }, .data = data };
  return codec_anthropic.parse_record(s->state, &record, &s->parts, &s->e);
}

/* One event, its data as it is. */
static void feed_bytes(struct scene *s, const char *name, struct str data) {
  if (s->r != 0 || s->oom) return;
  arena_reset(&s->a);
  s->r = parse(s, name, data);
  drain(s);
}

static void feed(struct scene *s, const char *name, const char *data) {
  char text[TEXT_MAX];
  quoted(text, sizeof text, data);
  feed_bytes(s, name, (struct str){ text, strlen(text) });
}

static void end(struct scene *s) {
  if (s->r != 0 || s->oom || !codec_anthropic.ended(s->state)) return;
  arena_reset(&s->a);
  s->r = codec_anthropic.parse_end(s->state, &s->parts, &s->e);
  drain(s);
}

/* Runs events (a NULL ends them) to the end. */
static void run(struct scene *s, const struct mem *m, const char *const *events) {
  scene_init(s, m);
  for (; *events != NULL; events++) feed(s, "", *events);
  end(s);
}

/* Moves whatever grows and writes over what it gives back: a part whose strings lie there shows. */
static void *moving_f(void *ud, void *p, size_t osize, size_t nsize) {
  char *fresh = nsize > 0 ? malloc(nsize) : NULL;
  volatile char *old = p;
  (void)ud;
  if (nsize > 0 && fresh == NULL) return NULL;
  if (p != NULL && nsize > 0) memcpy(fresh, p, osize < nsize ? osize : nsize);
  for (size_t i = 0; p != NULL && i < osize; i++) old[i] = '#';
  free(p);
  return fresh;
}

/* The parts are the same when none is taken before the codec has read all. */
static void run_together(int line, const char *const *events, const char *expect) {
  static char texts[32][TEXT_MAX];
  struct mem m = { moving_f, NULL };
  struct scene s;
  scene_init(&s, &m);
  for (size_t i = 0; events[i] != NULL && s.r == 0 && i < 32; i++) {
    quoted(texts[i], sizeof texts[i], events[i]);
    s.r = parse(&s, "", (struct str){ texts[i], strlen(texts[i]) });
  }
  if (s.r == 0) s.r = codec_anthropic.parse_end(s.state, &s.parts, &s.e);
  drain(&s);
  CHECK(s.r == 0);
  same(line, s.text.p, s.text.n, expect);
  scene_free(&s);
}

/* Reads a plain answer to the end. */
static void run_bytes(struct scene *s, const struct mem *m, struct str body) {
  scene_init(s, m);
  s->r = codec_anthropic.parse_body(s->state, body, &s->parts, &s->e);
  drain(s);
  end(s);
}

static void run_body(struct scene *s, const struct mem *m, const char *body) {
  char text[TEXT_MAX];
  quoted(text, sizeof text, body);
  run_bytes(s, m, (struct str){ text, strlen(text) });
}

#define STREAM(expect, ...) do { \
    static const char *const EVENTS_[] = { __VA_ARGS__, NULL }; \
    struct mem m_ = mem_libc(); \
    struct scene s_; \
    run(&s_, &m_, EVENTS_); \
    CHECK(s_.r == 0 && codec_anthropic.ended(s_.state)); \
    if (s_.r != 0) fprintf(stderr, "  %s\n", s_.e.message); \
    same(__LINE__, s_.text.p, s_.text.n, expect); \
    scene_free(&s_); \
    run_together(__LINE__, EVENTS_, expect); \
  } while (0)

#define STREAM_FAILS(k, st, text, ...) do { \
    static const char *const EVENTS_[] = { __VA_ARGS__, NULL }; \
    struct mem m_ = mem_libc(); \
    struct scene s_; \
    run(&s_, &m_, EVENTS_); \
    CHECK(s_.r == -1 && s_.e.kind == (k) && s_.e.status == (st)); \
    CHECK_STR(s_.e.message, strlen(s_.e.message), text); \
    scene_free(&s_); \
  } while (0)

#define START "{'type':'message_start','message':{'type':'message','id':'msg_1','role':'assistant','model':'claude'," \
  "'content':[],'stop_reason':null,'stop_sequence':null,'usage':{'input_tokens':10,'output_tokens':1}}}"
#define STARTED "meta msg_1 claude\nusage 10 1 -1 -1 -1\n"
#define BLOCK(i, block) "{'type':'content_block_start','index':" #i ",'content_block':" block "}"
#define DELTA(i, delta) "{'type':'content_block_delta','index':" #i ",'delta':" delta "}"
#define TEXT(i, text) DELTA(i, "{'type':'text_delta','text':'" text "'}")
#define JSON(i, text) DELTA(i, "{'type':'input_json_delta','partial_json':'" text "'}")
#define STOP(i) "{'type':'content_block_stop','index':" #i "}"
#define ENDING(reason) \
  "{'type':'message_delta','delta':{'stop_reason':'" reason "','stop_sequence':null},'usage':{'output_tokens':5}}"
#define END "{'type':'message_stop'}"
#define PING "{'type':'ping'}"
#define ENDED(reason) "usage -1 5 -1 -1 -1\ndone\nstop " reason " " reason "\n"

static void test_stream_text(void) {
  STREAM(STARTED "text 0\ntext 0 Hel\ntext 0 lo\nend 0\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'text','text':''}"), PING, TEXT(0, "Hel"), TEXT(0, "lo"), STOP(0),
         ENDING("end_turn"), END);
  /* other key orders, padding, unknown fields, deltas and events */
  STREAM(STARTED "text 0 a\ntext 0 b\nend 0\n" ENDED("end_turn"),
         START, "{'content_block':{'text':'a','type':'text','citations':null},'index':0,'type':'content_block_start'}",
         "{ 'delta' : {'text':'b','new':{'a':[1]},'type':'text_delta'} , 'index':0, 'x':null,"
         "'type':'content_block_delta'   } ", DELTA(0, "{'type':'new_delta','text':'no'}"), "{'type':'new_event'}",
         STOP(0), ENDING("end_turn"), END);
  /* a surrogate pair cut in two */
  STREAM(STARTED "text 0\ntext 0 flags=1 \xED\xA0\xBD\ntext 0 flags=1 \xED\xB8\x80!\nend 0\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'text','text':''}"), TEXT(0, "\\ud83d"), TEXT(0, "\\ude00!"), STOP(0),
         ENDING("end_turn"), END);
  /* what comes after the end, and [DONE], says nothing */
  STREAM(STARTED ENDED("end_turn"), START, "[DONE]", ENDING("end_turn"), END, "[DONE]", "no json", START);
  /* a block that was never begun or never stopped; sparse and late stops */
  STREAM(STARTED "text 0\ntext 0 a\nthinking 1\nthinking 1 b\nusage -1 5 -1 -1 -1\nend 0\nend 1\ndone\n"
         "stop end_turn end_turn\n",
         START, TEXT(7, "a"), DELTA(9, "{'type':'thinking_delta','thinking':'b'}"),
         DELTA(11, "{'type':'citations_delta','citation':{}}"),
         STOP(3), ENDING("end_turn"), END);
}

static void test_stream_names(void) {
  struct mem m = mem_libc();
  struct scene s;
  scene_init(&s, &m);
  feed(&s, "content_block_delta", "{'index':0,'delta':{'type':'text_delta','text':'a'}}");
  feed(&s, "wrong_name", TEXT(0, "b"));
  feed(&s, "message_stop", "{}");
  CHECK(s.r == 0 && codec_anthropic.ended(s.state));
  CHECK_STR(s.text.p, s.text.n, "text 0\ntext 0 a\ntext 0 b\nend 0\ndone\n");
  scene_free(&s);
}

static void test_stream_thinking(void) {
  STREAM(STARTED "thinking 0\nthinking 0 hm\nthinking 0\nsignature 0 one\nsignature 0 two\nend 0\nredacted 1 blob\n"
         "thinking 2\nsignature 2 s\nend 2\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'thinking','thinking':'','signature':''}"),
         DELTA(0, "{'type':'thinking_delta','thinking':'hm'}"), DELTA(0, "{'type':'thinking_delta','thinking':''}"),
         DELTA(0, "{'type':'signature_delta','signature':'one'}"),
         DELTA(0, "{'signature':'two','type':'signature_delta'}"),
         STOP(0), BLOCK(1, "{'type':'redacted_thinking','data':'blob'}"), STOP(1),
         BLOCK(2, "{'type':'thinking','thinking':''}"), DELTA(2, "{'type':'signature_delta','signature':'s'}"), STOP(2),
         ENDING("end_turn"), END);
}

static void test_stream_tools(void) {
  STREAM(STARTED "tool 0 t1 f\nargs 0 {'a'\nargs 0 : 1}\nraw 0 {'caller':{'type':'direct'}}\nend 0\n"
         "tool 1 t2 g\nend 1\ntool 2 t3 h\nargs 2 {'x':1}\nend 2\n" ENDED("tool_use"),
         START,
         BLOCK(0, "{'type':'tool_use','id':'t1','name':'f','input':{},'caller':{'type':'direct'},'toolset_name':null}"),
         JSON(0, ""), JSON(0, "{\\'a\\'"), JSON(0, ": 1}"), STOP(0),
         BLOCK(1, "{'type':'tool_use','id':'t2','name':'g','input':{ }}"), JSON(1, ""), STOP(1),
         BLOCK(2, "{'type':'tool_use','id':'t3','name':'h','input':{'x':1}}"), STOP(2), ENDING("tool_use"), END);
  /* interleaved, and the placeholder loses against deltas */
  STREAM(STARTED "tool 0 a f\ntool 1 b f\nargs 0 {\nargs 1 [\nargs 0 }\nend 0\nend 1\n" ENDED("tool_use"),
         START, BLOCK(0, "{'type':'tool_use','id':'a','name':'f','input':{'p':1}}"),
         BLOCK(1, "{'type':'tool_use','id':'b','name':'f','input':null}"), JSON(0, "{"), JSON(1, "["), JSON(0, "}"),
         STOP(0), STOP(1), ENDING("tool_use"), END);
  /* an index used again is a new block */
  STREAM(STARTED "text 0 a\nend 0\ntext 1 b\nend 1\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'text','text':'a'}"), BLOCK(0, "{'type':'text','text':'b'}"), STOP(0),
         ENDING("end_turn"), END);
}

static void test_stream_others(void) {
  STREAM(STARTED "opaque 0 server_tool_use {'type':'server_tool_use','id':'s','input':{'q': 1},'name':'web'}\n"
         "opaque 1 web_search_tool_result { 'type': 'web_search_tool_result', 'content':[1.0]}\n"
         "text 2\ntext 2 T\nraw 2 {'citations':[{ 'a':1},{'b':'\\u00e9'}]}\nend 2\n"
         "usage -1 5 -1 -1 -1 server_tools\ndone\nstop end_turn end_turn\n",
         START, BLOCK(0, "{'type':'server_tool_use','id':'s','input':{},'name':'web'}"), JSON(0, ""),
         JSON(0, "{\\'q\\'"), JSON(0, ": 1}"), STOP(0),
         BLOCK(1, "{ 'type': 'web_search_tool_result', 'content':[1.0]}"), STOP(1),
         BLOCK(2, "{'citations':[],'type':'text','text':''}"),
         DELTA(2, "{'type':'citations_delta','citation':{ 'a':1}}"), TEXT(2, "T"),
         DELTA(2, "{'type':'citations_delta','citation':{'b':'\\u00e9'}}"), STOP(2), ENDING("end_turn"), END);
  /* a member that the block did not begin with; input cut short; a delta that nobody knows */
  STREAM(STARTED "opaque 0 compaction {'type':'compaction','content':'sum'}\n"
         "opaque 1 mcp_tool_use {'type':'mcp_tool_use','input':{'INVALID_JSON':'{\\'q'}}\n"
         "opaque 2 fallback {'type':'fallback','x':{}}\n" ENDED("end_turn"),
         START, BLOCK(0, "{'type':'compaction'}"), DELTA(0, "{'type':'compaction_delta','content':null}"),
         DELTA(0, "{'type':'compaction_delta','content':'sum'}"), STOP(0),
         BLOCK(1, "{'type':'mcp_tool_use'}"), JSON(1, "{\\'q"), STOP(1),
         BLOCK(2, "{'type':'fallback','x':{}}"), TEXT(2, "ignored"), STOP(2), ENDING("end_turn"), END);
  /* where code ran: in the message or at its end; anything but an object with an id says nothing */
  STREAM(STARTED "container {'id':'c','x':[1]}\ndone\nstop end_turn end_turn\n", START,
         "{'type':'message_delta','delta':{'stop_reason':'end_turn','container':{'id':'c','x':[1]}}}", END);
  STREAM("meta m c\ncontainer {'id':'c'}\n" ENDED("end_turn"),
         "{'type':'message_start','message':{'id':'m','model':'c','container':{'id':'c'}}}",
         "{'type':'message_delta','delta':{'container':null}}",
         "{'type':'message_delta','delta':{'container':{'id':7}}}", "{'type':'message_delta','delta':{'container':'c'}}",
         ENDING("end_turn"), END);
  /* complete blocks inside message_start */
  STREAM("meta m c\ntool 0 t f\nargs 0 {'x':2}\nend 0\ntext 1 after\nend 1\n" ENDED("tool_use"),
         "{'type':'message_start','message':{'id':'m','model':'c','content':[{'type':'tool_use','id':'t','name':'f',"
         "'input':{'x':2}}]}}", BLOCK(0, "{'type':'text','text':'after'}"), STOP(0), ENDING("tool_use"), END);
}

static void test_stream_usage(void) {
  STREAM("meta m c\nusage 3 1 4202 7 -1 hour=2\nusage -1 9 -1 -1 53\nusage 4 10 -1 -1 0\ndone\n"
         "stop stop_sequence ### stop_sequence\n",
         "{'type':'message_start','message':{'id':'m','model':'c','usage':{'input_tokens':3,'output_tokens':1,"
         "'cache_read_input_tokens':4202,'cache_creation_input_tokens':null,"
         "'cache_creation':{'ephemeral_5m_input_tokens':5,"
         "'ephemeral_1h_input_tokens':2},'service_tier':'standard'}}}",
         "{'type':'message_delta','delta':{},'usage':{'input_tokens':null,'output_tokens':9,"
         "'output_tokens_details':{'thinking_tokens':53}}}",
         "{'type':'message_delta','delta':{'stop_sequence':'###','stop_reason':'stop_sequence'},"
         "'usage':{'input_tokens':4.0,'output_tokens':10,'output_tokens_details':{}}}",
         "{'type':'message_delta','delta':{'stop_reason':null},'usage':null}", END);
  /* No count: below 0, above 2^53, other values. A sum stays within what a count can be. */
  STREAM("meta m c\nusage -1 -1 -1 9007199254740992 -1\nusage -1 9007199254740992 -1 3 -1\ndone\n"
         "stop end_turn end_turn\n",
         "{'type':'message_start','message':{'id':'m','model':'c','usage':{'input_tokens':9223372036854775807,"
         "'output_tokens':-1,'cache_read_input_tokens':1e16,'output_tokens_details':7,"
         "'cache_creation':{'a':9007199254740992,'b':9007199254740992,'c':9223372036854775807}}}}",
         "{'type':'message_delta','delta':{'stop_reason':'end_turn'},'usage':{'input_tokens':9007199254740993,"
         "'output_tokens':9007199254740992,'cache_creation':{'a':9223372036854775807,'b':1,'c':'x','d':2}}}", END);
}

#define SPENT(parts, u) STREAM("meta m c\n" parts "done\n", \
                               "{'type':'message_start','message':{'id':'m','model':'c','usage':" u "}}", END)

/* What the counts do not price; values of other kinds say nothing. */
static void test_unpriced(void) {
  SPENT("usage 1 2 -1 -1 -1\n", "{'input_tokens':1,'output_tokens':2,'iterations':[{'type':'message','input_tokens':1,"
        "'cache_creation':{'a':[1]}},{'x':{}},7,[8],null],'server_tool_use':{'web_search_requests':0,"
        "'web_fetch_requests':4},'service_tier':'standard','inference_geo':'not_available','speed':null}");
  SPENT("usage 1 -1 -1 -1 -1\n", "{'input_tokens':1,'iterations':{},'server_tool_use':[],'service_tier':{},"
        "'inference_geo':{'a':1},'speed':[]}");
  SPENT("usage 1 -1 -1 -1 -1 iterations\n",
        "{'input_tokens':1,'iterations':[{'input_tokens':[{}],'type':'compaction'},{'type':'message'}]}");
  SPENT("usage 1 -1 -1 -1 -1 server_tools\n", "{'server_tool_use':{'x':{},'web_search_requests':2},'input_tokens':1}");
  SPENT("usage 1 -1 -1 -1 -1 service_tier\n", "{'service_tier':'prior\\u0069ty','input_tokens':1}");
  SPENT("usage 1 -1 -1 -1 -1 region\n", "{'inference_geo':'us','input_tokens':1}");
  SPENT("usage 1 -1 -1 -1 -1 speed\n", "{'speed':'fast','input_tokens':1}");
  SPENT("usage -1 -1 -1 9 -1 hour=4\n",
        "{'cache_creation':{'ephemeral_5m_input_tokens':5,'ephemeral_1h_input_tokens':4,"
        "'ephemeral_1d_input_tokens':0}}");
  SPENT("usage -1 -1 -1 9 -1\n", "{'cache_creation':{'ephemeral_1h_input_tokens':4,'ephemeral_1d_input_tokens':5}}");
}

static void test_stops(void) {
  STREAM(STARTED "usage -1 5 -1 -1 -1\ndone\nstop max_tokens max_tokens\n", START, ENDING("max_tokens"), END);
  STREAM(STARTED "usage -1 5 -1 -1 -1\ndone\nstop pause_turn pause_turn\n", START, ENDING("pause_turn"), END);
  STREAM(STARTED "usage -1 5 -1 -1 -1\ndone\nstop context_overflow model_context_window_exceeded\n", START,
         ENDING("model_context_window_exceeded"), END);
  STREAM(STARTED "usage -1 5 -1 -1 -1\ndone\nwarning unknown_stop_reason stop_reason compaction\n"
         "stop end_turn compaction\n",
         START, ENDING("compaction"), END);
  STREAM(STARTED "warning refusal stop_reason cyber: why\ndone\nstop refusal refusal\n", START,
         "{'type':'message_delta','delta':{'stop_reason':'refusal','stop_details':{'type':'refusal','category':'cyber',"
         "'explanation':'why'}}}", END);
  STREAM(STARTED "done\nstop refusal refusal\n", START,
         "{'type':'message_delta','delta':{'stop_reason':'refusal','stop_details':null}}", END);
  STREAM(STARTED "done\n", START, END);
}

static void test_stream_errors(void) {
  STREAM_FAILS(KIND_OVERLOADED, 529, "Overloaded", START, TEXT(0, "a"),
               "{'type':'error','error':{'type':'overloaded_error','message':'Overloaded'},'request_id':'r'}");
  STREAM_FAILS(KIND_RATE_LIMIT, 429, "slow", "{'error':{'type':'rate_limit_error','message':'slow'}}");
  STREAM_FAILS(KIND_SERVER, 500, "odd", "{'type':'error','error':{'type':'odd_error','message':'odd'}}");
  STREAM_FAILS(KIND_PROTOCOL, 0, "a second message began inside the first", START,
               "{'type':'message_start','message':{'id':'msg_2'}}");
  STREAM(STARTED "text 0\ntext 0 a\nusage -1 5 -1 -1 -1\nend 0\ndone\nstop end_turn end_turn\n",
         START, TEXT(0, "a"), START, ENDING("end_turn"), END);
  STREAM_FAILS(KIND_PROTOCOL, 0, "the model stopped for a tool call but sent none", START, ENDING("tool_use"), END);
  STREAM_FAILS(KIND_PROTOCOL, 0, "a tool call's input without its start", START, JSON(0, "{"));
  STREAM_FAILS(KIND_PROTOCOL, 0, "text_delta for a content block of another type", START,
               BLOCK(0, "{'type':'thinking','thinking':''}"), TEXT(0, "a"));
  STREAM_FAILS(KIND_PROTOCOL, 0, "an event is no object", "[1]");
  STREAM_FAILS(KIND_PROTOCOL, 0, "message_start without a message", "{'type':'message_start','message':null}");
  STREAM_FAILS(KIND_PROTOCOL, 0, "a content block is no object", BLOCK(0, "7"));
}

static void test_protocol_details(void) {
  static const char *const EMPTY[] = { START, ENDING("tool_use"), END, NULL };
  static const char *const CUT[] = { START, "{'type':'ping'", NULL };
  struct mem m = mem_libc();
  struct scene s;
  run(&s, &m, EMPTY);
  CHECK_STR(s.e.code, strlen(s.e.code), "empty_tool_turn");
  CHECK(s.e.retryable == 1);
  scene_free(&s);
  run(&s, &m, CUT);
  CHECK(s.r == -1 && s.e.kind == KIND_PROTOCOL && s.e.offset == 14);
  scene_free(&s);
}

static void test_limits(void) {
  struct mem m = mem_libc();
  struct scene s;
  scene_init(&s, &m);
  s.limits.blocks = 2;
  feed(&s, "", BLOCK(0, "{'type':'text'}"));
  feed(&s, "", BLOCK(1, "{'type':'text'}"));
  CHECK(s.r == 0);
  feed(&s, "", BLOCK(2, "{'type':'text'}"));
  CHECK(s.r == -1 && s.e.kind == KIND_LIMIT);
  scene_free(&s);
  scene_init(&s, &m);
  s.limits.argument_bytes = 3;
  feed(&s, "", BLOCK(0, "{'type':'server_tool_use'}"));
  feed(&s, "", JSON(0, "abc"));
  CHECK(s.r == 0);
  feed(&s, "", JSON(0, "d"));
  CHECK(s.r == -1 && s.e.kind == KIND_LIMIT);
  scene_free(&s);
}

/* }}} */

/* {{{ the round trip: what came goes back byte for byte */

/* Feeds events (a NULL ends them) to a codec and its parts to a message. */
static void gather(struct scene *s, struct message *msg, const char *const *events) {
  struct events deltas;
  events_init(&deltas, &s->m);
  for (; *events != NULL; events++) {
    char text[TEXT_MAX];
    const struct event *part;
    quoted(text, sizeof text, *events);
    arena_reset(&s->a);
    CHECK(parse(s, "", (struct str){ text, strlen(text) }) == 0);
    while ((part = events_take(&s->parts)) != NULL) CHECK(message_add(msg, part, &deltas, &s->e) == 0);
  }
  CHECK(message_end(msg, &deltas, &s->e) == 0);
  events_free(&deltas);
}

static void test_round_trip(void) {
  static const char *const EVENTS[] = {
    START, BLOCK(0, "{'type':'thinking','thinking':'','signature':''}"),
    DELTA(0, "{'type':'thinking_delta','thinking':'hm \\u00e9'}"),
    DELTA(0, "{'type':'signature_delta','signature':'S+/='}"), STOP(0),
    BLOCK(1, "{'type':'redacted_thinking','data':'D'}"), STOP(1),
    BLOCK(2, "{'type':'server_tool_use','id':'s','name':'web','input':{},'caller':{'b':1,'a':2}}"),
    JSON(2, "{ \\'q\\' :1.50}"), STOP(2),
    BLOCK(3, "{ 'type':'web_search_tool_result', 'content':[{'encrypted':'x\\/'}] }"),
    STOP(3), BLOCK(4, "{'type':'text','text':'','citations':[]}"), TEXT(4, "cited"),
    DELTA(4, "{'type':'citations_delta','citation':{ 'encrypted_index' : 'i' }}"), STOP(4),
    BLOCK(5, "{'type':'tool_use','id':'toolu_1','name':'f','input':{},'caller':{'type':'direct'}}"),
    JSON(5, "{\\'b\\': 1,"), JSON(5, "\\'a\\': 1.0}"), STOP(5), ENDING("tool_use"), END, NULL
  };
  static const char REQUEST[] =
    "{'model':'m','messages':[{'role':'user','content':'q'},{'role':'assistant'},"
    "{'role':'user','content':[{'type':'tool_result','tool_use_id':'toolu_1','content':'r'}]}]}";
  struct mem m = mem_libc();
  struct scene s;
  struct message msg;
  struct arena a;
  struct buf body, path;
  struct quirks q;
  struct node *request, *message;
  char text[TEXT_MAX];
  arena_init(&a, &m);
  buf_init(&body, &m);
  buf_init(&path, &m);
  quirks_default(&q);
  scene_init(&s, &m);
  message_init(&msg, &m, &s.limits, &HERE, 1);
  gather(&s, &msg, EVENTS);
  quoted(text, sizeof text, REQUEST);
  request = json_tree(&a, (struct str){ text, strlen(text) }, 64, &s.e);
  message = message_node(&msg, &a, 0);
  CHECK(node_set(node_get(request, "messages")->child->next, STR("content"), node_get(message, "content")) == 0);
  struct render r = {
    .a = &a, .quirks = &q, .provider = STR("anthropic"), .request = request, .body = &body, .path = &path,
    .headers = node_new(&a, NODE_OBJECT), .warnings = node_new(&a, NODE_ARRAY)
  };
  CHECK(codec_anthropic.render(&r, &s.e) == 0 && r.warnings->count == 0);
  same(__LINE__, body.p, body.n,
       "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
       "{'role':'assistant','content':[{'type':'thinking','thinking':'hm \xC3\xA9','signature':'S+/='},"
       "{'type':'redacted_thinking','data':'D'},"
       "{'type':'server_tool_use','id':'s','name':'web','input':{ 'q' :1.50},'caller':{'b':1,'a':2}},"
       "{ 'type':'web_search_tool_result', 'content':[{'encrypted':'x\\/'}] },"
       "{'type':'text','text':'cited','citations':[{ 'encrypted_index' : 'i' }]},"
       "{'type':'tool_use','id':'toolu_1','name':'f','input':{'b': 1,'a': 1.0},'caller':{'type':'direct'}}]},"
       "{'role':'user','content':[{'type':'tool_result','tool_use_id':'toolu_1','content':'r'}]}]}");
  message_free(&msg);
  scene_free(&s);
  buf_free(&body);
  buf_free(&path);
  arena_free(&a);
}

/* }}} */

/* {{{ plain answers */

#define BODY(expect, body) do { \
    struct mem m_ = mem_libc(); \
    struct scene s_; \
    run_body(&s_, &m_, body); \
    CHECK(s_.r == 0 && codec_anthropic.ended(s_.state)); \
    if (s_.r != 0) fprintf(stderr, "  %s\n", s_.e.message); \
    same(__LINE__, s_.text.p, s_.text.n, expect); \
    scene_free(&s_); \
  } while (0)

#define BODY_FAILS(k, st, text, body) do { \
    struct mem m_ = mem_libc(); \
    struct scene s_; \
    run_body(&s_, &m_, body); \
    CHECK(s_.r == -1 && s_.e.kind == (k) && s_.e.status == (st)); \
    CHECK_STR(s_.e.message, strlen(s_.e.message), text); \
    scene_free(&s_); \
  } while (0)

static void test_bodies(void) {
  BODY("meta m c\nthinking 0 t\nsignature 0 s\nend 0\nredacted 1 d\ntext 2 hi\nraw 2 {'citations':[{'a':1},2]}\nend 2\n"
       "opaque 3 server_tool_use {'type':'server_tool_use','input':{ }}\ntool 4 i f\nargs 4 {\n 'x': 1.50 }\n"
       "raw 4 {'caller':1}\nend 4\nusage 1 2 3 4 5 server_tools\nstop tool_use tool_use\n",
       "\xEF\xBB\xBF\n{'content':[{'type':'thinking','thinking':'t','signature':'s'},"
       "{'type':'redacted_thinking','data':'d'},{'citations':[{'a':1}, 2],'type':'text','text':'hi'},"
       "{'type':'server_tool_use','input':{ }},"
       "{'type':'tool_use','id':'i','name':'f','input':{\n 'x': 1.50 },'caller':1}],'id':'m','model':'c',"
       "'role':'assistant','stop_reason':'tool_use','stop_sequence':null,'type':'message','usage':{'input_tokens':1,"
       "'output_tokens':2,'cache_read_input_tokens':3,'cache_creation_input_tokens':4,"
       "'output_tokens_details':{'thinking_tokens':5}}}  \n");
  BODY("meta\nstop end_turn end_turn\n", "{'type':'message','content':[],'stop_reason':'end_turn'}");
  BODY("meta\n", "{'type':'message'}");
  BODY_FAILS(KIND_OVERLOADED, 529, "busy", "{'type':'error','error':{'type':'overloaded_error','message':'busy'}}");
  BODY_FAILS(KIND_SERVER, 500, "broken", "{'error':'broken'}");
  BODY_FAILS(KIND_PROTOCOL, 0, "the answer is no message of the Anthropic Messages format", "{'choices':[]}");
  BODY_FAILS(KIND_PROTOCOL, 0, "the answer is no object", "[]");
  BODY_FAILS(KIND_PROTOCOL, 0, "the model stopped for a tool call but sent none",
             "{'type':'message','content':[{'type':'text','text':'x'}],'stop_reason':'tool_use'}");
}

static void test_broken_bodies(void) {
  static const char WHOLE[] =
    "{'type':'message','content':[{'type':'text','text':'a','citations':[{}]}],'usage':{'input_tokens':1}}";
  struct mem m = mem_libc();
  char text[TEXT_MAX];
  quoted(text, sizeof text, WHOLE);
  for (size_t n = 0; n < sizeof WHOLE - 1; n++) {
    struct scene s;
    run_bytes(&s, &m, (struct str){ text, n });
    CHECK(s.r == -1 && s.e.kind == KIND_PROTOCOL && !codec_anthropic.ended(s.state));
    scene_free(&s);
  }
}

/* }}} */

/* {{{ memory */

static void test_render_memory(void) {
  static const char REQUEST[] =
    "{'model':'m','stream':true,'cache_retention':'long','system':[{'type':'text','text':'s'}],'betas':['a','b'],"
    "'metadata':{'user_id':'u','x':1},'tools':[" TOOL ",{'type':'bash_1','name':'b','server_tool':true}],'tool_choice':'any','thinking':'low','temperature':1,"
    "'extra':{'b':1,'a':2,'container':{}},'stop_sequences':['x'],'messages':[{'role':'user','content':[{'type':'document',"
    "'source':'SGVsbG8=','media_type':'text/plain'}]}," CALLED ",{'role':'assistant','content':[{'type':'text',"
    "'text':'t'," OWN("{\\'citations\\':[1]}") "}," BOXED("c", "") "]},{'role':'user','content':'q'}]}";
  size_t at = 1;
  for (int done = 0; !done; at++) {
    struct failing f = { .fail_at = at };
    struct mem m = failing_mem(&f);
    struct shot s;
    shoot(&s, &m, REQUEST, NULL, 0);
    done = s.r == 0;
    if (!done) CHECK(s.e.kind == KIND_MEMORY);
    shot_free(&s);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(at > 10);
}

static void test_parse_memory(void) {
  static const char *const EVENTS[] = {
    START, BLOCK(0, "{'type':'text','text':'\\u0041','citations':[{}]}"), TEXT(0, "\\u0042"),
    DELTA(0, "{'type':'citations_delta','citation':{}}"), STOP(0),
    BLOCK(1, "{'type':'server_tool_use','input':{}}"), JSON(1, "{\\'a"), STOP(1),
    BLOCK(2, "{'type':'tool_use','id':'i','name':'f','input':{'a':1},'caller':1}"), STOP(2),
    "{'type':'message_delta','delta':{'stop_reason':'odd','stop_details':{'category':'c'},'container':{'id':'\\u0041'}},"
    "'usage':{}}", END, NULL
  };
  size_t at = 1;
  for (int done = 0; !done; at++) {
    struct failing f = { .fail_at = at };
    struct mem m = failing_mem(&f);
    struct scene s;
    run(&s, &m, EVENTS);
    done = !s.oom && s.r == 0;
    if (s.r != 0) CHECK(s.e.kind == KIND_MEMORY);
    scene_free(&s);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(at > 10);
}

/* }}} */

/* {{{ recordings: KOINE_RECORDINGS names a directory of recorded exchanges */

static int read_file(const char *path, struct buf *b) {
  FILE *f = fopen(path, "rb");
  char chunk[4096];
  size_t n;
  if (f == NULL) return -1;
  while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
    if (buf_add(b, chunk, n) != 0) break;
  fclose(f);
  return 0;
}

/* Feeds the data lines of a recorded stream. */
static void replay_stream(struct scene *s, struct str body) {
  const char *p = body.p, *stop = body.p + body.n;
  while (p < stop) {
    const char *lf = memchr(p, '\n', (size_t)(stop - p));
    size_t n = (size_t)((lf ? lf : stop) - p);
    if (n > 6 && memcmp(p, "data: ", 6) == 0) feed_bytes(s, "", (struct str){ p + 6, n - 6 });
    p = lf ? lf + 1 : stop;
  }
  end(s);
}

/* The kind of a recorded error, read by hand in the recording of that name; KIND_NONE: nobody has read it. */
static enum kind recorded_kind(const char *path) {
  static const struct { const char *name; enum kind kind; } READ[] = {
    { "/error-401.json", KIND_AUTH },
    { "/error-400-context.json", KIND_CONTEXT_OVERFLOW },
    { "/error-400-strict-optional-limit.json", KIND_INVALID_REQUEST },
    { "/error-400-strict-recursive.json", KIND_INVALID_REQUEST },
  };
  for (size_t i = 0; i < sizeof READ / sizeof *READ; i++)
    if (strstr(path, READ[i].name) != NULL) return READ[i].kind;
  return KIND_NONE;
}

static void replay(const char *path) {
  struct mem m = mem_libc();
  struct buf file;
  struct arena a;
  struct err e;
  struct node *response;
  struct scene s;
  struct str body;
  int64_t status;
  buf_init(&file, &m);
  arena_init(&a, &m);
  CHECK(read_file(path, &file) == 0);
  response = node_get(json_tree(&a, buf_str(&file), 64, &e), "response");
  body = node_str(node_get(response, "body"));
  CHECK(node_is(node_get(response, "status"), NODE_INT) && body.n > 0);
  status = node_get(response, "status")->u.i;
  if (status != 200) {
    codec_error(&a, (int)status, body, &e);
    CHECK(e.status == status && e.kind == recorded_kind(path));
  } else {
    if (body.p[0] == '{') run_bytes(&s, &m, body);
    else {
      scene_init(&s, &m);
      replay_stream(&s, body);
    }
    if (s.r != 0) fprintf(stderr, "%s: %s\n", path, s.e.message);
    CHECK(s.r == 0 && codec_anthropic.ended(s.state));
    CHECK(memmem(s.text.p, s.text.n, "\nstop ", 6) != NULL);
    CHECK(memmem(s.text.p, s.text.n, "unknown_stop_reason", 19) == NULL);
    scene_free(&s);
  }
  buf_free(&file);
  arena_free(&a);
}

static void test_recordings(void) {
  static const char *const FOLDER[] = { "anthropic-messages", "copilot-messages" };
  const char *root = getenv("KOINE_RECORDINGS");
  int n = 0;
  if (root == NULL) { printf("codec/anthropic: recordings skipped (KOINE_RECORDINGS is not set)\n"); return; }
  for (int i = 0; i < 2; i++) {
    char path[1024];
    struct dirent *entry;
    DIR *d;
    snprintf(path, sizeof path, "%s/%s", root, FOLDER[i]);
    d = opendir(path);
    CHECK(d != NULL);
    while (d != NULL && (entry = readdir(d)) != NULL) {
      if (strstr(entry->d_name, ".json") == NULL) continue;
      snprintf(path, sizeof path, "%s/%s/%s", root, FOLDER[i], entry->d_name);
      replay(path);
      n++;
    }
    if (d != NULL) closedir(d);
  }
  CHECK(n > 0);
}

/* }}} */

int main(void) {
  test_settings();
  test_not_finite();
  test_path();
  test_rest();
  test_system();
  test_tools();
  test_thinking_modes();
  test_thinking_off();
  test_thinking_conflicts();
  test_prefill();
  test_media();
  test_calls();
  test_replay();
  test_container();
  test_merging();
  test_count();
  test_cache();
  test_cache_lifetimes();
  test_cache_blocks();
  test_stream_text();
  test_stream_names();
  test_stream_thinking();
  test_stream_tools();
  test_stream_others();
  test_stream_usage();
  test_unpriced();
  test_stops();
  test_stream_errors();
  test_protocol_details();
  test_limits();
  test_round_trip();
  test_bodies();
  test_broken_bodies();
  test_render_memory();
  test_parse_memory();
  test_recordings();
  return test_done("codec/anthropic/anthropic");
}
