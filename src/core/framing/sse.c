/*
** sse.c: the event-stream parser, and the framing made of it. Every line end (CRLF, LF, lone CR), cut anywhere; data
** lines are joined in place, and so are those of JSON that stands between records without a field's name: some servers
** report an error so. It owns its input buffer; records borrow from that. Failure: -1, an err, and it stays in error.
**
** Most records open as the one before and are one line of data: these are taken as a whole, without a look at each line.
**
** The buffer: [consumed] [name] [data] [dead: field names, comments] [line being read]. It is moved together only when
** the dead bytes outweigh the living, so that each byte is moved a bounded number of times.
*/
#include <limits.h>

#include "sse.h"

#define MANY_LINES 3 /* of a record: more than one with an opening has */

enum { OK, FAILED_LINE, FAILED_EVENT, FAILED_MEMORY };

/* An empty parser; allocates nothing yet. */
void sse_init(struct sse *s, const struct mem *m, size_t line_max, size_t event_max) {
  memset(s, 0, sizeof *s);
  buf_init(&s->in, m);
  buf_init(&s->late, m);
  buf_init(&s->id, m);
  s->retry = -1;
  s->line_max = line_max;
  s->event_max = event_max;
}

/* Gives the buffers back. */
void sse_free(struct sse *s) {
  buf_free(&s->in);
  buf_free(&s->late);
  buf_free(&s->id);
}

static int fail(struct sse *s, int why, struct err *e) {
  s->failed = why;
  if (why == FAILED_MEMORY) return err_memory(e);
  if (why == FAILED_LINE) return err_set(e, KIND_LIMIT, "event stream: a line is longer than %zu bytes", s->line_max);
  return err_set(e, KIND_LIMIT, "event stream: a record is longer than %zu bytes", s->event_max);
}

/* --- input --- */

/* Moves name, data and the line being read to the front once that costs less than it frees. A byte of the line end
** before stays where no field's name leaves room for joining. */
static void compact(struct sse *s) {
  size_t gap = s->is_bare ? 1 : 0, tail = s->in.n - s->line, live = s->name_n + s->data_n + gap + tail;
  if (s->line == 0 || s->in.n - live < live) return;
  char *p = s->in.p;
  memmove(p, p + s->name, s->name_n);
  memmove(p + s->name_n, p + s->data, s->data_n);
  memmove(p + s->name_n + s->data_n + gap, p + s->line, tail);
  size_t by = s->in.n - live;
  s->name = 0;
  s->data = s->name_n;
  s->line -= by;
  s->scan -= by;
  s->cr = s->cr < by ? 0 : s->cr - by;
  s->lf = s->lf < by ? 0 : s->lf - by;
  s->in.n = live;
  if (s->lines > 0) s->lines = MANY_LINES;
}

/* Appends bytes: 0, or -1. */
int sse_feed(struct sse *s, const char *p, size_t n, struct err *e) {
  if (s->failed != OK) return fail(s, s->failed, e);
  compact(s);
  return buf_add(&s->in, p, n) < 0 ? fail(s, FAILED_MEMORY, e) : 0;
}

/* No record is open, and nothing waits in the buffer. */
static int is_drained(const struct sse *s) { return s->line == s->in.n && s->lines == 0; }

static void rewind_buffer(struct sse *s) { s->line = s->scan = s->cr = s->lf = s->data = s->name = 0; }

/* Takes the bytes of b, by exchange of buffers when nothing waits in its own: 0 and b is empty, or -1. */
int sse_feed_buf(struct sse *s, struct buf *b, struct err *e) {
  if (s->failed == OK && is_drained(s)) {
    buf_swap(&s->in, b);
    rewind_buffer(s);
  } else if (sse_feed(s, b->p, b->n, e) < 0) {
    return -1;
  }
  b->n = 0;
  return 0;
}

/* --- lines --- */

/* Where the first c stands in [scan, end), or end. None does before *from, which moves there: no byte is looked at twice. */
static size_t find(const struct sse *s, char c, size_t *from, size_t end) {
  const char *p = s->in.p;
  if (*from < s->scan) *from = s->scan;
  if (*from < end && p[*from] != c) {
    const char *at = memchr(p + *from, c, end - *from);
    *from = at != NULL ? (size_t)(at - p) : end;
  }
  return *from < end ? *from : end;
}

