/*
** pairs.c: tool calls and their results (N4, N5, N8). First every result is paired with the call before it
** that it answers; then every call gets exactly one result, in the message right after its reply.
** Everything lies in the history's arena. Failure: -1 (memory).
*/
#include "rules.h"

/* {{{ who answers whom */

static int buckets_make(struct history *h) {
  size_t blocks = 0, size = 8;
  for (size_t i = 0; i < h->n; i++)
    if (is_assistant(h->message[i])) blocks += content_of(h->message[i])->count;
  while (size < 2 * blocks) size *= 2;
  h->mask = size - 1;
  h->bucket = arena_zero(h->a, size * sizeof *h->bucket);
  return h->bucket == NULL ? -1 : 0;
}

/* The calls of this id, or NULL. */
static struct tool_id *calls_of(const struct history *h, struct str id) {
  struct tool_id *k = h->bucket[rules_hash(id) & h->mask];
  while (k != NULL && !str_same(k->id, id)) k = k->next;
  return k;
}

/*
** The call that a result with this id answers, which it takes: the newest of that id, if it has no result; among calls
** without any id in one reply the first, for they are answered in order. NULL when there is none.
*/
static struct tool_call *take_waiting(const struct history *h, struct str id) {
  struct tool_id *k = calls_of(h, id);
  struct tool_call *c = k != NULL ? k->waiting : NULL;
  if (c != NULL) k->waiting = c->twin;
  return c;
}

/* True when the reply has a call of this id already: `content .. tool_calls` by hand says everything twice. */
static int said_before(const struct history *h, struct str id, size_t reply) {
  const struct tool_id *k = id.n > 0 ? calls_of(h, id) : NULL;
  return k != NULL && k->newest->reply == reply;
}

/* The entry of the id, made if need be; NULL: memory. */
static struct tool_id *id_entry(struct history *h, struct str id) {
  struct tool_id *k = calls_of(h, id), **bucket = &h->bucket[rules_hash(id) & h->mask];
  if (k != NULL || (k = arena_zero(h->a, sizeof *k)) == NULL) return k;
  k->id = id;
  k->next = *bucket;
  *bucket = k;
  return k;
}

static int call_add(struct history *h, struct node *block, struct str id, size_t at, size_t reply) {
  struct tool_call *c = arena_zero(h->a, sizeof *c);
  struct tool_id *k = id_entry(h, id);
  if (c == NULL || k == NULL) return -1;
  c->id = id;
  c->block = block;
  c->at = at;
  c->reply = reply;
  if (k->newest != NULL && k->newest->reply == reply) k->newest->twin = c;
  else k->waiting = c;
  k->newest = c;
  if (h->last == NULL) h->first = c;
  else h->last->next = c;
  h->last = c;
  h->calls++;
  return 0;
}

/* The calls of an assistant message; a call said twice in its reply is dropped, and a result, which cannot be there. */
static int take_calls(struct history *h, size_t at, size_t reply) {
  struct node *content = content_of(h->message[at]), *block, *next, *before = NULL;
  for (block = content->child; block != NULL; block = next) {
    struct str type = type_of(block);
    int is_call = str_eq(type, "tool_use");
    struct str id = is_call ? node_str(node_get(block, "id")) : STR_NONE;
    next = block->next;
    if (str_eq(type, "tool_result") || (is_call && said_before(h, id, reply))) {
      node_remove_after(content, before);
      continue;
    }
    if (is_call && call_add(h, block, id, at, reply) != 0) return -1;
    before = block;
  }
  return 0;
}

/* N4: the results of a user message; those that answer no earlier call, or one that has its answer, are dropped. */
static void take_results(struct history *h, size_t at) {
  struct node *content = content_of(h->message[at]), *block, *next, *before = NULL;
  for (block = content->child; block != NULL; block = next) {
    struct str type = type_of(block);
    int is_result = str_eq(type, "tool_result");
    struct tool_call *c = is_result ? take_waiting(h, node_str(node_get(block, "tool_use_id"))) : NULL;
    next = block->next;
    if (str_eq(type, "tool_use") || (is_result && c == NULL)) {
      node_remove_after(content, before);
      continue;
    }
    before = block;
    if (c == NULL) continue;
    c->result = block;
    c->where = at;
  }
}

static int pair(struct history *h) {
  size_t reply = 0;
  int open = 0; /* the last message kept is of reply `reply` */
  if (buckets_make(h) != 0) return -1;
  for (size_t i = 0; i < h->n; i++) {
    if (is_assistant(h->message[i])) {
      if (!open) reply++;
      open = 1;
      if (take_calls(h, i, reply) != 0) return -1;
    } else {
      take_results(h, i);
      if (content_of(h->message[i])->count > 0) open = 0;
    }
    if (content_of(h->message[i])->count == 0) h->message[i] = NULL;
  }
  return 0;
}

/* }}} */

/* {{{ every call its answer */

/* Takes a block out of its list, which keeps it, marked and not counted, until sweep. */
static void retire(struct history *h, struct node *content, struct node *block) {
  block->mark = 1;
  content->count--;
  h->retired = 1;
}

