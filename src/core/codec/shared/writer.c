/*
** writer.c: a request's body: values, top-level fields, what the caller adds to them, and what a block says.
** Owns nothing; scratch lies in the request's arena. Failure: the `struct writer` says so; writer_check_media returns
** -1 and an err.
*/
#include "core/json/schema.h"
#include "media.h"
#include "writer.h"

#include <stdio.h>

/* {{{ values */

void writer_memory(struct writer *w) {
  if (!w->failed) err_memory(w->e);
  w->failed = 1;
}

void writer_add(struct writer *w, const char *json, size_t n) {
  if (!w->failed && buf_add(w->r->body, json, n) != 0) writer_memory(w);
}

void writer_text(struct writer *w, struct str json) {
  if (!w->failed && json_write_text(w->r->body, json) != 0) writer_memory(w);
}

void writer_string(struct writer *w, struct str s) {
  if (!w->failed && json_write_string(w->r->body, s) != 0) writer_memory(w);
}

void writer_word(struct writer *w, const char *s) { writer_string(w, (struct str){ s, strlen(s) }); }

void writer_int(struct writer *w, int64_t i) {
  if (!w->failed && json_write_int(w->r->body, i) != 0) writer_memory(w);
}

void writer_sorted(struct writer *w, const struct node *v) {
  if (!w->failed && json_write_sorted(w->r->body, v, w->e) != 0) w->failed = 1;
}

void writer_kept(struct writer *w, const struct node *v) {
  if (!w->failed && json_write(w->r->body, v, w->e) != 0) w->failed = 1;
}

void writer_schema(struct writer *w, const struct node *schema, int ordering) {
  if (!w->failed && json_write_schema(w->r->body, schema, ordering, w->e) != 0) w->failed = 1;
}

void writer_member(struct writer *w, struct str key) {
  writer_json(w, ",");
  writer_string(w, key);
  writer_json(w, ":");
}

/* Letters, digits and -._~ are themselves in a path (RFC 3986). */
static int is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         c == '-' || c == '.' || c == '_' || c == '~';
}

void writer_path(struct writer *w, const char *option, struct str segment) {
  static const char HEX[] = "0123456789ABCDEF";
  if (!w->failed && (str_eq(segment, ".") || str_eq(segment, ".."))) {
    (void)err_argument(w->e, option, "a name without . or .. between its slashes", "one with");
    w->failed = 1;
  }
  for (size_t i = 0; i < segment.n && !w->failed; i++) {
    unsigned char c = (unsigned char)segment.p[i];
    const char code[] = { '%', HEX[c >> 4], HEX[c & 15] };
    int bad = is_unreserved(segment.p[i]) ? buf_addc(w->r->path, segment.p[i]) : buf_add(w->r->path, code, sizeof code);
    if (bad != 0) writer_memory(w);
  }
}

/* }}} */

/* {{{ fields */

/* ,"key": of the body itself, the first one without a comma. */
static void begin_member(struct writer *w, struct str key) {
  if (w->begun) writer_json(w, ",");
  w->begun = 1;
  writer_string(w, key);
  writer_json(w, ":");
}

/* The same for a name of ours, in which nothing has to be escaped. */
void writer_field(struct writer *w, const char *name) {
  struct buf *b = w->r->body;
  size_t n = strlen(name);
  char *p;
  if (w->n < FIELDS_MAX) w->fields[w->n++] = name;
  if (w->failed) return;
  if (buf_reserve(b, n + 4) != 0) { writer_memory(w); return; }
  p = b->p + b->n;
  if (w->begun) *p++ = ',';
  w->begun = 1;
  *p++ = '"';
  memcpy(p, name, n);
  p += n;
  *p++ = '"';
  *p++ = ':';
  b->n = (size_t)(p - b->p);
}

void writer_field_word(struct writer *w, const char *name, const char *word) {
  writer_field(w, name);
  writer_word(w, word);
}

void writer_warn_as(struct writer *w, const char *code, const char *name, const char *message) {
  if (!w->failed && codec_warn(w->r->a, w->r->warnings, code, name, message) != 0) writer_memory(w);
}

void writer_warn(struct writer *w, const char *name, const char *message) {
  writer_warn_as(w, "unsupported_option", name, message);
}

void writer_adjusted(struct writer *w, const char *name, const char *message) {
  writer_warn_as(w, "adjusted_option", name, message);
}

void writer_ignored(struct writer *w, const char *in, struct str name) {
  struct str field;
  char path[128];
  (void)snprintf(path, sizeof path, "extra.%s%s%.*s", in != NULL ? in : "", in != NULL ? "." : "",
                 name.n < 64 ? (int)name.n : 64, name.n > 0 ? name.p : "");
  field = arena_dup(w->r->a, (struct str){ path, strlen(path) });
  if (field.p == NULL) writer_memory(w);
  else writer_warn_as(w, "extra_ignored", field.p, "the request has this field already: left out");
}

