/*
** content.c: blocks of the history as the Anthropic Messages format has them.
** A block that came from this wire and has no canonical name goes back as the bytes that came (provider_data.raw).
** Scratch lies in the render's arena. Failure: kept in the writer.
*/
#include "anthropic.h"
#include "core/bytes/base64.h"
#include "core/codec/shared/media.h"
#include "core/history/normalise.h"

#include <stdio.h>

/* {{{ media */

/* Checks an image or a document: media_check. */
static int check_media(struct writer *w, const struct node *block, const char *path, void *context) {
  struct media m;
  struct str text;
  char field[96];
  int bad;
  (void)context;
  (void)snprintf(field, sizeof field, "%s.source", path);
  if (media_read(block, &m) != 0) return err_argument(w->e, field, MEDIA_SOURCES, "something else");
  bad = media_is_text(block, &m) ? base64_decode(w->r->a, m.data, &text) : 0;
  if (bad == -2) return err_memory(w->e);
  return bad == 0 ? 0 : err_argument(w->e, field, "base64-encoded text", "something else");
}

static void put_media(struct writer *w, const struct node *block) {
  struct media m;
  struct str text = STR_NONE;
  if (media_read(block, &m) != 0) return; /* checked before */
  writer_json(w, ",\"source\":{\"type\":");
  if (m.url.n > 0) {
    writer_json(w, "\"url\",\"url\":");
    writer_string(w, m.url);
  } else if (media_is_text(block, &m)) {
    if (base64_decode(w->r->a, m.data, &text) != 0) writer_memory(w);
    writer_json(w, "\"text\",\"media_type\":\"text/plain\",\"data\":");
    writer_string(w, text);
  } else {
    writer_json(w, "\"base64\",\"media_type\":");
    writer_string(w, m.type);
    writer_json(w, ",\"data\":");
    writer_string(w, m.data);
  }
  writer_json(w, "}");
}

/* }}} */

/* {{{ what came from this wire */

/* The bytes to replay: a JSON object, or empty when there are none. */
static struct str raw_of(const struct node *block) {
  struct str raw = node_str(node_get(node_get(block, "provider_data"), "raw"));
  struct err scratch;
  struct json j;
  if (raw.n == 0) return STR_NONE;
  json_open(&j, raw, RAW_DEPTH, &scratch);
  return json_next(&j) == J_OBJECT && json_skip(&j) == 0 && json_next(&j) == J_EOF ? raw : STR_NONE;
}

/* Members of the replayed bytes that the block itself does not name. */
static void put_extras(struct writer *w, const struct node *block) {
  static const struct { const char *s; size_t n; } NAMED[] = {
    { "type", 4 }, { "text", 4 }, { "id", 2 }, { "name", 4 }, { "input", 5 }, { "cache_control", 13 }
  };
  struct str raw = raw_of(block), value;
  struct json j;
  if (raw.n == 0) return;
  json_open(&j, raw, RAW_DEPTH, w->e);
  json_next(&j);
  while (json_next(&j) == J_KEY) {
    struct str key = j.text;
    int named = 0;
    for (size_t i = 0; i < sizeof NAMED / sizeof NAMED[0]; i++) named |= json_is_(&j, NAMED[i].s, NAMED[i].n);
    if (json_raw(&j, &value) != 0) return;
    if (named) continue;
    writer_json(w, ",\"");
    writer_text(w, key);
    writer_json(w, "\":");
    writer_text(w, value);
  }
}

/* True for blocks that this wire refuses or that hold nothing to send. */
static int is_unsendable(struct writer *w, const struct node *block) {
  if (is_type(block, "thinking"))
    return node_str(node_get(block, "signature")).n == 0 && !w->r->quirks->unsigned_thinking;
  return is_type(block, "opaque") && raw_of(block).n == 0;
}

int anthropic_prepare(struct writer *w) {
  if (writer_each_media(w, check_media, NULL) != 0) return -1;
  writer_drop(w, is_unsendable);
  return 0;
}

/* }}} */

/* {{{ blocks */

void anthropic_put_cache(struct writer *w, const struct node *v) {
  const struct node *marker = node_get(v, "cache_control");
  if (!node_is(marker, NODE_OBJECT)) return;
  writer_json(w, ",\"cache_control\":");
  writer_sorted(w, marker);
}

int anthropic_markable(const struct node *block) {
  return !is_type(block, "thinking") && !is_type(block, "redacted_thinking") && !is_type(block, "opaque");
}

int anthropic_prefilled(const struct node *messages) {
  const struct node *last = messages->last, *b;
  if (!str_eq(node_str(node_get(last, "role")), "assistant")) return 0;
  for (b = node_get(last, "content")->child; b != NULL; b = b->next)
    if (!is_type(b, "text") && !is_type(b, "refusal")) return 0;
  return 1;
}

static void put_text(struct writer *w, struct str text) {
  writer_json(w, "{\"type\":\"text\",\"text\":");
  writer_string(w, text);
}

