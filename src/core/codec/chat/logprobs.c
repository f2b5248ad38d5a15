/*
** logprobs.c: how likely the tokens of a choice were: {content, refusal}, arrays of tokens, as OpenAI has it; or the older
** {tokens, token_logprobs, top_logprobs}, three arrays side by side, which Together and Fireworks answer with.
** Parts borrow from the chunk or lie in the scratch arena. Failure: -1 and an err.
*/
#include "chat.h"

/* The members of a choice's logprobs, JSON; empty = absent. */
struct members {
  struct str content, refusal, tokens, logprobs, top;
};

static int is_array(struct str json) { return json.n > 0 && json.p[0] == '['; }

static int push(struct chat *c, struct str array) {
  if (!is_array(array)) return 0;
  return codec_push(c->out, PART_LOGPROBS, 0, array, c->e) == NULL ? -1 : 0;
}

/* {{{ three arrays side by side */

static int set(struct node *o, struct str key, const struct node *v, struct arena *a) {
  return v == NULL ? 0 : node_set(o, key, node_copy(a, v));
}

/* One token as an element of OpenAI's form, or NULL: no memory. top: {token: logprob}, or anything else for none. */
static struct node *element(struct arena *a, const struct node *token, const struct node *logprob,
                            const struct node *top) {
  struct node *o = node_new(a, NODE_OBJECT), *list = node_new(a, NODE_ARRAY);
  if (o == NULL || list == NULL || set(o, STR("token"), token, a) != 0 || set(o, STR("logprob"), logprob, a) != 0 ||
      node_set(o, STR("top_logprobs"), list) != 0)
    return NULL;
  for (const struct node *v = node_is(top, NODE_OBJECT) ? top->child : NULL; v != NULL; v = v->next) {
    struct node *other = node_new(a, NODE_OBJECT);
    if (other == NULL || node_set(other, STR("token"), node_string(a, v->key)) != 0 ||
        set(other, STR("logprob"), v, a) != 0 || node_add(list, other) != 0)
      return NULL;
  }
  return o;
}

/* The elements of an array (JSON) of any size; none where there is none. NULL and *c->e on failure. */
static struct node *elements(struct chat *c, struct str json) {
  struct node *list = json.n > 0 ? json_tree_within(c->p->a, json, c->p->limits->depth, NULL, c->e)
                                 : node_new(c->p->a, NODE_ARRAY);
  if (list == NULL && json.n == 0) err_memory(c->e);
  return list;
}

static const struct node *after(const struct node *v) { return v == NULL ? NULL : v->next; }

static int push_list(struct chat *c, const struct node *list) {
  struct str json = STR_NONE;
  struct buf b;
  buf_init(&b, c->p->m);
  if (json_write(&b, list, c->e) == 0 && (json = arena_dup(c->p->a, buf_str(&b))).p == NULL) err_memory(c->e);
  buf_free(&b);
  return json.p == NULL ? -1 : push(c, json);
}

static int push_arrays(struct chat *c, const struct members *m) {
  struct node *tokens = elements(c, m->tokens), *logprobs = elements(c, m->logprobs), *tops = elements(c, m->top);
  struct node *list = elements(c, STR_NONE);
  if (tokens == NULL || logprobs == NULL || tops == NULL || list == NULL) return -1;
  for (const struct node *t = tokens->child, *l = logprobs->child, *top = tops->child; t != NULL;
       t = t->next, l = after(l), top = after(top))
    if (node_add(list, element(c->p->a, t, l, top)) != 0) return err_memory(c->e);
  return push_list(c, list);
}

/* }}} */

int chat_logprobs(struct chat *c, struct str json) {
  struct members m = { .content = STR_NONE };
  struct json j;
  json_open(&j, json, c->p->limits->depth, c->e);
  if (json_next(&j) != J_OBJECT) return 0;
  while (json_next(&j) == J_KEY) {
    int r = json_is(&j, "content") ? codec_raw(&j, &m.content)
          : json_is(&j, "refusal") ? codec_raw(&j, &m.refusal)
          : json_is(&j, "tokens") ? codec_raw(&j, &m.tokens)
          : json_is(&j, "token_logprobs") ? codec_raw(&j, &m.logprobs)
          : json_is(&j, "top_logprobs") ? codec_raw(&j, &m.top) : json_skip(&j);
    if (r != 0) return -1;
  }
  if (!is_array(m.content) && !is_array(m.refusal)) return is_array(m.tokens) ? push_arrays(c, &m) : 0;
  return push(c, m.content) != 0 ? -1 : push(c, m.refusal);
}
