/*
** read.c: the pull reader: one token per call, no recursion, nothing allocated. It borrows its input. Failure: J_ERROR
** or -1, an err with the byte offset, and the reader stays in error.
*/
#include <math.h>

#include "json.h"
#include "scan.h"

/* The states, by what may come next: a value, or an array's or object's first; what stands behind an element, a member,
** the whole. From S_FAILED on nothing: S_FAILED_WITHIN a word or an escape. */
enum { S_VALUE, S_FIRST_VALUE, S_FIRST_KEY, S_AFTER_ELEMENT, S_AFTER_MEMBER, S_END, S_FAILED, S_FAILED_WITHIN };

#define NO_BYTE (-1) /* peek at the end of the text */

#if defined(__GNUC__)
#define COLD __attribute__((cold, noinline)) /* keeps the registers of errors out of the way of tokens */
#define APART __attribute__((noinline))      /* keeps those of keys out of the way of other tokens */
#else
#define COLD
#define APART
#endif

COLD static enum token fail(struct json *j, const char *p, const char *expected) {
  size_t offset = (size_t)(p - j->begin);
  if (p == j->end)
    err_set(j->e, KIND_PROTOCOL, "JSON: %s expected, but the text ends at byte %zu", expected, offset);
  else
    err_set(j->e, KIND_PROTOCOL, "JSON: %s expected at byte %zu, found 0x%02X", expected, offset, (unsigned char)*p);
  j->e->offset = offset;
  j->state = S_FAILED;
  return j->tok = J_ERROR;
}

/* The same of a word or an escape, which begins at p. */
COLD static enum token fail_within(struct json *j, const char *p, const char *expected) {
  fail(j, p, expected);
  j->state = S_FAILED_WITHIN;
  return J_ERROR;
}

/* Moves *at past white space: the byte there, or NO_BYTE. One comparison where no space is, as in most JSON. */
static inline int peek(const char **at, const char *end) {
  for (const char *p = *at;; p++) {
    *at = p;
    if (p == end) return NO_BYTE;
    if ((unsigned char)*p > ' ' || !str_is_space(*p)) return (unsigned char)*p;
  }
}

/* Starts reading s; a byte-order mark is skipped. */
void json_open(struct json *j, struct str s, int max_depth, struct err *e) {
  if (s.p == NULL) s = STR("");
  j->begin = j->p = j->start = s.p;
  j->end = s.p + s.n;
  j->e = e;
  j->depth = 0;
  j->max_depth = max_depth < JSON_DEPTH_MAX ? max_depth : JSON_DEPTH_MAX;
  j->state = S_VALUE;
  j->after = S_END;
  j->tok = J_EOF;
  j->text = STR_NONE;
  j->plain = 0;
  j->invalid = 0;
  j->surrogates = NULL;
  j->i = 0;
  j->d = 0;
  if (str_begins(s, "\xEF\xBB\xBF")) j->p += 3;
}

/* --- strings --- */

/* The end of the escape whose backslash is at p, or NULL when it is none. */
static const char *check_escape(const char *p, const char *end) {
  if (end - p < 2) return NULL;
  switch (p[1]) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return p + 2;
    case 'u': return hex4(p + 2, end) < 0 ? NULL : p + 6;
    default: return NULL;
  }
}

/* Takes the string [first, p), whose closing quote is at p. */
static inline int take_string(struct json *j, const char *first, const char *p, int plain, size_t invalid) {
  j->text = (struct str){ first, (size_t)(p - first) };
  j->invalid = invalid;
  j->plain = plain;
  j->p = p + 1;
  return 0;
}

