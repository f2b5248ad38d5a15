/*
** ndjson.c: the framing of JSON values that stand one on a line, without names. Lines end in LF; white space round a
** line and empty lines say nothing. Where the first line is not the whole of its value, a proxy printed one value over
** several lines: then the body is one record.
** It owns its input buffer; records borrow from that. Failure: -1, an err, and it stays in error. Linear in its input
** however that is cut: no byte is looked for a line end twice.
*/
#include "framing.h"

enum { OK, FAILED_LINE, FAILED_EVENT, FAILED_MEMORY };

struct ndjson {
  struct buf in;
  size_t line_max, event_max; /* bytes */
  size_t line;                /* where the line being read begins */
  size_t scan;                /* no LF in [line, scan) */
  int begun;                  /* a line that says something was seen */
  int is_one;                 /* the rest of the body is one record */
  int failed;
};

static void init(void *state, const struct mem *m, const struct limits *l) {
  struct ndjson *s = state;
  buf_init(&s->in, m);
  s->line_max = l->line;
  s->event_max = l->event;
}

static void free_state(void *state) {
  struct ndjson *s = state;
  buf_free(&s->in);
}

static int fail(struct ndjson *s, int why, struct err *e) {
  s->failed = why;
  if (why == FAILED_MEMORY) return err_memory(e);
  if (why == FAILED_LINE) return err_set(e, KIND_LIMIT, "stream: a line is longer than %zu bytes", s->line_max);
  return err_set(e, KIND_LIMIT, "stream: a record is longer than %zu bytes", s->event_max);
}

/* A plain answer begins as a stream does. Arrays and HTML are neither. */
static int begins(char first, int typed) {
  if (first == '\0') return FRAMING_UNKNOWN;
  if (first == '<' || first == '[') return 0;
  return typed ? 1 : FRAMING_ASKED;
}

/* --- input --- */

/* Moves the line being read to the front once that costs less than it frees. */
static void compact(struct ndjson *s) {
  size_t live = s->in.n - s->line;
  if (s->line == 0 || s->line < live) return;
  s->scan -= s->line;
  buf_drop(&s->in, s->line);
  s->line = 0;
}

static int feed_copy(void *state, const char *p, size_t n, struct err *e) {
  struct ndjson *s = state;
  if (s->failed != OK) return fail(s, s->failed, e);
  compact(s);
  return buf_add(&s->in, p, n) < 0 ? fail(s, FAILED_MEMORY, e) : 0;
}

static int feed(void *state, struct buf *b, struct err *e) {
  struct ndjson *s = state;
  if (s->failed == OK && s->line == s->in.n) {
    buf_swap(&s->in, b);
    s->line = s->scan = 0;
  } else if (feed_copy(s, b->p, b->n, e) < 0) {
    return -1;
  }
  b->n = 0;
  return 0;
}

/* --- records --- */

/* True for a line that opens more than it closes: the value goes on behind its end. */
static int goes_on(struct str line) {
  size_t depth = 0;
  int in_string = 0;
  for (size_t i = 0; i < line.n; i++) {
    char c = line.p[i];
    if (in_string && c == '\\') i++;
    else if (c == '"') in_string = !in_string;
    else if (in_string) continue;
    else if (c == '{' || c == '[') depth++;
    else if ((c == '}' || c == ']') && depth > 0) depth--;
  }
  return depth > 0;
}

/* The next line that says something: 1 and *line, 0 when more bytes are needed, -1 on error. */
static int next_line(struct ndjson *s, struct str *line, struct err *e) {
  while (!s->is_one) {
    if (s->line == s->in.n) { /* a stream that waits holds no buffer */
      if (s->in.cap <= FRAMING_KEPT) buf_free(&s->in);
      s->in.n = s->line = s->scan = 0;
      return 0;
    }
    const char *from = s->in.p + s->line, *lf = memchr(s->in.p + s->scan, '\n', s->in.n - s->scan);
    size_t n = lf != NULL ? (size_t)(lf - from) : s->in.n - s->line;
    if (n > s->line_max) return fail(s, FAILED_LINE, e);
    if (lf == NULL) {
      s->scan = s->in.n;
      return 0;
    }
    *line = str_trim((struct str){ from, n });
    if (!s->begun && line->n > 0) {
      s->begun = 1;
      s->is_one = goes_on(*line);
      if (s->is_one) break;
    }
    s->scan = s->line += n + 1;
    if (line->n > 0) return 1;
  }
  return s->in.n - s->line > s->event_max ? fail(s, FAILED_EVENT, e) : 0;
}

static int next(void *state, struct record *r, struct err *e) {
  struct ndjson *s = state;
  struct str line;
  int got;
  if (s->failed != OK) return fail(s, s->failed, e);
  got = next_line(s, &line, e);
  if (got == 1) *r = (struct record){ .data = line, .retry = -1 };
  return got;
}

static int eof(void *state, struct record *r, struct err *e) {
  struct ndjson *s = state;
  int got = next(s, r, e);
  struct str rest;
  if (got != 0 || s->line == s->in.n) return got;
  rest = str_trim((struct str){ s->in.p + s->line, s->in.n - s->line });
  s->line = s->scan = s->in.n;
  if (rest.n == 0) return 0;
  *r = (struct record){ .data = rest, .retry = -1, .joined = s->is_one, .unclosed = 1 };
  return 1;
}

static size_t held(const void *state) { return ((const struct ndjson *)state)->in.cap; }

const struct framing framing_ndjson = {
  .name = "ndjson",
  .media_type = "application/x-ndjson",
  .state_size = sizeof(struct ndjson),
  .init = init,
  .free = free_state,
  .begins = begins,
  .feed = feed,
  .feed_copy = feed_copy,
  .next = next,
  .eof = eof,
  .held = held
};
