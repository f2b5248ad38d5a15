/*
** ollama.c: renders a canonical request as the body of POST /api/chat, and the table of Ollama's native format. Known
** fields go out in a fixed order, static first and the messages last, so that the same request gives the same bytes and
** a longer history only extends them.
** Writes to the caller's body; scratch lies in the caller's arena. Failure: -1 and an err.
*/
#include "ollama.h"
#include "core/codec/shared/openai.h"
#include "core/history/normalise.h"

/* {{{ settings */

/* The member of `extra` with this name, taken out: it has a place of its own. NULL where there is none. */
static const struct node *take_extra(struct writer *w, const char *name) {
  struct node *extra = writer_given(w, "extra"), *v = node_get_(extra, name, strlen(name));
  if (v != NULL) node_remove(extra, v);
  return v;
}

static void put_extra(struct writer *w, const char *name) {
  const struct node *v = take_extra(w, name);
  if (v == NULL) return;
  writer_field(w, name);
  writer_sorted(w, v);
}

/* Whether to think, or how much. Left out, it means yes. A model whose mode is "effort" thinks always. */
static void put_think(struct writer *w) {
  const struct node *thinking = writer_given(w, "thinking");
  int off = thinking == NULL || node_is(thinking, NODE_FALSE) || str_eq(node_str(thinking), "none");
  int always = str_eq(node_str(writer_given(w, "thinking_mode")), "effort");
  if (openai_no_effort(w) || writer_given(w, "no_thinking") != NULL) {
    if (!off) writer_warn(w, "thinking", "the model does not think: left out");
  } else if (!off) {
    w->r->remedies |= 1;
    writer_field_word(w, "think", openai_effort(w, thinking));
  } else if (always) {
    if (thinking != NULL) writer_adjusted(w, "thinking", "the model thinks always: it was told to think little");
    writer_field_word(w, "think", "low");
  } else {
    writer_field(w, "think");
    writer_json(w, "false");
  }
}

/* Begins a member of `options` and remembers it for what the caller adds. */
static void begin_option(struct writer *w, struct node *more, const char *name, int *any) {
  struct node *other = node_get_(more, name, strlen(name));
  writer_json(w, *any ? ",\"" : "{\"");
  writer_json(w, name);
  writer_json(w, "\":");
  *any = 1;
  if (other == NULL) return;
  node_remove(more, other);
  writer_ignored(w, "options", (struct str){ name, strlen(name) });
}

static const struct { const char *given, *name; } OPTIONS[] = {
  { "max_tokens", "num_predict" }, { "stop_sequences", "stop" }, { "seed", "seed" }, { "temperature", "temperature" },
  { "top_p", "top_p" }, { "top_k", "top_k" }, { "min_p", "min_p" }
};
enum { SAMPLING = 3 }; /* the first of those that a model may refuse */

/* The options that the call has, but for those that the model refuses. */
static void put_given(struct writer *w, struct node *more, int *any) {
  for (size_t i = 0; i < sizeof OPTIONS / sizeof OPTIONS[0]; i++) {
    const struct node *v = writer_given(w, OPTIONS[i].given);
    if (v == NULL || (node_is(v, NODE_ARRAY) && v->count == 0)) continue;
    if (i >= SAMPLING && w->r->quirks->no_sampling) {
      writer_warn(w, OPTIONS[i].given, "the model refuses it: left out");
      continue;
    }
    begin_option(w, more, OPTIONS[i].name, any);
    writer_sorted(w, v);
  }
}

/* `options`: settings of the model; those that the caller adds stand behind. */
static void put_options(struct writer *w) {
  struct node *more = node_get(writer_given(w, "extra"), "options");
  int any = 0, own = w->r->quirks->context_window > 0;
  for (size_t i = 0; i < sizeof OPTIONS / sizeof OPTIONS[0]; i++) own |= writer_given(w, OPTIONS[i].given) != NULL;
  if (more != NULL && (more->type != NODE_OBJECT || more->count == 0)) {
    if (node_is(more, NODE_OBJECT) || (node_is(more, NODE_ARRAY) && more->count == 0))
      (void)take_extra(w, "options"); /* an empty table of Lua may be an array */
    more = NULL;                      /* anything else stays, and is warned of where it has no place */
  }
  if (!own && more == NULL) return;
  writer_field(w, "options");
  /* The caller's own size goes before the adapter's. */
  if (w->r->quirks->context_window > 0 && node_get(more, "num_ctx") == NULL) {
    begin_option(w, more, "num_ctx", &any);
    writer_int(w, w->r->quirks->context_window);
  }
  put_given(w, more, &any);
  for (const struct node *v = writer_next_extra(more, NULL); v != NULL; v = writer_next_extra(more, v)) {
    writer_json(w, any ? "," : "{");
    any = 1;
    writer_string(w, v->key);
    writer_json(w, ":");
    writer_sorted(w, v);
  }
  writer_json(w, any ? "}" : "{}");
  if (more != NULL) (void)take_extra(w, "options");
}

/* Whether likelihoods are told, and of how many alternatives to each token. */
static void put_logprobs(struct writer *w) {
  int n = writer_logprobs(w);
  if (n < 0) return;
  writer_field(w, "logprobs");
  writer_json(w, "true");
  if (n == 0) return;
  writer_field(w, "top_logprobs");
  writer_int(w, n);
}

/* The answer's shape: a schema, or any object. */
static void put_output(struct writer *w) {
  const struct node *output = writer_given(w, "output"), *schema = node_get(output, "schema");
  if (output == NULL) { put_extra(w, "format"); return; }
  writer_field(w, "format");
  if (schema != NULL) writer_schema(w, schema, 0);
  else writer_word(w, "json");
}

