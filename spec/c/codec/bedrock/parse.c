/* parse.c: events and answers of Converse as parts, exceptions as errors, and that every allocation may fail. */
#define CODEC codec_bedrock
#include "codec/parts.h"

#define DELTA(i, delta) "event:contentBlockDelta {'contentBlockIndex':" #i ",'delta':" delta ",'p':'abc'}"
#define START(i, start) "event:contentBlockStart {'contentBlockIndex':" #i ",'start':" start "}"
#define STOP(i) "event:contentBlockStop {'contentBlockIndex':" #i "}"
#define TEXT(i, s) DELTA(i, "{'text':'" s "'}")
#define THINK(i, s) DELTA(i, "{'reasoningContent':{'text':'" s "'}}")
#define SIGN(i, s) DELTA(i, "{'reasoningContent':{'signature':'" s "'}}")
#define HIDE(i, s) DELTA(i, "{'reasoningContent':{'redactedContent':'" s "'}}")
#define CALL(i, id) START(i, "{'toolUse':{'toolUseId':'" id "','name':'f'}}")
#define INPUT(i, s) DELTA(i, "{'toolUse':{'input':'" s "'}}")
#define BEGIN "event:messageStart {'role':'assistant'}"
#define ENDED(reason) "event:messageStop {'stopReason':'" reason "'}"
#define USED "event:metadata {'usage':{'inputTokens':1,'outputTokens':2,'serverToolUsage':{}}}"
#define END "usage in=1 out=2\ndone\nstop end_turn end_turn\n"

static void test_text(void) {
  STREAM("text 0 a\ntext 0 b\nend 0\n" END, BEGIN, TEXT(0, "a"), TEXT(0, "b"), STOP(0), ENDED("end_turn"), USED);
  /* An empty text opens nothing; a stop of what never began says nothing; what comes late is ignored. */
  STREAM("thinking 0 t\nend 0\ntext 1 a\nend 1\n" END, BEGIN, TEXT(0, ""), STOP(0), THINK(1, "t"), STOP(1), TEXT(2, "a"),
         STOP(2), ENDED("end_turn"), TEXT(3, "late"), USED, TEXT(4, "later"));
  /* Nothing stops it but the end; unknown events, deltas and members. */
  STREAM("text 0 a\nend 0\n" END, BEGIN, "event:news not even JSON", TEXT(0, "a"), DELTA(0, "{'video':{'x':[1]}}"),
         DELTA(0, "null"), "event:contentBlockDelta {'contentBlockIndex':0,'x':1}", ENDED("end_turn"), USED);
  /* metadata before the end, and none at all. */
  STREAM("text 0 a\nusage in=1 out=2\nend 0\ndone\nstop end_turn end_turn\n", TEXT(0, "a"), USED, ENDED("end_turn"));
  STREAM("text 0 a\nend 0\nwarning unclean_end the answer ended before it said what it used\nstop end_turn end_turn\n", TEXT(0, "a"), ENDED("end_turn"));
  STREAM("text 0 a\nusage in=1 out=2\nopen\n", TEXT(0, "a"), USED);
  /* A block of another kind with the same index. */
  STREAM("text 0 a\nend 0\nthinking 1 t\nend 1\ntext 2 b\nend 2\n" END, TEXT(0, "a"), THINK(0, "t"), TEXT(0, "b"),
         ENDED("end_turn"), USED);
  STREAM("text 0 a\nraw 0 {'citations':[{'x':1},{'x':2}]}\nend 0\n" END, TEXT(0, "a"), DELTA(0, "{'citation':{'x':1}}"),
         DELTA(0, "{'citation':{'x':2}}"), STOP(0), ENDED("end_turn"), USED);
}

