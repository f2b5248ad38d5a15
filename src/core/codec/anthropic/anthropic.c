/*
** anthropic.c: a canonical request as the body of POST /v1/messages, and the table of the Anthropic Messages
** format. Fields go out in a fixed order, static first, messages last, so that the same request gives the same bytes
** and a longer history only extends them. A field that the wire cannot carry is left out with a warning.
** Scratch lies in the render's arena. Failure: -1 and an err.
*/
#include "anthropic.h"
#include "core/codec/shared/effort.h"
#include "core/history/normalise.h"

#include <stdio.h>

#define MAX_TOKENS 8192  /* where neither the caller nor the model's row says anything */

/* {{{ settings */

/* A whole number from 0 on; -1 where there is none. */
static int64_t whole_number(const struct node *v) {
  if (node_is(v, NODE_INT)) return v->u.i;
  if (!node_is(v, NODE_DOUBLE) || !(v->u.d >= 0 && v->u.d < 1e15)) return -1;
  return v->u.d == (double)(int64_t)v->u.d ? (int64_t)v->u.d : -1;
}

static int ceiling(const struct writer *w, int64_t *max_tokens) {
  const struct node *asked = writer_given(w, "max_tokens");
  *max_tokens = whole_number(asked != NULL ? asked : writer_given(w, "max_output"));
  if (*max_tokens >= 0) return 0;
  *max_tokens = MAX_TOKENS;
  return asked == NULL ? 0 : err_argument(w->e, "max_tokens", "integer, 0 or more", "something else");
}

static int is_number(const struct node *v) {
  return v->type == NODE_INT || (v->type == NODE_DOUBLE && v->u.d - v->u.d == 0); /* neither NaN nor infinite */
}

/* temperature, top_p and top_k, where the model takes them. */
static void put_sampling(struct writer *w, const struct anthropic_thinking *t) {
  static const char *const SAMPLING[] = { "temperature", "top_p", "top_k" };
  for (int i = 0; i < 3; i++) {
    const struct node *v = writer_given(w, SAMPLING[i]);
    if (v == NULL) continue;
    if (w->r->quirks->no_sampling) writer_warn(w, SAMPLING[i], "the model does not take it: left out");
    else if (t->active)
      writer_warn_as(w, "conflicting_options", SAMPLING[i], "a model that thinks does not take it: left out");
    else if (!is_number(v)) w->failed = err_argument(w->e, SAMPLING[i], "finite number", "something else");
    else {
      writer_field(w, SAMPLING[i]);
      writer_sorted(w, v);
    }
  }
}

/* Stop sequences; the wire refuses blank ones. */
static void put_stops(struct writer *w) {
  const struct node *list = writer_given(w, "stop_sequences");
  int n = 0, blank = 0;
  if (w->r->quirks->no_stop && list != NULL) {
    writer_warn(w, "stop_sequences", "the model does not heed stop sequences: left out");
    return;
  }
  for (const struct node *v = list != NULL ? list->child : NULL; v != NULL; v = v->next) {
    if (str_is_blank(node_str(v))) { blank = 1; continue; }
    if (n == 0) writer_field(w, "stop_sequences");
    writer_json(w, n++ == 0 ? "[" : ",");
    writer_string(w, v->s);
  }
  if (n > 0) writer_json(w, "]");
  if (blank) writer_warn(w, "stop_sequences", "blank stop sequences were left out");
}

/* }}} */

/* {{{ system, tools */

/* A member of a tool, where it was given. */
static void put_member(struct writer *w, const char *before, const struct node *v) {
  if (v == NULL) return;
  writer_json(w, before);
  writer_sorted(w, v);
}

/* A string where one text without a marker is all there is, else blocks. */
static void put_system(struct writer *w, const struct node *system) {
  if (system == NULL) return;
  writer_field(w, "system");
  if (system->count == 1 && node_get(system->child, "cache_control") == NULL) {
    writer_string(w, node_str(node_get(system->child, "text")));
    return;
  }
  for (const struct node *b = system->child; b != NULL; b = b->next) {
    writer_json(w, b == system->child ? "[{\"type\":\"text\",\"text\":" : ",{\"type\":\"text\",\"text\":");
    writer_string(w, node_str(node_get(b, "text")));
    anthropic_put_cache(w, b);
    writer_json(w, "}");
  }
  writer_json(w, "]");
}

