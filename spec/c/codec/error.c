/* The meaning of error answers: every shape, every status, the phrases. In the bodies here ' stands for ". */
#include "support/test.h"
#include "support/failing.h"
#include "core/codec/codec.h"
#include "support/text.h"

static struct mem libc;

static struct err read_error(int status, const char *body) {
  struct arena a;
  struct err e;
  arena_init(&a, &libc);
  codec_error(&a, status, z(json(body)), &e);
  arena_free(&a);
  return e;
}

#define MESSAGE(e, text) CHECK_STR((e).message, strlen((e).message), text)
#define CODE(e, text) CHECK_STR((e).code, strlen((e).code), text)

/* {{{ shapes */

static void test_shapes(void) {
  static const struct { const char *body, *message, *code; } SHAPE[] = {
    { "{'error':{'message':'m','type':'t','code':'c','param':'p'}}", "m", "c" },
    { "{'error':{'message':'m','type':'t','code':null}}", "m", "t" },
    { "{'type':'error','error':{'type':'invalid_request_error','message':'m'},'request_id':'r'}", "m",
      "invalid_request_error" },
    { "{'error':'text'}", "text", "" },
    { "{'error':'text','code':'c'}", "text", "c" },
    { "{'success':false,'error':'text'}", "text", "" },
    { "{'message':'m','type':'t','code':'c'}", "m", "c" },
    { "{'object':'error','message':'m','type':'t','param':null,'code':3051}", "m", "3051" },
    { "{'error':{'message':'m','type':'t','code':3051.0}}", "m", "3051" },
    { "{'error':{'message':'m','type':'t','code':-7}}", "m", "-7" },
    { "{'error':{'message':'m','type':'t','code':400}}", "m", "t" },
    { "{'error':{'message':'m','type':'t','code':400.0}}", "m", "t" },
    { "{'error':{'message':'m','type':'t','code':0}}", "m", "t" },
    { "{'error':{'message':'m','type':'t','code':'3051'}}", "m", "3051" },
    { "{'error':'text','code':20015}", "text", "20015" },
    { "{'error':20015,'message':'m'}", "m", "20015" },
    { "{'error':true,'message':'m'}", "m", "" },
    { "{'message':'m','status_code':400}", "m", "400" },
    { "{'object':'error','message':{'detail':[1]}}", "{'detail':[1]}", "" },
    { "{'detail':'Unauthorized'}", "Unauthorized", "" },
    { "{'detail':[{'type':'missing','loc':['body','messages',0],'msg':'Field required'},"
      "{'msg':'Second'}]}", "Field required (body.messages.0); Second", "" },
    { "{'errors':[{'message':'m','code':7003}]}", "m", "7003" },
    { "{'errors':['one','two']}", "one", "" },
    { "[{'error':{'code':400,'message':'m','status':'INVALID_ARGUMENT'}}]", "m", "INVALID_ARGUMENT" },
    { "{'error':{'code':429,'message':'Provider returned error','metadata':{'raw':'slow down'}}}",
      "Provider returned error: slow down", "429" },
    { "'just a string'", "just a string", "" },
    { "{'unknown':1}", "{'unknown':1}", "" },
    { " \xEF\xBB\xBF  plain text \n", "\xEF\xBB\xBF  plain text", "" },
    { "\xEF\xBB\xBF\n{'error':'text'}", "text", "" },
    { "{'error':{'mess", "{'error':{'mess", "" },
    { "event: error\ndata: {'error':{'message':'framed','code':'c'}}\n\n", "framed", "c" },
    { ": comment\r\ndata:{'detail':'framed'}\r\n\r\n", "framed", "" },
    { "two\nlines\tand a tab", "two lines and a tab", "" },
    { "", "HTTP 400 with an empty body", "" },
    { "<html><head><TITLE>\n 502 Bad Gateway </TITLE></head></html>", "HTTP 400: 502 Bad Gateway", "" },
    { "<!doctype html><p>no title</p>", "HTTP 400 with an HTML page", "" },
    { "<title", "HTTP 400 with an HTML page", "" },
    { "{}", "{}", "" }, { "[]", "[]", "" }, { "{'error':{}}", "{'error':{}}", "" },
    { "{'error':null,'message':'m'}", "m", "" },
  };
  for (size_t i = 0; i < sizeof SHAPE / sizeof SHAPE[0]; i++) {
    struct err e = read_error(400, SHAPE[i].body);
    struct str message = z(json(SHAPE[i].message));
    CHECK(e.message[message.n] == '\0' && memcmp(e.message, message.p, message.n) == 0);
    CODE(e, SHAPE[i].code);
    CHECK(e.kind == KIND_INVALID_REQUEST && e.status == 400);
  }
}

