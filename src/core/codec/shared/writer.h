/*
** writer.h: the request's body as a renderer writes it, for all formats: fields in the order they are written, what the
** caller adds, and what blocks of the history say.
** Owns nothing; scratch lies in the request's arena. Once something failed nothing more is written and the err says
** what, so that a renderer looks at `failed` at the end alone.
*/
#ifndef KOINE_CODEC_SHARED_WRITER_H
#define KOINE_CODEC_SHARED_WRITER_H

#include "core/codec/codec.h"

#pragma GCC visibility push(hidden)

#define FIELDS_MAX 24  /* top-level fields that a renderer writes */
#define RAW_DEPTH 512  /* of provider_data.raw, which was within the limits when it came */

/* Formats keep what is their own beside it. */
struct writer {
  struct render *r;
  struct err *e;
  int failed, begun, n;           /* begun: a top-level member was written */
  int no_media;                   /* the messages were looked through, and have neither images nor documents */
  const char *fields[FIELDS_MAX]; /* top-level keys so far */
};

/* {{{ values */

/* Notes that memory is out, unless something failed before. */
void writer_memory(struct writer *w);
/* JSON text as it is: n bytes, or up to its NUL (inline: the length of a literal is known then). */
void writer_add(struct writer *w, const char *json, size_t n);
static inline void writer_json(struct writer *w, const char *json) { writer_add(w, json, strlen(json)); }
/* The same for text of any kind: what is no UTF-8 in it is repaired. */
void writer_text(struct writer *w, struct str json);
/* A JSON string. */
void writer_string(struct writer *w, struct str s);
void writer_word(struct writer *w, const char *s);
void writer_int(struct writer *w, int64_t i);
/* A free-form value: members sorted. */
void writer_sorted(struct writer *w, const struct node *v);
/* A value that came from the provider: members in the order they came in. */
void writer_kept(struct writer *w, const struct node *v);
/* A JSON Schema with its properties in its own order (core/json/schema.h); ordering: that is said as propertyOrdering, too. */
void writer_schema(struct writer *w, const struct node *schema, int ordering);
/* ,"key": */
void writer_member(struct writer *w, struct str key);
/* A segment of the path, percent-encoded; `option` says it. One that a client folds, "." or "..", is an argument error:
** the request would leave the API's path. */
void writer_path(struct writer *w, const char *option, struct str segment);

/* }}} */

/* {{{ fields */

/* A member of the request, by its name in codec.h; NULL where there is none. */
static inline struct node *writer_given(const struct writer *w, const char *name) {
  return node_get_(w->r->request, name, strlen(name));
}

/* Begins a top-level field and remembers it for `extra`. */
void writer_field(struct writer *w, const char *name);
void writer_field_word(struct writer *w, const char *name, const char *word);
/* A warning about an option: it cannot be sent; it was changed; of another code. */
void writer_warn(struct writer *w, const char *name, const char *message);
void writer_adjusted(struct writer *w, const char *name, const char *message);
void writer_warn_as(struct writer *w, const char *code, const char *name, const char *message);
/* The warning extra_ignored: the request has this member of `extra`, or of the object `in` there (NULL: none), already. */
void writer_ignored(struct writer *w, const char *in, struct str name);
/* Returns the number of alternatives to each token whose likelihood is wanted; -1: not even the token's is, or it cannot
** be asked for: then a warning. */
int writer_logprobs(struct writer *w);
/* Takes extra.parallel_tool_calls out, for which the wire has no field; warns where the calls of tools were to come singly. */
void writer_no_parallel(struct writer *w, const char *message);
/* The member of an object with the smallest key above that of `last` (NULL = any), or NULL. */
const struct node *writer_next_extra(const struct node *extra, const struct node *last);
/* Takes the object `name` out of what the caller adds, and writes its members, sorted, into an object that has members
** already; warns for one called `own` or `own_too` (NULL = none). Anything but an object stays. */
void writer_extra_members(struct writer *w, const char *name, const char *own, const char *own_too);
/* Writes the fields that the caller adds, sorted, never over a field that was written, nor over the history that is
** `last`: then a warning. */
void writer_extra(struct writer *w, const char *last);

/* }}} */

/* {{{ blocks */

/* The first child; NULL of nothing. */
static inline const struct node *children(const struct node *v) { return v == NULL ? NULL : v->child; }

/* The type of a block. */
#define is_type(block, literal) str_eq(node_str(node_get(block, "type")), literal)

/* True for a block that is an image or a document. */
static inline int is_media(const struct node *b) { return is_type(b, "image") || is_type(b, "document"); }

/* provider_data.raw as an object, or NULL: none, or no JSON. N13 left it only where it came from. */
const struct node *writer_raw(struct writer *w, const struct node *block);
enum say { SAY_TEXT, SAY_THINKING };
/* Returns the text that one block has for a reader, or of the model's thinking; empty when nothing. */
struct str writer_said(const struct node *block, enum say what);
/* Returns such texts of the blocks, joined; empty when nothing. Borrowed where one block says it all. */
struct str writer_joined(struct writer *w, const struct node *content, enum say what, const char *between);
/* A medium's source as a URL: as it is, or base64 data as a data: URL. */
void writer_url(struct writer *w, const struct node *block);
/* Judges an image or a document; path names it as the caller knows it. 0, or -1 and w->e. */
typedef int (*media_check)(struct writer *w, const struct node *block, const char *path, void *context);
/* Calls check for the media of the messages, those of tool results too, up to the first that it refuses. Called before
** anything is moved: paths are the caller's. 0 or -1. */
int writer_each_media(struct writer *w, media_check check, void *context);
/* The abilities of a format with a document: take it as an http URL; be asked to cite it. */
enum { MEDIA_FILE_URLS = 1, MEDIA_CITATIONS = 2 };
/* Media that the dialect cannot carry are an argument error, never dropped (N17). `can`: MEDIA_*.
** Called before anything is moved. 0 or -1. */
int writer_check_media(struct writer *w, unsigned can);
/* Drops the blocks of the messages that the format could only refuse. */
void writer_drop(struct writer *w, int (*is_unsendable)(struct writer *w, const struct node *block));

/* }}} */

#pragma GCC visibility pop

#endif
