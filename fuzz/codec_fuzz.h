/*
** codec_fuzz.h: the targets of codecs: whatever a provider sends becomes parts that a message accepts, or an error that
** says so, and a finished message can always be sent back; the short way through records of one shape says what the
** codec says; whatever request passes becomes one JSON object, the same one
** twice. The first byte picks: lines as events of a stream, a plain answer, a request, an error answer; the second one
** the dialect. CODEC and dialect() are the target's.
*/
#ifndef KOINE_CODEC_FUZZ_H
#define KOINE_CODEC_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

#include "core/codec/codec.h"
#include "core/exchange/shape.h"
#include "core/message/message.h"

static const struct origin HERE = { { "here", 4 }, { "m", 1 }, { "fuzz", 4 } };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH 64
#define REQUIRE(cond) ((cond) ? (void)0 : abort())

/* A dialect for each value of a byte. */
static void dialect(struct quirks *q, unsigned pick);
/* Whether a request only counts tokens. */
#define COUNTS(pick) ((pick) & 64 && CODEC.render_count != NULL)

/* {{{ requests */

/* Renders into b: 0, or -1. */
static int render(struct arena *a, struct node *request, const struct quirks *q, int count, struct buf *b,
                  struct err *e) {
  struct render r = { .provider = STR("here"), .a = a, .quirks = q, .body = b, .framing = CODEC.framing,
                      .request = request };
  struct buf path;
  int bad;
  buf_init(&path, a->m);
  r.path = &path;
  r.headers = node_new(a, NODE_OBJECT);
  r.warnings = node_new(a, NODE_ARRAY);
  err_clear(e);
  bad = (count ? CODEC.render_count : CODEC.render)(&r, e);
  REQUIRE(bad != 0 || (r.framing != NULL && path.n > 0 && path.p[0] == '/'));
  buf_free(&path);
  return bad;
}

static int render_text(struct str in, const struct quirks *q, int count, struct buf *b) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *request;
  int r = -1;
  arena_init(&a, &m);
  request = json_tree(&a, in, DEPTH, &e);
  if (node_is(request, NODE_OBJECT)) {
    r = render(&a, request, q, count, b, &e);
    REQUIRE(r == 0 || (e.kind != KIND_NONE && e.kind != KIND_MEMORY));
    if (r == 0) REQUIRE(node_is(json_tree(&a, buf_str(b), JSON_DEPTH_MAX, &e), NODE_OBJECT));
  }
  arena_free(&a);
  return r;
}

static void request(struct str in, unsigned pick) {
  struct mem m = mem_libc();
  struct quirks q;
  struct buf once, twice;
  dialect(&q, pick);
  buf_init(&once, &m);
  buf_init(&twice, &m);
  if (render_text(in, &q, COUNTS(pick), &once) == 0)
    REQUIRE(render_text(in, &q, COUNTS(pick), &twice) == 0 && str_same(buf_str(&once), buf_str(&twice)));
  buf_free(&once);
  buf_free(&twice);
}

/* }}} */

/* {{{ answers */

/* A codec and the message it fills. */
struct scene {
  struct mem m;
  struct arena scratch, trees;
  struct quirks quirks;
  struct limits limits;
  struct parse p;
  struct events parts, deltas;
  struct message message;
  struct err e;
  void *state;
};

static void scene_open(struct scene *s, unsigned pick) {
  struct err e;
  s->m = mem_libc();
  arena_init(&s->scratch, &s->m);
  arena_init(&s->trees, &s->m);
  dialect(&s->quirks, pick);
  limits_default(&s->limits);
  s->limits.depth = DEPTH;
  s->limits.blocks = 64;
  s->limits.tool_calls = 16;
  s->limits.argument_bytes = 4096;
  s->p = (struct parse){ .m = &s->m, .a = &s->scratch, .quirks = &s->quirks, .limits = &s->limits };
  s->p.tool_names = json_tree(&s->trees, STR("[\"f\"]"), 4, &e);
  events_init(&s->parts, &s->m);
  events_init(&s->deltas, &s->m);
  message_init(&s->message, &s->m, &s->limits, &HERE, 1);
  err_clear(&s->e);
  s->state = calloc(1, CODEC.state_size);
  REQUIRE(s->state != NULL);
  CODEC.init(s->state, &s->p);
}

