/*
** responses.c: renders a canonical request as the body of POST /responses, and the table of the Responses format.
** Nothing is stored at the provider unless the caller asks for it (`extra.store`): reasoning comes back encrypted and
** goes out again with the history. Known fields go out in a fixed order, static first and the input last, so that the
** same request gives the same bytes and a longer history only extends them.
** Writes to the caller's body; scratch lies in the caller's arena. Failure: -1 and an err.
*/
#include "responses.h"
#include "core/codec/shared/openai.h"
#include "core/codec/shared/effort.h"
#include "core/history/normalise.h"

#define CALL_ID_MAX 64  /* longer ones are refused (fitchmultz/pi-cursor-sdk#237) */

static struct node *extra_of(const struct writer *w, const char *name) {
  return node_get_(writer_given(w, "extra"), name, strlen(name));
}

/* {{{ settings */

/* True for models that are known to reason. */
static int reasons(const struct writer *w) {
  const struct node *thinking = writer_given(w, "thinking");
  if (str_eq(node_str(writer_given(w, "thinking_mode")), "effort")) return 1;
  return thinking != NULL && thinking->type != NODE_FALSE && !openai_no_effort(w);
}

/* True when the answer is to hold the reasoning, encrypted: unless asked for it is lost, as nothing is
** stored. Models that do not reason may refuse to be asked. */
static int wants_encrypted(const struct writer *w) {
  return !w->r->quirks->no_encrypted_reasoning && writer_given(w, "no_encrypted") == NULL;
}

/* How much to think. The summary is what there is to show of it. */
static void put_reasoning(struct writer *w) {
  const struct node *thinking = writer_given(w, "thinking");
  int off = node_is(thinking, NODE_FALSE);
  if (thinking == NULL) return;
  if (openai_no_effort(w)) {
    if (!off) writer_warn(w, "thinking", "the model has no setting for it: left out");
  } else if (effort_is_templated(w->r->quirks)) {
    openai_template(w, thinking);
  } else if (off) {
    if (reasons(w)) writer_warn(w, "thinking", "the model cannot be told not to think: left out");
  } else {
    const char *effort = openai_effort(w, thinking);
    writer_field(w, "reasoning");
    writer_json(w, "{\"effort\":");
    writer_word(w, effort);
    writer_json(w, strcmp(effort, "none") == 0 ? "}" : ",\"summary\":\"auto\"}");
  }
}

/* The names of what an answer holds only when asked to. */
static const struct str ENCRYPTED = { "reasoning.encrypted_content", 27 }, LOGPROBS = { "message.output_text.logprobs", 28 };

/* Writes `include`, which names what the answer shall hold besides: encrypted reasoning, logprobs, and what the caller
** adds. */
static void put_include(struct writer *w, int logprobs) {
  struct node *more = extra_of(w, "include");
  int encrypted = wants_encrypted(w);
  if (!encrypted && !logprobs) return;
  if (!node_is(more, NODE_ARRAY) && !(node_is(more, NODE_OBJECT) && more->count == 0)) /* an empty table may be either */
    more = NULL; /* anything else stays, and is warned of */
  w->r->remedies |= (encrypted ? REMEDY_ENCRYPTED : 0u) | (logprobs ? REMEDY_LOGPROBS : 0u);
  writer_field(w, "include");
  writer_json(w, "[");
  if (encrypted) writer_string(w, ENCRYPTED);
  if (encrypted && logprobs) writer_json(w, ",");
  if (logprobs) writer_string(w, LOGPROBS);
  for (const struct node *v = children(more); v != NULL; v = v->next) {
    if ((encrypted && str_same(node_str(v), ENCRYPTED)) || (logprobs && str_same(node_str(v), LOGPROBS))) continue;
    writer_json(w, ",");
    writer_sorted(w, v);
  }
  writer_json(w, "]");
  if (more != NULL) node_remove(writer_given(w, "extra"), more); /* it is written */
}

/* Asks for how likely the tokens of the answer were. Returns whether it did. */
static int put_logprobs(struct writer *w) {
  int n = writer_logprobs(w);
  if (n > 0) {
    writer_field(w, "top_logprobs");
    writer_int(w, n);
  }
  return n >= 0;
}

/* Writes the settings that tell a model how to answer. */
static void put_settings(struct writer *w) {
  const struct node *max = writer_given(w, "max_tokens");
  if (max != NULL) {
    writer_field(w, "max_output_tokens");
    writer_sorted(w, max);
  }
  openai_number(w, "temperature");
  openai_number(w, "top_p");
  if (children(writer_given(w, "stop_sequences")) != NULL)
    writer_warn(w, "stop_sequences", "this wire format has none: left out");
}

/* `text`: the answer's shape, and what the caller adds there (verbosity). */
static void put_text(struct writer *w) {
  const struct node *output = writer_given(w, "output");
  if (output == NULL) return;
  writer_field(w, "text");
  if (node_get(output, "schema") == NULL) {
    writer_json(w, "{\"format\":{\"type\":\"json_object\"");
  } else {
    writer_json(w, "{\"format\":{\"type\":\"json_schema\",");
    openai_format(w, output, 0);
  }
  writer_json(w, "}");
  writer_extra_members(w, "text", "format", NULL);
  writer_json(w, "}");
}

/* Writes the fields that decide what becomes of the answer. */
static void put_delivery(struct writer *w) {
  int logprobs = put_logprobs(w);
  if (extra_of(w, "store") == NULL) {
    writer_field(w, "store");
    writer_json(w, "false");
  }
  put_include(w, logprobs);
  if (!node_is(writer_given(w, "stream"), NODE_TRUE)) return;
  writer_field(w, "stream");
  writer_json(w, "true");
}

