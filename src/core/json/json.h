/*
** json.h: JSON for the wire: a pull reader, a tree in an arena on top of it, and a byte-stable writer.
** Trees borrow: strings point into the input or the arena, whichever the reader could use. Failure: -1 / NULL / J_ERROR
** and an err with the byte offset; a reader in error stays in error. Numbers: an integer that fits int64 is exact;
** other numbers are doubles; an integer beyond int64 and a number beyond double keep their text (NODE_BIG). No locale
** is ever consulted.
*/
#ifndef KOINE_JSON_H
#define KOINE_JSON_H

#include <stdint.h>
#include "core/base/mem.h"
#include "core/base/err.h"

#pragma GCC visibility push(hidden)

#define JSON_DEPTH_MAX 1024 /* hard cap; callers pass a lower limit */
#define JSON_VALUES_MAX 1000000 /* values of a tree made from text; of the arguments of a message's calls together */

enum token {
  J_ERROR = -1,
  J_EOF = 0,    /* the value is complete and nothing but white space follows */
  J_OBJECT, J_OBJECT_END, J_ARRAY, J_ARRAY_END,
  J_KEY, J_STRING, J_INT, J_DOUBLE, J_BIG, J_TRUE, J_FALSE, J_NULL
};

struct json {
  const char *begin, *p, *end;
  struct err *e;
  int depth, max_depth;
  int state;                 /* private: what may come next */
  int after;                 /* private: the same once the value at hand is complete */
  size_t invalid;            /* private: malformed UTF-8 sequences in text, each of which decodes to one U+FFFD */
  enum token tok;            /* the last token */
  /* of the last token: */
  struct str text;           /* J_KEY, J_STRING: between the quotes, still escaped; J_INT, J_DOUBLE, J_BIG: its text */
  int plain;                 /* J_KEY, J_STRING: text needs no decoding (no escape, valid UTF-8) */
  int64_t i;                 /* J_INT */
  double d;                  /* J_DOUBLE */
  unsigned *surrogates;      /* NULL, or set after json_open: json_node keeps lone surrogates as json_text_wtf8 does */
  const char *start;         /* where the token began: raw slices are [start, p) after json_skip */
  unsigned char is_object[JSON_DEPTH_MAX / 8];
};

/* Reads one value from s. A BOM and leading white space are skipped. max_depth <= JSON_DEPTH_MAX. */
void json_open(struct json *j, struct str s, int max_depth, struct err *e);
/* The next token. Order, commas and colons are checked here. J_ERROR is sticky and fills *e (KIND_PROTOCOL; KIND_LIMIT
** when nested deeper than max_depth). */
enum token json_next(struct json *j);
/* Skips a value: the one whose first token was just read if that token opened a container, nothing if it was a scalar;
** after J_KEY, the whole value that follows. 0 or -1. Everything skipped is checked as strictly as if read, but only
** `start` and `p` are meaningful afterwards: the value's raw bytes are between them. */
int json_skip(struct json *j);
/* After J_KEY: the value that follows as its raw bytes (white space round it excluded). 0 or -1. */
int json_raw(struct json *j, struct str *raw);
/* True for text that begins a JSON value and ends before it does: all there is of it is right. False for blank text. */
int json_is_cut(struct str s);
/* The text of the last J_KEY or J_STRING, decoded: borrowed when plain, else copied into the arena. Invalid UTF-8
** becomes U+FFFD. A lone surrogate too, where flags is NULL; else it stays in the text as three WTF-8 bytes (ED A0..BF xx)
** and sets JSON_SURROGATE in *flags: for text cut in deltas, whose next piece may hold the other half. 0, or -1 when out
** of memory. Inline: most strings are plain. */
#define JSON_SURROGATE 1u
int json_decode(struct json *j, struct arena *a, struct str *out, unsigned *flags);
static inline int json_text_wtf8(struct json *j, struct arena *a, struct str *out, unsigned *flags) {
  if (!j->plain) return json_decode(j, a, out, flags);
  *out = j->text;
  return 0;
}
static inline int json_text(struct json *j, struct arena *a, struct str *out) {
  return json_text_wtf8(j, a, out, NULL);
}
/* WTF-8 to UTF-8 in place: a high surrogate and the low one behind it become their character, one alone U+FFFD.
** Returns the new length, never more than n. */
size_t json_join_surrogates(char *p, size_t n);
/* True when the last J_KEY or J_STRING is this literal (literals hold no character that needs an escape). */
#define json_is(j, literal) ((j)->plain ? str_eq((j)->text, literal) : json_is_((j), (literal), sizeof(literal) - 1))
int json_is_(const struct json *j, const char *z, size_t n);

enum node_type {
  NODE_NULL, NODE_FALSE, NODE_TRUE, NODE_INT, NODE_DOUBLE, NODE_BIG, NODE_STRING, NODE_ARRAY, NODE_OBJECT
};

/* One JSON value. Children of arrays and objects form a list; members carry their key. */
struct node {
  enum node_type type;
  unsigned mark;             /* free for whoever changes the tree; 0 at first */
  struct str key;            /* as a member of an object */
  struct str s;              /* STRING: decoded bytes; BIG: its text */
  union { int64_t i; double d; } u;
  struct node *child, *last; /* ARRAY, OBJECT */
  struct node *next;
  size_t count;              /* children */
};

