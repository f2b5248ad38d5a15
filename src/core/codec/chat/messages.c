/*
** messages.c: the messages of a Chat Completions request: the system prompt first, tool results as messages
** of their own, everything that is only text as a plain string.
** Scratch lies in the request's arena. Failure: the `struct writer` says so.
*/
#include "chat.h"
#include "core/codec/shared/writer.h"
#include "core/history/normalise.h"

#include <stdio.h>

/* The array of messages as it grows. */
struct list {
  struct writer *w;
  size_t n;
  int tools_used;  /* tools are offered, or the history has calls */
};

/* {{{ media */

static void put_image(struct writer *w, const struct node *block) {
  writer_json(w, "{\"type\":\"image_url\",\"image_url\":");
  writer_json(w, w->r->quirks->image_string ? "" : "{\"url\":");
  writer_url(w, block);
  writer_json(w, w->r->quirks->image_string ? "}" : "}}");
}

static void put_document(struct writer *w, const struct node *block) {
  struct str title = node_str(node_get(block, "title"));
  writer_json(w, "{\"type\":\"file\",\"file\":{\"filename\":");
  writer_string(w, title.n > 0 ? title : STR("document"));
  writer_json(w, ",\"file_data\":");
  writer_url(w, block);
  writer_json(w, "}}");
}

static void put_media(struct writer *w, const struct node *block) {
  if (is_type(block, "image")) put_image(w, block);
  else put_document(w, block);
}

/* }}} */

/* Begins a message: {"role":ROLE */
static void begin_message(struct list *l, const char *role) {
  writer_json(l->w, l->n++ > 0 ? ",{\"role\":" : "{\"role\":");
  writer_word(l->w, role);
}

/* All of the system prompt as one message (N12). */
static void put_system(struct list *l, const struct node *system) {
  struct writer *w = l->w;
  struct str text = writer_joined(w, system, SAY_TEXT, "\n\n");
  if (text.n == 0) return;
  begin_message(l, w->r->quirks->system_role);
  writer_json(w, ",\"content\":");
  writer_string(w, text);
  writer_json(w, "}");
}

static void put_text_part(struct writer *w, struct str text) {
  writer_json(w, "{\"type\":\"text\",\"text\":");
  writer_string(w, text);
  writer_json(w, "}");
}

/* {{{ tool results */

/* A result's text: its text blocks one per line. Media are refused here (OpenHands#7700) and go into the user message
** behind the results: a note says where. *media counts those of the message so far. */
static struct str result_text(struct writer *w, const struct node *result, size_t *media) {
  const struct node *content = node_get(result, "content");
  struct str s = node_str(content);
  struct buf b;
  int bad = 0, first = 1;
  if (node_is(content, NODE_ARRAY)) {
    buf_init(&b, w->r->a->m);
    for (const struct node *c = content->child; c != NULL; c = c->next) {
      char note[64];
      if (!is_media(c) && writer_said(c, SAY_TEXT).n == 0) continue;
      if (!first) bad |= buf_addc(&b, '\n');
      first = 0;
      if (!is_media(c)) { bad |= buf_addstr(&b, writer_said(c, SAY_TEXT)); continue; }
      (void)snprintf(note, sizeof note, "[attachment %zu of the next user message]", ++*media);
      bad |= buf_adds(&b, note);
    }
    s = bad ? STR_NONE : arena_dup(w->r->a, buf_str(&b));
    buf_free(&b);
    if (s.p == NULL) { writer_memory(w); return s; }
  }
  if (!node_is(node_get(result, "is_error"), NODE_TRUE)) return s;
  s = normalise_error_text(w->r->a, s);
  if (s.p == NULL) writer_memory(w);
  return s;
}

/* One result as a message. */
static void put_result(struct list *l, const struct node *result, size_t *media) {
  struct writer *w = l->w;
  begin_message(l, "tool");
  writer_json(w, ",\"tool_call_id\":");
  writer_string(w, node_str(node_get(result, "tool_use_id")));
  if (w->r->quirks->tool_result_name) {
    writer_json(w, ",\"name\":");
    writer_string(w, node_str(node_get(result, "name")));
  }
  writer_json(w, ",\"content\":");
  writer_string(w, result_text(w, result, media));
  writer_json(w, "}");
}

/* }}} */

/* {{{ user */

