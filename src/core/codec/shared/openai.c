/*
** openai.c: see openai.h. Fields go out in the order in which a renderer calls for them.
** Owns nothing; scratch lies in the request's arena. Failure: the `struct writer` says so.
*/
#include "openai.h"
#include "effort.h"

/* {{{ settings */

void openai_number(struct writer *w, const char *name) {
  const struct node *v = writer_given(w, name);
  if (v == NULL) return;
  if (w->r->quirks->no_sampling) { writer_warn(w, name, "the model refuses it: left out"); return; }
  writer_field(w, name);
  writer_sorted(w, v);
}

const char *openai_effort(struct writer *w, const struct node *thinking) {
  const struct node *budget = node_get(thinking, "budget_tokens");
  if (node_is(thinking, NODE_FALSE)) return NULL;
  if (node_is(thinking, NODE_STRING)) {
    struct str s = arena_dup(w->r->a, thinking->s);
    if (s.p == NULL) writer_memory(w);
    return s.p == NULL ? "" : s.p;
  }
  if (!openai_no_effort(w)) writer_adjusted(w, "thinking", "the model takes no budget: the nearest effort was sent");
  return effort_word(node_is(budget, NODE_INT) ? budget->u.i : INT64_MAX);
}

int openai_no_effort(const struct writer *w) {
  return str_eq(node_str(writer_given(w, "thinking_mode")), "none") || strcmp(w->r->quirks->effort, "none") == 0;
}

void openai_template(struct writer *w, const struct node *thinking) {
  const struct node *budget = node_get(thinking, "budget_tokens");
  int off = node_is(thinking, NODE_FALSE) || str_eq(node_str(thinking), "none");
  if (off) {
    writer_field_word(w, "reasoning_effort", "none");
  } else if (budget != NULL) {
    writer_field(w, "thinking_budget_tokens");
    writer_sorted(w, budget);
  } else {
    writer_field_word(w, "reasoning_effort", openai_effort(w, thinking));
  }
  writer_field(w, "chat_template_kwargs");
  effort_template(w, !off);
}

void openai_metadata(struct writer *w) {
  struct node *metadata = writer_given(w, "metadata"), *user = node_get(metadata, "user_id");
  if (user != NULL) {
    node_remove(metadata, user);
    writer_field(w, "user");
    writer_sorted(w, user);
  }
  if (children(metadata) == NULL) return;
  writer_field(w, "metadata");
  writer_sorted(w, metadata);
}

void openai_extra(struct writer *w, const char *last) {
  struct node *extra = writer_given(w, "extra"), *n = node_get(extra, "n");
  if (n != NULL && !(node_is(n, NODE_INT) && n->u.i == 1)) {
    writer_warn(w, "extra.n", "an answer is one message: left out");
    node_remove(extra, n);
  }
  writer_extra(w, last);
}

void openai_unsupported(struct writer *w) {
  const struct node *cache = writer_given(w, "cache_retention");
  if (children(writer_given(w, "betas")) != NULL) writer_warn(w, "betas", "this wire format has no betas: left out");
  if (cache != NULL && !str_eq(node_str(cache), "none"))
    writer_warn(w, "cache_retention", "this wire format has no cache marks: left out");
}

/* }}} */

/* {{{ the answer's shape */

void openai_format(struct writer *w, const struct node *output, int bare) {
  const struct node *description = node_get(output, "description"), *strict = node_get(output, "strict");
  if (!bare) {
    writer_json(w, "\"name\":");
    writer_string(w, node_str(node_get(output, "name")));
    if (description != NULL) {
      writer_json(w, ",\"description\":");
      writer_sorted(w, description);
    }
    writer_json(w, ",");
  }
  writer_json(w, "\"schema\":");
  writer_schema(w, node_get(output, "schema"), 0);
  if (strict == NULL || bare) return;
  writer_json(w, ",\"strict\":");
  writer_sorted(w, strict);
}

/* True when s holds "json" in capitals or not. */
static int has_word(struct str s) {
  for (size_t i = 0; i + 4 <= s.n; i++)
    if ((s.p[i] | 32) == 'j' && (s.p[i + 1] | 32) == 's' && (s.p[i + 2] | 32) == 'o' && (s.p[i + 3] | 32) == 'n') return 1;
  return 0;
}

