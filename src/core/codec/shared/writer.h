/*
** writer.h: the body that a renderer of OpenAI's formats is writing, and what their requests have in common.
** Owns nothing; scratch lies in the request's arena. Once something failed nothing more is written and the err says
** what.
*/
#ifndef KOINE_CODEC_SHARED_WRITER_H
#define KOINE_CODEC_SHARED_WRITER_H

#include "core/codec/codec.h"

#pragma GCC visibility push(hidden)

#define FIELDS_MAX 24  /* top-level fields that a renderer writes */
#define RAW_DEPTH 512  /* of provider_data.raw, which was within the limits when it came */

struct out {
  struct render *r;
  const struct quirks *q;
  struct node *request;
  struct err *e;
  int failed;
  const char *fields[FIELDS_MAX]; /* top-level keys so far */
  int n;
  size_t items;                   /* elements of the history so far */
  int file_urls;                  /* Responses: a document may be an http URL */
  int cited, cites;               /* a document's citations are asked for; the wire can be asked */
  int tools_used;                 /* Chat: tools are offered, or the history has calls */
};

/* Notes that memory is out, unless something failed before. */
static inline void out_memory(struct out *w) {
  if (!w->failed) err_memory(w->e);
  w->failed = 1;
}

/* JSON text, as it is. */
static inline void put(struct out *w, const char *s) {
  if (!w->failed && buf_adds(w->r->body, s) != 0) out_memory(w);
}

/* A JSON string. */
static inline void put_string(struct out *w, struct str s) {
  if (!w->failed && json_write_string(w->r->body, s) != 0) out_memory(w);
}

/* The same, of a C string. */
static inline void put_word(struct out *w, const char *s) {
  put_string(w, (struct str){ s, strlen(s) });
}

/* Free-form values: members sorted. */
static inline void put_value(struct out *w, const struct node *v) {
  if (!w->failed && json_write_sorted(w->r->body, v, w->e) != 0) w->failed = 1;
}

/* Values that came from the provider: members in the order they came in. */
static inline void put_kept(struct out *w, const struct node *v) {
  if (!w->failed && json_write(w->r->body, v, w->e) != 0) w->failed = 1;
}

/* ,"key": */
static inline void put_key(struct out *w, struct str key) {
  put(w, ",");
  put_string(w, key);
  put(w, ":");
}

/* The first child; NULL of nothing. */
static inline const struct node *children(const struct node *v) { return v == NULL ? NULL : v->child; }

/* The type of a block. */
#define is_type(block, literal) str_eq(node_str(node_get(block, "type")), literal)

/* True for a block that is an image or a document. */
static inline int is_media(const struct node *b) { return is_type(b, "image") || is_type(b, "document"); }

/* {{{ fields */

/* Begins a top-level field. */
void out_field(struct out *w, const char *name);
void out_field_word(struct out *w, const char *name, const char *word);
/* A warning that the option cannot be sent; that it was changed. */
void out_warn(struct out *w, const char *name, const char *message);
void out_adjusted(struct out *w, const char *name, const char *message);
/* A sampling setting, where the model takes any. */
void out_number(struct out *w, const char *name);
/* How much to think, in words (a budget: the nearest one, with a warning). NULL: the model shall not. */
const char *out_effort(struct out *w, const struct node *thinking);
/* True when the model cannot be told how much to think. */
int out_no_effort(const struct out *w);
/* True where the thinking option goes to the model's chat template (the quirk effort is "template"). */
int out_templated(const struct quirks *q);
/* The object chat_template_kwargs: whether to think, and what `extra` has for it, which is written then. */
void out_template_kwargs(struct out *w, int think);
/* The thinking option (not NULL) as fields for the chat template. */
void out_template(struct out *w, const struct node *thinking);
/* metadata.user_id is `user`; the rest is `metadata`. */
void out_metadata(struct out *w);
/* The member of an object with the smallest key above that of `last` (NULL = any), or NULL. */
const struct node *out_next_extra(const struct node *extra, const struct node *last);
/* What the caller adds, sorted, never over a field that was written, nor over the history that is `last`: then a
** warning. */
void out_extra(struct out *w, const char *last);
/* A tool's name, description and parameters behind `open`; what follows them is the format's own. */
void out_function(struct out *w, const char *open, const struct node *tool);
/* `tools`, each written by put_tool, and `tool_choice`; a tool chosen by name stands between open and close. */
void out_tools(struct out *w, void (*put_tool)(struct out *w, const struct node *tool), const char *open,
               const char *close);
/* A warning for a tool_choice without tools, which normalise_tools drops: called before it. */
void out_check_choice(struct out *w);
/* Warnings for options that no format of OpenAI's has a word for. */
void out_unsupported(struct out *w);

/* }}} */

/* {{{ blocks */

/* provider_data.raw as an object, or NULL: none, or no JSON. N13 left it only where it came from. */
const struct node *out_raw(struct out *w, const struct node *block);
enum say { SAY_TEXT, SAY_THINKING };
/* What one block says to a reader, or of the model's thinking; empty when nothing. */
struct str out_said(const struct node *block, enum say what);
/* What the blocks say, joined; empty when nothing. Borrowed where one block says it all. */
struct str out_joined(struct out *w, const struct node *content, enum say what, const char *between);
/* Media that the dialect cannot carry are an argument error, never dropped (N17). Called before anything is moved:
** paths are the caller's. 0 or -1. */
int out_check_media(struct out *w);
/* A medium's source as a URL: as it is, or base64 data as a data: URL. */
void out_url(struct out *w, const struct node *block);

/* }}} */

#pragma GCC visibility pop

#endif
