/*
** workdir.c: userdata koine.tree, the files below one directory.
** Owns the root's descriptor; created closed, freed by close, __close and __gc alike. nil, err where the path leads
** outside or the system refuses; err.code says which.
*/
#include "binding.h"
#include "core/files/workdir.h"

#define TYPE_TREE "koine.tree"

static const char *const KINDS[] = {
  [TREE_FILE] = "file", [TREE_DIRECTORY] = "directory", [TREE_LINK] = "link", [TREE_OTHER] = "other"
};

/* core.tree(directory): the files below it, a koine.tree, or nil, err. */
static int f_tree(lua_State *L) {
  const char *dir;
  struct tree *t;
  struct err e;
  luaL_checkstring(L, 1);
  dir = c_string(L, 1, "directory");
  t = lua_newuserdatauv(L, sizeof *t, 0);
  memset(t, 0, sizeof *t);
  luaL_setmetatable(L, TYPE_TREE);
  err_clear(&e);
  return tree_open(t, dir, &e) < 0 ? return_error(L, &e) : 1;
}

/* The tree at 1, which must be open. */
static const struct tree *check_open(lua_State *L) {
  const struct tree *t = luaL_checkudata(L, 1, TYPE_TREE);
  if (!t->is_open) raise_argument(L, "tree", "an open one", "a closed one");
  return t;
}

/* The same and the path at 2. */
static const struct tree *check_tree(lua_State *L, struct str *path) {
  const struct tree *t = check_open(L);
  path->p = luaL_checklstring(L, 2, &path->n);
  return t;
}

/* tree:path(): the root's absolute path without links. */
static int m_path(lua_State *L) {
  const struct tree *t = luaL_checkudata(L, 1, TYPE_TREE);
  lua_pushstring(L, t->real);
  return 1;
}

/* tree:in_place(): true while the root's path leads to the root, or nil, err. */
static int m_in_place(lua_State *L) {
  const struct tree *t = check_open(L);
  struct err e;
  err_clear(&e);
  return return_done(L, tree_in_place(t, &e), &e);
}

/* tree:stat(path): "file" | "directory" | "other" and, of a file, its size; or nil, err. */
static int m_stat(lua_State *L) {
  struct str path;
  const struct tree *t = check_tree(L, &path);
  enum tree_kind kind = TREE_OTHER;
  unsigned long long size = 0;
  struct err e;
  err_clear(&e);
  if (tree_stat(t, path, &kind, &size, &e) < 0) return return_error(L, &e);
  lua_pushstring(L, KINDS[kind]);
  if (kind != TREE_FILE) return 1;
  lua_pushinteger(L, (lua_Integer)size);
  return 2;
}

/* tree:read(path, max): the file's bytes, or nil, err (kind "limit" beyond `max`). */
static int m_read(lua_State *L) {
  struct str path;
  const struct tree *t = check_tree(L, &path);
  size_t max = check_max(L, 3);
  struct scratch *s = home_scratch(L);
  struct err e;
  err_clear(&e);
  if (tree_read(t, path, max, &s->text, &e) < 0) return return_error(L, &e);
  push_str(L, buf_str(&s->text));
  return 1;
}

/* tree:write(path, bytes): replaces or makes the file, directories included: true, or nil, err. */
static int m_write(lua_State *L) {
  struct str path, bytes;
  const struct tree *t = check_tree(L, &path);
  struct err e;
  bytes.p = luaL_checklstring(L, 3, &bytes.n);
  err_clear(&e);
  return return_done(L, tree_write(t, path, bytes, &e), &e);
}

/* tree:list(path, max): the directory's entries, sorted by name: array of names and array of kinds ("file",
** "directory", "link", "other"); or nil, err (kind "limit" when there are more than `max`). */
static int m_list(lua_State *L) {
  struct str path;
  const struct tree *t = check_tree(L, &path);
  size_t max = check_max(L, 3);
  struct scratch *s = home_scratch(L);
  struct tree_list list;
  struct err e;
  err_clear(&e);
  if (tree_entries(t, path, max, &s->arena, &list, &e) < 0) return return_error(L, &e);
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

/* tree:close(): gives the descriptor back; any number of times. */
static int m_close(lua_State *L) {
  tree_close(luaL_checkudata(L, 1, TYPE_TREE));
  return 0;
}

static const luaL_Reg METHODS[] = {
  { "path", m_path },
  { "in_place", m_in_place },
  { "stat", m_stat },
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
  lua_setfield(L, -2, "tree");
  open_type(L, TYPE_TREE, META, METHODS);
  lua_pop(L, 1);
}
