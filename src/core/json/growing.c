/*
** growing.c: see growing.h: the structure of a value that grows, its numbers and words. Strings are growing_text.c's. No
** recursion: what is open is a bit a level. Owns the last key and the number at hand, in bufs. Failure: GROWTH_FAILED.
*/
#include "growing.h"
#include "growing_text.h"
#include "scan.h"

#include <math.h>

enum {
  S_START, S_LEAD, S_FENCE_LINE, S_VALUE, S_FIRST_VALUE, S_FIRST_KEY, S_KEY, S_COLON, S_AFTER, S_WORD, S_NUMBER,
  S_STRING, S_KEY_TEXT, S_END, S_BEHIND, S_FAILED
};

#define FENCE "```"
#define BOM "\xEF\xBB\xBF"

void growing_init(struct growing *g, const struct mem *m, const struct growing_limits *limits, int fence,
                  struct err *e) {
  memset(g, 0, sizeof *g);
  err_clear(e);
  g->e = e;
  g->limits = *limits;
  if (g->limits.depth > JSON_DEPTH_MAX) g->limits.depth = JSON_DEPTH_MAX;
  g->fence = fence != 0;
  g->state = S_START;
  buf_init(&g->key, m);
  buf_init(&g->number, m);
}

void growing_free(struct growing *g) {
  buf_free(&g->key);
  buf_free(&g->number);
}

void growing_feed(struct growing *g, struct str piece) {
  if (piece.p == NULL) piece = STR("");
  g->offset += (size_t)(g->end - g->begin);
  size_t room = g->limits.bytes - g->offset;
  g->over = piece.n > room;
  g->begin = g->p = piece.p;
  g->end = piece.p + (g->over ? room : piece.n);
}

enum growing_state growing_state(const struct growing *g) {
  if (g->state == S_FAILED) return GROWING_FAILED;
  return g->state == S_END || g->state == S_BEHIND ? GROWING_WHOLE : GROWING_OPEN;
}

/* --- errors --- */

static size_t offset(const struct growing *g) { return g->offset + (size_t)(g->p - g->begin); }

static enum growth_type failed(struct growing *g) {
  g->e->offset = offset(g);
  g->state = S_FAILED;
  return GROWTH_FAILED;
}

/* The byte at hand is not what may stand there. */
static enum growth_type fail(struct growing *g, const char *expected) {
  err_set(g->e, KIND_PROTOCOL, "JSON: %s expected at byte %zu, found 0x%02X", expected, offset(g),
          (unsigned)(unsigned char)*g->p);
  return failed(g);
}

static enum growth_type fail_memory(struct growing *g) {
  err_memory(g->e);
  return failed(g);
}

/* --- values --- */

static int in_object(const struct growing *g) {
  int i = g->depth - 1;
  return i >= 0 && (g->is_object[i >> 3] >> (i & 7) & 1);
}

/* Describes a value of the innermost container, of which the key is at hand. */
static void describe(const struct growing *g, struct growth *out, enum token t) {
  out->token = t;
  out->depth = g->depth;
  out->is_member = in_object(g);
  out->key = out->is_member ? buf_str(&g->key) : STR_NONE;
  out->text = STR_NONE;
}

/* A value begins, or comes whole. */
static enum growth_type show(struct growing *g, struct growth *out, enum growth_type type, enum token t) {
  if (++g->values > JSON_VALUES_MAX) {
    err_set(g->e, KIND_LIMIT, "JSON: more than %d values", JSON_VALUES_MAX);
    return failed(g);
  }
  describe(g, out, t);
  return type;
}

/* The value at hand is whole. */
static void whole(struct growing *g) { g->state = g->depth > 0 ? S_AFTER : S_END; }

static enum growth_type open_container(struct growing *g, struct growth *out, int object) {
  int i = g->depth;
  if (i >= g->limits.depth) {
    err_set(g->e, KIND_LIMIT, "JSON: nested deeper than %d levels at byte %zu", i, offset(g));
    return failed(g);
  }
  enum growth_type type = show(g, out, GROWTH_OPENED, object ? J_OBJECT : J_ARRAY);
  if (type == GROWTH_FAILED) return type;
  unsigned char bit = (unsigned char)(1 << (i & 7));
  if (object) g->is_object[i >> 3] |= bit;
  else g->is_object[i >> 3] &= (unsigned char)~bit;
  g->depth = i + 1;
  g->p++;
  g->state = object ? S_FIRST_KEY : S_FIRST_VALUE;
  return type;
}

static enum growth_type close_container(struct growing *g, struct growth *out) {
  enum token t = in_object(g) ? J_OBJECT : J_ARRAY;
  g->depth--;
  g->p++;
  describe(g, out, t);
  out->key = STR_NONE; /* the one at hand is of a member of its own */
  whole(g);
  return GROWTH_CLOSED;
}

