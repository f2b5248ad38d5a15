/*
** linear.c: reads an input of a given shape and size, or renders a history of one for every wire, so that tools/linear.sh
** can count the instructions at n and 2n. Usage: linear SHAPE BYTES. Without arguments every shape once, small, as a test.
*/
#include <stdlib.h>

#include "core/codec/shared/leaked/leaked.h"
#include "core/exchange/exchange.h"
#include "core/files/text.h"
#include "core/framing/sse.h"
#include "codec/histories.h"
#include "exchange/kit.h"
#include "json/shapes.h"
#include "support/frame.h"

#define PIECE 1460 /* what one network packet brings */
#define ROUND 256  /* bytes of an input for which a history has one round */

/* Appends the i-th unit: each # in it is a number that no other unit has, in no order. */
static int add_unit(struct buf *b, const char *unit, size_t i) {
  char number[32];
  snprintf(number, sizeof number, "%zu", i * 7919 % 10000019);
  for (const char *hash; (hash = strchr(unit, '#')) != NULL; unit = hash + 1)
    if (buf_add(b, unit, (size_t)(hash - unit)) < 0 || buf_adds(b, number) < 0) return -1;
  return buf_adds(b, unit);
}

/* `head`, then `unit` again and again until n bytes are full, then `tail`. */
static int fill(struct buf *b, const char *head, const char *unit, const char *tail, size_t n) {
  if (buf_reserve(b, n + 64) < 0 || buf_adds(b, head) < 0) return -1;
  for (size_t i = 0; b->n < n; i++)
    if (add_unit(b, unit, i) < 0) return -1;
  return buf_adds(b, tail);
}

/* Feeds the input in pieces; the bytes of data in all records, or 0 on error. */
static size_t read_pieces(const struct buf *in, size_t piece) {
  struct mem m = mem_libc();
  struct sse s;
  struct record r;
  struct err e;
  size_t sum = 0;
  int got = 0;
  sse_init(&s, &m, in->n, in->n);
  for (size_t at = 0; at < in->n && got >= 0; at += piece) {
    got = sse_feed(&s, in->p + at, in->n - at < piece ? in->n - at : piece, &e);
    while (got >= 0 && (got = sse_next(&s, &r, &e)) == 1) sum += r.data.n;
  }
  sse_free(&s);
  return got < 0 ? 0 : sum;
}

static size_t read_sse(const struct buf *in) { return read_pieces(in, PIECE); }

/* The same of all of it at once. */
static size_t read_whole(const struct buf *in) { return read_pieces(in, in->n); }

/* Feeds the input as a streamed answer of Ollama's in packets, then ends it; the bytes of its text and one, or 0 where it
** failed before its end. */
static size_t read_lines(const struct buf *in) {
  struct mem m = mem_libc();
  struct exchange_spec spec = {
    .codec = &codec_ollama, .provider = STR("ollama"), .model = STR("m"), .request_messages = 1, .stream = 1
  };
  struct header h = { STR("content-type"), STR("application/x-ndjson") };
  struct event delta;
  struct err e;
  size_t sum = 1;
  enum progress p = EXCHANGE_MORE;
  struct quirks quirks;
  quirks_default(&quirks);
  spec.quirks = &quirks;
  limits_default(&spec.limits);
  spec.limits.line = spec.limits.event = in->n + 1;
  struct exchange *x = exchange_new(&m, &spec, &e);
  if (x == NULL || exchange_head(x, 200, &h, 1) != 0) sum = 0;
  for (size_t at = 0; sum > 0 && at < in->n && p != EXCHANGE_FAILED; at += PIECE) {
    (void)exchange_feed_copy(x, in->p + at, in->n - at < PIECE ? in->n - at : PIECE);
    while ((p = exchange_next(x, &delta)) == EXCHANGE_DELTA) sum += delta.text.n;
  }
  if (p == EXCHANGE_FAILED) sum = 0;
  if (sum > 0) exchange_eof(x, NULL);
  while (sum > 0 && exchange_next(x, &delta) == EXCHANGE_DELTA) sum += delta.text.n;
  if (x != NULL) exchange_free(x);
  return sum;
}

