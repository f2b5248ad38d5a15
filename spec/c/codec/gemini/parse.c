/* parse.c: Gemini's chunks and answers as parts. Whole answers are in spec/wire/gemini; here is what only
** parts show, and that every allocation may fail. */
#define CODEC codec_gemini
#include "codec/many.h"
#include "codec/parts.h"

/* {{{ chunks */

#define CHUNK(candidate) "{'candidates':[{" candidate "}]}"
#define PARTS(parts) "'content':{'parts':[" parts "],'role':'model'}"
#define SAYS(parts) CHUNK(PARTS(parts))
#define STOP(parts) CHUNK(PARTS(parts) ",'finishReason':'STOP'")
#define TEXT(s) "{'text':'" s "'}"
#define THOUGHT(s) "{'text':'" s "','thought':true}"
#define SIGNED(s) "{'text':'" s "','thoughtSignature':'c2ln'}"
#define CALL(call) "{'functionCall':{" call "}}"

/* }}} */

static void test_text(void) {
  STREAM("text 0 a\ntext 0 b\ntext 0 c\nstop end_turn STOP\n", SAYS(TEXT("a")), SAYS(TEXT("b")), STOP(TEXT("c")));
  STREAM("thinking 0 t\ntext 1 a\nthinking 2 u\nstop end_turn STOP\n", SAYS(THOUGHT("t")), SAYS(TEXT("a")),
         STOP(THOUGHT("u")));
  /* A signed piece ends its text; in one chunk it is a part of its own. */
  STREAM("text 0 a\ntext 0 b\nraw 0 {'thoughtSignature':'c2ln'}\nend 0\ntext 1 c\nstop end_turn STOP\n",
         SAYS(TEXT("a")), SAYS(SIGNED("b")), STOP(TEXT("c")));
  STREAM("text 0 a\ntext 1 b\nraw 1 {'thoughtSignature':'c2ln'}\nend 1\ntext 2 c\nraw 2 {'thoughtSignature':'c2ln'}\n"
         "end 2\nstop end_turn STOP\n", STOP(TEXT("a") "," SIGNED("b") "," SIGNED("c")));
  /* Without text it is a block of its own, of the kind of what is open. */
  STREAM("text 0 a\nraw 1 {'thoughtSignature':'c2ln'}\ntext 2 b\nstop end_turn STOP\n", SAYS(TEXT("a")),
         SAYS(SIGNED("")), STOP(TEXT("b")));
  STREAM("thinking 0 a\nraw 1 {'thoughtSignature':'c2ln'}\nstop end_turn STOP\n", SAYS(THOUGHT("a")), STOP(SIGNED("")));
  STREAM("stop end_turn STOP\n", SAYS(TEXT("")), SAYS("{}"), SAYS("{'thought':true}"), STOP("null"), CHUNK("'content':null"));
}

static void test_calls(void) {
  STREAM("tool 0  f\nargs 0 {'a': [1]}\nend 0\nstop end_turn STOP\n", STOP(CALL("'name':'f','args':{'a': [1]}")));
  STREAM("tool 0 x f\nraw 0 {'functionCall':{'id':'x'}}\nend 0\nstop end_turn STOP\n", STOP(CALL("'name':'f','id':'x'")));
  STREAM("tool 0  f\nargs 0 {}\nraw 0 {'thoughtSignature':'s'}\nend 0\nstop end_turn STOP\n",
         STOP(CALL("'args':{},'name':'f','thoughtSignature':'s'")));
  STREAM("tool 0  f\nraw 0 {'thoughtSignature':'s'}\nend 0\nstop end_turn STOP\n",
         STOP("{'functionCall':{'name':'f','thoughtSignature':'inner'},'thoughtSignature':'s'}"));
  STREAM("tool 0  f\nraw 0 {'thoughtSignature':'s','functionCall':{'more':1}}\nend 0\nstop end_turn STOP\n",
         STOP("{'thoughtSignature':'s','functionCall':{'more':1,'name':'f','willContinue':false,'partialArgs':null}}"));
  STREAM("error protocol 0 \n", STOP(CALL("'name':'f','willContinue':true")));
  STREAM("error protocol 0 \n", STOP("{'functionCall':7}"));
}