/* --- words --- */

static enum growth_type begin_word(struct growing *g, const char *word, enum token t, int after) {
  g->word = word;
  g->token = t;
  g->after = after;
  g->state = S_WORD;
  return GROWTH_NONE;
}

static enum growth_type read_word(struct growing *g, struct growth *out) {
  for (; g->p < g->end && *g->word != '\0'; g->p++, g->word++)
    if (*g->p != *g->word) return fail(g, "a JSON value");
  if (*g->word != '\0') return GROWTH_NONE;
  g->state = g->after;
  if (g->token == J_EOF) return GROWTH_NONE;
  whole(g);
  return show(g, out, GROWTH_SCALAR, g->token);
}

/* --- numbers --- */

/* How far a number is; those that may end are marked. */
enum { N_NONE, N_MINUS, N_ZERO /* . */, N_DIGITS /* . */, N_POINT, N_FRACTION /* . */, N_E, N_SIGN, N_POWER /* . */ };

/* Returns the state of the number with c behind it; N_NONE where c is no part of it. */
static int extend_number(int numeral, char c) {
  int digit = c >= '0' && c <= '9', e = c == 'e' || c == 'E';
  switch (numeral) {
    case N_MINUS: return c == '0' ? N_ZERO : digit ? N_DIGITS : N_NONE;
    case N_ZERO: return c == '.' ? N_POINT : e ? N_E : N_NONE;
    case N_DIGITS: return digit ? N_DIGITS : c == '.' ? N_POINT : e ? N_E : N_NONE;
    case N_POINT: return digit ? N_FRACTION : N_NONE;
    case N_FRACTION: return digit ? N_FRACTION : e ? N_E : N_NONE;
    case N_E: return c == '+' || c == '-' ? N_SIGN : digit ? N_POWER : N_NONE;
    case N_SIGN: case N_POWER: return digit ? N_POWER : N_NONE;
    default: return N_NONE;
  }
}

static int may_end(int numeral) {
  return numeral == N_ZERO || numeral == N_DIGITS || numeral == N_FRACTION || numeral == N_POWER;
}

/* The number is whole: an integer, or the double that stands for it. */
static enum growth_type take_number(struct growing *g, struct growth *out) {
  struct json j;
  json_open(&j, buf_str(&g->number), 1, g->e);
  enum token token = json_next(&j);
  double d = token == J_BIG ? json_double(buf_str(&g->number)) : j.d;
  if (token == J_BIG && !isfinite(d)) {
    err_set(g->e, KIND_PROTOCOL, "JSON: a number is too large");
    return failed(g);
  }
  enum growth_type type = show(g, out, GROWTH_SCALAR, token == J_BIG ? J_DOUBLE : token);
  if (type == GROWTH_FAILED) return type;
  out->i = j.i;
  out->d = d;
  whole(g);
  return type;
}

static enum growth_type read_number(struct growing *g, struct growth *out) {
  const char *first = g->p;
  for (int next; g->p < g->end && (next = extend_number(g->numeral, *g->p)) != N_NONE; g->p++) g->numeral = next;
  if (buf_add(&g->number, first, (size_t)(g->p - first)) < 0) return fail_memory(g);
  if (g->p == g->end) return GROWTH_NONE;
  if (!may_end(g->numeral)) return fail(g, "a digit");
  char c = *g->p; /* 01 is no 0 with something behind it */
  if (str_is_space(c)) return take_number(g, out);
  if (g->depth == 0) return fail(g, "nothing more");
  if (c == ',' || c == (in_object(g) ? '}' : ']')) return take_number(g, out);
  return fail(g, in_object(g) ? "',' or '}'" : "',' or ']'");
}

/* --- strings --- */

static enum growth_type read_string(struct growing *g, struct growth *out) {
  describe(g, out, J_STRING);
  switch (growing_text(g, &out->text)) {
    case TEXT_SOME: return GROWTH_TEXT;
    case TEXT_END: return whole(g), GROWTH_CLOSED;
    case TEXT_MORE: return GROWTH_NONE;
    case TEXT_ESCAPE: return fail(g, "a valid escape sequence");
    default: return fail(g, "a string without raw control bytes");
  }
}

static enum growth_type read_key(struct growing *g) {
  struct str text;
  for (;;) {
    switch (growing_text(g, &text)) {
      case TEXT_SOME:
        if (buf_addstr(&g->key, text) < 0) return fail_memory(g);
        break;
      case TEXT_END: g->state = S_COLON; return GROWTH_NONE;
      case TEXT_MORE: return GROWTH_NONE;
      case TEXT_ESCAPE: return fail(g, "a valid escape sequence");
      default: return fail(g, "a string without raw control bytes");
    }
  }
}

