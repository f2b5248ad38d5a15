/*
** exchange.c: every answer in spec/wire and, where KOINE_RECORDINGS names a folder of recordings, in there, through the
** core: whole, split at every offset (KOINE_EVERY=n: every nth), one byte at a time, and cut at every event boundary;
** those of AWS's binary messages also split in three around the messages' boundaries, and cut by an error at each.
** Same deltas, same message, the grammar of deltas, and no success without the wire's terminal signal.
*/
#include "kit.h"
#include "support/file.h"

/* The result of an answer: the deltas as lines, the message or the error as JSON. */
struct outcome {
  struct buf deltas, message;
  enum progress end;
  struct err err;
};

struct answer {
  const char *name;
  const struct codec *codec;
  struct quirks quirks;
  int status, stream;
  struct header headers[64];
  size_t header_count;
  struct str body;
};

static struct mem libc;

/* {{{ running */

/* block := START DELTA* END; tools may interleave by id, other blocks stand alone. *run is 0, or one more than the type of
** the block that is open. Returns 0, -1 when broken. */
static int grammar(const struct event *d, int *run, char ids[][80], int *open) {
  const struct delta_form *form = event_form(d->type);
  const char *step = form->name + strlen(block_form(form->block)->name) + 1;
  int i, starts = strcmp(step, "start") == 0, ends = strcmp(step, "end") == 0;
  char id[80];
  if (form->id != NULL && d->id.n == 0) return -1;
  if ((form->word != NULL && d->name.n == 0) || (form->text != NULL && d->text.n == 0)) return -1;
  if (form->block != BLOCK_TOOL) {
    if (starts ? *run != 0 || *open != 0 : *run != (int)form->block + 1) return -1;
    *run = ends ? 0 : (int)form->block + 1;
    return 0;
  }
  snprintf(id, sizeof id, "%.*s", (int)(d->id.n < 79 ? d->id.n : 79), d->id.p);
  for (i = 0; i < *open && strcmp(ids[i], id) != 0; i++) {}
  if (starts) {
    if (i < *open || *open == 64 || *run != 0) return -1;
    strcpy(ids[(*open)++], id);
    return 0;
  }
  if (i == *open) return -1;
  if (ends) memmove(ids[i], ids[--*open], sizeof ids[i]);
  return 0;
}

static void note(struct buf *b, const struct event *d) {
  buf_adds(b, event_form(d->type)->name);
  buf_addc(b, '|');
  buf_addstr(b, d->id);
  buf_addc(b, '|');
  buf_addstr(b, d->name);
  buf_addc(b, '|');
  buf_addstr(b, d->text);
  buf_addc(b, '\n');
}

/* Takes what is ready; returns the last progress. */
static enum progress drain(struct exchange *x, struct outcome *o, int *run, char ids[][80], int *open) {
  struct event d;
  enum progress p;
  while ((p = exchange_next(x, &d)) == EXCHANGE_DELTA) {
    CHECK(grammar(&d, run, ids, open) == 0);
    note(&o->deltas, &d);
  }
  return p;
}

/* Where the bytes of an answer are parted: behind `first`, behind `second` if that is more, and from there on every
** `more` bytes; 0: not. */
struct split { size_t first, second, more; };

static size_t piece_end(struct split s, size_t from, size_t size) {
  size_t to = from < s.first ? s.first : from < s.second ? s.second : s.more > 0 ? from + s.more : size;
  return to < size ? to : size;
}

/* Runs the first `size` bytes of an answer, then the end of the body: a clean one, or that error. */
static void run_parted(const struct answer *a, size_t size, struct split split, const struct err *broken,
                       struct outcome *o) {
  struct exchange_spec spec = spec_of(a->codec);
  struct exchange *x;
  char ids[64][80];
  int open = 0, running = 0;
  struct node *message;
  memset(o, 0, sizeof *o);
  buf_init(&o->deltas, &libc);
  buf_init(&o->message, &libc);
  spec.quirks = &a->quirks;
  spec.model = STR("test-1");
  spec.request_messages = 1;
  spec.stream = a->stream;
  err_clear(&o->err);
  x = exchange_new(&libc, &spec, &o->err);
  CHECK(x != NULL);
  exchange_head(x, a->status, a->headers, a->header_count);
  drain(x, o, &running, ids, &open);
  for (size_t from = 0, to; from < size; from = to) {
    to = piece_end(split, from, size);
    feed(x, a->body.p + from, to - from);
    drain(x, o, &running, ids, &open);
  }
  exchange_eof(x, broken);
  o->end = drain(x, o, &running, ids, &open);
  CHECK(o->end == EXCHANGE_DONE || o->end == EXCHANGE_FAILED);
  CHECK(o->end != EXCHANGE_DONE || (open == 0 && running == 0));
  message = exchange_message(x);
  o->err = *exchange_error(x);
  if (message != NULL) CHECK(json_write(&o->message, message, &o->err) == 0);
  exchange_free(x);
}