/* Where the line ends that goes on at s->scan, or in.n. */
static size_t line_end(struct sse *s) {
  size_t cr = find(s, '\r', &s->cr, s->in.n);
  return find(s, '\n', &s->lf, cr);
}

/* Passes the LF behind a CR that ended a line. */
static void pass_lf(struct sse *s) {
  if (!s->skip_lf || s->line == s->in.n) return;
  s->skip_lf = 0;
  if (s->in.p[s->line] == '\n') s->scan = ++s->line;
}

/* The line being read: 1 with it in [*at, *end) and s->line behind its end, 0 when more bytes are needed. */
static int next_line(struct sse *s, size_t *at, size_t *end) {
  pass_lf(s);
  if (s->scan == s->in.n) return 0;
  *at = s->line;
  *end = line_end(s);
  if (*end == s->in.n) {
    s->scan = s->in.n;
    return 0;
  }
  s->skip_lf = s->in.p[*end] == '\r';
  s->line = s->scan = *end + 1;
  return 1;
}

/* The offset of a field's value: behind the colon at `at` and one space. */
static size_t value_of(const struct sse *s, size_t at, size_t end) {
  if (at < end) at++;
  return at < end && s->in.p[at] == ' ' ? at + 1 : at;
}

/* Adds a data line's value [at, end) to the open record: 0, or FAILED_EVENT. */
static int add_data(struct sse *s, size_t at, size_t end) {
  size_t n = end - at;
  if (!s->has_data) {
    s->has_data = 1;
    s->is_joined = 0;
    s->data = at;
    s->data_n = n;
  } else {
    if (s->data_n >= s->event_max) return FAILED_EVENT;
    s->is_joined = 1;
    s->in.p[s->data + s->data_n++] = '\n'; /* the field name and the line end before left room */
    memmove(s->in.p + s->data + s->data_n, s->in.p + at, n);
    s->data_n += n;
  }
  return s->data_n > s->event_max ? FAILED_EVENT : OK;
}

/* Sets the open record's event name to [at, end): 0, or FAILED_MEMORY. */
static int set_name(struct sse *s, size_t at, size_t end) {
  s->is_late = s->has_data;
  if (!s->has_data) {
    s->name = at;
    s->name_n = end - at;
    return OK;
  }
  s->late.n = 0; /* joining the data may write over it where it stands */
  return buf_add(&s->late, s->in.p + at, end - at) < 0 ? FAILED_MEMORY : OK;
}

/* Notes the id [at, end), which counts from the record on that it stands in; with a NUL it is none: 0, or FAILED_MEMORY. */
static int set_id(struct sse *s, size_t at, size_t end) {
  if (memchr(s->in.p + at, '\0', end - at) != NULL) return OK;
  s->has_place = 1;
  s->id.n = 0;
  return buf_add(&s->id, s->in.p + at, end - at) < 0 ? FAILED_MEMORY : OK;
}

/* Notes the milliseconds [at, end), which are none unless all are digits. */
static void set_retry(struct sse *s, size_t at, size_t end) {
  long ms = 0;
  if (at == end) return;
  for (; at < end; at++) {
    int digit = s->in.p[at] - '0';
    if (digit < 0 || digit > 9) return;
    ms = ms > (LONG_MAX - digit) / 10 ? LONG_MAX : ms * 10 + digit;
  }
  s->has_place = 1;
  s->retry = ms;
}

/* A field after JSON that never ended: that was none, and says nothing. */
static void drop_bare(struct sse *s) {
  s->is_bare = s->has_data = 0;
  s->data_n = 0;
}

/* True when the line [at, end) begins an object or an array. */
static int begins_json(const struct sse *s, size_t at, size_t end) {
  while (at < end && str_is_space(s->in.p[at])) at++;
  return at < end && (s->in.p[at] == '{' || s->in.p[at] == '[');
}

/* Adds a line of bare JSON to the record, which is complete once every bracket is closed: 0, or FAILED_EVENT. */
static int add_bare(struct sse *s, size_t at, size_t end) {
  if (!s->is_bare) s->depth = s->in_string = s->escaped = 0;
  s->is_bare = 1;
  for (size_t i = at; i < end; i++) {
    char c = s->in.p[i];
    if (s->escaped) s->escaped = 0;
    else if (c == '\\') s->escaped = s->in_string;
    else if (c == '"') s->in_string = !s->in_string;
    else if (s->in_string) continue;
    else if (c == '{' || c == '[') s->depth++;
    else if (c == '}' || c == ']') s->depth--;
  }
  return add_data(s, at, end);
}