/* The media that the results of this message left behind, as parts. */
static void put_result_media(struct writer *w, const struct node *content, int *first) {
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (!is_type(b, "tool_result")) continue;
    for (const struct node *c = children(node_get(b, "content")); c != NULL; c = c->next) {
      if (!is_media(c)) continue;
      if (!*first) writer_json(w, ",");
      *first = 0;
      put_media(w, c);
    }
  }
}

/* The parts of a user message with media. */
static void put_user_parts(struct writer *w, const struct node *content) {
  int first = 1;
  writer_json(w, "[");
  put_result_media(w, content, &first);
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    struct str text = writer_said(b, SAY_TEXT);
    if (!is_media(b) && text.n == 0) continue;
    if (!first) writer_json(w, ",");
    first = 0;
    if (is_media(b)) put_media(w, b);
    else put_text_part(w, text);
  }
  writer_json(w, "]");
}

/* First the results, one message each (N8), then what the user says and the results' media. */
static void put_user(struct list *l, const struct node *message) {
  const struct node *content = node_get(message, "content");
  struct writer *w = l->w;
  size_t media = 0;
  struct str text = writer_joined(w, content, SAY_TEXT, "\n\n");
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (is_type(b, "tool_result")) put_result(l, b, &media);
    else if (is_media(b)) media++;
  }
  if (media == 0 && text.n == 0) return;
  begin_message(l, "user");
  writer_json(w, ",\"content\":");
  if (media > 0) put_user_parts(w, content);
  else writer_string(w, text);
  writer_json(w, "}");
}

/* }}} */

/* {{{ assistant */

/* True when the message has a block of that type. */
static int has(const struct node *message, const char *type) {
  for (const struct node *b = children(node_get(message, "content")); b != NULL; b = b->next)
    if (str_is(node_str(node_get(b, "type")), type, strlen(type))) return 1;
  return 0;
}

/* A block that came from here and has no canonical form goes back whole: its JSON, or NULL. */
static const struct node *opaque_of(struct writer *w, const struct node *block) {
  return is_type(block, "opaque") ? writer_raw(w, block) : NULL;
}

/* True when any block goes back whole. */
static int has_opaque(struct writer *w, const struct node *content) {
  for (const struct node *b = content->child; b != NULL; b = b->next)
    if (opaque_of(w, b) != NULL) return 1;
  return 0;
}

/* Reasoning as a part of the content, with the fields that came with it. */
static void put_thinking_part(struct writer *w, const struct node *block) {
  writer_json(w, "{\"type\":\"thinking\",\"thinking\":[");
  put_text_part(w, node_str(node_get(block, "thinking")));
  writer_json(w, "]");
  for (const struct node *m = children(writer_raw(w, block)); m != NULL; m = m->next) {
    if (str_eq(m->key, "type") || str_eq(m->key, "thinking")) continue;
    writer_member(w, m->key);
    writer_kept(w, m);
  }
  writer_json(w, "}");
}

/* True when the dialect takes reasoning back in this form. */
static int replays(const struct writer *w, const char *name) {
  return strcmp(w->r->quirks->reasoning_replay, "never") != 0 && strcmp(w->r->quirks->reasoning_field, name) == 0;
}

/* Content that is more than text, in the order of the blocks. */
static void put_assistant_parts(struct writer *w, const struct node *content) {
  int first = 1;
  writer_json(w, "[");
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    int thinking = is_type(b, "thinking") && replays(w, "content");
    const struct node *opaque = opaque_of(w, b);
    struct str text = writer_said(b, SAY_TEXT);
    if (!thinking && text.n == 0 && opaque == NULL) continue;
    if (!first) writer_json(w, ",");
    first = 0;
    if (thinking) put_thinking_part(w, b);
    else if (text.n > 0) put_text_part(w, text);
    else writer_kept(w, opaque);
  }
  writer_json(w, "]");
}

/* reasoning_details of all blocks, in order. */
static void put_details(struct writer *w, const struct node *content) {
  int any = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    const struct node *raw = is_type(b, "thinking") || is_type(b, "redacted_thinking") ? writer_raw(w, b) : NULL;
    for (const struct node *d = children(node_get(raw, "reasoning_details")); d != NULL; d = d->next) {
      writer_json(w, any ? "," : ",\"reasoning_details\":[");
      any = 1;
      writer_kept(w, d);
    }
  }
  if (any) writer_json(w, "]");
}

