/*
** read.c: small readers that the parsers share: single values, members kept as they came, records of several lines, token
** counts.
** Results are borrowed from the input or lie in the scratch arena. Failure: -1 and an err.
*/
#include "read.h"

/* {{{ values */

int codec_text(struct json *j, struct arena *a, struct str *out, unsigned *flags) {
  switch (json_next(j)) {
    case J_ERROR: return -1;
    case J_STRING: return json_text_wtf8(j, a, out, flags) == 0 ? 0 : err_memory(j->e);
    default: return json_skip(j);
  }
}

int codec_odd(struct json *j, const char *what) {
  if (j->tok == J_ERROR) return -1;
  return j->tok == J_NULL ? 0 : err_set(j->e, KIND_PROTOCOL, "%s", what);
}

int codec_said(struct json *j, struct arena *a, struct str *out, unsigned *flags, const char *what) {
  if (json_next(j) != J_STRING) return codec_odd(j, what);
  return json_text_wtf8(j, a, out, flags) == 0 ? 0 : err_memory(j->e);
}

int codec_word(struct json *j, struct arena *a, struct str *out) {
  switch (json_next(j)) {
    case J_ERROR: return -1;
    case J_STRING: return json_text(j, a, out) == 0 ? 0 : err_memory(j->e);
    case J_INT: case J_BIG: *out = j->text; return 0;
    default: return json_skip(j);
  }
}

int codec_raw(struct json *j, struct str *raw) {
  if (json_raw(j, raw) != 0) return -1;
  if (str_eq(*raw, "null")) *raw = STR_NONE;
  return 0;
}

int codec_integer(struct json *j, int64_t *v) {
  enum token t = json_next(j);
  if (t == J_ERROR) return -1;
  if (t == J_INT) *v = j->i;
  return json_skip(j);
}

int codec_count(struct json *j, int64_t *v) {
  (void)json_next(j);
  return codec_count_read(j, v);
}

int codec_count_read(struct json *j, int64_t *v) {
  switch (j->tok) {
    case J_ERROR: return -1;
    case J_INT:
      if (j->i >= 0 && j->i <= COUNT_MAX) *v = j->i;
      return 0;
    case J_DOUBLE:
      if (j->d >= 0 && j->d <= (double)COUNT_MAX) *v = (int64_t)j->d;
      return 0;
    default: return json_skip(j);
  }
}

int codec_next_object(struct json *j) {
  for (;;) {
    switch (json_next(j)) {
      case J_OBJECT: return 1;
      case J_ARRAY_END: return 0;
      case J_ERROR: return -1;
      default: if (json_skip(j) != 0) return -1;
    }
  }
}

void elements_open(struct elements *v, const struct parse *p, struct str json, struct err *e) {
  v->more = json.n > 0 && json.p[0] == '[';
  if (!v->more) return;
  json_open(&v->j, json, p->limits->depth, e);
  (void)json_next(&v->j);
}

int elements_next(struct elements *v, struct str *element) {
  enum token t;
  *element = STR_NONE;
  if (!v->more) return 0;
  t = json_next(&v->j);
  v->more = t != J_ARRAY_END && t != J_ERROR;
  if (!v->more) return t == J_ERROR ? -1 : 0;
  if (json_skip(&v->j) != 0) return -1;
  *element = (struct str){ v->j.start, (size_t)(v->j.p - v->j.start) };
  return 0;
}

int codec_is_object(const struct parse *p, struct str json) {
  struct err scratch;
  struct json j;
  json_open(&j, json, p->limits->depth, &scratch);
  return json_next(&j) == J_OBJECT && json_skip(&j) == 0 && json_next(&j) == J_EOF;
}

int codec_set(struct buf *b, struct str s, struct err *e) {
  b->n = 0;
  return buf_addstr(b, s) == 0 ? 0 : err_memory(e);
}

