/*
** check.c: is this a request at all? The shapes of messages, system, tools and what goes with them, checked before any
** rule touches them; what is missing or of the wrong kind is named by its path, counted from 1 as in Lua. Unknown
** fields are not checked. A request is checked without paths first, and again only where something is wrong: paths cost
** more than the check. No allocation, nothing owned. Failure: -1, KIND_ARGUMENT.
*/
#include "block.h"
#include "fields.h"
#include "normalise.h"

#include <stdio.h>

#define DATA_LOOKED_AT 1024 /* bytes of an image, or of a document that is no text */
#define NAMES_MAX 128 /* bytes of the names of all types of blocks */

/* {{{ blocks */

#define ALONE 0u /* a place: none of block.h */

static int check_content(struct check *c, const struct node *o, int scalar, unsigned place);

/* True without control characters. */
static int is_plain(struct str s) {
  for (size_t i = 0; i < s.n; i++)
    if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7F) return 0;
  return 1;
}

/* {enabled = true}: whether answers shall cite the document. Of other blocks it is not asked. */
static int check_citations(struct check *c, const struct node *b, enum block_type type) {
  const struct node *v = member(b, STR("citations"));
  size_t back;
  if (v == NULL || type != BLOCK_DOCUMENT) return 0;
  if (!node_is(v, NODE_OBJECT)) return refuse_member(c, STR("citations"), "{enabled = true}", v);
  back = push_key(c, STR("citations"));
  if (member(v, STR("enabled")) == NULL) return refuse_member(c, STR("enabled"), "true or false", NULL);
  if (check_boolean(c, v, STR("enabled")) != 0) return -1;
  pop(c, back);
  return 0;
}

/* Whether data may be base64, as base64_decode reads it: by its beginning, or by all of it. */
static int may_be_base64(struct str s, int all) {
  size_t n = all || s.n < DATA_LOOKED_AT ? s.n : DATA_LOOKED_AT, digits = 0;
  int ended = 0;
  for (size_t i = 0; i < n; i++) {
    char ch = s.p[i];
    int letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
    if (ch == '\n' || ch == '\r') continue;
    if (ch == '=') ended = 1;
    else if (ended || (!letter && (ch == '\0' || strchr("+/-_", ch) == NULL))) return 0;
    else digits++;
  }
  return n < s.n || digits % 4 != 1;
}

/* An address of a provider's own ("s3://…") passes, a path of a file does not. Wires read all of a text. */
const char *normalise_source(struct str source, struct str type, int document) {
  struct str data = source;
  size_t head = source.n < DATA_LOOKED_AT ? source.n : DATA_LOOKED_AT;
  if (source.p != NULL && str_begins(source, "data:")) {
    const char *comma = memchr(source.p, ',', head);
    size_t n = comma != NULL ? (size_t)(comma - source.p) : 0;
    if (n < 12 || memcmp(comma - 7, ";base64", 7) != 0) return "data: URL of base64 data (data:TYPE;base64,DATA)";
    data = (struct str){ comma + 1, source.n - n - 1 };
    type = (struct str){ source.p + 5, n - 12 };
    if (type.n == 0) type = STR("text/plain");
  } else if (str_contains((struct str){ source.p, head }, "://")) {
    return NULL;
  }
  if (may_be_base64(data, document && str_begins(type, "text/"))) return NULL;
  return "base64 data, as koine.base64(bytes) gives, or a URL "
         "(koine.image.file and koine.document.file read files)";
}

/* "TYPE/SUBTYPE", perhaps with parameters. */
static int is_mime(struct str s) {
  const char *slash = s.n > 0 ? memchr(s.p, '/', s.n) : NULL;
  return slash != NULL && slash > s.p && slash < s.p + s.n - 1 && is_plain(s);
}

/* Where an image or a document comes from: a URL says its own type, bare data needs media_type. */
static int check_media(struct check *c, const struct node *b, enum block_type block) {
  const struct node *type = member(b, STR("media_type")), *source = member(b, STR("source"));
  struct str s = node_str(source);
  const char *expected;
  if (node_is(source, NODE_OBJECT))
    return refuse_member(c, STR("source"), "string of base64 data or a URL, with media_type beside it", source);
  if (check_name(c, b, STR("source")) != 0) return -1;
  if ((expected = normalise_source(s, node_str(type), block == BLOCK_DOCUMENT)) != NULL)
    return refuse_member(c, STR("source"), expected, source);
  if (type == NULL && !str_begins(s, "data:") && !str_begins(s, "http://") && !str_begins(s, "https://"))
    return refuse_member(c, STR("media_type"), "MIME type (source is no URL)", NULL);
  if (check_string(c, b, STR("media_type"), OPTIONAL) != 0 || check_string(c, b, STR("title"), OPTIONAL) != 0)
    return -1;
  if (type != NULL && !is_mime(node_str(type)))
    return refuse_member(c, STR("media_type"), "MIME type without control characters, such as image/png", type);
  return check_string(c, b, STR("context"), OPTIONAL) != 0 ? -1 : check_citations(c, b, block);
}

