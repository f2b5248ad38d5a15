/*
** cost.c: what answers cost: userdata koine.prices, which response.c asks, and core.cost. A koine.prices holds the prices of
** the last model that it was asked for; user values: 1 the function that finds prices, 2 that model's name. Nothing else is
** owned; raises what Lua raises where memory ends.
*/
#include "core/message/cost.h"
#include "response.h"

#define TYPE_PRICES "koine.prices"
#define TYPE_COST "koine.usage_cost"
#define PRICING "model_info.pricing" /* as errors name it */

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

/* Where a number of this name stands in a struct of numbers. */
struct member {
  const char *name;
  size_t at;
};

enum { MEMBERS = 5 };

static const struct member COUNTS[MEMBERS] = {
  { "input_tokens", offsetof(struct counts, input) },
  { "output_tokens", offsetof(struct counts, output) },
  { "cache_read_tokens", offsetof(struct counts, cache_read) },
  { "cache_creation_tokens", offsetof(struct counts, cache_write) },
  { "cache_creation_1h_tokens", offsetof(struct counts, cache_write_1h) }
};

static const struct member PRICES[MEMBERS] = {
  { "input_per_mtok", offsetof(struct prices, input) },
  { "output_per_mtok", offsetof(struct prices, output) },
  { "cache_read_per_mtok", offsetof(struct prices, cache_read) },
  { "cache_write_per_mtok", offsetof(struct prices, cache_write) },
  { "cache_write_1h_per_mtok", offsetof(struct prices, cache_write_1h) }
};

static void set(void *to, const struct member *m, double v) { memcpy((char *)to + m->at, &v, sizeof v); }

/* Reads the members of the table at idx, an absolute index. Raises an ArgumentError that names PATH.NAME. */
static void read_members(lua_State *L, int idx, const char *path, const struct member *m, void *to) {
  for (int i = 0; i < MEMBERS; i++) set(to, &m[i], number_at(L, idx, path, m[i].name));
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
  if (lua_istable(L, -1)) read_members(L, lua_gettop(L), PRICING, PRICES, &found);
  lua_pop(L, 1);
  m->model.p = lua_tolstring(L, -1, &m->model.n);
  m->prices = found;
  lua_setiuservalue(L, idx, MODEL);
}

/* Reads the counts of a usage. None is said to be kept for an hour where that is unknown. */
static void read_node(const struct node *usage, struct counts *n) {
  for (int i = 0; i < MEMBERS; i++) {
    const struct node *v = node_get_(usage, COUNTS[i].name, strlen(COUNTS[i].name));
    set(n, &COUNTS[i], node_is(v, NODE_INT) ? (double)v->u.i : node_is(v, NODE_DOUBLE) ? v->u.d : COST_UNKNOWN);
  }
  if (isnan(n->cache_write_1h)) n->cache_write_1h = 0;
}

void response_add_cost(lua_State *L, const struct node *response, int idx) {
  struct of_model *m = marked(L, idx, MARK_PRICES);
  const struct node *usage = node_get(response, "usage");
  struct str model = node_str(node_get(response, "model"));
  struct counts n;
  struct cost cost;
  if (m == NULL || node_get(usage, "cost") != NULL || node_get(usage, "unpriced") != NULL) return;
  if (!str_same(m->model, model)) find(L, lua_absindex(L, idx), m, model);
  read_node(usage, &n);
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
  read_members(L, idx, "usage", COUNTS, n);
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
  read_members(L, 2, PRICING, PRICES, &p);
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