/* The same, in one piece, with a clean end. */
static void run(const struct answer *a, size_t size, struct outcome *o) {
  run_parted(a, size, (struct split){ 0 }, NULL, o);
}

static void outcome_free(struct outcome *o) {
  buf_free(&o->deltas);
  buf_free(&o->message);
}

static int same(const struct outcome *a, const struct outcome *b) {
  return a->end == b->end && str_same(buf_str(&a->deltas), buf_str(&b->deltas)) &&
         str_same(buf_str(&a->message), buf_str(&b->message)) &&
         (a->end == EXCHANGE_DONE || (a->err.kind == b->err.kind && strcmp(a->err.message, b->err.message) == 0));
}

/* }}} */

/* {{{ properties */

/* At every offset of the body. A body longer than PIECE is split at several of them in each run: with one in each, the
** time would grow with the square of the length. */
static void check_splits(const struct answer *a, const struct outcome *whole) {
  enum { PIECE = 512 };
  struct outcome o;
  size_t bad = 0;
  for (size_t i = 1; i < a->body.n && i <= PIECE; i += test_every()) {
    run_parted(a, a->body.n, (struct split){ .first = i, .more = PIECE }, NULL, &o);
    if (!same(whole, &o) && bad++ == 0)
      fprintf(stderr, "%s: differs when split at %zu and every %d bytes behind it\n", a->name, i, PIECE);
    outcome_free(&o);
  }
  CHECK(bad == 0);
  run_parted(a, a->body.n, (struct split){ .more = 1 }, NULL, &o);
  CHECK(same(whole, &o));
  outcome_free(&o);
}

static int is_binary(const struct answer *a) { return a->codec->framing == &framing_eventstream; }

static int in_lines(const struct answer *a) { return a->codec->framing == &framing_ndjson; }

static size_t length_at(const struct answer *a, size_t at) {
  const unsigned char *u = (const unsigned char *)a->body.p + at;
  return at + 16 > a->body.n ? 0 : (size_t)u[0] << 24 | (size_t)u[1] << 16 | (size_t)u[2] << 8 | u[3];
}

static int is_end(char c) { return c == '\n' || c == '\r'; }

/* The next event boundary behind `at`; the body's length when there is none. */
static size_t next_boundary(const struct answer *a, size_t at) {
  if (is_binary(a)) {
    size_t n = length_at(a, at);
    return n < 16 || n > a->body.n - at ? a->body.n : at + n;
  }
  for (size_t i = at + 1; i < a->body.n; i++)
    if (is_end(a->body.p[i - 1]) && (in_lines(a) || i < 2 || is_end(a->body.p[i - 2]))) return i;
  return a->body.n;
}

/* Split in three, each part ending in or just behind the prelude of a message, or just before its end. */
static void check_messages(const struct answer *a, const struct outcome *whole) {
  static const size_t PLACES[] = { 0, 1, 4, 8, 11, 12, 13 };
  enum { N = sizeof PLACES / sizeof *PLACES };
  size_t bad = 0, from = 0;
  for (size_t to = 0; from < a->body.n; from = to) {
    to = next_boundary(a, from);
    for (size_t i = 0; i < 2 * N; i++)
      for (size_t k = i + 1; k <= 2 * N; k++) {
        size_t first = i < N ? from + PLACES[i] : to - PLACES[i - N];
        size_t second = k < N ? from + PLACES[k] : to - PLACES[(k - N) % N];
        struct outcome o;
        if (first >= second || second > a->body.n || (first + second) % test_every() != 0) continue;
        run_parted(a, a->body.n, (struct split){ first, second, 0 }, NULL, &o);
        if (!same(whole, &o) && bad++ == 0) fprintf(stderr, "%s: differs when split at %zu, %zu\n", a->name, first, second);
        outcome_free(&o);
      }
  }
  CHECK(bad == 0);
}

