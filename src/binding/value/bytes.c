/*
** bytes.c: what is asked of strings of bytes: their order, checksums, digests, base64; and for random ones. Each takes time
** that grows with the length.
*/
#include <string.h>

#include "binding/binding.h"
#include "core/bytes/base64.h"
#include "core/bytes/crc32.h"
#include "core/bytes/random.h"
#include "core/bytes/sha256.h"

static struct str check_bytes(lua_State *L, int idx) {
  struct str bytes;
  bytes.p = luaL_checklstring(L, idx, &bytes.n);
  return bytes;
}

/* core.before(a, b): whether `a` comes before `b` in the order of bytes, whatever the locale: for table.sort. */
static int f_before(lua_State *L) {
  struct str a = check_bytes(L, 1), b = check_bytes(L, 2);
  int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
  lua_pushboolean(L, order < 0 || (order == 0 && a.n < b.n));
  return 1;
}

/* core.crc32(bytes): the CRC-32 as an integer. */
static int f_crc32(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)crc32_add(0, check_bytes(L, 1)));
  return 1;
}

static int push_digest(lua_State *L, const unsigned char digest[SHA256_SIZE]) {
  lua_pushlstring(L, (const char *)digest, SHA256_SIZE);
  return 1;
}

/* core.sha256(bytes): the digest, 32 bytes. */
static int f_sha256(lua_State *L) {
  unsigned char digest[SHA256_SIZE];
  sha256(check_bytes(L, 1), digest);
  return push_digest(L, digest);
}

/* core.hmac_sha256(key, bytes): the authentication code, 32 bytes. */
static int f_hmac_sha256(lua_State *L) {
  unsigned char digest[SHA256_SIZE];
  struct str key = check_bytes(L, 1);
  hmac_sha256(key, check_bytes(L, 2), digest);
  return push_digest(L, digest);
}

static int raise_memory(lua_State *L) {
  struct err e;
  err_clear(&e);
  err_memory(&e);
  return raise_error(L, &e);
}

/* core.base64_encode(bytes): the base64 text, with padding, in one line. */
static int f_base64_encode(lua_State *L) {
  struct str bytes = check_bytes(L, 1);
  struct buf *text = &state_scratch(L)->text;
  if (base64_encode(text, bytes) != 0) return raise_memory(L);
  push_str(L, buf_str(text));
  return 1;
}

/* core.base64_decode(text): the bytes, or nil where the text is no base64. */
static int f_base64_decode(lua_State *L) {
  struct str text = check_bytes(L, 1), bytes = STR_NONE;
  int bad = base64_decode(&state_scratch(L)->arena, text, &bytes);
  if (bad == -2) return raise_memory(L);
  if (bad != 0) lua_pushnil(L);
  else lua_pushlstring(L, bytes.p, bytes.n);
  return 1;
}

/* core.random(n): so many bytes, 1 to RANDOM_MAX, that nobody can guess. Raises where the system has none. */
static int f_random(lua_State *L) {
  char bytes[RANDOM_MAX];
  lua_Integer n = luaL_checkinteger(L, 1);
  luaL_argcheck(L, n >= 1 && n <= RANDOM_MAX, 1, "1 to 256 expected");
  if (random_fill(bytes, (size_t)n) != 0) return luaL_error(L, "the system has no random bytes");
  lua_pushlstring(L, bytes, (size_t)n);
  return 1;
}

/* core.random_hex(n, …): for ids: for each n as many bytes, 1 to 128 in all, as two hex digits each, in lower case. */
static int f_random_hex(lua_State *L) {
  static const char DIGITS[] = "0123456789abcdef";
  unsigned char bytes[RANDOM_MAX / 2];
  char text[RANDOM_MAX];
  const char *next = text;
  int texts = lua_gettop(L);
  lua_Integer all = luaL_checkinteger(L, 1);
  for (int i = 2; i <= texts; i++) {
    lua_Integer n = luaL_checkinteger(L, i);
    luaL_argcheck(L, n >= 1 && n <= RANDOM_MAX / 2, i, "1 to 128 expected");
    if (all <= RANDOM_MAX / 2) all += n;
  }
  luaL_argcheck(L, lua_tointeger(L, 1) >= 1 && all <= RANDOM_MAX / 2, 1, "1 to 128 expected, in all");
  if (random_id(bytes, (size_t)all) != 0) return luaL_error(L, "the system has no random bytes");
  for (lua_Integer i = 0; i < all; i++) {
    text[2 * i] = DIGITS[bytes[i] >> 4];
    text[2 * i + 1] = DIGITS[bytes[i] & 15];
  }
  luaL_checkstack(L, texts, "too many texts");
  for (int i = 1; i <= texts; i++) {
    size_t n = (size_t)lua_tointeger(L, i) * 2;
    lua_pushlstring(L, next, n);
    next += n;
  }
  return texts;
}

static const luaL_Reg FUNCTIONS[] = {
  { "before", f_before },
  { "crc32", f_crc32 },
  { "sha256", f_sha256 },
  { "hmac_sha256", f_hmac_sha256 },
  { "base64_encode", f_base64_encode },
  { "base64_decode", f_base64_decode },
  { "random", f_random },
  { "random_hex", f_random_hex },
  { NULL, NULL }
};

void open_bytes(lua_State *L) { luaL_setfuncs(L, FUNCTIONS, 0); }
