/*
** codec_chat.c: renders a canonical request as the body of POST /chat/completions. What differs between the providers
** of this format is a quirk. Known fields go out in a fixed order, static first and the messages last, so that the same
** request gives the same bytes and a longer history only extends them.
** May call: codec_chat_messages.c, codec_chat_parse.c (for the table at the end), codec, normalise, json, mem, err.
** Writes to the caller's body; scratch lies in the caller's arena. Failure: -1 and an err.
*/
#include "codec_chat.h"
#include "codec_chat_out.h"
#include "normalise.h"

/* Begins a top-level field. */
static void field(struct out *w, const char *name) {
  if (w->n > 0) put(w, ",");
  put_word(w, name);
  put(w, ":");
  if (w->n < FIELDS_MAX) w->fields[w->n++] = name;
}

static void field_word(struct out *w, const char *name, const char *word) {
  field(w, name);
  put_word(w, word);
}

static void warn(struct out *w, const char *name, const char *message) {
  if (!w->failed && codec_warn(w->r->a, w->r->warnings, "unsupported_option", name, message) != 0) out_memory(w);
}

/* {{{ settings */

/* A sampling setting, where the model takes any. */
static void put_number(struct out *w, const char *name) {
  const struct node *v = node_get_(w->request, name, strlen(name));
  if (v == NULL) return;
  if (w->q->no_sampling) { warn(w, name, "the model refuses it: left out"); return; }
  field(w, name);
  put_value(w, v);
}

/* Stop sequences, where the model takes any. */
static void put_stop(struct out *w) {
  const struct node *v = node_get(w->request, "stop_sequences");
  if (children(v) == NULL) return;
  if (w->q->no_stop) { warn(w, "stop_sequences", "the model refuses stop sequences: left out"); return; }
  field(w, "stop");
  put_value(w, v);
}

/* How much to think, as the dialects name it. NULL: the model shall not. */
static const char *effort_of(struct out *w, const struct node *thinking) {
  const struct node *budget = node_get(thinking, "budget_tokens");
  if (node_is(thinking, NODE_FALSE)) return NULL;
  if (node_is(thinking, NODE_STRING)) {
    struct str s = arena_dup(w->r->a, thinking->s);
    if (s.p == NULL) out_memory(w);
    return s.p == NULL ? "" : s.p;
  }
  if (!node_is(budget, NODE_INT) || budget->u.i > 8000) return "high";
  return budget->u.i <= 4000 ? "low" : "medium";
}

/* OpenRouter: {effort}, {max_tokens}, or {enabled = false}. */
static void put_reasoning_object(struct out *w, const struct node *thinking, const char *effort) {
  const struct node *budget = node_get(thinking, "budget_tokens");
  field(w, "reasoning");
  if (effort == NULL) {
    put(w, "{\"enabled\":false}");
  } else if (budget != NULL) {
    put(w, "{\"max_tokens\":");
    put_value(w, budget);
    put(w, "}");
  } else {
    put(w, "{\"effort\":");
    put_word(w, effort);
    put(w, "}");
  }
}

/* The thinking option in the dialect's words. */
static void put_thinking(struct out *w) {
  const struct node *thinking = node_get(w->request, "thinking");
  const char *dialect = w->q->effort, *effort;
  if (w->q->no_effort_with_tools && children(node_get(w->request, "tools")) != NULL) {
    if (thinking != NULL && thinking->type != NODE_FALSE) warn(w, "thinking", "refused beside tools: left out");
    field_word(w, "reasoning_effort", "none");
    return;
  }
  if (thinking == NULL) return;
  effort = effort_of(w, thinking);
  if (str_eq(node_str(node_get(w->request, "thinking_mode")), "none") || strcmp(dialect, "none") == 0) {
    if (effort != NULL) warn(w, "thinking", "the model has no setting for it: left out");
  } else if (strcmp(dialect, "reasoning") == 0) {
    put_reasoning_object(w, thinking, effort);
  } else if (strcmp(dialect, "enable_thinking") == 0) {
    field(w, "enable_thinking");
    put(w, effort != NULL ? "true" : "false");
  } else if (strcmp(dialect, "thinking") == 0) {
    field(w, "thinking");
    put(w, effort != NULL ? "{\"type\":\"enabled\"}" : "{\"type\":\"disabled\"}");
    if (effort != NULL) field_word(w, "reasoning_effort", effort);
  } else if (effort != NULL) {
    field_word(w, "reasoning_effort", effort);
  }
}

/* Model and settings, up to the stream's. */
static void put_settings(struct out *w) {
  const struct node *max = node_get(w->request, "max_tokens");
  field(w, "model");
  put_string(w, node_str(node_get(w->request, "model")));
  if (max != NULL) {
    field(w, w->q->max_tokens_field);
    put_value(w, max);
  }
  put_number(w, "temperature");
  put_number(w, "top_p");
  put_stop(w);
  put_thinking(w);
  if (!node_is(node_get(w->request, "stream"), NODE_TRUE)) return;
  field(w, "stream");
  put(w, "true");
  if (w->q->no_stream_usage) return;
  field(w, "stream_options");
  put(w, "{\"include_usage\":true}");
}

/* }}} */

/* {{{ tools, metadata, extra */

