/*
** tables.c: HTTP requests and heads of answers as Lua tables. Owns nothing. Failure: ArgumentError.
*/
#include "binding/binding.h"

#include <stdlib.h>

double field_number(lua_State *L, int idx, const char *key, double otherwise) {
  double v = otherwise;
  if (lua_getfield(L, idx, key) == LUA_TNUMBER) v = lua_tonumber(L, -1);
  else if (!lua_isnil(L, -1)) raise_type(L, key, "a number", -1);
  lua_pop(L, 1);
  return v;
}

const char *field_string(lua_State *L, int idx, const char *key) {
  const char *z = NULL;
  if (lua_getfield(L, idx, key) == LUA_TSTRING) {
    z = c_string(L, -1, key);
  } else if (!lua_isnil(L, -1)) {
    raise_type(L, key, "a string", -1);
  }
  lua_pop(L, 1);
  return z;
}

static int by_name(const void *a, const void *b) {
  const struct header *x = a, *y = b;
  size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
  int c = memcmp(x->name.p, y->name.p, n);
  return c != 0 ? c : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

void read_headers(lua_State *L, int idx, struct http_request *r, struct arena *a) {
  struct header *v;
  size_t n = 0;
  if (lua_getfield(L, idx, "headers") == LUA_TTABLE) {
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) n++;
    v = arena_alloc(a, (n + 1) * sizeof *v);
    if (v == NULL) {
      luaL_error(L, "not enough memory");
      return;
    }
    n = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING) raise_type(L, "headers", "string keys", -2);
      if (lua_type(L, -1) != LUA_TSTRING) raise_type(L, lua_tostring(L, -2), "a string as header value", -1);
      v[n].name.p = lua_tolstring(L, -2, &v[n].name.n);
      v[n].value.p = lua_tolstring(L, -1, &v[n].value.n);
      n++;
    }
    qsort(v, n, sizeof *v, by_name);
    r->headers = v;
    r->header_count = n;
  }
  lua_pop(L, 1);
}

/* A cap of the table on top. What is more than C can count to is the most that it can. */
static lua_Integer field_cap(lua_State *L, const char *key, lua_Integer otherwise) {
  lua_Integer v = otherwise;
  if (lua_getfield(L, -1, key) != LUA_TNIL) {
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) <= 0) raise_type(L, key, "a positive integer", -1);
    v = lua_tointeger(L, -1);
  }
  lua_pop(L, 1);
  return v;
}

size_t field_size(lua_State *L, const char *key, size_t otherwise) {
  return to_size(field_cap(L, key, (lua_Integer)otherwise));
}

static int field_count(lua_State *L, const char *key, int otherwise) {
  return to_int(field_cap(L, key, otherwise));
}

static void read_limits(lua_State *L, int idx, struct limits *l) {
  limits_default(l);
  if (lua_getfield(L, idx, "limits") == LUA_TTABLE) {
    l->line = field_size(L, "line", l->line);
    l->event = field_size(L, "event", l->event);
    l->body = field_size(L, "body", l->body);
    l->decoded = field_size(L, "decoded", l->decoded);
    l->argument_bytes = field_size(L, "argument_bytes", l->argument_bytes);
    l->high_water = field_size(L, "high_water", l->high_water);
    l->depth = field_count(L, "depth", l->depth);
    l->blocks = field_count(L, "blocks", l->blocks);
    l->tool_calls = field_count(L, "tool_calls", l->tool_calls);
    if (l->depth > ANSWER_DEPTH)
      raise_argument(L, "limits.depth", lua_pushfstring(L, "at most %d", ANSWER_DEPTH), "more");
  }
  lua_pop(L, 1);
}

void read_request(lua_State *L, int idx, struct http_request *r, struct limits *limits, struct arena *a) {
  idx = lua_absindex(L, idx);
  luaL_checktype(L, idx, LUA_TTABLE);
  memset(r, 0, sizeof *r);
  r->url = field_string(L, idx, "url");
  if (r->url == NULL) raise_argument(L, "url", "a string", "nil");
  r->method = field_string(L, idx, "method");
  if (r->method == NULL) r->method = "GET";
  r->proxy = field_string(L, idx, "proxy");
  r->ca_file = field_string(L, idx, "ca_file");
  if (lua_getfield(L, idx, "body") == LUA_TSTRING) r->body = lua_tolstring(L, -1, &r->body_n);
  lua_pop(L, 1);
  lua_getfield(L, idx, "http2");
  r->http2 = lua_toboolean(L, -1);
  lua_pop(L, 1);
  read_recording(L, idx, r);
  read_headers(L, idx, r, a);
  read_limits(L, idx, limits);
  r->decoded_max = limits->decoded;
  if (lua_getfield(L, idx, "timeouts") == LUA_TTABLE) {
    int t = lua_gettop(L);
    r->timeouts.connect = field_number(L, t, "connect", 0);
    r->timeouts.first_byte = field_number(L, t, "first_byte", 0);
    r->timeouts.idle = field_number(L, t, "idle", 0);
    r->timeouts.total = field_number(L, t, "total", 0);
    r->timeouts.whole = field_number(L, t, "whole", 0);
  }
  lua_pop(L, 1);
}

