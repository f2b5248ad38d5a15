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
#define RESPONSE_COST_FIELDS 2 /* cost and cost_source, which are added to usage */

/* Adds its cost to the usage on top of the stack, where the values at `made` know prices for the Response at self. */
void response_add_cost(lua_State *L, int self, int made);

#pragma GCC visibility pop

#endif
