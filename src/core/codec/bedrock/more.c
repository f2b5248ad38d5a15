/*
** more.c: what goes to the model beside the format's own fields: how it thinks, betas, top_k, how many calls it may make
** at a time, each in the words of its family, and what the caller adds there, which never overrides ours.
** In place, on the request's private tree; new nodes lie in its arena. Failure: -1 and an err.
*/
#include "bedrock.h"
#include "core/codec/shared/effort.h"

#define NO_CEILING ((int64_t)1 << 40) /* max_tokens where none is said: no budget raises it */

/* The member of `o` that is an object, made if need be; NULL: memory. */
static struct node *object_in(struct arena *a, struct node *o, struct str name) {
  struct node *v = node_get_(o, name.p, name.n);
  if (node_is(v, NODE_OBJECT)) return v;
  v = node_new(a, NODE_OBJECT);
  return v != NULL && node_set(o, name, v) == 0 ? v : NULL;
}

#define FIELDS "additionalModelRequestFields"

/* Sets a member of the fields for the model, or of the object in them that `in` names; it never gives way to the
** caller's. 0, or -1 (memory). */
static int set_field(struct writer *w, struct node *o, const char *in, const char *name, struct node *v) {
  struct str key = { name, strlen(name) };
  if (o != NULL && v != NULL && node_get_(o, key.p, key.n) != NULL) writer_ignored(w, in, key);
  return node_set(o, key, v);
}

static int set_word(struct writer *w, struct node *o, const char *in, const char *name, const char *word) {
  return set_field(w, o, in, name, node_string(w->r->a, (struct str){ word, strlen(word) }));
}

/* Returns the caller's fields for the model, taken out of `extra`; made if need be. NULL and *e. */
static struct node *fields_of(struct writer *w) {
  struct node *extra = writer_given(w, "extra"), *given = node_get(extra, FIELDS);
  if (given != NULL) node_remove(extra, given);
  if (given == NULL || (given->type == NODE_ARRAY && given->count == 0)) given = node_new(w->r->a, NODE_OBJECT);
  if (given == NULL) err_memory(w->e);
  else if (given->type != NODE_OBJECT) {
    err_argument(w->e, "extra." FIELDS, "table", "something else");
    return NULL;
  }
  return given;
}

/* {{{ thinking */

static int think_claude(struct writer *w, struct node *fields, int forced, struct bedrock_more *more) {
  static const char *const TYPES[] = {
    [THINKING_DISABLED] = "disabled", [THINKING_BUDGET] = "enabled", [THINKING_ADAPTIVE] = "adaptive"
  };
  struct arena *a = w->r->a;
  struct anthropic_thinking t;
  int said = more->max_tokens >= 0;
  int64_t max = said ? more->max_tokens : NO_CEILING;
  struct node *o;
  if (anthropic_think(w->r, forced, &max, &t, w->e) != 0) return -1;
  if (said) more->max_tokens = max;
  more->no_sampling = t.active;
  if (t.mode != THINKING_UNSAID) {
    if ((o = node_new(a, NODE_OBJECT)) == NULL || set_field(w, fields, FIELDS, "thinking", o) != 0 ||
        set_word(w, o, NULL, "type", TYPES[t.mode]) != 0)
      return err_memory(w->e);
    if (t.mode == THINKING_BUDGET && node_set(o, STR("budget_tokens"), node_int(a, t.budget)) != 0)
      return err_memory(w->e);
  }
  if (t.effort == NULL) return 0;
  o = object_in(a, fields, STR("output_config"));
  return set_word(w, o, FIELDS ".output_config", "effort", t.effort) == 0 ? 0 : err_memory(w->e);
}

/* low, medium or high, whatever was asked for; NULL: nothing, or not to think. */
static const char *effort_of(struct writer *w) {
  const struct node *thinking = writer_given(w, "thinking"), *budget = node_get(thinking, "budget_tokens");
  struct str word = node_str(thinking);
  if (node_is(budget, NODE_INT)) {
    writer_adjusted(w, "thinking", "the model takes no budget: the nearest effort was sent");
    return effort_word(budget->u.i);
  }
  if (str_eq(word, "minimal") || str_eq(word, "low")) return "low";
  if (str_eq(word, "medium")) return "medium";
  return word.n > 0 && !str_eq(word, "none") ? "high" : NULL;
}

static int think_in_words(struct writer *w, struct node *fields, struct bedrock_more *more) {
  struct arena *a = w->r->a;
  const char *effort = effort_of(w);
  struct node *o;
  if (effort == NULL) return 0;
  if (is_family(w->r->quirks, "gpt_oss"))
    return set_word(w, fields, FIELDS, "reasoning_effort", effort) == 0 ? 0 : err_memory(w->e);
  o = object_in(a, fields, STR("reasoningConfig"));
  if (o == NULL || set_word(w, o, FIELDS ".reasoningConfig", "type", "enabled") != 0 ||
      set_word(w, o, FIELDS ".reasoningConfig", "maxReasoningEffort", effort) != 0)
    return err_memory(w->e);
  if (strcmp(effort, "high") != 0) return 0;
  more->no_sampling = 1;
  if (more->max_tokens >= 0) writer_warn_as(w, "conflicting_options", "max_tokens",
                                            "refused beside thinking of this effort: left out");
  more->max_tokens = -1;
  return 0;
}

