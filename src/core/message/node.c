/*
** node.c: the message as a tree, at its end. The tree borrows from the message and lies in the caller's arena.
** Fails with NULL: out of memory.
*/
#include "block.h"

static void set(struct arena *a, struct node *o, struct str key, struct str s, int *bad) {
  if (node_set(o, key, node_string(a, s)) != 0) *bad = 1;
}

/* {provider, model, wire, raw?} where the block must go back to where it came from. */
static void set_origin(struct message *msg, struct arena *a, struct node *o, struct str raw, int *bad) {
  struct node *d = node_new(a, NODE_OBJECT);
  if (d == NULL) { *bad = 1; return; }
  set(a, d, STR("provider"), msg->origin.provider, bad);
  set(a, d, STR("model"), msg->origin.model, bad);
  set(a, d, STR("wire"), msg->origin.wire, bad);
  if (raw.n > 0) set(a, d, STR("raw"), raw, bad);
  if (node_set(o, STR("provider_data"), d) != 0) *bad = 1;
}

/* The container: a field of the message, and with the origin of one of its blocks, so that it goes back with the
** message: the first that only its provider can read, which is what ran there, else the last. */
static void set_container(struct message *msg, struct arena *a, struct node *o, struct node *content, int *bad) {
  struct node *container, *at = content->last;
  struct err scratch;
  if (msg->container.n == 0) return;
  container = json_tree(a, buf_str(&msg->container), msg->limits->depth, &scratch);
  if (container == NULL || node_set(o, STR("container"), container) != 0) { *bad = 1; return; }
  for (struct node *b = content->child; b != NULL; b = b->next)
    if (str_eq(node_str(node_get(b, "type")), "opaque")) { at = b; break; }
  if (at == NULL) return;
  if (node_get(at, "provider_data") == NULL) set_origin(msg, a, at, STR_NONE, bad);
  if (!*bad && node_set(node_get(at, "provider_data"), STR("container"), node_copy(a, container)) != 0) *bad = 1;
}

static void set_tool(struct message *msg, struct arena *a, struct node *o, const struct block *b, int partial,
                     size_t *values, int *bad) {
  struct node *arguments;
  struct str json;
  const char *problem;
  set(a, o, STR("id"), buf_str(&b->id), bad);
  set(a, o, STR("name"), buf_str(&b->name), bad);
  if (normalise_read_arguments_within(a, buf_str(&b->text), msg->limits->depth, values, &arguments, &json,
                                      &problem) != 0) {
    *bad = 1;
    return;
  }
  if (partial && !b->ended && problem == NULL) problem = "the answer broke off before the call was complete";
  if (node_set(o, STR("arguments"), arguments) != 0) *bad = 1;
  set(a, o, STR("arguments_json"), json, bad);
  if (problem != NULL) set(a, o, STR("arguments_error"), (struct str){ problem, strlen(problem) }, bad);
  if (is_output(msg, b) && node_set(o, STR("output"), node_bool(a, 1)) != 0) *bad = 1;
}

/* The block as a node; NULL when it holds nothing worth keeping or memory ran out (*bad). */
static struct node *block_node(struct message *msg, struct arena *a, const struct block *b, int partial,
                               size_t *values, int *bad) {
  const char *type = block_form(b->type)->name;
  struct str text = buf_str(&b->text), raw = buf_str(&b->raw);
  struct node *o;
  if (b->type == BLOCK_TOOL ? !b->started : text.n == 0 && b->signature.n == 0 && raw.n == 0) return NULL;
  o = node_new(a, NODE_OBJECT);
  if (o == NULL) { *bad = 1; return NULL; }
  set(a, o, STR("type"), (struct str){ type, strlen(type) }, bad);
  switch (b->type) {
    case BLOCK_TEXT: set(a, o, STR("text"), text, bad); break;
    case BLOCK_REFUSAL: set(a, o, STR("text"), text, bad); break;
    case BLOCK_TOOL: set_tool(msg, a, o, b, partial, values, bad); break;
    case BLOCK_REDACTED: set(a, o, STR("data"), text, bad); break;
    case BLOCK_OPAQUE: set(a, o, STR("kind"), buf_str(&b->name), bad); raw = text; break;
    case BLOCK_THINKING:
      set(a, o, STR("thinking"), text, bad);
      if (b->signature.n > 0) set(a, o, STR("signature"), buf_str(&b->signature), bad);
      break;
    default: break;
  }
  if (raw.n > 0 || b->type == BLOCK_REDACTED || b->type == BLOCK_THINKING) set_origin(msg, a, o, raw, bad);
  return o;
}

static void set_count(struct arena *a, struct node *o, struct str key, int64_t v, int *bad) {
  if (v >= 0 && node_set(o, key, node_int(a, v)) != 0) *bad = 1;
}