static void test_reasoning(void) {
  STREAM("thinking 0 a\nthinking 0 b\nsignature 0 xy\nend 0\n" END, THINK(0, "a"), THINK(0, "b"), SIGN(0, "x"),
         SIGN(0, "y"), STOP(0), ENDED("end_turn"), USED);
  STREAM("signature 0 x\nend 0\n" END, SIGN(0, "x"), STOP(0), ENDED("end_turn"), USED);
  /* One piece as it came, of several the bytes. */
  STREAM("redacted 0 Zg==\nredacted 1 Zm9v\n" END, HIDE(0, "Zg=="), STOP(0), HIDE(1, "Zm8="), HIDE(1, "bw=="), STOP(1),
         ENDED("end_turn"), USED);
  STREAM("redacted 0 not base64!\n" END, HIDE(0, "not base64!"), STOP(0), ENDED("end_turn"), USED);
  STREAM("error protocol 0 \n", HIDE(0, "Zg=="), HIDE(0, "!"));
  /* Thoughts in the text, their tags cut. */
  STREAM_Q("{'inline_think':true,'family':'nova'}",
           "thinking 1  a \ntext 2 b\nend 2\ntool 3 c f\nargs 3 {}\nend 3\nusage in=1 out=2\ndone\nstop tool_use tool_use\n",
           TEXT(0, "<thinking"), TEXT(0, "> a </think"), TEXT(0, "ing>"), TEXT(0, "b"), STOP(0), CALL(1, "c"),
           INPUT(1, "{}"), STOP(1), ENDED("tool_use"), USED);
  STREAM_Q("{'inline_think':true,'family':'thinker'}", "thinking 1 a\ntext 2 b\nend 2\ntext 4 <think>c\nend 4\n" END,
           TEXT(0, "<think>a</think>b"), STOP(0), TEXT(1, "<think>c"), ENDED("end_turn"), USED);
  STREAM_Q("{'inline_think':true}", "thinking 1 a\nthinking 1 </th\n" END, TEXT(0, "<think>a"), TEXT(0, "</th"), ENDED("end_turn"), USED);
  STREAM_Q("{'inline_think':true,'family':'nova'}", "text 1 <thin\n" END, TEXT(0, "<thin"), ENDED("end_turn"), USED);
}

static void test_calls(void) {
  STREAM("tool 0 c f\nargs 0 {'a'\nargs 0 :1}\nend 0\nusage in=1 out=2\ndone\nstop tool_use tool_use\n", CALL(0, "c"),
         INPUT(0, ""), INPUT(0, "{\\'a\\'"), INPUT(0, ":1}"), STOP(0), ENDED("tool_use"), USED);
  /* Some models end their turn with calls. */
  STREAM("tool 0 c f\nend 0\nusage in=1 out=2\ndone\nstop tool_use end_turn\n", CALL(0, "c"), STOP(0), ENDED("end_turn"),
         USED);
  STREAM("usage in=1 out=2\ndone\nerror protocol 0 empty_tool_turn retryable\n", ENDED("tool_use"), USED);
  STREAM("error protocol 0 \n", INPUT(0, "{}"));
  STREAM("text 0 a\nend 0\ntool 1 c f\nend 1\ntext 2 b\nend 2\nusage in=1 out=2\ndone\nstop tool_use tool_use\n",
         TEXT(0, "a"), STOP(0), CALL(1, "c"), STOP(1), TEXT(2, "b"), ENDED("tool_use"), USED);
  /* Calls that the provider makes itself, and what they gave. */
  STREAM("opaque 0 toolUse {'toolUse':{'toolUseId':'c','name':'g','type':'server_tool_use','input':{'a':1}}}\n"
         "opaque 1 toolResult {'toolResult':{'toolUseId':'c','content':[{'text':'x'},{'json':{}}]}}\n"
         "usage in=1 out=2 unpriced=server_tools\ndone\nstop end_turn end_turn\n",
         START(0, "{'toolUse':{'toolUseId':'c','name':'g','type':'server_tool_use'}}"), INPUT(0, "{\\'a\\'"),
         INPUT(0, ":1}"), STOP(0), START(1, "{'toolResult':{'toolUseId':'c'}}"),
         DELTA(1, "{'toolResult':[{'text':'x'}]}"), DELTA(1, "{'toolResult':[{'json':{}}]}"), STOP(1),
         ENDED("end_turn"), USED);
  STREAM("opaque 0 toolUse {'toolUse':{'name':'g','type':'t','input':{}}}\n"
         "usage in=1 out=2 unpriced=server_tools\ndone\nstop end_turn end_turn\n",
         START(0, "{'toolUse':{'name':'g','type':'t'}}"), INPUT(0, "{\\'cut"), STOP(0), ENDED("end_turn"), USED);
  /* Pieces of the other kind say nothing. */
  STREAM("opaque 0 toolResult {'toolResult':{'toolUseId':'c','content':[]}}\n"
         "opaque 1 toolUse {'toolUse':{'type':'t','input':{}}}\n"
         "usage in=1 out=2 unpriced=server_tools\ndone\nstop end_turn end_turn\n",
         START(0, "{'toolResult':{'toolUseId':'c'}}"), INPUT(0, "{\\'a\\'"), STOP(0),
         START(1, "{'toolUse':{'type':'t'}}"), DELTA(1, "{'toolResult':[7]}"), STOP(1), ENDED("end_turn"), USED);
  STREAM(END, START(0, "{'image':{}}"), STOP(0), START(1, "null"), STOP(1), ENDED("end_turn"), USED);
}

