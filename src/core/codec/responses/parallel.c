/*
** parallel.c: several calls in one. Some models call an undeclared tool `parallel` or
** `multi_tool_use.parallel` with {tool_uses: [{recipient_name: "functions.NAME", parameters}]} (vercel/ai 6be0f51):
** users see the calls that it holds; the history sends the one call back, its results as one.
** Owns nothing: results lie in the scratch arena, the history is changed in place. Failure: -1 and an err.
*/
#include "responses.h"
#include "core/history/normalise.h"

#include <stdio.h>

#define PREFIX "functions."

int responses_is_parallel(struct str name) {
  return str_eq(name, "parallel") || str_eq(name, "multi_tool_use.parallel");
}

/* {{{ apart */

/* The tool that an element of tool_uses calls; empty when it calls none. */
static struct str tool_of(const struct node *use) {
  struct str name = node_str(node_get(use, "recipient_name"));
  size_t n = sizeof PREFIX - 1;
  if (!str_begins(name, PREFIX) || !node_is(node_get(use, "parameters"), NODE_OBJECT)) return STR_NONE;
  return (struct str){ name.p + n, name.n - n };
}

/* The calls in the arguments, or NULL when these hold anything else. *e: KIND_MEMORY when memory ran out. */
static struct node *uses_of(struct arena *a, struct str arguments, int depth, struct err *e) {
  struct node *v, *uses;
  err_clear(e);
  v = json_tree(a, arguments, depth, e);
  uses = node_get(v, "tool_uses");
  if (!node_is(uses, NODE_ARRAY) || uses->count == 0 || v->count != 1) return NULL;
  for (const struct node *u = uses->child; u != NULL; u = u->next)
    if (tool_of(u).n == 0) return NULL;
  return uses;
}

/* {"parallel": CALL_ID, "item": ITEM}, the latter with the first call only. p NULL when out of memory. */
static struct str origin(struct responses *s, struct str call_id, struct str item) {
  struct buf b;
  struct str raw;
  int bad;
  buf_init(&b, s->p->m);
  bad = buf_adds(&b, "{\"parallel\":") != 0 || json_write_string(&b, call_id) != 0;
  if (item.n > 0) bad = bad || buf_adds(&b, ",\"item\":") != 0 || buf_addstr(&b, item) != 0;
  bad = bad || buf_addc(&b, '}') != 0;
  raw = bad ? STR_NONE : arena_dup(s->p->a, buf_str(&b));
  buf_free(&b);
  return raw;
}

/* The id of the n-th call in a call; p NULL when out of memory. Without an id of the whole they are made up later. */
static struct str id_of(struct responses *s, struct str call_id, int n) {
  char *p = arena_alloc(s->p->a, call_id.n + 16);
  if (p == NULL || call_id.n == 0) return (struct str){ p, 0 };
  memcpy(p, call_id.p, call_id.n);
  return (struct str){ p, call_id.n + (size_t)snprintf(p + call_id.n, 16, "_%d", n) };
}

/* The JSON of v in the arena; p NULL when out of memory. */
static struct str text_of(struct responses *s, const struct node *v) {
  struct buf b;
  struct str text;
  buf_init(&b, s->p->m);
  text = json_write(&b, v, s->e) == 0 ? arena_dup(s->p->a, buf_str(&b)) : STR_NONE;
  buf_free(&b);
  return text;
}

int responses_expand(struct responses *s, struct str call_id, struct str arguments, struct str item) {
  struct err scratch;
  const struct node *uses = uses_of(s->p->a, arguments, s->p->limits->depth, &scratch);
  int n = 0;
  if (uses == NULL) return scratch.kind == KIND_MEMORY ? err_memory(s->e) : 0;
  for (const struct node *u = uses->child; u != NULL; u = u->next) {
    struct str id = id_of(s, call_id, ++n), raw = origin(s, call_id, n == 1 ? item : STR_NONE);
    struct str text = text_of(s, node_get(u, "parameters"));
    int32_t key = s->next_key++;
    struct event *ev;
    if (id.p == NULL || raw.p == NULL || text.p == NULL) return err_memory(s->e);
    if ((ev = responses_push(s, PART_TOOL, key, STR_NONE)) == NULL) return -1;
    ev->id = id;
    ev->name = tool_of(u);
    if (responses_push(s, PART_ARGS, key, text) == NULL) return -1;
    if (call_id.n > 0 && item.n > 0 && responses_push(s, PART_RAW, key, raw) == NULL) return -1;
    if (responses_push(s, PART_END, key, STR_NONE) == NULL) return -1;
  }
  return 1;
}

