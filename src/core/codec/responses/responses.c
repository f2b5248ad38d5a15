/*
** responses.c: renders a canonical request as the body of POST /responses, and the table of the Responses format.
** Nothing is stored at the provider unless the caller asks for it (`extra.store`): reasoning comes back encrypted and
** goes out again with the history. Known fields go out in a fixed order, static first and the input last, so that the
** same request gives the same bytes and a longer history only extends them.
** Writes to the caller's body; scratch lies in the caller's arena. Failure: -1 and an err.
*/
#include "responses.h"
#include "core/history/normalise.h"

#define CALL_ID_MAX 64  /* longer ones are refused (fitchmultz/pi-cursor-sdk#237) */

static struct node *extra_of(const struct out *w, const char *name) {
  return node_get_(node_get(w->request, "extra"), name, strlen(name));
}

/* {{{ settings */

/* True for models that are known to reason. */
static int reasons(const struct out *w) {
  const struct node *thinking = node_get(w->request, "thinking");
  if (str_eq(node_str(node_get(w->request, "thinking_mode")), "effort")) return 1;
  return thinking != NULL && thinking->type != NODE_FALSE && !out_no_effort(w);
}

/* True when the answer is to hold what the model thought, sealed: what is not asked for is lost, as nothing is
** stored. Models that do not reason may refuse to be asked. */
static int wants_sealed(const struct out *w) {
  return !w->q->no_sealed_reasoning && node_get(w->request, "no_sealed") == NULL;
}

/* How much to think. The summary is what there is to show of it. */
static void put_reasoning(struct out *w) {
  const struct node *thinking = node_get(w->request, "thinking");
  int off = node_is(thinking, NODE_FALSE);
  if (thinking == NULL) return;
  if (out_no_effort(w)) {
    if (!off) out_warn(w, "thinking", "the model has no setting for it: left out");
  } else if (out_templated(w->q)) {
    out_template(w, thinking);
  } else if (off) {
    if (reasons(w)) out_warn(w, "thinking", "the model cannot be told not to think: left out");
  } else {
    const char *effort = out_effort(w, thinking);
    out_field(w, "reasoning");
    put(w, "{\"effort\":");
    put_word(w, effort);
    put(w, strcmp(effort, "none") == 0 ? "}" : ",\"summary\":\"auto\"}");
  }
}

/* What the answer shall hold besides: sealed reasoning, and what the caller adds. */
static void put_include(struct out *w) {
  static const struct str SEALED = { "reasoning.encrypted_content", 27 };
  struct node *more = extra_of(w, "include");
  if (!wants_sealed(w)) return;
  w->r->remedies |= REMEDY_SEALED;
  out_field(w, "include");
  put(w, "[");
  put_string(w, SEALED);
  for (const struct node *v = children(more); v != NULL; v = v->next) {
    if (str_same(node_str(v), SEALED)) continue;
    put(w, ",");
    put_value(w, v);
  }
  put(w, "]");
  if (more != NULL) node_remove(node_get(w->request, "extra"), more); /* it is written */
}

/* What a model is told about how to answer. */
static void put_settings(struct out *w) {
  const struct node *max = node_get(w->request, "max_tokens");
  if (max != NULL) {
    out_field(w, "max_output_tokens");
    put_value(w, max);
  }
  out_number(w, "temperature");
  out_number(w, "top_p");
  if (children(node_get(w->request, "stop_sequences")) != NULL)
    out_warn(w, "stop_sequences", "this wire format has none: left out");
}

/* What becomes of the answer. */
static void put_delivery(struct out *w) {
  if (extra_of(w, "store") == NULL) {
    out_field(w, "store");
    put(w, "false");
  }
  put_include(w);
  if (!node_is(node_get(w->request, "stream"), NODE_TRUE)) return;
  out_field(w, "stream");
  put(w, "true");
}

/* }}} */

/* {{{ system, tools */

