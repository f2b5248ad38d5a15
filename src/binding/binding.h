/*
** binding.h: what the files of the binding share. They alone include lua.h; no provider's name is in here.
** Everything that the binding allocates through the core belongs to a userdata, so that a raise at any line leaks nothing.
*/
#ifndef KOINE_BINDING_H
#define KOINE_BINDING_H

#include <limits.h>
#include <stdint.h>

#include <lua.h>
#include <lauxlib.h>

#include "core/json/json.h"
#include "core/bytes/vector.h"
#include "core/http/http.h"
#include "core/attempt/attempt.h"

#pragma GCC visibility push(hidden)

#if LUA_VERSION_NUM < 504
#error "Koine needs Lua 5.4 or later"
#endif
_Static_assert(sizeof(lua_Integer) == 8 && sizeof(lua_Number) == 8, "Koine needs 64-bit numbers: Lua without LUA_32BITS");

#define TYPE_ENGINE "koine.engine"
#define TYPE_ADAPTER "koine.adapter"
#define TYPE_STREAM "koine.stream"
#define TYPE_ATTEMPT "koine.attempt"
#define TYPE_RESPONSE "koine.response"
#define TYPE_REQUEST "koine.request"
#define TYPE_TARGET "koine.target"
#define TYPE_BODY "koine.body"
#define TYPE_STREAMED "koine.streamed"
#define TYPE_RECORDING "koine.recording"
#define TYPE_CONNECTION "koine.connection"
#define TYPE_PROCESS "koine.process"
#define TYPE_PROGRAM "koine.program"
#define TYPE_STANDARD "koine.standard"
#define TYPE_GROWING "koine.growing"
#define TYPE_ERROR "koine.error"
#define TYPE_ARRAY "koine.array"

/* Memory of the binding function that runs: nothing in it outlives one call from Lua. */
struct scratch {
  struct arena arena;
  struct buf text, path;
  struct vector numbers;
};

/*
** The one engine of a lua_State, anchored in its registry, and its HTTP. Each is made on first use.
** User value 1: weak table from the address of a stream, request or process to its userdata (tokens of step); 2: the
** array that step returns.
*/
struct state {
  struct mem mem;           /* the state's own allocator */
  struct engine *engine;    /* NULL until something is to be waited for */
  struct http *http;        /* NULL until something is sent */
  struct scratch scratch[2];/* [1]: within finalizers, which run in the middle of a function that uses [0] */
  int offline, closed;
  int forked;               /* the engine was a parent's, and nobody who waits for it knows */
};

/* Returns the core's data of this Lua state; pushes it when `push` is set. Raises on memory. */
struct state *state_get(lua_State *L, int push);
/* Its engine, and its HTTP, made if need be; raise the error when that fails. */
struct engine *state_engine(lua_State *L, struct state *st);
struct http *state_http(lua_State *L, struct state *st);
/* The scratch memory, emptied: the start of every binding function that uses it. From then on that function may make Lua
** values (which may run finalizers), but call nothing that may run other Lua code. Raises once the state closes. */
struct scratch *state_scratch(lua_State *L);
/* True within a finalizer: whatever binding function allocates a Lua value may be in the middle of its work further down
** the stack. Also true while the host has stopped the collector: no finalizer runs by itself then. */
static inline int in_finalizer(lua_State *L) { return lua_gc(L, LUA_GCISRUNNING) != 1; }
/* Lets the collector work as if so many KiB had been allocated in Lua, unless it is at work, or stopped. */
void tell_collector(lua_State *L, int kib);
/* Ties the address that the engine's news report to the userdata at idx (weakly). */
void state_register(lua_State *L, const void *owner, int idx);

/* {{{ errors */