/* True when the line of n bytes at p has the field of that name, a literal. */
#define has_field(p, n, field) \
  ((n) >= sizeof(field) - 1 && memcmp((p), (field), sizeof(field) - 1) == 0 && \
   ((n) == sizeof(field) - 1 || (p)[sizeof(field) - 1] == ':'))

/* Takes in the line [at, end), which is not empty: 0, or what failed. */
static int take_line(struct sse *s, size_t at, size_t end) {
  const char *p = s->in.p + at;
  size_t n = end - at;
  if (has_field(p, n, "data")) {
    if (s->is_bare) drop_bare(s);
    return add_data(s, value_of(s, at + 4, end), end);
  }
  if (has_field(p, n, "event")) {
    if (s->is_bare) drop_bare(s);
    return set_name(s, value_of(s, at + 5, end), end);
  }
  if (s->is_bare || (!s->has_data && begins_json(s, at, end))) return add_bare(s, at, end);
  if (has_field(p, n, "id")) return set_id(s, value_of(s, at + 2, end), end);
  if (has_field(p, n, "retry")) set_retry(s, value_of(s, at + 5, end), end);
  else if (*p == ':') s->comments++;
  return OK;
}

/* Ends the open record: 1 and *r when it has data, or an id or a retry time of its own; else 0. What the end of the input
** cut off may lack a part of its id. */
static int dispatch(struct sse *s, struct record *r, int unclosed) {
  int is_record = s->has_data || (s->has_place && !unclosed);
  if (is_record) {
    *r = (struct record){ .retry = s->retry, .joined = s->has_data && s->is_joined, .unclosed = unclosed };
    if (!unclosed) r->id = buf_str(&s->id);
    if (s->has_data) r->data = (struct str){ s->in.p + s->data, s->data_n };
    r->name = s->is_late ? buf_str(&s->late) : (struct str){ s->in.p + s->name, s->name_n };
  }
  s->has_data = s->has_place = s->is_late = s->is_bare = 0;
  s->data_n = s->name_n = 0;
  s->lines = 0;
  s->retry = -1;
  return is_record;
}

/* --- records that differ in their data alone --- */

/* The bytes behind the data that end it and the record: how many of them stand at `at`, 0 where others do. */
static size_t closing_at(const struct sse *s, size_t at) {
  const char *p = s->in.p + at;
  size_t n = s->in.n - at;
  if (s->is_crlf) return n >= 4 && memcmp(p, "\r\n\r\n", 4) == 0 ? 4 : 0;
  return n >= 2 && memcmp(p, "\n\n", 2) == 0 ? 2 : 0;
}

/* Keeps the opening of the open record, which an empty line ends, where the next one may have it too. */
static void keep_opening(struct sse *s) {
  size_t n = s->data - s->begin, end = s->data + s->data_n;
  s->opening_n = 0;
  if (!s->has_data || s->lines != 1 + (s->name_n > 0) || n > sizeof s->opening) return;
  s->is_crlf = s->in.p[end] == '\r';
  if (closing_at(s, end) == 0 || (s->in.p[s->data - 1] != ' ' && s->in.p[s->data - 1] != ':')) return;
  memcpy(s->opening, s->in.p + s->begin, n);
  s->opening_n = (unsigned char)n;
  s->opening_name = (unsigned char)(s->name_n > 0 ? s->name - s->begin : 0);
  s->opening_name_n = (unsigned char)s->name_n;
}

/* True when the line being read begins as the last record did. */
static int opens(const struct sse *s) {
  size_t n = s->opening_n;
  if (n == 0 || s->in.n - s->line <= n) return 0;
  const char *p = s->in.p + s->line;
  if (memcmp(p, s->opening, n) != 0) return 0;
  return p[n - 1] == ' ' || p[n] != ' '; /* the one space behind a colon is not the data's */
}

