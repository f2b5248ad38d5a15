/*
** chat.c: renders a canonical request as the body of POST /chat/completions. A difference between the providers
** of this format is a quirk. Known fields go out in a fixed order, static first and the messages last, so that the same
** request gives the same bytes and a longer history only extends them.
** Writes to the caller's body; scratch lies in the caller's arena. Failure: -1 and an err.
*/
#include "chat.h"
#include "core/codec/shared/openai.h"
#include "core/codec/shared/effort.h"
#include "core/history/normalise.h"

/* Bits of render.remedies: what the body asks for and the provider may refuse. In the order of REMEDIES. */
enum { REMEDY_LOGPROBS = 1, REMEDY_SEED = 2 };

/* {{{ settings */

/* Stop sequences, where the model takes any. */
static void put_stop(struct writer *w) {
  const struct node *v = writer_given(w, "stop_sequences");
  if (children(v) == NULL) return;
  if (w->r->quirks->no_stop) { writer_warn(w, "stop_sequences", "the model refuses stop sequences: left out"); return; }
  writer_field(w, "stop");
  writer_sorted(w, v);
}

/* A sampling setting that OpenAI's own format has not. */
static void put_more_sampling(struct writer *w, const char *name, int taken) {
  if (taken) openai_number(w, name);
  else if (writer_given(w, name) != NULL) writer_warn(w, name, "the provider is not known to take it: left out");
}

static void put_seed(struct writer *w) {
  const struct node *v = writer_given(w, "seed");
  const char *field = w->r->quirks->seed_field;
  if (v == NULL) return;
  if (strcmp(field, "none") == 0) { writer_warn(w, "seed", "the provider takes none: left out"); return; }
  if (writer_given(w, "no_seed") != NULL) { writer_warn(w, "seed", "the provider refused it: left out"); return; }
  w->r->remedies |= REMEDY_SEED;
  writer_field(w, field);
  writer_sorted(w, v);
}

/* Whether likelihoods are told, and of how many alternatives to each token. */
static void put_logprobs(struct writer *w) {
  int n = writer_logprobs(w), count = strcmp(w->r->quirks->logprobs, "count") == 0;
  if (n < 0) return;
  w->r->remedies |= REMEDY_LOGPROBS;
  writer_field(w, "logprobs");
  if (count) writer_int(w, n > 0 ? n : 1); /* 0 would be none at all */
  else writer_json(w, "true");
  if (count || n == 0) return;
  writer_field(w, "top_logprobs");
  writer_int(w, n);
}

/* OpenRouter: {effort}, {max_tokens}, or {enabled = false}. */
static void put_reasoning_object(struct writer *w, const struct node *thinking) {
  const struct node *budget = node_get(thinking, "budget_tokens");
  writer_field(w, "reasoning");
  if (node_is(thinking, NODE_FALSE)) {
    writer_json(w, "{\"enabled\":false}");
  } else {
    writer_json(w, budget != NULL ? "{\"max_tokens\":" : "{\"effort\":");
    writer_sorted(w, budget != NULL ? budget : thinking);
    writer_json(w, "}");
  }
}

/* The effort, where the dialect has a word for one but none for not thinking. */
static void put_effort(struct writer *w, const struct node *thinking) {
  const char *effort = openai_effort(w, thinking);
  if (effort != NULL) writer_field_word(w, "reasoning_effort", effort);
  else if (str_eq(node_str(writer_given(w, "thinking_mode")), "effort"))
    writer_warn(w, "thinking", "the model cannot be told not to think: left out");
}

/* Whether to think, where the dialect has a switch for it; the second has an effort beside it. */
static void put_switch(struct writer *w, int off) {
  writer_field(w, "enable_thinking");
  writer_json(w, off ? "false" : "true");
  if (!off) writer_adjusted(w, "thinking", "the model can be told to think, not how much: the level was left out");
}

/* The same where the switch is an effort: all of it, or none. */
static void put_all_or_none(struct writer *w, const struct node *thinking, int off) {
  writer_field_word(w, "reasoning_effort", off ? "none" : "high");
  if (!off && !str_eq(node_str(thinking), "high"))
    writer_adjusted(w, "thinking", "the model can be told to think, not how much: high was sent");
}