/* Pushes e as an error table; provider and request_id may be STR_NONE: the id is then the one that e has. */
void push_error(lua_State *L, const struct err *e, struct str provider, struct str request_id);
/* Raises e (argument, not implemented, memory; anything else as it is) with the position of the first frame that is not
** Koine's own. Never returns. */
int raise_error(lua_State *L, const struct err *e);
/* Raises an ArgumentError. Never returns. */
int raise_argument(lua_State *L, const char *field, const char *expected, const char *got);
/* Raises "FIELD: EXPECTED expected, got TYPE" for the value at idx. Never returns. */
int raise_type(lua_State *L, const char *field, const char *expected, int idx);
/* Raises an ArgumentError: `what` is in use by the code that the running finalizer interrupts. Never returns. */
int raise_busy(lua_State *L, const char *what);
/* Pushes nil, e for a function that failed without its caller's fault; returns their number. Raises on memory. */
int return_error(lua_State *L, const struct err *e);
/* Pushes true for a function that has no other result, or nil, e when r is negative; returns their number. */
int return_done(lua_State *L, int r, const struct err *e);
void open_vocabulary(lua_State *L); /* adds core.vocabulary to the table on top */
void open_error(lua_State *L); /* adds core.error_*, core.raise*, … to the table on top */

/* }}} */

/* {{{ finalizers */

/* Calls f with the first `args` values of the stack, of which the userdata is the first, while its *busy is set: the number
** of f's results, the only values above them; or -1 and what f raised. A finalizer may run wherever f makes a Lua value,
** and use the same userdata: it finds *busy set, and has to leave alone what f reads. */
int call_busy(lua_State *L, int args, lua_CFunction f, int *busy);
/* Raises an ArgumentError when busy: `what` is in use, further down the stack. */
static inline void check_idle(lua_State *L, const char *what, int busy) {
  if (busy) raise_busy(L, what);
}

/* }}} */

/* {{{ arguments */

/* The string at idx, borrowed. Raises an ArgumentError when it holds a NUL, which C would take for its end. */
const char *c_string(lua_State *L, int idx, const char *field);
/* An integer of Lua's where C has less room for it, as on 32-bit systems: the nearest one that fits. As a size: 0 when it is
** negative, and no more than an object can have. */
static inline size_t to_size(lua_Integer n) {
  return n <= 0 ? 0 : (lua_Unsigned)n < PTRDIFF_MAX ? (size_t)n : (size_t)PTRDIFF_MAX;
}
static inline int to_int(lua_Integer n) {
  return n < INT_MIN ? INT_MIN : n > INT_MAX ? INT_MAX : (int)n;
}
/* The cap at idx, an integer: bytes or entries; 0 when it is negative. */
static inline size_t check_max(lua_State *L, int idx) { return to_size(luaL_checkinteger(L, idx)); }
/* Fields of a table, at idx or on top. Raise ArgumentError for another type. A string without NUL, borrowed, NULL when there
** is none; a number; a cap, 1 or more. */
const char *field_string(lua_State *L, int idx, const char *key);
double field_number(lua_State *L, int idx, const char *key, double otherwise);
size_t field_size(lua_State *L, const char *key, size_t otherwise);

/* }}} */

/* {{{ values */

/*
** Levels of tables and JSON. What goes in, in a request and in core.encode, may have VALUE_DEPTH of them. What an
** answer may have, limits.depth, is at most ANSWER_DEPTH, so that every answer can go back: the rest is for what is put
** around it, which is a Response, a message and a request, or what a caller keeps histories in. JSON_DEPTH_MAX, which
** bounds trees and text, is far off.
*/
#define VALUE_DEPTH 192
#define ANSWER_DEPTH (VALUE_DEPTH - 32)

/* The length of the array at idx: how many of its keys are numbers. Where it has a hole, one of 1..n is nil; lua_rawlen may
** stop at a hole, and leave out what is behind it. */
lua_Integer array_count(lua_State *L, int idx);
/* The value at idx as a tree in the arena: strings are borrowed from Lua, so the value must stay reachable. Objects
** have their members sorted. `name` begins the path in error messages. Raises ArgumentError (functions, cycles, depth >
** VALUE_DEPTH, both kinds of keys, NaN). */
struct node *value_node(lua_State *L, int idx, struct arena *a, const char *name);
/* A request, message list and tools included, with only the fields that design knows at record level. `messages` is the index
** of its messages, an array or the text of a user's one message; 0: they are in the request. */
struct node *value_request(lua_State *L, int idx, int messages, struct arena *a);
/* The same for core.check, without the first `known` messages, which value_known gave. */
struct node *value_request_after(lua_State *L, int idx, lua_Integer known, struct arena *a);
/* How many of the first `known` messages of a request, which were checked before, those behind them can be checked
** without: all up to a message of the user, for what an answer holds depends on what comes behind it. */
lua_Integer value_known(lua_State *L, int idx, lua_Integer known);
/* An array of {type = …} blocks or a string, at record level, as in a message's content. */
struct node *value_content(lua_State *L, int idx, struct arena *a, const char *name);
/* Pushes the tree as fresh Lua values; arrays get the array mark when `mark` is set. Raises on memory. */
void push_node(lua_State *L, const struct node *v, int mark);
/* The same of an object, with room for more members in its table. */
void push_members(lua_State *L, const struct node *v, int mark, int room);
static inline void push_str(lua_State *L, struct str s) { lua_pushlstring(L, s.n ? s.p : "", s.n); }
void open_value(lua_State *L); /* adds core.null, core.depth_max, core.array, core.encode, … */