/* Feeds the input in packets, then reads the calls in it; the bytes of the text that is left and one, or 0 on error. */
static size_t read_leaked(const struct buf *in) {
  struct mem m = mem_libc();
  struct leaked k;
  struct leaked_call *calls;
  struct arena a;
  struct str text = STR_NONE;
  struct node f = { .type = NODE_STRING, .s = STR("f") };
  struct node names = { .type = NODE_ARRAY, .child = &f, .last = &f, .count = 1 };
  int r = 0;
  arena_init(&a, &m);
  leaked_init(&k, &m);
  for (size_t at = 0; at < in->n && r == 0; at += PIECE)
    r = leaked_feed(&k, &a, (struct str){ in->p + at, in->n - at < PIECE ? in->n - at : PIECE }, &text);
  if (r == 0) r = leaked_recover(&k, &a, &names, 8, 0, &calls, &text);
  leaked_free(&k);
  arena_free(&a);
  return r < 0 ? 0 : text.n + 1;
}

/* Looks for a part that is nearly there at every byte: the first sixteenth of the input and a byte that is not in it.
** The lines of the input and one. */
static size_t search_text(const struct buf *in) {
  struct mem m = mem_libc();
  struct buf part;
  size_t windows, n = 0;
  buf_init(&part, &m);
  if (buf_add(&part, in->p, in->n / 16) == 0 && buf_addc(&part, '\1') == 0 &&
      text_find(buf_str(in), buf_str(&part), 0) == TEXT_NONE)
    n = text_ends(buf_str(in), &windows) + 1;
  if (n > 0 && text_after(buf_str(in), n + 1) != TEXT_NONE) n = 0;
  buf_free(&part);
  return n;
}

/* Reads the input in packets with a framing; the bytes of data in all records, or 0 on error. */
static size_t read_records(const struct framing *framing, const struct buf *in) {
  struct mem m = mem_libc();
  struct limits limits;
  struct record r;
  struct err e;
  size_t sum = 0;
  int got = 0;
  void *state = calloc(1, framing->state_size);
  limits_default(&limits);
  limits.line = limits.event = in->n;
  framing->init(state, &m, &limits);
  for (size_t at = 0; at < in->n && got >= 0; at += PIECE) {
    got = framing->feed_copy(state, in->p + at, in->n - at < PIECE ? in->n - at : PIECE, &e);
    while (got >= 0 && (got = framing->next(state, &r, &e)) == 1) sum += r.data.n;
  }
  framing->free(state);
  free(state);
  return got < 0 ? 0 : sum;
}

static size_t read_ndjson(const struct buf *in) { return read_records(&framing_ndjson, in); }

/* Lines "TYPE DATA" as messages of an event stream. */
static void frame_lines(struct buf *out, const struct buf *in) {
  const char *p = in->p, *end = in->p + in->n;
  while (p < end) {
    const char *space = memchr(p, ' ', (size_t)(end - p)), *lf = memchr(p, '\n', (size_t)(end - p));
    struct str type = { p, (size_t)(space - p) }, data = { space + 1, (size_t)(lf - space) - 1 };
    frame_add(out, "event", type, data);
    p = lf + 1;
  }
}

static size_t read_frames(const struct buf *in) {
  struct mem m = mem_libc();
  struct buf framed;
  size_t n;
  buf_init(&framed, &m);
  frame_lines(&framed, in);
  n = read_records(&framing_eventstream, &framed);
  buf_free(&framed);
  return n;
}

