/*
** shape.c: the short way through records that differ in their text alone says what the codec says. Answers that a
** seeded generator makes of pieces of each wire's records, and changes at random, go through an exchange twice: as
** ever, and byte by byte by a codec without the short way. Same deltas, same message, same error. The texts that went the short way
** are counted, so that it cannot fall out of use unseen.
*/
#include "kit.h"
#include "codec/kit.h"
#include "core/exchange/shape.h"
#include "support/random.h"
#include "support/text.h"

enum { CASES = 4000 };

static struct mem libc;

/* {{{ parts of records */

/* What may stand between the quotes of a text: plain, with escapes, halves of characters, malformed. */
static const char *const TEXTS[] = {
  "a", "Hello", " ", "", "two words", "\\n", "\\u00e9", "\xC3\xA9", "\\ud83d", "\\ude00", "\\ud83d\\ude00",
    "\xF0\x9F\x98\x80", "\xFF", "\xED\xA0\xBD",
  "\\\"quoted\\\"", "\\\\", "\\/", "\\x", "\\", "\x01", "<think>", "</think>", "<tool_call>", "{\\\"a\\\":1}",
    "\\\"p\\\":\\\"", "data: ",
  "a rather long text, so that the reader of plain bytes goes in steps of sixteen, and ends within one",
};
static const char *const PADS[] = { "abc", "", "x", "\\n", "\xC3\xA9", "a\\\"b", "yz0123456789" };
static const char *const NUMBERS[] = { "0", "7", "12", "345", "01", "", "-1", "1.5", "1e3", "1234567890123456789",
  "null", "\"9\"" };
static const char *const BLANKS[] = { "", " ", "   ", "\t", "      " };

/* What records of one shape share is chosen by numbers that can be had once more; the rest by others. */
static uint64_t shared_state;
static unsigned shared(unsigned n) {
  shared_state = shared_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)(shared_state >> 33) % n;
}

#define ANY(list) ((list)[shared(sizeof (list) / sizeof *(list))])
/* Mostly one of the first n, which are as they should be. */
#define USUAL(list, n) ((list)[below(14) > 0 ? below(n) : below(sizeof (list) / sizeof *(list))])

/* Appends text with " for each '. */
static void put(struct buf *b, const char *text) { buf_adds(b, json(text)); }

static void anthropic(struct buf *b) {
  static const char *const FORMS[] = { "text_delta','text", "thinking_delta','thinking",
    "input_json_delta','partial_json", "text_delta','thinking" };
  static const char *const OTHERS[] = {
    "{'type':'content_block_start','index':0,'content_block':{'type':'text','text':''}}",
    "{'type':'content_block_start','index':0,'content_block':{'type':'thinking','thinking':''}}",
    "{'type':'content_block_start','index':1,'content_block':{'type':'tool_use','id':'t','name':'f','input':{}}}",
    "{'type':'content_block_start','index':1,'content_block':{'type':'server_tool_use','id':'t','name':'f'}}",
    "{'type':'content_block_stop','index':0}", "{'type':'content_block_stop','index':1}",
    "{'type':'ping'}",
    "{'type':'message_delta','delta':{'stop_reason':'end_turn'},'usage':{'output_tokens':3}}",
    "{'type':'message_stop'}",
  };
  if (shared(6) == 0) { put(b, ANY(OTHERS)); return; }
  int tool = shared(4) == 0;
  put(b, "{'type':'content_block_delta','index':");
  put(b, tool ? "1" : "0");
  put(b, ",'delta':{'type':'");
  put(b, tool ? FORMS[2] : shared(8) > 0 ? FORMS[0] : ANY(FORMS));
  put(b, "':'");
  buf_adds(b, USUAL(TEXTS, 12));
  put(b, "'}");
  put(b, USUAL(BLANKS, 3));
  put(b, "}");
}

static void chat(struct buf *b) {
  static const char *const FORMS[] = { "'content':'", "'reasoning_content':'", "'refusal':'",
    "'content':'','reasoning':'", "'reasoning':'x','reasoning_content':'", "'tool_calls':[],'content':'" };
  static const char *const OTHERS[] = {
    "{'id':'c','model':'m','choices':[{'index':0,'delta':{'role':'assistant','content':''}}]}",
    "{'id':'c','choices':[{'index':0,'message':{'content':'whole'}}]}",
    ("{'id':'c','choices':[{'index':0,'delta':{'tool_calls':[{'index':0,'id':'i','function':"
     "{'name':'f','arguments':'{}'}}]}}]}"),
    "{'id':'c','choices':[{'index':0,'delta':{},'finish_reason':'stop'}]}", "[DONE]",
    "{'id':'c','choices':[{'index':1,'delta':{'content':'other'}}]}",
    "{'id':'c','choices':[{'index':0,'delta':{'content':'a'}},{'index':1,'delta':{'content':'b'}}]}",
    "{'id':'c','choices':[],'usage':{'prompt_tokens':1,'completion_tokens':2}}",
    "{'error':{'message':'no'}}",
  };
  if (shared(8) == 0) { put(b, ANY(OTHERS)); return; }
  put(b, "{'id':'c','model':'m','choices':[{'index':0,'delta':{");
  put(b, shared(6) > 0 ? FORMS[0] : ANY(FORMS));
  buf_adds(b, USUAL(TEXTS, 12));
  put(b, shared(30) > 0 ? "'},'finish_reason':null}]" : "'},'finish_reason':'length'}]");
  if (shared(3) > 0) {
    put(b, ",'obfuscation':'");
    buf_adds(b, USUAL(PADS, 3));
    put(b, "'");
  }
  put(b, "}");
}