/* Sets the cost of the answer where the provider says it, else why its counts alone do not tell. */
static void set_cost(const struct usage *u, struct arena *a, struct node *o, int *bad) {
  const char *why = u->unpriced;
  struct node *cost;
  if (u->cost >= 0) {
    cost = node_new(a, NODE_OBJECT);
    if (cost == NULL || node_set(cost, STR("total"), node_double(a, u->cost)) != 0 ||
        node_set(o, STR("cost"), cost) != 0) *bad = 1;
    set(a, o, STR("cost_source"), STR("provider"), bad);
    return;
  }
  if (why == NULL && u->cache_creation > 0 && u->cache_hour < 0) why = "cache_lifetime";
  if (why != NULL) set(a, o, STR("unpriced"), (struct str){ why, strlen(why) }, bad);
}

static struct node *usage_node(const struct usage *u, struct arena *a, int *bad) {
  struct node *o = node_new(a, NODE_OBJECT);
  if (o == NULL) { *bad = 1; return NULL; }
  set_count(a, o, STR("input_tokens"), u->input, bad);
  set_count(a, o, STR("output_tokens"), u->output, bad);
  set_count(a, o, STR("cache_read_tokens"), u->cache_read, bad);
  set_count(a, o, STR("cache_creation_tokens"), u->cache_creation, bad);
  set_count(a, o, STR("reasoning_tokens"), u->reasoning, bad);
  if (u->cache_hour > 0) set_count(a, o, STR("cache_creation_1h_tokens"), u->cache_hour, bad);
  set_cost(u, a, o, bad);
  return o;
}

/* The NUL-separated triples as an array of {code, field, message}. */
static struct node *warnings_node(const struct message *msg, struct arena *a, int *bad) {
  static const struct str KEY[] = { { "code", 4 }, { "field", 5 }, { "message", 7 } };
  struct node *list = node_new(a, NODE_ARRAY);
  const char *p = msg->warnings.p;
  for (size_t i = 0; i < msg->warning_count && list != NULL; i++) {
    struct node *w = node_new(a, NODE_OBJECT);
    for (int k = 0; k < 3; k++) {
      struct str s = { p, strlen(p) };
      if (w != NULL && (k != 1 || s.n > 0)) set(a, w, KEY[k], s, bad);
      p += s.n + 1;
    }
    if (node_add(list, w) != 0) *bad = 1;
  }
  if (list == NULL) *bad = 1;
  return list;
}

/* True when the message says nothing that a caller could show or act on. */
static int degenerate(const struct message *msg) {
  for (size_t i = 0; i < msg->n; i++) {
    const struct block *b = &msg->blocks[i];
    if (b->type == BLOCK_TOOL || b->type == BLOCK_OPAQUE) return 0;
    if ((b->type == BLOCK_TEXT || b->type == BLOCK_REFUSAL) && b->text.n > 0) return 0;
  }
  return 1;
}

static void set_logprobs(const struct message *msg, struct arena *a, struct node *o, int *bad) {
  struct node *list = msg->logprobs.n > 0 ? logprobs_node(msg, a) : NULL;
  if (msg->logprobs.n > 0 && list == NULL) *bad = 1;
  if (list != NULL && list->count > 0 && node_set(o, STR("logprobs"), list) != 0) *bad = 1;
}

struct node *message_node(struct message *msg, struct arena *a, int partial) {
  struct node *o = node_new(a, NODE_OBJECT), *content = node_new(a, NODE_ARRAY);
  const char *stop = stop_name(partial ? STOP_ERROR : msg->stop);
  size_t values = 0;
  int bad = 0;
  if (o == NULL || content == NULL) return NULL;
  for (size_t i = 0; i < msg->n; i++) {
    struct node *b = block_node(msg, a, &msg->blocks[i], partial, &values, &bad);
    if (b != NULL && node_add(content, b) != 0) bad = 1;
  }
  if (node_set(o, STR("content"), content) != 0) bad = 1;
  set(a, o, STR("model"), msg->reported_model.n > 0 ? buf_str(&msg->reported_model) : msg->origin.model, &bad);
  if (stop != NULL) set(a, o, STR("stop_reason"), (struct str){ stop, strlen(stop) }, &bad);
  if (msg->raw_stop.n > 0) set(a, o, STR("raw_stop_reason"), buf_str(&msg->raw_stop), &bad);
  if (msg->stop_sequence.n > 0) set(a, o, STR("stop_sequence"), buf_str(&msg->stop_sequence), &bad);
  set_container(msg, a, o, content, &bad);
  set_logprobs(msg, a, o, &bad);
  if (node_set(o, STR("usage"), usage_node(&msg->usage, a, &bad)) != 0) bad = 1;
  if (msg->id.n > 0) set(a, o, STR("id"), buf_str(&msg->id), &bad);
  if (node_set(o, STR("warnings"), warnings_node(msg, a, &bad)) != 0) bad = 1;
  if (partial && node_set(o, STR("partial"), node_bool(a, 1)) != 0) bad = 1;
  if (!partial && degenerate(msg) && node_set(o, STR("degenerate"), node_bool(a, 1)) != 0) bad = 1;
  return bad ? NULL : o;
}