/* Reads the input in packets as a streamed answer; the blocks of the message, or 0 on error. */
static size_t read_answer(const struct codec *codec, const struct buf *in) {
  struct mem m = mem_libc();
  struct exchange_spec spec = spec_of(codec);
  struct exchange *x;
  struct event delta;
  struct buf framed;
  struct err e;
  enum progress got = EXCHANGE_MORE;
  size_t n = 0;
  buf_init(&framed, &m);
  if (codec->framing == &framing_eventstream) frame_lines(&framed, in);
  else (void)buf_addstr(&framed, buf_str(in));
  spec.stream = 1;
  spec.limits.line = spec.limits.event = spec.limits.argument_bytes = framed.n;
  spec.limits.blocks = (int)framed.n;
  x = exchange_new(&m, &spec, &e);
  (void)exchange_head(x, 200, NULL, 0);
  for (size_t at = 0; at < framed.n; at += PIECE) {
    exchange_feed_copy(x, framed.p + at, framed.n - at < PIECE ? framed.n - at : PIECE);
    do got = exchange_next(x, &delta); while (got == EXCHANGE_DELTA);
  }
  exchange_eof(x, NULL);
  do got = exchange_next(x, &delta); while (got == EXCHANGE_DELTA);
  if (got == EXCHANGE_DONE) n = node_get(exchange_message(x), "content")->count;
  exchange_free(x);
  buf_free(&framed);
  return n;
}

#define CHUNK_HEAD "data: {\"candidates\":[{\"content\":{\"parts\":["
#define CHUNK_TAIL(more) "]}" more "}]}\r\n\r\n"
#define CHUNK(parts, more) CHUNK_HEAD parts CHUNK_TAIL(more)
#define STOP ",\"finishReason\":\"STOP\""
#define LINE_HEAD "{\"model\":\"m\",\"message\":{\"role\":\"assistant\","
#define LINE(message, more) LINE_HEAD message "}" more "}\n"
#define INPUT(json) \
  "contentBlockDelta {\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":\"" json "\"}}}\n"
#define DONE ",\"done\":true,\"done_reason\":\"stop\""

/* Redacts the input, of which secrets are nearly there at every byte: its first half and sixteenth, and another byte; then the
** first half. The bytes that are left and one. */
static size_t redact_text(const struct buf *in) {
  struct mem m = mem_libc();
  struct secrets k = { .n = 2 };
  struct arena a;
  struct buf parts[2];
  size_t n = 0;
  arena_init(&a, &m);
  for (size_t i = 0; i < 2; i++) {
    buf_init(&parts[i], &m);
    if (buf_add(&parts[i], in->p, in->n / (i == 0 ? 2 : 16)) != 0 || buf_addc(&parts[i], '\1') != 0) k.n = 0;
    k.v[i] = buf_str(&parts[i]);
  }
  struct str s = k.n > 0 ? redact(&k, &a, buf_str(in)) : STR_NONE;
  k.v[0].n--;
  if (s.p != NULL) s = redact(&k, &a, s);
  if (s.p != NULL) n = s.n + 1;
  for (size_t i = 0; i < 2; i++) buf_free(&parts[i]);
  arena_free(&a);
  return n;
}