static void test_long_message(void) {
  char body[2000];
  struct err e;
  memset(body, 'x', sizeof body);
  memcpy(body + 498, "\xE2\x82\xAC", 3); /* a euro sign across byte 500 */
  body[sizeof body - 1] = '\0';
  e = read_error(500, body);
  CHECK(strlen(e.message) == 498);
  memset(body, '\x80', sizeof body - 1); /* bytes that no character begins with */
  e = read_error(500, body);
  CHECK(strlen(e.message) > 490 && strncmp(e.message, "\xEF\xBF\xBD", 3) == 0);
  e = read_error(500, "{'error':'a\\u0000b'}");
  MESSAGE(e, "a b");
}

/* }}} */

/* {{{ kinds */

static void test_statuses(void) {
  static const struct { int status; enum kind kind; int retryable; } WANT[] = {
    { 400, KIND_INVALID_REQUEST, 0 }, { 401, KIND_AUTH, 0 }, { 402, KIND_BILLING, 0 }, { 403, KIND_PERMISSION, 0 },
    { 404, KIND_NOT_FOUND, 0 }, { 405, KIND_INVALID_REQUEST, 0 }, { 408, KIND_TIMEOUT, 1 },
    { 409, KIND_INVALID_REQUEST, 1 }, { 413, KIND_TOO_LARGE, 0 }, { 421, KIND_INVALID_REQUEST, 0 },
    { 422, KIND_INVALID_REQUEST, 0 }, { 425, KIND_SERVER, 1 }, { 429, KIND_RATE_LIMIT, 1 }, { 500, KIND_SERVER, 1 },
    { 501, KIND_SERVER, 0 }, { 502, KIND_SERVER, 1 }, { 503, KIND_OVERLOADED, 1 }, { 504, KIND_TIMEOUT, 1 },
    { 505, KIND_SERVER, 0 }, { 520, KIND_SERVER, 1 }, { 524, KIND_SERVER, 1 }, { 529, KIND_OVERLOADED, 1 },
    { 302, KIND_PROTOCOL, 0 },
  };
  for (size_t i = 0; i < sizeof WANT / sizeof WANT[0]; i++) {
    struct err e = read_error(WANT[i].status, "{'error':{'message':'m'}}");
    CHECK(e.kind == WANT[i].kind && e.status == WANT[i].status && e.retryable == WANT[i].retryable);
    CHECK(e.retry_after < 0);
  }
}

