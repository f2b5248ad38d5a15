/*
** growing.c: userdata koine.growing: ONE Lua value that grows in place while its JSON arrives (core/json/growing.h).
** Containers and whole values are set as they come. The string that is open is collected in C, since a Lua string cannot
** grow: in its place stands a string of its first bytes, which is made anew as soon as it lacks more than a RENEWAL-th of
** them. So each byte is copied RENEWAL times at most, on average, and what lacks is never more than 0.1 % of a string
** (docs/adr/020-strings-that-grow.md). A string that is whole, and any string after value(), lacks nothing. An integer
** beyond int64 is a float; a number beyond double is no JSON here.
** User values: 1 the value, 2 the array of containers that are open, 3 the last path that was told, 4 the piece where a
** part of it is still to be read, 5 the reader, a userdata of its own: it has the finalizer, so that this one and the
** value do not live a cycle longer; 6 the key of the string that is open.
*/

#include "binding/binding.h"
#include "core/json/growing.h"

#define TYPE_READER "koine.growing_reader"
#define RENEWAL 1024
#define NOTHING SIZE_MAX
#define PATH_LONGEST 1024 /* of what is told: a path holds keys, which may be as long as the text */

struct level {
  size_t path;       /* bytes of the container's own path */
  lua_Integer count; /* elements of an array */
};

struct reader {
  struct growing g;
  struct err e;
  struct buf text;   /* of the string that is open, */
  size_t shown;      /* of which so many bytes stand in the value; NOTHING: it has no place there yet */
  int is_open, is_member;
  struct buf path;   /* JSON pointer of the value that changed last */
  size_t told;       /* bytes of it that are user value 3; NOTHING where they are not */
  int common;        /* steps of the pointer to the value in which all changes of this call are; -1: none */
  int is_complete;   /* the last change made the value it was in whole */
  int without_nulls; /* a member that is null is left out */
  int busy;          /* Lua values are being made: a finalizer must leave this alone */
  int broken;        /* making one ran out of memory: the value stays as it is */
  struct level levels[VALUE_DEPTH + 1];
};

enum { SELF = 1, PIECE, STOP, OPEN, CONTAINER }; /* the stack of what reads */

/* {{{ the value */

static void need(lua_State *L, int r) {
  if (r < 0) luaL_error(L, "not enough memory");
}

/* Pushes the key of a member. */
static void push_key(lua_State *L, const struct growth *s) {
  if (s->is_member) push_str(L, s->key);
}

/* Puts the value on top where it stands: in the innermost container that is open, under the key below it where it is a
** member; or as the root. The one place where something enters the value. */
static void put(lua_State *L, const struct reader *r, int depth, int is_member) {
  if (depth == 0) lua_setiuservalue(L, SELF, 1);
  else if (is_member) lua_rawset(L, CONTAINER);
  else lua_rawseti(L, CONTAINER, r->levels[depth - 1].count);
}

/* Puts what there is of the string that is open into its place. */
static void put_text(lua_State *L, struct reader *r) {
  if (r->is_member) lua_getiuservalue(L, SELF, 6);
  push_str(L, buf_str(&r->text));
  put(L, r, r->g.depth, r->is_member);
  r->shown = r->text.n;
}

/* The string that is open, after a call: see above. */
static void renew_text(lua_State *L, struct reader *r, int is_exact) {
  if (!r->is_open || r->shown == r->text.n) return;
  if (is_exact || r->shown == NOTHING || r->text.n - r->shown >= r->text.n / RENEWAL) put_text(L, r);
}

/* Pushes the innermost container that is open; nil where there is none. */
static void push_container(lua_State *L, const struct reader *r) {
  if (r->g.depth > 0) lua_rawgeti(L, OPEN, r->g.depth);
  else lua_pushnil(L);
}

