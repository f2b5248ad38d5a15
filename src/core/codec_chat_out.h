/*
** codec_chat_out.h: the body that the renderer of Chat Completions is writing. Private to codec_chat.c and
** codec_chat_messages.c. May call: codec, json, mem, err. Owns nothing. Once something failed nothing more is written
** and the err says what.
*/
#ifndef KOINE_CODEC_CHAT_OUT_H
#define KOINE_CODEC_CHAT_OUT_H

#include "codec.h"

#define FIELDS_MAX 24  /* top-level fields that the renderer writes */

struct out {
  struct render *r;
  const struct quirks *q;
  struct node *request;
  struct err *e;
  int failed;
  const char *fields[FIELDS_MAX]; /* top-level keys so far */
  int n;
  size_t messages;                /* messages so far */
  int tools_used;                 /* tools are offered, or the history has calls */
};

static inline void out_memory(struct out *w) {
  if (!w->failed) err_memory(w->e);
  w->failed = 1;
}

static inline void put(struct out *w, const char *s) {
  if (!w->failed && buf_adds(w->r->body, s) != 0) out_memory(w);
}

static inline void put_string(struct out *w, struct str s) {
  if (!w->failed && json_write_string(w->r->body, s) != 0) out_memory(w);
}

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

static inline const struct node *children(const struct node *v) { return v == NULL ? NULL : v->child; }

/* The type of a block. */
#define is_type(block, literal) str_eq(node_str(node_get(block, "type")), literal)

/* {{{ codec_chat_messages.c */

/* Media that the dialect cannot carry are an argument error, never dropped (N17). Called before anything is moved:
** paths are the caller's. 0 or -1. */
int chat_check_media(struct out *w);
/* True when the message has a block of that type. */
int chat_has(const struct node *message, const char *type);
/* Writes the array of messages: the system prompt (array of text blocks, or NULL), then the normalised history. */
void chat_put_messages(struct out *w, const struct node *system);

/* }}} */

#endif