static const struct {
  const char *name, *head, *unit, *tail;
  size_t (*read)(const struct buf *in);
  const struct codec *codec; /* read: as an answer in this format */
} shapes[] = {
  { "sse-one-line", "data: ", "one line without any end that goes on and on and on and on and ", "\n\n", read_sse,
    NULL },
  { "sse-8-byte-lines", "", "data: x\n", "\n", read_sse, NULL },
  { "sse-8-byte-records", "", "data:x\n\n", "", read_sse, NULL },
  { "sse-nearly-alike", "", "data: x\n\ndata: x\nid: 1\n\n", "", read_whole, NULL },
  { "sse-lone-cr", "", "data:x\r\r", "", read_sse, NULL },
  { "sse-comments", "data: x\n", ":2345678\n", "\n", read_sse, NULL },
  { "sse-late-names", "data: x\n", "event: name\ndata\n", "\n", read_sse, NULL },
  { "ollama-lines", "", "{\"message\":{\"content\":\"a\"},\"done\":false}\n", "", read_lines, NULL },
  { "ollama-one-line", "{\"message\":{\"content\":\"", "a line that goes on \\u00e9 ",
    "\"},\"done\":false}\n", read_lines, NULL },
  { "ollama-printed", "{\n", "  \"a\":\n{}\n,\n", "\"b\":1}\n", read_lines, NULL },
  { "json-string", "\"", "plain text of a string ", "\"", read_json, NULL },
  { "json-escapes", "\"", "\\n\\u00e9\\ud83d\xC3\xA9\xFF", "\"", read_json, NULL },
  { "json-numbers", "[0", ",1234567,0.125", "]", read_json, NULL },
  { "vector-numbers", "[[0", ",-0.0123456,1.2345678901234567e-2,1", "]]", read_vectors, NULL },
  { "vector-many", "[[0]", ",[0.5,#]", "]", read_vectors, NULL },
  { "vector-base64", "\"", "AACAPwAAAMAAAAA/", "\"", read_vectors, NULL },
  { "vector-broken-base64", "\"", "AACAPwAAAMAAAAA\\/\\n", "\"", read_vectors, NULL },
  { "json-objects", "[0", ",{\"b\":1,\"a\":[]}", "]", read_json, NULL },
  { "json-one-object", "{\"0\":0", ",\"key\":1", "}", read_json, NULL },
  { "json-many-keys", "{\"a\":0", ",\"#\":1", "}", read_json, NULL },
  { "json-schema", "{\"properties\":{\"a\":{}", ",\"#\":{}", "}}", write_schema, NULL },
  { "growing-string", "{\"a\":\"", "plain text of a string ", "\"}", read_growing, NULL },
  { "growing-escapes", "[\"", "\\n\\u00e9\\ud83d\xC3\xA9\xFF", "\"]", read_growing, NULL },
  { "growing-deep", "[0", ",[{\"a\":[[[[[[[[[[[[{\"b\":[[[[]]]]}]]]]]]]]]]]]}]", "]", read_growing, NULL },
  { "growing-many-keys", "{\"a\":0", ",\"#\":1", "}", read_growing, NULL },
  { "growing-one-key", "{\"", "a key that goes on and on ", "\":0}", read_growing, NULL },
  { "growing-elements", "[0", ",12345,\"a\"", "]", read_growing, NULL },
  { "growing-one-number", "[0.1", "23456789", "]", read_growing, NULL },
  { "arguments-nulls", "{\"a\":0", ",\"#\":1,\"b#\":null", "}", read_arguments, NULL },
  { "arguments-many-keys", "{\"a\":0", ",\"#\":1", "}", replay_arguments, NULL },
  { "leaked-calls", "", "<invoke name=\"f\"><a>1</a></invoke> ", "", read_leaked, NULL },
  { "leaked-open-values", "", "<invoke name=\"f\"><parameter name=\"a\">", "", read_leaked, NULL },
  { "leaked-open-objects", "", "<tool_call>{\"name\":\"", "", read_leaked, NULL },
  { "text-one-letter", "", "aaaaaaaa", "", search_text, NULL },
  { "text-two-letters", "", "aaaaaaab", "", search_text, NULL },
  { "text-lines", "", "\n\n\n\n\n\n\n\n", "", search_text, NULL },
  { "sse-bare-json", "[0", ",\n1", "\n]\n\n", read_sse, NULL },
  { "ndjson-lines", "", "{}\n", "", read_ndjson, NULL },
  { "ndjson-one-line", "\"", "one line without any end ", "\"\n", read_ndjson, NULL },
  { "eventstream-frames", "", "x {}\n", "", read_frames, NULL },
  { "eventstream-one-frame", "x ", "one frame that goes on and on ", "\n", read_frames, NULL },
  { "gemini-text", "", CHUNK("{\"text\":\"word \"}", ""), CHUNK("", STOP), NULL, &codec_gemini },
  { "gemini-parts", CHUNK_HEAD "{\"text\":\"a\"}", ",{\"text\":\"b\"}", CHUNK_TAIL(STOP), NULL, &codec_gemini },
  { "gemini-call", CHUNK_HEAD "{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\":0", ",\"#\":[1,null]",
    "}}}" CHUNK_TAIL(STOP), NULL, &codec_gemini },
  { "gemini-opaque", CHUNK_HEAD "{\"text\":\"a\"}", ",{\"executableCode\":{\"code\":\"print(#)\"}}", CHUNK_TAIL(STOP),
    NULL, &codec_gemini },
  { "gemini-array", "[{}", ",{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"word \"}]}}]}",
    ",{\"candidates\":[{\"finishReason\":\"STOP\"}]}]", NULL, &codec_gemini },
  { "ollama-text", "", LINE("\"content\":\"word \"", ""), LINE("\"content\":\"\"", DONE), NULL, &codec_ollama },
  { "ollama-call", LINE_HEAD "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":0", ",\"#\":[1,null]",
    "}}}]},\"done\":true,\"done_reason\":\"stop\"}\n", NULL, &codec_ollama },
  { "bedrock-text", "messageStart {\"role\":\"assistant\"}\n",
    "contentBlockDelta {\"contentBlockIndex\":0,\"delta\":{\"text\":\"word \"}}\n",
    "messageStop {\"stopReason\":\"end_turn\"}\n", NULL, &codec_bedrock },
  { "bedrock-call", "messageStart {\"role\":\"assistant\"}\ncontentBlockStart {\"contentBlockIndex\":0,\"start\":"
    "{\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"f\"}}}\n" INPUT("{\\\"a\\\":0"), INPUT(",\\\"#\\\":1"),
    INPUT("}") "contentBlockStop {\"contentBlockIndex\":0}\nmessageStop {\"stopReason\":\"tool_use\"}\n", NULL,
    &codec_bedrock },
  { "redact-one-letter", "", "aaaaaaaa", "", redact_text, NULL },
  { "redact-two-letters", "", "aaaaaaab", "", redact_text, NULL },
  { "redact-escapes", "", "\\u0061%61\\\\a\\/", "", redact_text, NULL },
  { "redact-backslashes", "abcdefgh", "\\\\\\\\\\\\\\\\", "", redact_text, NULL },
  { "redact-percents", "abcdefgh", "%25252525", "", redact_text, NULL },
};

