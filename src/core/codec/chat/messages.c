/*
** messages.c: the messages of a Chat Completions request: the system prompt first, tool results as messages
** of their own, everything that is only text as a plain string.
** Scratch lies in the request's arena. Failure: the `struct out` says so.
*/
#include "chat.h"
#include "core/codec/shared/writer.h"
#include "core/history/normalise.h"

#include <stdio.h>

/* {{{ media */

static void put_image(struct out *w, const struct node *block) {
  put(w, "{\"type\":\"image_url\",\"image_url\":");
  put(w, w->q->image_string ? "" : "{\"url\":");
  out_url(w, block);
  put(w, w->q->image_string ? "}" : "}}");
}

static void put_document(struct out *w, const struct node *block) {
  struct str title = node_str(node_get(block, "title"));
  put(w, "{\"type\":\"file\",\"file\":{\"filename\":");
  put_string(w, title.n > 0 ? title : STR("document"));
  put(w, ",\"file_data\":");
  out_url(w, block);
  put(w, "}}");
}

static void put_media(struct out *w, const struct node *block) {
  if (is_type(block, "image")) put_image(w, block);
  else put_document(w, block);
}

/* }}} */

/* Begins a message: {"role":ROLE */
static void begin_message(struct out *w, const char *role) {
  put(w, w->items++ > 0 ? ",{\"role\":" : "{\"role\":");
  put_word(w, role);
}

/* All of the system prompt as one message (N12). */
static void put_system(struct out *w, const struct node *system) {
  struct str text = out_joined(w, system, SAY_TEXT, "\n\n");
  if (text.n == 0) return;
  begin_message(w, w->q->system_role);
  put(w, ",\"content\":");
  put_string(w, text);
  put(w, "}");
}

static void put_text_part(struct out *w, struct str text) {
  put(w, "{\"type\":\"text\",\"text\":");
  put_string(w, text);
  put(w, "}");
}

/* {{{ tool results */

/* The name of the last call with this id before the results' message; empty when there is none. */
static struct str call_name(const struct node *messages, const struct node *until, struct str id) {
  struct str name = STR_NONE;
  for (const struct node *m = messages->child; m != NULL && m != until; m = m->next)
    for (const struct node *b = children(node_get(m, "content")); b != NULL; b = b->next)
      if (is_type(b, "tool_use") && str_same(node_str(node_get(b, "id")), id)) name = node_str(node_get(b, "name"));
  return name;
}

/* A result's text: its text blocks one per line. Media are refused here (OpenHands#7700) and go into the user message
** behind the results: a note says where. *media counts those of the message so far. */
static struct str result_text(struct out *w, const struct node *result, size_t *media) {
  const struct node *content = node_get(result, "content");
  struct str s = node_str(content);
  struct buf b;
  int bad = 0, first = 1;
  if (node_is(content, NODE_ARRAY)) {
    buf_init(&b, w->r->a->m);
    for (const struct node *c = content->child; c != NULL; c = c->next) {
      char note[64];
      if (!is_media(c) && out_said(c, SAY_TEXT).n == 0) continue;
      if (!first) bad |= buf_addc(&b, '\n');
      first = 0;
      if (!is_media(c)) { bad |= buf_addstr(&b, out_said(c, SAY_TEXT)); continue; }
      (void)snprintf(note, sizeof note, "[attachment %zu of the next user message]", ++*media);
      bad |= buf_adds(&b, note);
    }
    s = bad ? STR_NONE : arena_dup(w->r->a, buf_str(&b));
    buf_free(&b);
    if (s.p == NULL) { out_memory(w); return s; }
  }
  if (!node_is(node_get(result, "is_error"), NODE_TRUE)) return s;
  s = normalise_error_text(w->r->a, s);
  if (s.p == NULL) out_memory(w);
  return s;
}

/* One result as a message. */
static void put_result(struct out *w, const struct node *message, const struct node *result, size_t *media) {
  struct str id = node_str(node_get(result, "tool_use_id"));
  begin_message(w, "tool");
  put(w, ",\"tool_call_id\":");
  put_string(w, id);
  if (w->q->tool_result_name) {
    put(w, ",\"name\":");
    put_string(w, call_name(node_get(w->request, "messages"), message, id));
  }
  put(w, ",\"content\":");
  put_string(w, result_text(w, result, media));
  put(w, "}");
}

