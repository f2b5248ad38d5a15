/*
** gemini.c: a canonical request as path and body of generateContent, streamGenerateContent and countTokens, and the table
** of the Gemini format. The model and what is asked of it stand in the path. Fields go out in a fixed order, static
** first and the contents last, so that the same request gives the same bytes and a longer history only extends them.
** Scratch lies in the render's arena. Failure: -1 and an err.
*/
#include "gemini.h"

#define STOPS_MAX 5 /* stop sequences */

/* The bit of render.remedies: that logprobs were asked for, which some models refuse ("Logprobs is not supported for this
** model", GoogleCloudPlatform/generative-ai#2947). */
enum { REMEDY_LOGPROBS = 1 };

/* {{{ path */

/* Returns the prefix of a model's name: nothing where the name says where it is. */
static const char *collection(struct str model) {
  return model.n > 0 && memchr(model.p, '/', model.n) != NULL ? "" : "models/";
}

static int put_path(struct render *r, const char *verb, struct err *e) {
  struct writer w = { .r = r, .e = e };
  struct str rest = node_str(node_get(r->request, "model"));
  if (buf_adds(r->path, "/") != 0 || buf_adds(r->path, collection(rest)) != 0) writer_memory(&w);
  while (rest.n > 0) {
    const char *slash = memchr(rest.p, '/', rest.n);
    struct str segment = { rest.p, slash != NULL ? (size_t)(slash - rest.p) : rest.n };
    size_t n = segment.n + (slash != NULL);
    writer_path(&w, "model", segment);
    if (slash != NULL && !w.failed && buf_addc(r->path, '/') != 0) writer_memory(&w);
    rest = (struct str){ rest.p + n, rest.n - n };
  }
  if (!w.failed && buf_adds(r->path, verb) != 0) writer_memory(&w);
  return w.failed ? -1 : 0;
}

/* The request that tokens are counted of names its model. */
static void put_model(struct writer *w) {
  struct str model = node_str(writer_given(w, "model"));
  const char *before = collection(model);
  size_t n = strlen(before);
  char *p = arena_alloc(w->r->a, n + model.n + 1);
  if (p == NULL) { writer_memory(w); return; }
  memcpy(p, before, n);
  if (model.n > 0) memcpy(p + n, model.p, model.n);
  writer_field(w, "model");
  writer_string(w, (struct str){ p, n + model.n });
}

/* }}} */

/* {{{ generationConfig */

static void put_setting(struct gemini_config *c, const char *option, const char *name) {
  const struct node *v = writer_given(c->w, option);
  if (v == NULL) return;
  gemini_config_field(c, name);
  writer_sorted(c->w, v);
}

static void put_stops(struct gemini_config *c) {
  int n = 0;
  for (const struct node *v = children(writer_given(c->w, "stop_sequences")); v != NULL && n < STOPS_MAX; v = v->next) {
    if (n == 0) gemini_config_field(c, "stopSequences");
    writer_json(c->w, n++ == 0 ? "[" : ",");
    writer_sorted(c->w, v);
    if (n == STOPS_MAX && v->next != NULL)
      writer_adjusted(c->w, "stop_sequences", "the provider takes five of them: the first were sent");
  }
  if (n > 0) writer_json(c->w, "]");
}

static int has_field(const struct gemini_config *c, struct str name) {
  for (int i = 0; i < c->n; i++)
    if (str_is(name, c->fields[i], strlen(c->fields[i]))) return 1;
  return 0;
}

/* Whether likelihoods are told, and of how many alternatives to each token. */
static void put_logprobs(struct gemini_config *c) {
  int n = writer_logprobs(c->w);
  if (n < 0) return;
  c->w->r->remedies |= REMEDY_LOGPROBS;
  gemini_config_field(c, "responseLogprobs");
  writer_json(c->w, "true");
  if (n == 0) return;
  gemini_config_field(c, "logprobs");
  writer_int(c->w, n);
}

/* Settings that `extra` may have by the names that other wires give them, where they would be refused. */
static void put_more_settings(struct gemini_config *c) {
  static const struct { const char *option, *name; } MORE[] = {
    { "top_k", "topK" }, { "seed", "seed" }, { "presence_penalty", "presencePenalty" },
    { "frequency_penalty", "frequencyPenalty" }
  };
  struct node *extra = writer_given(c->w, "extra");
  for (size_t i = 0; i < sizeof MORE / sizeof *MORE; i++) {
    struct node *v = node_get_(extra, MORE[i].option, strlen(MORE[i].option));
    if (v == NULL) continue;
    if (has_field(c, (struct str){ MORE[i].name, strlen(MORE[i].name) })) {
      writer_ignored(c->w, NULL, v->key);
    } else {
      gemini_config_field(c, MORE[i].name);
      writer_sorted(c->w, v);
    }
    node_remove(extra, v);
  }
}

