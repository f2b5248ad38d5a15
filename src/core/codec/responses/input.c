/*
** input.c: the history as input items of the Responses format: messages, calls, their outputs, and what
** goes back as it came.
** Scratch lies in the request's arena. Failure: the `struct writer` says so.
*/
#include "responses.h"
#include "core/history/normalise.h"

#include <stdio.h>

/* The array of input items as it grows. */
struct input {
  struct writer *w;
  size_t items;
};

/* Begins an item. */
static void begin(struct input *in, const char *s) {
  if (in->items++ > 0) writer_json(in->w, ",");
  writer_json(in->w, s);
}

/* {{{ parts */

static void put_text(struct writer *w, const char *type, struct str text) {
  writer_json(w, "{\"type\":\"");
  writer_json(w, type);
  writer_json(w, "\",\"text\":");
  writer_string(w, text);
  writer_json(w, "}");
}

static void put_image(struct writer *w, const struct node *block) {
  writer_json(w, "{\"type\":\"input_image\",\"image_url\":");
  writer_url(w, block);
  writer_json(w, "}");
}

static void put_document(struct writer *w, const struct node *block) {
  struct str title = node_str(node_get(block, "title"));
  writer_json(w, "{\"type\":\"input_file\",");
  if (str_begins(node_str(node_get(block, "source")), "http")) {
    writer_json(w, "\"file_url\":");
  } else {
    writer_json(w, "\"filename\":");
    writer_string(w, title.n > 0 ? title : STR("document"));
    writer_json(w, ",\"file_data\":");
  }
  writer_url(w, block);
  writer_json(w, "}");
}

/* Text and media of a user's message, or of a result that may have failed. */
static void put_parts(struct writer *w, const struct node *content, int failed) {
  int first = 1;
  writer_json(w, "[");
  for (const struct node *b = children(content); b != NULL; b = b->next) {
    struct str text = writer_said(b, SAY_TEXT);
    if (!is_media(b) && text.n == 0) continue;
    if (failed && first) {
      text = normalise_error_text(w->r->a, text);
      if (text.p == NULL) writer_memory(w);
      if (is_media(b)) put_text(w, "input_text", text);
      first = !is_media(b);
    }
    failed = 0;
    if (!first) writer_json(w, ",");
    first = 0;
    if (is_type(b, "image")) put_image(w, b);
    else if (is_type(b, "document")) put_document(w, b);
    else put_text(w, "input_text", text);
  }
  writer_json(w, "]");
}

static int has_media(const struct node *content) {
  for (const struct node *b = children(content); b != NULL; b = b->next)
    if (is_media(b)) return 1;
  return 0;
}

/* }}} */

/* {{{ what came from this wire */

/* True when all of the JSON's strings are UTF-8, so that it can go out as it is. */
static int is_clean(struct str json) {
  struct err scratch;
  struct json j;
  enum token t;
  json_open(&j, json, RAW_DEPTH, &scratch);
  while ((t = json_next(&j)) != J_EOF && t != J_ERROR)
    if ((t == J_STRING || t == J_KEY) && j.invalid > 0) return 0;
  return t == J_EOF;
}

/* An item as the bytes that came. */
static void put_item(struct input *in, const struct node *block, const struct node *raw) {
  struct str json = node_str(node_get(node_get(block, "provider_data"), "raw"));
  struct writer *w = in->w;
  begin(in, "");
  if (w->failed) return;
  if (json.n == 0 || !is_clean(json)) writer_kept(w, raw);
  else if (buf_addstr(w->r->body, json) != 0) writer_memory(w);
}

/* A reasoning item. Encrypted for one organisation, model and deployment: another one cannot open it. */
static void put_reasoning(struct input *in, const struct node *block, const struct node *raw) {
  put_item(in, block, raw);
  if (node_str(node_get(raw, "encrypted_content")).n > 0) in->w->r->remedies |= REMEDY_REASONING;
}

/* Reasoning that can go back: encrypted, or with the text of open models; DeepSeek wants it before each call
** (rikkahub#1690). */
static const struct node *reasoning_of(struct writer *w, const struct node *block) {
  int wanted = is_type(block, "thinking") && writer_given(w, "no_reasoning") == NULL;
  const struct node *raw = wanted ? writer_raw(w, block) : NULL;
  if (!str_eq(node_str(node_get(raw, "type")), "reasoning")) return NULL;
  return node_str(node_get(raw, "encrypted_content")).n > 0 || children(node_get(raw, "content")) != NULL ? raw : NULL;
}

