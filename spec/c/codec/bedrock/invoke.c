/* invoke.c: chunks and answers of Claude through invoke as parts, exceptions and refusals as errors, and that every
** allocation may fail. */
#define CODEC codec_bedrock_invoke
#include "codec/parts.h"
#include "core/bytes/base64.h"

#define SLOTS 16

/* A chunk of a stream with that event in it. Good until so many more were made. */
static const char *chunk(const char *event) {
  static char slots[SLOTS][1024];
  static int next;
  struct mem m = mem_libc();
  struct buf b;
  char *slot = slots[next++ % SLOTS];
  buf_init(&b, &m);
  CHECK(base64_encode(&b, z(json(event))) == 0);
  CHECK(snprintf(slot, sizeof slots[0], "event:chunk {'bytes':'%.*s','p':'abc'}", (int)b.n, b.p) < (int)sizeof slots[0]);
  buf_free(&b);
  return slot;
}

#define BEGIN chunk("{'type':'message_start','message':{'id':'msg_bdrk_1','model':'c','content':[],'usage':{'input_tokens':1}}}")
#define BEGUN "meta msg_bdrk_1 model c\nusage in=1\n"
#define TEXT(s) chunk("{'type':'content_block_delta','index':0,'delta':{'type':'text_delta','text':'" s "'}}")
#define STOP chunk("{'type':'content_block_stop','index':0}")
#define TURN chunk("{'type':'message_delta','delta':{'stop_reason':'end_turn'},'usage':{'output_tokens':2}}")
#define END chunk("{'type':'message_stop','amazon-bedrock-invocationMetrics':{'inputTokenCount':1}}")
#define ENDED "usage out=2\ndone\nstop end_turn end_turn\n"

static void test_stream(void) {
  STREAM(BEGUN "text 0\ntext 0 a\ntext 0 b\nend 0\n" ENDED, BEGIN, TEXT("a"), TEXT("b"), STOP, TURN, END);
  /* Unknown events, and whatever comes behind the end. */
  STREAM(BEGUN "text 0\ntext 0 a\nend 0\n" ENDED, BEGIN, "event:news no JSON", TEXT("a"), STOP, chunk("{'type':'ping'}"),
         TURN, END, TEXT("late"), "event:!internalServerException {'message':'x'}", "event:chunk {}");
  /* Only message_stop ends it. */
  STREAM(BEGUN "text 0\ntext 0 a\nend 0\nusage out=2\nopen\n", BEGIN, TEXT("a"), STOP, TURN);
  /* Without the member p; base64 in two lines. */
  STREAM("open\n", "event:chunk {'bytes':'eyJ0eXBlIjoicGluZyJ9'}");
  STREAM("open\n", "event:chunk {'p':'a','bytes':'eyJ0eXBlIjoi\\ncGluZyJ9','more':[1]}");
}

static void test_bad_chunks(void) {
#define FAILS(words, chunk) STREAM_FAILS(KIND_PROTOCOL, 0, words, chunk)
  FAILS("a chunk without bytes", "event:chunk {}");
  FAILS("a chunk without bytes", "event:chunk {'bytes':null}");
  FAILS("a chunk without bytes", "event:chunk {'bytes':''}");
  FAILS("a chunk is no object", "event:chunk []");
  FAILS("the bytes of a chunk are no base64", "event:chunk {'bytes':'eyJ0e*Bl'}");
  FAILS("the bytes of a chunk are no base64", "event:chunk {'bytes':'eyJ0e'}");
  FAILS("the bytes of a chunk are no base64", "event:chunk {'bytes':'eyJ0=XBl'}");
  FAILS("an event is no object", "event:chunk {'bytes':'W10='}");
  STREAM("error protocol 0 \n", "event:chunk {'bytes':'eyJ0'}"); /* {"t */
  STREAM("error protocol 0 \n", "event:chunk {'bytes'");
  STREAM("error protocol 0 \n", "event:chunk {'bytes':'e30='} 7");
}

static void test_faults(void) {
#define FAULT(words, fault) STREAM(BEGUN "text 0\ntext 0 a\nerror " words "\n", BEGIN, TEXT("a"), fault)
  FAULT("rate_limit 429 throttling retryable", "event:!throttlingException {'message':'Too many requests'}");
  FAULT("server 424 modelStreamError retryable", "event:!modelStreamErrorException {'message':'x'}");
  FAULT("context_overflow 400 validation", "event:!validationException {'message':'prompt is too long'}");
  /* Errors of the model's own server come in its own words. */
  FAULT("overloaded 529 overloaded_error retryable",
        chunk("{'type':'error','error':{'type':'overloaded_error','message':'Overloaded'}}"));
}

static void test_body(void) {
  BODY("meta msg_bdrk_1 model c\ntext 0 a\nend 0\nusage in=1 out=2\nstop end_turn end_turn\n",
       "{'model':'c','id':'msg_bdrk_1','type':'message','role':'assistant','content':[{'type':'text','text':'a'}],"
       "'stop_reason':'end_turn','usage':{'input_tokens':1,'output_tokens':2}}");
  BODY("error rate_limit 429 Throttling retryable\n", "{'__type':'x#ThrottlingException','message':'slow down'}");
  BODY("error server 500  retryable\n", "{'message':'it broke'}");
  BODY("error overloaded 529 overloaded_error retryable\n",
       "{'type':'error','error':{'type':'overloaded_error','message':'x'}}");
  BODY("error protocol 0 \n", "{'output':{}}");
  BODY("error protocol 0 \n", "{'message'");
  BODY_FAILS(KIND_PROTOCOL, 0, "the answer is a stream of text events (SSE), not of AWS's binary messages", "event: x");
}

static void test_refusals(void) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  arena_init(&a, &m);
#define REFUSED(kind_, status_, type, body) \
  codec_read_error(&CODEC, &a, status_, z(type), z(json(body)), &e); \
  CHECK(e.kind == kind_ && e.status == status_)
  REFUSED(KIND_CONTEXT_OVERFLOW, 400, "ValidationException:http://x", "{'message':'Input is too long for requested model.'}");
  REFUSED(KIND_AUTH, 403, "ExpiredTokenException", "{'message':'expired'}");
  REFUSED(KIND_NOT_FOUND, 404, "ResourceNotFoundException", "{'message':'x'}");
  REFUSED(KIND_INVALID_REQUEST, 400, "", "{'type':'error','error':{'type':'invalid_request_error','message':'no'}}");
  CHECK_STR(e.message, strlen(e.message), "no");
  arena_free(&a);
}

int main(void) {
  test_stream();
  test_bad_chunks();
  test_faults();
  test_body();
  test_refusals();
  return test_done("codec/bedrock/invoke");
}