static int think(struct writer *w, struct node *fields, int forced, struct bedrock_more *more) {
  const struct quirks *q = w->r->quirks;
  const struct node *thinking = writer_given(w, "thinking");
  if (is_family(q, "claude")) return think_claude(w, fields, forced, more);
  if (thinking == NULL || node_is(thinking, NODE_FALSE)) return 0;
  if (!is_family(q, "nova2") && !is_family(q, "gpt_oss")) {
    writer_warn(w, "thinking", "the model has no setting for it: left out");
    return 0;
  }
  if (forced && is_family(q, "nova2")) {
    writer_warn_as(w, "conflicting_options", "thinking", "tool_choice forces a call: thinking was left off");
    return 0;
  }
  return think_in_words(w, fields, more);
}

/* }}} */

static int is_nova(const struct writer *w) { return is_family(w->r->quirks, "nova") || is_family(w->r->quirks, "nova2"); }

/* The option top_k as the model may have it, or NULL. */
static const struct node *top_k(struct writer *w, const struct bedrock_more *more) {
  const struct node *k = writer_given(w, "top_k");
  if (k == NULL) return NULL;
  if (w->r->quirks->no_sampling) writer_warn(w, "top_k", "the model does not take it: left out");
  else if (!is_family(w->r->quirks, "claude") && !is_nova(w))
    writer_warn(w, "top_k", "the model has no setting for it: left out");
  else if (more->no_sampling)
    writer_warn_as(w, "conflicting_options", "top_k", "a model that thinks does not take it: left out");
  else return k;
  return NULL;
}

/* top_k goes to where the family looks for it; extra.top_k too, whatever the model, unless the option is there. 0, or -1
** (memory). */
static int put_top_k(struct writer *w, struct node *fields, const struct bedrock_more *more) {
  const struct node *given = top_k(w, more);
  struct node *extra = writer_given(w, "extra"), *k = node_get(extra, "top_k"), *o = fields;
  if (k != NULL) node_remove(extra, k);
  if (k != NULL && given != NULL) writer_ignored(w, NULL, k->key);
  if (given != NULL && (k = node_copy(w->r->a, given)) == NULL) return -1;
  if (k == NULL) return 0;
  if (is_nova(w) && (o = object_in(w->r->a, fields, STR("inferenceConfig"))) == NULL) return -1;
  return set_field(w, o, is_nova(w) ? FIELDS ".inferenceConfig" : FIELDS, is_nova(w) ? "topK" : "top_k", k);
}

/* extra.parallel_tool_calls: Claude is told to make one call at a time as part of its own choice of a tool. Where the
** format says which (`forced`), the service refuses that it is said twice. 0, or -1 (memory). */
static int put_parallel(struct writer *w, struct node *fields, int forced) {
  struct arena *a = w->r->a;
  struct node *extra = writer_given(w, "extra"), *given = node_get(extra, "parallel_tool_calls"), *choice;
  int single = node_is(given, NODE_FALSE);
  if (!single && !node_is(given, NODE_TRUE)) return 0;
  node_remove(extra, given);
  if (!single || children(writer_given(w, "tools")) == NULL) return 0;
  if (!is_family(w->r->quirks, "claude")) {
    writer_warn(w, "extra", "the model cannot be told to make one call at a time: parallel_tool_calls was left out");
    return 0;
  }
  choice = object_in(a, fields, STR("tool_choice"));
  if (set_field(w, choice, FIELDS ".tool_choice", "disable_parallel_tool_use", node_bool(a, 1)) != 0) return -1;
  return forced || node_get(choice, "type") != NULL ? 0 : set_word(w, choice, NULL, "type", "auto");
}

static int put_betas(struct writer *w, struct node *fields) {
  struct node *betas = writer_given(w, "betas");
  if (children(betas) == NULL) return 0;
  if (is_family(w->r->quirks, "claude")) return set_field(w, fields, FIELDS, "anthropic_beta", node_copy(w->r->a, betas));
  writer_warn(w, "betas", "the model has none: left out");
  return 0;
}

/* max_tokens as an integer; -1: not said. 0, or -1 and *e. */
static int read_ceiling(struct writer *w, int64_t *max) {
  const struct node *v = writer_given(w, "max_tokens");
  *max = -1;
  if (v == NULL) return 0;
  if (v->type == NODE_INT) *max = v->u.i;
  else if (v->type == NODE_DOUBLE && v->u.d >= 0 && v->u.d < 1e15) *max = (int64_t)v->u.d;
  return *max >= 0 ? 0 : err_argument(w->e, "max_tokens", "integer, 0 or more", "something else");
}

int bedrock_more(struct writer *w, int forced, struct bedrock_more *more) {
  struct node *fields = fields_of(w);
  *more = (struct bedrock_more){ .fields = fields };
  if (fields == NULL || read_ceiling(w, &more->max_tokens) != 0 || think(w, fields, forced, more) != 0) return -1;
  if (put_top_k(w, fields, more) != 0 || put_parallel(w, fields, forced) != 0 || put_betas(w, fields) != 0)
    return err_memory(w->e);
  return w->failed ? -1 : 0;
}
