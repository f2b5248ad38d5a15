/*
** rules.h: what the files of normalise share: a history being put in order. Not for other rooms.
** A history is the array of message nodes; a dropped message is a NULL in it until history_close. A REPLY is a run of
** assistant messages with no message of the user between them: its calls are answered by the first message after it.
*/
#ifndef KOINE_HISTORY_RULES_H
#define KOINE_HISTORY_RULES_H

#include "normalise.h"

#pragma GCC visibility push(hidden)

/* One tool call of the history. Calls of different replies may have the same id: each is a call of its own. */
struct tool_call {
  struct str id;        /* as the caller wrote it; empty when there is none */
  struct node *block;   /* the tool_use block; NULL once it was stripped */
  struct node *result;  /* its tool_result block, NULL = none */
  size_t at, where;     /* index of the message that holds the call, the result */
  size_t reply;
  struct tool_call *next;    /* the call that appears after it */
  struct tool_call *twin;    /* the next of its id in its reply: only calls without any id have one */
};

/* The calls of one id. */
struct tool_id {
  struct str id;
  struct tool_call *newest;
  struct tool_call *waiting; /* the first of the newest reply without a result; NULL: each has one */
  struct tool_id *next;      /* in the bucket */
};

struct history {
  struct arena *a;
  struct node **message;
  size_t n;
  struct tool_call *first, *last; /* in order of appearance */
  size_t calls;
  struct tool_id **bucket;        /* by hash of the id */
  size_t mask;
  int retired;                    /* blocks of messages are marked: they have to be taken out */
};

/* The type of a block; true when it is that one. */
static inline struct str type_of(const struct node *block) { return node_str(node_get(block, "type")); }
#define is_block(block, literal) str_eq(type_of(block), literal)

/* Of a message: whose it is, its blocks; of a block: whether it is thinking, readable or not. */
static inline int is_assistant(const struct node *message) {
  return str_eq(node_str(node_get(message, "role")), "assistant");
}
static inline struct node *content_of(const struct node *message) { return node_get(message, "content"); }
static inline int is_thinking(const struct node *b) {
  struct str type = type_of(b);
  return str_eq(type, "thinking") || str_eq(type, "redacted_thinking");
}

/* True when s holds nothing but ASCII white space. */
int rules_blank(struct str s);
/* A 64-bit hash of the bytes. */
unsigned long long rules_hash(struct str s);
/* Appends a node that is in no list. */
void rules_append(struct node *list, struct node *v);

/* N4, N5, N8: every call has exactly one result, in the message right after its reply; one that holds the answer itself
** and has none is text. 0, or -1 (memory). */
int rules_pair(struct history *h, const struct norm *n);
/* N7: every call has an id of its own that the wire accepts, and its result the same one; and a name (N18), which the
** result gets too where the wire wants it. 0, or -1 (memory). */
int rules_ids(struct history *h, const struct norm *n);
/* N9 with N10, or N11, or nothing. 0, or -1 (memory). */
int rules_merge(struct history *h, const struct norm *n);

#pragma GCC visibility pop

#endif
