/*
** value.c: Lua values to trees and back. Raw access only: no metamethod runs, so nothing re-enters while strings are borrowed.
** Trees live in the caller's arena. Raises ArgumentError with the path of what cannot be said in JSON.
*/
#include "core/json/schema.h"
#include "value.h"

#include <math.h>

static const char ARRAY_MARKS = 0; /* registry key: set of metatables and light userdata that mean "array" */
static const char CJSON = 0;       /* registry key: {package.loaded, and CJSON_NAMES} */

/* The modules of lua-cjson, and what marks arrays in those of its builds that have marks. */
static const char *const CJSON_NAMES[] = { "cjson", "cjson.safe", "array_mt", "empty_array_mt", "empty_array" };
enum { CJSON_MODULES = 2, CJSON_COUNT = 5 };

/* {{{ errors */

static size_t path_text(const struct path *p, char *out, size_t size) {
  size_t n = p->up != NULL ? path_text(p->up, out, size) : 0;
  int add;
  if (n + 1 >= size) return n;
  if (p->name == NULL) add = snprintf(out + n, size - n, "[%lld]", (long long)p->index);
  else add = snprintf(out + n, size - n, "%s%.60s", n > 0 ? "." : "", p->name);
  n += add > 0 ? (size_t)add : 0;
  return n < size ? n : size - 1;
}

int raise_at(lua_State *L, const struct path *p, const char *expected, const char *got) {
  char field[96];
  path_text(p, field, sizeof field);
  return raise_argument(L, field, expected, got);
}

int raise_depth(lua_State *L, const struct path *p) {
  char expected[48];
  snprintf(expected, sizeof expected, "at most %d levels of tables", VALUE_DEPTH);
  return raise_at(L, p, expected, "more (or a cycle)");
}

void *value_need(lua_State *L, void *p) {
  if (p == NULL) luaL_error(L, "not enough memory");
  return p;
}

/* }}} */

/* {{{ free-form values */

/*
** Enters the marks of lua-cjson in the set on the top, where the program has loaded it. The names are made already: a new
** string could have the collector run a finalizer.
*/
static void learn_marks(lua_State *L) {
  int marks = lua_gettop(L), cjson = marks + 1, loaded = marks + 2;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &CJSON);
  lua_rawgeti(L, cjson, 1);
  for (int i = 0; i < CJSON_MODULES; i++) {
    lua_rawgeti(L, cjson, 2 + i);
    if (lua_rawget(L, loaded) == LUA_TTABLE) {
      for (int mark = CJSON_MODULES; mark < CJSON_COUNT; mark++) {
        lua_rawgeti(L, cjson, 2 + mark);
        if (lua_rawget(L, loaded + 1) != LUA_TNIL) {
          lua_pushboolean(L, 1);
          lua_rawset(L, marks);
        } else {
          lua_pop(L, 1);
        }
      }
    }
    lua_pop(L, 1);
  }
  lua_settop(L, marks);
}

/* True when the value at idx (a table's metatable, or light userdata) is a known array mark. Stack-neutral. */
static int is_mark(lua_State *L, int idx) {
  int r;
  idx = lua_absindex(L, idx);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ARRAY_MARKS);
  lua_pushvalue(L, idx);
  r = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 1);
  if (!r) {
    learn_marks(L);
    lua_pushvalue(L, idx);
    r = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return r;
}

static int is_marked_array(lua_State *L, int idx) {
  int r;
  if (!lua_getmetatable(L, idx)) return 0;
  r = is_mark(L, -1);
  lua_pop(L, 1);
  return r;
}

/* Sorts a list of members by key (merge sort; stable). */
static struct node *sort_members(struct node *list) {
  struct node *slow = list, *fast, *b, *head = NULL, **tail = &head;
  if (list == NULL || list->next == NULL) return list;
  for (fast = list->next; fast != NULL && fast->next != NULL; fast = fast->next->next) slow = slow->next;
  b = slow->next;
  slow->next = NULL;
  list = sort_members(list);
  b = sort_members(b);
  while (list != NULL && b != NULL) {
    size_t n = list->key.n < b->key.n ? list->key.n : b->key.n;
    int c = n == 0 ? 0 : memcmp(list->key.p, b->key.p, n);
    struct node **from = c < 0 || (c == 0 && list->key.n <= b->key.n) ? &list : &b;
    *tail = *from;
    tail = &(*from)->next;
    *from = (*from)->next;
  }
  *tail = list != NULL ? list : b;
  return head;
}

/* Appends without looking for an equal key: Lua's keys are unique. */
void append(struct node *o, struct node *v) {
  if (o->last != NULL) o->last->next = v;
  else o->child = v;
  o->last = v;
  o->count++;
}

void sort_object(struct node *o) {
  o->child = sort_members(o->child);
  for (o->last = o->child; o->last != NULL && o->last->next != NULL;) o->last = o->last->next;
}

lua_Integer array_count(lua_State *L, int idx) {
  lua_Integer n = 0;
  idx = lua_absindex(L, idx);
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) n += lua_type(L, -2) == LUA_TNUMBER;
  return n;
}