const struct framing *named_framing(lua_State *L) {
  const struct framing *framing;
  struct str name;
  name.p = lua_tolstring(L, -1, &name.n);
  framing = framing_by_name(name);
  if (framing == NULL) raise_argument(L, "framing", "the name of a framing", name.p);
  return framing;
}

void read_exchange(lua_State *L, int idx, const struct adapter *ad, struct http_request *r, struct exchange_spec *spec,
                   struct arena *a) {
  idx = lua_absindex(L, idx);
  read_request(L, idx, r, &spec->limits, a);
  lua_getfield(L, idx, "codec");
  spec->codec = optional_codec(L, -1, ad);
  if (lua_getfield(L, idx, "framing") == LUA_TSTRING) spec->framing = named_framing(L);
  spec->quirks = &ad->quirks;
  spec->provider = ad->provider;
  spec->model = ad->model;
  spec->request = (struct str){ r->body, r->body_n };
  spec->id_header = ad->id_header;
  lua_getfield(L, idx, "stream");
  spec->stream = lua_toboolean(L, -1);
  lua_getfield(L, idx, "keep_raw");
  spec->keep_raw = lua_toboolean(L, -1) || !spec->stream;
  lua_getfield(L, idx, "request_messages");
  spec->request_messages = to_size(lua_tointeger(L, -1));
  lua_getfield(L, idx, "max_tokens");
  spec->max_tokens = lua_tointeger(L, -1);
  if (lua_getfield(L, idx, "warnings") == LUA_TTABLE) spec->warnings = value_node(L, -1, a, "warnings");
  if (lua_getfield(L, idx, "tool_names") == LUA_TTABLE)
    spec->tool_names = value_node(L, -1, a, "tool_names");
  if (lua_getfield(L, idx, "output_tool") == LUA_TSTRING)
    spec->output_tool.p = lua_tolstring(L, -1, &spec->output_tool.n);
  read_secrets(L, idx, &spec->secrets);
}

void read_secrets(lua_State *L, int idx, struct secrets *k) {
  int top = lua_gettop(L);
  k->n = 0;
  if (lua_getfield(L, idx, "secrets") == LUA_TTABLE)
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
      if (k->n == SECRETS_MAX) raise_argument(L, "headers", "at most 16 credentials, those in URLs included", "more");
      k->v[k->n].p = lua_tolstring(L, -1, &k->v[k->n].n);
      k->n++;
      lua_pop(L, 1);
    }
  lua_settop(L, top);
}

void push_figures(lua_State *L, const struct transfer_stats *s) {
  lua_createtable(L, 0, 16);
  lua_pushinteger(L, (lua_Integer)s->received);
  lua_setfield(L, -2, "bytes_received");
  set_route(L, &s->route, "bytes_sent");
}

/* Pushes the values of the first header and of those behind it with the same name, joined by ", " (RFC 9110, 5.3). */
static void push_joined(lua_State *L, const struct header *v, size_t n) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < n; i++) {
    if (!str_same(v[i].name, v->name)) continue;
    if (i > 0) luaL_addstring(&b, ", ");
    if (v[i].value.n > 0) luaL_addlstring(&b, v[i].value.p, v[i].value.n);
  }
  luaL_pushresult(&b);
}

void push_headers(lua_State *L, const struct header *v, size_t n) {
  lua_createtable(L, 0, (int)n);
  for (size_t i = 0; i < n; i++) {
    push_str(L, v[i].name);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) == LUA_TNIL) {
      lua_pop(L, 1);
      push_joined(L, v + i, n - i);
      lua_rawset(L, -3);
    } else {
      lua_pop(L, 2);
    }
  }
}

/* Sets a field of the table on top, unless the seconds are not known. */
static void set_seconds(lua_State *L, const char *name, double seconds) {
  if (seconds < 0) return;
  lua_pushnumber(L, seconds);
  lua_setfield(L, -2, name);
}

void set_route(lua_State *L, const struct route *r, const char *sent) {
  if (r->sent >= 0) {
    lua_pushinteger(L, (lua_Integer)r->sent);
    lua_setfield(L, -2, sent);
  }
  if (r->carrier != CARRIER_NONE) {
    lua_pushstring(L, r->carrier == CARRIER_NEW ? "new" : "reused");
    lua_setfield(L, -2, "connection");
  }
  set_seconds(L, "dns", r->dns);
  set_seconds(L, "connect", r->connect);
  set_seconds(L, "tls", r->tls);
  set_seconds(L, "first_byte", r->first_byte);
}
