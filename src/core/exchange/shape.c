/*
** shape.c: records that differ in their text alone: see shape.h.
** A text is read by the JSON reader, whatever its escapes; another gap takes plain bytes only. So a record that fits is
** JSON as the one before was, and holds the same values everywhere but in the gaps.
*/
#include "shape.h"
#include "core/json/scan.h"

#define DATA_MAX 2048   /* bytes of a record whose shape is kept */
#define DIGITS_MAX 15   /* of a number that is passed over */
#define UNUSED_MAX 16   /* shapes in a row without use, after which no more are made */

void shape_init(struct shape *s, const struct mem *m) {
  memset(s, 0, sizeof *s);
  buf_init(&s->bytes, m);
}

void shape_free(struct shape *s) { buf_free(&s->bytes); }

/* {{{ reading */

/* The end of the number at p; p where there is none that JSON has, or a long one. */
static const char *pass_digits(const char *p, const char *end) {
  const char *from = p;
  while (p < end && *p >= '0' && *p <= '9') p++;
  return p - from > DIGITS_MAX || (p - from > 1 && *from == '0') ? from : p;
}

static const char *pass_blanks(const char *p, const char *end) {
  while (p < end && *p == ' ') p++;
  return p;
}

/* The end of what a gap holds that begins at p, or NULL. That of a string is at its closing quote, or fits nothing. */
static const char *pass_gap(enum gap_kind kind, const char *p, const char *end) {
  const char *after;
  if (kind == GAP_STRING) return scan_plain(p, end);
  if (kind == GAP_BLANKS) return pass_blanks(p, end);
  after = pass_digits(p, end);
  return after > p ? after : NULL;
}

/* The text behind the opening quote before p, as json_text_wtf8 has it: its closing quote, or NULL where it is empty or
** none. A plain one is what it says. */
static const char *read_text(const char *p, const char *end, struct arena *a, struct str *text, unsigned *flags) {
  const char *plain = scan_plain(p, end);
  struct err scratch;
  struct json j;
  if (plain > p && plain < end && *plain == '"') {
    *text = (struct str){ p, (size_t)(plain - p) };
    return plain;
  }
  json_open(&j, (struct str){ p - 1, (size_t)(end - p) + 1 }, 1, &scratch);
  if (json_next(&j) != J_STRING || j.text.n == 0 || json_text_wtf8(&j, a, text, flags) != 0) return NULL;
  return j.p - 1;
}

/* 1 where the record has the shape, with its text; else 0. */
static int fits(const struct shape *s, const struct record *r, struct arena *a, struct str *text, unsigned *flags) {
  const char *want = s->bytes.p + s->name, *p = r->data.p, *end = p + r->data.n;
  size_t at = 0, n = s->bytes.n - s->name;
  for (int i = 0; i < s->gap_count; i++) {
    const struct gap *gap = &s->gaps[i];
    size_t run = gap->at - at;
    if ((size_t)(end - p) < run || memcmp(p, want + at, run) != 0) return 0;
    p += run;
    at = gap->at;
    p = gap->kind == GAP_TEXT ? read_text(p, end, a, text, flags) : pass_gap(gap->kind, p, end);
    if (p == NULL) return 0;
  }
  return (size_t)(end - p) == n - at && memcmp(p, want + at, n - at) == 0;
}

/* }}} */

/* {{{ making */

/* A gap in the data of a record. */
struct span { enum gap_kind kind; size_t from, to; };

/* Adds a span in its place. One for which there is no room is left out: what it holds is then one of the bytes. */
static void add_span(struct span *v, int *n, enum gap_kind kind, size_t from, size_t to) {
  int i = *n;
  if (i == SHAPE_GAPS) return;
  for (; i > 0 && v[i - 1].from > from; i--) v[i] = v[i - 1];
  v[i] = (struct span){ kind, from, to };
  ++*n;
}

/* Where the value of the first member of that name begins, or NULL. In JSON, quotes before a colon close a key. */
static const char *find_member(struct str data, const char *name) {
  const char *end = data.p + data.n, *p = data.p;
  size_t n = strlen(name);
  while ((p = memmem(p, (size_t)(end - p), name, n)) != NULL) {
    const char *key = p;
    p += n;
    if (key > data.p && key[-1] == '"' && end - p > 2 && p[0] == '"' && p[1] == ':') return pass_blanks(p + 2, end);
  }
  return NULL;
}