void items_begin(lua_State *L, struct items *e, lua_Integer i) {
  *e = (struct items){ i, -1 };
  if (i > 0) lua_pushinteger(L, i);
  else lua_pushnil(L);
}

int items_next(lua_State *L, int idx, struct items *e) {
  if (e->n < 0) {
    if (!lua_next(L, idx)) return 0;
    if (lua_isinteger(L, -2) && lua_tointeger(L, -2) == e->i + 1) {
      e->i++;
      return 1;
    }
    lua_pop(L, 1);
    e->n = array_count(L, idx);
  }
  if (e->i < e->n) {
    lua_rawgeti(L, idx, ++e->i);
    return 1;
  }
  lua_pop(L, 1);
  return 0;
}

static struct node *to_array(lua_State *L, int idx, struct arena *a, const struct path *p, int depth) {
  struct node *o = value_need(L, node_new(a, NODE_ARRAY));
  struct items e;
  items_begin(L, &e, 0);
  while (items_next(L, idx, &e)) {
    struct path here = { p, NULL, e.i };
    append(o, to_node(L, -1, a, &here, depth + 1));
    lua_pop(L, 1);
  }
  return o;
}

/* A table without a mark: an array when its keys are 1..n, n > 0; else an object of string keys. */
static struct node *to_table(lua_State *L, int idx, struct arena *a, const struct path *p, int depth) {
  static const char EXPECTED[] = "a table with only string keys or only 1..n";
  lua_Integer last = 0, integers = 0, others = 0;
  struct node *o = NULL;
  if (is_marked_array(L, idx)) return to_array(L, idx, a, p, depth);
  lua_pushnil(L);
  for (; lua_next(L, idx); lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) {
      struct path here = { p, lua_tostring(L, -2), 0 };
      struct node *v;
      if (o == NULL) o = value_need(L, node_new(a, NODE_OBJECT));
      if (integers + others > 0) continue;
      v = to_node(L, -1, a, &here, depth + 1);
      v->key.p = lua_tolstring(L, -2, &v->key.n);
      append(o, v);
    } else if (lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1) {
      if (lua_tointeger(L, -2) > last) last = lua_tointeger(L, -2);
      integers++;
    } else {
      others++;
    }
  }
  if (others > 0) raise_at(L, p, EXPECTED, "another kind of key");
  if (o != NULL && integers > 0) raise_at(L, p, EXPECTED, "both kinds of keys");
  if (o == NULL && integers > 0) {
    if (integers != last) raise_at(L, p, "an array without holes", "one with holes");
    return to_array(L, idx, a, p, depth);
  }
  if (o == NULL) return value_need(L, node_new(a, NODE_OBJECT));
  sort_object(o);
  return o;
}

static struct node *to_number(lua_State *L, int idx, struct arena *a, const struct path *p) {
  if (lua_isinteger(L, idx)) return value_need(L, node_int(a, lua_tointeger(L, idx)));
  if (!isfinite(lua_tonumber(L, idx))) raise_at(L, p, "a finite number", "NaN or infinity");
  return value_need(L, node_double(a, lua_tonumber(L, idx)));
}

struct node *to_node(lua_State *L, int idx, struct arena *a, const struct path *p, int depth) {
  struct str s;
  int type = lua_type(L, idx);
  if (depth >= VALUE_DEPTH && (type == LUA_TTABLE || lua_touserdata(L, idx) != NULL)) raise_depth(L, p);
  switch (type) {
    case LUA_TSTRING:
      s.p = lua_tolstring(L, idx, &s.n);
      return value_need(L, node_string(a, s));
    case LUA_TNUMBER: return to_number(L, idx, a, p);
    case LUA_TBOOLEAN: return value_need(L, node_bool(a, lua_toboolean(L, idx)));
    case LUA_TTABLE:
      luaL_checkstack(L, 10, "too many nested tables");
      return to_table(L, lua_absindex(L, idx), a, p, depth);
    case LUA_TLIGHTUSERDATA:
      luaL_checkstack(L, 10, "too many nested tables");
      if (lua_touserdata(L, idx) == NULL) return value_need(L, node_new(a, NODE_NULL));
      if (is_mark(L, idx)) return value_need(L, node_new(a, NODE_ARRAY));
      break;
    default: break;
  }
  raise_at(L, p, "a string, number, boolean, table or koine.null", luaL_typename(L, idx));
  return NULL;
}

struct node *value_node(lua_State *L, int idx, struct arena *a, const char *name) {
  struct path p = { NULL, name, 0 };
  return to_node(L, idx, a, &p, 0);
}

/* }}} */

/* {{{ trees to Lua */

void push_members(lua_State *L, const struct node *v, int mark, int room) {
  luaL_checkstack(L, 4, "too many nested values");
  lua_createtable(L, 0, (int)v->count + room);
  for (const struct node *c = v->child; c != NULL; c = c->next) {
    push_str(L, c->key);
    push_node(L, c, mark || str_eq(c->key, "arguments"));
    lua_rawset(L, -3);
  }
}