static void open_value_of(lua_State *L, struct reader *r, const struct growth *s) {
  if (s->token == J_STRING) {
    r->is_open = 1;
    r->is_member = s->is_member;
    r->text.n = 0;
    r->shown = NOTHING;
    push_key(L, s);
    if (s->is_member) lua_setiuservalue(L, SELF, 6);
    return;
  }
  push_key(L, s);
  lua_newtable(L);
  if (s->token == J_ARRAY) luaL_setmetatable(L, TYPE_ARRAY);
  lua_pushvalue(L, -1);
  lua_rawseti(L, OPEN, s->depth + 1);
  put(L, r, s->depth, s->is_member);
  lua_rawgeti(L, OPEN, s->depth + 1);
  lua_replace(L, CONTAINER);
  r->levels[s->depth] = (struct level){ r->path.n, 0 };
}

static void close_value_of(lua_State *L, struct reader *r, const struct growth *s) {
  if (s->token == J_STRING) {
    if (r->shown != r->text.n) put_text(L, r);
    r->is_open = 0;
    return;
  }
  r->path.n = r->levels[s->depth].path;
  push_container(L, r);
  lua_replace(L, CONTAINER);
}

static void push_scalar(lua_State *L, const struct growth *s) {
  switch (s->token) {
    case J_INT: lua_pushinteger(L, s->i); return;
    case J_DOUBLE: lua_pushnumber(L, s->d); return;
    case J_NULL: lua_pushlightuserdata(L, NULL); return;
    default: lua_pushboolean(L, s->token == J_TRUE); return;
  }
}

/* }}} */

/* {{{ paths */

/* The path goes to a value that begins: its container's, and one step. */
static void add_step(lua_State *L, struct reader *r, const struct growth *s) {
  struct level *level = &r->levels[s->depth - 1];
  r->path.n = level->path;
  if (r->told != NOTHING && r->told > r->path.n) r->told = NOTHING;
  need(L, buf_addc(&r->path, '/'));
  if (!s->is_member) {
    need(L, json_write_int(&r->path, level->count++));
    return;
  }
  for (size_t i = 0; i < s->key.n; i++) {
    char c = s->key.p[i];
    if (c == '~' || c == '/') need(L, buf_adds(&r->path, c == '~' ? "~0" : "~1"));
    else need(L, buf_addc(&r->path, c));
  }
}

/* Notes a change of a value with so many steps, or of one that is new in its container. */
static void note(struct reader *r, int steps, int is_new) {
  int within = is_new && r->common >= 0 ? steps - 1 : steps;
  if (r->common < 0 || within < r->common) r->common = within;
}

/* Pushes what changed: its path, and whether it is whole; or nil. Where the path is too long, that of a container round
** it. */
static int push_change(lua_State *L, struct reader *r) {
  if (r->common < 0) {
    lua_pushnil(L);
    return 1;
  }
  int is_last = r->is_complete || (r->is_open && r->common == r->g.depth);
  size_t n = is_last ? r->path.n : r->levels[r->common].path;
  while (n > PATH_LONGEST) {
    n = r->levels[--r->common].path;
    r->is_complete = 0;
  }
  if (n == r->told) {
    lua_getiuservalue(L, SELF, 3);
  } else {
    lua_pushlstring(L, n > 0 ? r->path.p : "", n);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, SELF, 3);
    r->told = n;
  }
  lua_pushboolean(L, r->is_complete);
  return 2;
}

/* }}} */

/* {{{ reading */

/* Leaves out a member that is null, and with it a value that came for the same key before. */
static void leave_out(lua_State *L, struct reader *r, const struct growth *s) {
  push_key(L, s);
  if (lua_rawget(L, CONTAINER) != LUA_TNIL) {
    push_key(L, s);
    lua_pushnil(L);
    put(L, r, s->depth, 1);
    note(r, s->depth - 1, 0);
    r->is_complete = 0;
  }
  lua_pop(L, 1);
}

/* Carries out a step of growth. True when it made a value whole. */
static int apply(lua_State *L, struct reader *r, enum growth_type type, const struct growth *s) {
  int is_new = type == GROWTH_OPENED || type == GROWTH_SCALAR, is_whole = type == GROWTH_CLOSED || type == GROWTH_SCALAR;
  if (r->without_nulls && type == GROWTH_SCALAR && s->token == J_NULL && s->is_member) {
    leave_out(L, r, s);
    return 0;
  }
  if (is_new && s->depth > 0) add_step(L, r, s);
  note(r, s->depth, is_new);
  r->is_complete = is_whole && r->common == s->depth;
  switch (type) {
    case GROWTH_OPENED: open_value_of(L, r, s); break;
    case GROWTH_TEXT: need(L, buf_addstr(&r->text, s->text)); break;
    case GROWTH_CLOSED: close_value_of(L, r, s); break;
    default:
      push_key(L, s);
      push_scalar(L, s);
      put(L, r, s->depth, s->is_member);
      break;
  }
  return is_whole;
}

