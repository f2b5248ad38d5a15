/*
** tools.c: tool schemas made sendable (N18). An empty Lua table does not say whether it is a list: where JSON
** Schema wants a list it becomes one, elsewhere it stays an object. Only places where a schema may stand are looked at:
** a property that is called "required" is a schema, and what lies in `enum` or `default` is data.
** In place; new nodes lie in the arena. Failure: -1 (memory).
*/
#include "core/json/schema.h"
#include "normalise.h"

static void fix_schema(struct node *schema, int strip) {
  struct node *v, *next, *s;
  if (!node_is(schema, NODE_OBJECT)) return;
  for (v = schema->child; v != NULL; v = next) {
    int what = json_schema_holds(v->key);
    next = v->next;
    if (strip && str_eq(v->key, "additionalProperties")) {
      node_remove(schema, v);
      continue;
    }
    if ((what & HOLDS_LIST) && v->type == NODE_OBJECT && v->count == 0) v->type = NODE_ARRAY;
    if ((what & HOLDS_MAP) && v->type == NODE_ARRAY && v->count == 0) v->type = NODE_OBJECT;
    if ((what & HOLDS_SCHEMA) && v->type == NODE_OBJECT) fix_schema(v, strip);
    else if (what & (HOLDS_SCHEMAS | HOLDS_SCHEMA | HOLDS_MAP))
      for (s = v->child; s != NULL; s = s->next) fix_schema(s, strip);
  }
}

/* The tool's parameters as a schema of an object with properties, even none. */
static int fix_parameters(struct arena *a, struct node *tool, int strip) {
  struct node *p = node_get(tool, "parameters"), *v;
  if (p == NULL || p->type == NODE_NULL) {
    p = node_new(a, NODE_OBJECT);
    if (node_set(tool, STR("parameters"), p) != 0) return -1;
  }
  if (p->type == NODE_ARRAY && p->count == 0) p->type = NODE_OBJECT;
  fix_schema(p, strip);
  v = node_get(p, "type");
  if ((v == NULL || v->type == NODE_NULL) && node_set(p, STR("type"), node_string(a, STR("object"))) != 0) return -1;
  v = node_get(p, "properties");
  if ((v == NULL || v->type == NODE_NULL) && node_set(p, STR("properties"), node_new(a, NODE_OBJECT)) != 0) return -1;
  return 0;
}

int normalise_is_server_tool(const struct node *tool) {
  struct str type = node_str(node_get(tool, "type"));
  return type.n > 0 && !str_eq(type, "function");
}

int normalise_is_chosen(const struct node *tool, struct str name) {
  const struct node *own = node_get(tool, "name");
  if (own != NULL) return str_same(node_str(own), name);
  return normalise_is_server_tool(tool) && str_same(node_str(node_get(tool, "type")), name);
}

int normalise_tools(struct arena *a, struct node *request, int strip_additional, struct err *e) {
  struct node *tools = node_get(request, "tools"), *choice = node_get(request, "tool_choice"), *tool;
  if (tools == NULL || tools->count == 0) {
    if (tools != NULL) node_remove(request, tools);
    if (choice != NULL) node_remove(request, choice);
    return 0;
  }
  for (tool = tools->child; tool != NULL; tool = tool->next)
    if (!normalise_is_server_tool(tool) && fix_parameters(a, tool, strip_additional) != 0) return err_memory(e);
  return 0;
}
