/*
** vector.c: answers that hold vectors, as Lua values without a tree; and what koine.vector offers. Numbers of a vector go
** through the state's scratch memory, one vector after the other, into a table or a string of packed float32.
** Failure: nil, err for an answer; ArgumentError for arguments.
*/
#include <math.h>

#include "value.h"

#define PLACES_MAX 8
#define NORM_TOLERANCE 1e-3 /* what a server normalised: cut and rounded ones were seen with 0.9997 to 1.0006 */

/* {{{ answers */

/* The rest of each path to the vectors, below the value at hand: "[].embedding"; "" for a vector. */
struct places {
  const char *rest[PLACES_MAX];
  int n;
};

struct reader {
  lua_State *L;
  struct json j;
  struct err e;
  struct scratch *scratch;
  struct places keep;        /* names of members beside the vectors that are not skipped */
  enum packing packing;
  int packed, whole, normalise, was_cut;
  size_t cut, values;        /* cut 0: never */
  lua_Integer zeros;
};

/* The paths that go on with the key just read. */
static void enter_key(const struct places *from, const struct json *j, struct places *to) {
  to->n = 0;
  for (int i = 0; i < from->n; i++) {
    const char *name = from->rest[i];
    size_t n = strcspn(name, ".[");
    if ((n == 1 && name[0] == '*') || json_is_(j, name, n)) to->rest[to->n++] = name + n + (name[n] == '.');
  }
}

/* The paths that go on with an element. */
static void enter_element(const struct places *from, struct places *to) {
  to->n = 0;
  for (int i = 0; i < from->n; i++)
    if (strncmp(from->rest[i], "[]", 2) == 0) to->rest[to->n++] = from->rest[i] + 2 + (from->rest[i][2] == '.');
}

static int is_vector(const struct places *p) {
  for (int i = 0; i < p->n; i++)
    if (p->rest[i][0] == '\0') return 1;
  return 0;
}

/* Cuts the vector and makes its length 1, as far as that is asked for. */
static void fit(struct reader *r, struct vector *v) {
  int is_cut = r->cut > 0 && v->n > r->cut;
  double norm;
  if (is_cut) v->n = r->cut;
  if (is_cut) r->was_cut = 1;
  if (!is_cut && !r->normalise) {
    if (!(vector_norm(v) > 0)) r->zeros++;
    return;
  }
  norm = vector_norm(v);
  if (!(norm > 0)) r->zeros++;
  else if (!(fabs(norm - 1) <= NORM_TOLERANCE)) vector_normalise(v);
}

static void push_number(lua_State *L, double d, int whole) {
  if (whole && d >= -9007199254740992.0 && d <= 9007199254740992.0 && !(floor(d) < d))
    lua_pushinteger(L, (lua_Integer)d);
  else
    lua_pushnumber(L, d);
}