static const struct node *opaque_of(struct writer *w, const struct node *block) {
  return is_type(block, "opaque") ? writer_raw(w, block) : NULL;
}

/* }}} */

/* {{{ user */

/* A result's text, its text blocks one per line. */
static struct str result_text(struct writer *w, const struct node *result) {
  const struct node *content = node_get(result, "content");
  struct str s = node_is(content, NODE_ARRAY) ? writer_joined(w, content, SAY_TEXT, "\n") : node_str(content);
  if (!node_is(node_get(result, "is_error"), NODE_TRUE)) return s;
  s = normalise_error_text(w->r->a, s);
  if (s.p == NULL) writer_memory(w);
  return s;
}

static void put_result(struct input *in, const struct node *result) {
  const struct node *content = node_get(result, "content");
  struct writer *w = in->w;
  begin(in, "{\"type\":\"function_call_output\",\"call_id\":");
  writer_string(w, node_str(node_get(result, "tool_use_id")));
  writer_json(w, ",\"output\":");
  if (has_media(content)) put_parts(w, content, node_is(node_get(result, "is_error"), NODE_TRUE));
  else writer_string(w, result_text(w, result));
  writer_json(w, "}");
}

/* First the results (N8), then what the caller took from an answer or made for it, then what the user says. */
static void put_user(struct input *in, const struct node *message) {
  const struct node *content = node_get(message, "content");
  const struct node *raw;
  struct writer *w = in->w;
  size_t said = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next)
    if (is_type(b, "tool_result")) put_result(in, b);
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if ((raw = opaque_of(w, b)) != NULL) put_item(in, b, raw);
    said += is_media(b) || writer_said(b, SAY_TEXT).n > 0;
  }
  if (said == 0) return;
  begin(in, "{\"role\":\"user\",\"content\":");
  if (said == 1 && !has_media(content)) writer_string(w, writer_joined(w, content, SAY_TEXT, ""));
  else put_parts(w, content, 0);
  writer_json(w, "}");
}

/* }}} */

/* {{{ assistant */

/*
** Begins an item of the assistant's, up to its content, as the strictest servers want it: llama-server knows it by
** its type alone (hermes-agent#76695), vLLM refuses it without id and status (openai/codex#12669). The id is its
** place in the input: one that the provider gave binds it to reasoning that may be gone.
*/
static void begin_message(struct input *in) {
  char id[32];
  (void)snprintf(id, sizeof id, "msg_%zu", in->items);
  begin(in, "{\"type\":\"message\",\"id\":");
  writer_word(in->w, id);
  writer_json(in->w, ",\"status\":\"completed\",\"role\":\"assistant\",\"content\":");
}

/* Ends it, with the phase that it belongs to. */
static void end_message(struct writer *w, const struct node *raw) {
  const struct node *phase = node_get(raw, "phase");
  if (node_is(phase, NODE_STRING)) {
    writer_json(w, ",\"phase\":");
    writer_string(w, phase->s);
  }
  writer_json(w, "}");
}

/* Citations in the form that this wire gives them; Chat Completions nests each under its type. */
static const struct node *citations_of(const struct node *raw) {
  const struct node *list = node_get(raw, "annotations");
  if (!node_is(list, NODE_ARRAY)) return NULL;
  for (const struct node *c = list->child; c != NULL; c = c->next) {
    struct str type = node_str(node_get(c, "type"));
    if (type.n == 0 || node_get_(c, type.p, type.n) != NULL) return NULL;
  }
  return list;
}

/* Text and refusals, each a message of its own. Azure and vLLM refuse a text without annotations (litellm#35213). */
static void put_said(struct input *in, const struct node *block) {
  struct writer *w = in->w;
  const struct node *raw = writer_raw(w, block), *citations = citations_of(raw);
  struct str text = node_str(node_get(block, "text"));
  begin_message(in);
  writer_json(w, "[");
  if (is_type(block, "refusal")) {
    writer_json(w, "{\"type\":\"refusal\",\"refusal\":");
    writer_string(w, text);
  } else {
    writer_json(w, "{\"type\":\"output_text\",\"text\":");
    writer_string(w, text);
    writer_json(w, ",\"annotations\":");
    if (citations != NULL) writer_kept(w, citations);
    else writer_json(w, "[]");
  }
  writer_json(w, "}]");
  end_message(w, raw);
}

