/*
** logprobs.c: how likely the tokens of a chunk were: chosenCandidates, array of {token, tokenId, logProbability}, and beside
** it topCandidates, array of {candidates = array of the same}.
** The part lies in the scratch arena. Failure: -1 and an err.
*/
#include "gemini.h"

/* {"token":…,"logprob":… of a candidate; the object stays open. */
static int put_token(struct buf *b, const struct node *v, struct err *e) {
  const struct node *token = node_get(v, "token"), *logprob = node_get(v, "logProbability");
  if (buf_adds(b, "{\"token\":") != 0 || json_write_string(b, node_str(token)) != 0) return err_memory(e);
  if (logprob == NULL) return 0;
  return buf_adds(b, ",\"logprob\":") != 0 ? err_memory(e) : json_write(b, logprob, e);
}

/* An array's elements, or the first of none. */
static const struct node *first(const struct node *list) { return node_is(list, NODE_ARRAY) ? list->child : NULL; }

/* Whether an element may be a candidate; a token that is left out is an empty one. */
static int is_candidate(const struct node *v) {
  const struct node *token = node_get(v, "token");
  return node_is(v, NODE_OBJECT) && (token == NULL || token->type == NODE_STRING);
}

/* The chosen tokens, each with those that stand at the same place of the other list. */
static int put_tokens(struct buf *b, const struct node *result, struct err *e) {
  const struct node *top = first(node_get(result, "topCandidates"));
  int n = 0;
  for (const struct node *v = first(node_get(result, "chosenCandidates")); v != NULL;
       v = v->next, top = top == NULL ? NULL : top->next) {
    int others = 0;
    if (!is_candidate(v)) continue;
    if (buf_addc(b, n++ == 0 ? '[' : ',') != 0) return err_memory(e);
    if (put_token(b, v, e) != 0) return -1;
    for (const struct node *o = first(node_get(top, "candidates")); o != NULL; o = o->next) {
      if (!is_candidate(o)) continue;
      if (buf_adds(b, others++ == 0 ? ",\"top_logprobs\":[" : ",") != 0) return err_memory(e);
      if (put_token(b, o, e) != 0) return -1;
      if (buf_addc(b, '}') != 0) return err_memory(e);
    }
    if (buf_adds(b, others > 0 ? "]}" : "}") != 0) return err_memory(e);
  }
  return n > 0 && buf_addc(b, ']') != 0 ? err_memory(e) : 0;
}

int gemini_logprobs(struct gemini *s, struct str json) {
  const struct node *result = json_tree_within(s->p->a, json, s->p->limits->depth, NULL, s->e);
  struct str array = STR_NONE;
  struct buf b;
  int r;
  if (result == NULL) return -1;
  buf_init(&b, s->p->m);
  r = put_tokens(&b, result, s->e);
  if (r == 0 && b.n > 0 && (array = arena_dup(s->p->a, buf_str(&b))).p == NULL) r = err_memory(s->e);
  buf_free(&b);
  if (r != 0 || array.n == 0) return r;
  return gemini_push(s, PART_LOGPROBS, 0, array) != NULL ? 0 : -1;
}