/* The next record, where it is the last one but for its data, and is there: 1 and *r, else 0 and nothing was taken. */
static int take_alike(struct sse *s, struct record *r) {
  size_t data = s->line + s->opening_n, cr = s->cr, lf = s->lf, end, closing;
  if (s->lines > 0 || s->skip_lf || s->scan > s->line || !opens(s)) return 0;
  s->scan = data;
  end = line_end(s);
  closing = closing_at(s, end);
  if (closing == 0 || end - s->line > s->line_max || end - data > s->event_max) {
    s->scan = s->line;
    s->cr = cr;
    s->lf = lf;
    return 0;
  }
  *r = (struct record){ .name = { s->in.p + s->line + s->opening_name, s->opening_name_n },
                        .data = { s->in.p + data, end - data }, .id = buf_str(&s->id), .retry = -1 };
  s->line = s->scan = end + closing;
  return 1;
}

/* --- records --- */

/* Passes a byte-order mark at the very start: 1, or 0 while it could still become one. */
static int pass_bom(struct sse *s) {
  size_t n = s->in.n < 3 ? s->in.n : 3;
  if (n == 0) return 0;
  if (memcmp(s->in.p, "\xEF\xBB\xBF", n) == 0) {
    if (n < 3) return 0;
    s->line = s->scan = 3;
  }
  s->bom = 1;
  return 1;
}

/* The next whole record: 1 and *r, 0 when more bytes are needed, -1 on error. */
int sse_next(struct sse *s, struct record *r, struct err *e) {
  size_t at = 0, end = 0;
  if (s->failed != OK) return fail(s, s->failed, e);
  if (!s->bom && !pass_bom(s)) return 0;
  pass_lf(s);
  if (take_alike(s, r)) return 1;
  while (next_line(s, &at, &end)) {
    if (end - at > s->line_max) return fail(s, FAILED_LINE, e);
    if (end == at) {
      if (s->is_bare) continue;
      keep_opening(s);
      if (dispatch(s, r, 0)) return 1;
    } else {
      if (s->lines++ == 0) s->begin = at;
      int why = take_line(s, at, end);
      if (why != OK) return fail(s, why, e);
      if (s->is_bare && s->depth <= 0) return dispatch(s, r, 0);
    }
  }
  if (!is_drained(s)) return s->in.n - s->line > s->line_max ? fail(s, FAILED_LINE, e) : 0;
  if (s->in.cap <= FRAMING_KEPT) buf_free(&s->in); /* a stream that waits holds no buffer: most wait most of the time */
  s->in.n = 0;
  rewind_buffer(s);
  return 0;
}

/* At the end of input: a record still waiting, or the one that nothing closed: 1 and *r, 0 when none, -1 on error. */
int sse_eof(struct sse *s, struct record *r, struct err *e) {
  if (!s->bom) (void)pass_bom(s);
  s->bom = 1;
  int got = sse_next(s, r, e);
  if (got != 0) return got;
  size_t at = s->line, end = s->in.n;
  s->line = s->scan = end;
  if (at < end) {
    int why = take_line(s, at, end);
    if (why != OK) return fail(s, why, e);
  }
  return dispatch(s, r, 1);
}

/* --- the framing --- */

static void init(void *state, const struct mem *m, const struct limits *l) { sse_init(state, m, l->line, l->event); }
static void free_state(void *state) { sse_free(state); }

/* JSON and HTML begin as no line of a stream does, whatever the content type says; the first letters of the fields, and
** a comment's colon, as no JSON does. */
static int begins(char first, int typed) {
  if (first == '\0') return -1;
  if (strchr("{[<", first) != NULL) return 0;
  return typed || strchr("deir:", first) != NULL;
}

static int feed(void *state, struct buf *b, struct err *e) { return sse_feed_buf(state, b, e); }
static int feed_copy(void *state, const char *p, size_t n, struct err *e) { return sse_feed(state, p, n, e); }
static int next(void *state, struct record *r, struct err *e) { return sse_next(state, r, e); }
static int eof(void *state, struct record *r, struct err *e) { return sse_eof(state, r, e); }

static size_t held(const void *state) {
  const struct sse *s = state;
  return s->in.cap + s->late.cap + s->id.cap;
}

const struct framing framing_sse = {
  .name = "sse",
  .media_type = "text/event-stream",
  .state_size = sizeof(struct sse),
  .init = init,
  .free = free_state,
  .begins = begins,
  .feed = feed,
  .feed_copy = feed_copy,
  .next = next,
  .eof = eof,
  .held = held
};
