/*
** file.c: private files as Lua needs them: core.file_* and userdata koine.lock, a file held under an advisory lock.
** A lock owns its descriptor; created closed, freed by close, __close and __gc alike. nil, err where the system
** refuses; err.code is "absent" when there is no such file.
*/
#include "binding/binding.h"
#include "core/files/journal.h"

#define TYPE_LOCK "koine.lock"

static const char *check_path(lua_State *L, int idx) {
  luaL_checkstring(L, idx);
  return c_string(L, idx, "path");
}

/* core.file_read(path, max): the bytes of a file that is its owner's alone, or nil, err: also for a symbolic link, for one that
** others may read, and beyond `max` bytes. */
static int f_read(lua_State *L) {
  const char *path = check_path(L, 1);
  size_t max = check_max(L, 2);
  struct scratch *s = state_scratch(L);
  struct err e;
  err_clear(&e);
  if (private_file_read(path, max, &s->text, &e) < 0) return return_error(L, &e);
  push_str(L, buf_str(&s->text));
  return 1;
}

/* core.file_read_any(path, max): the bytes of any regular file, or nil, err; also beyond `max` bytes. Never waits. */
static int f_read_any(lua_State *L) {
  const char *path = check_path(L, 1);
  size_t max = check_max(L, 2);
  struct scratch *s = state_scratch(L);
  struct err e;
  err_clear(&e);
  if (file_read(path, max, &s->text, &e) < 0) return return_error(L, &e);
  push_str(L, buf_str(&s->text));
  return 1;
}

/* core.file_read_start(path, max): the beginning of any regular file, all of it or at least `max` bytes, and how many
** bytes it has; or nil, err. Never waits. */
static int f_read_start(lua_State *L) {
  const char *path = check_path(L, 1);
  size_t max = check_max(L, 2), size;
  struct scratch *s = state_scratch(L);
  struct err e;
  err_clear(&e);
  if (file_read_start(path, max, &s->text, &size, &e) < 0) return return_error(L, &e);
  push_str(L, buf_str(&s->text));
  lua_pushinteger(L, (lua_Integer)size);
  return 2;
}

/* core.file_remove(path): removes a file that core.file_write made, and what a killed process left beside it: true, also
** where there is none, or nil, err. */
static int f_remove(lua_State *L) {
  const char *path = check_path(L, 1);
  struct err e;
  err_clear(&e);
  return return_done(L, private_file_remove(path, &e), &e);
}

/* core.file_write(path, bytes): replaces the file at once by one with mode 0600: true, or nil, err. */
static int f_write(lua_State *L) {
  const char *path = check_path(L, 1);
  struct str bytes;
  struct err e;
  err_clear(&e);
  bytes.p = luaL_checklstring(L, 2, &bytes.n);
  return return_done(L, private_file_write(path, bytes, &e), &e);
}

/* core.file_directory(path): makes the directory and those missing above it, with mode 0700: true, or nil, err. */
static int f_directory(lua_State *L) {
  const char *path = check_path(L, 1);
  struct err e;
  err_clear(&e);
  return return_done(L, private_directory(path, &e), &e);
}

/* core.file_directory_only(path): the same, and refuses one that is not this user's alone: true, or nil, err. */
static int f_directory_only(lua_State *L) {
  const char *path = check_path(L, 1);
  struct err e;
  err_clear(&e);
  return return_done(L, private_directory_only(path, &e), &e);
}

/* core.file_stamp(path): a string that changes when the file grows or is replaced, or nil, err. */
static int f_stamp(lua_State *L) {
  const char *path = check_path(L, 1);
  char stamp[STAMP_MAX];
  struct err e;
  err_clear(&e);
  if (journal_stamp(path, stamp, &e) < 0) return return_error(L, &e);
  lua_pushstring(L, stamp);
  return 1;
}

/* core.file_link(target, path): makes a symbolic link, whether there is such a target or not: true, or nil, err. */
static int f_link(lua_State *L) {
  const char *target = check_path(L, 1), *path = check_path(L, 2);
  struct err e;
  err_clear(&e);
  return return_done(L, file_link(target, path, &e), &e);
}