/* }}} */

/* {{{ user */

/* The media that the results of this message left behind, as parts. */
static void put_result_media(struct out *w, const struct node *content, int *first) {
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (!is_type(b, "tool_result")) continue;
    for (const struct node *c = children(node_get(b, "content")); c != NULL; c = c->next) {
      if (!is_media(c)) continue;
      if (!*first) put(w, ",");
      *first = 0;
      put_media(w, c);
    }
  }
}

/* The parts of a user message with media. */
static void put_user_parts(struct out *w, const struct node *content) {
  int first = 1;
  put(w, "[");
  put_result_media(w, content, &first);
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    struct str text = out_said(b, SAY_TEXT);
    if (!is_media(b) && text.n == 0) continue;
    if (!first) put(w, ",");
    first = 0;
    if (is_media(b)) put_media(w, b);
    else put_text_part(w, text);
  }
  put(w, "]");
}

/* First the results, one message each (N8), then what the user says and the results' media. */
static void put_user(struct out *w, const struct node *message) {
  const struct node *content = node_get(message, "content");
  size_t media = 0;
  struct str text = out_joined(w, content, SAY_TEXT, "\n\n");
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (is_type(b, "tool_result")) put_result(w, message, b, &media);
    else if (is_media(b)) media++;
  }
  if (media == 0 && text.n == 0) return;
  begin_message(w, "user");
  put(w, ",\"content\":");
  if (media > 0) put_user_parts(w, content);
  else put_string(w, text);
  put(w, "}");
}

/* }}} */

/* {{{ assistant */

int chat_has(const struct node *message, const char *type) {
  for (const struct node *b = children(node_get(message, "content")); b != NULL; b = b->next)
    if (str_is(node_str(node_get(b, "type")), type, strlen(type))) return 1;
  return 0;
}

/* A block that came from here and has no canonical form goes back whole: its JSON, or NULL. */
static const struct node *opaque_of(struct out *w, const struct node *block) {
  return is_type(block, "opaque") ? out_raw(w, block) : NULL;
}

/* True when any block goes back whole. */
static int has_opaque(struct out *w, const struct node *content) {
  for (const struct node *b = content->child; b != NULL; b = b->next)
    if (opaque_of(w, b) != NULL) return 1;
  return 0;
}

/* Reasoning as a part of the content, with the fields that came with it. */
static void put_thinking_part(struct out *w, const struct node *block) {
  put(w, "{\"type\":\"thinking\",\"thinking\":[");
  put_text_part(w, node_str(node_get(block, "thinking")));
  put(w, "]");
  for (const struct node *m = children(out_raw(w, block)); m != NULL; m = m->next) {
    if (str_eq(m->key, "type") || str_eq(m->key, "thinking")) continue;
    put_key(w, m->key);
    put_kept(w, m);
  }
  put(w, "}");
}

/* True when the dialect takes reasoning back in this form. */
static int replays(const struct out *w, const char *name) {
  return strcmp(w->q->reasoning_replay, "never") != 0 && strcmp(w->q->reasoning_field, name) == 0;
}

/* Content that is more than text, in the order of the blocks. */
static void put_assistant_parts(struct out *w, const struct node *content) {
  int first = 1;
  put(w, "[");
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    int thinking = is_type(b, "thinking") && replays(w, "content");
    const struct node *opaque = opaque_of(w, b);
    struct str text = out_said(b, SAY_TEXT);
    if (!thinking && text.n == 0 && opaque == NULL) continue;
    if (!first) put(w, ",");
    first = 0;
    if (thinking) put_thinking_part(w, b);
    else if (text.n > 0) put_text_part(w, text);
    else put_kept(w, opaque);
  }
  put(w, "]");
}

/* reasoning_details of all blocks, in order. */
static void put_details(struct out *w, const struct node *content) {
  int any = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    const struct node *raw = is_type(b, "thinking") || is_type(b, "redacted_thinking") ? out_raw(w, b) : NULL;
    for (const struct node *d = children(node_get(raw, "reasoning_details")); d != NULL; d = d->next) {
      put(w, any ? "," : ",\"reasoning_details\":[");
      any = 1;
      put_kept(w, d);
    }
  }
  if (any) put(w, "]");
}

