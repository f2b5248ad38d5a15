/*
** history.c: the history as Bedrock and the model's family want it: what they refuse is left out before the rules put
** messages in order; afterwards documents, text and images move to where they may stand beside tool results.
** In place, on the request's private tree; new nodes lie in its arena. Failure: -1 and an err.
*/
#include "bedrock.h"
#include "core/history/rules.h"

static struct node *new_text(struct arena *a, struct str text) {
  struct node *b = node_new(a, NODE_OBJECT);
  if (b == NULL || node_set(b, STR("type"), node_string(a, STR("text"))) != 0 ||
      node_set(b, STR("text"), node_string(a, text)) != 0)
    return NULL;
  return b;
}

/* {{{ before */

/* True for blocks that the model refuses or that hold nothing to send. */
static int is_unsendable(struct writer *w, const struct node *b) {
  const struct quirks *q = w->r->quirks;
  if (is_type(b, "opaque")) return writer_raw(w, b) == NULL;
  if (!is_type(b, "thinking") && !is_type(b, "redacted_thinking")) return 0;
  if (!(bedrock_family(q) & CAN_REASON)) return 1;
  return is_type(b, "thinking") && is_family(q, "claude") && node_str(node_get(b, "signature")).n == 0;
}

int bedrock_prepare(struct writer *w) {
  if (writer_each_media(w, bedrock_check_media, NULL) != 0) return -1;
  writer_drop(w, is_unsendable);
  return w->failed ? -1 : 0;
}

/* }}} */

/* {{{ beside tool results */

/* A result's content as an array; NULL: memory. */
static struct node *content_array(struct arena *a, struct node *result) {
  struct node *content = node_get(result, "content"), *list;
  struct str text = node_str(content);
  if (node_is(content, NODE_ARRAY)) return content;
  if ((list = node_new(a, NODE_ARRAY)) == NULL) return NULL;
  if (text.n > 0 && node_add(list, new_text(a, text)) != 0) return NULL;
  return node_set(result, STR("content"), list) == 0 ? list : NULL;
}

/* Moves the blocks of `from` that it is true of to the end of `to`, in their order. Returns how many. */
static int move(const struct quirks *q, struct node *from, struct node *to,
                int (*moves)(const struct quirks *q, const struct node *b)) {
  struct node *b = from->child, *next;
  int n = 0;
  from->child = from->last = NULL;
  from->count = 0;
  for (; b != NULL; b = next) {
    int leaves = moves(q, b);
    next = b->next;
    n += leaves;
    rules_append(leaves ? to : from, b);
  }
  return n;
}

static int is_image(const struct quirks *q, const struct node *b) {
  (void)q;
  return is_type(b, "image");
}

/* Takes the images out of the results, behind which they stand then. Returns how many. */
static int take_images_out(const struct quirks *q, struct node *content) {
  int images = 0;
  for (struct node *b = content->child; b != NULL; b = b->next) {
    struct node *inner = is_type(b, "tool_result") ? node_get(b, "content") : NULL;
    if (node_is(inner, NODE_ARRAY)) images += move(q, inner, content, is_image);
  }
  return images;
}

static struct node *last_result(const struct node *content) {
  struct node *found = NULL;
  for (struct node *b = content->child; b != NULL; b = b->next)
    if (is_type(b, "tool_result")) found = b;
  return found;
}

/* True for what may not stand beside results. */
static int stands_alone(const struct quirks *q, const struct node *b) {
  int mixes = (bedrock_family(q) & CAN_MIX) != 0;
  return is_type(b, "text") ? !mixes : is_type(b, "document") && (!mixes || is_family(q, "claude"));
}

/* A document wants a text beside it. 0, or -1 (memory). */
static int accompany(struct arena *a, struct node *content) {
  int documents = 0, texts = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    documents += is_type(b, "document");
    texts += is_type(b, "text");
  }
  return documents > 0 && texts == 0 ? node_add(content, new_text(a, STR("."))) : 0;
}