#define LOGPROBS_MOST 20 /* alternatives to a token, on any wire */

int writer_logprobs(struct writer *w) {
  const struct node *given = writer_given(w, "logprobs");
  const struct quirks *q = w->r->quirks;
  int most = strcmp(q->logprobs, "flag") == 0 ? 0 : q->logprobs_most > 0 ? q->logprobs_most : LOGPROBS_MOST;
  const char *why = strcmp(q->logprobs, "none") == 0 ? "the provider does not tell them: left out"
                  : q->no_sampling ? "the model refuses it: left out"
                  : writer_given(w, "no_logprobs") != NULL ? "the provider refused to tell them: left out" : NULL;
  if (!node_is(given, NODE_INT)) return -1;
  if (why != NULL) { writer_warn(w, "logprobs", why); return -1; }
  if (given->u.i <= most) return (int)given->u.i;
  writer_adjusted(w, "logprobs", "the provider tells of fewer alternatives: as many as it does were asked for");
  return most;
}

void writer_no_parallel(struct writer *w, const char *message) {
  struct node *extra = writer_given(w, "extra"), *given = node_get(extra, "parallel_tool_calls");
  if (!node_is(given, NODE_FALSE) && !node_is(given, NODE_TRUE)) return;
  if (node_is(given, NODE_FALSE) && children(writer_given(w, "tools")) != NULL) writer_warn(w, "extra", message);
  node_remove(extra, given);
}

/* Byte order of keys. */
static int before(struct str a, struct str b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int d = n > 0 ? memcmp(a.p, b.p, n) : 0;
  return d < 0 || (d == 0 && a.n < b.n);
}

const struct node *writer_next_extra(const struct node *extra, const struct node *last) {
  const struct node *best = NULL;
  for (const struct node *m = children(extra); m != NULL; m = m->next)
    if ((last == NULL || before(last->key, m->key)) && (best == NULL || before(m->key, best->key))) best = m;
  return best;
}

/* True for a key that `extra` may not set. */
static int written(const struct writer *w, struct str key, const char *last) {
  if (str_is(key, last, strlen(last)) || str_eq(key, "stream")) return 1;
  for (int i = 0; i < w->n; i++)
    if (str_is(key, w->fields[i], strlen(w->fields[i]))) return 1;
  return 0;
}

static int is_named(struct str key, const char *name) { return name != NULL && str_is(key, name, strlen(name)); }

void writer_extra_members(struct writer *w, const char *name, const char *own, const char *own_too) {
  struct node *extra = writer_given(w, "extra"), *more = node_get_(extra, name, strlen(name));
  if (!node_is(more, NODE_OBJECT)) return;
  for (const struct node *v = writer_next_extra(more, NULL); v != NULL; v = writer_next_extra(more, v)) {
    if (is_named(v->key, own) || is_named(v->key, own_too)) {
      writer_ignored(w, name, v->key);
      continue;
    }
    writer_member(w, v->key);
    writer_sorted(w, v);
  }
  node_remove(extra, more);
}

void writer_extra(struct writer *w, const char *last) {
  const struct node *extra = writer_given(w, "extra");
  for (const struct node *m = writer_next_extra(extra, NULL); m != NULL; m = writer_next_extra(extra, m)) {
    if (written(w, m->key, last)) {
      writer_ignored(w, NULL, m->key);
      continue;
    }
    begin_member(w, m->key);
    writer_sorted(w, m);
  }
}

/* }}} */

/* {{{ blocks */

const struct node *writer_raw(struct writer *w, const struct node *block) {
  const struct node *raw = node_get(node_get(block, "provider_data"), "raw");
  struct err scratch;
  err_clear(&scratch);
  if (node_is(raw, NODE_STRING)) raw = json_tree(w->r->a, raw->s, RAW_DEPTH, &scratch);
  if (scratch.kind == KIND_MEMORY) writer_memory(w);
  return node_is(raw, NODE_OBJECT) ? raw : NULL;
}

struct str writer_said(const struct node *block, enum say what) {
  if (what == SAY_THINKING) return is_type(block, "thinking") ? node_str(node_get(block, "thinking")) : STR_NONE;
  if (!is_type(block, "text") && !is_type(block, "refusal")) return STR_NONE;
  return node_str(node_get(block, "text"));
}