/* The answer's shape. */
static void put_output(struct gemini_config *c) {
  const struct node *output = writer_given(c->w, "output"), *schema = node_get(output, "schema");
  if (output == NULL) return;
  gemini_config_field(c, "responseMimeType");
  writer_json(c->w, "\"application/json\"");
  if (schema == NULL) return;
  gemini_config_field(c, c->w->r->quirks->openapi_schema ? "responseSchema" : "responseJsonSchema");
  writer_schema(c->w, schema, 1);
}

/* Writes the other members of `extra.generationConfig`, sorted. */
static void put_extra_config(struct gemini_config *c) {
  struct node *extra = writer_given(c->w, "extra"), *more = node_get(extra, "generationConfig");
  int n = 0;
  if (!node_is(more, NODE_OBJECT)) return;
  for (const struct node *v = writer_next_extra(more, NULL); v != NULL; v = writer_next_extra(more, v)) {
    if (has_field(c, v->key)) {
      writer_ignored(c->w, "generationConfig", v->key);
      continue;
    }
    if (c->n + n == 0) writer_field(c->w, "generationConfig");
    writer_json(c->w, c->n + n++ == 0 ? "{" : ",");
    writer_string(c->w, v->key);
    writer_json(c->w, ":");
    writer_sorted(c->w, v);
  }
  c->more = n;
  node_remove(extra, more);
}

static void put_config(struct writer *w) {
  struct gemini_config c = { .w = w };
  put_setting(&c, "max_tokens", "maxOutputTokens");
  put_setting(&c, "temperature", "temperature");
  put_setting(&c, "top_p", "topP");
  put_setting(&c, "top_k", "topK");
  put_setting(&c, "seed", "seed");
  put_stops(&c);
  put_logprobs(&c);
  put_more_settings(&c);
  put_output(&c);
  gemini_put_thinking(&c);
  put_extra_config(&c);
  if (c.n + c.more > 0) writer_json(w, "}");
}

/* }}} */

/* {{{ the rest */

/* A field that only `extra` has, at its place. */
static void put_extra_field(struct writer *w, const char *name) {
  struct node *extra = writer_given(w, "extra"), *v = node_get_(extra, name, strlen(name));
  if (v == NULL) return;
  writer_field(w, name);
  writer_sorted(w, v);
  node_remove(extra, v);
}

static void put_system(struct writer *w, const struct node *system) {
  if (system == NULL) return;
  writer_field(w, "systemInstruction");
  for (const struct node *b = system->child; b != NULL; b = b->next) {
    writer_json(w, b == system->child ? "{\"parts\":[{\"text\":" : ",{\"text\":");
    writer_string(w, node_str(node_get(b, "text")));
    writer_json(w, "}");
  }
  writer_json(w, "]}");
}

static void put_metadata(struct writer *w) {
  const struct node *metadata = writer_given(w, "metadata");
  if (children(metadata) == NULL) return;
  if (!w->r->quirks->metadata_labels) {
    writer_warn(w, "metadata", "the provider takes none: left out");
    return;
  }
  writer_field(w, "labels");
  writer_sorted(w, metadata);
}

/* Warnings for options that cannot be sent. */
#define NO_PARALLEL "the provider cannot be told to make one call at a time: parallel_tool_calls was left out"

static void check_options(struct writer *w) {
  const struct node *cache = writer_given(w, "cache_retention");
  if (cache != NULL && !str_eq(node_str(cache), "none"))
    writer_warn(w, "cache_retention", "the provider caches by itself: left out");
  if (writer_given(w, "tool_choice") != NULL && children(writer_given(w, "tools")) == NULL)
    writer_warn(w, "tool_choice", "there are no tools to choose from: left out");
  writer_no_parallel(w, NO_PARALLEL);
}

/* A cached content has a system prompt and tools already: a request with others is refused. */
static void drop_cached(struct writer *w, struct node **system) {
  static const char *const CACHED[] = { "tools", "tool_choice" };
  int dropped = *system != NULL;
  if (node_get(writer_given(w, "extra"), "cachedContent") == NULL) return;
  *system = NULL;
  for (size_t i = 0; i < sizeof CACHED / sizeof *CACHED; i++) {
    struct node *v = writer_given(w, CACHED[i]);
    if (v == NULL) continue;
    node_remove(w->r->request, v);
    dropped = 1;
  }
  if (dropped)
    writer_warn_as(w, "conflicting_options", "extra",
                   "cachedContent has system prompt and tools: the others were left out");
}

