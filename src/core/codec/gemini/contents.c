/*
** contents.c: the history as contents: messages as turns of `user` and `model`, blocks as parts. A member that came
** from this wire and has no canonical name goes back with its part (provider_data.raw), a thought signature above all.
** Scratch lies in the render's arena. Failure: kept in the writer; -1 and an err before anything was written.
*/
#include "gemini.h"
#include "core/codec/shared/media.h"

#include <stdio.h>

/* The word that stands for a signature that is not there; the provider does not check it. */
#define NO_SIGNATURE "skip_thought_signature_validator"

/* {{{ media */

/* MIME types by what a URL ends in. */
static const struct { const char *end, *type; } TYPES[] = {
  { ".png", "image/png" }, { ".jpg", "image/jpeg" }, { ".jpeg", "image/jpeg" }, { ".webp", "image/webp" },
  { ".gif", "image/gif" }, { ".bmp", "image/bmp" }, { ".heic", "image/heic" }, { ".heif", "image/heif" },
  { ".pdf", "application/pdf" }, { ".txt", "text/plain" }, { ".md", "text/markdown" }, { ".csv", "text/csv" },
  { ".html", "text/html" }, { ".xml", "text/xml" }, { ".json", "application/json" }, { ".mp3", "audio/mpeg" },
  { ".wav", "audio/wav" }, { ".ogg", "audio/ogg" }, { ".flac", "audio/flac" }, { ".mp4", "video/mp4" },
  { ".mov", "video/quicktime" }, { ".webm", "video/webm" }
};

/* The MIME type that the end of the URL's path says; empty for none. */
static struct str type_of_url(struct str url) {
  size_t n = 0;
  while (n < url.n && url.p[n] != '?' && url.p[n] != '#') n++;
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    size_t k = strlen(TYPES[i].end);
    if (n > k && str_contains((struct str){ url.p + n - k, k }, TYPES[i].end))
      return (struct str){ TYPES[i].type, strlen(TYPES[i].type) };
  }
  return STR_NONE;
}

/* A page of videos: what is behind it needs no type. */
static int is_video_page(struct str url) {
  return str_begins(url, "https://www.youtube.com/") || str_begins(url, "https://youtube.com/") ||
         str_begins(url, "https://youtu.be/");
}

/* Reads a block's source: 0, or -1 when it is nothing that can be sent. */
static int read_media(const struct node *block, struct media *m) {
  struct str source = node_str(node_get(block, "source"));
  if (str_begins(source, "gs://")) *m = (struct media){ .type = node_str(node_get(block, "media_type")), .url = source };
  else if (media_read(block, m) != 0) return -1;
  if (m->url.n > 0 && m->type.n == 0) m->type = type_of_url(m->url);
  return 0;
}

/* Checks an image or a document: media_check. */
static int check_media(struct writer *w, const struct node *block, const char *path, void *context) {
  struct media m;
  char field[96];
  (void)context;
  if (read_media(block, &m) != 0) {
    (void)snprintf(field, sizeof field, "%s.source", path);
    return err_argument(w->e, field, MEDIA_SOURCES, "something else");
  }
  if (m.type.n > 0 || is_video_page(m.url)) return 0;
  (void)snprintf(field, sizeof field, "%s.media_type", path);
  return err_argument(w->e, field, "the MIME type of what is behind the URL", "nothing");
}

static void put_media(struct writer *w, const struct node *block) {
  struct media m;
  if (read_media(block, &m) != 0) return; /* checked before */
  writer_json(w, m.url.n > 0 ? "{\"fileData\":{" : "{\"inlineData\":{");
  if (m.type.n > 0) {
    writer_json(w, "\"mimeType\":");
    writer_string(w, m.type);
    writer_json(w, ",");
  }
  writer_json(w, m.url.n > 0 ? "\"fileUri\":" : "\"data\":");
  writer_string(w, m.url.n > 0 ? m.url : m.data);
  writer_json(w, "}}");
}

/* }}} */

/* {{{ before anything is moved */

