/*
** merge.c: neighbours of one role become one message: block by block (N9, N10), or their texts joined (N11).
** Joined texts lie in the history's arena. Failure: -1 (memory).
*/
#include "rules.h"

/* Moves the blocks of a message to the end of another's; with `dropping`, thinking is left behind (N10). */
static void move_blocks(struct node *to, struct node *from, int dropping) {
  struct node *b = from->child, *next;
  for (; b != NULL; b = next) {
    next = b->next;
    if (!dropping || !is_thinking(b)) rules_append(to, b);
  }
}

/* {{{ N11 */

/* A message that takes in its neighbours. */
struct joined {
  struct arena *a;
  struct node *message;
  int calls, media;    /* what it holds so far: tool calls; images or documents */
  struct node *text;   /* its last text block */
  struct buf pending;  /* the text that block will have; empty = the one it has */
};

static void look(const struct node *message, int *calls, int *media, int *others) {
  const struct node *b = content_of(message)->child;
  *calls = *media = *others = 0;
  for (; b != NULL; b = b->next) {
    if (is_block(b, "tool_use")) *calls = 1;
    else if (!is_thinking(b)) *others = 1;
    if (is_block(b, "image") || is_block(b, "document")) *media = 1;
  }
}

static struct node *last_text(const struct node *content) {
  struct node *b = content->child, *found = NULL;
  for (; b != NULL; b = b->next)
    if (is_block(b, "text")) found = b;
  return found;
}

static struct node *first_text(const struct node *content) {
  struct node *b = content->child;
  while (b != NULL && !is_block(b, "text")) b = b->next;
  return b;
}

/* Gives the block the text that is pending for it. */
static int settle(struct joined *j) {
  struct str s;
  if (j->pending.n == 0) return 0;
  s = arena_dup(j->a, buf_str(&j->pending));
  j->pending.n = 0;
  return s.p == NULL ? -1 : node_set(j->text, STR("text"), node_string(j->a, s));
}

static int begin(struct joined *j, struct node *message) {
  int others;
  if (settle(j) != 0) return -1;
  j->message = message;
  look(message, &j->calls, &j->media, &others);
  j->text = last_text(content_of(message));
  return 0;
}

/* Takes in the next message of the same role: first text to last text with a blank line, unless either has media. */
static int join(struct joined *j, struct node *message, int calls, int media) {
  struct node *content = content_of(message), *text = first_text(content);
  j->calls |= calls;
  j->media |= media;
  if (text != NULL && j->text != NULL && !j->media) {
    if (j->pending.n == 0 && buf_addstr(&j->pending, node_str(node_get(j->text, "text"))) != 0) return -1;
    if (buf_adds(&j->pending, "\n\n") != 0 || buf_addstr(&j->pending, node_str(node_get(text, "text"))) != 0) return -1;
    node_remove(content, text);
  }
  text = last_text(content);
  move_blocks(content_of(j->message), content, 0);
  if (text == NULL) return 0;
  if (settle(j) != 0) return -1;
  j->text = text;
  return 0;
}

/*
** Assistant messages with calls stay apart, but a message of nothing but calls belongs to the one before it (a model
** family refuses two in a row, 2025), and what follows a call must not stand between it and its result.
*/
static int may_join(const struct joined *j, const struct node *message, int calls, int others) {
  if (j->message == NULL || is_assistant(j->message) != is_assistant(message)) return 0;
  return j->calls || !calls || !others;
}

static int merge_text(struct history *h, struct joined *j) {
  for (size_t i = 0; i < h->n; i++) {
    struct node *m = h->message[i];
    int calls, media, others;
    if (m == NULL) continue;
    look(m, &calls, &media, &others);
    if (!may_join(j, m, calls, others)) {
      if (begin(j, m) != 0) return -1;
    } else {
      if (join(j, m, calls, media) != 0) return -1;
      h->message[i] = NULL;
    }
  }
  return settle(j);
}

/* }}} */

static void merge_blocks(struct history *h, const struct norm *n) {
  struct node *last = NULL;
  for (size_t i = 0; i < h->n; i++) {
    struct node *m = h->message[i];
    if (m == NULL) continue;
    if (last == NULL || is_assistant(last) != is_assistant(m)) {
      last = m;
      continue;
    }
    move_blocks(content_of(last), content_of(m), is_assistant(m) && !n->keep_thinking);
    h->message[i] = NULL;
  }
}

int rules_merge(struct history *h, const struct norm *n) {
  if (n->merge_blocks) {
    merge_blocks(h, n);
  } else if (n->merge_text) {
    struct joined j = { .a = h->a };
    int bad;
    buf_init(&j.pending, h->a->m);
    bad = merge_text(h, &j);
    buf_free(&j.pending);
    return bad;
  }
  return 0;
}