/* }}} */

/* {{{ objects */

/* Makes the metatable of a type of userdata, and pushes the table of its methods, which is the metatable's __index. */
void open_type(lua_State *L, const char *type, const luaL_Reg *meta, const luaL_Reg *methods);
/* The types that each chat checks many times. Their metatables hold an address of ours at index 1: to compare it takes a
** third of the time that Lua takes to find a metatable by its name. */
enum mark { MARK_ADAPTER, MARK_ENGINE, MARK_PRICES, MARK_RESPONSE, MARK_STREAM, MARK_TARGET, MARK_COUNT };
/* Puts the mark into the metatable of that name. */
void mark_type(lua_State *L, const char *type, enum mark mark);
/* The userdata at idx where its metatable has the mark, else NULL. */
void *marked(lua_State *L, int idx, enum mark mark);
/* The same; raises what luaL_checkudata raises in place of NULL. */
void *check_marked(lua_State *L, int idx, enum mark mark, const char *type);
/*
** A userdata that owns one thing of the core, which is first in its struct. It is made closed, and closed by close, __close
** and __gc alike, any number of times. A finalizer that closes it while it is read leaves the thing to whoever reads.
*/
struct owner {
  void *owned;               /* NULL: closed, or never begun */
  void (*end)(void *owned);  /* closes the thing and frees it */
  int busy, closed;          /* it is being read; it was closed */
};
/* As open_type, with close, __close, __gc and __tostring. */
void open_owner(lua_State *L, const char *type, const luaL_Reg *methods);
/* Pushes one of `size` bytes, zeroed, with so many user values. */
void *owner_new(lua_State *L, size_t size, int values, const char *type, void (*end)(void *owned));
static inline int owner_is_closed(const struct owner *o) { return o->closed || o->owned == NULL; }
/* Pushes nil, err: `what` was closed. Returns their number. */
int return_closed(lua_State *L, const char *what);
/* The results of f for the owner at 1, which is open, called as call_busy does. Returns their number. Raises what f raises, and
** ArgumentError when a finalizer calls it in the middle of itself. */
int owner_lend(lua_State *L, struct owner *o, const char *what, int args, lua_CFunction f);
/* The same with no other argument; nil, err when it is closed. */
int owner_poll(lua_State *L, const char *type, const char *what, lua_CFunction f);
/* core.request's results where the answer is to be read while it comes (net/streamed.c). */
int streamed_new(lua_State *L);
/* Pushes a body: userdata that holds the bytes of an answer (net/body.c). It has none yet, and is closed. */
void body_new(lua_State *L);
/* Moves the bytes into the body at idx, unless it had some before or was closed. Allocates nothing. */
void body_fill(lua_State *L, int idx, struct buf *from);
/* True where the value at idx is a body. */
int is_body(lua_State *L, int idx);
/* The bytes of the body at idx, lent. Raises ArgumentError when it is closed. */
struct str body_bytes(lua_State *L, int idx);
/* The results of f for the body at 1, as owner_lend: its bytes stay while f runs. Raises ArgumentError when it is closed. */
int body_lend(lua_State *L, int args, lua_CFunction f);
/* Each adds its metatable, its methods and its functions to the table core on top of the stack. */
void open_engine(lua_State *L);
void open_adapter(lua_State *L);
void open_stream(lua_State *L);
void open_target(lua_State *L);
void open_response(lua_State *L);
void open_told(lua_State *L);
void open_cost(lua_State *L);
void open_apart(lua_State *L);
void open_fields(lua_State *L);
void open_request(lua_State *L);
void open_body(lua_State *L);
void open_streamed(lua_State *L);
void open_recording(lua_State *L);
void open_connection(lua_State *L);
void open_file(lua_State *L);
void open_log(lua_State *L);
void open_workdir(lua_State *L);
void open_text(lua_State *L);
void open_bytes(lua_State *L);
void open_growing(lua_State *L);
void open_vector(lua_State *L);
void open_process(lua_State *L);
void open_program(lua_State *L);
void open_standard(lua_State *L);

