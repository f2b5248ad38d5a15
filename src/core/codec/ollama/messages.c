/*
** messages.c: the messages of a request of Ollama's: the system prompt first, tool results as messages of their own,
** text always a string, images beside it.
** Scratch lies in the request's arena. Failure: the `struct writer` says so; ollama_check_media returns -1 and an err.
*/
#include "ollama.h"
#include "core/bytes/base64.h"
#include "core/codec/shared/media.h"
#include "core/history/normalise.h"

/* {{{ media */

/* Checks an image or a document: media_check. */
static int check_media(struct writer *w, const struct node *block, const char *path, void *context) {
  struct media m;
  struct str text;
  int bad = media_read(block, &m) != 0 || m.url.n > 0;
  (void)context;
  if (is_type(block, "image"))
    return bad ? err_argument(w->e, path, "base64 data or a data: URL with this provider", "an image") : 0;
  if (bad || !media_is_text(block, &m))
    return err_argument(w->e, path, "no documents but those of text, as base64 data, with this provider", "a document");
  bad = base64_decode(w->r->a, m.data, &text);
  if (bad == -2) return err_memory(w->e);
  return bad == 0 ? 0 : err_argument(w->e, path, "base64-encoded text", "a document");
}

int ollama_check_media(struct writer *w) { return writer_each_media(w, check_media, NULL); }

/* Images go out as bare base64, without their type. *any: whether the list has begun. */
static void put_images(struct writer *w, const struct node *content, int *any) {
  for (const struct node *b = node_is(content, NODE_ARRAY) ? content->child : NULL; b != NULL; b = b->next) {
    struct media m;
    if (!is_type(b, "image") || media_read(b, &m) != 0) continue;
    writer_json(w, *any ? "," : ",\"images\":[");
    *any = 1;
    writer_string(w, m.data);
  }
  if (*any) writer_json(w, "]");
}

/* The text of a document, decoded; empty when it is none. */
static struct str document_text(struct writer *w, const struct node *b) {
  struct media m;
  struct str text = STR_NONE;
  if (!is_type(b, "document") || media_read(b, &m) != 0 || !media_is_text(b, &m)) return STR_NONE;
  if (base64_decode(w->r->a, m.data, &text) == -2) writer_memory(w);
  return text;
}

/* }}} */

/* {{{ text */

/* The text of the blocks as one string, `between` them; of a document its title stands first. */
static void put_text(struct writer *w, const struct node *content, const char *between, int is_error) {
  struct buf b;
  struct str s;
  int bad = 0;
  buf_init(&b, w->r->a->m);
  for (const struct node *c = children(content); c != NULL; c = c->next) {
    struct str title = is_type(c, "document") ? node_str(node_get(c, "title")) : STR_NONE;
    struct str text = is_type(c, "document") ? document_text(w, c) : writer_said(c, SAY_TEXT);
    if (text.n == 0) continue;
    if (b.n > 0) bad |= buf_adds(&b, between);
    if (title.n > 0) bad |= buf_addstr(&b, title) | buf_addc(&b, '\n');
    bad |= buf_addstr(&b, text);
  }
  s = b.n == 0 && !bad ? STR("") : arena_dup(w->r->a, buf_str(&b));
  buf_free(&b);
  if (!bad && s.p != NULL && is_error) s = normalise_error_text(w->r->a, s);
  if (bad || s.p == NULL) writer_memory(w);
  else writer_string(w, s);
}

/* }}} */

/* The array of messages as it grows. */
struct list {
  struct writer *w;
  size_t n;
};

/* Begins a message: {"role":ROLE,"content": */
static void begin_message(struct list *l, const char *role) {
  writer_json(l->w, l->n++ > 0 ? ",{\"role\":" : "{\"role\":");
  writer_word(l->w, role);
  writer_json(l->w, ",\"content\":");
}

/* {{{ user */

/* True when a result says something. */
static int says(const struct node *content) {
  for (const struct node *c = node_is(content, NODE_ARRAY) ? content->child : NULL; c != NULL; c = c->next)
    if (is_media(c) || writer_said(c, SAY_TEXT).n > 0) return 1;
  return node_str(content).n > 0;
}

