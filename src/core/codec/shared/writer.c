/*
** writer.c: what the requests of OpenAI's formats have in common: fields in the order they are written, the options
** that mean the same in all of them, and what a block says.
** Owns nothing; scratch lies in the request's arena. Failure: the `struct out` says so; out_check_media returns -1 and
** an err.
*/
#include "writer.h"
#include "effort.h"
#include "core/history/normalise.h"

#include <stdio.h>

/* {{{ fields */

void out_field(struct out *w, const char *name) {
  if (w->n > 0) put(w, ",");
  put_word(w, name);
  put(w, ":");
  if (w->n < FIELDS_MAX) w->fields[w->n++] = name;
}

void out_field_word(struct out *w, const char *name, const char *word) {
  out_field(w, name);
  put_word(w, word);
}

static void warn(struct out *w, const char *code, const char *name, const char *message) {
  if (!w->failed && codec_warn(w->r->a, w->r->warnings, code, name, message) != 0) out_memory(w);
}

void out_warn(struct out *w, const char *name, const char *message) { warn(w, "unsupported_option", name, message); }

void out_adjusted(struct out *w, const char *name, const char *message) { warn(w, "adjusted_option", name, message); }

void out_number(struct out *w, const char *name) {
  const struct node *v = node_get_(w->request, name, strlen(name));
  if (v == NULL) return;
  if (w->q->no_sampling) { out_warn(w, name, "the model refuses it: left out"); return; }
  out_field(w, name);
  put_value(w, v);
}

const char *out_effort(struct out *w, const struct node *thinking) {
  const struct node *budget = node_get(thinking, "budget_tokens");
  if (node_is(thinking, NODE_FALSE)) return NULL;
  if (node_is(thinking, NODE_STRING)) {
    struct str s = arena_dup(w->r->a, thinking->s);
    if (s.p == NULL) out_memory(w);
    return s.p == NULL ? "" : s.p;
  }
  if (!out_no_effort(w)) out_adjusted(w, "thinking", "the model takes no budget: the nearest effort was sent");
  return effort_word(node_is(budget, NODE_INT) ? budget->u.i : INT64_MAX);
}

int out_no_effort(const struct out *w) {
  return str_eq(node_str(node_get(w->request, "thinking_mode")), "none") || strcmp(w->q->effort, "none") == 0;
}

/* Byte order of keys. */
static int before(struct str a, struct str b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int d = n > 0 ? memcmp(a.p, b.p, n) : 0;
  return d < 0 || (d == 0 && a.n < b.n);
}

const struct node *out_next_extra(const struct node *extra, const struct node *last) {
  const struct node *best = NULL;
  for (const struct node *m = children(extra); m != NULL; m = m->next)
    if ((last == NULL || before(last->key, m->key)) && (best == NULL || before(m->key, best->key))) best = m;
  return best;
}

int out_templated(const struct quirks *q) { return strcmp(q->effort, "template") == 0; }

void out_template_kwargs(struct out *w, int think) {
  static const struct str NAME = { "enable_thinking", 15 };
  struct node *extra = node_get(w->request, "extra"), *more = node_get(extra, "chat_template_kwargs");
  struct node *own = node_is(more, NODE_OBJECT) ? node_get_(more, NAME.p, NAME.n) : NULL;
  put(w, think ? "{\"enable_thinking\":true" : "{\"enable_thinking\":false");
  if (own != NULL) node_remove(more, own);
  for (const struct node *v = node_is(more, NODE_OBJECT) ? out_next_extra(more, NULL) : NULL; v != NULL;
       v = out_next_extra(more, v)) {
    put_key(w, v->key);
    put_value(w, v);
  }
  put(w, "}");
  if (node_is(more, NODE_OBJECT)) node_remove(extra, more);
}

void out_template(struct out *w, const struct node *thinking) {
  const struct node *budget = node_get(thinking, "budget_tokens");
  int off = node_is(thinking, NODE_FALSE) || str_eq(node_str(thinking), "none");
  if (off) {
    out_field_word(w, "reasoning_effort", "none");
  } else if (budget != NULL) {
    out_field(w, "thinking_budget_tokens");
    put_value(w, budget);
  } else {
    out_field_word(w, "reasoning_effort", out_effort(w, thinking));
  }
  out_field(w, "chat_template_kwargs");
  out_template_kwargs(w, !off);
}

void out_metadata(struct out *w) {
  struct node *metadata = node_get(w->request, "metadata"), *user = node_get(metadata, "user_id");
  if (user != NULL) {
    node_remove(metadata, user);
    out_field(w, "user");
    put_value(w, user);
  }
  if (children(metadata) == NULL) return;
  out_field(w, "metadata");
  put_value(w, metadata);
}

