/*
** bedrock.c: a canonical request as the body of POST /model/ID/converse, …/converse-stream or …/count-tokens of Amazon
** Bedrock, and the table of the format. The path says model and stream. Fields go out in a fixed order, static first,
** messages last, so that the same request gives the same bytes and a longer history only extends them. A field that the
** wire or the model's family cannot carry is left out with a warning.
** Scratch lies in the render's arena. Failure: -1 and an err.
*/
#include "bedrock.h"
#include "core/history/normalise.h"

#include <stdio.h>

#define METADATA_MAX 16

/* {{{ inferenceConfig */

static int is_number(const struct node *v) {
  return v->type == NODE_INT || (v->type == NODE_DOUBLE && v->u.d - v->u.d == 0); /* neither NaN nor infinite */
}

/* A setting of the answer, where the model takes it, or NULL. */
static const struct node *sampling(struct writer *w, const char *name, const struct bedrock_more *more) {
  const struct node *v = writer_given(w, name);
  if (v == NULL) return NULL;
  if (w->r->quirks->no_sampling) writer_warn(w, name, "the model does not take it: left out");
  else if (more->no_sampling) writer_warn_as(w, "conflicting_options", name,
                                             "a model that thinks does not take it: left out");
  else if (!is_number(v)) w->failed = err_argument(w->e, name, "finite number", "something else");
  else return v;
  return NULL;
}

/* inferenceConfig, which is not begun before its first member. */
struct inference {
  struct writer *w;
  const char *fields[4]; /* written so far */
  int n;
};

static void begin_setting(struct inference *c, const char *name) {
  if (c->n == 0) writer_field(c->w, "inferenceConfig");
  writer_json(c->w, c->n == 0 ? "{\"" : ",\"");
  writer_json(c->w, name);
  writer_json(c->w, "\":");
  c->fields[c->n++] = name;
}

static void put_stops(struct inference *c) {
  struct writer *w = c->w;
  int stops = 0, blank = 0;
  for (const struct node *v = children(writer_given(w, "stop_sequences")); v != NULL; v = v->next) {
    if (str_is_blank(node_str(v))) { blank = 1; continue; }
    if (stops == 0) begin_setting(c, "stopSequences");
    writer_json(w, stops++ == 0 ? "[" : ",");
    writer_string(w, v->s);
  }
  if (stops > 0) writer_json(w, "]");
  if (blank) writer_warn(w, "stop_sequences", "blank stop sequences were left out");
}

static int has_setting(const struct inference *c, struct str name) {
  for (int i = 0; i < c->n; i++)
    if (str_is(name, c->fields[i], strlen(c->fields[i]))) return 1;
  return 0;
}

/* Writes the other members of `extra.inferenceConfig`, sorted; takes it out of `extra`. Returns how many it wrote. */
static int put_extra_settings(const struct inference *c) {
  struct writer *w = c->w;
  struct node *extra = writer_given(w, "extra"), *more = node_get(extra, "inferenceConfig");
  int n = 0;
  if (!node_is(more, NODE_OBJECT)) return 0;
  for (const struct node *v = writer_next_extra(more, NULL); v != NULL; v = writer_next_extra(more, v)) {
    if (has_setting(c, v->key)) {
      writer_ignored(w, "inferenceConfig", v->key);
      continue;
    }
    if (c->n + n == 0) writer_field(w, "inferenceConfig");
    writer_json(w, c->n + n++ == 0 ? "{" : ",");
    writer_string(w, v->key);
    writer_json(w, ":");
    writer_sorted(w, v);
  }
  node_remove(extra, more);
  return n;
}

static void put_inference(struct writer *w, const struct bedrock_more *more) {
  const struct node *temperature = sampling(w, "temperature", more), *top_p = sampling(w, "top_p", more);
  struct inference c = { .w = w };
  if (temperature != NULL && top_p != NULL && is_family(w->r->quirks, "claude")) {
    writer_warn_as(w, "conflicting_options", "top_p", "the model does not take it beside temperature: left out");
    top_p = NULL;
  }
  if (more->max_tokens >= 0) {
    begin_setting(&c, "maxTokens");
    writer_int(w, more->max_tokens);
  }
  if (temperature != NULL) {
    begin_setting(&c, "temperature");
    writer_sorted(w, temperature);
  }
  if (top_p != NULL) {
    begin_setting(&c, "topP");
    writer_sorted(w, top_p);
  }
  put_stops(&c);
  if (put_extra_settings(&c) + c.n > 0) writer_json(w, "}");
}

