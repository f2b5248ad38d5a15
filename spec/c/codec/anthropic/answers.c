/* answers.c: plain answers; the round trip, in which what came goes back byte for byte; each allocation fails in turn. */
#include "events.h"
#include "core/message/message.h"

static const struct origin HERE = { { "anthropic", 9 }, { "m", 1 }, { "anthropic", 9 } };

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
  const char *text = json(WHOLE);
  for (size_t n = 0; n < sizeof WHOLE - 1; n++) {
    struct answer s;
    run_body(&s, &m, (struct str){ text, n });
    CHECK(s.r == -1 && s.x.e.kind == KIND_PROTOCOL && !codec_anthropic.ended(s.x.state));
    answer_close(&s);
  }
}

/* Feeds events (a NULL ends them) to a codec and its parts to a message. */
static void gather(struct answer *s, struct message *msg, const char *const *events) {
  struct events deltas;
  events_init(&deltas, &s->x.m);
  for (; *events != NULL; events++) {
    const struct event *part;
    arena_reset(&s->x.a);
    CHECK(parsing_record(&s->x, "", z(json(*events))) == 0);
    while ((part = events_take(&s->x.parts)) != NULL) CHECK(message_add(msg, part, &deltas, &s->x.e) == 0);
  }
  CHECK(message_end(msg, &deltas, &s->x.e) == 0);
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
  struct answer s;
  struct rendering x;
  struct message msg;
  struct node *message;
  answer_open(&s, &m);
  message_init(&msg, &m, &s.x.limits, &HERE, 1);
  gather(&s, &msg, PIECES);
  CHECK(rendering_open(&x, &codec_anthropic, &m, REQUEST) == 0);
  x.r.provider = STR("anthropic");
  message = message_node(&msg, &x.a, 0);
  CHECK(node_set(node_get(x.r.request, "messages")->child->next, STR("content"), node_get(message, "content")) == 0);
  CHECK(codec_anthropic.render(&x.r, &x.e) == 0 && x.r.warnings->count == 0);
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
  answer_close(&s);
  rendering_close(&x);
}

static void test_parse_memory(void) {
  static const char *const PIECES[] = {
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
    struct answer s;
    run(&s, &m, PIECES);
    done = s.r == 0;
    if (s.r != 0) CHECK(s.x.e.kind == KIND_MEMORY);
    answer_close(&s);
    CHECK(f.live == 0 && f.wrong == 0);
  }
  CHECK(at > 10);
}

int main(void) {
  test_bodies();
  test_broken_bodies();
  test_round_trip();
  test_parse_memory();
  return test_done("codec/anthropic/answers");
}
