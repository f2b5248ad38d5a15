/*
** thinking.c: whether and how the model thinks (N19). Older models take a budget of tokens, newer ones
** an effort and decide for themselves (adaptive). A field that cannot go with thinking wins over it, with one warning.
** Owns nothing. Failure: -1 and an err.
*/
#include "anthropic.h"
#include "core/codec/shared/effort.h"

#include <stdio.h>

#define BUDGET_MIN 1024   /* the least that the wire accepts */
#define HEADROOM 4096     /* tokens for the answer itself, beside a budget */

enum mode { MODE_NONE, MODE_EFFORT, MODE_ADAPTIVE, MODE_BUDGET };

/* Those with a budget can be said as one. */
static const struct level { const char *word, *effort; } LEVELS[] = {
  { "minimal", "low" }, { "low", "low" }, { "medium", "medium" }, { "high", "high" }, { "xhigh", "xhigh" }, { "max", "max" },
};

static int64_t budget_of(const struct level *l) {
  return effort_budget((struct str){ l->effort, strlen(l->effort) });
}

static int warn(struct render *r, const char *code, const char *message, struct err *e) {
  return codec_warn(r->a, r->warnings, code, "thinking", message) == 0 ? 0 : err_memory(e);
}

/* The mode by the model's row; a model that no row knows is taken for a new one, unless a budget is asked of it. */
static enum mode mode_of(const struct render *r) {
  struct str s = node_str(node_get(r->request, "thinking_mode"));
  if (str_eq(s, "budget") || (s.n == 0 && effort_is_templated(r->quirks))) return MODE_BUDGET;
  if (str_eq(s, "effort")) return MODE_EFFORT;
  if (str_eq(s, "none")) return MODE_NONE;
  return s.n == 0 && node_is(node_get(r->request, "thinking"), NODE_OBJECT) ? MODE_BUDGET : MODE_ADAPTIVE;
}

/* A word of the caller's: its level, or NULL and KIND_ARGUMENT. */
static const struct level *level_of(struct str word, enum mode mode, struct err *e) {
  char got[48];
  for (size_t i = 0; i < sizeof LEVELS / sizeof LEVELS[0]; i++) {
    const struct level *l = &LEVELS[i];
    if (str_is(word, l->word, strlen(l->word)) && (mode != MODE_BUDGET || budget_of(l) > 0)) return l;
  }
  snprintf(got, sizeof got, "\"%.*s\"", word.n < 40 ? (int)word.n : 40, word.n > 0 ? word.p : "");
  err_argument(e, "thinking", mode == MODE_BUDGET ? "false, low, medium, high or {budget_tokens = n}"
                                                  : "false, low, medium, high, xhigh, max or {budget_tokens = n}", got);
  return NULL;
}

/* {budget_tokens = n}: 0, or -1 and KIND_ARGUMENT. */
static int read_budget(const struct node *v, int64_t *budget, struct err *e) {
  const struct node *tokens = node_get(v, "budget_tokens");
  const char *got = tokens == NULL ? "nothing" : "something else";
  if (v->type != NODE_OBJECT)
    return err_argument(e, "thinking", "false, a level or {budget_tokens = n}", "something else");
  if (node_is(tokens, NODE_DOUBLE) && tokens->u.d >= 0 && tokens->u.d < 1e9) *budget = (int64_t)tokens->u.d;
  else if (node_is(tokens, NODE_INT) && tokens->u.i >= 0) *budget = tokens->u.i;
  else return err_argument(e, "thinking.budget_tokens", "integer, 0 or more", got);
  return 0;
}