static void scene_close(struct scene *s) {
  CODEC.free(s->state);
  free(s->state);
  message_free(&s->message);
  events_free(&s->parts);
  events_free(&s->deltas);
  arena_free(&s->scratch);
  arena_free(&s->trees);
}

/* Hands the parts on; those that carry JSON must carry JSON, and counts are never negative. 0, or -1: refused. */
static int pass_on(struct scene *s) {
  const struct event *part;
  struct err scratch;
  while ((part = events_take(&s->parts)) != NULL) {
    if (part->type == PART_RAW || part->type == PART_OPAQUE)
      REQUIRE(node_is(json_tree(&s->trees, part->text, JSON_DEPTH_MAX, &scratch), NODE_OBJECT));
    if (part->type == PART_USAGE) REQUIRE(part->usage.input >= -1 && part->usage.output >= -1);
    if (message_add(&s->message, part, &s->deltas, &s->e) != 0) return -1;
    events_clear(&s->deltas);
  }
  return 0;
}

static void member(struct node *o, struct str key, struct node *v) {
  REQUIRE(o != NULL && v != NULL && node_set(o, key, v) == 0);
}

static void add_message(struct arena *a, struct node *messages, struct str role, struct node *content) {
  struct node *m = node_new(a, NODE_OBJECT);
  member(m, STR("role"), node_string(a, role));
  member(m, STR("content"), content);
  REQUIRE(node_add(messages, m) == 0);
}

/* The message in a history, every call answered, is a legal request. */
static void send_back(struct scene *s, struct node *message) {
  struct arena *a = &s->trees;
  struct node *o = node_new(a, NODE_OBJECT), *messages = node_new(a, NODE_ARRAY), *answers = node_new(a, NODE_ARRAY);
  struct node *content = node_get(message, "content");
  struct buf b;
  struct err e;
  for (const struct node *c = content->child; c != NULL; c = c->next) {
    struct node *r = node_new(a, NODE_OBJECT);
    if (!str_eq(node_str(node_get(c, "type")), "tool_use")) continue;
    member(r, STR("type"), node_string(a, STR("tool_result")));
    member(r, STR("tool_use_id"), node_string(a, node_str(node_get(c, "id"))));
    member(r, STR("content"), node_string(a, STR("fine")));
    REQUIRE(node_add(answers, r) == 0);
  }
  add_message(a, messages, STR("user"), node_string(a, STR("q")));
  add_message(a, messages, STR("assistant"), content);
  add_message(a, messages, STR("user"), answers->count > 0 ? answers : node_string(a, STR("go on")));
  member(o, STR("model"), node_string(a, STR("m")));
  member(o, STR("messages"), messages);
  buf_init(&b, &s->m);
  REQUIRE(render(a, o, &s->quirks, 0, &b, &e) == 0);
  REQUIRE(node_is(json_tree(a, buf_str(&b), JSON_DEPTH_MAX, &e), NODE_OBJECT));
  buf_free(&b);
}

static void finish(struct scene *s) {
  struct node *message;
  if (!CODEC.ended(s->state) || CODEC.parse_end(s->state, &s->parts, &s->e) != 0 || pass_on(s) != 0 ||
      message_end(&s->message, &s->deltas, &s->e) != 0) return;
  message = message_node(&s->message, &s->trees, 0);
  REQUIRE(message != NULL);
  send_back(s, message);
}

