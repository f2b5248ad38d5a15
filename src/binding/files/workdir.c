/*
** workdir.c: userdata koine.workdir, the files below one directory.
** Owns the root's descriptor; created closed, freed by close, __close and __gc alike. nil, err where the path leads
** outside or the system refuses; err.code says which.
*/
#include "binding/binding.h"
#include "core/files/workdir.h"

#define TYPE_WORKDIR "koine.workdir"

static const char *const KINDS[] = {
  [WORKDIR_FILE] = "file", [WORKDIR_DIRECTORY] = "directory", [WORKDIR_LINK] = "link", [WORKDIR_OTHER] = "other"
};

/* core.workdir(directory): the files below it, a koine.workdir, or nil, err. */
static int f_tree(lua_State *L) {
  const char *dir;
  struct workdir *t;
  struct err e;
  luaL_checkstring(L, 1);
  dir = c_string(L, 1, "directory");
  t = lua_newuserdatauv(L, sizeof *t, 0);
  memset(t, 0, sizeof *t);
  luaL_setmetatable(L, TYPE_WORKDIR);
  err_clear(&e);
  return workdir_open(t, dir, &e) < 0 ? return_error(L, &e) : 1;
}

/* The workdir at 1, which must be open. */
static const struct workdir *check_open(lua_State *L) {
  const struct workdir *t = luaL_checkudata(L, 1, TYPE_WORKDIR);
  if (!t->is_open) raise_argument(L, "workdir", "an open one", "a closed one");
  return t;
}

/* The same and the path at 2. */
static const struct workdir *check_tree(lua_State *L, struct str *path) {
  const struct workdir *t = check_open(L);
  path->p = luaL_checklstring(L, 2, &path->n);
  return t;
}

/* workdir:path(): the root's absolute path without links. */
static int m_path(lua_State *L) {
  const struct workdir *t = luaL_checkudata(L, 1, TYPE_WORKDIR);
  lua_pushstring(L, t->real);
  return 1;
}

/* workdir:in_place(): true while the root's path leads to the root, or nil, err. */
static int m_in_place(lua_State *L) {
  const struct workdir *t = check_open(L);
  struct err e;
  err_clear(&e);
  return return_done(L, workdir_in_place(t, &e), &e);
}

/* workdir:stat(path): "file" | "directory" | "other" and, of a file, its size; or nil, err. */
static int m_stat(lua_State *L) {
  struct str path;
  const struct workdir *t = check_tree(L, &path);
  enum workdir_kind kind = WORKDIR_OTHER;
  unsigned long long size = 0;
  struct err e;
  err_clear(&e);
  if (workdir_stat(t, path, &kind, &size, &e) < 0) return return_error(L, &e);
  lua_pushstring(L, KINDS[kind]);
  if (kind != WORKDIR_FILE) return 1;
  lua_pushinteger(L, (lua_Integer)size);
  return 2;
}

/* workdir:locate(path, writes): its absolute form without links, for others who read it, or with `writes` write it; or nil,
** err. */
static int m_locate(lua_State *L) {
  struct str path;
  const struct workdir *t = check_tree(L, &path);
  char real[PATH_MAX];
  struct err e;
  err_clear(&e);
  if (workdir_locate(t, path, lua_toboolean(L, 3), real, &e) < 0) return return_error(L, &e);
  lua_pushstring(L, real);
  return 1;
}

/* workdir:read(path, max): the file's bytes, or nil, err (kind "limit" beyond `max`). */
static int m_read(lua_State *L) {
  struct str path;
  const struct workdir *t = check_tree(L, &path);
  size_t max = check_max(L, 3);
  struct scratch *s = state_scratch(L);
  struct err e;
  err_clear(&e);
  if (workdir_read(t, path, max, &s->text, &e) < 0) return return_error(L, &e);
  push_str(L, buf_str(&s->text));
  return 1;
}

/* workdir:write(path, bytes): replaces or makes the file, directories included: true, or nil, err. */
static int m_write(lua_State *L) {
  struct str path, bytes;
  const struct workdir *t = check_tree(L, &path);
  struct err e;
  bytes.p = luaL_checklstring(L, 3, &bytes.n);
  err_clear(&e);
  return return_done(L, workdir_write(t, path, bytes, &e), &e);
}

/* workdir:list(path, max): the directory's entries, sorted by name: array of names and array of kinds ("file",
** "directory", "link", "other"); or nil, err (kind "limit" when there are more than `max`). */
static int m_list(lua_State *L) {
  struct str path;
  const struct workdir *t = check_tree(L, &path);
  size_t max = check_max(L, 3);
  struct scratch *s = state_scratch(L);
  struct workdir_list list;
  struct err e;
  err_clear(&e);
  if (workdir_entries(t, path, max, &s->arena, &list, &e) < 0) return return_error(L, &e);
  lua_createtable(L, list.n < INT_MAX ? (int)list.n : 0, 0);
  lua_createtable(L, list.n < INT_MAX ? (int)list.n : 0, 0);
  for (size_t i = 0; i < list.n; i++) {
    push_str(L, list.entries[i].name);
    lua_rawseti(L, -3, (lua_Integer)i + 1);
    lua_pushstring(L, KINDS[list.entries[i].kind]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 2;
}

/* workdir:close(): gives the descriptor back; any number of times. */
static int m_close(lua_State *L) {
  workdir_close(luaL_checkudata(L, 1, TYPE_WORKDIR));
  return 0;
}

static const luaL_Reg METHODS[] = {
  { "path", m_path },
  { "in_place", m_in_place },
  { "stat", m_stat },
  { "locate", m_locate },
  { "read", m_read },
  { "write", m_write },
  { "list", m_list },
  { "close", m_close },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__gc", m_close },
  { "__close", m_close },
  { NULL, NULL }
};

void open_workdir(lua_State *L) {
  lua_pushcfunction(L, f_tree);
  lua_setfield(L, -2, "workdir");
  open_type(L, TYPE_WORKDIR, META, METHODS);
  lua_pop(L, 1);
}