/* core.file_lock(path): the file, made with mode 0600 when missing, held alone: a koine.lock; false when someone else
** holds it; or nil, err, as core.file_read refuses. Never waits. */
static int f_lock(lua_State *L) {
  const char *path = check_path(L, 1);
  struct file_lock *l;
  struct err e;
  int r;
  lua_settop(L, 1);
  l = lua_newuserdatauv(L, sizeof *l, 1);
  memset(l, 0, sizeof *l);
  luaL_setmetatable(L, TYPE_LOCK);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, 1);
  err_clear(&e);
  r = file_lock(path, l, &e);
  if (r < 0) return return_error(L, &e);
  if (r == 0) lua_pushboolean(L, 0);
  return 1;
}

/* The lock at 1, its path pushed behind at most three arguments. Raises when it was closed. */
static struct file_lock *check_lock(lua_State *L, const char **path) {
  struct file_lock *l = luaL_checkudata(L, 1, TYPE_LOCK);
  if (!l->held) raise_argument(L, "lock", "a lock that is held", "a closed one");
  lua_settop(L, 4);
  lua_getiuservalue(L, 1, 1);
  *path = lua_tostring(L, -1);
  return l;
}

/* lock:read(max): the file's bytes, or nil, err. */
static int m_read(lua_State *L) {
  const char *path;
  struct file_lock *l = check_lock(L, &path);
  size_t max = check_max(L, 2);
  struct scratch *s = state_scratch(L);
  struct err e;
  err_clear(&e);
  if (file_lock_read(l, path, max, &s->text, &e) < 0) return return_error(L, &e);
  push_str(L, buf_str(&s->text));
  return 1;
}

/* lock:write(bytes): replaces the file as core.file_write does; the lock stays: true, or nil, err. */
static int m_write(lua_State *L) {
  const char *path;
  struct file_lock *l = check_lock(L, &path);
  struct str bytes;
  struct err e;
  err_clear(&e);
  bytes.p = luaL_checklstring(L, 2, &bytes.n);
  return return_done(L, file_lock_write(l, path, bytes, &e), &e);
}

/* An offset in a file: an integer, 0 or more. */
static size_t check_offset(lua_State *L, int idx) {
  lua_Integer n = luaL_checkinteger(L, idx);
  luaL_argcheck(L, n >= 0, idx, "0 or more expected");
  return (size_t)n;
}

/* lock:read_from(offset, max): the file's bytes from there on, at most so many, or nil, err. */
static int m_read_from(lua_State *L) {
  const char *path;
  size_t offset = check_offset(L, 2), max = check_max(L, 3);
  struct file_lock *l = check_lock(L, &path);
  struct scratch *s = state_scratch(L);
  struct err e;
  err_clear(&e);
  if (journal_read(l, path, offset, max, &s->text, &e) < 0) return return_error(L, &e);
  push_str(L, buf_str(&s->text));
  return 1;
}

/* lock:append(mark, offset, bytes): makes the bytes the file's end, behind its first `offset` bytes, and enters at `mark`
** that these are whole: true, or nil, err. */
static int m_append(lua_State *L) {
  const char *path;
  size_t mark = check_offset(L, 2), offset = check_offset(L, 3);
  struct str bytes;
  struct err e;
  err_clear(&e);
  bytes.p = luaL_checklstring(L, 4, &bytes.n);
  struct file_lock *l = check_lock(L, &path);
  return return_done(L, journal_append(l, path, mark, offset, bytes, &e), &e);
}

/* lock:close(): gives the lock and its descriptor back; any number of times. */
static int m_close(lua_State *L) {
  file_unlock(luaL_checkudata(L, 1, TYPE_LOCK));
  return 0;
}

static const luaL_Reg FUNCTIONS[] = {
  { "file_read", f_read },
  { "file_read_any", f_read_any },
  { "file_read_start", f_read_start },
  { "file_write", f_write },
  { "file_remove", f_remove },
  { "file_directory", f_directory },
  { "file_directory_only", f_directory_only },
  { "file_link", f_link },
  { "file_lock", f_lock },
  { "file_stamp", f_stamp },
  { NULL, NULL }
};

static const luaL_Reg METHODS[] = {
  { "read", m_read },
  { "read_from", m_read_from },
  { "append", m_append },
  { "write", m_write },
  { "close", m_close },
  { NULL, NULL }
};

static const luaL_Reg META[] = {
  { "__gc", m_close },
  { "__close", m_close },
  { NULL, NULL }
};

void open_file(lua_State *L) {
  luaL_setfuncs(L, FUNCTIONS, 0);
  open_type(L, TYPE_LOCK, META, METHODS);
  lua_pop(L, 1);
}