static void put_member(struct writer *w, const char *name, const struct node *v) {
  if (!node_is(v, NODE_STRING)) return;
  writer_json(w, name);
  writer_string(w, v->s);
}

static void put_open(struct writer *w, const struct node *b);

static int has_media(const struct node *content) {
  if (!node_is(content, NODE_ARRAY)) return 0;
  for (const struct node *b = content->child; b != NULL; b = b->next)
    if (!is_type(b, "text")) return 1;
  return 0;
}

static void put_blocks(struct writer *w, const struct node *content, int in_words) {
  const struct node *first = content->child;
  writer_json(w, "[");
  if (in_words && !str_begins(node_str(node_get(first, "text")), "Error:")) {
    put_text(w, STR("Error:"));
    writer_json(w, "},");
  }
  for (const struct node *b = first; b != NULL; b = b->next) {
    if (b != first) writer_json(w, ",");
    put_open(w, b);
    writer_json(w, "}");
  }
  writer_json(w, "]");
}

/* A tool result's content. The wire refuses an error without words, and one with more than text: words say that that is one. */
static void put_result(struct writer *w, const struct node *block) {
  const struct node *content = node_get(block, "content");
  int is_error = node_is(node_get(block, "is_error"), NODE_TRUE), in_words = is_error && has_media(content);
  struct str text = node_str(content);
  writer_json(w, "{\"type\":\"tool_result\",\"tool_use_id\":");
  writer_string(w, node_str(node_get(block, "tool_use_id")));
  writer_json(w, ",\"content\":");
  if (node_is(content, NODE_ARRAY) && content->count > 0) put_blocks(w, content, in_words);
  else writer_string(w, text.n == 0 && is_error ? STR("(no output)") : text);
  if (is_error && !in_words) writer_json(w, ",\"is_error\":true");
}

static void put_call(struct writer *w, const struct node *block) {
  struct str input = normalise_arguments(w->r->a, block, RAW_DEPTH);
  if (input.p == NULL) writer_memory(w);
  writer_json(w, "{\"type\":\"tool_use\"");
  put_member(w, ",\"id\":", node_get(block, "id"));
  put_member(w, ",\"name\":", node_get(block, "name"));
  writer_json(w, ",\"input\":");
  writer_text(w, input);
  put_extras(w, block);
}

/* The block without its cache marker and closing brace. Its type was checked (normalise_check). */
static void put_open(struct writer *w, const struct node *b) {
  struct str type = node_str(node_get(b, "type"));
  if (str_eq(type, "text")) {
    put_text(w, node_str(node_get(b, "text")));
    put_extras(w, b);
  } else if (str_eq(type, "refusal")) {
    put_text(w, node_str(node_get(b, "text")));
  } else if (str_eq(type, "tool_use")) {
    put_call(w, b);
  } else if (str_eq(type, "tool_result")) {
    put_result(w, b);
  } else if (str_eq(type, "image")) {
    writer_json(w, "{\"type\":\"image\"");
    put_media(w, b);
  } else if (str_eq(type, "document")) {
    writer_json(w, "{\"type\":\"document\"");
    put_media(w, b);
    put_member(w, ",\"title\":", node_get(b, "title"));
    put_member(w, ",\"context\":", node_get(b, "context"));
    if (node_is(node_get(node_get(b, "citations"), "enabled"), NODE_TRUE))
      writer_json(w, ",\"citations\":{\"enabled\":true}");
  } else if (str_eq(type, "thinking")) {
    writer_json(w, "{\"type\":\"thinking\"");
    put_member(w, ",\"thinking\":", node_get(b, "thinking"));
    put_member(w, ",\"signature\":", node_get(b, "signature"));
  } else {
    writer_json(w, "{\"type\":\"redacted_thinking\"");
    put_member(w, ",\"data\":", node_get(b, "data"));
  }
}

/* Writes the block, `before` in front of it; returns whether there was anything to write. */
static int put_block(struct writer *w, const struct node *b, const char *before) {
  int is_opaque = is_type(b, "opaque");
  struct str raw = is_opaque ? raw_of(b) : STR_NONE;
  if (is_opaque && raw.n == 0) return 0;
  writer_json(w, before);
  if (raw.n > 0) writer_text(w, raw);
  else {
    put_open(w, b);
    anthropic_put_cache(w, b);
    writer_json(w, "}");
  }
  return 1;
}

void anthropic_put_messages(struct writer *w, const struct node *messages) {
  writer_json(w, "[");
  for (const struct node *m = messages->child; m != NULL; m = m->next) {
    const struct node *content = node_get(m, "content");
    int n = 0;
    writer_json(w, m == messages->child ? "{\"role\":" : ",{\"role\":");
    writer_string(w, node_str(node_get(m, "role")));
    writer_json(w, ",\"content\":[");
    for (const struct node *b = content->child; b != NULL; b = b->next) n += put_block(w, b, n > 0 ? "," : "");
    writer_json(w, "]}");
  }
  writer_json(w, "]");
}

/* }}} */
