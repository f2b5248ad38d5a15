/*
** engine.h: what the files of the userdata koine.engine share.
*/
#ifndef KOINE_BINDING_ENGINE_H
#define KOINE_BINDING_ENGINE_H

#include "binding/binding.h"

#pragma GCC visibility push(hidden)

/* The user values of the userdata. */
enum {
  ENGINE_OWNERS = 1,  /* table: the address that news have -> the token, weak */
  ENGINE_STEPPED,     /* the array that engine:step returns, used again */
  ENGINE_GIVEN,       /* the token that core.ready gave and that is not done; nil: none */
  ENGINE_INHERITED,   /* in a forked child: array of the parent's tokens that are still to be told; nil: none were */
  ENGINE_VALUES = ENGINE_INHERITED
};

/* state.c */
/* The state whose engine is at index 1. Raises what luaL_checkudata raises. */
struct state *engine_state(lua_State *L);
/* Frees the engine of the parent, where this is a child made by fork. */
void state_check_process(struct state *st);
/* Frees all but st itself; nothing can be begun any more. */
void state_close(struct state *st);

/* news.c */
/* True where a token is kept for core.ready: the next step must not wait. The engine is alone on the stack. */
int engine_keeps(lua_State *L);
/* engine:step([seconds [, {budget_ms = n}]]): waits at most so long (nil: until something happens; 0: not at all), does
** what there is to do, and returns the array of tokens that became ready (reused by the next step) and true when a
** signal cut the wait short. With a budget it works for so many milliseconds after the wait, and ends with the piece of
** work it is at then; with 0 it does one piece, a descriptor's or a source's. Raises ArgumentError, and when the system
** fails. */
int engine_m_step(lua_State *L);
void engine_open_news(lua_State *L);

#pragma GCC visibility pop

#endif
