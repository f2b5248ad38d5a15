/* ends.c: how streams end: token counts, what they do not price, stop reasons, errors, limits. */
#include "events.h"

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
  struct answer s;
  run(&s, &m, EMPTY);
  CHECK_STR(s.x.e.code, strlen(s.x.e.code), "empty_tool_turn");
  CHECK(s.x.e.retryable == 1);
  answer_close(&s);
  run(&s, &m, CUT);
  CHECK(s.r == -1 && s.x.e.kind == KIND_PROTOCOL && s.x.e.offset == 14);
  answer_close(&s);
}

static void test_limits(void) {
  struct mem m = mem_libc();
  struct answer s;
  answer_open(&s, &m);
  s.x.limits.blocks = 2;
  feed(&s, "", BLOCK(0, "{'type':'text'}"));
  feed(&s, "", BLOCK(1, "{'type':'text'}"));
  CHECK(s.r == 0);
  feed(&s, "", BLOCK(2, "{'type':'text'}"));
  CHECK(s.r == -1 && s.x.e.kind == KIND_LIMIT);
  answer_close(&s);
  answer_open(&s, &m);
  s.x.limits.argument_bytes = 3;
  feed(&s, "", BLOCK(0, "{'type':'server_tool_use'}"));
  feed(&s, "", JSON(0, "abc"));
  CHECK(s.r == 0);
  feed(&s, "", JSON(0, "d"));
  CHECK(s.r == -1 && s.x.e.kind == KIND_LIMIT);
  answer_close(&s);
}

int main(void) {
  test_stream_usage();
  test_unpriced();
  test_stops();
  test_stream_errors();
  test_protocol_details();
  test_limits();
  return test_done("codec/anthropic/ends");
}