static void put_thinking_object(struct writer *w, const struct node *thinking, int off) {
  writer_field(w, "thinking");
  writer_json(w, off ? "{\"type\":\"disabled\"}" : "{\"type\":\"enabled\"}");
  if (!off) writer_field_word(w, "reasoning_effort", openai_effort(w, thinking));
}

/* The thinking option in the dialect's words. */
static void put_thinking(struct writer *w) {
  const struct node *thinking = writer_given(w, "thinking");
  int off = node_is(thinking, NODE_FALSE) || str_eq(node_str(thinking), "none");
  if (w->r->quirks->no_effort_with_tools && children(writer_given(w, "tools")) != NULL) {
    if (thinking != NULL && !off) writer_warn(w, "thinking", "refused beside tools: left out");
    writer_field_word(w, "reasoning_effort", "none");
  } else if (thinking == NULL) {
    return;
  } else if (openai_no_effort(w)) {
    if (!off) writer_warn(w, "thinking", "the model has no setting for it: left out");
  } else if (effort_is_templated(w->r->quirks)) {
    openai_template(w, thinking);
  } else if (strcmp(w->r->quirks->effort, "reasoning") == 0) {
    put_reasoning_object(w, thinking);
  } else if (strcmp(w->r->quirks->effort, "enable_thinking") == 0) {
    put_switch(w, off);
  } else if (strcmp(w->r->quirks->effort, "none_or_high") == 0) {
    put_all_or_none(w, thinking, off);
  } else if (strcmp(w->r->quirks->effort, "thinking") == 0) {
    put_thinking_object(w, thinking, off);
  } else {
    put_effort(w, thinking);
  }
}

/* Model and settings, up to the stream's. */
static void put_settings(struct writer *w) {
  const struct node *max = writer_given(w, "max_tokens");
  writer_field(w, "model");
  writer_string(w, node_str(writer_given(w, "model")));
  if (max != NULL) {
    writer_field(w, w->r->quirks->max_tokens_field);
    writer_sorted(w, max);
  }
  openai_number(w, "temperature");
  openai_number(w, "top_p");
  put_more_sampling(w, "top_k", w->r->quirks->top_k);
  put_more_sampling(w, "min_p", w->r->quirks->min_p);
  put_seed(w);
  put_logprobs(w);
  put_stop(w);
  put_thinking(w);
  if (!node_is(writer_given(w, "stream"), NODE_TRUE)) return;
  writer_field(w, "stream");
  writer_json(w, "true");
  if (w->r->quirks->no_stream_usage) return;
  writer_field(w, "stream_options");
  writer_json(w, "{\"include_usage\":true}");
}

/* }}} */

/* {{{ tools */

static void put_tool(struct writer *w, const struct node *tool) {
  const struct node *strict = node_get(tool, "strict");
  openai_function(w, "{\"type\":\"function\",\"function\":{\"name\":", tool);
  if (strict != NULL && !w->r->quirks->no_strict) {
    writer_json(w, ",\"strict\":");
    writer_sorted(w, strict);
  }
  writer_json(w, "}}");
}

static void put_tools(struct writer *w) {
  openai_tools(w, put_tool, "{\"type\":\"function\",\"function\":{\"name\":", "}}");
}

/* }}} */

static void put_output(struct writer *w) {
  const struct node *output = writer_given(w, "output");
  if (output == NULL) return;
  writer_field(w, "response_format");
  if (node_get(output, "schema") == NULL) { writer_json(w, "{\"type\":\"json_object\"}"); return; }
  writer_json(w, "{\"type\":\"json_schema\",\"json_schema\":{");
  openai_format(w, output, w->r->quirks->bare_output);
  writer_json(w, "}}");
}

/* The types of tools that are no functions; those of compatible servers go through koine.server_tool. */
static const char *const SERVER_TOOLS[] = { "custom", NULL };

/* Puts the tree in order: history, system prompt, schemas. */
static int prepare(struct writer *w, struct node **system) {
  const struct norm norm = {
    .origin = codec_origin(w->r, &codec_chat), .merge_text = 1, .results_first = 1,
    .result_names = w->r->quirks->tool_result_name,
    .id_chars = strcmp(w->r->quirks->tool_id, "alnum9") == 0 ? "alnum9" : NULL,
    .id_max = (size_t)w->r->quirks->tool_id_max
  };
  if (normalise_check(w->r->request, w->e) != 0 || codec_server_tools(w->r->request, SERVER_TOOLS, w->e) != 0 ||
      writer_check_media(w, 0) != 0)
    return -1;
  openai_check_choice(w);
  if (normalise_messages(w->r->a, w->r->request, &norm, w->e) != 0 ||
      normalise_system(w->r->a, w->r->request, system, w->e) != 0)
    return -1;
  return normalise_tools(w->r->a, w->r->request, w->r->quirks->no_additional_properties, w->e);
}