/* A string that has more than plain bytes: they end at p. 0 or -1. */
static int read_special(struct json *j, const char *first, const char *p) {
  const char *end = j->end;
  int plain = 1;
  size_t invalid = 0;
  for (;; p = scan_plain(p, end)) {
    if (p == end) return fail(j, p, "'\"'"), -1;
    if (*p == '"') break;
    if (*p == '\\') {
      const char *after = check_escape(p, end);
      if (after == NULL) return fail_within(j, p, "a valid escape sequence"), -1;
      plain = 0;
      p = after;
    } else if ((unsigned char)*p < 0x20) {
      return fail(j, p, "a string without raw control bytes"), -1;
    } else {
      do {
        int n = utf8_length(p, end);
        if (n < 0) {
          invalid++;
          n = -n;
        }
        p += n;
      } while (p < end && (unsigned char)*p >= 0x80);
    }
  }
  return take_string(j, first, p, plain && invalid == 0, invalid);
}

/* Reads the string whose opening quote is at p into text, plain and invalid; j->p moves past its end. 0 or -1. */
static inline int read_string(struct json *j, const char *p) {
  const char *first = p + 1, *special = scan_plain(first, j->end);
  if (special < j->end && *special == '"') return take_string(j, first, special, 1, 0);
  return read_special(j, first, special);
}

/* --- numbers --- */

static inline int is_digit(const char *p, const char *end) {
  return p < end && *p >= '0' && *p <= '9';
}

static const char *skip_digits(const char *p, const char *end) {
  while (is_digit(p, end)) p++;
  return p;
}

#define DIGITS_KEPT 19 /* decimal digits that fit into 64 bits; a number with more of them counts as DIGITS_KEPT + 1 */

/* Classifies the integer of `digits` digits whose value is v while those fit. */
static enum token integer(struct json *j, int negative, size_t digits, uint64_t v) {
  if (digits > DIGITS_KEPT || v > (uint64_t)INT64_MAX + (uint64_t)negative) return J_BIG;
  if (negative && v == 0) { /* an int64 cannot carry the sign */
    j->d = -0.0;
    return J_DOUBLE;
  }
  j->i = negative ? (int64_t)(0 - v) : (int64_t)v;
  return J_INT;
}

/* Takes the digits at p into *v and counts them in *n, leading zeros left out; up to DIGITS_KEPT. The first that it left. */
static inline const char *take_digits(const char *p, const char *end, uint64_t *v, size_t *n) {
  uint64_t m = *v;
  if (m == 0)
    while (p < end && *p == '0') p++;
  size_t room = DIGITS_KEPT - *n, there = (size_t)(end - p);
  const char *first = p, *last = p + (there < room ? there : room);
  for (; p < last && *p >= '0' && *p <= '9'; p++) m = m * 10 + (uint64_t)(*p - '0');
  *n += (size_t)(p - first);
  *v = m;
  return p;
}

/* The same for a whole run of digits: where there are more, *n is DIGITS_KEPT + 1. Its end. */
static inline const char *take_all(const char *p, const char *end, uint64_t *v, size_t *n) {
  if (*n <= DIGITS_KEPT) p = take_digits(p, end, v, n);
  if (is_digit(p, end)) *n = DIGITS_KEPT + 1;
  return skip_digits(p, end);
}

/* The exponent behind the letter at p - 1; its end, or NULL where there is none. */
static const char *take_exponent(struct json *j, const char *p, int *exponent) {
  const char *end = j->end;
  int v = 0, negative = p < end && *p == '-';
  if (p < end && (*p == '+' || *p == '-')) p++;
  if (!is_digit(p, end)) return fail(j, p, "a digit"), NULL;
  for (; is_digit(p, end); p++)
    if (v < EXPONENT_MAX) v = v * 10 + (*p - '0');
  *exponent = negative ? -v : v;
  return p;
}