static int check_tool_use(struct check *c, const struct node *b) {
  int has_json = member(b, STR("arguments_json")) != NULL;
  if (check_string(c, b, STR("id"), REQUIRED) != 0 || check_string(c, b, STR("name"), REQUIRED) != 0 ||
      check_string(c, b, STR("arguments_json"), OPTIONAL) != 0 ||
      check_string(c, b, STR("arguments_error"), OPTIONAL) != 0 || check_boolean(c, b, STR("output")) != 0)
    return -1;
  return check_table(c, b, STR("arguments"), has_json ? OPTIONAL : REQUIRED);
}

static int check_tool_result(struct check *c, const struct node *b) {
  if (check_string(c, b, STR("tool_use_id"), REQUIRED) != 0 || check_boolean(c, b, STR("is_error")) != 0) return -1;
  return check_content(c, b, 0, IN_RESULT);
}

/* {provider, model, wire, raw}: where the block came from. */
static int check_origin(struct check *c, const struct node *b, int needed) {
  const struct node *v = member(b, STR("provider_data"));
  size_t back;
  if (v == NULL && needed == OPTIONAL) return 0;
  if (!node_is(v, NODE_OBJECT)) return refuse_member(c, STR("provider_data"), "{provider, model, wire, raw}", v);
  back = push_key(c, STR("provider_data"));
  if (check_string(c, v, STR("provider"), REQUIRED) != 0 || check_string(c, v, STR("model"), REQUIRED) != 0 ||
      check_string(c, v, STR("wire"), OPTIONAL) != 0 || check_table(c, v, STR("container"), OPTIONAL) != 0)
    return -1;
  if (needed && member(v, STR("raw")) == NULL) return refuse_member(c, STR("raw"), "what the provider sent", NULL);
  pop(c, back);
  return 0;
}

/* The fields of a block of this type. */
static int check_fields(struct check *c, const struct node *b, enum block_type type) {
  switch (type) {
    case BLOCK_TEXT: case BLOCK_REFUSAL: return check_string(c, b, STR("text"), REQUIRED);
    case BLOCK_IMAGE: case BLOCK_DOCUMENT: return check_media(c, b, type);
    case BLOCK_TOOL: return check_tool_use(c, b);
    case BLOCK_RESULT: return check_tool_result(c, b);
    case BLOCK_REDACTED: return check_string(c, b, STR("data"), REQUIRED);
    case BLOCK_OPAQUE: return check_origin(c, b, REQUIRED);
    case BLOCK_THINKING:
      if (check_string(c, b, STR("thinking"), REQUIRED) != 0) return -1;
      return check_string(c, b, STR("signature"), OPTIONAL);
    default: return 0;
  }
}

/* Checks that the block may stand in this place: NULL, or what is expected instead. */
static const char *misplaced(enum block_type type, unsigned place) {
  if ((block_form(type)->places & place) == place) return NULL;
  if (place == IN_RESULT) return "text, image or document (in a tool_result)";
  if (place == IN_ASSISTANT) return "another type (this one belongs in a user message)";
  return "another type (this one belongs in an assistant message)";
}

static int check_block(struct check *c, const struct node *b, unsigned place) {
  const struct node *named = node_get(b, "type");
  enum block_type type = block_by_name(node_str(named));
  const char *expected;
  char names[NAMES_MAX];
  if (!node_is(b, NODE_OBJECT)) return refuse(c, "block (a table with a type)", b);
  if (type == BLOCK_COUNT) return refuse_member(c, STR("type"), block_names(names, sizeof names), named);
  if (check_fields(c, b, type) != 0) return -1;
  expected = misplaced(type, place);
  if (expected != NULL) return refuse_member(c, STR("type"), expected, named);
  if (check_cache_control(c, b) != 0) return -1;
  return check_origin(c, b, OPTIONAL);
}

static int check_blocks(struct check *c, const struct node *list, unsigned place) {
  size_t i = 0;
  for (const struct node *b = list->child; b != NULL; b = b->next, i++) {
    size_t back = push_index(c, i);
    if (check_block(c, b, place) != 0) return -1;
    pop(c, back);
  }
  return 0;
}

/* o.content: a string or blocks; with `scalar` anything that has a text (N1), or nothing. */
static int check_content(struct check *c, const struct node *o, int scalar, unsigned place) {
  const struct node *v = member(o, STR("content"));
  size_t back;
  if (v == NULL ? scalar : v->type == NODE_STRING) return 0;
  if (v != NULL && scalar && v->type != NODE_OBJECT && v->type != NODE_ARRAY) return 0;
  if (v == NULL || !is_array(v)) return refuse_member(c, STR("content"), "string or array of blocks", v);
  back = push_key(c, STR("content"));
  if (check_blocks(c, v, place) != 0) return -1;
  pop(c, back);
  return 0;
}