static void put_tools(struct writer *w) {
  const struct node *tools = writer_given(w, "tools");
  if (tools == NULL) return;
  writer_field(w, "tools");
  for (const struct node *t = tools->child; t != NULL; t = t->next) {
    struct str description = node_str(node_get(t, "description"));
    writer_json(w, t == tools->child ? "[" : ",");
    if (normalise_is_server_tool(t)) {
      writer_sorted(w, t);
      continue;
    }
    writer_json(w, "{\"name\":");
    writer_string(w, node_str(node_get(t, "name")));
    if (description.n > 0) {
      writer_json(w, ",\"description\":");
      writer_string(w, description);
    }
    writer_json(w, ",\"input_schema\":");
    writer_schema(w, node_get(t, "parameters"), 0);
    put_member(w, ",\"strict\":", node_get(t, "strict"));
    anthropic_put_cache(w, t);
    writer_json(w, "}");
  }
  writer_json(w, "]");
}

/* Takes extra.parallel_tool_calls, which is a member of the choice here. True when it asks for one call at a time. */
static int takes_single(struct writer *w) {
  struct node *extra = writer_given(w, "extra"), *given = node_get(extra, "parallel_tool_calls");
  if (!node_is(given, NODE_FALSE) && !node_is(given, NODE_TRUE)) return 0;
  node_remove(extra, given);
  return node_is(given, NODE_FALSE) && children(writer_given(w, "tools")) != NULL;
}

static void put_tool_choice(struct writer *w) {
  const struct node *choice = writer_given(w, "tool_choice");
  struct str word = choice == NULL ? STR("auto") : choice->type == NODE_STRING ? choice->s : STR("tool");
  int single = takes_single(w);
  if (choice == NULL && (!single || node_get(writer_given(w, "extra"), "tool_choice") != NULL)) return;
  writer_field(w, "tool_choice");
  writer_json(w, "{\"type\":");
  writer_string(w, word);
  put_member(w, ",\"name\":", node_get(choice, "name"));
  writer_json(w, single && !str_eq(word, "none") ? ",\"disable_parallel_tool_use\":true}" : "}");
}

/* True when the model has to call a tool. */
static int forces_tool(const struct writer *w) {
  const struct node *choice = writer_given(w, "tool_choice");
  return node_is(choice, NODE_OBJECT) || str_eq(node_str(choice), "any");
}

/* }}} */

/* {{{ the rest */

/* Writes the field that llama.cpp's server hands to the model's template: of `thinking` it only heeds a budget. */
static void put_template(struct writer *w, const struct anthropic_thinking *t) {
  if (t->mode == THINKING_UNSAID || !effort_is_templated(w->r->quirks)) return;
  writer_field(w, "chat_template_kwargs");
  effort_template(w, t->mode != THINKING_DISABLED);
}

static void put_thinking(struct writer *w, const struct anthropic_thinking *t) {
  if (t->mode != THINKING_UNSAID) writer_field(w, "thinking");
  if (t->mode == THINKING_DISABLED) writer_json(w, "{\"type\":\"disabled\"}");
  if (t->mode == THINKING_ADAPTIVE) writer_json(w, "{\"type\":\"adaptive\"}");
  if (t->mode == THINKING_BUDGET) {
    writer_json(w, "{\"type\":\"enabled\",\"budget_tokens\":");
    writer_int(w, t->budget);
    writer_json(w, "}");
  }
}

/* output_config: how much the model thinks, the shape of its answer, and what the caller adds there. */
static void put_output(struct writer *w, const struct anthropic_thinking *t) {
  const struct node *schema = node_get(writer_given(w, "output"), "schema");
  if (t->effort == NULL && schema == NULL) return;
  writer_field(w, "output_config");
  writer_json(w, "{");
  if (t->effort != NULL) {
    writer_json(w, "\"effort\":");
    writer_word(w, t->effort);
  }
  if (schema != NULL) {
    writer_json(w, t->effort != NULL ? "," : "");
    writer_json(w, "\"format\":{\"type\":\"json_schema\",\"schema\":");
    writer_schema(w, schema, 0);
    writer_json(w, "}");
  }
  writer_extra_members(w, "output_config", t->effort != NULL ? "effort" : NULL, schema != NULL ? "format" : NULL);
  writer_json(w, "}");
}