struct str writer_joined(struct writer *w, const struct node *content, enum say what, const char *between) {
  size_t n = 0, parts = 0, gap = strlen(between);
  struct str one = STR_NONE;
  char *p, *all;
  for (const struct node *b = children(content); b != NULL; b = b->next) {
    struct str s = writer_said(b, what);
    if (s.n == 0) continue;
    one = s;
    n += s.n + (parts++ > 0 ? gap : 0);
  }
  if (parts < 2) return one;
  if ((p = all = arena_alloc(w->r->a, n)) == NULL) { writer_memory(w); return STR_NONE; }
  for (const struct node *b = children(content); b != NULL; b = b->next) {
    struct str s = writer_said(b, what);
    if (s.n == 0) continue;
    if (p > all) { memcpy(p, between, gap); p += gap; }
    memcpy(p, s.p, s.n);
    p += s.n;
  }
  return (struct str){ all, n };
}

void writer_url(struct writer *w, const struct node *block) {
  struct str source = node_str(node_get(block, "source")), type = media_type(block);
  struct str pieces[] = { STR("data:"), type, STR(";base64,"), source };
  size_t n = pieces[0].n + pieces[1].n + pieces[2].n + pieces[3].n;
  char *p, *to;
  if (str_begins(source, "data:") || str_begins(source, "http://") || str_begins(source, "https://")) {
    writer_string(w, source);
    return;
  }
  if ((p = to = arena_alloc(w->r->a, n)) == NULL) { writer_memory(w); return; }
  for (int i = 0; i < 4; to += pieces[i++].n)
    if (pieces[i].n > 0) memcpy(to, pieces[i].p, pieces[i].n);
  writer_string(w, (struct str){ p, n });
}

/* Where content lies: that of message `i`, or that of block `i` in the content `in`. */
struct place {
  const struct place *in;
  size_t i;
};

/* Writes the place's path, as much as fits; returns its length. Only media get one: it costs more than all else here. */
static size_t place_path(const struct place *at, char *path, size_t size) {
  size_t n = at->in == NULL ? 0 : place_path(at->in, path, size);
  int more = snprintf(path + n, size - n, at->in == NULL ? "messages[%zu]" : ".content[%zu]", at->i);
  return more < 0 || (size_t)more >= size - n ? size - 1 : n + (size_t)more;
}

static int each_media(struct writer *w, const struct node *content, const struct place *in, media_check check,
                      void *context) {
  struct place at = { in, 0 };
  if (!node_is(content, NODE_ARRAY)) return 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    struct str type = node_str(node_get(b, "type"));
    at.i++;
    if (str_eq(type, "image") || str_eq(type, "document")) {
      char path[96];
      w->no_media = 0;
      (void)place_path(&at, path, sizeof path);
      if (check(w, b, path, context) != 0) return -1;
    } else if (str_eq(type, "tool_result") && each_media(w, node_get(b, "content"), &at, check, context) != 0) {
      return -1;
    }
  }
  return 0;
}

int writer_each_media(struct writer *w, media_check check, void *context) {
  struct place at = { NULL, 0 };
  if (w->no_media) return 0;
  w->no_media = 1;
  for (const struct node *m = children(writer_given(w, "messages")); m != NULL; m = m->next) {
    at.i++;
    if (each_media(w, node_get(m, "content"), &at, check, context) != 0) return -1;
  }
  return 0;
}

/* The abilities of the dialect with media, and whether the caller asks for a document's citations. */
struct dialect {
  unsigned can;
  int cited;
};

static int check_dialect(struct writer *w, const struct node *block, const char *path, void *context) {
  struct dialect *d = context;
  const struct quirks *q = w->r->quirks;
  int image = is_type(block, "image"), url = str_begins(node_str(node_get(block, "source")), "http");
  const char *what = image ? "an image" : "a document";
  if (image && q->no_images) return err_argument(w->e, path, "no images with this provider", what);
  if (!image && q->no_documents) return err_argument(w->e, path, "no documents with this provider", what);
  if (url && (image ? q->image_data_only : !(d->can & MEDIA_FILE_URLS)))
    return err_argument(w->e, path, "base64 data or a data: URL with this provider", what);
  if (!image) d->cited |= node_is(node_get(node_get(block, "citations"), "enabled"), NODE_TRUE);
  return 0;
}

int writer_check_media(struct writer *w, unsigned can) {
  struct dialect d = { can, 0 };
  if (writer_each_media(w, check_dialect, &d) != 0) return -1;
  if (d.cited && !(can & MEDIA_CITATIONS))
    writer_warn(w, "citations", "this wire format cannot be asked to cite a document: left out");
  return w->failed ? -1 : 0;
}

void writer_drop(struct writer *w, int (*is_unsendable)(struct writer *w, const struct node *block)) {
  for (const struct node *m = children(writer_given(w, "messages")); m != NULL; m = m->next) {
    struct node *content = node_get(m, "content"), *before = NULL, *next;
    for (struct node *b = node_is(content, NODE_ARRAY) ? content->child : NULL; b != NULL; b = next) {
      next = b->next;
      if (is_unsendable(w, b)) node_remove_after(content, before);
      else before = b;
    }
  }
}

/* }}} */