/* }}} */

/* {{{ system, tools, the rest */

static void put_more(struct writer *w, const struct bedrock_more *more) {
  if (more->fields->count > 0) {
    writer_field(w, "additionalModelRequestFields");
    writer_sorted(w, more->fields);
  }
  if (!(bedrock_family(w->r->quirks) & CAN_TELL_SEQUENCE)) return;
  writer_field(w, "additionalModelResponseFieldPaths");
  writer_json(w, "[\"/delta/stop_sequence\",\"/stop_sequence\"]");
}

/* outputConfig: the answer's shape, whose schema is JSON in a string. */
static void put_output(struct writer *w) {
  const struct node *output = writer_given(w, "output"), *description = node_get(output, "description");
  struct buf schema, *body = w->r->body;
  if (node_get(output, "schema") == NULL) return;
  writer_field(w, "outputConfig");
  writer_json(w, "{\"textFormat\":{\"type\":\"json_schema\",\"structure\":{\"jsonSchema\":{\"name\":");
  writer_string(w, node_str(node_get(output, "name")));
  if (description != NULL) {
    writer_json(w, ",\"description\":");
    writer_sorted(w, description);
  }
  buf_init(&schema, body->m);
  w->r->body = &schema;
  writer_schema(w, node_get(output, "schema"), 0);
  w->r->body = body;
  writer_json(w, ",\"schema\":");
  writer_string(w, buf_str(&schema));
  buf_free(&schema);
  writer_json(w, "}}}}");
}

/* requestMetadata: strings alone. */
static void put_metadata(struct writer *w) {
  const struct node *metadata = writer_given(w, "metadata");
  int n = 0, dropped = 0;
  for (const struct node *m = writer_next_extra(metadata, NULL); m != NULL; m = writer_next_extra(metadata, m)) {
    if (!node_is(m, NODE_STRING) || n == METADATA_MAX) { dropped = 1; continue; }
    if (n == 0) writer_field(w, "requestMetadata");
    writer_json(w, n++ == 0 ? "{" : ",");
    writer_string(w, m->key);
    writer_json(w, ":");
    writer_string(w, m->s);
  }
  if (n > 0) writer_json(w, "}");
  if (dropped) writer_warn(w, "metadata", "only strings, 16 of them, can be sent: the rest was left out");
}

static void put_system(struct writer *w, const struct node *system) {
  if (system == NULL) return;
  writer_field(w, "system");
  for (const struct node *b = system->child; b != NULL; b = b->next) {
    writer_json(w, b == system->child ? "[{\"text\":" : ",{\"text\":");
    writer_string(w, node_str(node_get(b, "text")));
    writer_json(w, "}");
    bedrock_put_cache(w, b, ",");
  }
  writer_json(w, "]");
}

/* A tool of the provider's own: {type, …} as {TYPE: {…}}. */
static void put_server_tool(struct writer *w, const struct node *tool) {
  int n = 0;
  writer_json(w, "{");
  writer_string(w, node_str(node_get(tool, "type")));
  writer_json(w, ":{");
  for (const struct node *m = writer_next_extra(tool, NULL); m != NULL; m = writer_next_extra(tool, m)) {
    if (str_eq(m->key, "type") || str_eq(m->key, "cache_control")) continue;
    if (n++ > 0) writer_json(w, ",");
    writer_string(w, m->key);
    writer_json(w, ":");
    writer_sorted(w, m);
  }
  writer_json(w, "}}");
}

static void put_tool(struct writer *w, const struct node *tool) {
  struct str description = node_str(node_get(tool, "description"));
  const struct node *strict = node_get(tool, "strict");
  if (normalise_is_server_tool(tool)) { put_server_tool(w, tool); return; }
  writer_json(w, "{\"toolSpec\":{\"name\":");
  writer_string(w, node_str(node_get(tool, "name")));
  if (description.n > 0) {
    writer_json(w, ",\"description\":");
    writer_string(w, description);
  }
  writer_json(w, ",\"inputSchema\":{\"json\":");
  writer_schema(w, node_get(tool, "parameters"), 0);
  writer_json(w, "}");
  if (strict != NULL && !w->r->quirks->no_strict) {
    writer_json(w, ",\"strict\":");
    writer_sorted(w, strict);
  }
  writer_json(w, "}}");
}

