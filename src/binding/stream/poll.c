/*
** poll.c: the deltas of a stream, as tables with copies of their strings. See stream.h.
** Raises where memory is short; no delta is lost then.
*/
#include "stream.h"

/* Upvalues of the functions that make deltas: an iterator's stream, nil for others; a table of the words that deltas need.
** Finding them by name takes longer than parsing a delta. */
enum { UP_STREAM = 1, UP_WORDS, UP_PROCEED };

/* The places of the words in that table: "type", then of each type of delta its name and those of its fields. */
enum { WORD_TYPE = 1, WORD_FORMS, FORM_NAME = 0, FORM_ID, FORM_WORD, FORM_TEXT, FORM_WORDS };
static inline int form_at(enum event_type t) { return WORD_FORMS + FORM_WORDS * (int)(t - EV_TEXT_START); }

/* Adds a word to the table on top of the stack; none where it is NULL. */
static void add_word(lua_State *L, int at, const char *word) {
  if (word == NULL) return;
  lua_pushstring(L, word);
  lua_rawseti(L, -2, at);
}

static void push_words(lua_State *L) {
  lua_createtable(L, form_at(EV_COUNT) - 1, 0);
  add_word(L, WORD_TYPE, "type");
  for (int t = EV_TEXT_START; t < EV_COUNT; t++) {
    const struct delta_form *form = event_form((enum event_type)t);
    int at = form_at((enum event_type)t);
    add_word(L, at + FORM_NAME, form->name);
    add_word(L, at + FORM_ID, form->id);
    add_word(L, at + FORM_WORD, form->word);
    add_word(L, at + FORM_TEXT, form->text);
  }
}

static inline void push_word(lua_State *L, int at) { lua_rawgeti(L, lua_upvalueindex(UP_WORDS), at); }

/* Sets a field whose name is a word. */
static inline void set_field(lua_State *L, int at, struct str s) {
  push_word(L, at);
  push_str(L, s);
  lua_rawset(L, -3);
}

static void push_delta(lua_State *L, const struct event *d) {
  const struct delta_form *form = event_form(d->type);
  int at = form_at(d->type);
  lua_createtable(L, 0, 1 + (form->id != NULL) + (form->word != NULL) + (form->text != NULL));
  push_word(L, WORD_TYPE);
  push_word(L, at + FORM_NAME);
  lua_rawset(L, -3);
  if (form->id != NULL) set_field(L, at + FORM_ID, d->id);
  if (form->word != NULL) set_field(L, at + FORM_WORD, d->name);
  if (form->text != NULL) set_field(L, at + FORM_TEXT, d->text);
}

/* The next delta, kept until there is a table of it: where that raises for want of memory, the next poll makes it. */
static enum progress take(struct stream *s) {
  enum progress r = s->taken ? EXCHANGE_DELTA : attempt_next(s->attempt, &s->delta);
  s->taken = r == EXCHANGE_DELTA;
  return r;
}

/* Pushes the results of m_poll for the stream at `at`, which is busy; returns their number. Loses nothing where it raises
** for want of memory: it can be called again. */
static int poll_busy(lua_State *L, int at, struct stream *s, int discard) {
  int first = !s->delivered;
  while (s->phase == OPEN) {
    enum progress r = take(s);
    switch (r) {
      case EXCHANGE_DELTA:
        if (!discard) push_delta(L, &s->delta);
        s->taken = 0;
        if (discard) continue;
        s->delivered = 1;
        if (!first) return 1;
        lua_pushnil(L);
        lua_pushboolean(L, 1);
        return 3;
      case EXCHANGE_MORE: case EXCHANGE_BUSY:
        stream_note(s);
        stream_register(L, at, s);
        lua_pushboolean(L, r == EXCHANGE_BUSY);
        return 1;
      case EXCHANGE_DONE: stream_end(L, at, s); break;
      case EXCHANGE_FAILED: stream_break(L, at, s); break;
    }
  }
  if (s->phase == ENDED) {
    lua_pushnil(L);
    return 1;
  }
  return stream_push_failure(L, at, s);
}

/* The same of any stream. */
static int poll(lua_State *L, int at, struct stream *s, int discard) {
  int n;
  check_idle(L, "stream", stream_is_read(L, s));
  s->busy = 1;
  n = poll_busy(L, at, s, discard);
  s->busy = 0;
  if (s->phase == CLOSED) stream_release(s);
  return n;
}

/* stream:poll([discard]): the next delta (the first one: delta, nil, true); false when nothing has arrived (wait for the
** engine); true when there is more to read, but others should go on before; nil at the end; nil, err when the attempt
** failed. With discard true, deltas are consumed without making tables. */
static int m_poll(lua_State *L) { return poll(L, 1, stream_check(L), lua_toboolean(L, 2)); }

static int proceeded(lua_State *L, int status, lua_KContext ctx) {
  (void)L;
  (void)status;
  (void)ctx;
  return 1;
}

/* iterate(stream): what poll says where that is a delta but the first; else what proceed(stream, …) makes of what poll says.
** That may wait. A loop gives the iterator its own stream, which needs no further look. */
static int f_iterate(lua_State *L) {
  int at = lua_upvalueindex(UP_STREAM), n;
  struct stream *s = lua_touserdata(L, at);
  if (lua_touserdata(L, 1) == s) {
    s = stream_checked(s);
  } else {
    at = 1;
    s = stream_check(L);
  }
  n = poll(L, at, s, 0);
  if (n == 1 && lua_istable(L, -1)) return 1;
  lua_pushvalue(L, lua_upvalueindex(UP_PROCEED));
  lua_insert(L, -1 - n);
  lua_pushvalue(L, at);
  lua_insert(L, -1 - n);
  lua_callk(L, n + 1, 1, 0, proceeded);
  return 1;
}

/* iterator(stream): the function of a generic for over the deltas of the stream, see iterate. */
static int f_iterator(lua_State *L) {
  (void)stream_check(L);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(UP_WORDS));
  lua_pushvalue(L, lua_upvalueindex(UP_PROCEED));
  lua_pushcclosure(L, f_iterate, UP_PROCEED);
  return 1;
}

/* core.stream_iterator(proceed): what makes such functions. */
static int f_stream_iterator(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushnil(L);
  lua_pushvalue(L, lua_upvalueindex(UP_WORDS));
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, f_iterator, UP_PROCEED);
  return 1;
}

void stream_open_poll(lua_State *L) {
  lua_pushnil(L);
  push_words(L);
  lua_pushvalue(L, -2);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, f_stream_iterator, UP_WORDS);
  lua_setfield(L, -5, "stream_iterator");
  lua_pushcclosure(L, m_poll, UP_WORDS);
  lua_setfield(L, -2, "poll");
}