static int blocks_have_word(const struct node *blocks) {
  for (const struct node *b = children(blocks); b != NULL; b = b->next)
    if (has_word(node_str(node_get(b, "text")))) return 1;
  return 0;
}

int openai_wants_word(struct writer *w, const struct node *system, const struct node *first) {
  const struct node *output = writer_given(w, "output");
  if (output == NULL || node_get(output, "schema") != NULL) return 0;
  return !blocks_have_word(system) && !blocks_have_word(node_get(first, "content"));
}

struct node *openai_add_word(struct writer *w, struct node *system) {
  struct arena *a = w->r->a;
  struct node *list = system != NULL ? system : node_new(a, NODE_ARRAY), *block = node_new(a, NODE_OBJECT);
  if (list == NULL || block == NULL || node_set(block, STR("type"), node_string(a, STR("text"))) != 0 ||
      node_set(block, STR("text"), node_string(a, STR("Answer with one JSON object."))) != 0 || node_add(list, block) != 0)
    writer_memory(w);
  return list;
}

/* }}} */

/* {{{ tools */

void openai_function(struct writer *w, const char *open, const struct node *tool) {
  const struct node *description = node_get(tool, "description");
  writer_json(w, open);
  writer_string(w, node_str(node_get(tool, "name")));
  if (node_is(description, NODE_STRING)) {
    writer_json(w, ",\"description\":");
    writer_string(w, description->s);
  }
  writer_json(w, ",\"parameters\":");
  writer_schema(w, node_get(tool, "parameters"), 0);
}

/* The provider's own tool that the choice names, or NULL: it is one of the caller's. */
static const struct node *chosen_server_tool(const struct writer *w, const struct node *choice) {
  struct str name = node_str(node_get(choice, "name"));
  for (const struct node *t = children(writer_given(w, "tools")); t != NULL; t = t->next)
    if (normalise_is_chosen(t, name)) return normalise_is_server_tool(t) ? t : NULL;
  return NULL;
}

/* {type, name, server_label}, what the tool has of them. */
static void put_chosen(struct writer *w, const struct node *tool) {
  static const char *const KEYS[] = { "name", "server_label" };
  writer_json(w, "{\"type\":");
  writer_string(w, node_str(node_get(tool, "type")));
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    const struct node *v = node_get_(tool, KEYS[i], strlen(KEYS[i]));
    if (v == NULL) continue;
    writer_member(w, (struct str){ KEYS[i], strlen(KEYS[i]) });
    writer_sorted(w, v);
  }
  writer_json(w, "}");
}

static void put_tool_choice(struct writer *w, const char *open, const char *close) {
  const struct node *choice = writer_given(w, "tool_choice"), *server_tool = chosen_server_tool(w, choice);
  if (!node_is(choice, NODE_OBJECT) && !node_is(choice, NODE_STRING)) return;
  writer_field(w, "tool_choice");
  if (server_tool != NULL) {
    put_chosen(w, server_tool);
  } else if (choice->type == NODE_OBJECT) {
    writer_json(w, open);
    writer_string(w, node_str(node_get(choice, "name")));
    writer_json(w, close);
  } else if (str_eq(choice->s, "any")) {
    writer_word(w, w->r->quirks->tool_choice_any);
  } else {
    writer_string(w, choice->s);
  }
}

/* A tool of the provider's own, as it is; it is not cached here (N16). */
static void put_server_tool(struct writer *w, struct node *tool) {
  struct node *marker = node_get(tool, "cache_control");
  if (marker != NULL) node_remove(tool, marker);
  writer_sorted(w, tool);
}

void openai_tools(struct writer *w, void (*put_tool)(struct writer *w, const struct node *tool), const char *open,
                  const char *close) {
  struct node *tools = writer_given(w, "tools");
  if (children(tools) == NULL) return;
  writer_field(w, "tools");
  writer_json(w, "[");
  for (struct node *t = tools->child; t != NULL; t = t->next) {
    if (t != tools->child) writer_json(w, ",");
    if (normalise_is_server_tool(t)) put_server_tool(w, t);
    else put_tool(w, t);
  }
  writer_json(w, "]");
  put_tool_choice(w, open, close);
}

void openai_check_choice(struct writer *w) {
  if (writer_given(w, "tool_choice") != NULL && children(writer_given(w, "tools")) == NULL)
    writer_warn(w, "tool_choice", "there are no tools to choose from: left out");
}

/* }}} */