/* The last reasoning_opaque of the message. */
static void put_reasoning_opaque(struct writer *w, const struct node *content) {
  const struct node *opaque = NULL;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    const struct node *v = node_get(writer_raw(w, b), "reasoning_opaque");
    if (v != NULL) opaque = v;
  }
  if (opaque == NULL) return;
  writer_json(w, ",\"reasoning_opaque\":");
  writer_kept(w, opaque);
}

/* Reasoning beside the content. Only what came from here is left of it by now (N13). */
static void put_reasoning(struct writer *w, const struct node *content, int tools_used) {
  int always = strcmp(w->r->quirks->reasoning_replay, "always") == 0;
  struct str text;
  if (replays(w, "none") || replays(w, "content") || strcmp(w->r->quirks->reasoning_replay, "never") == 0) return;
  if (replays(w, "reasoning_details")) { put_details(w, content); return; }
  text = writer_joined(w, content, SAY_THINKING, "");
  if (always ? tools_used : text.n > 0) {
    writer_member(w, (struct str){ w->r->quirks->reasoning_field, strlen(w->r->quirks->reasoning_field) });
    writer_string(w, text);
  }
  if (replays(w, "reasoning_text")) put_reasoning_opaque(w, content);
}

/* The fields of `raw` that this file does not write itself. */
static void put_call_extras(struct writer *w, const struct node *raw, int inner) {
  for (const struct node *m = children(raw); m != NULL; m = m->next) {
    if (inner ? str_eq(m->key, "name") || str_eq(m->key, "arguments")
              : str_eq(m->key, "id") || str_eq(m->key, "type") || str_eq(m->key, "function") || str_eq(m->key, "index"))
      continue;
    writer_member(w, m->key);
    writer_kept(w, m);
  }
}

/* One tool call. */
static void put_call(struct writer *w, const struct node *block) {
  const struct node *raw = writer_raw(w, block);
  struct str arguments = normalise_arguments(w->r->a, block, RAW_DEPTH);
  if (arguments.p == NULL) { writer_memory(w); return; }
  writer_json(w, "{\"id\":");
  writer_string(w, node_str(node_get(block, "id")));
  writer_json(w, ",\"type\":\"function\",\"function\":{\"name\":");
  writer_string(w, node_str(node_get(block, "name")));
  writer_json(w, ",\"arguments\":");
  writer_string(w, arguments);
  put_call_extras(w, node_get(raw, "function"), 1);
  writer_json(w, "}");
  put_call_extras(w, raw, 0);
  writer_json(w, "}");
}

static void put_calls(struct writer *w, const struct node *content) {
  int any = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (!is_type(b, "tool_use")) continue;
    writer_json(w, any ? "," : ",\"tool_calls\":[");
    any = 1;
    put_call(w, b);
  }
  if (any) writer_json(w, "]");
}

/* A message that would say nothing here (thinking alone, say) is left out. */
static void put_assistant(struct list *l, const struct node *message) {
  const struct node *content = node_get(message, "content");
  struct writer *w = l->w;
  int calls = has(message, "tool_use"), opaque = has_opaque(w, content);
  int parts = opaque || (replays(w, "content") && has(message, "thinking"));
  struct str text = writer_joined(w, content, SAY_TEXT, "");
  if (!calls && !opaque && text.n == 0) return;
  begin_message(l, "assistant");
  if (parts) {
    writer_json(w, ",\"content\":");
    put_assistant_parts(w, content);
  } else if (text.n > 0) {
    writer_json(w, ",\"content\":");
    writer_string(w, text);
  } else if (strcmp(w->r->quirks->null_content, "omit") != 0) {
    writer_json(w, strcmp(w->r->quirks->null_content, "empty") == 0 ? ",\"content\":\"\"" : ",\"content\":null");
  }
  put_reasoning(w, content, l->tools_used);
  put_calls(w, content);
  writer_json(w, "}");
}

/* }}} */

void chat_put_messages(struct writer *w, const struct node *system) {
  const struct node *messages = writer_given(w, "messages");
  struct list l = { .w = w, .tools_used = children(writer_given(w, "tools")) != NULL };
  for (const struct node *m = messages->child; m != NULL; m = m->next) l.tools_used |= has(m, "tool_use");
  writer_json(w, "[");
  put_system(&l, system);
  for (const struct node *m = messages->child; m != NULL; m = m->next) {
    if (str_eq(node_str(node_get(m, "role")), "assistant")) put_assistant(&l, m);
    else put_user(&l, m);
  }
  writer_json(w, "]");
}