static size_t run(size_t shape, size_t n) {
  struct mem m = mem_libc();
  struct buf in;
  buf_init(&in, &m);
  int full = fill(&in, shapes[shape].head, shapes[shape].unit, shapes[shape].tail, n) == 0;
  size_t got = 0;
  if (full) got = shapes[shape].codec != NULL ? read_answer(shapes[shape].codec, &in) : shapes[shape].read(&in);
  buf_free(&in);
  return got;
}

static void run_histories(int argc, char **argv, int *found) {
  for (size_t i = 0; i < HISTORY_SHAPES; i++) {
    const struct history_shape *shape = &history_shapes[i];
    if (argc == 3 && strcmp(argv[1], shape->name) == 0)
      *found = history_render_all(shape, strtoul(argv[2], NULL, 10) / ROUND) > 0;
    if (argc == 2) puts(shape->name);
    if (argc == 1) CHECK(history_render_all(shape, 100) > 0);
  }
}

int main(int argc, char **argv) {
  int found = 0;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    if (argc == 3 && strcmp(argv[1], shapes[i].name) == 0) return run(i, strtoul(argv[2], NULL, 10)) == 0;
    if (argc == 2) puts(shapes[i].name);
    if (argc == 1) CHECK(run(i, 100000) > 0);
  }
  run_histories(argc, argv, &found);
  return argc == 1 ? test_done("linear") : argc != 2 && !found;
}