/* Moves what may not stand beside results into the last one. 0, or -1 (memory). */
static int take_in(struct writer *w, struct node *content, struct node *result) {
  const struct quirks *q = w->r->quirks;
  const struct node *b = content->child;
  struct node *to;
  while (b != NULL && !stands_alone(q, b)) b = b->next;
  if (b == NULL) return 0;
  if ((to = content_array(w->r->a, result)) == NULL) return -1;
  (void)move(q, content, to, stands_alone);
  return bedrock_family(q) & CAN_MIX ? 0 : accompany(w->r->a, to);
}

static int arrange_results(struct writer *w, struct node *content, int *moved) {
  struct node *result = last_result(content);
  if (result == NULL) return 0;
  if (!(bedrock_family(w->r->quirks) & CAN_SEE_RESULTS)) *moved += take_images_out(w->r->quirks, content);
  return take_in(w, content, result);
}

/* }}} */

/* The user begins: with a word of ours where the history begins with an answer. 0, or -1 (memory). */
static int begin_with_user(struct arena *a, struct node *messages) {
  struct node *m, *content;
  if (!str_eq(node_str(node_get(messages->child, "role")), "assistant")) return 0;
  m = node_new(a, NODE_OBJECT);
  content = node_new(a, NODE_ARRAY);
  if (m == NULL || content == NULL || node_add(content, new_text(a, STR("."))) != 0 ||
      node_set(m, STR("role"), node_string(a, STR("user"))) != 0 || node_set(m, STR("content"), content) != 0)
    return -1;
  m->next = messages->child;
  messages->child = m;
  messages->count++;
  return 0;
}

int bedrock_arrange(struct writer *w) {
  struct node *messages = writer_given(w, "messages");
  struct arena *a = w->r->a;
  int moved = 0;
  for (struct node *m = messages->child; m != NULL; m = m->next) {
    struct node *content = node_get(m, "content");
    if (!str_eq(node_str(node_get(m, "role")), "user")) continue;
    if (arrange_results(w, content, &moved) != 0 || accompany(a, content) != 0) return err_memory(w->e);
  }
  if (moved > 0) writer_adjusted(w, "messages", "the model takes no images in tool results: they stand behind them");
  if (begin_with_user(a, messages) != 0 || bedrock_name_documents(a, messages) != 0) return err_memory(w->e);
  return w->failed ? -1 : 0;
}

void bedrock_lead(const struct node *messages, struct node *system) {
  struct node *content = node_get(messages->child, "content");
  if (system == NULL) return;
  system->last->next = content->child;
  if (content->child == NULL) content->last = system->last;
  content->child = system->child;
  content->count += system->count;
}

/* {{{ cache */

/* Where a marker on a document goes: no cachePoint may follow one. The text before or behind it, else nowhere. */
static void move_marker(struct node *content, struct node *document) {
  struct node *marker = node_get(document, "cache_control"), *to = NULL;
  node_remove(document, marker);
  for (struct node *b = content->child; b != NULL; b = b->next) {
    if (b == document && to != NULL) break;
    if (!is_type(b, "document") && anthropic_markable(b)) to = b;
  }
  if (to != NULL && node_get(to, "cache_control") == NULL) (void)node_set(to, STR("cache_control"), marker);
}

int bedrock_cache(struct writer *w, struct node *system) {
  if (!(bedrock_family(w->r->quirks) & CAN_CACHE)) return 0;
  if (anthropic_cache(w->r, system, w->e) != 0) return -1;
  for (const struct node *m = writer_given(w, "messages")->child; m != NULL; m = m->next) {
    struct node *content = node_get(m, "content");
    for (struct node *b = content->child; b != NULL; b = b->next)
      if (is_type(b, "document") && node_get(b, "cache_control") != NULL) move_marker(content, b);
  }
  return 0;
}

/* }}} */