/* Reads what is left of the piece; up to the end of a value with at most `stop` steps where stop is not negative. */
static void read_piece(lua_State *L, struct reader *r, int stop) {
  struct growth s;
  enum growth_type type;
  while ((type = growing_next(&r->g, &s)) > GROWTH_NONE) {
    if (!apply(L, r, type, &s) || s.depth > stop) continue;
    r->common = s.depth;
    r->is_complete = 1;
    return;
  }
  if (type == GROWTH_FAILED && r->e.kind == KIND_MEMORY) raise_error(L, &r->e);
}

static void release(struct reader *r) {
  growing_free(&r->g);
  buf_free(&r->text);
}

/* The reader of the userdata at SELF. Raises ArgumentError. */
static struct reader *check_growing(lua_State *L) {
  struct reader *r;
  if (luaL_testudata(L, SELF, TYPE_GROWING) == NULL)
    raise_type(L, "self", "a growing value (methods are called with a colon)", SELF);
  lua_getiuservalue(L, SELF, 5);
  r = lua_touserdata(L, -1);
  lua_pop(L, 1);
  check_idle(L, "growing", r->busy && in_finalizer(L));
  return r;
}

/* Makes the stack ready for what changes the value; `busy` stays set where that raises. 0 where nothing may change it. */
static int begin(lua_State *L, struct reader *r) {
  if (r->busy) r->broken = 1;
  if (r->broken) return 0;
  lua_settop(L, STOP);
  lua_getiuservalue(L, SELF, 2);
  push_container(L, r);
  r->busy = 1;
  r->common = -1;
  r->is_complete = 0;
  return 1;
}

/* growing:feed([piece [, stop]]): reads the next piece of the text. Returns the path (a JSON pointer, of 1,024 bytes at
** most) of a value in which all changes are, the innermost one, and whether it is whole; nil where nothing changed. With `stop`, a number of steps, it returns as
** soon as a value whose path has at most so many is whole, with that value's path and true; feed(nil, stop) then goes on
** with the same piece, until it returns nil. Bytes that can no longer become JSON change nothing: see state. Raises
** ArgumentError for a piece before the last one is read, and for memory; the value then stays as it is. */
static int m_feed(lua_State *L) {
  struct reader *r = check_growing(L);
  int has_piece = !lua_isnoneornil(L, PIECE), stop = to_int(luaL_optinteger(L, STOP, -1)), n;
  struct str piece = STR_NONE;
  if (has_piece) piece.p = luaL_checklstring(L, PIECE, &piece.n);
  if (!begin(L, r)) return 0;
  if (has_piece) {
    if (r->g.p < r->g.end && growing_state(&r->g) != GROWING_FAILED) {
      r->busy = 0;
      return raise_argument(L, "piece", "nil while a piece is not read to its end", "another one");
    }
    growing_feed(&r->g, piece);
  }
  read_piece(L, r, stop);
  if (stop >= 0) { /* the rest is read by the next call */
    if (has_piece) lua_pushvalue(L, PIECE);
    else lua_getiuservalue(L, SELF, 4);
    lua_setiuservalue(L, SELF, 4);
  }
  renew_text(L, r, 0);
  n = push_change(L, r);
  if (growing_state(&r->g) != GROWING_OPEN && !r->is_open) release(r);
  r->busy = 0;
  return n;
}

/* growing:finish(): the text is at its end: as feed for what that makes whole, which is a root number. */
static int m_finish(lua_State *L) {
  struct reader *r = check_growing(L);
  struct growth s;
  enum growth_type type;
  int n;
  if (!begin(L, r)) return 0;
  type = growing_end(&r->g, &s);
  if (type > GROWTH_NONE) apply(L, r, type, &s);
  n = push_change(L, r);
  r->busy = 0;
  return n;
}

