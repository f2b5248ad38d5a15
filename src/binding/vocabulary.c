/*
** vocabulary.c: core.vocabulary(), the words that answers, histories and errors are made of, in the order of the core's enums;
** core.check_source, a check of blocks that constructors and calls share.
*/
#include "binding.h"
#include "core/history/normalise.h"
#include "core/message/event.h"

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

/* Sets the array of a delta's fields. */
static void set_fields(lua_State *L, const struct delta_form *form) {
  const char *const fields[] = { form->id, form->word, form->text };
  lua_Integer n = 0;
  lua_newtable(L);
  for (int i = 0; i < 3; i++) {
    if (fields[i] == NULL) continue;
    lua_pushstring(L, fields[i]);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "fields");
}

/* deltas: array of {name, block = its type, step = "start", "delta" or "end", fields}. */
static void set_deltas(lua_State *L) {
  lua_Integer n = 0;
  lua_newtable(L);
  for (int t = 0; t < EV_COUNT; t++) {
    const struct delta_form *form = event_form((enum event_type)t);
    const char *block = form == NULL ? NULL : block_form(form->block)->name;
    if (block == NULL) continue;
    lua_newtable(L);
    set_word(L, "name", form->name);
    set_word(L, "block", block);
    set_word(L, "step", form->name + strlen(block) + 1);
    set_fields(L, form);
    lua_rawseti(L, -2, ++n);
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

/* core.check_source(source, media_type, document): what is expected in the place of this source of an image or a document,
** nil where it is fine. media_type may be nil. */
static int f_check_source(lua_State *L) {
  struct str source, type = STR_NONE;
  const char *expected;
  source.p = luaL_checklstring(L, 1, &source.n);
  if (!lua_isnoneornil(L, 2)) type.p = luaL_checklstring(L, 2, &type.n);
  expected = normalise_source(source, type, lua_toboolean(L, 3));
  if (expected == NULL) lua_pushnil(L);
  else lua_pushstring(L, expected);
  return 1;
}

/* core.vocabulary(): a new table {blocks, deltas, stops, kinds}, see above. */
static int f_vocabulary(lua_State *L) {
  lua_newtable(L);
  set_blocks(L);
  set_deltas(L);
  set_stops(L);
  set_kinds(L);
  return 1;
}

void open_vocabulary(lua_State *L) {
  lua_pushcfunction(L, f_vocabulary);
  lua_setfield(L, -2, "vocabulary");
  lua_pushcfunction(L, f_check_source);
  lua_setfield(L, -2, "check_source");
}