/* The system prompt, where it is no input item. */
static void put_instructions(struct out *w, const struct node *system) {
  struct str text = w->q->system_in_input ? STR_NONE : out_joined(w, system, SAY_TEXT, "\n\n");
  if (text.n == 0) return;
  out_field(w, "instructions");
  put_string(w, text);
}

/* A tool. Left out, `strict` would mean true here. */
static void put_tool(struct out *w, const struct node *tool) {
  out_function(w, "{\"type\":\"function\",\"name\":", tool);
  if (!w->q->no_strict) {
    put(w, node_is(node_get(tool, "strict"), NODE_TRUE) ? ",\"strict\":true" : ",\"strict\":false");
  }
  put(w, "}");
}

static void put_tools(struct out *w) {
  out_tools(w, put_tool, "{\"type\":\"function\",\"name\":", "}");
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
static int prepare(struct out *w, struct node **system) {
  const struct norm norm = {
    .origin = codec_origin(w->r, &codec_responses), .results_first = 1,
    .id_max = CALL_ID_MAX
  };
  if (normalise_check(w->request, w->e) != 0 || codec_server_tools(w->request, SERVER_TOOLS, w->e) != 0 ||
      out_check_media(w) != 0 || responses_collapse(w) != 0 ||
      normalise_messages(w->r->a, w->request, &norm, w->e) != 0 ||
      normalise_system(w->r->a, w->request, system, w->e) != 0)
    return -1;
  out_check_choice(w);
  if (node_get(w->request, "no_reasoning") != NULL &&
      codec_warn(w->r->a, w->r->warnings, "reasoning_dropped", "messages",
                 "the provider could not open the reasoning of earlier turns: left out") != 0) return err_memory(w->e);
  return normalise_tools(w->r->a, w->request, w->q->no_additional_properties, w->e);
}

/* True where the provider has the history up to its last answer: it is not sent again. */
static int continues(const struct out *w) {
  return extra_of(w, "previous_response_id") != NULL || extra_of(w, "conversation") != NULL;
}

static void put_input(struct out *w, const struct node *system) {
  const struct node *messages = node_get(w->request, "messages"), *from = messages->child;
  if (continues(w))
    for (const struct node *m = from; m != NULL; m = m->next)
      if (m->next != NULL && str_eq(node_str(node_get(m, "role")), "assistant")) from = m->next;
  out_field(w, "input");
  responses_put_input(w, w->q->system_in_input ? system : NULL, from);
}

static int render(struct render *r, int count, struct err *e) {
  struct out w = { .r = r, .q = r->quirks, .request = r->request, .e = e, .file_urls = 1 };
  struct node *system = NULL;
  if (prepare(&w, &system) != 0) return -1;
  put(&w, "{");
  out_field(&w, "model");
  put_string(&w, node_str(node_get(w.request, "model")));
  if (!count) put_settings(&w);
  put_reasoning(&w);
  if (!count) put_delivery(&w);
  put_instructions(&w, system);
  put_tools(&w);
  if (!count) {
    out_metadata(&w);
    out_extra(&w, "input");
    out_unsupported(&w);
  }
  put_input(&w, system);
  put(&w, "}");
  return w.failed ? -1 : 0;
}

static int responses_render(struct render *r, struct err *e) { return render(r, 0, e); }

static int responses_render_count(struct render *r, struct err *e) { return render(r, 1, e); }

/* }}} */

/* In the order of enum responses_remedy. */
static const struct remedy REMEDIES[] = {
  { .without = "no_reasoning", .code = "invalid_encrypted_content" },
  { .without = "no_sealed", .says = "encrypted content is not supported", .lasts = 1 },
  { NULL, NULL, NULL, 0, 0 }
};

const struct codec codec_responses = {
  .name = "responses",
  .state_size = sizeof(struct responses),
  .remedies = REMEDIES,
  .render = responses_render,
  .render_count = responses_render_count,
  .init = responses_init,
  .free = responses_free,
  .parse_event = responses_parse_event,
  .parse_body = responses_parse_body,
  .parse_end = responses_parse_end,
  .ended = responses_ended,
};