void push_node(lua_State *L, const struct node *v, int mark) {
  lua_Integer i = 0;
  luaL_checkstack(L, 4, "too many nested values");
  switch (v->type) {
    case NODE_NULL: lua_pushlightuserdata(L, NULL); return;
    case NODE_FALSE: case NODE_TRUE: lua_pushboolean(L, v->type == NODE_TRUE); return;
    case NODE_INT: lua_pushinteger(L, v->u.i); return;
    case NODE_DOUBLE: lua_pushnumber(L, v->u.d); return;
    case NODE_STRING: case NODE_BIG: push_str(L, v->s); return;
    case NODE_ARRAY:
      lua_createtable(L, (int)v->count, 0);
      for (const struct node *c = v->child; c != NULL; c = c->next) {
        push_node(L, c, mark);
        lua_rawseti(L, -2, ++i);
      }
      if (mark) luaL_setmetatable(L, TYPE_ARRAY);
      return;
    case NODE_OBJECT: push_members(L, v, mark, 0); return;
  }
}

/* }}} */

/* core.encode(value): its JSON text, keys sorted by bytes. Raises ArgumentError for what JSON cannot say. */
static int f_encode(lua_State *L) {
  struct scratch *s = state_scratch(L);
  struct err e;
  luaL_checkany(L, 1);
  err_clear(&e);
  if (json_write(&s->text, value_node(L, 1, &s->arena, "value"), &e) != 0) return raise_error(L, &e);
  push_str(L, buf_str(&s->text));
  return 1;
}

/* core.decode(text[, doubles]): the value, arrays marked, null as core.null; nil, err for what is no JSON, its code "cut"
** where the text only ends too early. An integer beyond int64 and a number beyond double are strings of their text; with
** `doubles` the one is a float, the other an error. */
static int f_decode(lua_State *L) {
  struct scratch *scratch = state_scratch(L);
  struct node *v;
  struct str s;
  struct err e;
  s.p = luaL_checklstring(L, 1, &s.n);
  err_clear(&e);
  v = json_tree_within(&scratch->arena, s, VALUE_DEPTH, NULL, &e);
  if (v == NULL && e.kind == KIND_PROTOCOL && json_is_cut(s)) memcpy(e.code, "cut", sizeof "cut");
  if (v != NULL && lua_toboolean(L, 2) && node_doubles(v) != 0) {
    err_set(&e, KIND_PROTOCOL, "JSON: a number is too large");
    v = NULL;
  }
  if (v == NULL) return return_error(L, &e);
  push_node(L, v, 1);
  return 1;
}

/* core.read_schema(text): the JSON Schema of a JSON text as core.decode makes it, but with the order of its properties as
** propertyOrdering at every level; nil, err for what is no JSON. */
static int f_read_schema(lua_State *L) {
  struct node *v;
  struct str s;
  struct err e;
  s.p = luaL_checklstring(L, 1, &s.n);
  err_clear(&e);
  v = json_schema_read(&state_scratch(L)->arena, s, VALUE_DEPTH, &e);
  if (v == NULL) return return_error(L, &e);
  push_node(L, v, 1);
  return 1;
}

/* core.write_schema(schema): the JSON text of a JSON Schema, its properties in the schema's own order. Raises ArgumentError
** for what JSON cannot say. */
static int f_write_schema(lua_State *L) {
  struct scratch *s = state_scratch(L);
  struct err e;
  luaL_checkany(L, 1);
  err_clear(&e);
  if (json_write_schema(&s->text, value_node(L, 1, &s->arena, "schema"), 0, &e) != 0) return raise_error(L, &e);
  push_str(L, buf_str(&s->text));
  return 1;
}

/* core.array([t]): t, marked as a JSON array. */
static int f_array(lua_State *L) {
  if (lua_isnoneornil(L, 1)) lua_newtable(L);
  else luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_setmetatable(L, TYPE_ARRAY);
  return 1;
}

static const luaL_Reg FUNCTIONS[] = {
  { "encode", f_encode },
  { "decode", f_decode },
  { "read_schema", f_read_schema },
  { "write_schema", f_write_schema },
  { "array", f_array },
  { NULL, NULL }
};

/* Adds core.null, core.depth_max (the most that limits.depth may be), core.encode, core.decode, core.array, … */
void open_value(lua_State *L) {
  luaL_setfuncs(L, FUNCTIONS, 0);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  lua_pushinteger(L, ANSWER_DEPTH);
  lua_setfield(L, -2, "depth_max");
  lua_newtable(L); /* the marks: core.array_marks[metatable or light userdata] = true */
  luaL_newmetatable(L, TYPE_ARRAY);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "array_mt");
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ARRAY_MARKS);
  lua_setfield(L, -2, "array_marks");
  lua_createtable(L, 1 + CJSON_COUNT, 0);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_rawseti(L, -2, 1);
  for (int i = 0; i < CJSON_COUNT; i++) {
    lua_pushstring(L, CJSON_NAMES[i]);
    lua_rawseti(L, -2, 2 + i);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &CJSON);
}