/* One result as a message. Templates know a result by the tool's name or by the call's id. */
static void put_result(struct list *l, const struct node *result) {
  const struct node *content = node_get(result, "content");
  struct str id = node_str(node_get(result, "tool_use_id"));
  struct writer *w = l->w;
  int is_error = node_is(node_get(result, "is_error"), NODE_TRUE), images = 0;
  begin_message(l, "tool");
  if (!says(content)) {
    writer_word(w, is_error ? "Error: (no output)" : "(no output)");
  } else if (node_is(content, NODE_ARRAY)) {
    put_text(w, content, "\n", is_error);
  } else {
    struct str s = is_error ? normalise_error_text(w->r->a, content->s) : content->s;
    if (s.p == NULL) writer_memory(w);
    else writer_string(w, s);
  }
  put_images(w, content, &images);
  writer_json(w, ",\"tool_name\":");
  writer_string(w, node_str(node_get(result, "name")));
  writer_json(w, ",\"tool_call_id\":");
  writer_string(w, id);
  writer_json(w, "}");
}

/* First the results, one message each (N8), then what the user says. */
static void put_user(struct list *l, const struct node *message) {
  const struct node *content = node_get(message, "content");
  int own = 0, images = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    if (is_type(b, "tool_result")) put_result(l, b);
    else own |= is_media(b) || writer_said(b, SAY_TEXT).n > 0;
  }
  if (!own) return;
  begin_message(l, "user");
  put_text(l->w, content, "\n\n", 0);
  put_images(l->w, content, &images);
  writer_json(l->w, "}");
}

/* }}} */

/* {{{ assistant */

static void put_calls(struct writer *w, const struct node *content) {
  int64_t n = 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    struct str arguments;
    if (!is_type(b, "tool_use")) continue;
    arguments = normalise_arguments(w->r->a, b, RAW_DEPTH);
    if (arguments.p == NULL) { writer_memory(w); return; }
    writer_json(w, n > 0 ? ",{\"id\":" : ",\"tool_calls\":[{\"id\":");
    writer_string(w, node_str(node_get(b, "id")));
    writer_json(w, ",\"function\":{\"index\":");
    writer_int(w, n++);
    writer_json(w, ",\"name\":");
    writer_string(w, node_str(node_get(b, "name")));
    writer_json(w, ",\"arguments\":");
    writer_text(w, arguments);
    writer_json(w, "}}");
  }
  if (n > 0) writer_json(w, "]");
}

static int calls_tools(const struct node *content) {
  for (const struct node *b = content->child; b != NULL; b = b->next)
    if (is_type(b, "tool_use")) return 1;
  return 0;
}

/* A message that would say nothing here (thinking alone, say) is left out. */
static void put_assistant(struct list *l, const struct node *message) {
  const struct node *content = node_get(message, "content");
  struct writer *w = l->w;
  struct str text = writer_joined(w, content, SAY_TEXT, ""), thinking = writer_joined(w, content, SAY_THINKING, "");
  if (text.n == 0 && !calls_tools(content)) return;
  begin_message(l, "assistant");
  writer_string(w, text);
  if (thinking.n > 0) {
    writer_json(w, ",\"thinking\":");
    writer_string(w, thinking);
  }
  put_calls(w, content);
  writer_json(w, "}");
}

/* }}} */

void ollama_put_messages(struct writer *w, const struct node *system) {
  const struct node *messages = writer_given(w, "messages");
  struct list l = { .w = w };
  struct str text = writer_joined(w, system, SAY_TEXT, "\n\n");
  writer_json(w, "[");
  if (text.n > 0) {
    begin_message(&l, "system");
    writer_string(w, text);
    writer_json(w, "}");
  }
  for (const struct node *m = messages->child; m != NULL; m = m->next) {
    if (str_eq(node_str(node_get(m, "role")), "assistant")) put_assistant(&l, m);
    else put_user(&l, m);
  }
  writer_json(w, "]");
}