/* True when the model has to call a tool. */
static int forces_tool(const struct writer *w) {
  const struct node *choice = writer_given(w, "tool_choice");
  return node_is(choice, NODE_OBJECT) || str_eq(node_str(choice), "any");
}

static void put_choice(struct writer *w) {
  const struct node *choice = writer_given(w, "tool_choice");
  if (str_eq(node_str(choice), "none")) {
    writer_warn(w, "tool_choice", "calls cannot be forbidden here: left out");
  } else if (forces_tool(w) && !(bedrock_family(w->r->quirks) & CAN_CHOOSE)) {
    writer_warn(w, "tool_choice", "the model cannot be made to call a tool: left out");
  } else if (forces_tool(w)) {
    writer_json(w, node_is(choice, NODE_OBJECT) ? ",\"toolChoice\":{\"tool\":{\"name\":" : ",\"toolChoice\":{\"any\":{");
    if (node_is(choice, NODE_OBJECT)) writer_string(w, node_str(node_get(choice, "name")));
    writer_json(w, "}}");
  }
}

/* The names in the history's calls, sorted, each as often as it is called, and how many; NULL: none, or no memory. */
static struct node **called(struct writer *w, size_t *n) {
  struct arena *a = w->r->a;
  struct node **v, **tmp;
  size_t max = 0;
  const struct node *messages = writer_given(w, "messages");
  for (const struct node *m = messages->child; m != NULL; m = m->next) max += node_get(m, "content")->count;
  v = arena_alloc(a, (max + 1) * sizeof *v);
  tmp = arena_alloc(a, (max + 1) * sizeof *tmp);
  *n = 0;
  if (v == NULL || tmp == NULL) { writer_memory(w); return NULL; }
  for (const struct node *m = messages->child; m != NULL; m = m->next)
    for (const struct node *b = node_get(m, "content")->child; b != NULL; b = b->next) {
      struct node *name = is_type(b, "tool_use") ? node_new(a, NODE_NULL) : NULL;
      if (!is_type(b, "tool_use")) continue;
      if (name == NULL) { writer_memory(w); return NULL; }
      name->key = node_str(node_get(b, "name"));
      v[(*n)++] = name;
    }
  node_sort(v, tmp, *n);
  return v;
}

/* A history with calls wants tools, also where none are offered any more: those that were called. */
static void put_called(struct writer *w) {
  size_t n;
  struct node **names = called(w, &n);
  if (names == NULL || n == 0) return;
  writer_field(w, "toolConfig");
  for (size_t i = 0; i < n; i++) {
    if (i > 0 && str_same(names[i]->key, names[i - 1]->key)) continue;
    writer_json(w, i == 0 ? "{\"tools\":[" : ",");
    writer_json(w, "{\"toolSpec\":{\"name\":");
    writer_string(w, names[i]->key);
    writer_json(w, ",\"inputSchema\":{\"json\":{\"type\":\"object\"}}}}");
  }
  writer_json(w, "]}");
}

static void put_tools(struct writer *w) {
  const struct node *tools = writer_given(w, "tools");
  if (tools == NULL) { put_called(w); return; }
  writer_field(w, "toolConfig");
  for (const struct node *t = tools->child; t != NULL; t = t->next) {
    writer_json(w, t == tools->child ? "{\"tools\":[" : ",");
    put_tool(w, t);
    if (bedrock_family(w->r->quirks) & CAN_CACHE_TOOLS) bedrock_put_cache(w, t, ",");
  }
  writer_json(w, "]");
  put_choice(w);
  writer_json(w, "}");
}

/* }}} */

/* {{{ the whole */

/* The types of tools that are the provider's own. */
static const char *const SERVER_TOOLS[] = { "systemTool", NULL };

/* The model does not continue an answer: an assistant message at the end is refused. */
static int check_end(struct writer *w, size_t count) {
  char field[32];
  if (!w->r->quirks->no_prefill || !anthropic_prefilled(writer_given(w, "messages"))) return 0;
  (void)snprintf(field, sizeof field, "messages[%zu]", count);
  return err_argument(w->e, field, "a user message at the end (the model does not continue an answer)",
                      "an assistant message");
}

