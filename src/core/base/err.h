/*
** err.h: how the core says what went wrong. No allocation: an err is filled in place and copied by value.
** Leaf. Every core function that can fail returns 0/-1 (or NULL) and fills a `struct err`; only the binding makes it Lua.
*/
#ifndef KOINE_BASE_ERR_H
#define KOINE_BASE_ERR_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

enum kind {
  KIND_NONE = 0,
  KIND_AUTH, KIND_PERMISSION,                       /* AuthenticationError */
  KIND_RATE_LIMIT, KIND_BILLING,                    /* RateLimitError */
  KIND_OVERLOADED, KIND_SERVER, KIND_PROTOCOL,      /* ServerError */
  KIND_INVALID_REQUEST, KIND_NOT_FOUND, KIND_TOO_LARGE, KIND_CONTEXT_OVERFLOW, /* RequestError */
  KIND_CONNECT, KIND_TIMEOUT, KIND_STREAM_TRUNCATED,/* ConnectionError (a timeout with a status: ServerError) */
  KIND_CANCELLED,                                   /* CancelledError */
  KIND_LIMIT, KIND_EXECUTOR, KIND_OUTPUT, KIND_OTHER, /* Error */
  KIND_ARGUMENT,                                    /* ArgumentError, raised by the binding */
  KIND_NOT_IMPLEMENTED,                             /* NotImplementedError, raised by the binding */
  KIND_MEMORY,                                      /* becomes Lua's own "not enough memory" */
  KIND_COUNT
};

#define ERR_MESSAGE_MAX 512

struct err {
  enum kind kind;
  int status;                /* HTTP status that the failure had or maps to; 0 = none */
  int retryable;             /* 1, 0, or -1 = what the kind says */
  double retry_after;        /* seconds the server asked for; negative = not said */
  double server_time;        /* Unix seconds by the clock of a server that refused the credentials; 0 = not said */
  size_t offset;             /* byte position of a syntax error */
  char code[64];             /* the provider's own code, "" = none */
  char request_id[96];       /* the request's id, where the error's body says it; "" = none */
  char field[96];            /* ArgumentError: path of the bad field, e.g. messages[2].content[1].text */
  char expected[128];        /* ArgumentError: what was expected there; of a long list the first items and "…" */
  char message[ERR_MESSAGE_MAX]; /* one line of legal UTF-8, NUL-terminated */
};

/* Everything unset. */
void err_clear(struct err *e);
/* Fills kind and message (printf): one line of legal UTF-8, see utf8_line; returns -1. */
int err_set(struct err *e, enum kind kind, const char *fmt, ...)
#if defined(__GNUC__)
  __attribute__((format(printf, 3, 4)))
#endif
  ;
/* KIND_ARGUMENT: "FIELD: EXPECTED expected, got GOT"; returns -1. */
int err_argument(struct err *e, const char *field, const char *expected, const char *got);
/* KIND_MEMORY; returns -1. */
int err_memory(struct err *e);
/* KIND_TIMEOUT: code `which`, message "WHAT so many s (WHICH)"; returns -1. */
int err_timeout(struct err *e, const char *which, const char *what, double seconds);
/* Fills e from errno: KIND_MEMORY for ENOMEM, else KIND_OTHER, "WHAT: the system's reason"; returns -1. */
int err_system(struct err *e, const char *what);

const char *kind_name(enum kind k);               /* "rate_limit", … */
enum kind kind_by_name(const char *name);         /* KIND_NONE when unknown */
const char *err_class(enum kind k, int status);   /* "RateLimitError", … by design: kind first, then status */
int err_retryable(const struct err *e);           /* e->retryable, or the kind's default */

#pragma GCC visibility pop

#endif