static void test_words(void) {
  static const struct { int status; const char *body; enum kind kind; int retryable; } WANT[] = {
    { 400, "{'error':{'message':'prompt is too long: 3333404 tokens > 200000 maximum'}}", KIND_CONTEXT_OVERFLOW, 0 },
    { 400, "{'error':{'message':'The maximum context length is 4096 tokens'}}", KIND_CONTEXT_OVERFLOW, 0 },
    { 400, "{'error':{'message':'Your input exceeds the Context Window','code':'x'}}", KIND_CONTEXT_OVERFLOW, 0 },
    { 400, "{'error':{'message':'no','code':'context_length_exceeded'}}", KIND_CONTEXT_OVERFLOW, 0 },
    { 422, "{'error':{'message':'too many tokens'}}", KIND_CONTEXT_OVERFLOW, 0 },
    { 413, "Prompt is too long", KIND_CONTEXT_OVERFLOW, 0 },
    { 400, "{'error':{'message':'max_tokens is too large','param':'max_tokens'}}", KIND_INVALID_REQUEST, 0 },
    { 400, "{'code':'invalid-argument','error':'Incorrect API key provided.'}", KIND_AUTH, 0 },
    { 400, "{'error':{'code':400,'message':'API key not valid. Please pass a valid API key.'}}", KIND_AUTH, 0 },
    { 401, "{'error':{'message':'maximum context length'}}", KIND_AUTH, 0 },
    { 400, "{'error':{'message':'rate limit'}}", KIND_INVALID_REQUEST, 0 },
    { 400, "{'error':{'message':'Your credit balance is too low to access the API'}}", KIND_BILLING, 0 },
    { 400, "{'error':{'message':'m','code':'tool_use_failed'}}", KIND_INVALID_REQUEST, 1 },
    { 403, "{'type':'error','error':{'type':'billing_error','message':'m'}}", KIND_BILLING, 0 },
    { 429, "{'error':{'message':'m','type':'insufficient_quota','code':'insufficient_quota'}}", KIND_BILLING, 0 },
    { 429, "{'error':{'message':'m','code':'quota_exceeded'}}", KIND_BILLING, 0 },
    { 429, "{'error':{'message':'m','type':'billing_error'}}", KIND_BILLING, 0 },
    { 429, "{'error':{'message':'You exceeded your quota','status':'RESOURCE_EXHAUSTED'}}", KIND_RATE_LIMIT, 1 },
    { 429, "You have used your weekly allowance, it resets on Monday", KIND_BILLING, 0 },
    { 429, "slow down", KIND_RATE_LIMIT, 1 },
    { 500, "{'error':{'message':'Could not process image'}}", KIND_SERVER, 0 },
    { 500, "{'error':{'code':500,'message':'image input is not supported - hint: if this is unexpected, you may need to "
      "provide the mmproj','type':'server_error'}}", KIND_SERVER, 0 },
    { 500, "Images are not supported by this model", KIND_SERVER, 0 },
    { 500, "{'error':'this model does not support vision'}", KIND_SERVER, 0 },
    { 502, "{'error':'Unsupported audio format'}", KIND_SERVER, 0 },
    { 500, "{'error':'the image service is out of memory'}", KIND_SERVER, 1 },
    { 500, "{'error':'streaming is not supported'}", KIND_SERVER, 1 },
    { 500, "{'error':{'message':'login fail: no such account'}}", KIND_AUTH, 0 },
  };
  for (size_t i = 0; i < sizeof WANT / sizeof WANT[0]; i++) {
    struct err e = read_error(WANT[i].status, WANT[i].body);
    CHECK(e.kind == WANT[i].kind && e.status == WANT[i].status && e.retryable == WANT[i].retryable);
    if (e.kind != WANT[i].kind) fprintf(stderr, "  row %zu: %s\n", i, kind_name(e.kind));
  }
}

/* Errors inside a stream of status 200 get the status that they mean. */
/* HEAD, n bytes of filler, tail: a body as it is. */
static struct err read_long(int status, const char *head, size_t n, const char *tail) {
  struct arena a;
  struct buf b;
  struct err e;
  arena_init(&a, &libc);
  buf_init(&b, &libc);
  CHECK(buf_addstr(&b, z(json(head))) == 0);
  CHECK(buf_reserve(&b, n) == 0);
  if (n > 0) memset(b.p + b.n, 'x', n);
  b.n += n;
  CHECK(buf_addstr(&b, z(json(tail))) == 0);
  codec_error(&a, status, buf_str(&b), &e);
  buf_free(&b);
  arena_free(&a);
  return e;
}

