/* kit.h: what the tests of all codecs share: quirks from JSON, a request on its way, an answer on its way. */
#ifndef KOINE_SPEC_C_CODEC_KIT_H
#define KOINE_SPEC_C_CODEC_KIT_H

#include "core/codec/codec.h"
#include "support/failing.h"
#include "support/test.h"
#include "support/text.h"

/* Sets quirks from {'name': value, …}. */
static inline void set_quirks(struct quirks *q, const char *values) {
  struct mem m = mem_libc();
  struct arena a;
  struct err e;
  struct node *o;
  arena_init(&a, &m);
  o = json_tree(&a, z(json(values)), 8, &e);
  CHECK(o != NULL);
  for (const struct node *v = o ? o->child : NULL; v != NULL; v = v->next) CHECK(quirks_set(q, v->key, v, &e) == 0);
  arena_free(&a);
}

/* A request and what a codec makes of it. */
struct rendering {
  struct mem m;
  struct arena a;
  struct buf body, path;
  struct quirks quirks;
  struct err e;
  struct render r;
};

/* Reads a request (' stands for "): 0, or -1 and x->e. Its strings are in the ring of json. */
static inline int rendering_open(struct rendering *x, const struct codec *codec, const struct mem *m,
                                 const char *request) {
  x->m = *m;
  arena_init(&x->a, &x->m);
  buf_init(&x->body, &x->m);
  buf_init(&x->path, &x->m);
  quirks_default(&x->quirks);
  err_clear(&x->e);
  x->r = (struct render){ .a = &x->a, .quirks = &x->quirks, .provider = STR("here"), .body = &x->body,
                          .path = &x->path, .framing = codec->framing };
  x->r.request = json_tree(&x->a, z(json(request)), 64, &x->e);
  x->r.headers = node_new(&x->a, NODE_OBJECT);
  x->r.warnings = node_new(&x->a, NODE_ARRAY);
  if (x->r.request == NULL) return -1;
  return x->r.headers == NULL || x->r.warnings == NULL ? err_memory(&x->e) : 0;
}

static inline void rendering_close(struct rendering *x) {
  buf_free(&x->body);
  buf_free(&x->path);
  arena_free(&x->a);
}

/* A codec that reads an answer: its parts are in `parts`, its scratch memory is `a`. */
struct parsing {
  const struct codec *codec;
  struct mem m;
  struct arena a;
  struct quirks quirks;
  struct limits limits;
  struct parse p;
  struct events parts;
  struct err e;
  void *state;
};

/* Quirks, limits and p may be changed before parsing_begin. */
static inline void parsing_open(struct parsing *x, const struct codec *codec, const struct mem *m) {
  memset(x, 0, sizeof *x);
  x->codec = codec;
  x->m = *m;
  arena_init(&x->a, &x->m);
  quirks_default(&x->quirks);
  limits_default(&x->limits);
  x->p = (struct parse){ .m = &x->m, .a = &x->a, .quirks = &x->quirks, .limits = &x->limits };
  events_init(&x->parts, &x->m);
  err_clear(&x->e);
}

/* The state is no part of what may fail: it is from malloc. */
static inline void parsing_begin(struct parsing *x) {
  x->state = calloc(1, x->codec->state_size);
  x->codec->init(x->state, &x->p);
}

/* Hands the codec a record that is one event, a fault where "!" stands before its name: 0, or -1 and x->e. */
static inline int parsing_record(struct parsing *x, const char *name, struct str data) {
  int fault = name[0] == '!';
  const struct record record = { .name = z(name + fault), .data = data, .fault = fault };
  return x->codec->parse_record(x->state, &record, &x->parts, &x->e);
}

static inline void parsing_close(struct parsing *x) {
  x->codec->free(x->state);
  free(x->state);
  events_free(&x->parts);
  arena_free(&x->a);
}

#endif