static void responses(struct buf *b) {
  static const char *const FORMS[] = { "output_text", "function_call_arguments", "reasoning_summary_text",
    "reasoning_text", "refusal" };
  static const char *const OTHERS[] = {
    "{'type':'response.created','response':{'id':'r','model':'m'}}",
    "{'type':'response.output_item.added','output_index':1,'item':{'type':'function_call','call_id':'c','name':'f'}}",
    "{'type':'response.output_item.added','output_index':2,'item':{'type':'function_call','call_id':'c',"
      "'name':'multi_tool_use.parallel'}}",
    "{'type':'response.output_text.done','output_index':0,'content_index':0,'text':'Hello'}",
    "{'type':'response.output_item.done','output_index':0,'item':{'type':'message','content':"
      "[{'type':'output_text','text':'Hello'}]}}",
    "{'type':'response.completed','response':{'status':'completed','usage':{'input_tokens':1,'output_tokens':2}}}",
  };
  if (shared(10) == 0) { put(b, ANY(OTHERS)); return; }
  int tool = shared(5) == 0, first = shared(4) == 0;
  put(b, "{'type':'response.");
  put(b, tool ? FORMS[1] : shared(6) > 0 ? FORMS[0] : ANY(FORMS));
  put(b, ".delta'");
  if (first) { put(b, ",'sequence_number':"); put(b, USUAL(NUMBERS, 4)); }
  if (shared(12) > 0) put(b, tool ? ",'output_index':1" : ",'output_index':0");
  if (shared(8) == 0) put(b, ",'content_index':1");
  put(b, ",'delta':'");
  buf_adds(b, USUAL(TEXTS, 12));
  put(b, "'");
  if (!first) { put(b, ",'sequence_number':"); put(b, USUAL(NUMBERS, 4)); }
  if (shared(3) > 0) { put(b, ",'obfuscation':'"); buf_adds(b, USUAL(PADS, 3)); put(b, "'"); }
  put(b, "}");
}

static void ollama(struct buf *b) {
  static const char *const FORMS[] = { "'content':'", "'thinking':'", "'thinking':'x','content':'" };
  put(b, "{'model':'m','created_at':'2026-01-01T00:00:0");
  buf_addc(b, (char)('0' + below(10)));
  put(b, shared(20) > 0 ? "Z','message':{" : "\\u0041','message':{");
  put(b, shared(5) > 0 ? FORMS[0] : ANY(FORMS));
  buf_adds(b, USUAL(TEXTS, 12));
  put(b, shared(20) > 0 ? "'},'done':false}" : "'},'done':true,'done_reason':'stop','eval_count':4}");
}

/* A count: most often an integer. */
static void gemini_count(struct buf *b, const char *name) {
  put(b, name);
  buf_adds(b, shared(4) > 0 ? USUAL(NUMBERS, 4) : "25");
}

static void gemini_usage(struct buf *b) {
  static const char *const PROMPTS[] = { "'promptTokenCount':25", "'promptTokenCount':25,'cachedContentTokenCount':5",
    "'promptTokensDetails':[{'modality':'AUDIO','tokenCount':9}],'promptTokenCount':9", "'serviceTier':'flex'" };
  put(b, "'usageMetadata':{");
  put(b, shared(4) > 0 ? PROMPTS[0] : ANY(PROMPTS));
  if (shared(8) == 0) gemini_count(b, ",'x':{'totalTokenCount':1},'toolUsePromptTokenCount':");
  if (shared(8) > 0) gemini_count(b, ",'candidatesTokenCount':");
  if (shared(8) > 0) gemini_count(b, ",'totalTokenCount':");
  if (shared(3) == 0) gemini_count(b, ",'thoughtsTokenCount':");
  if (shared(10) == 0) gemini_count(b, ",'totalTokenCount':");
  put(b, shared(20) > 0 ? "}" : "},'usageMetadata':null");
}

