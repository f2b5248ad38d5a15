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

/* What a record has in its gaps. */
struct filling {
  struct str text;
  unsigned flags;
  int64_t counts[SAID_COUNTS]; /* -1: no gap */
};

/* The end of the integer at p; NULL where there is none that JSON has, or a long one. */
static const char *read_digits(const char *p, const char *end, int64_t *n) {
  const char *from = p, *most = end - p > DIGITS_MAX ? p + DIGITS_MAX : end;
  int64_t v = 0;
  for (; p < most && (unsigned char)(*p - '0') < 10; p++) v = v * 10 + (*p - '0');
  *n = v;
  if (p == from || (p - from > 1 && *from == '0') || (p < end && *p >= '0' && *p <= '9')) return NULL;
  return p;
}

static const char *pass_blanks(const char *p, const char *end) {
  while (p < end && *p == ' ') p++;
  return p;
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

/* The end of what a gap holds that begins at p, or NULL. That of a string is at its closing quote, or fits nothing. */
static const char *read_gap(int kind, const char *p, const char *end, struct arena *a, struct filling *f) {
  int64_t n;
  switch (kind) {
    case GAP_TEXT: return read_text(p, end, a, &f->text, &f->flags);
    case GAP_STRING: return scan_plain(p, end);
    case GAP_BLANKS: return pass_blanks(p, end);
    case GAP_DIGITS: return read_digits(p, end, &n);
    default: return read_digits(p, end, &f->counts[kind - GAP_COUNT]);
  }
}

/* 1 where the record, which has data, has the shape, with what fills it; else 0. */
static int fits(const struct shape *s, const struct record *r, struct arena *a, struct filling *f) {
  const char *want = s->bytes.p + s->name, *p = r->data.p, *end = p + r->data.n;
  size_t at = 0, n = s->bytes.n - s->name;
  for (int i = 0; i < s->gap_count; i++) {
    const struct gap *gap = &s->gaps[i];
    size_t run = gap->at - at;
    if ((size_t)(end - p) < run || memcmp(p, want + at, run) != 0) return 0;
    at = gap->at;
    p = read_gap(gap->kind, p + run, end, a, f);
    if (p == NULL) return 0;
  }
  return (size_t)(end - p) == n - at && memcmp(p, want + at, n - at) == 0;
}

/* }}} */

/* {{{ making */

/* A gap in the data of a record. */
struct span { int kind; size_t from, to; };

/* True where s stands in the data, and not at its ends. */
static int lies_in(struct str s, struct str data) { return s.p > data.p && s.p + s.n < data.p + data.n; }

/* Adds a span in its place. One for which there is no room is left out: what it holds is then one of the bytes. */
static void add_span(struct span *v, int *n, int kind, size_t from, size_t to) {
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

/* The value of the first member of that name, where it is a plain string or an integer. */
static void add_unread(struct span *v, int *n, struct str data, const char *name) {
  const char *end = data.p + data.n, *p = find_member(data, name), *after;
  int64_t ignored;
  if (p == NULL || p == end) return;
  int kind = *p == '"' ? GAP_STRING : GAP_DIGITS;
  p += kind == GAP_STRING;
  after = kind == GAP_STRING ? scan_plain(p, end) : read_digits(p, end, &ignored);
  if (after == NULL || after == end || (kind == GAP_STRING && *after != '"')) return;
  add_span(v, n, kind, (size_t)(p - data.p), (size_t)(after - data.p));
}

/* The digits of a count. */
static void add_count(struct span *v, int *n, struct str data, int which, struct str digits) {
  int64_t ignored;
  if (digits.n == 0 || !lies_in(digits, data)) return;
  size_t from = (size_t)(digits.p - data.p);
  const char *end = digits.p + digits.n;
  if (read_digits(digits.p, end, &ignored) == end) add_span(v, n, GAP_COUNT + which, from, from + digits.n);
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
    s->gaps[i] = (struct gap){ (unsigned short)v[i].kind, (unsigned short)(s->bytes.n - s->name) };
    at = v[i].to;
  }
  return buf_add(&s->bytes, r->data.p + at, r->data.n - at);
}

/* The shape of a record that said this and nothing else. There is none where the text does not stand in the data as it is, or
** memory is short. */
static void make(struct shape *s, const struct codec *codec, const struct record *r, const struct said *said) {
  struct str text = said->text;
  struct span v[SHAPE_GAPS];
  int n = 0;
  if (s->unused >= UNUSED_MAX || r->data.n == 0 || r->data.n > DATA_MAX || r->joined || r->unclosed || r->fault) return;
  if (!lies_in(text, r->data) || text.p[-1] != '"' || text.p[text.n] != '"') return;
  add_span(v, &n, GAP_TEXT, (size_t)(text.p - r->data.p), (size_t)(text.p - r->data.p) + text.n);
  add_blanks(v, &n, r->data);
  for (int i = 0; i < SAID_COUNTS; i++) add_count(v, &n, r->data, i, said->digits[i]);
  for (const char *const *name = codec->unread; name != NULL && *name != NULL; name++)
    add_unread(v, &n, r->data, *name);
  if (copy(s, r, v, n) != 0) return;
  s->gap_count = n;
  s->unused++;
}

/* }}} */

/* True where the last n parts are the text and, where the codec has counts, usage. */
static int are_said(const struct events *out, size_t n, const struct said *said, const struct codec *codec) {
  if (n != 1 && (n != 2 || codec->parse_counts == NULL)) return 0;
  const struct event *part = &out->v[out->n - n];
  if (n == 2 && part[1].type != PART_USAGE) return 0;
  return part->text.p == said->text.p && part->text.n == said->text.n;
}

/* What the codec says by itself. */
static int parse(struct shape *s, const struct codec *codec, void *state, struct parse *p, const struct record *r,
                 struct events *out, struct err *e) {
  size_t waiting = out->n - out->head;
  struct said said = { .text = STR_NONE };
  s->gap_count = 0;
  p->said = &said;
  int bad = codec->parse_record(state, r, out, e);
  p->said = NULL;
  if (bad == 0 && said.text.n > 0 && are_said(out, out->n - out->head - waiting, &said, codec)) make(s, codec, r, &said);
  return bad;
}

int shape_parse(struct shape *s, const struct codec *codec, void *state, struct parse *p, const struct record *r,
                struct events *out, struct err *e) {
  _Static_assert(SAID_COUNTS == 3, "each count begins as -1, which is none");
  struct filling f = { .counts = { -1, -1, -1 } };
  if (codec->parse_text == NULL) return codec->parse_record(state, r, out, e);
  if (s->gap_count == 0 || r->data.n == 0 || r->joined || r->unclosed || r->fault || !str_is(r->name, s->bytes.p, s->name) ||
      !fits(s, r, p->a, &f)) return parse(s, codec, state, p, r, out, e);
  s->unused = 0;
  if (p->events != NULL) ++*p->events;
  if (codec->parse_text(state, f.text, f.flags, out, e) != 0) return -1;
  return codec->parse_counts == NULL ? 0 : codec->parse_counts(state, f.counts, out, e);
}