/* Values of another type, which would be lost without a word. */
static void test_odd_types(void) {
#define ODD(...) STREAM("error protocol 0 \n", __VA_ARGS__)
  STREAM("tool 0 a f\nerror protocol 0 \n", START(0, "{'toolUse':{'toolUseId':'a','name':'f'}}"),
         START(0, "{'toolUse':{'toolUseId':'a','name':'f'}}"));
  ODD(START(0, "7"));
  ODD(START(0, "{'toolUse':[]}"));
  ODD(DELTA(0, "'a'"));
  ODD(DELTA(0, "{'text':7}"));
  ODD(DELTA(0, "{'toolUse':'a'}"));
  ODD(DELTA(0, "{'reasoningContent':'a'}"));
  ODD(DELTA(0, "{'reasoningContent':{'text':{}}}"));
}

static void test_ends(void) {
#define STOPPED(words, reason) STREAM("text 0 a\nend 0\nusage in=1 out=2\ndone\n" words, TEXT(0, "a"), reason, USED)
  STOPPED("stop max_tokens max_tokens\n", ENDED("max_tokens"));
  STOPPED("stop sensitive guardrail_intervened\n", ENDED("guardrail_intervened"));
  STOPPED("stop sensitive content_filtered\n", ENDED("content_filtered"));
  STOPPED("stop context_overflow model_context_window_exceeded\n", ENDED("model_context_window_exceeded"));
  STOPPED("warning unknown_stop_reason stop_reason tired\nstop end_turn tired\n", ENDED("tired"));
  STOPPED("stop refusal end_turn\n", "event:messageStop {'stopReason':'end_turn','additionalModelResponseFields':"
                                     "{'delta':{'stop_reason':'refusal'}}}");
  STOPPED("stop stop_sequence END stop_sequence\n", "event:messageStop {'stopReason':'stop_sequence',"
          "'additionalModelResponseFields':{'delta':{'stop_sequence':'END'}}}");
  STOPPED("", "event:messageStop {}");
  STREAM("text 0 a\nerror server 500 malformed_tool_use retryable\n", TEXT(0, "a"), STOP(1), ENDED("malformed_tool_use"));
}

static void test_usage(void) {
#define COUNTS(words, usage) STREAM("done\n" words "stop end_turn end_turn\n", ENDED("end_turn"), usage)
#define META(usage, more) "event:metadata {'usage':" usage more "}"
  STREAM("usage in=1 out=2 read=3 written=4 hour=4\ndone\nstop end_turn end_turn\n", ENDED("end_turn"),
         META("{'inputTokens':1,'outputTokens':2,'cacheReadInputTokens':3,'cacheReadInputTokenCount':3,"
              "'cacheWriteInputTokens':4,'cacheDetails':[{'ttl':'1h','inputTokens':4},7,{'ttl':'5m'}],'totalTokens':10}", ""));
  STREAM("usage in=1 unpriced=server_tools\ndone\nstop end_turn end_turn\n", ENDED("end_turn"),
         META("{'inputTokens':1,'serverToolUsage':{'webGrounding':1}}", ""));
  STREAM("usage in=1 unpriced=service_tier\ndone\nstop end_turn end_turn\n", ENDED("end_turn"),
         META("{'inputTokens':1}", ",'serviceTier':{'type':'priority'}"));
  STREAM("usage in=1\ndone\nstop end_turn end_turn\n", ENDED("end_turn"),
         META("{'inputTokens':1}", ",'serviceTier':{'type':'default'}"));
  COUNTS("", META("null", ""));
}