/* The first 4 KiB of a message decide, and all of what stands beside it. */
static void test_long_words(void) {
  static const size_t PHRASE = sizeof "context length" - 1;
  struct err e = read_long(400, "{'error':{'message':'", 4096 - PHRASE, "context length'}}");
  CHECK(e.kind == KIND_CONTEXT_OVERFLOW);
  e = read_long(400, "{'error':{'message':' \\n", 4096 - PHRASE, "context length'}}"); /* without white space */
  CHECK(e.kind == KIND_CONTEXT_OVERFLOW);
  e = read_long(400, "{'error':{'message':'", 4097 - PHRASE, "context length'}}");
  CHECK(e.kind == KIND_INVALID_REQUEST && strlen(e.message) == 500);
  e = read_long(400, "", 4096 - PHRASE, "context length");
  CHECK(e.kind == KIND_CONTEXT_OVERFLOW);
  e = read_long(400, "", 1 << 20, "context length");
  CHECK(e.kind == KIND_INVALID_REQUEST);
  e = read_long(200, "{'error':{'message':'overloaded ", 1 << 20, "'}}");
  CHECK(e.kind == KIND_OVERLOADED && e.status == 529);
  e = read_long(200, "{'error':{'message':'", 1 << 20, " overloaded'}}");
  CHECK(e.kind == KIND_SERVER && e.status == 500);
  /* Members behind a long message. */
  e = read_long(400, "{'error':{'message':'", 1 << 20, "','code':'context_length_exceeded'},'request_id':'r'}");
  CHECK(e.kind == KIND_CONTEXT_OVERFLOW);
  CODE(e, "context_length_exceeded");
  CHECK_STR(e.request_id, strlen(e.request_id), "r");
  e = read_long(429, "{'error':{'message':'", 1 << 20, "','type':'insufficient_quota','code':null}}");
  CHECK(e.kind == KIND_BILLING && !e.retryable);
  CODE(e, "insufficient_quota");
  e = read_long(200, "{'error':{'message':'", 1 << 20,
                "','status':'RESOURCE_EXHAUSTED','details':[{'retryDelay':'2s'}]}}");
  CHECK(e.kind == KIND_RATE_LIMIT && e.status == 429 && e.retry_after == 2);
  /* A code is a word: what is longer is searched no further either. */
  e = read_long(400, "{'error':{'message':'m','code':'", 4096 - PHRASE, "context length'}}");
  CHECK(e.kind == KIND_CONTEXT_OVERFLOW && strlen(e.code) == 63);
  e = read_long(400, "{'error':{'message':'m','code':'", 4096, "context length','type':'t'}}");
  CHECK(e.kind == KIND_INVALID_REQUEST);
  e = read_long(400, "{'error':{'message':'m','type':'", 4096, "context length'}}");
  CHECK(e.kind == KIND_INVALID_REQUEST);
}

static void test_in_stream(void) {
  static const struct { const char *body; int status; enum kind kind; } WANT[] = {
    { "{'type':'overloaded_error','message':'Overloaded'}", 529, KIND_OVERLOADED },
    { "{'type':'rate_limit_error','message':'m'}", 429, KIND_RATE_LIMIT },
    { "{'type':'invalid_request_error','message':'m'}", 400, KIND_INVALID_REQUEST },
    { "{'type':'authentication_error','message':'m'}", 401, KIND_AUTH },
    { "{'type':'permission_error','message':'m'}", 403, KIND_PERMISSION },
    { "{'type':'not_found_error','message':'m'}", 404, KIND_NOT_FOUND },
    { "{'type':'billing_error','message':'m'}", 402, KIND_BILLING },
    { "{'type':'request_too_large','message':'m'}", 413, KIND_TOO_LARGE },
    { "{'type':'timeout_error','message':'m'}", 504, KIND_TIMEOUT },
    { "{'type':'api_error','message':'m'}", 500, KIND_SERVER },
    { "{'type':'something_else','message':'m'}", 500, KIND_SERVER },
    { "{'type':'error','error':{'type':'overloaded_error','message':'m'}}", 529, KIND_OVERLOADED },
    { "{'type':'invalid_request_error','code':'context_length_exceeded','message':'m'}", 400, KIND_CONTEXT_OVERFLOW },
    { "{'code':'rate_limit_exceeded','message':'m'}", 429, KIND_RATE_LIMIT },
    { "{'code':503,'message':'m'}", 503, KIND_OVERLOADED },
    { "{'code':'502','message':'m'}", 502, KIND_SERVER },
    { "{'code':503.0,'message':'m'}", 503, KIND_OVERLOADED },
    { "{'error':429,'message':'m'}", 429, KIND_RATE_LIMIT },
    { "{'status_code':429,'message':'m'}", 429, KIND_RATE_LIMIT },
    { "{'statusCode':401,'message':'m'}", 401, KIND_AUTH },
    { "{'code':20015,'message':'m'}", 500, KIND_SERVER },
    { "{'code':14,'status':'UNAVAILABLE','message':'m'}", 503, KIND_OVERLOADED },
    { "{'code':'The service is currently unavailable','error':'try later'}", 503, KIND_OVERLOADED },
    { "{'code':400,'message':'request exceeds the available context size','type':'exceed_context_size_error'}", 400,
      KIND_CONTEXT_OVERFLOW },
    { "'Too Many Requests'", 429, KIND_RATE_LIMIT },
    { "'the engine is overloaded'", 529, KIND_OVERLOADED },
    { "'whatever'", 500, KIND_SERVER },
    { "null", 500, KIND_SERVER },
  };
  struct arena a;
  arena_init(&a, &libc);
  for (size_t i = 0; i < sizeof WANT / sizeof WANT[0]; i++) {
    struct err e;
    struct node *v = json_tree(&a, z(json(WANT[i].body)), 16, &e);
    CHECK(v != NULL);
    codec_error_node(&a, 200, v, &e);
    CHECK(e.status == WANT[i].status && e.kind == WANT[i].kind);
    if (e.status != WANT[i].status) fprintf(stderr, "  row %zu: %d\n", i, e.status);
  }
  arena_free(&a);
}