static void gemini(struct buf *b) {
  static const char *const OTHERS[] = {
    "{'candidates':[{'content':{'parts':[{'functionCall':{'name':'f','args':{}}}]}}]}",
    "{'candidates':[{'content':{'parts':[{'text':'','thoughtSignature':'s'}]},'finishReason':'STOP'}]}",
    "{'candidates':[{'content':{'parts':[{'executableCode':{'code':'1'}}]}}]}",
    "{'candidates':[{'content':{'parts':[{'thoughtSignature':'s'}]}}],'usageMetadata':{'totalTokenCount':8}}",
    "{'candidates':[{'content':{},'finishReason':'MAX_TOKENS'}]}", "{'promptFeedback':{'blockReason':'SAFETY'}}", "[DONE]",
    "{'usageMetadata':{'promptTokenCount':1}}", "{'error':{'code':503,'message':'no'}}",
  };
  static const char *const BEFORE[] = { "", "{'text':''},", "{'text':'one'},", "{'thoughtSignature':'s'}," };
  static const char *const AFTER[] = { "", ",'thought':true", ",'thoughtSignature':'s'", ",'partMetadata':null" };
  static const char *const BESIDE[] = { "", ",'index':0", ",'finishReason':'STOP'", ",'index':1", ",'safetyRatings':[{}]",
    ",'groundingMetadata':{}", ",'logprobsResult':{'chosenCandidates':[{'token':'a','logProbability':-1}]}" };
  static const char *const BEHIND[] = { "]", "],'promptFeedback':{}", "],'modelStatus':{'a':1}", ",{'index':1}]" };
  int wrapped = shared(20) == 0, first = shared(4) == 0, usage = shared(6) > 0;
  if (shared(9) == 0) { put(b, ANY(OTHERS)); return; }
  put(b, wrapped ? "[{" : "{");
  if (usage && first) { gemini_usage(b); put(b, ","); }
  put(b, "'candidates':[{'content':{'parts':[");
  put(b, shared(6) > 0 ? "" : ANY(BEFORE));
  put(b, "{'text':'");
  buf_adds(b, USUAL(TEXTS, 12));
  put(b, "'");
  put(b, shared(4) > 0 ? "" : ANY(AFTER));
  put(b, "}],'role':'model'}");
  put(b, shared(3) > 0 ? BESIDE[shared(2)] : ANY(BESIDE));
  put(b, "}");
  put(b, shared(8) > 0 ? BEHIND[0] : ANY(BEHIND));
  if (usage && !first) { put(b, ","); gemini_usage(b); }
  put(b, ",'modelVersion':'m','responseId':'r'}");
  if (wrapped) put(b, "]");
}

/* }}} */

/* {{{ both ways */

struct wire {
  const struct codec *codec;
  void (*record)(struct buf *b);
  int named;                 /* its records have the anthropic event's name */
};

static void make(const struct wire *w, struct buf *body) {
  unsigned n = 2 + below(16), repeats = 0;
  uint64_t shape = 0;
  struct buf data;
  buf_init(&data, &libc);
  for (unsigned i = 0; i < n; i++) {
    if (repeats == 0) shape = random_next();
    repeats = repeats == 0 ? below(6) : repeats - 1;
    shared_state = shape;
    data.n = 0;
    w->record(&data);
    if (below(40) == 0 && data.n > 0) data.p[below((unsigned)data.n)] = (char)below(256);
    for (size_t k = 0; k < data.n; k++) if ((data.p[k] == '\n' || data.p[k] == '\r')) data.p[k] = ' ';
    if (w->codec->framing == &framing_sse) {
      if (w->named && below(10) > 0) buf_adds(body, "event: content_block_delta\n");
      buf_adds(body, below(60) > 0 ? "data: " : "data:  ");
    }
    buf_addstr(body, buf_str(&data));
    buf_adds(body, w->codec->framing == &framing_sse ? "\n\n" : "\n");
  }
  buf_free(&data);
}

/* Appends the deltas that are there: why there is none more. */
static enum progress drain(struct exchange *x, struct buf *out) {
  struct event d;
  enum progress p;
  while ((p = exchange_next(x, &d)) == EXCHANGE_DELTA) {
    buf_adds(out, event_form(d.type)->name);
    buf_addc(out, '|');
    buf_addstr(out, d.id);
    buf_addc(out, '|');
    buf_addstr(out, d.text);
    buf_addc(out, '\n');
  }
  return p;
}