/* Names that the wire refuses were sent with an underscore before them. */
static void test_names(void) {
  STREAM("tool 0  3d\nend 0\ntool 1  -x\nend 1\ntool 2  _3d\nend 2\nstop end_turn STOP\n",
         STOP(CALL("'name':'_3d'") "," CALL("'name':'_-x'") "," CALL("'name':'__3d'")));
  STREAM("tool 0  _a\nend 0\ntool 1  3d\nend 1\ntool 2  _\nend 2\ntool 3  __\nend 3\nstop end_turn STOP\n",
         STOP(CALL("'name':'_a'") "," CALL("'name':'3d'") "," CALL("'name':'_'") "," CALL("'name':'__'")));
}

static void test_others(void) {
  STREAM("opaque 0 inlineData {'inlineData':{'data':'A'},'thought':true}\nopaque 1 zap {'zap':1,'zip':2}\n"
         "stop end_turn STOP\n", STOP("{'inlineData':{'data':'A'},'thought':true},{'zap':1,'zip':2}"));
  /* A text with another content beside it keeps that. */
  STREAM("text 0 a\nraw 0 {'fileData':1}\nend 0\nstop end_turn STOP\n", STOP("{'text':'a','fileData':1}"));
  STREAM("opaque 0 safetyRatings {'safetyRatings':[2]}\nstop end_turn STOP\n", CHUNK("'safetyRatings':[1]"),
         CHUNK("'safetyRatings':[2],'finishReason':'STOP'"));
}

/* How likely tokens were, chunk by chunk: those chosen, and beside each the likeliest. */
static void test_logprobs(void) {
#define CHOSEN(list) "'logprobsResult':{'chosenCandidates':[" list "]"
  STREAM("text 0 a\nlogprobs [{'token':'a','logprob':-0.5}]\ntext 0 bc\n"
         "logprobs [{'token':'b','logprob':-1,'top_logprobs':[{'token':'x','logprob':-0.5},{'token':'b','logprob':-1}]},"
         "{'token':'c','logprob':-2}]\nstop end_turn STOP\n",
         CHUNK(PARTS(TEXT("a")) "," CHOSEN("{'token':'a','tokenId':1,'logProbability':-0.5}") ",'logProbabilitySum':-0.5}"),
         CHUNK(CHOSEN("{'token':'b','logProbability':-1},{'token':'c','logProbability':-2}")
               ",'topCandidates':[{'candidates':[{'token':'x','logProbability':-0.5},{'token':'b','logProbability':-1}]},"
               "{}]}," PARTS(TEXT("bc")) ",'finishReason':'STOP'"));
  STREAM("text 0 a\nstop end_turn STOP\n", CHUNK(PARTS(TEXT("a")) ",'logprobsResult':null,'avgLogprobs':-0.5"),
         CHUNK(PARTS(TEXT("")) ",'logprobsResult':{'topCandidates':[]}"),
         CHUNK(PARTS(TEXT("")) ",'logprobsResult':7,'finishReason':'STOP'"));
  /* What is no candidate is left out; a token that is left out is an empty one. */
  STREAM("text 0 a\nlogprobs [{'token':'b','top_logprobs':[{'token':'','logprob':-1}]}]\nstop end_turn STOP\n",
         CHUNK(PARTS(TEXT("a")) "," CHOSEN("5,null,[],{'token':7},{'token':'b'}")
               ",'topCandidates':[7,7,7,7,{'candidates':[5,{'token':null},{'logProbability':-1}]}]},'finishReason':'STOP'"));
}