/* The number that begins at `first`, whose integer v of n digits ends at p, before '.' or 'e'. */
static enum token read_real(struct json *j, const char *first, const char *p, uint64_t v, size_t n, int build) {
  const char *end = j->end;
  ptrdiff_t places = 0;
  int exponent = 0;
  if (*p == '.') {
    const char *fraction = ++p;
    if (!is_digit(p, end)) return fail(j, p, "a digit");
    p = build ? take_all(p, end, &v, &n) : skip_digits(p, end);
    places = p - fraction;
  }
  if (p < end && (*p == 'e' || *p == 'E') && (p = take_exponent(j, p + 1, &exponent)) == NULL) return J_ERROR;
  j->text = (struct str){ first, (size_t)(p - first) };
  j->p = p;
  if (!build) return J_DOUBLE;
  exponent -= places < EXPONENT_MAX ? (int)places : EXPONENT_MAX;
  if (n > DIGITS_KEPT || !(number_exact(v, exponent, &j->d) || number_near(v, exponent, &j->d)))
    j->d = json_double(j->text);
  else if (*first == '-')
    j->d = -j->d;
  return isfinite(j->d) ? J_DOUBLE : J_BIG;
}

/* The number at p; `build` is 0 when its value does not matter. */
static inline enum token read_number(struct json *j, const char *p, int build) {
  const char *end = j->end, *first = p;
  int negative = *p == '-';
  p += negative;
  if (!is_digit(p, end)) return fail(j, p, "a digit");
  uint64_t v = 0;
  size_t n = 0;
  if (*p == '0') p++;
  else p = take_all(p, end, &v, &n);
  if (p < end && (*p == '.' || *p == 'e' || *p == 'E')) return read_real(j, first, p, v, n, build);
  enum token t = integer(j, negative, n, v);
  j->text = (struct str){ first, (size_t)(p - first) };
  j->p = p;
  return t;
}

/* --- structure --- */

static enum token open_container(struct json *j, const char *p, int object) {
  int i = j->depth;
  if (i >= j->max_depth) {
    fail(j, p, "less nesting");
    return err_set(j->e, KIND_LIMIT, "JSON: nested deeper than %d levels at byte %zu", i, (size_t)(p - j->begin)),
           J_ERROR;
  }
  unsigned char bit = (unsigned char)(1 << (i & 7));
  if (object) j->is_object[i >> 3] |= bit;
  else j->is_object[i >> 3] &= (unsigned char)~bit;
  j->depth = i + 1;
  j->p = p + 1;
  j->state = object ? S_FIRST_KEY : S_FIRST_VALUE;
  j->after = object ? S_AFTER_MEMBER : S_AFTER_ELEMENT;
  return j->tok = object ? J_OBJECT : J_ARRAY;
}

static inline enum token close_container(struct json *j, const char *p, enum token t) {
  int i = --j->depth - 1; /* the container that this one stands in */
  j->after = i < 0 ? S_END : j->is_object[i >> 3] >> (i & 7) & 1 ? S_AFTER_MEMBER : S_AFTER_ELEMENT;
  j->start = p;
  j->p = p + 1;
  j->state = j->after;
  return j->tok = t;
}

static inline enum token scalar(struct json *j, enum token t) {
  if (t == J_ERROR) return t;
  j->state = j->after;
  return j->tok = t;
}

static enum token read_word(struct json *j, const char *p, const char *word, size_t n, enum token t) {
  if ((size_t)(j->end - p) < n || memcmp(p, word, n) != 0) return fail_within(j, p, "a JSON value");
  j->p = p + n;
  return scalar(j, t);
}

/* The value that begins with c at p. */
static enum token read_value(struct json *j, const char *p, int c, int build) {
  j->start = p;
  if (c == '"') return read_string(j, p) < 0 ? J_ERROR : scalar(j, J_STRING);
  switch (c) {
    case '{': return open_container(j, p, 1);
    case '[': return open_container(j, p, 0);
    case 't': return read_word(j, p, "true", 4, J_TRUE);
    case 'f': return read_word(j, p, "false", 5, J_FALSE);
    case 'n': return read_word(j, p, "null", 4, J_NULL);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
      return scalar(j, read_number(j, p, build));
    default: return fail(j, p, "a JSON value");
  }
}