int codec_arguments(const struct parse *p, struct json *j, struct str *args, unsigned *flags, int *whole) {
  struct str raw;
  struct arena tree; /* gone at once: nodes are many times the size of their bytes */
  struct node *v;
  struct buf b;
  int bad = -1;
  enum token t = json_next(j);
  if (t == J_ERROR) return -1;
  if (t == J_STRING) return json_text_wtf8(j, p->a, args, flags) == 0 ? 0 : err_memory(j->e);
  if (t == J_NULL) return 0;
  raw.p = j->start;
  if (json_skip(j) != 0) return -1;
  raw.n = (size_t)(j->p - raw.p);
  arena_init(&tree, p->m);
  buf_init(&b, p->m);
  if ((v = json_tree(&tree, raw, p->limits->depth, j->e)) != NULL) bad = json_write(&b, v, j->e);
  if (bad == 0 && (*args = arena_dup(p->a, buf_str(&b))).p == NULL) bad = err_memory(j->e);
  buf_free(&b);
  arena_free(&tree);
  *whole = 1;
  return bad == 0 ? 0 : -1;
}

/* }}} */

/* {{{ members kept as they came */

int codec_member(struct buf *b, struct str key, struct str raw, struct err *e) {
  if (buf_adds(b, b->n == 0 ? "{\"" : ",\"") == 0 && buf_addstr(b, key) == 0 && buf_adds(b, "\":") == 0 &&
      buf_addstr(b, raw) == 0) return 0;
  return err_memory(e);
}

int codec_extra(struct buf *b, struct json *j) {
  struct str key = j->text, raw;
  if (json_raw(j, &raw) != 0) return -1;
  return str_eq(raw, "null") ? 0 : codec_member(b, key, raw, j->e);
}

int codec_list(struct buf *b, struct str key, const struct buf *elements, struct err *e) {
  if (codec_member(b, key, STR("["), e) != 0) return -1;
  return buf_addstr(b, buf_str(elements)) == 0 && buf_addc(b, ']') == 0 ? 0 : err_memory(e);
}

int codec_join(struct buf *elements, struct str json, struct err *e) {
  if (elements->n > 0 && buf_addc(elements, ',') != 0) return err_memory(e);
  return buf_addstr(elements, json) == 0 ? 0 : err_memory(e);
}

int codec_join_all(const struct parse *p, struct buf *elements, struct str json, struct err *e) {
  struct json j;
  if (json.n == 0 || json.p[0] != '[') return 0;
  json_open(&j, json, p->limits->depth, e);
  (void)json_next(&j);
  while (json_next(&j) != J_ARRAY_END) {
    const char *from = j.start;
    if (json_skip(&j) != 0 || codec_join(elements, (struct str){ from, (size_t)(j.p - from) }, e) != 0) return -1;
  }
  return 0;
}

int codec_extra_end(const struct parse *p, struct buf *b, struct str *raw, struct err *e) {
  *raw = STR_NONE;
  if (b->n == 0) return 0;
  if (buf_addc(b, '}') != 0) return err_memory(e);
  *raw = arena_dup(p->a, buf_str(b));
  return raw->p == NULL ? err_memory(e) : 0;
}

/* }}} */

/* {{{ records */

static int complete_json(const struct parse *p, struct str s) {
  struct json j;
  struct err scratch;
  err_clear(&scratch);
  json_open(&j, s, p->limits->depth, &scratch);
  return json_next(&j) != J_ERROR && json_skip(&j) == 0 && json_next(&j) == J_EOF;
}

/* The first line of *rest, which is not empty, taken off it. */
static struct str take_line(struct str *rest) {
  const char *lf = memchr(rest->p, '\n', rest->n);
  struct str line = { rest->p, lf != NULL ? (size_t)(lf - rest->p) : rest->n };
  size_t n = line.n + (lf != NULL);
  *rest = (struct str){ rest->p + n, rest->n - n };
  return line;
}

/* True when every line is JSON, or [DONE], or empty. */
static int each_line_json(const struct parse *p, struct str rest) {
  while (rest.n > 0) {
    struct str line = take_line(&rest);
    if (line.n > 0 && !str_eq(line, "[DONE]") && !complete_json(p, line)) return 0;
  }
  return 1;
}

int codec_lines(const struct parse *p, const struct record *r, event_reader read, void *state, struct events *out,
                struct err *e) {
  struct str rest = r->data;
  if (complete_json(p, rest)) return codec_event(p, r, read, state, out, e);
  if (!each_line_json(p, rest)) return r->unclosed ? 0 : codec_event(p, r, read, state, out, e);
  while (rest.n > 0) {
    const struct record line = { .data = take_line(&rest), .retry = -1 };
    if (line.data.n > 0 && codec_event(p, &line, read, state, out, e) != 0) return -1;
  }
  return 0;
}