/* Reads the thinking that was asked for, before anything stands against it. */
static int read_wish(struct render *r, enum mode mode, struct anthropic_thinking *t, struct err *e) {
  const struct node *v = node_get(r->request, "thinking");
  const struct level *level = NULL;
  if (v == NULL) return 0;
  if (v->type == NODE_FALSE) { t->mode = THINKING_DISABLED; return 0; }
  if (v->type == NODE_STRING) {
    if ((level = level_of(v->s, mode, e)) == NULL) return -1;
    t->budget = budget_of(level);
    t->effort = level->effort;
  } else if (read_budget(v, &t->budget, e) != 0) {
    return -1;
  }
  if (level == NULL && t->budget == 0) { t->mode = THINKING_DISABLED; return 0; }
  if (mode == MODE_NONE) {
    *t = (struct anthropic_thinking){ 0 };
    return warn(r, "unsupported_option", "the model does not think: left out", e);
  }
  if (mode == MODE_BUDGET) t->effort = NULL;
  else if (level == NULL) {
    t->effort = effort_word(t->budget);
    if (warn(r, "adjusted_option", "the model takes no budget: the nearest effort was sent", e) != 0) return -1;
  }
  t->mode = mode == MODE_BUDGET ? THINKING_BUDGET : mode == MODE_ADAPTIVE ? THINKING_ADAPTIVE : THINKING_UNSAID;
  return 0;
}

/* True when the last assistant message has calls but does not begin with its thinking: refused beside a budget. */
static int lost_thinking(const struct node *messages) {
  const struct node *last = NULL;
  for (const struct node *m = messages->child; m != NULL; m = m->next)
    if (str_eq(node_str(node_get(m, "role")), "assistant")) last = node_get(m, "content")->child;
  if (last == NULL || is_type(last, "thinking") || is_type(last, "redacted_thinking")) return 0;
  for (; last != NULL; last = last->next)
    if (is_type(last, "tool_use")) return 1;
  return 0;
}

/* Why thinking has to be left off, or NULL. */
static const char *obstacle(const struct render *r, int forced_tool, const struct anthropic_thinking *t) {
  const struct node *messages = node_get(r->request, "messages");
  int strict = !effort_is_templated(r->quirks); /* else only what no template can */
  if (t->mode != THINKING_BUDGET && t->mode != THINKING_ADAPTIVE) return NULL;
  if (forced_tool && strict) return "tool_choice forces a call: thinking was left off";
  if (anthropic_prefilled(messages)) return "the last message is an answer to continue: thinking was left off";
  if (t->mode == THINKING_BUDGET && strict && lost_thinking(messages))
    return "the last assistant message with calls has lost its thinking: thinking was left off";
  return NULL;
}

/* Fits the budget and the ceiling of the whole answer together, below what the model can give. */
static int fit(struct render *r, int64_t *max_tokens, struct anthropic_thinking *t, struct err *e) {
  const struct node *max = node_get(r->request, "max_output");
  if (t->budget < BUDGET_MIN && !effort_is_templated(r->quirks)) {
    t->budget = BUDGET_MIN;
    if (warn(r, "adjusted_option", "the budget was raised to 1024 tokens, the least there is", e) != 0) return -1;
  }
  if (*max_tokens - HEADROOM < t->budget) *max_tokens = t->budget + HEADROOM;
  if (!node_is(max, NODE_INT) || max->u.i < 2 * BUDGET_MIN || *max_tokens <= max->u.i) return 0;
  *max_tokens = max->u.i;
  if (t->budget <= *max_tokens - BUDGET_MIN) return 0;
  t->budget = *max_tokens - BUDGET_MIN;
  return warn(r, "adjusted_option", "the budget was lowered to what the answer leaves room for", e);
}

int anthropic_think(struct render *r, int forced_tool, int64_t *max_tokens, struct anthropic_thinking *t,
                    struct err *e) {
  enum mode mode = mode_of(r);
  int templated = effort_is_templated(r->quirks);
  const char *why;
  *t = (struct anthropic_thinking){ 0 };
  if (read_wish(r, mode, t, e) != 0) return -1;
  why = obstacle(r, forced_tool, t);
  if (why != NULL) {
    if (warn(r, "conflicting_options", why, e) != 0) return -1;
    *t = (struct anthropic_thinking){ .mode = THINKING_DISABLED };
  }
  if (t->mode == THINKING_UNSAID && forced_tool && r->quirks->thinking_default) t->mode = THINKING_DISABLED;
  if (t->mode == THINKING_DISABLED && !r->quirks->thinking_default && !templated) t->mode = THINKING_UNSAID;
  else if (!templated)
    t->active = t->mode != THINKING_DISABLED && (t->mode != THINKING_UNSAID || r->quirks->thinking_default);
  return t->mode == THINKING_BUDGET ? fit(r, max_tokens, t, e) : 0;
}