static void push_table(lua_State *L, const struct vector *v, int whole) {
  lua_createtable(L, (int)v->n, 0);
  for (size_t i = 0; i < v->n; i++) {
    push_number(L, v->v[i], whole);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes the vector whose first token was just read. 0 or -1. */
static int push_vector(struct reader *r) {
  struct vector *v = &r->scratch->numbers;
  struct buf *out = &r->scratch->text;
  if (vector_read(&r->j, r->packing, v, &r->e) != 0) return -1;
  if (v->n > INT_MAX) return err_memory(&r->e);
  fit(r, v);
  if (!r->packed) return push_table(r->L, v, r->whole), 0;
  out->n = 0;
  if (vector_pack(v, out, &r->e) != 0) return -1;
  push_str(r->L, buf_str(out));
  return 0;
}

static int push_value(struct reader *r, const struct places *at, int depth);

/* The string or key just read. */
static int push_text(struct reader *r) {
  struct str s;
  if (json_text(&r->j, &r->scratch->arena, &s) != 0) return err_memory(&r->e);
  push_str(r->L, s);
  return 0;
}

static int push_object(struct reader *r, const struct places *at, int depth) {
  enum token t;
  lua_newtable(r->L);
  while ((t = json_next(&r->j)) == J_KEY) {
    struct places next;
    enter_key(at, &r->j, &next);
    if (depth == 0 && next.n == 0) {
      struct places kept;
      enter_key(&r->keep, &r->j, &kept);
      if (kept.n == 0) {
        if (json_skip(&r->j) != 0) return -1;
        continue;
      }
    }
    if (push_text(r) != 0) return -1;
    (void)json_next(&r->j);
    if (push_value(r, &next, depth + 1) != 0) return -1;
    lua_rawset(r->L, -3);
  }
  return t == J_OBJECT_END ? 0 : -1;
}

static int push_array(struct reader *r, const struct places *at, int depth) {
  struct places next;
  enum token t;
  enter_element(at, &next);
  lua_newtable(r->L);
  luaL_setmetatable(r->L, TYPE_ARRAY);
  for (lua_Integer i = 1; (t = json_next(&r->j)) != J_ARRAY_END; i++) {
    if (t == J_ERROR || push_value(r, &next, depth + 1) != 0) return -1;
    lua_rawseti(r->L, -2, i);
  }
  return 0;
}

/* Pushes the value whose first token was just read. 0, or -1 and r->e. */
static int push_value(struct reader *r, const struct places *at, int depth) {
  lua_State *L = r->L;
  if (is_vector(at) && r->j.tok != J_ERROR) return push_vector(r);
  if (++r->values > JSON_VALUES_MAX)
    return err_set(&r->e, KIND_LIMIT, "JSON: more than %d values beside the vectors", JSON_VALUES_MAX);
  luaL_checkstack(L, 4, "an answer that is too deep");
  switch (r->j.tok) {
    case J_OBJECT: return push_object(r, at, depth);
    case J_ARRAY: return push_array(r, at, depth);
    case J_STRING: return push_text(r);
    case J_INT: return lua_pushinteger(L, (lua_Integer)r->j.i), 0;
    case J_DOUBLE: return lua_pushnumber(L, r->j.d), 0;
    case J_BIG: return push_str(L, r->j.text), 0;
    case J_TRUE: case J_FALSE: return lua_pushboolean(L, r->j.tok == J_TRUE), 0;
    case J_NULL: return lua_pushlightuserdata(L, NULL), 0;
    default: return -1;
  }
}

/* Reads an array of strings from the table at 2, borrowed. */
static void read_places(lua_State *L, const char *field, struct places *p) {
  p->n = 0;
  if (lua_getfield(L, 2, field) == LUA_TTABLE)
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++, lua_pop(L, 1)) {
      if (p->n == PLACES_MAX) raise_argument(L, field, "at most 8 paths", "more");
      p->rest[p->n++] = lua_tostring(L, -1);
    }
  lua_settop(L, 2);
}

static int flag(lua_State *L, const char *field) {
  int set;
  lua_getfield(L, 2, field);
  set = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return set;
}

static lua_Integer count(lua_State *L, const char *field) {
  lua_Integer n;
  lua_getfield(L, 2, field);
  n = luaL_optinteger(L, -1, 0);
  lua_pop(L, 1);
  return n;
}

static enum packing packing_of(lua_State *L) {
  static const char *const NAMES[] = { "float32", "int8", "uint8", NULL };
  enum packing p;
  lua_getfield(L, 2, "packing");
  p = (enum packing)luaL_checkoption(L, -1, "float32", NAMES);
  lua_pop(L, 1);
  return p;
}

/* The results of core.vectors for the string or the body at 1 and the options at 2. */
static int read_vectors(lua_State *L) {
  struct reader r;
  struct places paths;
  struct str s;
  int failed;
  if (is_body(L, 1)) s = body_bytes(L, 1);
  else s.p = luaL_checklstring(L, 1, &s.n);
  memset(&r, 0, sizeof r);
  read_places(L, "paths", &paths);
  read_places(L, "keep", &r.keep);
  r.L = L;
  r.packing = packing_of(L);
  r.packed = flag(L, "packed");
  r.whole = flag(L, "whole");
  r.normalise = flag(L, "normalise");
  r.cut = to_size(count(L, "cut"));
  r.scratch = state_scratch(L);
  err_clear(&r.e);
  json_open(&r.j, s, VALUE_DEPTH, &r.e);
  (void)json_next(&r.j);
  failed = push_value(&r, &paths, 0) != 0 || json_next(&r.j) != J_EOF;
  if (!failed) {
    lua_settop(L, 3);
    lua_pushinteger(L, r.zeros);
    lua_pushboolean(L, r.was_cut);
    return 3;
  }
  if (r.e.kind == KIND_MEMORY) return raise_error(L, &r.e);
  if (r.e.kind == KIND_PROTOCOL && json_is_cut(s)) memcpy(r.e.code, "cut", sizeof "cut");
  return return_error(L, &r.e);
}

/* core.vectors(text, {paths, keep, packing, packed, whole, normalise, cut}): the value of JSON text (a string, or a koine.body,
** which stays open), with a vector at each of the places that `paths` names (array of "data[].embedding"; * is any name): a
** table of numbers, or, where `packed` is true, a string of little-endian float32. Of the members of the outermost object
** only those on a path and those in `keep` (array of names) are there. `packing` says what base64 holds: "float32" (nil),
** "int8" or "uint8"; `whole`: numbers without a fraction are integers; `normalise`: vectors whose length is not 1 get it;
** `cut`: numbers behind so many are left out, and the length is made 1. Then how many vectors are all zeros, and whether any
** was cut. nil, err for what is no JSON (code "cut" where it only ends too early), and for a vector that is none. Raises
** ArgumentError for a body that is closed. */
static int f_vectors(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  return is_body(L, 1) ? body_lend(L, 2, read_vectors) : read_vectors(L);
}

/* }}} */

/* {{{ vectors of the user's */

/* A vector of the user's: packed, or a table at idx. */
struct given {
  struct str packed;
  int idx;                   /* 0: packed */
  size_t n;
};

static struct given check_vector(lua_State *L, int idx, const char *name) {
  struct given g = { STR_NONE, 0, 0 };
  if (lua_type(L, idx) == LUA_TSTRING) {
    g.packed.p = lua_tolstring(L, idx, &g.packed.n);
    if (g.packed.n % sizeof(float) != 0)
      raise_argument(L, name, "packed float32, 4 bytes a number", lua_pushfstring(L, "%I bytes", (lua_Integer)g.packed.n));
    g.n = g.packed.n / sizeof(float);
  } else if (lua_type(L, idx) == LUA_TTABLE) {
    g.idx = idx;
    g.n = (size_t)lua_rawlen(L, idx);
  } else {
    raise_type(L, name, "a table of numbers or a packed string", idx);
  }
  return g;
}

/* Its numbers, in the scratch memory. Raises an ArgumentError for what is no number. */
static struct vector *numbers_of(lua_State *L, const struct given *g, const char *name) {
  struct vector *v = &state_scratch(L)->numbers;
  struct err e;
  err_clear(&e);
  if (g->idx == 0) {
    if (vector_unpack(g->packed, v, &e) != 0) raise_error(L, &e);
    return v;
  }
  if (vector_reserve(v, g->n, &e) != 0) raise_error(L, &e);
  for (size_t i = 0; i < g->n; i++) {
    if (lua_rawgeti(L, g->idx, (lua_Integer)i + 1) != LUA_TNUMBER)
      raise_type(L, lua_pushfstring(L, "%s[%I]", name, (lua_Integer)i + 1), "a number", -2); /* below the field's name */
    v->v[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  v->n = g->n;
  return v;
}

/* core.vector_dot(a, b): the sum of the products. Raises ArgumentError where they differ in width. */
static int f_dot(lua_State *L) {
  struct given a, b;
  const struct vector *v;
  double sum = 0;
  lua_settop(L, 2);
  a = check_vector(L, 1, "a");
  b = check_vector(L, 2, "b");
  if (a.n != b.n)
    raise_argument(L, "b", lua_pushfstring(L, "a vector of %I numbers, as a has", (lua_Integer)a.n),
                   lua_pushfstring(L, "one of %I", (lua_Integer)b.n));
  if (a.idx == 0 && b.idx == 0) {
    lua_pushnumber(L, vector_packed_products(a.packed, b.packed));
    return 1;
  }
  v = numbers_of(L, &a, "a");
  for (size_t i = 0; i < b.n; i++) {
    if (b.idx == 0) {
      sum += v->v[i] * vector_packed_at(b.packed, i);
      continue;
    }
    if (lua_rawgeti(L, 2, (lua_Integer)i + 1) != LUA_TNUMBER)
      raise_type(L, lua_pushfstring(L, "b[%I]", (lua_Integer)i + 1), "a number", -2); /* below the field's name */
    sum += v->v[i] * lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pushnumber(L, sum);
  return 1;
}

/* core.vector_norm(a): the length. */
static int f_norm(lua_State *L) {
  struct given a = check_vector(L, 1, "a");
  lua_pushnumber(L, vector_norm(numbers_of(L, &a, "a")));
  return 1;
}

/* core.vector_pack(a): the packed string. Raises ArgumentError for a number beyond float32. */
static int f_pack(lua_State *L) {
  struct given a = check_vector(L, 1, "a");
  struct vector *v;
  struct buf *out;
  struct err e;
  lua_settop(L, 1);
  if (a.idx == 0) return 1;
  v = numbers_of(L, &a, "a");
  out = &state_get(L, 0)->scratch[in_finalizer(L)].text;
  err_clear(&e);
  if (vector_pack(v, out, &e) != 0) {
    if (e.kind == KIND_PROTOCOL) raise_argument(L, "a", "numbers that fit into 32 bits", e.message);
    return raise_error(L, &e);
  }
  push_str(L, buf_str(out));
  return 1;
}

/* core.vector_unpack(a): the numbers as a table. */
static int f_unpack(lua_State *L) {
  struct given a = check_vector(L, 1, "a");
  lua_settop(L, 1);
  if (a.idx != 0) return 1;
  push_table(L, numbers_of(L, &a, "a"), 0);
  return 1;
}

/* }}} */

static const luaL_Reg FUNCTIONS[] = {
  { "vectors", f_vectors },
  { "vector_dot", f_dot },
  { "vector_norm", f_norm },
  { "vector_pack", f_pack },
  { "vector_unpack", f_unpack },
  { NULL, NULL }
};

void open_vector(lua_State *L) { luaL_setfuncs(L, FUNCTIONS, 0); }
