/*
** exchange.c: every answer in spec/wire and, where KOINE_RECORDINGS names a folder of recordings, in there, through the
** core: whole, split in two at every offset (KOINE_EVERY=n: every nth), one byte at a time, and cut at every event boundary.
** Same deltas, same message, the grammar of deltas, and no success without the wire's terminal signal.
*/
#include "kit.h"
#include "support/file.h"

/* What an answer gave: the deltas as lines, the message or the error as JSON. */
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
  buf_adds(b, event_name(d->type));
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

/* Runs the first `size` bytes of an answer, cut after `split` bytes, or into single bytes when split is SIZE_MAX. */
static void run(const struct answer *a, size_t size, size_t split, struct outcome *o) {
  struct exchange_spec spec = spec_of(a->codec);
  struct exchange *x;
  char ids[64][80];
  int open = 0, running = 0;
  struct node *message;
  memset(o, 0, sizeof *o);
  buf_init(&o->deltas, &libc);
  buf_init(&o->message, &libc);
  spec.quirks = a->quirks;
  spec.model = STR("test-1");
  spec.request_messages = 1;
  spec.stream = a->stream;
  err_clear(&o->err);
  x = exchange_new(&libc, &spec, &o->err);
  CHECK(x != NULL);
  exchange_head(x, a->status, a->headers, a->header_count);
  drain(x, o, &running, ids, &open);
  if (split == SIZE_MAX) {
    for (size_t i = 0; i < size; i++) {
      feed(x, a->body.p + i, 1);
      drain(x, o, &running, ids, &open);
    }
  } else {
    feed(x, a->body.p, split);
    drain(x, o, &running, ids, &open);
    feed(x, a->body.p + split, size - split);
    drain(x, o, &running, ids, &open);
  }
  exchange_eof(x, NULL);
  o->end = drain(x, o, &running, ids, &open);
  CHECK(o->end == EXCHANGE_DONE || o->end == EXCHANGE_FAILED);
  CHECK(o->end != EXCHANGE_DONE || (open == 0 && running == 0));
  message = exchange_message(x);
  o->err = *exchange_error(x);
  if (message != NULL) CHECK(json_write(&o->message, message, &o->err) == 0);
  exchange_free(x);
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

static void check_splits(const struct answer *a, const struct outcome *whole) {
  struct outcome o;
  size_t bad = 0;
  for (size_t i = 1; i < a->body.n; i += test_every()) {
    run(a, a->body.n, i, &o);
    if (!same(whole, &o) && bad++ == 0) fprintf(stderr, "%s: differs when split at %zu\n", a->name, i);
    outcome_free(&o);
  }
  CHECK(bad == 0);
  run(a, a->body.n, SIZE_MAX, &o);
  CHECK(same(whole, &o));
  outcome_free(&o);
}

static int is_end(char c) { return c == '\n' || c == '\r'; }

/* Cut at an event boundary: success only where the wire had said that the message was over; no deltas but those of the whole. */
static void check_cuts(const struct answer *a, const struct outcome *whole) {
  size_t successes = 0, failures = 0;
  for (size_t i = 1; i < a->body.n; i++) {
    struct outcome o;
    if (!is_end(a->body.p[i - 1]) || (i >= 2 && !is_end(a->body.p[i - 2]))) continue;
    run(a, i, i, &o);
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
  CHECK(failures > 0 || a->codec == &codec_gemini); /* whose answers may be complete at every event */
}

static void check_answer(const struct answer *a) {
  struct outcome whole;
  run(a, a->body.n, 0, &whole);
  check_splits(a, &whole);
  if (a->stream && whole.end == EXCHANGE_DONE && a->body.p[0] != '{') check_cuts(a, &whole);
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

/* The dialect of a folder, as its row of data has it. */
static void dialect(const char *folder, struct quirks *q) {
  quirks_default(q);
  if (strncmp(folder, "xai-", 4) == 0) q->dedup_reasoning = q->reasoning_outside_output = 1;
}

static void check_file(const char *folder, const char *path) {
  struct buf text;
  struct arena arena;
  struct err e;
  struct node *root, *response, *asked;
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
    a.codec = strstr(folder, "messages") != NULL ? &codec_anthropic
            : strstr(folder, "responses") != NULL ? &codec_responses
            : strstr(folder, "gemini") != NULL ? &codec_gemini : &codec_chat;
    dialect(folder, &a.quirks);
    a.status = (int)node_get(response, "status")->u.i;
    a.body = node_str(node_get(response, "body"));
    if (node_get(response, "bytes") != NULL) a.body = bytes_of(&arena, a.body);
    asked = node_get(node_get(node_get(root, "request"), "body"), "stream");
    a.stream = asked != NULL ? asked->type == NODE_TRUE : a.body.n > 0 && a.body.p[0] != '{';
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
    "openai-responses", "xai-responses", "openrouter-responses", "vllm-responses", "deepseek-responses",
    "copilot-responses", "gemini-generatecontent"
  };
  static const char *const OWN[] = { "anthropic-messages", "chat", "mistral-chat", "xai-chat", "responses", "gemini" };
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