static int chat_render(struct render *r, struct err *e) {
  struct writer w = { .r = r, .e = e };
  struct node *system = NULL;
  if (buf_adds(r->path, "/chat/completions") != 0) return err_memory(e);
  if (prepare(&w, &system) != 0) return -1;
  if (openai_wants_word(&w, system, children(writer_given(&w, "messages")))) system = openai_add_word(&w, system);
  writer_json(&w, "{");
  put_settings(&w);
  put_tools(&w);
  put_output(&w);
  openai_metadata(&w);
  openai_extra(&w, "messages");
  openai_unsupported(&w);
  writer_field(&w, "messages");
  chat_put_messages(&w, system);
  writer_json(&w, "}");
  return w.failed ? -1 : 0;
}

/* {{{ answers: the filter of calls in text behind the parser */

static void init(void *state, const struct parse *p) {
  struct chat *c = state;
  chat_init(c, p);
  leaked_filter_init(&c->leaked, p);
}

static void release(void *state) {
  struct chat *c = state;
  leaked_filter_free(&c->leaked);
  chat_free(c);
}

/* Gives on what the parser said before it ended with r. */
static int pass(struct chat *c, int r, struct events *out, struct err *e) {
  struct err scratch;
  return leaked_filter_pass(&c->leaked, out, r == 0 ? e : &scratch) == 0 ? r : -1;
}

static int parse_record(void *state, const struct record *r, struct events *out, struct err *e) {
  struct chat *c = state;
  if (!c->leaked.used) return chat_parse_record(c, r, out, e);
  return pass(c, chat_parse_record(c, r, &c->leaked.parts, e), out, e);
}

static int parse_text(void *state, struct str text, unsigned flags, struct events *out, struct err *e) {
  struct chat *c = state;
  if (!c->leaked.used) return chat_parse_text(c, text, flags, out, e);
  return pass(c, chat_parse_text(c, text, flags, &c->leaked.parts, e), out, e);
}

static int parse_body(void *state, struct str body, struct events *out, struct err *e) {
  struct chat *c = state;
  if (!c->leaked.used) return chat_parse_body(c, body, out, e);
  return pass(c, chat_parse_body(c, body, &c->leaked.parts, e), out, e);
}

static int parse_end(void *state, struct events *out, struct err *e) {
  struct chat *c = state;
  struct events *in = c->leaked.used ? &c->leaked.parts : out;
  if (pass(c, chat_parse_rest(c, in, e), out, e) != 0) return -1;
  if (leaked_filter_end(&c->leaked, out, c->stop == STOP_MAX_TOKENS, &c->recovered, e) != 0) return -1;
  return pass(c, chat_parse_end(c, in, e), out, e);
}

/* }}} */

/* Whether a model tells logprobs, rows do not know. */
static const struct remedy REMEDIES[] = {
  { .without = "no_logprobs", .says = "logprobs", .lasts = 1 },
  { .without = "no_seed", .says = "seed" },
  { NULL, NULL, NULL, 0, 0 }
};

static const char *const UNREAD[] = { "obfuscation", NULL };

static const char *const OPTIONS[] = { "betas", "cache_retention", "extra", "logprobs", "max_tokens", "metadata", "min_p",
                                       "output", "seed", "stop_sequences", "system", "temperature", "thinking",
                                       "tool_choice", "tools", "top_k", "top_p", NULL };

const struct codec codec_chat = {
  .name = "chat",
  .state_size = sizeof(struct chat),
  .framing = &framing_sse,
  .options = OPTIONS,
  .remedies = REMEDIES,
  .render = chat_render,
  .render_count = NULL,
  .init = init,
  .free = release,
  .parse_record = parse_record,
  .parse_text = parse_text,
  .unread = UNREAD,
  .parse_body = parse_body,
  .parse_end = parse_end,
  .ended = chat_ended,
};