/* Very many short values take little more memory than their own. */
static void test_many_logprobs(void) {
#define BEFORE "{\"candidates\":[{\"logprobsResult\":{\"chosenCandidates\":["
  CHECK(many_scratch(&codec_gemini, BEFORE "0", ",1", "]}}]}") == 0);
  CHECK(many_scratch(&codec_gemini, BEFORE "{}", ",{}", "]}}]}") <= 10);
  CHECK(many_scratch(&codec_gemini, BEFORE "{}],\"topCandidates\":[0", ",1", "]}}]}") == 0);
  CHECK(many_scratch(&codec_gemini, BEFORE "{}],\"topCandidates\":[{\"candidates\":[{}", ",{}", "]}]}}]}") <= 10);
}

static void test_meta(void) {
  /* The id stands behind the content, and is told before it. */
  STREAM("meta r model m\ntext 0 a\ntext 0 b\nstop end_turn STOP\n",
         "{'candidates':[{" PARTS(TEXT("a")) "}],'modelVersion':'m','responseId':'r'}",
         "{'candidates':[{" PARTS(TEXT("b")) ",'finishReason':'STOP'}],'modelVersion':'m','responseId':'r'}");
  STREAM("meta r\nmeta model m\nopen\n", "{'responseId':'r'}", "{'modelVersion':'m'}", "{'responseId':'other'}");
  STREAM("warning further_candidates an answer is one message: the others were dropped\ntext 0 a\nstop end_turn STOP\n",
         "{'candidates':[{'index':1," PARTS(TEXT("x")) "},{'index':0," PARTS(TEXT("a")) ",'finishReason':'STOP'},"
         "{'index':2}]}");
  /* One that does not say which it is, behind another. */
  STREAM("warning further_candidates an answer is one message: the others were dropped\ntext 0 a\nstop end_turn STOP\n",
         "{'candidates':[{" PARTS(TEXT("a")) ",'finishReason':'STOP'},{" PARTS(TEXT("x")) "},null]}");
}

#define USAGE(counts) "{'usageMetadata':{" counts "}}"

static void test_usage(void) {
  STREAM("usage in=6 out=5 read=3 reasoning=1 unpriced=server_tools\nopen\n",
         USAGE("'promptTokenCount':7,'cachedContentTokenCount':3,'toolUsePromptTokenCount':2,'candidatesTokenCount':4,"
               "'thoughtsTokenCount':1,'totalTokenCount':14"));
  STREAM("usage in=7 out=0 read=0 reasoning=0\nopen\n", USAGE("'promptTokenCount':'7','totalTokenCount':7"));
  STREAM("usage in=7\nopen\n", USAGE("'promptTokenCount':7"));
  STREAM("open\n", USAGE(""), USAGE("'trafficType':'ON_DEMAND'"), "{'usageMetadata':7}");
  STREAM("usage in=7 out=1 read=0 reasoning=0 unpriced=service_tier\nopen\n",
         USAGE("'promptTokenCount':7,'candidatesTokenCount':1,'totalTokenCount':8,'serviceTier':'flex'"));
  STREAM("usage in=7 out=1 read=0 reasoning=0 unpriced=image\nopen\n",
         USAGE("'promptTokenCount':7,'candidatesTokenCount':1,'totalTokenCount':8,'serviceTier':'standard',"
               "'candidatesTokensDetails':[7,{'modality':'TEXT','tokenCount':5},{'modality':'IMAGE','tokenCount':1}]"));
}