/* True for an opaque block that is a part: an object, and nothing that stood beside the content. */
static int is_part(const struct node *block) {
  struct str raw = node_str(node_get(node_get(block, "provider_data"), "raw"));
  struct err scratch;
  struct json j;
  int n = 0;
  json_open(&j, raw, RAW_DEPTH, &scratch);
  if (raw.n == 0 || json_next(&j) != J_OBJECT) return 0;
  while (json_next(&j) == J_KEY) {
    for (int i = 0; i < GEMINI_EXTRAS && n == 0; i++)
      if (json_is_(&j, gemini_extras[i].p, gemini_extras[i].n)) return 0;
    n++;
    if (json_skip(&j) != 0) return 0;
  }
  return n > 0 && j.tok == J_OBJECT_END && json_next(&j) == J_EOF;
}

/* True for a block without text whose part had nothing else either, such as a signature. */
static int is_empty(struct writer *w, const struct node *block) {
  int thinking = is_type(block, "thinking");
  const struct node *text = thinking ? node_get(block, "thinking") : node_get(block, "text");
  if ((!thinking && !is_type(block, "text")) || node_str(text).n > 0) return 0;
  for (const struct node *v = children(writer_raw(w, block)); v != NULL; v = v->next)
    if (!str_eq(v->key, "thought") && !str_eq(v->key, "text")) return 0;
  return 1;
}

static int is_unsendable(struct writer *w, const struct node *block) {
  return is_type(block, "redacted_thinking") || (is_type(block, "opaque") && !is_part(block)) || is_empty(w, block);
}

int gemini_prepare_contents(struct writer *w) {
  if (writer_check_media(w, MEDIA_FILE_URLS) != 0 || writer_each_media(w, check_media, NULL) != 0) return -1;
  writer_drop(w, is_unsendable);
  return w->failed ? -1 : 0;
}

int gemini_is_elsewhere(const struct writer *w, const struct origin *here) {
  for (const struct node *m = children(writer_given(w, "messages")); m != NULL; m = m->next) {
    const struct node *content = node_get(m, "content");
    for (const struct node *b = node_is(content, NODE_ARRAY) ? content->child : NULL; b != NULL; b = b->next) {
      const struct node *origin = node_get(b, "provider_data");
      if (is_type(b, "tool_use") && str_same(node_str(node_get(origin, "provider")), here->provider) &&
          !normalise_is_own(origin, here)) return 1;
    }
  }
  return 0;
}

/* }}} */

/* {{{ parts */

/* The members of a part that have no canonical name. `thought` is the block's type's to say. */
static void put_members(struct writer *w, const struct node *raw, const char *content) {
  for (const struct node *v = children(raw); v != NULL; v = v->next) {
    if (str_is(v->key, content, strlen(content)) || str_eq(v->key, "thought")) continue;
    writer_member(w, v->key);
    writer_kept(w, v);
  }
}

static void put_text(struct writer *w, const struct node *block) {
  int thinking = is_type(block, "thinking");
  const struct node *raw = writer_raw(w, block);
  struct str text = node_str(thinking ? node_get(block, "thinking") : node_get(block, "text"));
  writer_json(w, "{\"text\":");
  writer_string(w, text);
  if (thinking && (text.n > 0 || node_is(node_get(raw, "thought"), NODE_TRUE))) writer_json(w, ",\"thought\":true");
  put_members(w, raw, "text");
  writer_json(w, "}");
}

/*
** Writes the provider's members of a call besides name and arguments: its id, if and only if it gave one. Vertex AI
** refused any id as an unknown field, and gave none (vercel/ai#15664); since September 2026 it gives ids, as the Gemini
** API does, and takes them back (anomalyco/opencode#50504). An id that Koine made up has never gone out, nor one of the
** other service's (N13).
*/
static void put_call_members(struct writer *w, const struct node *raw) {
  for (const struct node *v = children(node_get(raw, "functionCall")); v != NULL; v = v->next) {
    if (str_eq(v->key, "name") || str_eq(v->key, "args")) continue;
    writer_member(w, v->key);
    writer_kept(w, v);
  }
}

