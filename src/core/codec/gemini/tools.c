/*
** tools.c: tools of the caller's and of the provider's own, and which of them the model is to call.
** Owns nothing; scratch lies in the request's arena. Failure: the `struct writer` says so.
*/
#include "gemini.h"

const char *const gemini_server_tools[] = {
  "codeExecution", "computerUse", "enterpriseWebSearch", "fileSearch", "googleMaps", "googleSearch",
  "googleSearchRetrieval", "retrieval", "urlContext", NULL
};

/* {{{ names */

/* True for underscores, or none, before a digit or "-". */
static int is_marked(struct str name) {
  size_t i = 0;
  while (i < name.n && name.p[i] == '_') i++;
  return i < name.n && ((name.p[i] >= '0' && name.p[i] <= '9') || name.p[i] == '-');
}

struct str gemini_wire_name(struct writer *w, struct str name) {
  char *p;
  if (name.p == NULL || !is_marked(name)) return name;
  if ((p = arena_alloc(w->r->a, name.n + 1)) == NULL) { writer_memory(w); return STR_NONE; }
  *p = '_';
  memcpy(p + 1, name.p, name.n);
  return (struct str){ p, name.n + 1 };
}

struct str gemini_own_name(struct str name) {
  return name.n > 0 && name.p[0] == '_' && is_marked(name) ? (struct str){ name.p + 1, name.n - 1 } : name;
}

/* }}} */

/* {{{ declarations */

/* True for the schema of an object without any property: the wire wants none at all then. */
static int says_nothing(const struct writer *w, const struct node *schema) {
  if (w->r->quirks->openapi_schema) return node_get(schema, "properties") == NULL && node_get(schema, "anyOf") == NULL;
  for (const struct node *v = children(schema); v != NULL; v = v->next) {
    if (str_eq(v->key, "type") || ((str_eq(v->key, "properties") || str_eq(v->key, "required")) && v->count == 0)) continue;
    if (str_eq(v->key, "additionalProperties") && v->type == NODE_FALSE) continue;
    return 0;
  }
  return 1;
}

static void put_declaration(struct writer *w, const struct node *tool) {
  const struct node *description = node_get(tool, "description"), *schema = node_get(tool, "parameters");
  writer_json(w, "{\"name\":");
  writer_string(w, gemini_wire_name(w, node_str(node_get(tool, "name"))));
  if (node_is(description, NODE_STRING)) {
    writer_json(w, ",\"description\":");
    writer_string(w, description->s);
  }
  if (!says_nothing(w, schema)) {
    writer_json(w, w->r->quirks->openapi_schema ? ",\"parameters\":" : ",\"parametersJsonSchema\":");
    writer_schema(w, schema, 1);
  }
  writer_json(w, "}");
}

/* {type, …} as {type: {…}}; nothing is cached by a mark here (N16). */
static void put_server_tool(struct writer *w, const struct node *tool) {
  int n = 0;
  writer_json(w, "{");
  writer_string(w, node_str(node_get(tool, "type")));
  writer_json(w, ":{");
  for (const struct node *v = writer_next_extra(tool, NULL); v != NULL; v = writer_next_extra(tool, v)) {
    if (str_eq(v->key, "type") || str_eq(v->key, "cache_control")) continue;
    if (n++ > 0) writer_json(w, ",");
    writer_string(w, v->key);
    writer_json(w, ":");
    writer_sorted(w, v);
  }
  writer_json(w, "}}");
}

/* The tools of the request. */
struct offered {
  const struct node *more;  /* extra.tools */
  int server, own, strict;  /* tools of the provider's, of the caller's; strict ones */
};

static void put_list(struct writer *w, const struct offered *o) {
  const struct node *tools = writer_given(w, "tools");
  int n = 0;
  writer_field(w, "tools");
  for (const struct node *t = children(o->more); t != NULL; t = t->next) {
    writer_json(w, n++ == 0 ? "[" : ",");
    writer_sorted(w, t);
  }
  for (const struct node *t = children(tools); t != NULL; t = t->next) {
    if (!normalise_is_server_tool(t)) continue;
    writer_json(w, n++ == 0 ? "[" : ",");
    put_server_tool(w, t);
  }
  if (o->own > 0) {
    writer_json(w, n++ == 0 ? "[{\"functionDeclarations\":" : ",{\"functionDeclarations\":");
    n = 0;
    for (const struct node *t = children(tools); t != NULL; t = t->next) {
      if (normalise_is_server_tool(t)) continue;
      writer_json(w, n++ == 0 ? "[" : ",");
      put_declaration(w, t);
    }
    writer_json(w, "]}");
  }
  writer_json(w, "]");
}