/* }}} */

/* {{{ messages */

static int check_message(struct check *c, const struct node *m) {
  const struct node *role = node_get(m, "role");
  struct str s = node_str(role);
  const char *expected = "\"user\" or \"assistant\"";
  if (!node_is(m, NODE_OBJECT)) return refuse(c, "message {role, content}", m);
  if (str_eq(s, "user")) return check_content(c, m, 1, IN_USER);
  if (str_eq(s, "assistant")) return check_content(c, m, 1, IN_ASSISTANT);
  if (str_eq(s, "system")) expected = "\"user\" or \"assistant\" (use opts.system for a system prompt)";
  if (str_eq(s, "tool")) expected = "\"user\" or \"assistant\" (a result is a tool_result block of the user)";
  return refuse_member(c, STR("role"), expected, role);
}

/* A call that somebody has to answer: one that holds the answer of a model needs no result. */
static int is_call(const struct node *b) {
  return str_eq(node_str(node_get(b, "type")), "tool_use") && !node_is(node_get(b, "output"), NODE_TRUE);
}

/* N5: the assistant messages at the end, which starts at message i, must not wait for results. */
static int check_end(struct check *c, const struct node *m, size_t i) {
  for (; m != NULL; m = m->next, i++) {
    const struct node *content = node_get(m, "content"), *b = content == NULL ? NULL : content->child;
    for (size_t k = 0; b != NULL; b = b->next, k++) {
      char expected[96];
      struct str id = node_str(node_get(b, "id"));
      if (!is_call(b)) continue;
      if (c->quiet) return -1;
      (void)push(c, "[%zu].content[%zu]", i + 1, k + 1);
      (void)snprintf(expected, sizeof expected, "a user message after it with the tool_result of \"%.*s\"",
                     (int)(id.n > SHOWN ? SHOWN : id.n), id.n > 0 ? id.p : "");
      return err_argument(c->e, c->path, expected, "none");
    }
  }
  return 0;
}

static int check_messages(struct check *c, const struct node *request) {
  const struct node *list = member(request, STR("messages")), *m, *reply = NULL;
  size_t back, i = c->known, at = 0;
  if (list == NULL || !is_array(list)) return refuse_member(c, STR("messages"), "array of messages", list);
  if (list->count == 0 && i == 0) return refuse_member(c, STR("messages"), "at least one message", list);
  back = push_key(c, STR("messages"));
  for (m = list->child; m != NULL; m = m->next, i++) {
    size_t here = push_index(c, i);
    if (check_message(c, m) != 0) return -1;
    pop(c, here);
    if (!str_eq(node_str(node_get(m, "role")), "assistant")) reply = NULL;
    else if (reply == NULL) reply = m, at = i;
  }
  if (check_end(c, reply, at) != 0) return -1;
  pop(c, back);
  return 0;
}

/* }}} */

/* {{{ system, tools */

static int check_system(struct check *c, const struct node *request) {
  const struct node *v = member(request, STR("system")), *b;
  size_t back, i = 0;
  if (v == NULL || v->type == NODE_STRING) return 0;
  if (!is_array(v)) return refuse_member(c, STR("system"), "string or array of text blocks", v);
  back = push_key(c, STR("system"));
  for (b = v->child; b != NULL; b = b->next, i++) {
    size_t here = push_index(c, i);
    if (!node_is(b, NODE_OBJECT)) return refuse(c, "text block", b);
    if (!str_eq(node_str(node_get(b, "type")), "text"))
      return refuse_member(c, STR("type"), "\"text\"", node_get(b, "type"));
    if (check_block(c, b, ALONE) != 0) return -1;
    pop(c, here);
  }
  pop(c, back);
  return 0;
}

static int legal_name(struct str s) {
  for (size_t i = 0; i < s.n; i++) {
    char k = s.p[i];
    if (!((k >= '0' && k <= '9') || (k >= 'A' && k <= 'Z') || (k >= 'a' && k <= 'z') || k == '_' || k == '-')) return 0;
  }
  return s.n > 0 && s.n <= TOOL_NAME_MAX;
}

/* A name that no tool before this one has. */
static int check_unique(struct check *c, const struct node *list, const struct node *tool, const struct node *name) {
  for (const struct node *t = list->child; t != tool; t = t->next)
    if (str_same(node_str(node_get(t, "name")), name->s))
      return refuse_member(c, STR("name"), "a name that no other tool has", name);
  return 0;
}