static void test_ends(void) {
  STREAM("open\n", SAYS(""));
  STREAM("stop max_tokens MAX_TOKENS\n", CHUNK("'finishReason':'MAX_TOKENS'"));
  STREAM("stop sensitive SPII\n", CHUNK("'finishReason':'SPII'"));
  STREAM("text 0 a\nstop end_turn STOP\n", CHUNK("'finishReason':'MAX_TOKENS'"), STOP(TEXT("a")));
  STREAM("error server 0 MALFORMED_FUNCTION_CALL retryable\n", CHUNK("'finishReason':'MALFORMED_FUNCTION_CALL'"),
         STOP(""));
  STREAM("error server 0 NO_IMAGE retryable\n", CHUNK("'finishReason':'NO_IMAGE'"));
  STREAM("text 0 a\nwarning unknown_stop_reason stop_reason NO_IMAGE\nstop end_turn NO_IMAGE\n", SAYS(TEXT("a")),
         CHUNK("'finishReason':'NO_IMAGE'"));
  STREAM("warning unknown_stop_reason stop_reason X\nstop end_turn X\n", CHUNK("'finishReason':'X'"));
  STREAM("warning prompt_blocked messages no\nstop sensitive OTHER\n",
         "{'promptFeedback':{'blockReason':'OTHER','blockReasonMessage':'no','safetyRatings':[]}}");
  BODY("text 0 a\nstop end_turn \n", SAYS(TEXT("a")));
  BODY("error protocol 0  retryable\n", "{}");
  BODY("text 0 a\nwarning not_a_stream the answer is an array of chunks instead of a stream\nstop end_turn STOP\n",
       "[" STOP(TEXT("a")) "]");
  BODY("error stream_truncated 0  retryable\n", "[" SAYS(TEXT("a")) "]");
  BODY("error protocol 0 \n", "7");
}

#define REASON(word) CHUNK("'finishReason':'" word "'")
#define BLOCK "{'promptFeedback':{'blockReason':'SAFETY'}}"

/* A reason does not sink: what was cut, held back or no answer stays so, unless the model goes on behind it. */
static void test_order_of_ends(void) {
#define CALLED "tool 0  f\nend 0\n"
  STREAM(CALLED "stop max_tokens MAX_TOKENS\n", SAYS(CALL("'name':'f'")), REASON("MAX_TOKENS"), REASON("STOP"));
  STREAM(CALLED "stop max_tokens MAX_TOKENS\n", SAYS(CALL("'name':'f'")), REASON("MAX_TOKENS"), REASON("OTHER"));
  STREAM(CALLED "stop max_tokens MAX_TOKENS\n", SAYS(CALL("'name':'f'")), REASON("MAX_TOKENS"), REASON("X"));
  STREAM(CALLED "stop max_tokens MAX_TOKENS\n", SAYS(CALL("'name':'f'")), REASON("MAX_TOKENS"),
         REASON("UNEXPECTED_TOOL_CALL"));
  STREAM(CALLED "stop sensitive SAFETY\n", SAYS(CALL("'name':'f'")), REASON("SAFETY"), REASON("STOP"));
  STREAM(CALLED "stop sensitive SAFETY\n", SAYS(CALL("'name':'f'")), REASON("STOP"), REASON("SAFETY"));
  STREAM(CALLED "stop sensitive SAFETY\n", SAYS(CALL("'name':'f'")), REASON("SAFETY"), REASON("MAX_TOKENS"), SAYS(""));
  STREAM(CALLED "error server 0 MALFORMED_FUNCTION_CALL retryable\n", SAYS(CALL("'name':'f'")),
         REASON("MALFORMED_FUNCTION_CALL"), REASON("OTHER"));
  STREAM("error server 0 MALFORMED_FUNCTION_CALL retryable\n", REASON("MALFORMED_FUNCTION_CALL"), REASON("SAFETY"));
  STREAM("text 0 a\nerror server 0 MALFORMED_FUNCTION_CALL retryable\n", REASON("MALFORMED_FUNCTION_CALL"),
         STOP(TEXT("a")));
  STREAM("error server 0 OTHER retryable\n", REASON("OTHER"), REASON("STOP"));
  STREAM("text 0 a\nstop sensitive SAFETY\n", REASON("OTHER"), SAYS(TEXT("a")), REASON("SAFETY"));
  STREAM("text 0 a\ntext 0 b\nstop end_turn STOP\n", STOP(TEXT("a")), STOP(TEXT("b")));
  STREAM("text 0 a\nstop end_turn STOP\n", REASON("SAFETY"), STOP(TEXT("a")));
}