static void test_body(void) {
#define ANSWER(content, more) "{'metrics':{},'output':{'message':{'role':'assistant','content':[" content "]}}" more "}"
#define TURN ",'stopReason':'end_turn','usage':{'inputTokens':1,'outputTokens':2}"
#define PLAIN "usage in=1 out=2\nstop end_turn end_turn\n"
  BODY("text 0 a\nend 0\n" PLAIN, ANSWER("{'text':'a'},{'text':''}", TURN));
  BODY(PLAIN, ANSWER("", TURN));
  BODY("thinking 0 t\nsignature 0 s\nend 0\nredacted 1 Zg==\ntool 2 c f\nargs 2 {'b':1,'a':[]}\nend 2\n"
       "usage in=1 out=2\nstop tool_use end_turn\n",
       ANSWER("{'reasoningContent':{'reasoningText':{'signature':'s','text':'t'}}},"
              "{'reasoningContent':{'redactedContent':'Zg=='}},"
              "{'toolUse':{'input':{'b':1,'a':[]},'name':'f','toolUseId':'c'}}", TURN));
  BODY("tool 0 c f\nend 0\nusage in=1 out=2\nstop tool_use end_turn\n",
       ANSWER("{'toolUse':{'input':{},'name':'f','toolUseId':'c'}}", TURN));
  BODY("text 0 ab\nraw 0 {'citations':[{'x':1}]}\nend 0\n" PLAIN,
       ANSWER("{'citationsContent':{'content':[{'text':'a'},{'text':'b'}],'citations':[{'x':1}]}}", TURN));
  BODY("text 0 a\nend 0\nopaque 1 guardContent {'guardContent':{'text':{}}}\ntext 2 b\nend 2\n" PLAIN,
       ANSWER("{'text':'a'},{'guardContent':{'text':{}}},{'text':'b'},{'nothing':null}", TURN));
  BODY("opaque 0 toolUse {'toolUse':{'toolUseId':'c','name':'g','type':'server_tool_use','input':{}}}\n"
       "usage in=1 out=2 unpriced=server_tools\nstop end_turn end_turn\n",
       ANSWER("{'toolUse':{'toolUseId':'c','name':'g','type':'server_tool_use','input':{}}}", TURN));
  /* a name in need of escapes */
  BODY("opaque 0 a\"\nb {'a\\\"\\nb':{}}\nusage in=1 out=2\nstop end_turn end_turn\n", ANSWER("{'a\\\"\\nb':{}}", TURN));
  BODY("stop stop_sequence END stop_sequence\n",
       ANSWER("", ",'stopReason':'stop_sequence','additionalModelResponseFields':{'stop_sequence':'END'}"));
  BODY("error server 500 malformed_model_output retryable\n", ANSWER("", ",'stopReason':'malformed_model_output'"));
  BODY("error protocol 0 \n", "[]");
  BODY("error protocol 0 \n", "{'id':'x','choices':[]}");
  BODY("error protocol 0 \n", "data: {}");
  BODY("error protocol 0 \n", "{'output':");
  BODY("error server 500  retryable\n", "{'message':'it broke'}");
  BODY("error rate_limit 429 Throttling retryable\n", "{'__type':'x#ThrottlingException','message':'slow down'}");
}

static void test_faults(void) {
#define FAULT(words, fault) STREAM("text 0 a\nerror " words "\n", TEXT(0, "a"), fault)
  FAULT("rate_limit 429 throttling retryable", "event:!throttlingException {'message':'Too many requests'}");
  FAULT("billing 429 Throttling", "event:!ThrottlingException {'message':'Too many tokens per day, wait'}");
  FAULT("overloaded 503 serviceUnavailable retryable", "event:!serviceUnavailableException {'message':'x'}");
  FAULT("server 500 internalServer retryable", "event:!internalServerException {'message':'x'}");
  FAULT("timeout 408 modelTimeout retryable", "event:!modelTimeoutException {'message':'x'}");
  FAULT("invalid_request 400 validation", "event:!validationException {'message':'x'}");
  FAULT("context_overflow 400 validation", "event:!validationException {'message':'Input is too long for the model'}");
  FAULT("server 424 modelStreamError retryable", "event:!modelStreamErrorException {'message':'x'}");
  FAULT("rate_limit 429 modelStreamError retryable",
        "event:!modelStreamErrorException {'message':'x','originalStatusCode':429,'originalMessage':'y'}");
  FAULT("server 500 strange retryable", "event:!strangeException {'message':'x'}");
  FAULT("server 500 E retryable", "event:!E plain words");
  FAULT("server 500 E retryable", "event:!E ");
  /* Behind the end it takes nothing away. */
  STREAM("text 0 a\nend 0\ndone\nwarning unclean_end the answer ended before it said what it used\nstop end_turn end_turn\n", TEXT(0, "a"), ENDED("end_turn"),
         "event:!internalServerException {'message':'x'}");
}

static void test_bad(void) {
  struct limits limits;
  limits_default(&limits);
  limits.blocks = 2;
  limits.argument_bytes = 4;
  CHECK(limited(&limits, CHUNKS(TEXT(0, "a"), TEXT(1, "b"))) == KIND_NONE);
  CHECK(limited(&limits, CHUNKS(TEXT(0, "a"), TEXT(1, "b"), TEXT(2, "c"))) == KIND_LIMIT);
  CHECK(limited(&limits, CHUNKS(START(0, "{'toolUse':{'type':'t'}}"), INPUT(0, "1234"), INPUT(0, "5"))) == KIND_LIMIT);
  STREAM("error protocol 0 \n", "event:contentBlockDelta {'contentBlockIndex'");
  STREAM("error protocol 0 \n", "event:messageStop []");
  STREAM("error protocol 0 \n", "event:messageStop {} x");
}

int main(void) {
  test_text();
  test_reasoning();
  test_calls();
  test_odd_types();
  test_ends();
  test_usage();
  test_body();
  test_faults();
  test_bad();
  return test_done("codec/bedrock/parse");
}
