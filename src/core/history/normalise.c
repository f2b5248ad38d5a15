/*
** normalise.c: a history made legal for one wire (N1, N3, N13 here; pairs, ids and merging in their own files), and the
** system prompt (N12). Works in place on the caller's private tree; new nodes lie in the arena.
** Failure: -1 and an err, the tree then half done and good for nothing.
*/
#include <stdio.h>

#include "rules.h"

/* {{{ N1: content is an array of blocks */

/* An array of one text block, or of none for an empty text. NULL when out of memory. */
static struct node *text_blocks(struct arena *a, struct str text) {
  struct node *list = node_new(a, NODE_ARRAY), *block;
  if (list == NULL || text.n == 0) return list;
  block = node_new(a, NODE_OBJECT);
  if (block == NULL || node_set(block, STR("type"), node_string(a, STR("text"))) != 0 ||
      node_set(block, STR("text"), node_string(a, text)) != 0)
    return NULL;
  rules_append(list, block);
  return list;
}

/* The text of a boolean or a number. p is NULL when out of memory. */
static struct str scalar_text(struct arena *a, const struct node *v) {
  struct buf b;
  struct err e;
  struct str s;
  err_clear(&e);
  buf_init(&b, a->m);
  s = json_write(&b, v, &e) == 0 ? arena_dup(a, buf_str(&b)) : STR_NONE;
  buf_free(&b);
  return s;
}

/* An empty table says nothing about being an array: where an array belongs it is an empty one. */
static void empty_array(struct node *v) {
  if (node_is(v, NODE_OBJECT) && v->count == 0) v->type = NODE_ARRAY;
}

/* Content as an array, set in the message. NULL when out of memory. */
static struct node *content_blocks(struct arena *a, struct node *message) {
  struct node *content = content_of(message), *list;
  struct str text = node_str(content);
  empty_array(content);
  if (node_is(content, NODE_ARRAY)) return content;
  if (content != NULL && content->type != NODE_STRING && content->type != NODE_NULL && content->type != NODE_OBJECT) {
    text = scalar_text(a, content);
    if (text.p == NULL) return NULL;
  }
  list = text_blocks(a, text);
  return list != NULL && node_set(message, STR("content"), list) == 0 ? list : NULL;
}

/* }}} */

/* {{{ N13, N3: blocks that cannot go out */

int normalise_is_own(const struct node *provider_data, const struct origin *from) {
  const struct node *wire = node_get(provider_data, "wire");
  return node_is(provider_data, NODE_OBJECT) &&
         str_same(node_str(node_get(provider_data, "provider")), from->provider) &&
         str_same(node_str(node_get(provider_data, "model")), from->model) &&
         (wire == NULL || wire->type == NODE_NULL || str_same(node_str(wire), from->wire));
}

/*
** N13: whether the block may be replayed on this wire. A block that says something without its foreign origin's data
** loses only that. Where thinking is signed, thinking that lost its signature (a broken stream) is refused.
*/
static int replayable(struct node *block, const struct norm *n) {
  struct node *origin = node_get(block, "provider_data");
  int mine = normalise_is_own(origin, &n->origin);
  int stray = !node_is(origin, NODE_OBJECT);
  struct str type = type_of(block);
  if (str_eq(type, "opaque")) return mine;
  if (str_eq(type, "redacted_thinking")) return mine || (stray && n->signed_thinking);
  if (str_eq(type, "thinking")) {
    int is_signed = node_str(node_get(block, "signature")).n > 0 || (mine && node_get(origin, "raw") != NULL);
    return n->signed_thinking ? (mine || stray) && is_signed : mine;
  }
  if (origin != NULL && !mine) node_remove(block, origin);
  return 1;
}

/* N3: a text without text. */
static int empty_text(const struct node *block, const struct norm *n) {
  struct str s, type = type_of(block);
  if (!str_eq(type, "text") && !str_eq(type, "refusal")) return 0;
  s = node_str(node_get(block, "text"));
  if (s.n == 0 && n->keep_signed_text && node_get(node_get(block, "provider_data"), "raw") != NULL) return 0;
  return s.n == 0 || (n->drop_blank_text && rules_blank(s));
}

static void drop_blocks(struct node *content, const struct norm *n) {
  struct node *block, *next, *before = NULL;
  for (block = content->child; block != NULL; block = next) {
    next = block->next;
    if (!replayable(block, n) || empty_text(block, n)) {
      node_remove_after(content, before);
      continue;
    }
    before = block;
    if (is_block(block, "tool_result")) {
      struct node *inner = content_of(block);
      empty_array(inner);
      if (node_is(inner, NODE_ARRAY)) drop_blocks(inner, n);
    }
  }
}

/* }}} */

/* {{{ the history */

/* The messages as an array, each with blocks that can go out; those without any are dropped. */
static int history_open(struct history *h, struct arena *a, struct node *messages, const struct norm *n) {
  struct node *m = messages->child;
  *h = (struct history){ .a = a };
  h->message = arena_alloc(a, (messages->count + 1) * sizeof *h->message);
  if (h->message == NULL) return -1;
  for (; m != NULL; m = m->next) {
    struct node *content;
    if (!node_is(m, NODE_OBJECT)) continue;
    content = content_blocks(a, m);
    if (content == NULL) return -1;
    drop_blocks(content, n);
    if (content->count > 0) h->message[h->n++] = m;
  }
  return 0;
}

static void history_close(struct history *h, struct node *messages) {
  messages->type = NODE_ARRAY;
  messages->child = messages->last = NULL;
  messages->count = 0;
  for (size_t i = 0; i < h->n; i++)
    if (h->message[i] != NULL) rules_append(messages, h->message[i]);
}

/* White space at the very end of a trailing assistant message is refused where blank text is. */
static void trim_end(struct node *messages) {
  struct node *block, *text;
  if (!is_assistant(messages->last)) return;
  block = content_of(messages->last)->last;
  text = is_block(block, "text") ? node_get(block, "text") : NULL;
  if (text == NULL || rules_blank(text->s)) return;
  while (rules_blank((struct str){ text->s.p + text->s.n - 1, 1 })) text->s.n--;
}

/* }}} */

int normalise_messages(struct arena *a, struct node *request, const struct norm *n, struct err *e) {
  struct node *messages = node_get(request, "messages");
  struct history h;
  if (messages == NULL) return err_argument(e, "messages", "array of messages", "nothing");
  if (history_open(&h, a, messages, n) != 0 || rules_pair(&h, n) != 0 || rules_ids(&h, n) != 0 ||
      rules_merge(&h, n) != 0)
    return err_memory(e);
  history_close(&h, messages);
  if (messages->count == 0) return err_argument(e, "messages", "a message with content (results without their calls are not sent)", "nothing to send");
  if (n->drop_blank_text) trim_end(messages);
  return 0;
}

int normalise_system(struct arena *a, const struct node *request, struct node **system, struct err *e) {
  const struct node *given = node_get(request, "system"), *block;
  struct node *list = text_blocks(a, node_str(given));
  *system = NULL;
  if (list == NULL) return err_memory(e);
  for (block = node_is(given, NODE_ARRAY) ? given->child : NULL; block != NULL; block = block->next) {
    struct node *copy = node_copy(a, block);
    if (copy == NULL) return err_memory(e);
    rules_append(list, copy);
  }
  for (struct node *b = list->child, *next, *before = NULL; b != NULL; b = next) {
    next = b->next;
    if (rules_blank(node_str(node_get(b, "text")))) node_remove_after(list, before);
    else before = b;
  }
  if (list->count > 0) *system = list;
  return 0;
}