/* }}} */

/* {{{ together */

/* Returns the data kept with a call that came out of another one, from where the request goes; else NULL. */
static const struct node *kept(struct writer *w, const struct origin *here, const struct node *block) {
  const struct node *data = node_get(block, "provider_data");
  if (!is_type(block, "tool_use") || !str_begins(node_str(node_get(data, "raw")), "{\"parallel\":")) return NULL;
  return normalise_is_own(data, here) ? writer_raw(w, block) : NULL;
}

/* The last of the calls that begin with `first` and are still those of `uses`, or NULL: one was changed, or is gone. */
static struct node *last_of(struct writer *w, const struct origin *here, struct node *first, const struct node *uses,
                            struct str call_id) {
  struct node *b = first, *last = NULL;
  for (const struct node *u = uses->child; u != NULL; u = u->next, b = b->next) {
    if (b == NULL || !str_same(node_str(node_get(kept(w, here, b), "parallel")), call_id)) return NULL;
    if (!str_same(node_str(node_get(b, "name")), tool_of(u))) return NULL;
    if (!node_equal_sorted(w->r->a->m, node_get(b, "arguments"), node_get(u, "parameters"))) return NULL;
    last = b;
  }
  return last;
}

/* The results that answer a message's calls, sorted by id, equal ones in their order: each is a node with the id as its key,
** the result as its child. Of equal ones the first counts in u.i how many were taken. */
struct results {
  struct node **v;
  size_t n;
  int taken_out; /* results are marked: they have to be taken out */
};

/* Counts the results in the messages behind this one, up to the assistant's next; v not NULL: lists them, too. 0 or -1. */
static int each_result(struct arena *a, const struct node *message, struct results *t) {
  t->n = 0;
  for (struct node *m = message->next; m != NULL && !str_eq(node_str(node_get(m, "role")), "assistant"); m = m->next) {
    const struct node *content = node_get(m, "content");
    for (struct node *b = node_is(content, NODE_ARRAY) ? content->child : NULL; b != NULL; b = b->next) {
      struct node *entry;
      if (!is_type(b, "tool_result")) continue;
      if (t->v != NULL) {
        if ((entry = node_new(a, NODE_INT)) == NULL) return -1;
        entry->key = node_str(node_get(b, "tool_use_id"));
        entry->child = b;
        t->v[t->n] = entry;
      }
      t->n++;
    }
  }
  return 0;
}

static int results_list(struct arena *a, const struct node *message, struct results *t) {
  *t = (struct results){ .v = NULL };
  if (each_result(a, message, t) != 0) return -1;
  if ((t->v = arena_alloc(a, (2 * t->n + 1) * sizeof *t->v)) == NULL || each_result(a, message, t) != 0) return -1;
  node_sort(t->v, t->v + t->n, t->n);
  return 0;
}

/* Less than, equal to or greater than 0, as node_sort has keys. */
static int compare(struct str a, struct str b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int c = n == 0 ? 0 : memcmp(a.p, b.p, n);
  return c != 0 ? c : a.n < b.n ? -1 : a.n > b.n;
}

/* The first result with that id that was not taken yet, or NULL. */
static struct node *take_result(struct results *t, struct str id) {
  size_t low = 0, high = t->n, at;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare(t->v[middle]->key, id) < 0) low = middle + 1;
    else high = middle;
  }
  if (low == t->n || !str_same(t->v[low]->key, id)) return NULL;
  at = low + (size_t)t->v[low]->u.i;
  if (at >= t->n || !str_same(t->v[at]->key, id)) return NULL;
  t->v[low]->u.i++;
  return t->v[at]->child;
}

/* Takes the marked results out of the messages behind this one. */
static void take_out(const struct results *t, const struct node *message) {
  for (struct node *m = message->next; m != NULL && t->taken_out; m = m->next) {
    struct node *content = node_get(m, "content"), *before = NULL, *next;
    if (str_eq(node_str(node_get(m, "role")), "assistant")) break;
    for (struct node *b = node_is(content, NODE_ARRAY) ? content->child : NULL; b != NULL; b = next) {
      next = b->next;
      if (b->mark != 0) node_remove_after(content, before);
      else before = b;
    }
  }
}

