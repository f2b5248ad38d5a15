/*
** read.h: small readers that the parsers share. They borrow results from the input or put them in the scratch arena.
** Failure: -1 and an err.
*/
#ifndef KOINE_CODEC_SHARED_READ_H
#define KOINE_CODEC_SHARED_READ_H

#include "core/codec/codec.h"

#pragma GCC visibility push(hidden)

#define COUNT_MAX ((int64_t)1 << 53) /* no token figure and no index of an answer is larger */

/* The next value as decoded text when it is a string; anything else is skipped and leaves *out. 0 or -1. */
int codec_text(struct json *j, struct arena *a, struct str *out, unsigned *flags);
/* A value whose first token was just read, and which is not of the type that its place is for: 0 where it is null, which says
** nothing, else -1 and KIND_PROTOCOL with `what`: a part of the answer would be lost without a word. */
int codec_odd(struct json *j, const char *what);
/* The next value as decoded text, as codec_text; what is neither a string nor null is odd. */
int codec_said(struct json *j, struct arena *a, struct str *out, unsigned *flags, const char *what);
/* The next value decoded when it is a string; anything else is skipped and leaves *out. 0 or -1. Inline: every delta
** reads two of them. */
static inline int codec_string(struct json *j, struct arena *a, struct str *out) {
  if (json_next(j) == J_STRING) return json_text(j, a, out) == 0 ? 0 : err_memory(j->e);
  return json_skip(j);
}
/* The next value into *out: a string decoded, a number as its digits; anything else is skipped. 0 or -1. */
int codec_word(struct json *j, struct arena *a, struct str *out);
/* The next value as JSON, where it is no null. 0 or -1. */
int codec_raw(struct json *j, struct str *raw);
/* The next value into *v if it is an integer; anything else is skipped and leaves *v. 0 or -1. */
int codec_integer(struct json *j, int64_t *v);
/* The same of a count: a number from 0 to COUNT_MAX, without what is behind its point. */
int codec_count(struct json *j, int64_t *v);
/* The same of one whose token was just read. */
int codec_count_read(struct json *j, int64_t *v);
/* Of an array whose first token was read: 1 inside its next object, 0 at its end, -1 on error. Skips other elements. */
int codec_next_object(struct json *j);
/* An array that is read element by element, without a tree. Nothing where the JSON is no array. */
struct elements { struct json j; int more; };
void elements_open(struct elements *v, const struct parse *p, struct str json, struct err *e);
/* The next element as JSON, empty behind the last. 0 or -1. */
int elements_next(struct elements *v, struct str *element);
/* True for the text of a JSON object. */
int codec_is_object(const struct parse *p, struct str json);
/* A call's arguments: a string as it is; an object or array as its compact JSON (*whole is set then). 0 or -1. */
int codec_arguments(const struct parse *p, struct json *j, struct str *args, unsigned *flags, int *whole);
/* Appends a member to a JSON object being written; the key is escaped already, raw is JSON. 0 or -1. */
int codec_member(struct buf *b, struct str key, struct str raw, struct err *e);
/* Appends the member at hand (j stands behind its key) to such an object, unless it is null. 0 or -1. */
int codec_extra(struct buf *b, struct json *j);
/* Appends a member whose value is an array; its elements are joined by commas. 0 or -1. */
int codec_list(struct buf *b, struct str key, const struct buf *elements, struct err *e);
/* Appends an element (JSON) to elements that are joined by commas. 0 or -1. */
int codec_join(struct buf *elements, struct str json, struct err *e);
/* Appends those of an array (JSON); anything else says nothing. 0 or -1. */
int codec_join_all(const struct parse *p, struct buf *elements, struct str json, struct err *e);
/* Closes that object and copies it to p->a; *raw is empty when nothing was appended. 0 or -1. */
int codec_extra_end(const struct parse *p, struct buf *b, struct str *raw, struct err *e);

/* Makes b hold s alone. 0 or -1. */
int codec_set(struct buf *b, struct str s, struct err *e);
/* Appends a part to out; NULL and *e when out of memory. */
static inline struct event *codec_push(struct events *out, enum event_type type, int32_t key, struct str text,
                                       struct err *e) {
  struct event *ev = events_push(out, type, key);
  if (ev == NULL) err_memory(e);
  else ev->text = text;
  return ev;
}

/* Reads a record that is one event: 0, or -1. */
typedef int (*event_reader)(void *state, const struct record *r, struct events *out, struct err *e);
/* The same, counted. */
static inline int codec_event(const struct parse *p, const struct record *r, event_reader read, void *state,
                              struct events *out, struct err *e) {
  if (p->events != NULL) ++*p->events;
  return read(state, r, out, e);
}
/* codec_record for records that are empty, of several lines, or perhaps cut. */
int codec_lines(const struct parse *p, const struct record *r, event_reader read, void *state, struct events *out,
                struct err *e);
/* Reads and counts the events of a record: one, but for proxies that leave out the blank lines between events, so that
** every line of the data is one, without a name. A record that the end of the body closed counts only where its JSON is
** whole. 0, or -1. Inline: it calls read directly. */
static inline int codec_record(const struct parse *p, const struct record *r, event_reader read, void *state,
                               struct events *out, struct err *e) {
  if (r->joined || r->unclosed || r->data.n == 0) return codec_lines(p, r, read, state, out, e);
  return codec_event(p, r, read, state, out, e);
}

/* A service tier at which tokens do not cost what the price list says: the word, else NULL. */
const char *codec_tier(struct str tier);
/* The same of the next value; *unpriced stays at the usual tier. 0 or -1. */
int codec_read_tier(struct json *j, struct arena *a, const char **unpriced);

/* The wire's own token counts, each as it was last said; -1 = never. Prompt and completion are what some formats call
** input and output. */
struct token_counts {
  int64_t prompt, completion, total, cached, written, reasoning;
  double cost, upstream;     /* USD; upstream: what the caller's own account elsewhere pays besides (BYOK) */
  int byok;
  const char *unpriced;      /* as in struct usage */
};

/* The names that a format gives the two totals, and the objects that split them up. */
struct token_count_names {
  struct str prompt, prompt_details, completion, completion_details;
};

/* All never said. */
void token_counts_clear(struct token_counts *f);
/* Reads the value of a `usage` key (the next token of j) over the counts. 1 when it said anything, 0, or -1. */
int token_counts_read(struct token_counts *f, const struct token_count_names *names, struct json *j);
/* The canonical counts: cached and written tokens taken out of the prompt's; the cost where the quirks say that it is
** one. */
void token_counts_usage(const struct token_counts *f, const struct quirks *q, struct usage *u);

#pragma GCC visibility pop

#endif