/* True for a key that `extra` may not set. */
static int written(const struct out *w, struct str key, const char *last) {
  if (str_is(key, last, strlen(last)) || str_eq(key, "stream")) return 1;
  for (int i = 0; i < w->n; i++)
    if (str_is(key, w->fields[i], strlen(w->fields[i]))) return 1;
  return 0;
}

void out_extra(struct out *w, const char *last) {
  const struct node *extra = node_get(w->request, "extra");
  for (const struct node *m = out_next_extra(extra, NULL); m != NULL; m = out_next_extra(extra, m)) {
    if (written(w, m->key, last)) {
      warn(w, "extra_ignored", "extra", "a field that the request has already was left out");
      continue;
    }
    if (str_eq(m->key, "n") && !(node_is(m, NODE_INT) && m->u.i == 1)) {
      out_warn(w, "extra.n", "an answer is one turn: left out");
      continue;
    }
    put_key(w, m->key);
    put_value(w, m);
  }
}

void out_function(struct out *w, const char *open, const struct node *tool) {
  const struct node *description = node_get(tool, "description");
  put(w, open);
  put_string(w, node_str(node_get(tool, "name")));
  if (node_is(description, NODE_STRING)) {
    put(w, ",\"description\":");
    put_string(w, description->s);
  }
  put(w, ",\"parameters\":");
  put_value(w, node_get(tool, "parameters"));
}

/* The provider's own tool that the choice names, or NULL: it is one of the caller's. */
static const struct node *chosen_server_tool(const struct out *w, const struct node *choice) {
  struct str name = node_str(node_get(choice, "name"));
  for (const struct node *t = children(node_get(w->request, "tools")); t != NULL; t = t->next)
    if (normalise_is_chosen(t, name)) return normalise_is_server_tool(t) ? t : NULL;
  return NULL;
}

/* {type, name, server_label}, what the tool has of them. */
static void put_chosen(struct out *w, const struct node *tool) {
  static const char *const KEYS[] = { "name", "server_label" };
  put(w, "{\"type\":");
  put_string(w, node_str(node_get(tool, "type")));
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    const struct node *v = node_get_(tool, KEYS[i], strlen(KEYS[i]));
    if (v == NULL) continue;
    put_key(w, (struct str){ KEYS[i], strlen(KEYS[i]) });
    put_value(w, v);
  }
  put(w, "}");
}

static void put_tool_choice(struct out *w, const char *open, const char *close) {
  const struct node *choice = node_get(w->request, "tool_choice"), *server_tool = chosen_server_tool(w, choice);
  if (!node_is(choice, NODE_OBJECT) && !node_is(choice, NODE_STRING)) return;
  out_field(w, "tool_choice");
  if (server_tool != NULL) {
    put_chosen(w, server_tool);
  } else if (choice->type == NODE_OBJECT) {
    put(w, open);
    put_string(w, node_str(node_get(choice, "name")));
    put(w, close);
  } else if (str_eq(choice->s, "any")) {
    put_word(w, w->q->tool_choice_any);
  } else {
    put_string(w, choice->s);
  }
}

/* A tool of the provider's own, as it is; it is not cached here (N16). */
static void put_server_tool(struct out *w, struct node *tool) {
  struct node *marker = node_get(tool, "cache_control");
  if (marker != NULL) node_remove(tool, marker);
  put_value(w, tool);
}

void out_tools(struct out *w, void (*put_tool)(struct out *w, const struct node *tool), const char *open,
               const char *close) {
  struct node *tools = node_get(w->request, "tools");
  if (children(tools) == NULL) return;
  out_field(w, "tools");
  put(w, "[");
  for (struct node *t = tools->child; t != NULL; t = t->next) {
    if (t != tools->child) put(w, ",");
    if (normalise_is_server_tool(t)) put_server_tool(w, t);
    else put_tool(w, t);
  }
  put(w, "]");
  put_tool_choice(w, open, close);
}

void out_check_choice(struct out *w) {
  if (node_get(w->request, "tool_choice") != NULL && children(node_get(w->request, "tools")) == NULL)
    out_warn(w, "tool_choice", "there are no tools to choose from: left out");
}

void out_unsupported(struct out *w) {
  const struct node *cache = node_get(w->request, "cache_retention");
  if (children(node_get(w->request, "betas")) != NULL) out_warn(w, "betas", "this wire format has no betas: left out");
  if (cache != NULL && !str_eq(node_str(cache), "none"))
    out_warn(w, "cache_retention", "this wire format has no cache marks: left out");
}

