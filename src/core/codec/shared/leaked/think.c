/*
** think.c: see think.h. Three states: BEFORE the text, INSIDE a block, AFTER the text began. Every byte is looked at
** once; only white space and the beginnings of tags are copied.
** Owns one buffer. Failure: -1, out of memory.
*/
#include "think.h"

void think_init(struct think *t, const struct mem *m) {
  memset(t, 0, sizeof *t);
  t->opening = "<think>";
  t->closing = "</think>";
  buf_init(&t->held, m);
}

void think_init_thinking(struct think *t, const struct mem *m) {
  think_init(t, m);
  t->opening = "<thinking>";
  t->closing = "</thinking>";
}

void think_free(struct think *t) {
  buf_free(&t->held);
}

static int is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static void take(struct str *in, size_t n) {
  in->p += n;
  in->n -= n;
}

/* Lets the last n held bytes go: `kind` and a copy of them in *out, THINK_NONE when there are none, or -1. */
static int let_go(struct think *t, struct arena *a, size_t n, enum think_kind kind, struct str *out) {
  *out = STR_NONE;
  if (n == 0) return THINK_NONE;
  *out = arena_dup(a, (struct str){ t->held.p + t->held.n - n, n });
  if (out->p == NULL) return -1;
  t->held.n -= n;
  t->tag = 0;
  return (int)kind;
}

/* Forgets the held beginning of a tag. */
static void drop_tag(struct think *t) {
  t->held.n -= t->tag;
  t->tag = 0;
}

/* Holds white space and the beginning of a tag; the first other byte begins the text. */
static int before(struct think *t, struct arena *a, struct str *in, struct str *out) {
  while (in->n > 0) {
    char c = in->p[0];
    int tag = str_lower(c) == t->opening[t->tag];
    if (!tag && !(t->tag == 0 && is_space(c))) {
      t->state = THINK_AFTER;
      return let_go(t, a, t->held.n, THINK_TEXT, out);
    }
    if (buf_addc(&t->held, c) != 0) return -1;
    take(in, 1);
    if (tag && t->opening[++t->tag] == '\0') {
      drop_tag(t);
      t->state = THINK_INSIDE;
      t->seen = 1;
      return THINK_OPENED;
    }
  }
  return THINK_NONE;
}

/* The block is over: THINK_CLOSED. */
static int closed(struct think *t) {
  drop_tag(t);
  t->state = THINK_BEFORE;
  return THINK_CLOSED;
}

/* How many bytes of the closing tag s begins with. */
static size_t closing(const struct think *t, struct str s) {
  size_t n = 0;
  while (n < s.n && t->closing[n] != '\0' && str_lower(s.p[n]) == t->closing[n]) n++;
  return n;
}

/* Goes on with a closing tag that was cut; what turns out to be none is a thought. */
static int inside_tag(struct think *t, struct arena *a, struct str *in, struct str *out) {
  while (in->n > 0 && str_lower(in->p[0]) == t->closing[t->tag]) {
    if (buf_addc(&t->held, in->p[0]) != 0) return -1;
    take(in, 1);
    if (t->closing[++t->tag] == '\0') return closed(t);
  }
  return in->n == 0 ? THINK_NONE : let_go(t, a, t->tag, THINK_THOUGHT, out);
}

/* Thoughts up to the closing tag, or to what may be the beginning of one. */
static int inside(struct think *t, struct arena *a, struct str *in, struct str *out) {
  const char *end = in->p + in->n, *p = in->p;
  size_t n;
  if (t->tag > 0) return inside_tag(t, a, in, out);
  for (; (p = memchr(p, t->closing[0], (size_t)(end - p))) != NULL; p++) {
    n = closing(t, (struct str){ p, (size_t)(end - p) });
    if (t->closing[n] == '\0' || n == (size_t)(end - p)) break;
  }
  if (p == NULL) p = end;
  *out = (struct str){ in->p, (size_t)(p - in->p) };
  take(in, out->n);
  if (out->n > 0) return THINK_THOUGHT;
  n = closing(t, *in);
  if (t->closing[n] != '\0' && buf_add(&t->held, in->p, n) != 0) return -1;
  take(in, n);
  if (t->closing[n] == '\0') return closed(t);
  t->tag = n;
  return THINK_NONE;
}

int think_next(struct think *t, struct arena *a, struct str *in, struct str *out) {
  int kind = THINK_NONE;
  *out = STR_NONE;
  while (kind == THINK_NONE && in->n > 0) {
    switch (t->state) {
      case THINK_BEFORE: kind = before(t, a, in, out); break;
      case THINK_INSIDE: kind = inside(t, a, in, out); break;
      case THINK_AFTER:
        *out = *in;
        take(in, in->n);
        return THINK_TEXT;
    }
  }
  return kind;
}

int think_pause(struct think *t, struct arena *a, struct str *out) {
  *out = STR_NONE;
  if (t->state != THINK_BEFORE || t->tag > 0) return THINK_NONE;
  if (t->seen) t->held.n = 0;
  return let_go(t, a, t->held.n, THINK_TEXT, out);
}

int think_end(struct think *t, struct arena *a, struct str *out) {
  if (t->state == THINK_INSIDE) return let_go(t, a, t->tag, THINK_THOUGHT, out);
  if (t->tag == 0) return think_pause(t, a, out);
  t->state = THINK_AFTER;
  return let_go(t, a, t->held.n, THINK_TEXT, out);
}
