/*
** codec_anthropic.c: whatever a provider sends becomes parts that a message accepts, or an error that says so; whatever
** request passes becomes one JSON object, the same one twice. The first byte picks: lines as events of a stream, a
** plain answer, a request, an error answer. Build with -fsanitize=fuzzer,address,undefined.
*/
#include <stdint.h>
#include <stdlib.h>

#include "core/codec.h"
#include "core/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH 64
#define REQUIRE(cond) ((cond) ? (void)0 : abort())

/* {{{ answers */

/* A codec and the message it fills. */
struct scene {
  struct mem m;
  struct arena scratch, turn;
  struct quirks quirks;
  struct limits limits;
  struct parse p;
  struct events parts, deltas;
  struct message message;
  struct err e;
  void *state;
};

static void scene_open(struct scene *s) {
  s->m = mem_libc();
  arena_init(&s->scratch, &s->m);
  arena_init(&s->turn, &s->m);
  quirks_default(&s->quirks);
  limits_default(&s->limits);
  s->limits.depth = DEPTH;
  s->limits.blocks = 64;
  s->limits.argument_bytes = 4096;
  s->p = (struct parse){ &s->m, &s->scratch, &s->quirks, &s->limits, NULL };
  events_init(&s->parts, &s->m);
  events_init(&s->deltas, &s->m);
  message_init(&s->message, &s->m, &s->limits, STR("anthropic"), STR("m"), 1);
  err_clear(&s->e);
  s->state = calloc(1, codec_anthropic.state_size);
  REQUIRE(s->state != NULL);
  codec_anthropic.init(s->state, &s->p);
}

static void scene_close(struct scene *s) {
  codec_anthropic.free(s->state);
  free(s->state);
  message_free(&s->message);
  events_free(&s->parts);
  events_free(&s->deltas);
  arena_free(&s->scratch);
  arena_free(&s->turn);
}

/* Hands the parts on; those that carry JSON must carry JSON. 0, or -1: the message refused one. */
static int pass_on(struct scene *s) {
  const struct event *part;
  struct err scratch;
  while ((part = events_take(&s->parts)) != NULL) {
    if (part->type == PART_RAW || part->type == PART_OPAQUE)
      REQUIRE(node_is(json_tree(&s->turn, part->text, JSON_DEPTH_MAX, &scratch), NODE_OBJECT));
    if (message_add(&s->message, part, &s->deltas, &s->e) != 0) return -1;
    events_clear(&s->deltas);
  }
  return 0;
}

static void finish(struct scene *s) {
  if (!codec_anthropic.ended(s->state) || codec_anthropic.parse_end(s->state, &s->parts, &s->e) != 0) return;
  if (pass_on(s) == 0 && message_end(&s->message, &s->deltas, &s->e) == 0)
    REQUIRE(message_node(&s->message, &s->turn, 0) != NULL);
}

static void stream(struct str in) {
  struct scene s;
  int r = 0;
  scene_open(&s);
  while (in.n > 0 && r == 0) {
    const char *lf = memchr(in.p, '\n', in.n);
    struct str line = { in.p, lf != NULL ? (size_t)(lf - in.p) : in.n };
    arena_reset(&s.scratch);
    r = codec_anthropic.parse_event(s.state, STR(""), line, &s.parts, &s.e);
    if (r == 0) r = pass_on(&s);
    else REQUIRE(s.e.kind != KIND_NONE && s.e.message[0] != '\0');
    in.p += line.n + (lf != NULL);
    in.n -= line.n + (lf != NULL);
  }
  if (r == 0) finish(&s);
  scene_close(&s);
}

static void plain(struct str in) {
  struct scene s;
  scene_open(&s);
  if (codec_anthropic.parse_body(s.state, in, &s.parts, &s.e) == 0) {
    REQUIRE(codec_anthropic.ended(s.state));
    if (pass_on(&s) == 0) finish(&s);
  } else {
    REQUIRE(s.e.kind != KIND_NONE);
  }
  scene_close(&s);
}

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

/* Renders into b: 0, or -1. */
static int render(const struct mem *m, struct str in, unsigned pick, struct buf *b, struct err *e) {
  struct arena a;
  struct quirks q;
  struct render r = { .provider = STR("anthropic"), .a = &a, .quirks = &q, .body = b };
  int result = -1;
  arena_init(&a, m);
  err_clear(e);
  quirks_default(&q);
  q.thinking_default = pick & 1;
  q.no_sampling = pick >> 1 & 1;
  q.no_prefill = pick >> 2 & 1;
  r.request = json_tree(&a, in, DEPTH, e);
  r.headers = node_new(&a, NODE_OBJECT);
  r.warnings = node_new(&a, NODE_ARRAY);
  if (node_is(r.request, NODE_OBJECT))
    result = (pick & 8 ? codec_anthropic.render_count : codec_anthropic.render)(&r, e);
  arena_free(&a);
  return result;
}

static void request(struct str in) {
  struct mem m = mem_libc();
  struct buf once, twice;
  struct arena a;
  struct err e;
  unsigned pick = in.n > 0 ? (unsigned char)in.p[0] : 0;
  if (in.n > 0) { in.p++; in.n--; }
  buf_init(&once, &m);
  buf_init(&twice, &m);
  arena_init(&a, &m);
  if (render(&m, in, pick, &once, &e) == 0) {
    REQUIRE(node_is(json_tree(&a, buf_str(&once), JSON_DEPTH_MAX, &e), NODE_OBJECT));
    REQUIRE(render(&m, in, pick, &twice, &e) == 0 && str_same(buf_str(&once), buf_str(&twice)));
  }
  buf_free(&once);
  buf_free(&twice);
  arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct str in = { (const char *)data + 1, size - 1 };
  if (size == 0) return 0;
  switch (data[0] % 4) {
    case 0: stream(in); break;
    case 1: plain(in); break;
    case 2: request(in); break;
    default: failure(in); break;
  }
  return 0;
}