/* What an exchange says of a body that comes in pieces of so many bytes: its deltas, then its end. */
static void tell(const struct codec *codec, const struct quirks *q, struct str body, size_t piece, struct buf *out) {
  struct exchange_spec spec = spec_of(codec);
  struct header type = { STR("content-type"), { codec->framing->media_type, strlen(codec->framing->media_type) } };
  struct exchange *x;
  struct err e;
  enum progress p;
  spec.quirks = q;
  spec.stream = 1;
  x = exchange_new(&libc, &spec, &e);
  CHECK(x != NULL);
  exchange_head(x, 200, &type, 1);
  for (size_t at = 0; at < body.n; at += piece) {
    feed(x, body.p + at, body.n - at < piece ? body.n - at : piece);
    (void)drain(x, out);
  }
  exchange_eof(x, NULL);
  p = drain(x, out);
  struct node *message = exchange_message(x);
  if (message != NULL) CHECK(json_write(out, message, &e) == 0);
  if (p == EXCHANGE_FAILED) buf_adds(out, exchange_error(x)->message);
  char count[40];
  snprintf(count, sizeof count, "\n%d %lu", (int)p, exchange_event_count(x));
  buf_adds(out, count);
  exchange_free(x);
}

/* The same codec, and how often its short way was taken. */
static const struct codec *counted;
static unsigned long taken;
static int parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e) {
  taken++;
  return counted->parse_text(state, text, flags, out, e);
}

static void check(const struct wire *w) {
  struct codec plain = *w->codec, quick = *w->codec;
  size_t bad = 0;
  plain.parse_text = NULL;
  quick.parse_text = parse_text;
  counted = w->codec;
  taken = 0;
  for (int i = 0; i < CASES; i++) {
    struct buf body, one, other;
    struct quirks q;
    quirks_default(&q);
    q.dedup_reasoning = below(4) == 0;
    q.inline_think = below(4) == 0;
    buf_init(&body, &libc);
    buf_init(&one, &libc);
    buf_init(&other, &libc);
    make(w, &body);
    tell(&plain, &q, buf_str(&body), 1, &one);
    tell(&quick, &q, buf_str(&body), below(4) > 0 ? body.n : 1 + below(300), &other);
    if (!str_same(buf_str(&one), buf_str(&other)) && bad++ == 0)
      fprintf(stderr, "%s: case %d differs:\n%.*s---\n%.*s\n---\n%.*s\n", w->codec->name, i, (int)body.n, body.p,
              (int)one.n, one.p, (int)other.n, other.p);
    buf_free(&body);
    buf_free(&one);
    buf_free(&other);
  }
  CHECK(bad == 0);
  CHECK(taken > CASES);
  printf("shape: %s: %lu texts by the short way in %d answers\n", w->codec->name, taken, CASES);
}

/* A stream whose first text is held back, so that no part has been pushed yet: both ways say the same. */
static void check_held(void) {
  static const char BODY[] = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<thi\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"nk>a</think>b\"}}]}\n\n";
  struct codec plain = codec_chat;
  struct buf one, other;
  struct quirks q;
  plain.parse_text = NULL;
  quirks_default(&q);
  q.inline_think = 1;
  buf_init(&one, &libc);
  buf_init(&other, &libc);
  tell(&plain, &q, STR(BODY), 1, &one);
  tell(&codec_chat, &q, STR(BODY), sizeof BODY, &other);
  CHECK(str_same(buf_str(&one), buf_str(&other)));
  CHECK(memmem(one.p, one.n, "thinking_delta||a", 17) != NULL);
  buf_free(&one);
  buf_free(&other);
}

/* A record of a shape's name may have no data at all: that of a message without a payload is nowhere. */
static void check_without_data(void) {
  static const char DATA[] = "{\"contentBlockIndex\":0,\"delta\":{\"text\":\"a\"},\"p\":\"abc\"}";
  const struct record full = { .name = STR("contentBlockDelta"), .data = STR(DATA), .retry = -1 };
  const struct record bare = { .name = STR("contentBlockDelta"), .data = STR_NONE, .retry = -1 };
  struct parsing x;
  struct shape s;
  parsing_open(&x, &codec_bedrock, &libc);
  parsing_begin(&x);
  shape_init(&s, &libc);
  for (int i = 0; i < 2; i++) CHECK(shape_parse(&s, x.codec, x.state, &x.p, &full, &x.parts, &x.e) == 0);
  CHECK(s.gap_count > 0);
  (void)shape_parse(&s, x.codec, x.state, &x.p, &bare, &x.parts, &x.e); /* whatever the codec makes of it */
  shape_free(&s);
  parsing_close(&x);
}

/* }}} */

int main(void) {
  static const struct wire WIRES[] = {
    { &codec_anthropic, anthropic, 1 }, { &codec_chat, chat, 0 }, { &codec_responses, responses, 0 },
    { &codec_ollama, ollama, 0 }, { &codec_gemini, gemini, 0 }
  };
  libc = mem_libc();
  for (size_t i = 0; i < sizeof WIRES / sizeof *WIRES; i++) check(&WIRES[i]);
  check_held();
  check_without_data();
  return test_done("exchange/shape");
}