/* Takes the marked blocks out of all messages. */
static void sweep(struct history *h) {
  for (size_t i = 0; i < h->n && h->retired; i++) {
    struct node *content = h->message[i] != NULL ? content_of(h->message[i]) : NULL, *b, *next;
    if (content == NULL) continue;
    b = content->child;
    content->child = content->last = NULL;
    content->count = 0;
    for (; b != NULL; b = next) {
      next = b->next;
      if (b->mark == 0) rules_append(content, b);
    }
  }
}

/* True when the block alone is worth an assistant message. */
static int substance(const struct node *block) {
  if (block->mark != 0 || is_thinking(block)) return 0;
  return !is_block(block, "text") || !rules_blank(node_str(node_get(block, "text")));
}

/* N5: the calls c .. end (not included) go; their messages stay when they say anything else. */
static void strip(struct history *h, struct tool_call *c, const struct tool_call *end) {
  while (c != end) {
    size_t at = c->at;
    struct node *content = content_of(h->message[at]), *b;
    for (; c != end && c->at == at; c = c->next) {
      retire(h, content, c->block);
      c->block = NULL;
    }
    for (b = content->child; b != NULL && !substance(b);) b = b->next;
    if (b == NULL) h->message[at] = NULL;
  }
}

/* N5: what stands for a result that was never recorded. */
static struct node *missing_result(struct arena *a, struct str id) {
  struct node *r = node_new(a, NODE_OBJECT);
  if (r == NULL || node_set(r, STR("type"), node_string(a, STR("tool_result"))) != 0 ||
      node_set(r, STR("tool_use_id"), node_string(a, id)) != 0 ||
      node_set(r, STR("content"), node_string(a, STR("no result recorded"))) != 0 ||
      node_set(r, STR("is_error"), node_bool(a, 1)) != 0)
    return NULL;
  return r;
}

/* Puts v, which is in no list, behind `after`, or first when that is NULL. */
static void insert(struct node *list, struct node *after, struct node *v) {
  v->next = after == NULL ? list->child : after->next;
  if (after == NULL) list->child = v;
  else after->next = v;
  if (v->next == NULL) list->last = v;
  list->count++;
}

/* Makes a block the text that a model answered in the arguments of a call. 0, or -1 (memory). */
static int say(struct history *h, struct node *block) {
  struct str text = normalise_arguments(h->a, block, JSON_DEPTH_MAX);
  if (text.p == NULL) return -1;
  block->child = block->last = NULL;
  block->count = 0;
  return node_set(block, STR("type"), node_string(h->a, STR("text"))) != 0 ||
         node_set(block, STR("text"), node_string(h->a, text)) != 0 ? -1 : 0;
}

/* A call that holds the answer itself is text, unless a result was given for it. 0, or -1 (memory). */
static int say_outputs(struct history *h) {
  struct tool_call **link = &h->first, *c;
  h->last = NULL;
  while ((c = *link) != NULL) {
    if (c->result == NULL && node_is(node_get(c->block, "output"), NODE_TRUE)) {
      if (say(h, c->block) != 0) return -1;
      *link = c->next;
      h->calls--;
    } else {
      h->last = c;
      link = &c->next;
    }
  }
  return 0;
}

/* Takes the call's result out of the message it is in, which is dropped when that empties it; `to` stays. The result is
** a new node then: the old one stays in its list until sweep. 0, or -1 (memory). */
static int fetch(struct history *h, struct tool_call *c, size_t to) {
  struct node *content = content_of(h->message[c->where]), *moved = node_new(h->a, NODE_OBJECT);
  if (moved == NULL) return -1;
  *moved = *c->result;
  retire(h, content, c->result);
  if (content->count == 0 && c->where != to) h->message[c->where] = NULL;
  c->result = moved;
  return 0;
}

/* Puts the results of the calls c .. end (not included) into the message `to`; `first`: in call order, first (N8). */
static int answer(struct history *h, struct tool_call *c, const struct tool_call *end, size_t to, int first) {
  struct node *content = content_of(h->message[to]), *tail = NULL;
  for (; c != end; c = c->next) {
    int fresh = c->result == NULL;
    if (fresh) {
      c->result = missing_result(h->a, c->id);
      if (c->result == NULL) return -1;
    }
    if (!fresh && c->where == to && (!first || c->result == (tail == NULL ? content->child : tail->next))) {
      tail = c->result;
      continue;
    }
    if (!fresh && fetch(h, c, to) != 0) return -1;
    c->where = to;
    insert(content, first ? tail : content->last, c->result);
    tail = c->result;
  }
  return 0;
}

/* The first message of the user from i on, or h->n. */
static size_t reply_end(const struct history *h, size_t i) {
  while (i < h->n && (h->message[i] == NULL || is_assistant(h->message[i]))) i++;
  return i;
}

int rules_pair(struct history *h, const struct norm *n) {
  struct tool_call *c, *end;
  if (pair(h) != 0 || say_outputs(h) != 0) return -1;
  for (c = h->first; c != NULL; c = end) {
    size_t to = reply_end(h, c->at), answered = 0;
    for (end = c; end != NULL && end->at < to; end = end->next) answered += end->result != NULL;
    if (answered > 0 && answer(h, c, end, to, n->results_first) != 0) return -1;
    if (answered == 0) strip(h, c, end);
  }
  sweep(h);
  return 0;
}

/* }}} */