/* A message of a part without a canonical form. */
static void put_part(struct input *in, const struct node *raw) {
  begin_message(in);
  writer_kept(in->w, node_get(raw, "content"));
  end_message(in->w, raw);
}

/* Writes an opaque block, which goes back as it came. */
static void put_opaque(struct input *in, const struct node *block, const struct node *raw) {
  struct str type = node_str(node_get(raw, "type")), role = node_str(node_get(raw, "role"));
  if (str_eq(role, "assistant") && (type.n == 0 || str_eq(type, "message"))) put_part(in, raw);
  else put_item(in, block, raw);
}

/* Fields of a call that have no canonical name. Its own id only where it is of the form that is accepted, and directly
** behind its reasoning: an id that had some is refused without it. */
static void put_call_extras(struct writer *w, const struct node *raw, int with_id) {
  static const char *const WRITTEN[] = { "id", "type", "call_id", "name", "arguments", "status", "parallel" };
  struct str id = node_str(node_get(raw, "id"));
  if (id.n == 0) return; /* no item of this wire */
  if (with_id && str_begins(id, "fc")) {
    writer_json(w, ",\"id\":");
    writer_string(w, id);
  }
  for (const struct node *m = raw->child; m != NULL; m = m->next) {
    int named = 0;
    for (size_t i = 0; i < sizeof WRITTEN / sizeof WRITTEN[0]; i++)
      named |= str_is(m->key, WRITTEN[i], strlen(WRITTEN[i]));
    if (named) continue;
    writer_member(w, m->key);
    writer_kept(w, m);
  }
}

static void put_call(struct input *in, const struct node *block, int with_id) {
  struct writer *w = in->w;
  struct str arguments = normalise_arguments(w->r->a, block, RAW_DEPTH);
  if (arguments.p == NULL) { writer_memory(w); return; }
  begin(in, "{\"type\":\"function_call\",\"call_id\":");
  writer_string(w, node_str(node_get(block, "id")));
  writer_json(w, ",\"name\":");
  writer_string(w, node_str(node_get(block, "name")));
  writer_json(w, ",\"arguments\":");
  writer_string(w, arguments);
  put_call_extras(w, writer_raw(w, block), with_id);
  writer_json(w, "}");
}

/* True for a block that becomes an item a reasoning item can stand before. */
static int is_product(struct writer *w, const struct node *b) {
  return is_type(b, "tool_use") || writer_said(b, SAY_TEXT).n > 0 || opaque_of(w, b) != NULL;
}

/* The blocks in their order. Reasoning must be followed by what it led to: what ends a message is dropped
** (vercel/ai#7099, continue#11994). */
static void put_assistant(struct input *in, const struct node *message) {
  const struct node *content = node_get(message, "content"), *last = NULL, *raw;
  struct writer *w = in->w;
  int reasoned = 0, ended;
  for (const struct node *b = content->child; b != NULL; b = b->next)
    if (is_product(w, b)) last = b;
  ended = last == NULL;
  for (const struct node *b = content->child; b != NULL && !ended; b = b->next) {
    if (is_type(b, "tool_use")) put_call(in, b, reasoned);
    else if (writer_said(b, SAY_TEXT).n > 0) put_said(in, b);
    else if ((raw = opaque_of(w, b)) != NULL) put_opaque(in, b, raw);
    reasoned = (raw = reasoning_of(w, b)) != NULL;
    if (reasoned) put_reasoning(in, b, raw);
    ended = b == last;
  }
}

/* }}} */

/* All of the system prompt as one message (N12). */
static void put_system(struct input *in, const struct node *system) {
  struct writer *w = in->w;
  struct str text = writer_joined(w, system, SAY_TEXT, "\n\n");
  if (text.n == 0) return;
  begin(in, "{\"role\":");
  writer_word(w, w->r->quirks->system_role);
  writer_json(w, ",\"content\":");
  writer_string(w, text);
  writer_json(w, "}");
}

void responses_put_input(struct writer *w, const struct node *system, const struct node *messages) {
  struct input in = { .w = w };
  writer_json(w, "[");
  put_system(&in, system);
  for (const struct node *m = messages; m != NULL; m = m->next) {
    if (str_eq(node_str(node_get(m, "role")), "assistant")) put_assistant(&in, m);
    else put_user(&in, m);
  }
  writer_json(w, "]");
}