/* How often s holds the word. */
static int count_of(struct str s, const char *word) {
  int n = 0;
  size_t len = strlen(word);
  for (size_t i = 0; i + len <= s.n; i++) n += memcmp(s.p + i, word, len) == 0;
  return n;
}

/* The connection breaks at a boundary: where the message was complete that is said, once. */
static void check_broken(const struct answer *a, size_t size) {
  struct err broken;
  struct outcome o;
  err_set(&broken, KIND_CONNECT, "broken");
  run_parted(a, size, (struct split){ 0 }, &broken, &o);
  if (o.end == EXCHANGE_DONE) CHECK(count_of(buf_str(&o.message), "\"unclean_end\"") <= 1);
  else CHECK(o.err.kind == KIND_STREAM_TRUNCATED);
  outcome_free(&o);
}

/* Cut at an event boundary: success only where the wire had said that the message was over; no deltas but those of the whole. */
static void check_cuts(const struct answer *a, const struct outcome *whole) {
  size_t successes = 0, failures = 0;
  for (size_t i = next_boundary(a, 0); i < a->body.n; i = next_boundary(a, i)) {
    struct outcome o;
    check_broken(a, i);
    run(a, i, &o);
    if (o.end == EXCHANGE_DONE) successes++;
    else {
      failures++;
      CHECK(o.err.kind == KIND_STREAM_TRUNCATED || o.err.kind == whole->err.kind);
      CHECK(o.deltas.n <= whole->deltas.n && memcmp(o.deltas.n ? o.deltas.p : "", whole->deltas.n ? whole->deltas.p : "", o.deltas.n) == 0);
      if (o.deltas.n > 0) CHECK(o.message.n > 0);
      if (successes > 0) fprintf(stderr, "%s: cut at %zu fails after an earlier cut succeeded\n", a->name, i);
      CHECK(successes == 0);
    }
    outcome_free(&o);
  }
  /* Gemini's answers may be complete at every event; others of lines may have one line. */
  CHECK(failures > 0 || a->codec == &codec_gemini || (in_lines(a) && successes == 0));
}

static void check_answer(const struct answer *a) {
  struct outcome whole;
  run(a, a->body.n, &whole);
  check_splits(a, &whole);
  if (a->stream && whole.end == EXCHANGE_DONE && (a->body.p[0] != '{' || in_lines(a))) check_cuts(a, &whole);
  if (a->stream && is_binary(a) && a->status == 200) check_messages(a, &whole);
  outcome_free(&whole);
}

/* }}} */

/* {{{ files */

static void lower(struct arena *a, struct str *s) {
  struct str copy = arena_dup(a, *s);
  char *p = (char *)copy.p;
  for (size_t i = 0; i < copy.n; i++)
    if (p[i] >= 'A' && p[i] <= 'Z') p[i] = (char)(p[i] + 32);
  *s = copy;
}

/* A body whose characters stand for bytes (none above U+00FF), which need not be UTF-8. */
static struct str bytes_of(struct arena *a, struct str s) {
  struct str copy = arena_dup(a, s);
  char *to = (char *)copy.p;
  for (size_t i = 0; i < s.n; i++) {
    unsigned c = (unsigned char)s.p[i];
    *to++ = (char)(c < 0x80 ? c : ((c & 0x03) << 6) | ((unsigned char)s.p[++i] & 0x3Fu));
  }
  copy.n = (size_t)(to - copy.p);
  return copy;
}

/* The bytes that base64 text stands for. */
static struct str decoded(struct arena *a, struct str s) {
  static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char *to = arena_alloc(a, s.n + 1);
  struct str bytes = { to, 0 };
  unsigned bits = 0;
  for (size_t i = 0; to != NULL && i < s.n && s.p[i] != '='; i++) {
    bits = bits << 6 | (unsigned)(strchr(DIGITS, s.p[i]) - DIGITS);
    if (i % 4 != 0) to[bytes.n++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xFF);
  }
  return bytes;
}