/* }}} */

/* {{{ toolConfig */

/* The tool that the choice names, where it is one of the caller's. */
static struct str chosen(struct writer *w) {
  struct str name = node_str(node_get(writer_given(w, "tool_choice"), "name"));
  for (const struct node *t = children(writer_given(w, "tools")); t != NULL; t = t->next)
    if (!normalise_is_server_tool(t) && str_same(node_str(node_get(t, "name")), name)) return name;
  return STR_NONE;
}

/* The word for when the model calls functions; NULL = its own, AUTO. *name: the only one that it may call. */
static const char *mode_of(struct writer *w, const struct offered *o, struct str *name) {
  const struct node *choice = writer_given(w, "tool_choice");
  int mixed = o->server > 0 && o->own > 0 && !w->r->quirks->before_gemini_3;
  *name = STR_NONE;
  if (node_is(choice, NODE_OBJECT)) {
    *name = chosen(w);
    if (name->n > 0) return "ANY";
    writer_warn(w, "tool_choice", "the model cannot be made to call a tool of the provider's own: left out");
  }
  if (o->own == 0) return NULL;
  if (str_eq(node_str(choice), "any")) return "ANY";
  if (str_eq(node_str(choice), "none")) return "NONE";
  return o->strict > 0 || mixed ? "VALIDATED" : NULL;
}

/* Writes the other members of `extra.toolConfig`, sorted. */
static void put_more_config(struct writer *w, int n, int has_mode, int has_invocations) {
  struct node *extra = writer_given(w, "extra"), *more = node_get(extra, "toolConfig");
  if (!node_is(more, NODE_OBJECT)) return;
  for (const struct node *v = writer_next_extra(more, NULL); v != NULL; v = writer_next_extra(more, v)) {
    if ((has_mode && str_eq(v->key, "functionCallingConfig")) ||
        (has_invocations && str_eq(v->key, "includeServerSideToolInvocations"))) {
      writer_warn_as(w, "extra_ignored", "extra", "a field that the request has already was left out");
      continue;
    }
    if (n++ == 0) writer_field(w, "toolConfig");
    writer_json(w, n == 1 ? "{" : ",");
    writer_string(w, v->key);
    writer_json(w, ":");
    writer_sorted(w, v);
  }
  if (n > 0) writer_json(w, "}");
  node_remove(extra, more);
}

static void put_config(struct writer *w, const struct offered *o) {
  struct str name;
  const char *mode = mode_of(w, o, &name);
  int invocations = o->server > 0 && o->own > 0 && !w->r->quirks->before_gemini_3 && !w->r->quirks->no_tool_invocations;
  int more = node_is(node_get(writer_given(w, "extra"), "toolConfig"), NODE_OBJECT);
  if (mode != NULL || invocations) writer_field(w, "toolConfig");
  if (mode != NULL) {
    writer_json(w, "{\"functionCallingConfig\":{\"mode\":");
    writer_word(w, mode);
    if (name.n > 0) {
      writer_json(w, ",\"allowedFunctionNames\":[");
      writer_string(w, gemini_wire_name(w, name));
      writer_json(w, "]");
    }
    writer_json(w, "}");
  }
  if (invocations) {
    writer_json(w, mode != NULL ? "," : "{");
    writer_json(w, "\"includeServerSideToolInvocations\":true");
  }
  if (more) put_more_config(w, (mode != NULL) + invocations, mode != NULL, invocations);
  else if (mode != NULL || invocations) writer_json(w, "}");
}

/* }}} */

void gemini_put_tools(struct writer *w, int config) {
  struct node *extra = writer_given(w, "extra"), *more = node_get(extra, "tools");
  struct offered o = { .more = node_is(more, NODE_ARRAY) ? more : NULL };
  o.server = o.more != NULL ? (int)o.more->count : 0;
  for (const struct node *t = children(writer_given(w, "tools")); t != NULL; t = t->next) {
    int server = normalise_is_server_tool(t);
    o.server += server;
    o.own += !server;
    o.strict += !server && node_is(node_get(t, "strict"), NODE_TRUE);
  }
  if (o.server + o.own > 0) put_list(w, &o);
  if (o.more != NULL) node_remove(extra, more);
  if (config) put_config(w, &o);
}
