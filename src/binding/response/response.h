/*
** response.h: the userdata koine.response, which response.c implements. What it lends lives as long as the userdata.
*/
#ifndef KOINE_BINDING_RESPONSE_H
#define KOINE_BINDING_RESPONSE_H

#include "binding/binding.h"

#pragma GCC visibility push(hidden)

/* The message of the Response at idx. Raises what luaL_checkudata raises. */
const struct node *response_root(lua_State *L, int idx);
/* Pushes a deep copy of the value at idx, which stands `depth` tables deep; without metatables but the mark of arrays. */
void response_copy(lua_State *L, int idx, int depth);
/* Pushes the usage of the Response at self, which has one, and its cost, where the values at `made` know prices. Raises what
** finding the prices raises. */
void response_push_usage(lua_State *L, int self, int made);

/* cost.c: adds its cost to the usage on top of the stack, which was made of the response and says none: that at the prices of
** the koine.prices at idx; nil there: nothing. Raises what finding the prices raises. */
void response_add_cost(lua_State *L, const struct node *response, int idx);
/* Raises unless the value at idx is a koine.prices. */
void check_prices(lua_State *L, int idx);

#pragma GCC visibility pop

#endif