/* The id that the provider's support wants to know, beside the error or in it. */
static void test_request_id(void) {
  static const char *const BODY[] = {
    "{'type':'error','error':{'type':'api_error','message':'m'},'request_id':'req_1'}",
    "{'error':{'message':'m','request_id':'req_1'}}", "{'message':'m','request_id':'req_1'}",
    "data: {'error':'m','request_id':'req_1'}\n\n",
    "{'error':{'message':'m','request_id':'req_2'},'request_id':'req_1'}"
  };
  struct err e;
  for (size_t i = 0; i < sizeof BODY / sizeof BODY[0]; i++) {
    e = read_error(500, BODY[i]);
    CHECK_STR(e.request_id, strlen(e.request_id), "req_1");
  }
  e = read_error(500, "{'error':{'message':'m'},'request_id':null}");
  CHECK(e.request_id[0] == '\0');
}

static void test_retry_info(void) {
  struct err e = read_error(429, "{'error':{'code':429,'message':'m','status':'RESOURCE_EXHAUSTED','details':["
                                 "{'@type':'a','links':[]},{'@type':'RetryInfo','retryDelay':'48.5s'}]}}");
  CHECK(e.kind == KIND_RATE_LIMIT && e.retry_after > 48.4 && e.retry_after < 48.6);
  CODE(e, "RESOURCE_EXHAUSTED");
  e = read_error(429, "{'error':{'message':'m','details':[{'retryDelay':'soon'}]}}");
  CHECK(e.retry_after < 0);
  e = read_error(429, "{'error':{'message':'m','details':'text'}}");
  CHECK(e.retry_after < 0);
}

/* }}} */

/* Whatever allocation fails, there is an error: that memory ran out, or the provider's own; and nothing is lost. */
static void test_memory(void) {
  static const char *const BODY[] = {
    "{'detail':[{'loc':['body',0],'msg':'m'}]}", "{'error':{'message':{'a':1},'metadata':{'raw':'x'}}}",
    "data: {'error':'\\u0041'}\n\n"
  };
  for (size_t i = 0; i < sizeof BODY / sizeof BODY[0]; i++)
    for (size_t at = 1; at < 20; at++) {
      struct failing f = { .fail_at = at };
      struct mem m = failing_mem(&f);
      struct arena a;
      struct err e;
      arena_init(&a, &m);
      codec_error(&a, 422, z(json(BODY[i])), &e);
      CHECK(e.kind == KIND_MEMORY || (e.kind == KIND_INVALID_REQUEST && e.status == 422 && e.message[0] != '\0'));
      CHECK(e.kind != KIND_MEMORY || f.asked >= at);
      arena_free(&a);
      CHECK(f.live == 0 && f.wrong == 0);
    }
}

int main(void) {
  libc = mem_libc();
  test_shapes();
  test_long_message();
  test_statuses();
  test_words();
  test_long_words();
  test_in_stream();
  test_request_id();
  test_retry_info();
  test_memory();
  return test_done("codec/error");
}
