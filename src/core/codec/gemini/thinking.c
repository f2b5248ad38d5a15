/*
** thinking.c: whether and how much the model thinks (N19). Models of 2.5 take a budget of tokens, later ones a level;
** a request with both is refused. Most cannot be told not to think: they get the least there is.
** Owns nothing. Failure: the `struct writer` says so.
*/
#include "gemini.h"
#include "core/codec/shared/effort.h"

#define MOST 24576    /* tokens of a budget, where the row says nothing */

enum mode { MODE_NONE, MODE_BUDGET, MODE_LEVEL };

/* Returns the mode by the model's row; of a model that it does not know, by the name: a new Gemini takes a level. */
static enum mode mode_of(const struct writer *w) {
  struct str s = node_str(writer_given(w, "thinking_mode")), name = node_str(writer_given(w, "model"));
  if (s.n > 0) return str_eq(s, "none") ? MODE_NONE : str_eq(s, "budget") ? MODE_BUDGET : MODE_LEVEL;
  for (size_t i = name.n; i > 0; i--)
    if (name.p[i - 1] == '/') {
      name = (struct str){ name.p + i, name.n - i };
      break;
    }
  return str_begins(name, "gemini-") ? MODE_LEVEL : MODE_NONE;
}

static void put_budget(struct gemini_config *c, int64_t budget, int shown) {
  gemini_config_field(c, "thinkingConfig");
  writer_json(c->w, shown ? "{\"includeThoughts\":true,\"thinkingBudget\":" : "{\"thinkingBudget\":");
  writer_int(c->w, budget);
  writer_json(c->w, "}");
}

/* `level`: low, …; the wire has it in capitals. */
static void put_level(struct gemini_config *c, struct str level, int shown) {
  char capitals[16];
  size_t n = level.n < sizeof capitals ? level.n : sizeof capitals;
  for (size_t i = 0; i < n; i++)
    capitals[i] = level.p[i] >= 'a' && level.p[i] <= 'z' ? (char)(level.p[i] - 32) : level.p[i];
  gemini_config_field(c, "thinkingConfig");
  writer_json(c->w, shown ? "{\"includeThoughts\":true,\"thinkingLevel\":" : "{\"thinkingLevel\":");
  writer_string(c->w, (struct str){ capitals, n });
  writer_json(c->w, "}");
}

static struct str least_level(const struct writer *w) {
  const char *s = w->r->quirks->least_level;
  return (struct str){ s, strlen(s) };
}

/* As little thinking as there is, none where the model can be told so. */
static void put_off(struct gemini_config *c, enum mode mode) {
  const struct quirks *q = c->w->r->quirks;
  if (mode == MODE_NONE) return;
  if (mode == MODE_LEVEL) put_level(c, least_level(c->w), 0);
  else put_budget(c, q->thinking_always ? q->thinking_least : 0, 0);
  if (mode == MODE_LEVEL || q->thinking_always)
    writer_adjusted(c->w, "thinking", "the model cannot be told not to think: the least there is was sent");
}

static int64_t most(const struct quirks *q) { return q->thinking_most > 0 ? q->thinking_most : MOST; }

/* A budget within what the model takes. */
static void put_fitting(struct gemini_config *c, int64_t budget) {
  const struct quirks *q = c->w->r->quirks;
  int64_t fitting = budget < q->thinking_least ? q->thinking_least : budget > most(q) ? most(q) : budget;
  if (fitting < budget) writer_adjusted(c->w, "thinking", "the budget was lowered to the most there is");
  if (fitting > budget) writer_adjusted(c->w, "thinking", "the budget was raised to the least there is");
  put_budget(c, fitting, 1);
}

/* A word of the caller's. */
static void put_word(struct gemini_config *c, enum mode mode, struct str word) {
  struct writer *w = c->w;
  int minimal = str_eq(word, "minimal");
  if (effort_budget(word) == 0 && !(minimal && mode == MODE_LEVEL)) {
    if (!w->failed)
      w->failed = err_argument(w->e, "thinking", "false, low, medium, high or {budget_tokens = n}", "another word");
    return;
  }
  if (mode == MODE_BUDGET) {
    put_budget(c, str_eq(word, "high") ? most(w->r->quirks) : effort_budget(word), 1);
    return;
  }
  if (minimal && !str_same(word, least_level(w))) {
    writer_adjusted(w, "thinking", "the model has no such level: the least there is was sent");
    word = least_level(w);
  }
  put_level(c, word, 1);
}

void gemini_put_thinking(struct gemini_config *c) {
  const struct node *thinking = writer_given(c->w, "thinking"), *budget = node_get(thinking, "budget_tokens");
  enum mode mode = mode_of(c->w);
  if (thinking == NULL) return;
  if (thinking->type == NODE_FALSE || (node_is(budget, NODE_INT) && budget->u.i == 0)) {
    put_off(c, mode);
  } else if (mode == MODE_NONE) {
    writer_warn(c->w, "thinking", "the model does not think: left out");
  } else if (thinking->type == NODE_STRING) {
    put_word(c, mode, thinking->s);
  } else {
    int64_t n = node_is(budget, NODE_INT) ? budget->u.i : node_is(budget, NODE_DOUBLE) && budget->u.d < 1e9
                                                            ? (int64_t)budget->u.d : MOST;
    if (mode == MODE_BUDGET) {
      put_fitting(c, n);
    } else {
      const char *word = effort_word(n);
      writer_adjusted(c->w, "thinking", "the model takes no budget: the nearest level was sent");
      put_level(c, (struct str){ word, strlen(word) }, 1);
    }
  }
}