/* An adapter as the stream sees it. */
struct adapter {
  const struct codec *codec;
  struct quirks quirks;
  struct str provider, title, model, id_header; /* borrowed from strings in its user value 3; the last may be empty */
  int open;
};
struct adapter *check_adapter(lua_State *L, int idx); /* raises when closed */
/* Reads the request at index 2 (messages: as in value_request) for a render, in the state's scratch memory, which it empties
** first. Raises ArgumentError. */
void begin_render(lua_State *L, const struct adapter *ad, const struct codec *codec, int messages, struct render *r);
/* Renders it by one of the codec's functions. Raises ArgumentError, NotImplementedError. */
void finish_render(lua_State *L, const struct codec *codec, int (*render)(struct render *, struct err *), struct render *r);
/* Pushes what adapter:render returns; the number of values. */
int push_rendered(lua_State *L, const struct codec *codec, const struct render *r);
/* The codec named at idx; the adapter's own when there is nothing. Raises ArgumentError. */
const struct codec *optional_codec(lua_State *L, int idx, const struct adapter *a);

/* Where the attempts of chats go and by which rules (net/target.c). Strings are borrowed from its user value. */
struct target {
  struct http_request request;   /* but for the body; it was checked */
  struct limits limits;
  struct secrets secrets;
  struct str path;               /* what a render says of it */
  struct header headers[];       /* the request's */
};
const struct target *check_target(lua_State *L, int idx);

/* Pushes a Response made of this tree (compacted into one userdata). Raises on memory, and the error (KIND_LIMIT) for a
** tree that is too deep to be copied, which no answer within ANSWER_DEPTH is. */
void push_response(lua_State *L, const struct node *message);

/* Reads an HTTP request from the table at idx into *r; strings are borrowed from the table, arrays from the arena.
** Raises ArgumentError. */
void read_request(lua_State *L, int idx, struct http_request *r, struct limits *limits, struct arena *a);
/* Reads `recording` of the table at idx into *r: an answer to keep or to play (net/recording.c). Raises ArgumentError. */
void read_recording(lua_State *L, int idx, struct http_request *r);
/* Reads headers = {name = value} of the table at idx into *r, in the order of their names, so that equal requests are equal
** bytes. Raises ArgumentError. */
void read_headers(lua_State *L, int idx, struct http_request *r, struct arena *a);
/* The framing that the string on top of the stack names. Raises ArgumentError. */
const struct framing *named_framing(lua_State *L);
/* Pushes {name = value}; what came several times joined. */
void push_headers(lua_State *L, const struct header *v, size_t n);
/* Sets the bytes sent, in a field of this name, connection ("new", "reused"), dns, connect, tls and first_byte of the table
** on top, each unless it is unknown. */
void set_route(lua_State *L, const struct route *r, const char *sent);
/* Pushes what records tell of a transfer, a table with room for more: bytes_received, and what set_route sets, the bytes
** sent as bytes_sent. */
void push_figures(lua_State *L, const struct transfer_stats *s);
/* Reads a chat's request and what its answer has to go by into *r and *spec, which holds zeros, from the table at idx: see
** lua/koine/call/adapter. Strings are borrowed from values that it leaves on the stack. Raises ArgumentError. */
void read_exchange(lua_State *L, int idx, const struct adapter *ad, struct http_request *r, struct exchange_spec *spec,
                   struct arena *a);
/* Reads `secrets`, an array of strings, borrowed. Raises ArgumentError when there are more than can be looked for. */
void read_secrets(lua_State *L, int idx, struct secrets *k);

/* }}} */

#pragma GCC visibility pop

#endif