/* Puts the history in order; *system is NULL where there is none, or where it stands in the first message. */
static int prepare(struct writer *w, struct node **system) {
  struct render *r = w->r;
  struct err *e = w->e;
  const struct norm norm = {
    .origin = codec_origin(r, &codec_bedrock), .drop_blank_text = 1, .merge_blocks = 1, .results_first = 1,
    .id_chars = strcmp(r->quirks->tool_id, "alnum9") == 0 ? "alnum9" : "word-.:", .id_max = 64
  };
  int had_choice = writer_given(w, "tool_choice") != NULL;
  size_t count;
  if (normalise_check(r->request, e) != 0 || codec_server_tools(r->request, SERVER_TOOLS, e) != 0) return -1;
  count = writer_given(w, "messages")->count;
  if (writer_check_media(w, MEDIA_FILE_URLS | MEDIA_CITATIONS) != 0 || bedrock_prepare(w) != 0 ||
      normalise_messages(r->a, r->request, &norm, e) != 0 ||
      normalise_tools(r->a, r->request, r->quirks->no_additional_properties, e) != 0 ||
      normalise_system(r->a, r->request, system, e) != 0 || bedrock_arrange(w) != 0 || check_end(w, count) != 0)
    return -1;
  if (had_choice && writer_given(w, "tool_choice") == NULL)
    writer_warn(w, "tool_choice", "there are no tools to choose from: left out");
  if (strcmp(r->quirks->system_role, "user") == 0) {
    bedrock_lead(writer_given(w, "messages"), *system);
    *system = NULL;
  }
  return bedrock_cache(w, *system);
}

static int put_path(struct writer *w, const char *action) {
  if (buf_adds(w->r->path, "/model/") != 0) return err_memory(w->e);
  writer_path(w, "model", node_str(writer_given(w, "model")));
  if (w->failed) return -1;
  return buf_adds(w->r->path, action) == 0 ? 0 : err_memory(w->e);
}

static int render(struct render *r, struct err *e) {
  struct writer w = { .r = r, .e = e };
  struct bedrock_more more;
  struct node *system;
  int stream = node_is(writer_given(&w, "stream"), NODE_TRUE);
  if (put_path(&w, stream ? "/converse-stream" : "/converse") != 0 || prepare(&w, &system) != 0 ||
      bedrock_more(&w, forces_tool(&w) && bedrock_family(r->quirks) & CAN_CHOOSE, &more) != 0)
    return -1;
  writer_json(&w, "{");
  put_inference(&w, &more);
  put_more(&w, &more);
  put_output(&w);
  put_metadata(&w);
  put_system(&w, system);
  put_tools(&w);
  writer_extra(&w, "messages");
  writer_field(&w, "messages");
  bedrock_put_messages(&w, writer_given(&w, "messages"));
  writer_json(&w, "}");
  return w.failed ? -1 : 0;
}

static int render_count(struct render *r, struct err *e) {
  struct writer w = { .r = r, .e = e };
  struct node *system;
  if (put_path(&w, "/count-tokens") != 0 || prepare(&w, &system) != 0) return -1;
  writer_json(&w, "{\"input\":{\"converse\":{");
  put_system(&w, system);
  put_tools(&w);
  writer_field(&w, "messages");
  bedrock_put_messages(&w, writer_given(&w, "messages"));
  writer_json(&w, "}}}");
  return w.failed ? -1 : 0;
}

/* }}} */

static const char *const UNREAD[] = { "p", NULL }; /* padding */

static const char *const OPTIONS[] = { "betas", "cache_retention", "extra", "max_tokens", "metadata", "output",
                                       "stop_sequences", "system", "temperature", "thinking", "tool_choice", "tools",
                                       "top_k", "top_p", NULL };

const struct codec codec_bedrock = {
  .name = "bedrock",
  .state_size = sizeof(struct bedrock),
  .framing = &framing_eventstream,
  .id_in_header = 1,
  .error_header = "x-amzn-errortype",
  .options = OPTIONS,
  .render = render,
  .render_count = render_count,
  .init = bedrock_init,
  .free = bedrock_free,
  .parse_record = bedrock_parse_record,
  .parse_text = bedrock_parse_text,
  .unread = UNREAD,
  .parse_body = bedrock_parse_body,
  .parse_end = bedrock_parse_end,
  .read_error = bedrock_read_error,
  .ended = bedrock_ended
};
