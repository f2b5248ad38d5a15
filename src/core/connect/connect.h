/*
** connect.h: a connection to a server: its bytes, in a pipe on the engine's pollset. TCP or a UNIX socket, with TLS or without,
** made by the HTTP room, whose rules hold here too (names, certificates, offline), but for proxies. A cut connection with TLS may
** look like an end: libcurl leaves it to protocols to know theirs.
** A connection belongs to its caller, who closes it. Engine, http and connections may go in any order.
** Not shared with a child: a fork that goes on without exec has the same socket, and must leave it alone.
*/
#ifndef KOINE_CONNECT_H
#define KOINE_CONNECT_H

#include "core/base/err.h"
#include "core/engine/engine.h"
#include "core/engine/pipe.h"
#include "core/http/http.h"

#pragma GCC visibility push(hidden)

struct connection;

struct connect_spec {
  struct link_address to;
  size_t high_water;   /* bytes that may wait to be written before connection_full */
  size_t line_max;     /* bytes of a line */
};

/* Begins; returns at once. `owner` is its news' owner. NULL and *e: KIND_ARGUMENT (host), KIND_MEMORY, KIND_CONNECT (offline),
** KIND_CANCELLED (the engine is gone). */
struct connection *connection_open(struct engine *g, struct http *http, const struct connect_spec *s, void *owner,
                                   struct err *e);
/* 1 once the connection is there; 0 before; -1 and *e: there is none, or it failed since: KIND_CONNECT, KIND_TIMEOUT,
** KIND_CANCELLED, KIND_LIMIT, KIND_MEMORY. */
int connection_ready(struct connection *c, struct err *e);
/* As those of pipe.h. Before the connection is there nothing is read, and what is written is queued. */
enum pipe_got connection_read(struct connection *c, size_t n, struct str *bytes, struct err *e);
enum pipe_got connection_line(struct connection *c, struct str *line, struct err *e);
void connection_took(struct connection *c);
int connection_write(struct connection *c, struct str bytes, struct err *e);
size_t connection_waiting(const struct connection *c);
int connection_full(const struct connection *c);
/* Ends it at once: what waits to be written is dropped. NULL is fine. */
void connection_close(struct connection *c);

#pragma GCC visibility pop

#endif