/* A call; `first`: of its turn, which has to be signed. 1 when something stands for the signature. */
static int put_call(struct writer *w, const struct node *block, int first) {
  const struct node *raw = writer_raw(w, block);
  struct str args = normalise_arguments(w->r->a, block, RAW_DEPTH);
  int lacks = first && !w->r->quirks->before_gemini_3 && node_get(raw, "thoughtSignature") == NULL;
  if (args.p == NULL) writer_memory(w);
  writer_json(w, "{\"functionCall\":{\"name\":");
  writer_string(w, gemini_wire_name(w, node_str(node_get(block, "name"))));
  writer_json(w, ",\"args\":");
  writer_text(w, args);
  put_call_members(w, raw);
  writer_json(w, "}");
  put_members(w, raw, "functionCall");
  if (lacks) writer_json(w, ",\"thoughtSignature\":\"" NO_SIGNATURE "\"");
  writer_json(w, "}");
  return lacks;
}

/* Any block but calls and results. */
static void put_part(struct writer *w, const struct node *b) {
  if (is_media(b)) put_media(w, b);
  else if (is_type(b, "opaque")) writer_text(w, node_str(node_get(node_get(b, "provider_data"), "raw")));
  else put_text(w, b);
}

/* }}} */

/* {{{ results */

/* True for a medium that stands in the result itself; others follow all results. */
static int stands_inside(const struct writer *w, const struct node *block) {
  static const char *const INSIDE[] = {
    "image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"
  };
  struct media m;
  if (w->r->quirks->before_gemini_3 || read_media(block, &m) != 0 || m.url.n > 0) return 0;
  for (size_t i = 0; i < sizeof INSIDE / sizeof *INSIDE; i++)
    if (str_is(m.type, INSIDE[i], strlen(INSIDE[i]))) return 1;
  return 0;
}

static const struct node *first_medium(const struct node *result) {
  const struct node *content = node_get(result, "content"), *b = node_is(content, NODE_ARRAY) ? content->child : NULL;
  while (b != NULL && !is_media(b)) b = b->next;
  return b;
}

static const struct node *next_medium(const struct node *b) {
  do b = b->next; while (b != NULL && !is_media(b));
  return b;
}

/* The call that a result answers. Results stand in the order of their calls. */
static const struct node *answered(const struct node *model, const struct node **at, const struct node *result) {
  struct str id = node_str(node_get(result, "tool_use_id"));
  const struct node *all = children(node_get(model, "content"));
  for (int round = 0; round < 2; round++) {
    for (const struct node *c = round == 0 ? *at : all; c != NULL; c = c->next) {
      if (!is_type(c, "tool_use") || !str_same(node_str(node_get(c, "id")), id)) continue;
      *at = c->next;
      return c;
    }
  }
  return NULL;
}

static void put_result(struct writer *w, const struct node *result, const struct node *call) {
  const struct node *content = node_get(result, "content"), *raw = writer_raw(w, call);
  const struct node *id = node_get(node_get(raw, "functionCall"), "id");
  struct str text = node_is(content, NODE_ARRAY) ? writer_joined(w, content, SAY_TEXT, "\n") : node_str(content);
  int n = 0;
  writer_json(w, "{\"functionResponse\":{\"name\":");
  writer_string(w, gemini_wire_name(w, node_str(node_get(call, "name"))));
  writer_json(w, ",\"response\":{\"");
  writer_json(w, node_is(node_get(result, "is_error"), NODE_TRUE) ? "error\":" : "output\":");
  writer_string(w, text);
  writer_json(w, "}");
  if (id != NULL) {
    writer_json(w, ",\"id\":");
    writer_kept(w, id);
  }
  for (const struct node *b = first_medium(result); b != NULL; b = next_medium(b)) {
    if (!stands_inside(w, b)) continue;
    writer_json(w, n++ == 0 ? ",\"parts\":[" : ",");
    put_media(w, b);
  }
  writer_json(w, n > 0 ? "]}}" : "}}");
}