/* Reads the token that begins with c at p where a member may stand: a key, read with its colon, or the object's end. */
APART static enum token read_member(struct json *j, const char *p, int c) {
  if (c == '}') return close_container(j, p, J_OBJECT_END);
  if (j->state == S_AFTER_MEMBER) {
    if (c != ',') return fail(j, p, "',' or '}'");
    p++;
    c = peek(&p, j->end);
  }
  j->start = p;
  if (c != '"') return fail(j, p, "a key");
  if (read_string(j, p) < 0) return J_ERROR;
  p = j->p;
  if (peek(&p, j->end) != ':') return fail(j, p, "':'");
  j->p = p + 1;
  j->state = S_VALUE;
  return j->tok = J_KEY;
}

/* Reads the token that begins with c at p where an element may stand: a value, or the array's end. */
static enum token read_element(struct json *j, const char *p, int c, int build) {
  if (c == ']') return close_container(j, p, J_ARRAY_END);
  if (j->state == S_AFTER_ELEMENT) {
    if (c != ',') return fail(j, p, "',' or ']'");
    p++;
    c = peek(&p, j->end);
  }
  return read_value(j, p, c, build);
}

static inline enum token next(struct json *j, int build) {
  const char *p = j->p;
  int c = peek(&p, j->end);
  if (j->state == S_VALUE) return read_value(j, p, c, build);
  if (j->state == S_AFTER_MEMBER || j->state == S_FIRST_KEY) return read_member(j, p, c);
  if (j->state == S_AFTER_ELEMENT || j->state == S_FIRST_VALUE) return read_element(j, p, c, build);
  if (j->state >= S_FAILED) return J_ERROR;
  if (c != NO_BYTE) return fail(j, p, "nothing more");
  j->start = j->p = p;
  return j->tok = J_EOF;
}

/* The next token. */
enum token json_next(struct json *j) {
  return next(j, 1);
}

/* Skips the value at hand: 0, or -1 on an error in it. */
int json_skip(struct json *j) {
  enum token t = j->tok;
  if (t == J_KEY) {
    const char *p = j->p;
    int c = peek(&p, j->end);
    t = read_value(j, p, c, 0);
  }
  if (t == J_OBJECT || t == J_ARRAY) {
    const char *start = j->start;
    int outside = j->depth - 1;
    while (j->depth > outside && t != J_ERROR) t = next(j, 0);
    j->start = start;
  }
  return t == J_ERROR ? -1 : 0;
}

/* The raw bytes of the value behind the key just read: 0, or -1 on an error in it. */
int json_raw(struct json *j, struct str *raw) {
  if (json_skip(j) < 0) return -1;
  *raw = (struct str){ j->start, (size_t)(j->p - j->start) };
  return 0;
}

/* True when the n bytes from p to the end, of a word or an escape that is wrong, begin one. */
static int is_unfinished(const char *p, size_t n) {
  static const struct str WORDS[] = { { "true", 4 }, { "false", 5 }, { "null", 4 } };
  for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
    if (n < WORDS[i].n && memcmp(p, WORDS[i].p, n) == 0) return 1;
  if (p[0] != '\\' || n > 5 || (n > 1 && p[1] != 'u')) return 0;
  for (size_t i = 2; i < n; i++)
    if (memchr("0123456789abcdefABCDEF", p[i], 22) == NULL) return 0;
  return 1;
}

int json_is_cut(struct str s) {
  struct json j = { 0 };
  struct err scratch;
  err_clear(&scratch);
  json_open(&j, s, JSON_DEPTH_MAX, &scratch);
  if (peek(&j.p, j.end) == NO_BYTE) return 0;
  if (json_next(&j) != J_ERROR && json_skip(&j) == 0) return 0;
  if (scratch.kind != KIND_PROTOCOL) return 0;
  size_t left = s.n - scratch.offset;
  return left == 0 || (j.state == S_FAILED_WITHIN && is_unfinished(j.begin + scratch.offset, left));
}