/* }}} */

/* {{{ system, tools */

/* The system prompt, where it is no input item. */
static void put_instructions(struct writer *w, const struct node *system) {
  struct str text = w->r->quirks->system_in_input ? STR_NONE : writer_joined(w, system, SAY_TEXT, "\n\n");
  if (text.n == 0) return;
  writer_field(w, "instructions");
  writer_string(w, text);
}

/* A tool. Left out, `strict` would mean true here. */
static void put_tool(struct writer *w, const struct node *tool) {
  openai_function(w, "{\"type\":\"function\",\"name\":", tool);
  if (!w->r->quirks->no_strict) {
    writer_json(w, node_is(node_get(tool, "strict"), NODE_TRUE) ? ",\"strict\":true" : ",\"strict\":false");
  }
  writer_json(w, "}");
}

static void put_tools(struct writer *w) {
  openai_tools(w, put_tool, "{\"type\":\"function\",\"name\":", "}");
}

/* }}} */

/* {{{ the whole */

/* The types of tools that are the provider's own. */
static const char *const SERVER_TOOLS[] = {
  "apply_patch", "code_interpreter", "computer", "computer_use_preview", "custom", "file_search", "image_generation",
  "local_shell", "mcp", "namespace", "programmatic_tool_calling", "shell", "tool_search", "web_search",
  "web_search_preview", NULL
};

/* Puts the tree in order: history, system prompt, schemas. */
static int prepare(struct writer *w, struct node **system) {
  const struct norm norm = {
    .origin = codec_origin(w->r, &codec_responses), .results_first = 1,
    .id_max = CALL_ID_MAX
  };
  if (normalise_check(w->r->request, w->e) != 0 || codec_server_tools(w->r->request, SERVER_TOOLS, w->e) != 0 ||
      writer_check_media(w, MEDIA_FILE_URLS) != 0 || responses_collapse(w, &norm.origin) != 0 ||
      normalise_messages(w->r->a, w->r->request, &norm, w->e) != 0 ||
      normalise_system(w->r->a, w->r->request, system, w->e) != 0)
    return -1;
  openai_check_choice(w);
  if (writer_given(w, "no_reasoning") != NULL)
    writer_warn_as(w, "reasoning_dropped", "messages",
                   "the provider could not open the reasoning of earlier messages: left out");
  return normalise_tools(w->r->a, w->r->request, w->r->quirks->no_additional_properties, w->e);
}

/* True where the provider has the history up to its last answer: it is not sent again. */
static int continues(const struct writer *w) {
  return extra_of(w, "previous_response_id") != NULL || extra_of(w, "conversation") != NULL;
}

static void put_input(struct writer *w, struct node *system) {
  const struct node *messages = writer_given(w, "messages"), *from = messages->child;
  struct node *first = w->r->quirks->system_in_input ? system : NULL; /* what stands before the messages */
  if (continues(w))
    for (const struct node *m = from; m != NULL; m = m->next)
      if (m->next != NULL && str_eq(node_str(node_get(m, "role")), "assistant")) from = m->next;
  if (openai_wants_word(w, first, from)) first = openai_add_word(w, first); /* `instructions` do not count */
  writer_field(w, "input");
  responses_put_input(w, first, from);
}

static int render(struct render *r, int count, struct err *e) {
  struct writer w = { .r = r, .e = e };
  struct node *system = NULL;
  if (buf_adds(r->path, count ? "/responses/input_tokens" : "/responses") != 0) return err_memory(e);
  if (prepare(&w, &system) != 0) return -1;
  writer_json(&w, "{");
  writer_field(&w, "model");
  writer_string(&w, node_str(writer_given(&w, "model")));
  if (!count) put_settings(&w);
  put_reasoning(&w);
  put_text(&w);
  if (!count) put_delivery(&w);
  put_instructions(&w, system);
  put_tools(&w);
  if (!count) {
    openai_metadata(&w);
    openai_extra(&w, "input");
    openai_unsupported(&w);
  }
  put_input(&w, system);
  writer_json(&w, "}");
  return w.failed ? -1 : 0;
}

static int responses_render(struct render *r, struct err *e) { return render(r, 0, e); }

static int responses_render_count(struct render *r, struct err *e) { return render(r, 1, e); }

/* }}} */

/* In the order of enum responses_remedy. */
static const struct remedy REMEDIES[] = {
  { .without = "no_reasoning", .code = "invalid_encrypted_content" },
  { .without = "no_encrypted", .says = "encrypted content is not supported", .lasts = 1 },
  { .without = "no_logprobs", .says = "logprobs", .lasts = 1 },
  { NULL, NULL, NULL, 0, 0 }
};

static const char *const UNREAD[] = { "sequence_number", "obfuscation", NULL };

static const char *const OPTIONS[] = { "betas", "cache_retention", "extra", "logprobs", "max_tokens", "metadata", "output",
                                       "stop_sequences", "system", "temperature", "thinking", "tool_choice", "tools",
                                       "top_p", NULL };

const struct codec codec_responses = {
  .name = "responses",
  .state_size = sizeof(struct responses),
  .framing = &framing_sse,
  .options = OPTIONS,
  .remedies = REMEDIES,
  .render = responses_render,
  .render_count = responses_render_count,
  .init = responses_init,
  .free = responses_free,
  .parse_record = responses_parse_record,
  .parse_text = responses_parse_text,
  .unread = UNREAD,
  .parse_body = responses_parse_body,
  .parse_end = responses_parse_end,
  .ended = responses_ended,
};