/* The media of a result that do not stand inside it, behind a text that says whose they are. */
static void put_result_media(struct writer *w, const struct node *result, const struct node *call) {
  int n = 0;
  for (const struct node *b = first_medium(result); b != NULL; b = next_medium(b)) {
    if (stands_inside(w, b)) continue;
    if (n++ == 0) {
      struct str name = gemini_wire_name(w, node_str(node_get(call, "name")));
      static const char BEFORE[] = "Result of ";
      char *p = arena_alloc(w->r->a, sizeof BEFORE + name.n + 1);
      if (p == NULL) { writer_memory(w); return; }
      memcpy(p, BEFORE, sizeof BEFORE - 1);
      if (name.n > 0) memcpy(p + sizeof BEFORE - 1, name.p, name.n);
      p[sizeof BEFORE - 1 + name.n] = ':';
      writer_json(w, ",{\"text\":");
      writer_string(w, (struct str){ p, sizeof BEFORE + name.n });
      writer_json(w, "}");
    }
    writer_json(w, ",");
    put_media(w, b);
  }
}

/* The results of a user's message, then their media; `model`: the message with the calls. How many there were. */
static int put_results(struct writer *w, const struct node *content, const struct node *model) {
  const struct node *at = children(node_get(model, "content"));
  int n = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (!is_type(b, "tool_result")) continue;
    if (n++ > 0) writer_json(w, ",");
    put_result(w, b, answered(model, &at, b));
  }
  at = children(node_get(model, "content"));
  for (const struct node *b = content->child; b != NULL && n > 0; b = b->next)
    if (is_type(b, "tool_result") && first_medium(b) != NULL) put_result_media(w, b, answered(model, &at, b));
  return n;
}

/* }}} */

/* {{{ turns */

/* The parts of a message behind `n` others. 1 when something stands for a signature. */
static int put_parts(struct writer *w, const struct node *message, int n, const struct node *model) {
  const struct node *content = node_get(message, "content");
  int calls = 0, lacks = 0;
  if (n > 0 && is_type(content->child, "tool_result")) writer_json(w, ",");
  n += put_results(w, content, model);
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (is_type(b, "tool_result")) continue;
    if (n++ > 0) writer_json(w, ",");
    if (is_type(b, "tool_use")) lacks |= put_call(w, b, calls++ == 0);
    else put_part(w, b);
  }
  return lacks;
}

static int is_user(const struct node *message) { return str_eq(node_str(node_get(message, "role")), "user"); }

/* The system prompt as the first part of a turn of the user's; how many parts that makes. */
static int put_system(struct writer *w, const struct node *system) {
  struct str text = writer_joined(w, system, SAY_TEXT, "\n\n");
  char *p = arena_alloc(w->r->a, text.n + 2);
  if (p == NULL) { writer_memory(w); return 0; }
  if (text.n > 0) memcpy(p, text.p, text.n);
  memcpy(p + text.n, "\n\n", 2);
  writer_json(w, "{\"text\":");
  writer_string(w, (struct str){ p, text.n + 2 });
  writer_json(w, "}");
  return 1;
}

int gemini_put_contents(struct writer *w, const struct node *system, const struct node *messages) {
  const struct node *model = NULL;
  int lacks = 0;
  writer_json(w, "[");
  if (system != NULL && !is_user(messages->child)) {
    writer_json(w, "{\"role\":\"user\",\"parts\":[");
    (void)put_system(w, system);
    writer_json(w, "]},");
    system = NULL;
  }
  for (const struct node *m = messages->child; m != NULL; m = m->next) {
    int n = 0;
    writer_json(w, m == messages->child ? "{\"role\":" : ",{\"role\":");
    writer_json(w, is_user(m) ? "\"user\",\"parts\":[" : "\"model\",\"parts\":[");
    if (system != NULL) n = put_system(w, system);
    system = NULL;
    lacks |= put_parts(w, m, n, model);
    writer_json(w, "]}");
    if (!is_user(m)) model = m;
  }
  writer_json(w, "]");
  return lacks;
}

/* }}} */