/* The last reasoning_opaque of the message. */
static void put_reasoning_opaque(struct out *w, const struct node *content) {
  const struct node *opaque = NULL;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    const struct node *v = node_get(out_raw(w, b), "reasoning_opaque");
    if (v != NULL) opaque = v;
  }
  if (opaque == NULL) return;
  put(w, ",\"reasoning_opaque\":");
  put_kept(w, opaque);
}

/* Reasoning beside the content. Only what came from here is left of it by now (N13). */
static void put_reasoning(struct out *w, const struct node *content) {
  int always = strcmp(w->q->reasoning_replay, "always") == 0;
  struct str text;
  if (replays(w, "none") || replays(w, "content") || strcmp(w->q->reasoning_replay, "never") == 0) return;
  if (replays(w, "reasoning_details")) { put_details(w, content); return; }
  text = out_joined(w, content, SAY_THINKING, "");
  if (always ? w->tools_used : text.n > 0) {
    put_key(w, (struct str){ w->q->reasoning_field, strlen(w->q->reasoning_field) });
    put_string(w, text);
  }
  if (replays(w, "reasoning_text")) put_reasoning_opaque(w, content);
}

/* The fields of `raw` that this file does not write itself. */
static void put_call_extras(struct out *w, const struct node *raw, int inner) {
  for (const struct node *m = children(raw); m != NULL; m = m->next) {
    if (inner ? str_eq(m->key, "name") || str_eq(m->key, "arguments")
              : str_eq(m->key, "id") || str_eq(m->key, "type") || str_eq(m->key, "function") || str_eq(m->key, "index"))
      continue;
    put_key(w, m->key);
    put_kept(w, m);
  }
}

/* One tool call. */
static void put_call(struct out *w, const struct node *block) {
  const struct node *raw = out_raw(w, block);
  struct str arguments = normalise_arguments(w->r->a, block, RAW_DEPTH);
  if (arguments.p == NULL) { out_memory(w); return; }
  put(w, "{\"id\":");
  put_string(w, node_str(node_get(block, "id")));
  put(w, ",\"type\":\"function\",\"function\":{\"name\":");
  put_string(w, node_str(node_get(block, "name")));
  put(w, ",\"arguments\":");
  put_string(w, arguments);
  put_call_extras(w, node_get(raw, "function"), 1);
  put(w, "}");
  put_call_extras(w, raw, 0);
  put(w, "}");
}

static void put_calls(struct out *w, const struct node *content) {
  int any = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (!is_type(b, "tool_use")) continue;
    put(w, any ? "," : ",\"tool_calls\":[");
    any = 1;
    put_call(w, b);
  }
  if (any) put(w, "]");
}

/* A message that would say nothing here (thinking alone, say) is left out. */
static void put_assistant(struct out *w, const struct node *message) {
  const struct node *content = node_get(message, "content");
  int calls = chat_has(message, "tool_use"), opaque = has_opaque(w, content);
  int parts = opaque || (replays(w, "content") && chat_has(message, "thinking"));
  struct str text = out_joined(w, content, SAY_TEXT, "");
  if (!calls && !opaque && text.n == 0) return;
  begin_message(w, "assistant");
  if (parts) {
    put(w, ",\"content\":");
    put_assistant_parts(w, content);
  } else if (text.n > 0) {
    put(w, ",\"content\":");
    put_string(w, text);
  } else if (strcmp(w->q->null_content, "omit") != 0) {
    put(w, strcmp(w->q->null_content, "empty") == 0 ? ",\"content\":\"\"" : ",\"content\":null");
  }
  put_reasoning(w, content);
  put_calls(w, content);
  put(w, "}");
}

/* }}} */

void chat_put_messages(struct out *w, const struct node *system) {
  const struct node *messages = node_get(w->request, "messages");
  put(w, "[");
  put_system(w, system);
  for (const struct node *m = messages->child; m != NULL; m = m->next) {
    if (str_eq(node_str(node_get(m, "role")), "assistant")) put_assistant(w, m);
    else put_user(w, m);
  }
  put(w, "]");
}