/* The prompt is refused: also behind what the model said of it. */
static void test_blocks(void) {
  STREAM("text 0 a\nstop sensitive SAFETY\n", SAYS(TEXT("a")), BLOCK);
  STREAM(CALLED "stop sensitive SAFETY\n", SAYS(CALL("'name':'f'")), BLOCK, REASON("STOP"));
  STREAM("stop sensitive SAFETY\n", BLOCK, REASON("STOP"));
  STREAM("text 0 a\nstop sensitive SAFETY\n", STOP(TEXT("a")), BLOCK);
  STREAM("text 0 a\nstop end_turn STOP\n", BLOCK, STOP(TEXT("a")));
  BODY("text 0 a\nstop sensitive SAFETY\n",
       "{'candidates':[{" PARTS(TEXT("a")) "}],'promptFeedback':{'blockReason':'SAFETY'}}");
}

static void test_errors(void) {
  STREAM("text 0 a\nerror server 499 CANCELLED retryable\n", STOP(TEXT("a")),
         "{'error':{'code':499,'message':'x','status':'CANCELLED'}}");
  STREAM("error overloaded 503 UNAVAILABLE retryable\n", "[{'error':{'code':503,'message':'x','status':'UNAVAILABLE'}}]");
  STREAM("error server 500  retryable\n", "{'error':'x'}");
  BODY("error auth 400 API_KEY_INVALID\n",
       "{'error':{'code':400,'message':'x','status':'INVALID_ARGUMENT','details':[{'reason':'API_KEY_INVALID'}]}}");
}

/* Values of another type, which would be lost without a word. */
static void test_odd_types(void) {
#define ODD(...) STREAM("error protocol 0 \n", __VA_ARGS__)
  ODD("{'candidates':{}}");
  ODD("{'candidates':[7]}");
  ODD(CHUNK("'content':[]"));
  ODD(CHUNK("'content':'a'"));
  ODD(CHUNK("'content':{'parts':{}}"));
  ODD(STOP("7"));
  ODD(STOP("'a'"));
  ODD(STOP("{'text':7}"));
  ODD(STOP("{'text':['a']}"));
  ODD(STOP("{'text':'a','thought':'true'}"));
  STREAM("text 0 a\nerror protocol 0 \n", SAYS(TEXT("a")), STOP("{'text':{}}"));
  /* of a candidate that counts alone; an error says more */
  STREAM("warning further_candidates an answer is one message: the others were dropped\ntext 0 a\nstop end_turn STOP\n",
         "{'candidates':[{'index':0,'content':{'parts':[{'text':'a'}]},'finishReason':'STOP'},{'index':1,'content':7}]}");
  STREAM("error server 500  retryable\n", "{'candidates':[{'content':7}],'error':'x'}");
  STREAM("text 0 a\nstop end_turn STOP\n", "{'candidates':null}", SAYS("null,{'text':null,'thought':null}"), STOP(TEXT("a")));
}

static void test_limits(void) {
  static const struct limits TIGHT = { .blocks = 2, .argument_bytes = 8, .depth = 8 };
  CHECK(limited(&TIGHT, CHUNKS(SAYS(TEXT("a")))) == KIND_NONE);
  CHECK(limited(&TIGHT, CHUNKS("{'a':[[[[[[[[1]]]]]]]]}")) == KIND_LIMIT);
}

/* A chunk that the end of the body cut makes no answer, even behind a STOP. */
static void test_cut(void) {
  struct mem m = mem_libc();
  struct parsing x;
  struct record cut = { .data = z(json("{'error':{")), .unclosed = 1 };
  parsing_open(&x, &CODEC, &m);
  parsing_begin(&x);
  CHECK(parsing_record(&x, "", z(json(STOP("")))) == 0 && CODEC.ended(x.state) == ENDED_SO_FAR);
  CHECK(CODEC.parse_record(x.state, &cut, &x.parts, &x.e) == 0 && CODEC.ended(x.state) == NOT_ENDED);
  parsing_close(&x);
}

int main(void) {
  test_text();
  test_calls();
  test_names();
  test_others();
  test_logprobs();
  test_many_logprobs();
  test_meta();
  test_usage();
  test_ends();
  test_order_of_ends();
  test_blocks();
  test_errors();
  test_odd_types();
  test_limits();
  test_cut();
  return test_done("codec/gemini/parse");
}