static void put_settings(struct writer *w) {
  writer_field(w, "model");
  writer_string(w, node_str(writer_given(w, "model")));
  writer_field(w, "stream"); /* left out, it means true */
  writer_json(w, node_is(writer_given(w, "stream"), NODE_TRUE) ? "true" : "false");
  put_think(w);
  put_output(w);
  put_extra(w, "keep_alive");
  put_options(w);
  put_logprobs(w);
}

/* }}} */

/* {{{ tools */

/* This wire has no choice of tools: those that shall not be called are left out. Called while `tools` is the caller's. */
static void choose_tools(struct writer *w) {
  struct node *tools = writer_given(w, "tools"), *choice = writer_given(w, "tool_choice"), *next;
  struct str name = node_str(node_get(choice, "name"));
  int none = str_eq(node_str(choice), "none");
  openai_check_choice(w);
  if (children(tools) == NULL || choice == NULL || str_eq(node_str(choice), "auto")) return;
  if (!none) writer_warn(w, "tool_choice", "this wire format cannot force a call: left out");
  for (struct node *t = tools->child; t != NULL; t = next) {
    next = t->next;
    if (none || (name.n > 0 && !normalise_is_chosen(t, name))) node_remove(tools, t);
  }
}

static void put_tool(struct writer *w, const struct node *tool) {
  openai_function(w, "{\"type\":\"function\",\"function\":{\"name\":", tool);
  writer_json(w, "}}");
}

static void put_tools(struct writer *w) {
  const struct node *tools = writer_given(w, "tools");
  int strict = 0;
  if (children(tools) == NULL) return;
  writer_field(w, "tools");
  writer_json(w, "[");
  for (const struct node *t = tools->child; t != NULL; t = t->next) {
    if (t != tools->child) writer_json(w, ",");
    if (normalise_is_server_tool(t)) writer_sorted(w, t);
    else put_tool(w, t);
    strict |= node_is(node_get(t, "strict"), NODE_TRUE);
  }
  writer_json(w, "]");
  if (strict) writer_warn(w, "tools", "this wire format has no strict tools: left out");
}

/* Tool schemas as the server's templates know them. */
static int rewrite_tools(struct writer *w) {
  for (struct node *t = children(writer_given(w, "tools")) == NULL ? NULL : writer_given(w, "tools")->child; t != NULL;
       t = t->next) {
    struct node *marker = node_get(t, "cache_control"); /* it is not cached here (N16) */
    if (marker != NULL) node_remove(t, marker);
    if (!normalise_is_server_tool(t) && ollama_schema(w->r->a, node_get(t, "parameters"), w->e) != 0) return -1;
  }
  return 0;
}

/* }}} */

/* {{{ the whole */

static const char *const SERVER_TOOLS[] = { NULL };

/* Puts the tree in order: history, system prompt, schemas. */
static int prepare(struct writer *w, struct node **system) {
  const struct norm norm = {
    .origin = codec_origin(w->r, &codec_ollama), .merge_text = 1, .results_first = 1, .result_names = 1
  };
  if (normalise_check(w->r->request, w->e) != 0 || codec_server_tools(w->r->request, SERVER_TOOLS, w->e) != 0 ||
      writer_check_media(w, 0) != 0 || ollama_check_media(w) != 0)
    return -1;
  choose_tools(w);
  if (normalise_messages(w->r->a, w->r->request, &norm, w->e) != 0 ||
      normalise_system(w->r->a, w->r->request, system, w->e) != 0 ||
      normalise_tools(w->r->a, w->r->request, 0, w->e) != 0)
    return -1;
  return rewrite_tools(w);
}

static int ollama_render(struct render *r, struct err *e) {
  struct writer w = { .r = r, .e = e };
  struct node *system = NULL;
  if (buf_adds(r->path, "/api/chat") != 0) return err_memory(e);
  if (prepare(&w, &system) != 0) return -1;
  writer_json(&w, "{");
  put_settings(&w);
  put_tools(&w);
  writer_no_parallel(&w, "the server cannot be told to make one call at a time: parallel_tool_calls was left out");
  writer_extra(&w, "messages");
  openai_unsupported(&w);
  if (children(writer_given(&w, "metadata")) != NULL)
    writer_warn(&w, "metadata", "this wire format has no metadata: left out");
  writer_field(&w, "messages");
  ollama_put_messages(&w, system);
  writer_json(&w, "}");
  return w.failed ? -1 : 0;
}

/* }}} */

/* A model that does not think refuses to be told how much; none refuses to be told not to. */
static const struct remedy REMEDIES[] = {
  { .without = "no_thinking", .says = "does not support thinking", .status = 400, .lasts = 1 },
  { NULL, NULL, NULL, 0, 0 }
};

static const char *const SENT[] = { "betas", "cache_retention", "extra", "logprobs", "max_tokens", "metadata", "min_p",
                                    "output", "seed", "stop_sequences", "system", "temperature", "thinking",
                                    "tool_choice", "tools", "top_k", "top_p", NULL };

static const char *const UNREAD[] = { "created_at", NULL };

const struct codec codec_ollama = {
  .name = "ollama",
  .state_size = sizeof(struct ollama),
  .framing = &framing_ndjson,
  .remedies = REMEDIES,
  .options = SENT,
  .render = ollama_render,
  .render_count = NULL,
  .init = ollama_init,
  .free = ollama_free,
  .parse_record = ollama_parse_record,
  .parse_text = ollama_parse_text,
  .unread = UNREAD,
  .parse_body = ollama_parse_body,
  .parse_end = ollama_parse_end,
  .ended = ollama_ended,
  .read_error = ollama_read_error,
};
