/*
** open.c: luaopen_koine_core, the one exported symbol, how types of userdata are made, and the words of the core. Pins
** the module on first load: a resolver thread of libcurl may still run its code when a state that closed would have
** unloaded it.
*/
#include "binding.h"
#include "core/base/clock.h"
#include "core/message/event.h"

#include <dlfcn.h>

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

EXPORT int luaopen_koine_core(lua_State *L);

/* core.monotonic(): seconds for durations. */
static int f_monotonic(lua_State *L) {
  lua_pushnumber(L, clock_monotonic());
  return 1;
}

/* core.wall(): Unix seconds. */
static int f_wall(lua_State *L) {
  lua_pushnumber(L, clock_wall());
  return 1;
}

int call_busy(lua_State *L, lua_CFunction f, int *busy) {
  int status;
  lua_settop(L, 1);
  lua_pushcfunction(L, f);
  lua_pushvalue(L, 1); /* the userdata lives as long as this call, though f may drop its own */
  *busy = 1;
  status = lua_pcall(L, 1, LUA_MULTRET, 0);
  *busy = 0;
  return status == LUA_OK ? lua_gettop(L) - 1 : -1;
}

static const luaL_Reg FUNCTIONS[] = {
  { "monotonic", f_monotonic },
  { "wall", f_wall },
  { NULL, NULL }
};

/* {{{ core.vocabulary: the words that answers, histories and errors are made of, in the order of the enums */

static void set_word(lua_State *L, const char *key, const char *word) {
  lua_pushstring(L, word);
  lua_setfield(L, -2, key);
}

static void set_flag(lua_State *L, const char *key, int flag) {
  lua_pushboolean(L, flag);
  lua_setfield(L, -2, key);
}

/* Sets an array of words, which have one space between two. */
static void set_words(lua_State *L, const char *key, const char *words) {
  lua_newtable(L);
  for (lua_Integer i = 1; *words != '\0'; i++) {
    size_t n = strcspn(words, " ");
    lua_pushlstring(L, words, n);
    lua_rawseti(L, -2, i);
    words += words[n] == ' ' ? n + 1 : n;
  }
  lua_setfield(L, -2, key);
}

/* blocks: array of {name, required, optional = arrays of fields, in_user, in_assistant, in_result = boolean}. */
static void set_blocks(lua_State *L) {
  lua_newtable(L);
  for (int t = 0; t < BLOCK_COUNT; t++) {
    const struct block_form *form = block_form((enum block_type)t);
    lua_newtable(L);
    set_word(L, "name", form->name);
    set_words(L, "required", form->required);
    set_words(L, "optional", form->optional);
    set_flag(L, "in_user", (form->places & IN_USER) != 0);
    set_flag(L, "in_assistant", (form->places & IN_ASSISTANT) != 0);
    set_flag(L, "in_result", (form->places & IN_RESULT) != 0);
    lua_rawseti(L, -2, t + 1);
  }
  lua_setfield(L, -2, "blocks");
}

/* deltas: array of {name, block = its type, step = "start", "delta" or "end", fields}. */
static void set_deltas(lua_State *L) {
  lua_newtable(L);
  for (int t = EV_TEXT_START; t <= EV_TOOL_END; t++) {
    const struct delta_form *form = event_form((enum event_type)t);
    const char *block = block_form(form->block)->name;
    lua_newtable(L);
    set_word(L, "name", form->name);
    set_word(L, "block", block);
    set_word(L, "step", form->name + strlen(block) + 1);
    set_words(L, "fields", form->fields);
    lua_rawseti(L, -2, t - EV_TEXT_START + 1);
  }
  lua_setfield(L, -2, "deltas");
}

/* stops: array of the stop reasons of whole answers. */
static void set_stops(lua_State *L) {
  lua_newtable(L);
  for (int s = STOP_END_TURN; s < STOP_ERROR; s++) {
    lua_pushstring(L, stop_name((enum stop)s));
    lua_rawseti(L, -2, s - STOP_END_TURN + 1);
  }
  lua_setfield(L, -2, "stops");
}

/* kinds: array of {name, class = without a status, retryable} of the kinds of errors that users see. */
static void set_kinds(lua_State *L) {
  lua_Integer n = 0;
  lua_newtable(L);
  for (int k = KIND_NONE + 1; k < KIND_COUNT; k++) {
    struct err e;
    if (k == KIND_MEMORY) continue; /* Lua's own error */
    err_clear(&e);
    e.kind = (enum kind)k;
    lua_newtable(L);
    set_word(L, "name", kind_name(e.kind));
    set_word(L, "class", err_class(e.kind, 0));
    set_flag(L, "retryable", err_retryable(&e));
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "kinds");
}

/* }}} */

static void pin(void) {
  Dl_info self;
  union { void (*f)(void); void *p; } here = { pin }; /* not luaopen_koine_core: a host may have one of its own */
  if (dladdr(here.p, &self) != 0 && self.dli_fname != NULL)
    (void)dlopen(self.dli_fname, RTLD_NOW | RTLD_NODELETE); /* no handle is kept: nothing to close */
}

void open_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods) {
  luaL_newmetatable(L, type);
  luaL_setfuncs(L, meta, 0);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__index");
  lua_remove(L, -2);
}

int luaopen_koine_core(lua_State *L) {
  luaL_checkversion(L);
  pin();
  luaL_newlib(L, FUNCTIONS);
  lua_newtable(L);
  set_blocks(L);
  set_deltas(L);
  set_stops(L);
  set_kinds(L);
  lua_setfield(L, -2, "vocabulary");
  open_error(L);
  open_value(L);
  open_engine(L);
  open_adapter(L);
  open_stream(L);
  open_response(L);
  open_request(L);
  open_file(L);
  open_workdir(L);
  open_text(L);
  open_process(L);
  return 1;
}