/* }}} */

/* {{{ token counts */

#define TICKS 1e10 /* of xAI's, in a dollar */

void token_counts_clear(struct token_counts *f) {
  *f = (struct token_counts){ -1, -1, -1, -1, -1, -1, -1, -1, 0, NULL };
}

const char *codec_tier(struct str tier) {
  static const struct str LISTED[] = { { "default", 7 }, { "standard", 8 }, { "auto", 4 }, { "on_demand", 9 } };
  for (size_t i = 0; i < sizeof LISTED / sizeof LISTED[0]; i++)
    if (tier.n == 0 || str_same(tier, LISTED[i])) return NULL;
  return "service_tier";
}

int codec_read_tier(struct json *j, struct arena *a, const char **unpriced) {
  struct str tier = STR_NONE;
  if (codec_word(j, a, &tier) != 0) return -1;
  if (codec_tier(tier) != NULL) *unpriced = codec_tier(tier);
  return 0;
}

/* The next value into *v if it is a number from 0 on; anything else is skipped and leaves *v. */
static int read_amount(struct json *j, double *v) {
  enum token t = json_next(j);
  if (t == J_ERROR) return -1;
  if (t == J_INT && j->i >= 0) *v = (double)j->i;
  if (t == J_DOUBLE && j->d >= 0) *v = j->d;
  return json_skip(j);
}

/* An amount, or the member of an object that is one. */
static int read_amount_in(struct json *j, struct str member, double *v) {
  struct json k = *j;
  enum token t = json_next(j);
  if (t == J_ERROR) return -1;
  if (t != J_OBJECT) { *j = k; return read_amount(j, v); }
  while ((t = json_next(j)) == J_KEY)
    if ((json_is_(j, member.p, member.n) ? read_amount(j, v) : json_skip(j)) != 0) return -1;
  return t == J_ERROR ? -1 : 0;
}

/* A count that is charged besides the tokens, at a price of its own. */
static int read_charged(struct json *j, struct token_counts *f, const char *why) {
  int64_t n = 0;
  if (codec_count(j, &n) != 0) return -1;
  if (n > 0) f->unpriced = why;
  return 0;
}

/* Reads the object that splits up a total. 1 when it is an object, 0, or -1. */
static int read_details(struct json *j, struct token_counts *d) {
  enum token t = json_next(j);
  if (t == J_ERROR) return -1;
  if (t != J_OBJECT) return json_skip(j);
  while ((t = json_next(j)) == J_KEY) {
    int r = json_is(j, "cached_tokens") ? codec_count(j, &d->cached)
          : json_is(j, "cache_write_tokens") ? codec_count(j, &d->written)
          : json_is(j, "reasoning_tokens") ? codec_count(j, &d->reasoning)
          : json_is(j, "audio_tokens") ? read_charged(j, d, "audio") : json_skip(j);
    if (r != 0) return -1;
  }
  return t == J_ERROR ? -1 : 1;
}

/* The first of them that is known, or -1. */
static int64_t first_known(int64_t a, int64_t b, int64_t c) {
  return a >= 0 ? a : b >= 0 ? b : c;
}

/* Reads the answer's cost, and what it was charged for besides tokens. 1 when the key at hand is one of these and was
** read, 0, or -1. */
static int read_cost(struct json *j, struct token_counts *f) {
  enum token t;
  if (json_is(j, "cost")) return read_amount_in(j, STR("total_cost"), &f->cost) == 0 ? 1 : -1; /* object: Perplexity */
  if (json_is(j, "cost_in_usd_ticks")) {                                                       /* xAI */
    if (read_amount(j, &f->cost) != 0) return -1;
    if (f->cost > 0) f->cost /= TICKS;
    return 1;
  }
  if (json_is(j, "cost_details")) return read_amount_in(j, STR("upstream_inference_cost"), &f->upstream) == 0 ? 1 : -1;
  if (json_is(j, "is_byok")) {                                                                 /* OpenRouter */
    if ((t = json_next(j)) == J_ERROR || json_skip(j) != 0) return -1;
    f->byok = t == J_TRUE;
    return 1;
  }
  if (!json_is(j, "num_sources_used") && !json_is(j, "num_server_side_tools_used")) return 0;  /* xAI */
  return read_charged(j, f, "server_tools") == 0 ? 1 : -1;
}