/* A line as a record. Where the target is NAMED, its name stands before a blank, and behind "!" it is a fault. */
static struct record record_of(struct str line) {
  struct record r = { .data = line, .retry = -1 };
#ifdef NAMED
  size_t n = 0;
  r.fault = line.n > 0 && line.p[0] == '!';
  if (r.fault) r.data = (struct str){ line.p + 1, line.n - 1 };
  while (n < r.data.n && r.data.p[n] != ' ') n++;
  r.name = (struct str){ r.data.p, n };
  r.data = n < r.data.n ? (struct str){ r.data.p + n + 1, r.data.n - n - 1 } : STR_NONE;
#endif
  return r;
}

/* The short way, beside a codec: each record gives the same parts, or the same failure. */
struct quick { struct scene s; struct shape shape; };

static void check_quick(struct quick *q, const struct record *record, const struct scene *s, int expected) {
  const struct events *a = &s->parts, *b = &q->s.parts;
  arena_reset(&q->s.scratch);
  REQUIRE(shape_parse(&q->shape, &CODEC, q->s.state, &q->s.p, record, &q->s.parts, &q->s.e) == expected);
  if (expected != 0) {
    REQUIRE(s->e.kind == q->s.e.kind && strcmp(s->e.message, q->s.e.message) == 0);
    return;
  }
  REQUIRE(a->n - a->head == b->n - b->head);
  for (size_t i = a->head, k = b->head; i < a->n; i++, k++) {
    const struct event *x = &a->v[i], *y = &b->v[k];
    REQUIRE(x->type == y->type && x->flags == y->flags && x->key == y->key && x->stop == y->stop);
    if (x->type == PART_USAGE) REQUIRE(memcmp(&x->usage, &y->usage, sizeof x->usage) == 0); /* it has no padding */
    else REQUIRE(str_same(x->text, y->text) && str_same(x->id, y->id) && str_same(x->name, y->name));
  }
  events_clear(&q->s.parts);
}

static void stream(struct str in, unsigned pick) {
  struct scene s;
  struct quick q;
  int r = 0;
  scene_open(&s, pick);
  scene_open(&q.s, pick);
  shape_init(&q.shape, &s.m);
  while (in.n > 0 && r == 0) {
    const char *lf = memchr(in.p, '\n', in.n);
    struct str line = { in.p, lf != NULL ? (size_t)(lf - in.p) : in.n };
    const struct record record = record_of(line);
    arena_reset(&s.scratch);
    r = CODEC.parse_record(s.state, &record, &s.parts, &s.e);
    check_quick(&q, &record, &s, r);
    if (r == 0) r = pass_on(&s);
    else REQUIRE(s.e.kind != KIND_NONE && s.e.message[0] != '\0');
    in.p += line.n + (lf != NULL);
    in.n -= line.n + (lf != NULL);
  }
  if (r == 0) finish(&s);
  shape_free(&q.shape);
  scene_close(&q.s);
  scene_close(&s);
}

static void plain(struct str in, unsigned pick) {
  struct scene s;
  scene_open(&s, pick);
  if (CODEC.parse_body(s.state, in, &s.parts, &s.e) == 0) {
    REQUIRE(CODEC.ended(s.state));
    if (pass_on(&s) == 0) finish(&s);
  } else {
    REQUIRE(s.e.kind != KIND_NONE && s.e.message[0] != '\0');
  }
  scene_close(&s);
}

/* An error answer, whose status follows from its length. */
static void failure(struct str in) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  arena_init(&a, &m);
  codec_error(&a, in.n % 2 ? 400 + (int)(in.n % 200) : 200, in, &e);
  REQUIRE(e.kind != KIND_NONE && e.message[0] != '\0' && e.status >= 400);
  arena_free(&a);
}

/* }}} */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct str in = { (const char *)data + 2, size - 2 };
  if (size < 2) return 0;
  switch (data[0] % 4) {
    case 0: stream(in, data[1]); break;
    case 1: plain(in, data[1]); break;
    case 2: request(in, data[1]); break;
    default: failure(in); break;
  }
  return 0;
}

#endif