static void put_tool(struct out *w, const struct node *tool) {
  const struct node *description = node_get(tool, "description"), *strict = node_get(tool, "strict");
  put(w, "{\"type\":\"function\",\"function\":{\"name\":");
  put_string(w, node_str(node_get(tool, "name")));
  if (node_is(description, NODE_STRING)) {
    put(w, ",\"description\":");
    put_string(w, description->s);
  }
  put(w, ",\"parameters\":");
  put_value(w, node_get(tool, "parameters"));
  if (strict != NULL && !w->q->no_strict) {
    put(w, ",\"strict\":");
    put_value(w, strict);
  }
  put(w, "}}");
}

static void put_tool_choice(struct out *w) {
  const struct node *choice = node_get(w->request, "tool_choice");
  if (node_is(choice, NODE_OBJECT)) {
    field(w, "tool_choice");
    put(w, "{\"type\":\"function\",\"function\":{\"name\":");
    put_string(w, node_str(node_get(choice, "name")));
    put(w, "}}");
  } else if (node_is(choice, NODE_STRING)) {
    field(w, "tool_choice");
    if (str_eq(choice->s, "any")) put_word(w, w->q->tool_choice_any);
    else put_string(w, choice->s);
  }
}

static void put_tools(struct out *w) {
  const struct node *tools = node_get(w->request, "tools");
  if (children(tools) == NULL) return;
  field(w, "tools");
  put(w, "[");
  for (const struct node *t = tools->child; t != NULL; t = t->next) {
    if (t != tools->child) put(w, ",");
    put_tool(w, t);
  }
  put(w, "]");
  put_tool_choice(w);
}

/* metadata.user_id is `user`; the rest is `metadata`. */
static void put_metadata(struct out *w) {
  struct node *metadata = node_get(w->request, "metadata"), *user = node_get(metadata, "user_id");
  if (user != NULL) {
    node_remove(metadata, user);
    field(w, "user");
    put_value(w, user);
  }
  if (children(metadata) == NULL) return;
  field(w, "metadata");
  put_value(w, metadata);
}

/* True for a key that `extra` may not set. */
static int written(const struct out *w, struct str key) {
  if (str_eq(key, "messages") || str_eq(key, "stream")) return 1;
  for (int i = 0; i < w->n; i++)
    if (str_is(key, w->fields[i], strlen(w->fields[i]))) return 1;
  return 0;
}

/* Byte order of keys. */
static int before(struct str a, struct str b) {
  int d = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
  return d < 0 || (d == 0 && a.n < b.n);
}

/* The member of `extra` with the smallest key above `last` (NULL = any), or NULL. */
static const struct node *next_extra(const struct node *extra, const struct node *last) {
  const struct node *best = NULL;
  for (const struct node *m = children(extra); m != NULL; m = m->next)
    if ((last == NULL || before(last->key, m->key)) && (best == NULL || before(m->key, best->key))) best = m;
  return best;
}

/* What the caller adds, sorted, never over a field that was written. */
static void put_extra(struct out *w) {
  const struct node *extra = node_get(w->request, "extra");
  for (const struct node *m = next_extra(extra, NULL); m != NULL; m = next_extra(extra, m)) {
    if (written(w, m->key)) continue;
    if (str_eq(m->key, "n") && !(node_is(m, NODE_INT) && m->u.i == 1)) {
      warn(w, "extra.n", "an answer is one turn: left out");
      continue;
    }
    put_key(w, m->key);
    put_value(w, m);
  }
}

/* Options that this wire has no word for. */
static void warn_unsupported(struct out *w) {
  const struct node *cache = node_get(w->request, "cache_retention");
  if (children(node_get(w->request, "betas")) != NULL) warn(w, "betas", "this wire format has no betas: left out");
  if (cache != NULL && !str_eq(node_str(cache), "none"))
    warn(w, "cache_retention", "this wire format has no cache marks: left out");
}

/* }}} */

/* Puts the tree in order: history, system prompt, schemas. */
static int prepare(struct out *w, struct node **system) {
  const struct norm norm = {
    .provider = w->r->provider, .model = node_str(node_get(w->request, "model")), .merge_text = 1, .results_first = 1,
    .id_chars = strcmp(w->q->tool_id, "alnum9") == 0 ? "alnum9" : NULL, .id_max = (size_t)w->q->tool_id_max
  };
  const struct node *messages;
  if (normalise_check(w->request, w->e) != 0 || chat_check_media(w) != 0 ||
      normalise_messages(w->r->a, w->request, &norm, w->e) != 0 ||
      normalise_system(w->r->a, w->request, system, w->e) != 0 ||
      normalise_tools(w->r->a, w->request, w->q->no_additional_properties, w->e) != 0)
    return -1;
  messages = node_get(w->request, "messages");
  w->tools_used = children(node_get(w->request, "tools")) != NULL;
  for (const struct node *m = messages->child; m != NULL; m = m->next) w->tools_used |= chat_has(m, "tool_use");
  return 0;
}

static int chat_render(struct render *r, struct err *e) {
  struct out w = { .r = r, .q = r->quirks, .request = r->request, .e = e };
  struct node *system = NULL;
  if (prepare(&w, &system) != 0) return -1;
  put(&w, "{");
  put_settings(&w);
  put_tools(&w);
  put_metadata(&w);
  put_extra(&w);
  warn_unsupported(&w);
  field(&w, "messages");
  chat_put_messages(&w, system);
  put(&w, "}");
  return w.failed ? -1 : 0;
}

const struct codec codec_chat = {
  .name = "chat",
  .state_size = sizeof(struct chat),
  .render = chat_render,
  .render_count = NULL,
  .init = chat_init,
  .free = chat_free,
  .parse_event = chat_parse_event,
  .parse_body = chat_parse_body,
  .parse_end = chat_parse_end,
  .ended = chat_ended,
};