/* The wire knows one key, user_id, and only as a string. */
static void put_metadata(struct writer *w) {
  const struct node *metadata = writer_given(w, "metadata"), *user = node_get(metadata, "user_id");
  char digits[24];
  struct str s = node_str(user);
  if (node_is(user, NODE_INT)) {
    int n = snprintf(digits, sizeof digits, "%lld", (long long)user->u.i);
    s = (struct str){ digits, (size_t)n };
  }
  if (s.n > 0) {
    writer_field(w, "metadata");
    writer_json(w, "{\"user_id\":");
    writer_string(w, s);
    writer_json(w, "}");
  }
  if (metadata != NULL && metadata->count > (s.n > 0 ? 1u : 0u))
    writer_warn(w, "metadata", "only user_id, a string, can be sent: the rest was left out");
}

/* Writes the caller's own fields. Only a number can fail to be written there. */
static void put_extra(struct writer *w) {
  int failed = w->failed;
  writer_extra(w, "messages");
  if (!failed && w->failed && w->e->kind == KIND_ARGUMENT)
    err_argument(w->e, "extra", "finite numbers", "NaN or infinity");
}

/* }}} */

/* {{{ the whole */

/* The types of tools that are the provider's own; all of them are dated, but for those told without a name. */
static const char *const SERVER_TOOLS[] = {
  "advisor_", "bash_", "browser_toolset_", "code_execution_", "computer_", "computer_toolset_", "mcp_toolset", "memory_",
  "text_editor_", "tool_search_tool_bm25", "tool_search_tool_regex", "web_fetch_", "web_search_", NULL
};

/* Puts the history in order, decides where it is cached. */
static int prepare(struct writer *w, const struct anthropic_host *host, struct node **system) {
  struct render *r = w->r;
  struct err *e = w->e;
  struct norm norm = {
    .origin = codec_origin(r, host->codec), .signed_thinking = !r->quirks->unsigned_thinking,
    .drop_blank_text = 1, .merge_blocks = 1, .results_first = 1, .id_chars = "word-"
  };
  size_t count;
  char field[32];
  if (normalise_check(r->request, e) != 0 || codec_server_tools(r->request, SERVER_TOOLS, e) != 0) return -1;
  count = writer_given(w, "messages")->count;
  if (writer_check_media(w, host->media) != 0 || anthropic_prepare(w) != 0 ||
      normalise_messages(r->a, r->request, &norm, e) != 0 || normalise_tools(r->a, r->request, 0, e) != 0 ||
      normalise_system(r->a, r->request, system, e) != 0)
    return -1;
  if (r->quirks->no_prefill && anthropic_prefilled(writer_given(w, "messages"))) {
    snprintf(field, sizeof field, "messages[%zu]", count);
    return err_argument(e, field, "a user message at the end (the model does not continue an answer)",
                        "an assistant message");
  }
  return anthropic_cache(r, *system, e);
}

/* Writes the fields between the model's thinking and the messages; counting tokens takes none of them. */
static void put_rest(struct writer *w, const struct anthropic_host *host, struct str container) {
  put_metadata(w);
  if (!host->stream_in_path && node_is(writer_given(w, "stream"), NODE_TRUE)) {
    writer_field(w, "stream");
    writer_json(w, "true");
  }
  if (container.n > 0) {
    writer_field(w, "container");
    writer_string(w, container);
  }
  put_extra(w);
}

/* Writes the target of the body: the model, unless the path says it, and what stands for it then. */
static int put_target(struct writer *w, const struct anthropic_host *host, int count) {
  if (host->version != NULL) writer_field_word(w, "anthropic_version", host->version);
  if (host->version == NULL || count) {
    writer_field(w, "model");
    writer_string(w, node_str(writer_given(w, "model")));
  }
  return anthropic_put_betas(w, host->betas_in_body);
}