/* A tree of the whole text; NULL and *e on error (KIND_LIMIT: more than JSON_VALUES_MAX values). Duplicate keys: the last
** one wins, in the first one's place. Reading n members takes the time of sorting them. */
struct node *json_tree(struct arena *a, struct str s, int max_depth, struct err *e);
/* The same where several trees share the cap: adds the values to *values, which is beyond JSON_VALUES_MAX when that was
** the error. values NULL: no cap. */
struct node *json_tree_within(struct arena *a, struct str s, int max_depth, size_t *values, struct err *e);
/* A tree of the value at hand: after J_KEY the value that follows, else the one whose first token was just read. Capped
** as json_tree. */
struct node *json_node(struct json *j, struct arena *a);

/* Constructors: NULL when out of memory. Strings are borrowed. */
struct node *node_new(struct arena *a, enum node_type t);
struct node *node_string(struct arena *a, struct str s);
struct node *node_int(struct arena *a, int64_t i);
struct node *node_double(struct arena *a, double d);
/* Makes doubles of the integers beyond int64 in a value, which have their text else: 0, or -1 where a number is beyond
** double. */
int node_doubles(struct node *v);
struct node *node_bool(struct arena *a, int b);
/* Appends; v may be NULL (out of memory earlier): returns -1 then, else 0. A node lives in one list only. */
int node_add(struct node *array, struct node *v);
int node_set(struct node *object, struct str key, struct node *v); /* replaces a member of that key in place */
/* Removes a child from its list (the node itself stays valid). Takes the time of finding it among the children. */
void node_remove(struct node *parent, struct node *v);
/* Removes the child behind the child `before`, or the first one where that is NULL, without a search. */
void node_remove_after(struct node *parent, struct node *before);
/* The functions below walk no deeper than JSON_DEPTH_MAX (no reader makes such a tree, but hands can): copying and
** writing fail below that, node_size is 0, nothing equals. */
/* A deep copy in the arena: structure copied, strings borrowed. */
struct node *node_copy(struct arena *a, const struct node *v);
/* A deep copy into ONE block: size first, then the copy; everything, strings too, lies inside the block. */
size_t node_size(const struct node *v);
struct node *node_pack(void *block, const struct node *v);
/* True for equal values: member order is ignored; 1 equals 1.0; a null member equals an absent one; [] equals {},
** which other JSON libraries cannot tell apart; a number kept as text equals a string of that text. Linear while
** members stand in the same order, else quadratic in the members of one object. */
int node_equal(const struct node *a, const struct node *b);
/* The same answer, but many members in another order are sorted, with memory of m for the time of the call. Where there
** is none (or a key stands twice in one object, which no reader makes), quadratic as above. */
int node_equal_sorted(const struct mem *m, const struct node *a, const struct node *b);
/* Sorts n members by the bytes of their keys, equal keys in their old order; tmp has room for n. */
void node_sort(struct node **v, struct node **tmp, size_t n);
static inline int node_is(const struct node *v, enum node_type t) { return v != NULL && v->type == t; }
/* The member, or NULL (also when o is NULL or no object). Inline: the length of a literal is known then, and comparing
** a key takes no call. */
#ifdef KOINE_ANALYSED
struct node *node_get_(const struct node *o, const char *key, size_t n);
#else
static inline struct node *node_get_(const struct node *o, const char *key, size_t n) {
  struct node *v = node_is(o, NODE_OBJECT) ? o->child : NULL;
  while (v != NULL && !str_is(v->key, key, n)) v = v->next;
  return v;
}
#endif
#define node_get(o, literal) node_get_((o), (literal), sizeof(literal) - 1)
/* The string of a STRING node, else STR_NONE. */
static inline struct str node_str(const struct node *v) { return node_is(v, NODE_STRING) ? v->s : STR_NONE; }

/* Appends v as compact JSON: members in list order, doubles as the shortest text that reads back equal (always with
** '.', 'e' or both, never through a locale), invalid UTF-8 as U+FFFD, control bytes escaped. NaN and infinity are
** KIND_ARGUMENT. 0, or -1 and *e. */
int json_write(struct buf *b, const struct node *v, struct err *e);
/* The same with the members of every object sorted by the bytes of their keys. */
int json_write_sorted(struct buf *b, const struct node *v, struct err *e);
/* Appends s as a JSON string with its quotes. 0, or -1 when out of memory. */
int json_write_string(struct buf *b, struct str s);
/* Appends JSON text as it is, but for what is no UTF-8, which becomes U+FFFD. 0, or -1 when out of memory. */
int json_write_text(struct buf *b, struct str json);
/* Appends the number. 0, or -1: out of memory, or not finite (*e says which). */
int json_write_double(struct buf *b, double d, struct err *e);
int json_write_int(struct buf *b, int64_t i);

/* The double of a JSON number's text, correctly rounded, whatever the locale. Infinity when too large. */
double json_double(struct str text);

#pragma GCC visibility pop

#endif
