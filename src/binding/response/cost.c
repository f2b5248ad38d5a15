/*
** cost.c: what answers cost: userdata koine.prices, which response.c asks, and core.cost. A koine.prices holds the prices of
** the last model that it was asked for; user values: 1 the function that finds prices, 2 that model's name. Nothing else is
** owned; raises what Lua raises where memory ends.
*/
#include "core/message/cost.h"
#include "response.h"

#define TYPE_PRICES "koine.prices"
#define TYPE_COST "koine.usage_cost"

enum { FIND = 1, MODEL };

struct of_model {
  struct str model; /* borrowed from the user value; none yet: empty */
  struct prices prices;
};

static const struct prices NONE = { COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN };

/* A member of the table at idx: a number, COST_UNKNOWN for nil. Raises an ArgumentError that names PATH.NAME. */
static double number_at(lua_State *L, int idx, const char *path, const char *name) {
  double v = COST_UNKNOWN;
  int is_number = 1;
  if (lua_getfield(L, idx, name) != LUA_TNIL) v = lua_tonumberx(L, -1, &is_number);
  if (!is_number) raise_type(L, lua_pushfstring(L, "%s.%s", path, name), "a number or nil", -2);
  lua_pop(L, 1);
  return v;
}

/* The same of a table of prices. */
static void read_prices(lua_State *L, int idx, struct prices *p) {
  static const char PATH[] = "model_info.pricing";
  p->input = number_at(L, idx, PATH, "input_per_mtok");
  p->output = number_at(L, idx, PATH, "output_per_mtok");
  p->cache_read = number_at(L, idx, PATH, "cache_read_per_mtok");
  p->cache_write = number_at(L, idx, PATH, "cache_write_per_mtok");
  p->cache_write_1h = number_at(L, idx, PATH, "cache_write_1h_per_mtok");
}

/* Pushes a usage_cost record. */
static void push_cost(lua_State *L, const struct cost *c) {
  lua_createtable(L, 0, 5);
  lua_pushnumber(L, c->input);
  lua_setfield(L, -2, "input");
  lua_pushnumber(L, c->output);
  lua_setfield(L, -2, "output");
  lua_pushnumber(L, c->cache_read);
  lua_setfield(L, -2, "cache_read");
  lua_pushnumber(L, c->cache_write);
  lua_setfield(L, -2, "cache_write");
  lua_pushnumber(L, c->total);
  lua_setfield(L, -2, "total");
  luaL_setmetatable(L, TYPE_COST);
}

/* {{{ answers */

/* core.prices(find): the prices of an adapter's answers. find(model) returns those of a model as a table, as core.cost takes
** it, nil where they are not known; it is called when another model answers than the time before. */
static int f_prices(lua_State *L) {
  struct of_model *m;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  m = lua_newuserdatauv(L, sizeof *m, 2);
  m->model = STR_NONE;
  m->prices = NONE;
  luaL_setmetatable(L, TYPE_PRICES);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, FIND);
  return 1;
}

void check_prices(lua_State *L, int idx) { check_marked(L, idx, MARK_PRICES, TYPE_PRICES); }

/* Asks for the prices of a model. Raises what the function raises; the last model's prices stay then. */
static void find(lua_State *L, int idx, struct of_model *m, struct str model) {
  struct prices found = NONE;
  push_str(L, model);
  lua_getiuservalue(L, idx, FIND);
  lua_pushvalue(L, -2);
  lua_call(L, 1, 1);
  if (lua_istable(L, -1)) read_prices(L, -1, &found);
  lua_pop(L, 1);
  m->model.p = lua_tolstring(L, -1, &m->model.n);
  m->prices = found;
  lua_setiuservalue(L, idx, MODEL);
}

/* The count of this name; COST_UNKNOWN where the usage has none. */
static double count_of(const struct node *usage, const char *name) {
  const struct node *v = node_get_(usage, name, strlen(name));
  return node_is(v, NODE_INT) ? (double)v->u.i : node_is(v, NODE_DOUBLE) ? v->u.d : COST_UNKNOWN;
}

void response_add_cost(lua_State *L, const struct node *response, int idx) {
  struct of_model *m = marked(L, idx, MARK_PRICES);
  const struct node *usage = node_get(response, "usage");
  struct str model = node_str(node_get(response, "model"));
  struct counts n;
  struct cost cost;
  if (m == NULL || node_get(usage, "cost") != NULL || node_get(usage, "unpriced") != NULL) return;
  if (!str_same(m->model, model)) find(L, lua_absindex(L, idx), m, model);
  n.input = count_of(usage, "input_tokens");
  n.output = count_of(usage, "output_tokens");
  n.cache_read = count_of(usage, "cache_read_tokens");
  n.cache_write = count_of(usage, "cache_creation_tokens");
  n.cache_write_1h = count_of(usage, "cache_creation_1h_tokens");
  if (isnan(n.cache_write_1h)) n.cache_write_1h = 0;
  if (!cost_of(&n, &m->prices, &cost)) return;
  push_cost(L, &cost);
  lua_setfield(L, -2, "cost");
  lua_pushliteral(L, "prices");
  lua_setfield(L, -2, "cost_source");
}

/* }}} */

/* Whether the field of the table at idx is true. */
static int is_set(lua_State *L, int idx, const char *name) {
  lua_getfield(L, idx, name);
  int set = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return set;
}

/* Reads the counts of the table of usage at idx, of which a sum may leave some out. Raises an ArgumentError. */
static void read_counts(lua_State *L, int idx, struct counts *n) {
  static const char PATH[] = "usage";
  n->input = number_at(L, idx, PATH, "input_tokens");
  n->output = number_at(L, idx, PATH, "output_tokens");
  n->cache_read = number_at(L, idx, PATH, "cache_read_tokens");
  n->cache_write = number_at(L, idx, PATH, "cache_creation_tokens");
  n->cache_write_1h = number_at(L, idx, PATH, "cache_creation_1h_tokens");
  if (isnan(n->cache_write_1h)) n->cache_write_1h = 0;
  if (lua_getfield(L, idx, "uncounted") == LUA_TTABLE) {
    if (is_set(L, -1, "cache_read_tokens")) n->cache_read = COST_UNKNOWN;
    if (is_set(L, -1, "cache_creation_tokens")) n->cache_write = COST_UNKNOWN;
  }
  lua_pop(L, 1);
}

/* core.cost(usage, pricing): the cost of the counts of a usage, a usage_cost record; nil where it is not known. `pricing` is
** a table {input_per_mtok, …} in USD per 1,000,000 tokens. Raises an ArgumentError for a count or price that is neither a
** number, or text of one, nor nil. */
static int f_cost(lua_State *L) {
  struct counts n;
  struct prices p;
  struct cost cost;
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  read_counts(L, 1, &n);
  read_prices(L, 2, &p);
  if (is_set(L, 1, "incomplete") || is_set(L, 1, "unpriced") || !cost_of(&n, &p, &cost)) return 0;
  push_cost(L, &cost);
  return 1;
}

void open_cost(lua_State *L) {
  luaL_newmetatable(L, TYPE_PRICES);
  lua_pop(L, 1);
  mark_type(L, TYPE_PRICES, MARK_PRICES);
  luaL_newmetatable(L, TYPE_COST);
  lua_setfield(L, -2, "cost_mt"); /* of usage_cost records; lua/koine fills in __eq and __tostring */
  lua_pushcfunction(L, f_prices);
  lua_setfield(L, -2, "prices");
  lua_pushcfunction(L, f_cost);
  lua_setfield(L, -2, "cost");
}