/* The value of the first member of that name, where it is a plain string or a number. */
static void add_unread(struct span *v, int *n, struct str data, const char *name) {
  const char *end = data.p + data.n, *p = find_member(data, name), *after;
  if (p == NULL || p == end) return;
  enum gap_kind kind = *p == '"' ? GAP_STRING : GAP_DIGITS;
  p += kind == GAP_STRING;
  after = pass_gap(kind, p, end);
  if (after == NULL || after == end || (kind == GAP_STRING && *after != '"')) return;
  add_span(v, n, kind, (size_t)(p - data.p), (size_t)(after - data.p));
}

/* The blanks before the last brace. */
static void add_blanks(struct span *v, int *n, struct str data) {
  size_t from, to = str_trim(data).n;
  to += (size_t)(str_trim(data).p - data.p);
  if (to == 0 || data.p[--to] != '}') return;
  for (from = to; from > 0 && data.p[from - 1] == ' ';) from--;
  add_span(v, n, GAP_BLANKS, from, to);
}

/* Copies the record without what is in the spans. 0 or -1. */
static int copy(struct shape *s, const struct record *r, const struct span *v, int n) {
  size_t at = 0;
  s->bytes.n = 0;
  s->name = r->name.n;
  if (buf_addstr(&s->bytes, r->name) != 0) return -1;
  for (int i = 0; i < n; i++) {
    if (buf_add(&s->bytes, r->data.p + at, v[i].from - at) != 0) return -1;
    s->gaps[i] = (struct gap){ v[i].kind, s->bytes.n - s->name };
    at = v[i].to;
  }
  return buf_add(&s->bytes, r->data.p + at, r->data.n - at);
}

/* The shape of a record that said this text and nothing else. There is none where the text does not stand in the data
** as it is, or memory is short. */
static void make(struct shape *s, const struct codec *codec, const struct record *r, struct str text) {
  const char *from = r->data.p, *end = from + r->data.n;
  struct span v[SHAPE_GAPS];
  int n = 0;
  if (s->unused >= UNUSED_MAX || r->data.n > DATA_MAX || r->joined || r->unclosed || r->fault || text.n == 0) return;
  if (text.p <= from || text.p + text.n >= end || text.p[-1] != '"' || text.p[text.n] != '"') return;
  add_span(v, &n, GAP_TEXT, (size_t)(text.p - from), (size_t)(text.p - from) + text.n);
  add_blanks(v, &n, r->data);
  for (const char *const *name = codec->unread; name != NULL && *name != NULL; name++)
    add_unread(v, &n, r->data, *name);
  if (copy(s, r, v, n) != 0) return;
  s->gap_count = n;
  s->unused++;
}

/* }}} */

/* What the codec says by itself. */
static int parse(struct shape *s, const struct codec *codec, void *state, struct parse *p, const struct record *r,
                 struct events *out, struct err *e) {
  size_t waiting = out->n - out->head;
  struct str said = STR_NONE;
  s->gap_count = 0;
  p->said = &said;
  int bad = codec->parse_record(state, r, out, e);
  p->said = NULL;
  if (bad != 0 || said.n == 0 || out->n - out->head != waiting + 1) return bad;
  const struct event *part = &out->v[out->n - 1];
  if (part->text.p == said.p && part->text.n == said.n) make(s, codec, r, said);
  return 0;
}

int shape_parse(struct shape *s, const struct codec *codec, void *state, struct parse *p, const struct record *r,
                struct events *out, struct err *e) {
  struct str text = STR_NONE;
  unsigned flags = 0;
  if (codec->parse_text == NULL) return codec->parse_record(state, r, out, e);
  if (s->gap_count == 0 || r->joined || r->unclosed || r->fault || !str_is(r->name, s->bytes.p, s->name) ||
      !fits(s, r, p->a, &text, &flags)) return parse(s, codec, state, p, r, out, e);
  s->unused = 0;
  if (p->events != NULL) ++*p->events;
  return codec->parse_text(state, text, flags, out, e);
}
