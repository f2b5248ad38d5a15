/*
** chat.c: renders a canonical request as the body of POST /chat/completions. What differs between the providers
** of this format is a quirk. Known fields go out in a fixed order, static first and the messages last, so that the same
** request gives the same bytes and a longer history only extends them.
** Writes to the caller's body; scratch lies in the caller's arena. Failure: -1 and an err.
*/
#include "chat.h"
#include "core/codec/shared/writer.h"
#include "core/history/normalise.h"

/* {{{ settings */

/* Stop sequences, where the model takes any. */
static void put_stop(struct out *w) {
  const struct node *v = node_get(w->request, "stop_sequences");
  if (children(v) == NULL) return;
  if (w->q->no_stop) { out_warn(w, "stop_sequences", "the model refuses stop sequences: left out"); return; }
  out_field(w, "stop");
  put_value(w, v);
}

/* OpenRouter: {effort}, {max_tokens}, or {enabled = false}. */
static void put_reasoning_object(struct out *w, const struct node *thinking) {
  const struct node *budget = node_get(thinking, "budget_tokens");
  out_field(w, "reasoning");
  if (node_is(thinking, NODE_FALSE)) {
    put(w, "{\"enabled\":false}");
  } else {
    put(w, budget != NULL ? "{\"max_tokens\":" : "{\"effort\":");
    put_value(w, budget != NULL ? budget : thinking);
    put(w, "}");
  }
}

/* The effort, where the dialect has a word for one but none for not thinking. */
static void put_effort(struct out *w, const struct node *thinking) {
  const char *effort = out_effort(w, thinking);
  if (effort != NULL) out_field_word(w, "reasoning_effort", effort);
  else if (str_eq(node_str(node_get(w->request, "thinking_mode")), "effort"))
    out_warn(w, "thinking", "the model cannot be told not to think: left out");
}

/* The thinking option in the dialect's words. */
static void put_thinking(struct out *w) {
  const struct node *thinking = node_get(w->request, "thinking");
  int off = node_is(thinking, NODE_FALSE) || str_eq(node_str(thinking), "none");
  if (w->q->no_effort_with_tools && children(node_get(w->request, "tools")) != NULL) {
    if (thinking != NULL && !off) out_warn(w, "thinking", "refused beside tools: left out");
    out_field_word(w, "reasoning_effort", "none");
  } else if (thinking == NULL) {
    return;
  } else if (out_no_effort(w)) {
    if (!off) out_warn(w, "thinking", "the model has no setting for it: left out");
  } else if (out_templated(w->q)) {
    out_template(w, thinking);
  } else if (strcmp(w->q->effort, "reasoning") == 0) {
    put_reasoning_object(w, thinking);
  } else if (strcmp(w->q->effort, "enable_thinking") == 0) {
    out_field(w, "enable_thinking");
    put(w, off ? "false" : "true");
    if (!off) out_adjusted(w, "thinking", "the model can be told to think, not how much: the level was left out");
  } else if (strcmp(w->q->effort, "thinking") == 0) {
    out_field(w, "thinking");
    put(w, off ? "{\"type\":\"disabled\"}" : "{\"type\":\"enabled\"}");
    if (!off) out_field_word(w, "reasoning_effort", out_effort(w, thinking));
  } else {
    put_effort(w, thinking);
  }
}

/* Model and settings, up to the stream's. */
static void put_settings(struct out *w) {
  const struct node *max = node_get(w->request, "max_tokens");
  out_field(w, "model");
  put_string(w, node_str(node_get(w->request, "model")));
  if (max != NULL) {
    out_field(w, w->q->max_tokens_field);
    put_value(w, max);
  }
  out_number(w, "temperature");
  out_number(w, "top_p");
  put_stop(w);
  put_thinking(w);
  if (!node_is(node_get(w->request, "stream"), NODE_TRUE)) return;
  out_field(w, "stream");
  put(w, "true");
  if (w->q->no_stream_usage) return;
  out_field(w, "stream_options");
  put(w, "{\"include_usage\":true}");
}

/* }}} */

/* {{{ tools */

static void put_tool(struct out *w, const struct node *tool) {
  const struct node *strict = node_get(tool, "strict");
  out_function(w, "{\"type\":\"function\",\"function\":{\"name\":", tool);
  if (strict != NULL && !w->q->no_strict) {
    put(w, ",\"strict\":");
    put_value(w, strict);
  }
  put(w, "}}");
}

static void put_tools(struct out *w) {
  out_tools(w, put_tool, "{\"type\":\"function\",\"function\":{\"name\":", "}}");
}

/* }}} */

/* The types of tools that are no functions; those of compatible servers go through koine.server_tool. */
static const char *const SERVER_TOOLS[] = { "custom", NULL };

/* Puts the tree in order: history, system prompt, schemas. */
static int prepare(struct out *w, struct node **system) {
  const struct norm norm = {
    .origin = codec_origin(w->r, &codec_chat), .merge_text = 1, .results_first = 1,
    .id_chars = strcmp(w->q->tool_id, "alnum9") == 0 ? "alnum9" : NULL, .id_max = (size_t)w->q->tool_id_max
  };
  const struct node *messages;
  if (normalise_check(w->request, w->e) != 0 || codec_server_tools(w->request, SERVER_TOOLS, w->e) != 0 ||
      out_check_media(w) != 0)
    return -1;
  out_check_choice(w);
  if (normalise_messages(w->r->a, w->request, &norm, w->e) != 0 ||
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
  out_metadata(&w);
  out_extra(&w, "messages");
  out_unsupported(&w);
  out_field(&w, "messages");
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