int anthropic_render_body(struct render *r, const struct anthropic_host *host, int count, struct err *e) {
  struct writer w = { .r = r, .e = e };
  struct anthropic_thinking thinking;
  struct node *system;
  int64_t max_tokens;
  struct str container = STR_NONE;
  int had_choice = writer_given(&w, "tool_choice") != NULL;
  if (prepare(&w, host, &system) != 0 || ceiling(&w, &max_tokens) != 0) return -1;
  if (anthropic_think(r, forces_tool(&w), &max_tokens, &thinking, e) != 0) return -1;
  if (!count && anthropic_container(r, &container, e) != 0) return -1;
  if (had_choice && writer_given(&w, "tool_choice") == NULL)
    writer_warn(&w, "tool_choice", "there are no tools to choose from: left out");
  writer_json(&w, "{");
  if (put_target(&w, host, count) != 0) return -1;
  if (!count) {
    writer_field(&w, "max_tokens");
    writer_int(&w, max_tokens);
    put_sampling(&w, &thinking);
    put_stops(&w);
  }
  put_system(&w, system);
  put_tools(&w);
  put_tool_choice(&w);
  put_thinking(&w, &thinking);
  put_output(&w, &thinking);
  put_template(&w, &thinking);
  if (!count) put_rest(&w, host, container);
  writer_field(&w, "messages");
  anthropic_put_messages(&w, writer_given(&w, "messages"));
  writer_json(&w, "}");
  return w.failed ? -1 : 0;
}

/* The path has the model; that of a count has its name there, and the body the model. */
static int put_predict_path(struct render *r, int count, struct err *e) {
  struct writer w = { .r = r, .e = e };
  int stream = node_is(writer_given(&w, "stream"), NODE_TRUE);
  if (buf_adds(r->path, "/models/") != 0) return err_memory(e);
  writer_path(&w, "model", count ? STR("count-tokens") : node_str(writer_given(&w, "model")));
  if (w.failed) return -1;
  return buf_adds(r->path, stream && !count ? ":streamRawPredict" : ":rawPredict") == 0 ? 0 : err_memory(e);
}

/* `path` has a version, "/v1", which the route may leave out. */
static int put_path(struct render *r, const char *path, struct err *e) {
  if (strcmp(r->quirks->route, "unversioned") == 0) path = strchr(path + 1, '/');
  return buf_adds(r->path, path) == 0 ? 0 : err_memory(e);
}

static int render_as(struct render *r, int count, struct err *e) {
  static const struct anthropic_host OWN = { .codec = &codec_anthropic, .media = MEDIA_FILE_URLS | MEDIA_CITATIONS };
  static const struct anthropic_host PREDICT = {
    .codec = &codec_anthropic, .version = "vertex-2023-10-16", .media = MEDIA_FILE_URLS | MEDIA_CITATIONS
  };
  int predict = strcmp(r->quirks->route, "raw_predict") == 0;
  if ((predict ? put_predict_path(r, count, e)
               : put_path(r, count ? "/v1/messages/count_tokens" : "/v1/messages", e)) != 0)
    return -1;
  return anthropic_render_body(r, predict ? &PREDICT : &OWN, count, e);
}

static int render(struct render *r, struct err *e) { return render_as(r, 0, e); }

static int render_count(struct render *r, struct err *e) { return render_as(r, 1, e); }

/* }}} */

/* In the order of enum anthropic_remedy. The provider answers 500 for a container that it does not restore
** (pydantic-ai#7833). */
const struct remedy anthropic_remedies[] = {
  { .without = "no_container", .says = "container" },
  { .without = "no_container", .status = 500 },
  { NULL, NULL, NULL, 0, 0 }
};

const char *const anthropic_options[] = {
  "betas", "cache_retention", "extra", "max_tokens", "metadata", "output", "stop_sequences", "system", "temperature",
  "thinking", "tool_choice", "tools", "top_k", "top_p", NULL
};

const struct codec codec_anthropic = {
  .name = "anthropic",
  .state_size = sizeof(struct anthropic),
  .framing = &framing_sse,
  .options = anthropic_options,
  .remedies = anthropic_remedies,
  .render = render,
  .render_count = render_count,
  .init = anthropic_init,
  .free = anthropic_free,
  .parse_record = anthropic_parse_record,
  .parse_text = anthropic_parse_text,
  .parse_body = anthropic_parse_body,
  .parse_end = anthropic_parse_end,
  .ended = anthropic_ended
};