/* }}} */

/* {{{ blocks */

const struct node *out_raw(struct out *w, const struct node *block) {
  const struct node *raw = node_get(node_get(block, "provider_data"), "raw");
  struct err scratch;
  err_clear(&scratch);
  if (node_is(raw, NODE_STRING)) raw = json_tree(w->r->a, raw->s, RAW_DEPTH, &scratch);
  if (scratch.kind == KIND_MEMORY) out_memory(w);
  return node_is(raw, NODE_OBJECT) ? raw : NULL;
}

struct str out_said(const struct node *block, enum say what) {
  if (what == SAY_THINKING) return is_type(block, "thinking") ? node_str(node_get(block, "thinking")) : STR_NONE;
  if (!is_type(block, "text") && !is_type(block, "refusal")) return STR_NONE;
  return node_str(node_get(block, "text"));
}

struct str out_joined(struct out *w, const struct node *content, enum say what, const char *between) {
  size_t n = 0, parts = 0, gap = strlen(between);
  struct str one = STR_NONE;
  char *p, *all;
  for (const struct node *b = children(content); b != NULL; b = b->next) {
    struct str s = out_said(b, what);
    if (s.n == 0) continue;
    one = s;
    n += s.n + (parts++ > 0 ? gap : 0);
  }
  if (parts < 2) return one;
  if ((p = all = arena_alloc(w->r->a, n)) == NULL) { out_memory(w); return STR_NONE; }
  for (const struct node *b = children(content); b != NULL; b = b->next) {
    struct str s = out_said(b, what);
    if (s.n == 0) continue;
    if (p > all) { memcpy(p, between, gap); p += gap; }
    memcpy(p, s.p, s.n);
    p += s.n;
  }
  return (struct str){ all, n };
}

void out_url(struct out *w, const struct node *block) {
  struct str source = node_str(node_get(block, "source")), type = node_str(node_get(block, "media_type"));
  struct str pieces[] = { STR("data:"), type, STR(";base64,"), source };
  size_t n = pieces[0].n + pieces[1].n + pieces[2].n + pieces[3].n;
  char *p, *to;
  if (str_begins(source, "data:") || str_begins(source, "http://") || str_begins(source, "https://")) {
    put_string(w, source);
    return;
  }
  if ((p = to = arena_alloc(w->r->a, n)) == NULL) { out_memory(w); return; }
  for (int i = 0; i < 4; to += pieces[i++].n)
    if (pieces[i].n > 0) memcpy(to, pieces[i].p, pieces[i].n);
  put_string(w, (struct str){ p, n });
}

/* Why this block cannot go out, or NULL. */
static const char *refused(const struct out *w, const struct node *block) {
  int image = is_type(block, "image"), url = str_begins(node_str(node_get(block, "source")), "http");
  if (!is_media(block)) return NULL;
  if (image && w->q->no_images) return "no images with this provider";
  if (!image && w->q->no_documents) return "no documents with this provider";
  if (url && (image ? w->q->image_data_only : !w->file_urls)) return "base64 data or a data: URL with this provider";
  return NULL;
}

/* Refuses the first block that cannot go out; `path` is its message's or its result's. */
static int check_blocks(struct out *w, const struct node *content, const char *path) {
  size_t i = 0;
  if (!node_is(content, NODE_ARRAY)) return 0;
  for (const struct node *b = content->child; b != NULL; b = b->next) {
    const char *why = refused(w, b);
    char at[96];
    (void)snprintf(at, sizeof at, "%s.content[%zu]", path, ++i);
    if (why != NULL) return err_argument(w->e, at, why, is_type(b, "image") ? "an image" : "a document");
    if (is_type(b, "document")) w->cited |= node_is(node_get(node_get(b, "citations"), "enabled"), NODE_TRUE);
    if (is_type(b, "tool_result") && check_blocks(w, node_get(b, "content"), at) != 0) return -1;
  }
  return 0;
}

int out_check_media(struct out *w) {
  size_t i = 0;
  for (const struct node *m = children(node_get(w->request, "messages")); m != NULL; m = m->next) {
    char path[40];
    (void)snprintf(path, sizeof path, "messages[%zu]", ++i);
    if (check_blocks(w, node_get(m, "content"), path) != 0) return -1;
  }
  if (w->cited && !w->cites) out_warn(w, "citations", "this wire format cannot be asked to cite a document: left out");
  return w->failed ? -1 : 0;
}

/* }}} */
