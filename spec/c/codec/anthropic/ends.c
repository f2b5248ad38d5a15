/* ends.c: how streams end: token counts, what they do not price, stop reasons, errors, limits. */
#include "events.h"

static void test_stream_usage(void) {
  STREAM("meta m model c\nusage in=3 out=1 read=4202 written=7 hour=2\n"
         "usage out=9 reasoning=53\nusage in=4 out=10 reasoning=0\ndone\nstop stop_sequence ### stop_sequence\n",
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
  STREAM("meta m model c\nusage written=9007199254740992\nusage out=9007199254740992 written=3\ndone\n"
         "stop end_turn end_turn\n",
         "{'type':'message_start','message':{'id':'m','model':'c','usage':{'input_tokens':9223372036854775807,"
         "'output_tokens':-1,'cache_read_input_tokens':1e16,'output_tokens_details':7,"
         "'cache_creation':{'a':9007199254740992,'b':9007199254740992,'c':9223372036854775807}}}}",
         "{'type':'message_delta','delta':{'stop_reason':'end_turn'},'usage':{'input_tokens':9007199254740993,"
         "'output_tokens':9007199254740992,'cache_creation':{'a':9223372036854775807,'b':1,'c':'x','d':2}}}", END);
}

#define SPENT(parts, u) STREAM("meta m model c\n" parts "done\n", \
                               "{'type':'message_start','message':{'id':'m','model':'c','usage':" u "}}", END)

/* Fees that the counts do not price; values of other kinds say nothing. */
static void test_unpriced(void) {
  SPENT("usage in=1 out=2\n", "{'input_tokens':1,'output_tokens':2,'iterations':[{'type':'message','input_tokens':1,"
        "'cache_creation':{'a':[1]}},{'x':{}},7,[8],null],'server_tool_use':{'web_search_requests':0,"
        "'web_fetch_requests':4},'service_tier':'standard','inference_geo':'not_available','speed':null}");
  SPENT("usage in=1\n", "{'input_tokens':1,'iterations':{},'server_tool_use':[],'service_tier':{},"
        "'inference_geo':{'a':1},'speed':[]}");
  SPENT("usage in=1 unpriced=iterations\n",
        "{'input_tokens':1,'iterations':[{'input_tokens':[{}],'type':'compaction'},{'type':'message'}]}");
  SPENT("usage in=1 unpriced=server_tools\n", "{'server_tool_use':{'x':{},'web_search_requests':2},'input_tokens':1}");
  SPENT("usage in=1 unpriced=service_tier\n", "{'service_tier':'prior\\u0069ty','input_tokens':1}");
  SPENT("usage in=1 unpriced=region\n", "{'inference_geo':'us','input_tokens':1}");
  SPENT("usage in=1 unpriced=speed\n", "{'speed':'fast','input_tokens':1}");
  SPENT("usage written=9 hour=4\n",
        "{'cache_creation':{'ephemeral_5m_input_tokens':5,'ephemeral_1h_input_tokens':4,"
        "'ephemeral_1d_input_tokens':0}}");
  SPENT("usage written=9\n", "{'cache_creation':{'ephemeral_1h_input_tokens':4,'ephemeral_1d_input_tokens':5}}");
}

static void test_stops(void) {
  STREAM(STARTED "usage out=5\ndone\nstop max_tokens max_tokens\n", START, ENDING("max_tokens"), END);
  STREAM(STARTED "usage out=5\ndone\nstop pause_turn pause_turn\n", START, ENDING("pause_turn"), END);
  STREAM(STARTED "usage out=5\ndone\nstop context_overflow model_context_window_exceeded\n", START,
         ENDING("model_context_window_exceeded"), END);
  STREAM(STARTED "usage out=5\ndone\nwarning unknown_stop_reason stop_reason compaction\n"
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
  STREAM(STARTED "text 0\ntext 0 a\nusage out=5\nend 0\ndone\nstop end_turn end_turn\n",
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
  struct err e = error_of(&(struct input){ .chunks = CHUNKS(START, ENDING("tool_use"), END) });
  CHECK_STR(e.code, strlen(e.code), "empty_tool_turn");
  CHECK(e.retryable == 1);
  e = error_of(&(struct input){ .chunks = CHUNKS(START, "{'type':'ping'") });
  CHECK(e.kind == KIND_PROTOCOL && e.offset == 14);
}

static void test_limits(void) {
  struct limits limits;
  limits_default(&limits);
  limits.blocks = 2;
  limits.argument_bytes = 3;
#define EMPTY(i) BLOCK(i, "{'type':'text'}")
  CHECK(limited(&limits, CHUNKS(EMPTY(0), EMPTY(1))) == KIND_NONE);
  CHECK(limited(&limits, CHUNKS(EMPTY(0), EMPTY(1), EMPTY(2))) == KIND_LIMIT);
#define SEARCH BLOCK(0, "{'type':'server_tool_use'}")
  CHECK(limited(&limits, CHUNKS(SEARCH, JSON(0, "abc"))) == KIND_NONE);
  CHECK(limited(&limits, CHUNKS(SEARCH, JSON(0, "abc"), JSON(0, "d"))) == KIND_LIMIT);
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
