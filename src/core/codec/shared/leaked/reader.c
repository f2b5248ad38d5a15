/*
** reader.c: the text that calls are read from. See reader.h.
** Failure: `failed` in the reader, out of memory.
*/
#include "reader.h"

static const char *const TAGS[] = {
  "<parameter name=", "</parameter>", "<invoke name=", "</invoke>", "<tool_call>", "</tool_call>",
  "<minimax:tool_call>", "</minimax:tool_call>"
};

static const char *tag_text(int tag) {
  return tag < THOUGHT_ENDS ? TAGS[tag] : leaked_thoughts[tag - THOUGHT_ENDS].close;
}

size_t reader_tag_size(int tag) {
  return strlen(tag_text(tag));
}

size_t reader_find(struct reader *r, int tag, size_t i) {
  size_t at = r->found[tag] > i ? r->found[tag] : i;
  while (at < r->s.n && leaked_fits(from(r->s, at), tag_text(tag)) != FIT_WHOLE) {
    const char *p = memchr(r->s.p + at + 1, '<', r->s.n - at - 1);
    at = p != NULL ? (size_t)(p - r->s.p) : r->s.n;
  }
  return r->found[tag] = at;
}

int reader_at(const struct reader *r, int tag, size_t i) {
  return leaked_fits(from(r->s, i), tag_text(tag)) == FIT_WHOLE;
}

void reader_cut(struct reader *r, size_t begin, size_t end) {
  struct gap *g = arena_zero(r->a, sizeof *g);
  if (g == NULL) { r->failed = 1; return; }
  g->begin = begin;
  g->end = end;
  if (r->last_gap != NULL) r->last_gap->next = g;
  else r->gaps = g;
  r->last_gap = g;
}

static int offered(const struct reader *r, struct str name) {
  for (const struct node *v = r->names->child; v != NULL; v = v->next)
    if (node_is(v, NODE_STRING) && str_same(v->s, name)) return 1;
  return 0;
}

int reader_add(struct reader *r, struct chain *c, struct str name, struct str arguments) {
  struct leaked_call *call;
  if (!offered(r, name)) return 0;
  call = arena_zero(r->a, sizeof *call);
  if (call == NULL) { r->failed = 1; return 0; }
  call->name = name;
  call->arguments = arguments;
  if (c->last != NULL) c->last->next = call;
  else c->first = call;
  c->last = call;
  return 1;
}

struct str reader_remainder(struct reader *r) {
  char *p = arena_alloc(r->a, r->s.n + 1);
  size_t n = 0, at = 0;
  if (p == NULL) { r->failed = 1; return STR_NONE; }
  for (const struct gap *g = r->gaps; g != NULL; at = g->end, g = g->next) {
    memcpy(p + n, r->s.p + at, g->begin - at);
    n += g->begin - at;
  }
  memcpy(p + n, r->s.p + at, r->s.n - at);
  return (struct str){ p, n + r->s.n - at };
}