/* --- structure --- */

static enum growth_type begin_value(struct growing *g, struct growth *out) {
  char c = *g->p;
  switch (c) {
    case '{': return open_container(g, out, 1);
    case '[': return open_container(g, out, 0);
    case 't': return begin_word(g, "true", J_TRUE, 0);
    case 'f': return begin_word(g, "false", J_FALSE, 0);
    case 'n': return begin_word(g, "null", J_NULL, 0);
    case '"':
      g->p++;
      g->state = S_STRING;
      return show(g, out, GROWTH_OPENED, J_STRING);
    default: break;
  }
  if (c != '-' && (c < '0' || c > '9')) return fail(g, "a JSON value");
  g->number.n = 0;
  g->numeral = c == '-' ? N_MINUS : c == '0' ? N_ZERO : N_DIGITS;
  g->state = S_NUMBER;
  if (buf_addc(&g->number, c) < 0) return fail_memory(g);
  g->p++;
  return GROWTH_NONE;
}

static enum growth_type begin_key(struct growing *g) {
  if (*g->p != '"') return fail(g, "a key");
  g->p++;
  g->key.n = 0;
  g->state = S_KEY_TEXT;
  return GROWTH_NONE;
}

/* Behind the value: the counterpart of a fence before it, or text that is noted. */
static enum growth_type read_behind(struct growing *g) {
  if (g->fence == 2 && *g->p == FENCE[0] && g->ticks < 3) {
    g->ticks++;
    g->p++;
  } else {
    g->behind = offset(g);
    g->state = S_BEHIND;
  }
  return GROWTH_NONE;
}

/* The byte at hand, which is no white space, between values, keys and what separates them. */
static enum growth_type read_structure(struct growing *g, struct growth *out) {
  char c = *g->p;
  switch (g->state) {
    case S_LEAD:
      g->state = S_VALUE;
      if (!g->fence || c != FENCE[0]) break;
      g->fence = 2;
      return begin_word(g, FENCE, J_EOF, S_FENCE_LINE);
    case S_COLON:
      if (c != ':') return fail(g, "':'");
      g->p++;
      g->state = S_VALUE;
      return GROWTH_NONE;
    case S_FIRST_KEY: return c == '}' ? close_container(g, out) : begin_key(g);
    case S_KEY: return begin_key(g);
    case S_FIRST_VALUE:
      if (c == ']') return close_container(g, out);
      break;
    case S_AFTER:
      if (c == (in_object(g) ? '}' : ']')) return close_container(g, out);
      if (c != ',') return fail(g, in_object(g) ? "',' or '}'" : "',' or ']'");
      g->p++;
      g->state = in_object(g) ? S_KEY : S_VALUE;
      return GROWTH_NONE;
    case S_END: return read_behind(g);
    default: break;
  }
  return begin_value(g, out);
}

/* Reads at least one byte, or goes into another state. */
static enum growth_type read_some(struct growing *g, struct growth *out) {
  switch (g->state) {
    case S_STRING: return read_string(g, out);
    case S_KEY_TEXT: return read_key(g);
    case S_NUMBER: return read_number(g, out);
    case S_WORD: return read_word(g, out);
    case S_START:
      g->state = S_LEAD;
      return *g->p == BOM[0] ? begin_word(g, BOM, J_EOF, S_LEAD) : GROWTH_NONE;
    case S_FENCE_LINE:
      while (g->p < g->end && *g->p != '\n' && *g->p != '{' && *g->p != '[') g->p++;
      if (g->p < g->end) g->state = S_VALUE;
      return GROWTH_NONE;
    case S_BEHIND: g->p = g->end; return GROWTH_NONE;
    default: break;
  }
  while (g->p < g->end && str_is_space(*g->p)) g->p++;
  return g->p < g->end ? read_structure(g, out) : GROWTH_NONE;
}

enum growth_type growing_next(struct growing *g, struct growth *out) {
  enum growth_type type = GROWTH_NONE;
  if (g->state == S_FAILED) return GROWTH_FAILED;
  while (type == GROWTH_NONE && g->p < g->end) type = read_some(g, out);
  if (type != GROWTH_NONE || !g->over) return type;
  err_set(g->e, KIND_LIMIT, "JSON: more than %zu bytes", g->limits.bytes);
  return failed(g);
}

enum growth_type growing_end(struct growing *g, struct growth *out) {
  return g->state == S_NUMBER && g->depth == 0 && may_end(g->numeral) ? take_number(g, out) : GROWTH_NONE;
}
