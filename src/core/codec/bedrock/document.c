/*
** document.c: documents and images of Converse: their formats, where they are, and the names of documents, which hold
** few characters and differ from each other in a conversation. A name depends on the documents before it alone, so that a
** longer history keeps it.
** Names lie in the caller's arena. Failure: -1 and an err, or -1 (memory), or kept in the writer.
*/
#include "bedrock.h"
#include "core/codec/shared/media.h"
#include "core/history/rules.h"

#include <stdio.h>

#define NAME_MAX_BYTES 200

/* {{{ formats and sources */

static const struct { const char *type, *format; } DOCUMENTS[] = {
  { "application/pdf", "pdf" }, { "text/csv", "csv" }, { "application/msword", "doc" },
  { "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx" },
  { "application/vnd.ms-excel", "xls" }, { "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx" },
  { "text/html", "html" }, { "text/markdown", "md" }, { "text/x-markdown", "md" },
};
static const struct { const char *type, *format; } IMAGES[] = {
  { "image/png", "png" }, { "image/jpeg", "jpeg" }, { "image/jpg", "jpeg" }, { "image/gif", "gif" },
  { "image/webp", "webp" },
};

/* The format of a document by its MIME type, NULL when there is none; of an image. */
static const char *document_format(struct str type) {
  for (size_t i = 0; i < sizeof DOCUMENTS / sizeof *DOCUMENTS; i++)
    if (str_is(type, DOCUMENTS[i].type, strlen(DOCUMENTS[i].type))) return DOCUMENTS[i].format;
  return str_begins(type, "text/") ? "txt" : NULL;
}

static const char *image_format(struct str type) {
  for (size_t i = 0; i < sizeof IMAGES / sizeof *IMAGES; i++)
    if (str_is(type, IMAGES[i].type, strlen(IMAGES[i].type))) return IMAGES[i].format;
  return NULL;
}

int bedrock_check_media(struct writer *w, const struct node *block, const char *path, void *context) {
  int image = is_type(block, "image");
  struct media m;
  char field[112];
  (void)context;
  (void)snprintf(field, sizeof field, "%s.source", path);
  if (media_read(block, &m) != 0 || m.url.n > 0)
    return err_argument(w->e, field, "base64 data with a media_type, a base64 data: URL or an s3:// address",
                        m.url.n > 0 ? "another address" : "something else");
  if ((image ? image_format(m.type) : document_format(m.type)) != NULL) return 0;
  (void)snprintf(field, sizeof field, "%s.media_type", path);
  return err_argument(w->e, field, image ? "image/png, image/jpeg, image/gif or image/webp"
                                      : "the type of a PDF, CSV, Word, Excel, HTML, Markdown or text file",
                      "another type");
}

/* "source":{…}} behind the format. */
static void put_source(struct writer *w, struct str data) {
  int s3 = str_begins(data, "s3://");
  writer_json(w, s3 ? ",\"source\":{\"s3Location\":{\"uri\":" : ",\"source\":{\"bytes\":");
  writer_string(w, data);
  writer_json(w, s3 ? "}}" : "}");
}

void bedrock_put_image(struct writer *w, const struct node *block) {
  struct media m;
  if (media_read(block, &m) != 0) return; /* checked before */
  writer_json(w, "{\"image\":{\"format\":");
  writer_word(w, image_format(m.type));
  put_source(w, m.data);
  writer_json(w, "}}");
}

void bedrock_put_document(struct writer *w, const struct node *block) {
  struct media m;
  struct str context = node_str(node_get(block, "context"));
  if (media_read(block, &m) != 0) return;
  writer_json(w, "{\"document\":{\"format\":");
  writer_word(w, document_format(m.type));
  writer_json(w, ",\"name\":");
  writer_string(w, node_str(node_get(block, "name")));
  put_source(w, m.data);
  if (context.n > 0) {
    writer_json(w, ",\"context\":");
    writer_string(w, context);
  }
  if (node_is(node_get(node_get(block, "citations"), "enabled"), NODE_TRUE))
    writer_json(w, ",\"citations\":{\"enabled\":true}");
  writer_json(w, "}}");
}

/* }}} */

/* {{{ names */

/* The names given so far: open addressing, at most half full. */
struct names {
  struct arena *a;
  struct str *slot; /* p NULL: free */
  size_t mask, documents;
};

/* True when the name was free, and is taken now. */
static int take_name(struct names *t, struct str name) {
  size_t i = (size_t)rules_hash(name) & t->mask;
  for (; t->slot[i].p != NULL; i = (i + 1) & t->mask)
    if (str_same(t->slot[i], name)) return 0;
  t->slot[i] = name;
  return 1;
}

/* The title with what no name may hold left out, in the arena; empty when nothing is left; p NULL: memory. */
static struct str clean(struct arena *a, struct str title) {
  char *p = arena_alloc(a, title.n + 1);
  size_t n = 0;
  if (p == NULL) return STR_NONE;
  for (size_t i = 0; i < title.n && n < NAME_MAX_BYTES - 24; i++) {
    char c = title.p[i];
    int alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (alnum || (c != '\0' && strchr("-()[]", c) != NULL)) p[n++] = c;
    else if (n > 0 && p[n - 1] != ' ') p[n++] = ' ';
  }
  while (n > 0 && p[n - 1] == ' ') n--;
  return (struct str){ p, n };
}

/* "NAME K" in the arena; p NULL: memory. */
static struct str numbered(struct arena *a, struct str name, size_t k) {
  char tail[24];
  int n = snprintf(tail, sizeof tail, " %zu", k);
  char *p = arena_alloc(a, name.n + (size_t)n);
  if (p == NULL) return STR_NONE;
  memcpy(p, name.p, name.n);
  memcpy(p + name.n, tail, (size_t)n);
  return (struct str){ p, name.n + (size_t)n };
}

/* A name that none has yet: the title, else its ordinal among the documents, which counts on from there. */
static int name_document(struct names *t, struct node *block) {
  struct str base = clean(t->a, node_str(node_get(block, "title"))), name;
  size_t k = ++t->documents;
  if (base.p == NULL) return -1;
  name = base.n > 0 ? base : numbered(t->a, base = STR("Document"), k);
  while (name.p != NULL && !take_name(t, name)) name = numbered(t->a, base, ++k);
  return name.p == NULL ? -1 : node_set(block, STR("name"), node_string(t->a, name));
}

/* Counts the documents among the blocks and in their results, or names them. 0, or -1. */
static int each_document(struct names *t, struct node *content, size_t *count) {
  for (struct node *b = node_is(content, NODE_ARRAY) ? content->child : NULL; b != NULL; b = b->next) {
    if (is_type(b, "tool_result") && each_document(t, node_get(b, "content"), count) != 0) return -1;
    if (!is_type(b, "document")) continue;
    if (count != NULL) ++*count;
    else if (name_document(t, b) != 0) return -1;
  }
  return 0;
}

int bedrock_name_documents(struct arena *a, const struct node *messages) {
  struct names t = { .a = a };
  size_t count = 0, size = 8;
  for (struct node *m = messages->child; m != NULL; m = m->next) (void)each_document(&t, node_get(m, "content"), &count);
  if (count == 0) return 0;
  while (size < 2 * count) size *= 2;
  t.slot = arena_zero(a, size * sizeof *t.slot);
  t.mask = size - 1;
  if (t.slot == NULL) return -1;
  for (struct node *m = messages->child; m != NULL; m = m->next)
    if (each_document(&t, node_get(m, "content"), NULL) != 0) return -1;
  return 0;
}

/* }}} */
