/*
** text.c: looking through the text of a file, in time that grows with its length: core.text_*. Positions count from 1.
*/
#include "binding/binding.h"
#include "core/files/text.h"

static struct str check_text(lua_State *L, int idx) {
  struct str text;
  text.p = luaL_checklstring(L, idx, &text.n);
  return text;
}

/* core.text_find(text, part, from): where `part` begins first at or behind the byte `from`, or nil. An empty part is
** nowhere. */
static int f_find(lua_State *L) {
  struct str text = check_text(L, 1), part = check_text(L, 2);
  lua_Integer from = luaL_checkinteger(L, 3);
  luaL_argcheck(L, from >= 1, 3, "position expected");
  size_t at = part.n == 0 || (lua_Unsigned)from > text.n ? TEXT_NONE : text_find(text, part, (size_t)from - 1);
  if (at == TEXT_NONE) lua_pushnil(L);
  else lua_pushinteger(L, (lua_Integer)at + 1);
  return 1;
}

/* core.text_ends(text, last): how many "\n" there are up to the byte `last` (all without it), and how many of them
** have a "\r" before them. */
static int f_ends(lua_State *L) {
  struct str text = check_text(L, 1);
  lua_Integer last = luaL_optinteger(L, 2, (lua_Integer)text.n);
  size_t windows;
  luaL_argcheck(L, last >= 0, 2, "position expected");
  if ((lua_Unsigned)last < text.n) text.n = (size_t)last;
  lua_pushinteger(L, (lua_Integer)text_ends(text, &windows));
  lua_pushinteger(L, (lua_Integer)windows);
  return 2;
}

/* core.text_after(text, n): where the text begins that comes after the first n lines, which may be behind its last
** byte; nil when it has fewer lines. */
static int f_after(lua_State *L) {
  struct str text = check_text(L, 1);
  lua_Integer n = luaL_checkinteger(L, 2);
  luaL_argcheck(L, n >= 0, 2, "number of lines expected");
  size_t at = (lua_Unsigned)n > text.n ? TEXT_NONE : text_after(text, (size_t)n);
  if (at == TEXT_NONE) lua_pushnil(L);
  else lua_pushinteger(L, (lua_Integer)at + 1);
  return 1;
}

static const luaL_Reg FUNCTIONS[] = {
  { "text_find", f_find },
  { "text_ends", f_ends },
  { "text_after", f_after },
  { NULL, NULL }
};

void open_text(lua_State *L) { luaL_setfuncs(L, FUNCTIONS, 0); }