/* Every schema as this wire takes it. */
static int fix_schemas(struct writer *w) {
  struct node *output = node_get(writer_given(w, "output"), "schema");
  if (w->r->quirks->openapi_schema) return gemini_openapi(w);
  if (output != NULL && gemini_schema(w->r->a, output, w->e) != 0) return -1;
  for (const struct node *t = children(writer_given(w, "tools")); t != NULL; t = t->next)
    if (!normalise_is_server_tool(t) && gemini_schema(w->r->a, node_get(t, "parameters"), w->e) != 0) return -1;
  return 0;
}

/* Puts the tree in order: history, system prompt, schemas. */
static int prepare(struct writer *w, struct node **system) {
  struct render *r = w->r;
  const struct norm norm = {
    .origin = codec_origin(r, &codec_gemini), .merge_blocks = 1, .keep_thinking = 1, .keep_signed_text = 1,
    .results_first = 1
  };
  if (normalise_check(r->request, w->e) != 0 || codec_server_tools(r->request, gemini_server_tools, w->e) != 0 ||
      gemini_prepare_contents(w) != 0 || normalise_messages(r->a, r->request, &norm, w->e) != 0 ||
      normalise_system(r->a, r->request, system, w->e) != 0)
    return -1;
  check_options(w);
  if (normalise_tools(r->a, r->request, 0, w->e) != 0 || fix_schemas(w) != 0) return -1;
  drop_cached(w, system);
  return w->failed ? -1 : 0;
}

static int render_body(struct render *r, int count, struct err *e) {
  struct writer w = { .r = r, .e = e };
  struct node *system = NULL;
  struct origin here = codec_origin(r, &codec_gemini);
  int wrapped = count && !r->quirks->plain_count, whole = wrapped || !count, elsewhere = gemini_is_elsewhere(&w, &here);
  if (prepare(&w, &system) != 0) return -1;
  writer_json(&w, "{");
  if (wrapped) {
    writer_json(&w, "\"generateContentRequest\":{");
    put_model(&w);
  }
  put_config(&w);
  if (whole) put_extra_field(&w, "safetySettings");
  if (!r->quirks->no_system_prompt) put_system(&w, system);
  gemini_put_tools(&w, whole);
  if (whole) put_extra_field(&w, "cachedContent");
  if (!count) {
    put_metadata(&w);
    put_extra_field(&w, "serviceTier");
    writer_extra(&w, "contents");
  }
  writer_field(&w, "contents");
  if (gemini_put_contents(&w, r->quirks->no_system_prompt ? system : NULL, writer_given(&w, "messages")) && elsewhere)
    writer_warn_as(&w, "thought_signature_missing", "messages",
                   "what another model or wire signed does not count here: left out");
  writer_json(&w, wrapped ? "}}" : "}");
  return w.failed ? -1 : 0;
}

static int render(struct render *r, struct err *e) {
  int stream = node_is(node_get(r->request, "stream"), NODE_TRUE);
  return put_path(r, stream ? ":streamGenerateContent?alt=sse" : ":generateContent", e) != 0 ? -1 : render_body(r, 0, e);
}

static int render_count(struct render *r, struct err *e) {
  return put_path(r, ":countTokens", e) != 0 ? -1 : render_body(r, 1, e);
}

/* }}} */

static const struct remedy REMEDIES[] = {
  { .without = "no_logprobs", .says = "logprobs", .lasts = 1 },
  { NULL, NULL, NULL, 0, 0 }
};

static const char *const OPTIONS[] = { "cache_retention", "extra", "logprobs", "max_tokens", "metadata", "output", "seed",
                                       "stop_sequences", "system", "temperature", "thinking", "tool_choice", "tools",
                                       "top_k", "top_p", NULL };

const struct codec codec_gemini = {
  .name = "gemini",
  .state_size = sizeof(struct gemini),
  .framing = &framing_sse,
  .options = OPTIONS,
  .remedies = REMEDIES,
  .render = render,
  .render_count = render_count,
  .init = gemini_init,
  .free = gemini_free,
  .parse_record = gemini_parse_record,
  .parse_text = gemini_parse_text,
  .parse_counts = gemini_parse_counts,
  .parse_body = gemini_parse_body,
  .parse_end = gemini_parse_end,
  .ended = gemini_ended
};
