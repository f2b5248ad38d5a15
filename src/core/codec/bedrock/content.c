/*
** content.c: blocks of the history as Converse has them: unions by key, cache points as blocks of their own.
** Scratch lies in the render's arena. Failure: kept in the writer.
*/
#include "bedrock.h"

void bedrock_put_cache(struct writer *w, const struct node *v, const char *before) {
  const struct node *marker = node_get(v, "cache_control");
  unsigned can = bedrock_family(w->r->quirks);
  if (!(can & CAN_CACHE) || !node_is(marker, NODE_OBJECT)) return;
  writer_json(w, before);
  writer_json(w, "{\"cachePoint\":{\"type\":\"default\"");
  if (can & CAN_CACHE_TOOLS && node_str(node_get(marker, "ttl")).n > 0) {
    writer_json(w, ",\"ttl\":");
    writer_string(w, node_str(node_get(marker, "ttl")));
  }
  writer_json(w, "}}");
}

static void put_text(struct writer *w, struct str text) {
  writer_json(w, "{\"text\":");
  writer_string(w, text);
  writer_json(w, "}");
}

/* One block of a result; returns whether there was anything to write. `failed`: say so before its text. */
static int put_inner(struct writer *w, const struct node *b, const char *before, int failed) {
  struct str text = node_str(node_get(b, "text"));
  if (is_type(b, "text") && str_is_blank(text)) return 0;
  if (!is_type(b, "text") && !is_type(b, "image") && !is_type(b, "document")) return 0;
  writer_json(w, before);
  if (is_type(b, "image")) bedrock_put_image(w, b);
  else if (is_type(b, "document")) bedrock_put_document(w, b);
  else {
    if (failed && (text = normalise_error_text(w->r->a, text)).p == NULL) writer_memory(w);
    put_text(w, text);
  }
  return 1;
}

/* The content of a result, which may not be empty. A model without a word for failure reads of it in the text. */
static void put_result_content(struct writer *w, const struct node *content, int tell) {
  struct str text = node_str(content);
  int n = 0;
  for (const struct node *b = node_is(content, NODE_ARRAY) ? content->child : NULL; b != NULL; b = b->next) {
    if (tell && n == 0 && !is_type(b, "text")) {
      put_text(w, STR("Error:"));
      n = 1;
    }
    n += put_inner(w, b, n > 0 ? "," : "", tell && n == 0);
  }
  if (n > 0) return;
  if (str_is_blank(text)) text = STR("(no output)");
  if (tell && (text = normalise_error_text(w->r->a, text)).p == NULL) writer_memory(w);
  put_text(w, text);
}

static void put_result(struct writer *w, const struct node *b) {
  int failed = node_is(node_get(b, "is_error"), NODE_TRUE), can = (bedrock_family(w->r->quirks) & CAN_FAIL) != 0;
  writer_json(w, "{\"toolResult\":{\"toolUseId\":");
  writer_string(w, node_str(node_get(b, "tool_use_id")));
  writer_json(w, ",\"content\":[");
  put_result_content(w, node_get(b, "content"), failed && !can);
  writer_json(w, failed && can ? "],\"status\":\"error\"}}" : "]}}");
}

static void put_call(struct writer *w, const struct node *b) {
  struct str input = normalise_arguments(w->r->a, b, RAW_DEPTH);
  if (input.p == NULL) writer_memory(w);
  writer_json(w, "{\"toolUse\":{\"toolUseId\":");
  writer_string(w, node_str(node_get(b, "id")));
  writer_json(w, ",\"name\":");
  writer_string(w, node_str(node_get(b, "name")));
  writer_json(w, ",\"input\":");
  writer_text(w, input);
  writer_json(w, "}}");
}

static void put_thinking(struct writer *w, const struct node *b) {
  struct str signature = node_str(node_get(b, "signature"));
  writer_json(w, "{\"reasoningContent\":{\"reasoningText\":{\"text\":");
  writer_string(w, node_str(node_get(b, "thinking")));
  if (signature.n > 0) {
    writer_json(w, ",\"signature\":");
    writer_string(w, signature);
  }
  writer_json(w, "}}}");
}

static void put_block(struct writer *w, const struct node *b) {
  if (is_type(b, "text") || is_type(b, "refusal")) put_text(w, node_str(node_get(b, "text")));
  else if (is_type(b, "image")) bedrock_put_image(w, b);
  else if (is_type(b, "document")) bedrock_put_document(w, b);
  else if (is_type(b, "tool_use")) put_call(w, b);
  else if (is_type(b, "tool_result")) put_result(w, b);
  else if (is_type(b, "thinking")) put_thinking(w, b);
  else if (is_type(b, "redacted_thinking")) {
    writer_json(w, "{\"reasoningContent\":{\"redactedContent\":");
    writer_string(w, node_str(node_get(b, "data")));
    writer_json(w, "}}");
  } else {
    writer_kept(w, writer_raw(w, b)); /* opaque: bedrock_prepare left those with bytes alone */
  }
}

void bedrock_put_messages(struct writer *w, const struct node *messages) {
  writer_json(w, "[");
  for (const struct node *m = messages->child; m != NULL; m = m->next) {
    const struct node *content = node_get(m, "content");
    writer_json(w, m == messages->child ? "{\"role\":" : ",{\"role\":");
    writer_string(w, node_str(node_get(m, "role")));
    writer_json(w, ",\"content\":[");
    for (const struct node *b = content->child; b != NULL; b = b->next) {
      if (b != content->child) writer_json(w, ",");
      put_block(w, b);
      bedrock_put_cache(w, b, ",");
    }
    writer_json(w, "]}");
  }
  writer_json(w, "]");
}
