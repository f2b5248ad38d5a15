/* answers.c: plain answers, and the round trip, in which what came goes back byte for byte. */
#include "events.h"
#include "core/message/message.h"

static const struct origin HERE = { { "here", 4 }, { "m", 1 }, { "anthropic", 9 } };

static void test_bodies(void) {
  BODY("meta m model c\nthinking 0 t\nsignature 0 s\nend 0\nredacted 1 d\ntext 2 hi\n"
       "raw 2 {'citations':[{'a':1},2]}\nend 2\nopaque 3 server_tool_use {'type':'server_tool_use','input':{ }}\ntool 4 i f\nargs 4 {\n 'x': 1.50 }\n"
       "raw 4 {'caller':1}\nend 4\nusage in=1 out=2 read=3 written=4 reasoning=5 unpriced=server_tools\n"
       "stop tool_use tool_use\n",
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
  const char *text = json(WHOLE);
  for (size_t n = 0; n < sizeof WHOLE - 1; n++) {
    struct parsing x;
    parsing_open(&x, &CODEC, &m);
    parsing_begin(&x);
    CHECK(CODEC.parse_body(x.state, (struct str){ text, n }, &x.parts, &x.e) == -1);
    CHECK(x.e.kind == KIND_PROTOCOL && !CODEC.ended(x.state));
    parsing_close(&x);
  }
}

/* Feeds events (a NULL ends them) to a codec and its parts to a message. */
static void gather(struct parsing *s, struct message *msg, const char *const *events) {
  struct events deltas;
  events_init(&deltas, &s->m);
  for (; *events != NULL; events++) {
    const struct event *part;
    arena_reset(&s->a);
    CHECK(parsing_record(s, "", z(json(*events))) == 0);
    while ((part = events_take(&s->parts)) != NULL) CHECK(message_add(msg, part, &deltas, &s->e) == 0);
  }
  CHECK(message_end(msg, &deltas, &s->e) == 0);
  events_free(&deltas);
}

static void test_round_trip(void) {
  static const char *const PIECES[] = {
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
  struct parsing s;
  struct rendering x;
  struct message msg;
  struct node *message;
  parsing_open(&s, &CODEC, &m);
  parsing_begin(&s);
  message_init(&msg, &m, &s.limits, &HERE, 1);
  gather(&s, &msg, PIECES);
  CHECK(rendering_open(&x, &CODEC, &m, REQUEST) == 0);
  message = message_node(&msg, &x.a, 0);
  CHECK(node_set(node_get(x.r.request, "messages")->child->next, STR("content"), node_get(message, "content")) == 0);
  CHECK(CODEC.render(&x.r, &x.e) == 0 && x.r.warnings->count == 0);
  CHECK_STR(x.body.p, x.body.n, json(
       "{'model':'m','max_tokens':8192,'messages':[{'role':'user','content':[{'type':'text','text':'q'}]},"
       "{'role':'assistant','content':[{'type':'thinking','thinking':'hm \xC3\xA9','signature':'S+/='},"
       "{'type':'redacted_thinking','data':'D'},"
       "{'type':'server_tool_use','id':'s','name':'web','input':{ 'q' :1.50},'caller':{'b':1,'a':2}},"
       "{ 'type':'web_search_tool_result', 'content':[{'encrypted':'x\\/'}] },"
       "{'type':'text','text':'cited','citations':[{ 'encrypted_index' : 'i' }]},"
       "{'type':'tool_use','id':'toolu_1','name':'f','input':{'b': 1,'a': 1.0},'caller':{'type':'direct'}}]},"
       "{'role':'user','content':[{'type':'tool_result','tool_use_id':'toolu_1','content':'r'}]}]}"));
  message_free(&msg);
  parsing_close(&s);
  rendering_close(&x);
}

/* Parts that no other case has, for the allocations that they make. */
static void test_parse_memory(void) {
  STREAM(STARTED "text 0 A\ntext 0 B\nraw 0 {'citations':[{},{}]}\nend 0\n"
         "opaque 1 server_tool_use {'type':'server_tool_use','input':{'INVALID_JSON':'{\\'a'}}\n"
         "tool 2 i f\nargs 2 {'a':1}\nraw 2 {'caller':1}\nend 2\ncontainer {'id':'\\u0041'}\n"
         "warning refusal stop_reason c\nusage unpriced=server_tools\ndone\n"
         "warning unknown_stop_reason stop_reason odd\nstop end_turn odd\n",
         START, BLOCK(0, "{'type':'text','text':'\\u0041','citations':[{}]}"), TEXT(0, "\\u0042"),
         DELTA(0, "{'type':'citations_delta','citation':{}}"), STOP(0),
         BLOCK(1, "{'type':'server_tool_use','input':{}}"), JSON(1, "{\\'a"), STOP(1),
         BLOCK(2, "{'type':'tool_use','id':'i','name':'f','input':{'a':1},'caller':1}"), STOP(2),
         "{'type':'message_delta','delta':{'stop_reason':'odd','stop_details':{'category':'c'},"
         "'container':{'id':'\\u0041'}},'usage':{}}", END);
}

int main(void) {
  test_bodies();
  test_broken_bodies();
  test_round_trip();
  test_parse_memory();
  return test_done("codec/anthropic/answers");
}