/* A tool of the provider's own: its type may be any here, and of the rest the provider knows more. */
static int check_server_tool(struct check *c, const struct node *list, const struct node *tool) {
  const struct node *name = member(tool, STR("name"));
  if (name != NULL && (check_name(c, tool, STR("name")) != 0 || check_unique(c, list, tool, name) != 0)) return -1;
  if (check_boolean(c, tool, STR("server_tool")) != 0 || check_cache_control(c, tool) != 0) return -1;
  return check_finite(c, tool);
}

static int check_tool(struct check *c, const struct node *list, const struct node *tool) {
  const struct node *name = node_get(tool, "name"), *type = member(tool, STR("type"));
  if (!node_is(tool, NODE_OBJECT)) return refuse(c, "tool {name, description, parameters}", tool);
  if (type != NULL && check_name(c, tool, STR("type")) != 0) return -1;
  if (normalise_is_server_tool(tool)) return check_server_tool(c, list, tool);
  if (!legal_name(node_str(name))) return refuse_member(c, STR("name"), "1 to 64 of A-Z, a-z, 0-9, _ and -", name);
  if (check_unique(c, list, tool, name) != 0) return -1;
  if (check_string(c, tool, STR("description"), OPTIONAL) != 0 || check_boolean(c, tool, STR("strict")) != 0 ||
      check_cache_control(c, tool) != 0 || check_table(c, tool, STR("parameters"), OPTIONAL) != 0)
    return -1;
  type = member(member(tool, STR("parameters")), STR("type"));
  if (type == NULL || str_eq(node_str(type), "object")) return 0;
  (void)push_key(c, STR("parameters"));
  return refuse_member(c, STR("type"), "\"object\"", type);
}

static int check_tools(struct check *c, const struct node *request) {
  const struct node *list = member(request, STR("tools")), *tool;
  size_t back, i = 0;
  if (list == NULL) return 0;
  if (!is_array(list)) return refuse_member(c, STR("tools"), "array of tools", list);
  back = push_key(c, STR("tools"));
  for (tool = list->child; tool != NULL; tool = tool->next, i++) {
    size_t here = push_index(c, i);
    if (check_tool(c, list, tool) != 0) return -1;
    pop(c, here);
  }
  pop(c, back);
  return 0;
}

/* With no tools at all the choice will be dropped (N18), so its name need not be one of them. */
static int check_tool_choice(struct check *c, const struct node *request) {
  const struct node *v = member(request, STR("tool_choice")), *tools = member(request, STR("tools")), *t, *name;
  struct str s = node_str(v);
  if (v == NULL || str_eq(s, "auto") || str_eq(s, "any") || str_eq(s, "none")) return 0;
  if (v->type != NODE_OBJECT)
    return refuse_member(c, STR("tool_choice"), "\"auto\", \"any\", \"none\" or {type = \"tool\", name = ...}", v);
  (void)push_key(c, STR("tool_choice"));
  if (!str_eq(node_str(node_get(v, "type")), "tool"))
    return refuse_member(c, STR("type"), "\"tool\"", node_get(v, "type"));
  if (check_name(c, v, STR("name")) != 0) return -1;
  name = node_get(v, "name");
  for (t = tools == NULL ? NULL : tools->child; t != NULL; t = t->next)
    if (normalise_is_chosen(t, name->s)) break;
  if (t == NULL && tools != NULL && tools->count > 0)
    return refuse_member(c, STR("name"), "the name of one of the tools", name);
  pop(c, 0);
  return 0;
}

/* }}} */

/* A free-form member: a table of names, where it is there. */
static int check_free_form(struct check *c, const struct node *request, struct str key) {
  const struct node *v = member(request, key);
  return v == NULL || v->type == NODE_OBJECT ? 0 : refuse_member(c, key, "table with string keys", v);
}

static int check_request(struct check *c, const struct node *request) {
  if (check_messages(c, request) != 0 || check_system(c, request) != 0 || check_tools(c, request) != 0 ||
      check_tool_choice(c, request) != 0 || check_strings(c, request, STR("stop_sequences")) != 0)
    return -1;
  if (check_free_form(c, request, STR("metadata")) != 0 || check_free_form(c, request, STR("extra")) != 0) return -1;
  return check_strings(c, request, STR("betas"));
}

int normalise_check_after(const struct node *request, size_t known, struct err *e) {
  struct check quiet = { .quiet = 1, .known = known }, c = { .e = e, .known = known };
  if (!node_is(request, NODE_OBJECT)) return err_argument(e, "request", "table", "something else");
  return check_request(&quiet, request) == 0 ? 0 : check_request(&c, request);
}

int normalise_check(const struct node *request, struct err *e) { return normalise_check_after(request, 0, e); }

int normalise_check_message(const struct node *message, const char *path, struct err *e) {
  struct check c = { .e = e };
  (void)push(&c, "%s", path);
  return node_get(message, "type") != NULL ? check_block(&c, message, ALONE) : check_message(&c, message);
}