/* Appends a text block. 0 or -1. */
static int add_text(struct arena *a, struct node *list, struct str text) {
  struct node *block = node_new(a, NODE_OBJECT);
  if (node_set(block, STR("type"), node_string(a, STR("text"))) != 0) return -1;
  return node_set(block, STR("text"), node_string(a, text)) != 0 ? -1 : node_add(list, block);
}

/* Moves what a result says to the end of a list. 0 or -1. */
static int move_content(struct arena *a, struct node *result, struct node *list) {
  struct node *content = node_get(result, "content");
  int failed = node_is(node_get(result, "is_error"), NODE_TRUE);
  if (node_is(content, NODE_ARRAY)) {
    if (failed && add_text(a, list, normalise_error_text(a, STR_NONE)) != 0) return -1;
    for (struct node *b = content->child, *next; b != NULL; b = next) {
      next = b->next;
      node_remove_after(content, NULL);
      if (node_add(list, b) != 0) return -1;
    }
    return 0;
  }
  return add_text(a, list, failed ? normalise_error_text(a, node_str(content)) : node_str(content));
}

/* Makes one result of those of the calls from `first` to `last`. 0 or -1 (memory). */
static int join_results(struct writer *w, struct results *results, struct node *first, struct node *last,
                        struct str call_id) {
  struct node *list = node_new(w->r->a, NODE_ARRAY), *into = NULL;
  if (list == NULL) return -1;
  for (struct node *b = first; b != last->next; b = b->next) {
    struct node *r = take_result(results, node_str(node_get(b, "id")));
    if (r == NULL) continue;
    if (move_content(w->r->a, r, list) != 0) return -1;
    if (into == NULL) into = r;
    else r->mark = 1, results->taken_out = 1;
  }
  if (into == NULL) return 0;
  if (node_get(into, "is_error") != NULL) node_remove(into, node_get(into, "is_error"));
  if (node_set(into, STR("tool_use_id"), node_string(w->r->a, call_id)) != 0) return -1;
  return node_set(into, STR("content"), list);
}

/* Makes one call of those that begin with `first`, where they are still as they came. 0 or -1 (memory). */
static int join_calls(struct writer *w, const struct origin *here, struct node *message, struct node *first,
                      const struct node *raw, struct results *results) {
  struct arena *a = w->r->a;
  const struct node *item = node_get(raw, "item");
  struct node *content = node_get(message, "content"), *data = node_get(first, "provider_data"), *arguments, *last;
  const struct node *after;
  struct str call_id = node_str(node_get(raw, "parallel")), json = node_str(node_get(item, "arguments"));
  struct err scratch;
  const struct node *uses = uses_of(a, json, RAW_DEPTH, &scratch);
  if (uses == NULL) return scratch.kind == KIND_MEMORY ? -1 : 0;
  if (call_id.n == 0 || (last = last_of(w, here, first, uses, call_id)) == NULL) return 0;
  if (results->v == NULL && results_list(a, message, results) != 0) return -1;
  if (join_results(w, results, first, last, call_id) != 0) return -1;
  after = last->next;
  while (first->next != after) node_remove_after(content, first);
  if ((arguments = json_tree(a, json, RAW_DEPTH, &scratch)) == NULL) return -1;
  if (node_set(first, STR("id"), node_string(a, call_id)) != 0 ||
      node_set(first, STR("name"), node_string(a, node_str(node_get(item, "name")))) != 0 ||
      node_set(first, STR("arguments"), arguments) != 0 ||
      node_set(first, STR("arguments_json"), node_string(a, json)) != 0) return -1;
  return node_set(data, STR("raw"), node_copy(a, item));
}

int responses_collapse(struct writer *w, const struct origin *here) {
  for (struct node *m = writer_given(w, "messages")->child; m != NULL; m = m->next) {
    struct node *content = node_get(m, "content");
    struct results results = { .v = NULL };
    if (!node_is(content, NODE_ARRAY)) continue;
    for (struct node *b = content->child; b != NULL; b = b->next) {
      const struct node *raw = kept(w, here, b);
      if (node_is(node_get(raw, "item"), NODE_OBJECT) && join_calls(w, here, m, b, raw, &results) != 0)
        return err_memory(w->e);
    }
    take_out(&results, m);
  }
  return 0;
}

/* }}} */