/* Overwrites a figure where v is known; returns whether it is. */
static int said(int64_t *to, int64_t v) {
  if (v >= 0) *to = v;
  return v >= 0;
}

/* True when the key at hand is this one. */
static int is(const struct json *j, struct str key) { return json_is_(j, key.p, key.n); }

/* The members of one usage object. */
struct reading {
  struct token_counts top, details;
  int64_t hit;               /* DeepSeek's count of cached tokens */
  int has_input, has_output; /* an object splits up this total */
};

/* One of its members; j stands behind the key. */
static int read_member(struct json *j, const struct token_count_names *names, struct reading *x) {
  int r;
  if (is(j, names->prompt_details)) return (x->has_input = read_details(j, &x->details)) < 0 ? -1 : 0;
  if (is(j, names->completion_details)) return (x->has_output = read_details(j, &x->details)) < 0 ? -1 : 0;
  if (is(j, names->prompt)) return codec_count(j, &x->top.prompt);
  if (is(j, names->completion)) return codec_count(j, &x->top.completion);
  if (json_is(j, "total_tokens")) return codec_count(j, &x->top.total);
  if (json_is(j, "prompt_cache_hit_tokens")) return codec_count(j, &x->hit);      /* DeepSeek */
  if (json_is(j, "cached_tokens")) return codec_count(j, &x->top.cached);         /* Moonshot */
  if (json_is(j, "reasoning_tokens")) return codec_count(j, &x->top.reasoning);   /* Copilot, Gemini models */
  r = read_cost(j, &x->top);
  return r == 0 ? json_skip(j) : r < 0 ? -1 : 0;
}

/* Lays what was read over the counts. 1 when it said anything, else 0. */
static int lay_over(struct token_counts *f, const struct reading *x) {
  const struct token_counts *top = &x->top, *d = &x->details;
  const char *unpriced = d->unpriced != NULL ? d->unpriced : top->unpriced;
  int any = said(&f->prompt, top->prompt);
  any |= said(&f->completion, top->completion);
  any |= said(&f->total, top->total);
  any |= said(&f->cached, first_known(d->cached, x->hit, top->cached >= 0 ? top->cached : x->has_input ? 0 : -1));
  any |= said(&f->written, first_known(d->written, -1, x->has_input ? 0 : -1));
  any |= said(&f->reasoning, first_known(d->reasoning, top->reasoning, x->has_output ? 0 : -1));
  if (top->cost >= 0) { f->cost = top->cost; f->upstream = top->upstream; f->byok = top->byok; }
  if (unpriced != NULL) f->unpriced = unpriced;
  return any || top->cost >= 0;
}

int token_counts_read(struct token_counts *f, const struct token_count_names *names, struct json *j) {
  struct reading x = { .hit = -1 };
  enum token t = json_next(j);
  token_counts_clear(&x.top);
  token_counts_clear(&x.details);
  if (t == J_ERROR) return -1;
  if (t != J_OBJECT) return json_skip(j);
  while ((t = json_next(j)) == J_KEY)
    if (read_member(j, names, &x) != 0) return -1;
  return t == J_ERROR ? -1 : lay_over(f, &x);
}

void token_counts_usage(const struct token_counts *f, const struct quirks *q, struct usage *u) {
  int64_t aside = (f->cached > 0 ? f->cached : 0) + (f->written > 0 ? f->written : 0);
  usage_clear(u);
  u->cache_read = f->cached;
  u->cache_creation = f->written;
  u->reasoning = f->reasoning;
  if (f->prompt >= 0) u->input = f->prompt > aside ? f->prompt - aside : 0;
  u->output = f->completion;
  if (f->written >= 0) u->cache_hour = 0; /* there is one lifetime only */
  if (q->reports_cost) u->cost = !f->byok ? f->cost : f->upstream >= 0 && f->cost >= 0 ? f->cost + f->upstream : -1;
  u->unpriced = f->unpriced;
}

/* }}} */
