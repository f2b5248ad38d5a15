/*
** log.c: koine.log, a file that processes add whole lines to (core/files/log.h). Owns its descriptor; its uservalue is the
** path. Failure: nil and an error.
*/
#include <string.h>

#include "binding/binding.h"
#include "core/files/log.h"

#define TYPE_LOG "koine.log"

/* core.log(path): the file, made with mode 0600 when it is missing: a koine.log; or nil, err. */
static int f_log(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  struct err e;
  luaL_argcheck(L, strlen(path) == lua_rawlen(L, 1), 1, "path without NUL expected");
  lua_settop(L, 1);
  struct log *l = lua_newuserdatauv(L, sizeof *l, 1);
  memset(l, 0, sizeof *l);
  luaL_setmetatable(L, TYPE_LOG);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, 1);
  err_clear(&e);
  if (log_open(l, path, &e) < 0) return return_error(L, &e);
  return 1;
}

/* log:append(bytes, rotate): adds the bytes at the file's end, which is renamed before where it has `rotate` bytes (0: never):
** true, or nil, err. Opens it again where it was closed. */
static int m_append(lua_State *L) {
  struct log *l = luaL_checkudata(L, 1, TYPE_LOG);
  struct str bytes;
  struct err e;
  bytes.p = luaL_checklstring(L, 2, &bytes.n);
  lua_Integer rotate = luaL_checkinteger(L, 3);
  luaL_argcheck(L, rotate >= 0, 3, "0 or more expected");
  lua_getiuservalue(L, 1, 1);
  err_clear(&e);
  return return_done(L, log_append(l, lua_tostring(L, -1), bytes, (size_t)rotate, &e), &e);
}

/* log:close(): any number of times. */
static int m_close(lua_State *L) {
  log_close(luaL_checkudata(L, 1, TYPE_LOG));
  return 0;
}

static const luaL_Reg METHODS[] = {
  { "append", m_append },
  { "close", m_close },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__gc", m_close },
  { "__close", m_close },
  { NULL, NULL }
};

void open_log(lua_State *L) {
  lua_pushcfunction(L, f_log);
  lua_setfield(L, -2, "log");
  open_type(L, TYPE_LOG, META, METHODS);
  lua_pop(L, 1);
}