/* growing:value(): the value, the same table every time, with all that came of it; nil before there is one. A string at
** the root is a new one each time. Takes the time that copying the string which is open takes, and none while it is
** whole. */
static int m_value(lua_State *L) {
  struct reader *r = check_growing(L);
  if (begin(L, r)) {
    renew_text(L, r, 1);
    r->busy = 0;
  }
  lua_getiuservalue(L, SELF, 1);
  return 1;
}

/* growing:state(): "open": all there is of the value is right; "whole", and the offset of the first byte behind it that is
** no white space, if any; "not_json" and the offset of the byte that cannot be there, or behind a number beyond double;
** "limit" and the offset where one was passed; "memory". Offsets count from 0. The last three are final. */
static int m_state(lua_State *L) {
  struct reader *r = check_growing(L);
  enum growing_state state = growing_state(&r->g);
  if (r->busy || r->broken || (state == GROWING_FAILED && r->e.kind == KIND_MEMORY)) {
    lua_pushliteral(L, "memory");
    return 1;
  }
  lua_pushstring(L, state == GROWING_OPEN ? "open" : state == GROWING_WHOLE ? "whole"
                  : r->e.kind == KIND_LIMIT ? "limit" : "not_json");
  if (state == GROWING_FAILED) lua_pushinteger(L, (lua_Integer)r->e.offset);
  else if (r->g.behind > 0) lua_pushinteger(L, (lua_Integer)r->g.behind);
  else lua_pushnil(L);
  return 2;
}

/* }}} */

static int reader_gc(lua_State *L) {
  struct reader *r = luaL_checkudata(L, 1, TYPE_READER);
  release(r);
  buf_free(&r->path);
  return 0;
}

/* core.growing([{depth = levels, bytes = n, fence = true, without_nulls = true}]): a value that grows: at most so many levels
** (core.depth_max) and bytes of text (any number); with fence, a line that begins with ``` may stand before it, and ```
** behind it; without_nulls leaves out members of objects that are null. */
static int f_growing(lua_State *L) {
  struct growing_limits limits = { ANSWER_DEPTH, SIZE_MAX };
  const struct mem *m = &state_get(L, 0)->mem;
  struct reader *r;
  int fence = 0, without_nulls = 0;
  if (!lua_isnoneornil(L, 1)) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_getfield(L, 1, "depth") != LUA_TNIL) limits.depth = to_int(luaL_checkinteger(L, -1));
    if (lua_getfield(L, 1, "bytes") != LUA_TNIL) limits.bytes = check_max(L, -1);
    lua_getfield(L, 1, "fence");
    fence = lua_toboolean(L, -1);
    lua_getfield(L, 1, "without_nulls");
    without_nulls = lua_toboolean(L, -1);
  }
  if (limits.depth > ANSWER_DEPTH) limits.depth = ANSWER_DEPTH;
  lua_settop(L, 0);
  lua_newuserdatauv(L, 0, 6);
  r = lua_newuserdatauv(L, sizeof *r, 0);
  memset(r, 0, sizeof *r);
  growing_init(&r->g, m, &limits, fence, &r->e);
  buf_init(&r->text, m);
  buf_init(&r->path, m);
  r->told = NOTHING;
  r->without_nulls = without_nulls;
  luaL_setmetatable(L, TYPE_READER);
  lua_setiuservalue(L, SELF, 5);
  lua_newtable(L);
  lua_setiuservalue(L, SELF, 2);
  luaL_setmetatable(L, TYPE_GROWING);
  return 1;
}

static const luaL_Reg METHODS[] = {
  { "feed", m_feed },
  { "finish", m_finish },
  { "value", m_value },
  { "state", m_state },
  { NULL, NULL }
};

static const luaL_Reg META[] = { { NULL, NULL } };

void open_growing(lua_State *L) {
  luaL_newmetatable(L, TYPE_READER);
  lua_pushcfunction(L, reader_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  open_type(L, TYPE_GROWING, META, METHODS);
  lua_pop(L, 1);
  lua_pushcfunction(L, f_growing);
  lua_setfield(L, -2, "growing");
}