/* The dialect of a folder, and of the model in a path, as their row of data has it. */
static void dialect(const char *folder, struct str path, struct quirks *q) {
  quirks_default(q);
  if (strncmp(folder, "xai-", 4) == 0) q->dedup_reasoning = q->reasoning_outside_output = 1;
  if (str_contains(path, "amazon.nova-lite")) {
    q->family = "nova";
    q->inline_think = 1;
  }
}

static const struct codec *codec_of(const char *folder) {
  static const struct { const char *part; const struct codec *codec; } CODECS[] = {
    { "messages", &codec_anthropic }, { "vertex-anthropic", &codec_anthropic }, { "responses", &codec_responses },
    { "gemini", &codec_gemini }, { "ollama-native", &codec_ollama }, { "bedrock-converse", &codec_bedrock },
    { "bedrock-invoke", &codec_bedrock_invoke }
  };
  for (size_t i = 0; i < sizeof CODECS / sizeof *CODECS; i++)
    if (strstr(folder, CODECS[i].part) != NULL) return CODECS[i].codec;
  return &codec_chat;
}

/* Whether a stream was asked for: the body says it, or the path, else the answer shows it. */
static int asks_stream(const struct node *request, struct str body) {
  struct str path = node_str(node_get(request, "path"));
  const struct node *said = node_get(node_get(request, "body"), "stream");
  if (said != NULL) return said->type == NODE_TRUE;
  if (str_begins(path, "/model/")) return str_contains(path, "-stream");
  return body.n > 0 && body.p[0] != '{';
}

static void check_file(const char *folder, const char *path) {
  struct buf text;
  struct arena arena;
  struct err e;
  struct node *root, *response;
  struct answer a;
  memset(&a, 0, sizeof a);
  buf_init(&text, &libc);
  arena_init(&arena, &libc);
  err_clear(&e);
  CHECK(whole_file(path, &text) == 0);
  root = json_tree(&arena, buf_str(&text), 512, &e);
  CHECK(root != NULL);
  response = node_get(root, "response");
  CHECK(response != NULL);
  if (response != NULL) {
    a.name = path;
    a.codec = codec_of(folder);
    dialect(folder, node_str(node_get(node_get(root, "request"), "path")), &a.quirks);
    a.status = (int)node_get(response, "status")->u.i;
    a.body = node_str(node_get(response, "body"));
    if (node_get(response, "bytes") != NULL) a.body = bytes_of(&arena, a.body);
    if (node_get(response, "encoding") != NULL) a.body = decoded(&arena, a.body);
    a.stream = asks_stream(node_get(root, "request"), a.body);
    for (struct node *h = node_get(response, "headers")->child; h != NULL && a.header_count < 64; h = h->next) {
      a.headers[a.header_count] = (struct header){ h->key, h->s };
      lower(&arena, &a.headers[a.header_count++].name);
    }
    check_answer(&a);
  }
  arena_free(&arena);
  buf_free(&text);
}

/* }}} */

int main(void) {
  static const char *const FOLDERS[] = {
    "anthropic-messages", "openai-chat", "azure-openai-chat", "copilot-chat", "copilot-messages", "deepseek-chat",
    "groq-chat", "mistral-chat", "openrouter-chat", "xai-chat", "vllm-chat", "llamacpp-chat", "ollama-chat",
    "ollama-native", "openai-responses", "xai-responses", "openrouter-responses", "vllm-responses",
    "deepseek-responses", "copilot-responses", "gemini-generatecontent", "bedrock-converse", "bedrock-invoke", "bedrock-mantle-responses",
    "vertex-anthropic"
  };
  static const char *const OWN[] = { "anthropic-messages", "chat", "mistral-chat", "xai-chat", "responses", "gemini",
                                      "ollama-native", "bedrock-converse", "bedrock-invoke" };
  const char *recordings = getenv("KOINE_RECORDINGS");
  int n = 0, own = 0;
  libc = mem_libc();
  for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) own += each_json("spec/wire", OWN[i], check_file);
  for (size_t i = 0; recordings != NULL && i < sizeof FOLDERS / sizeof *FOLDERS; i++)
    n += each_json(recordings, FOLDERS[i], check_file);
  CHECK(own > 0);
  CHECK(recordings == NULL || n > 50);
  printf("exchange: %d answers of our own, %d recordings\n", own, n);
  return test_done("exchange/exchange");
}
