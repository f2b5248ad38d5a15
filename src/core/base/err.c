/*
** err.c: filling an err, and the one table that says what each kind is called, which class it is and whether it is
** worth another try. Leaf: libc only, no allocation, nothing can fail.
*/
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "utf8.h"

static const struct {
  const char *name, *cls;
  int retryable;
} kinds[KIND_COUNT] = {
  [KIND_NONE] = { "none", "Error", 0 },
  [KIND_AUTH] = { "auth", "AuthenticationError", 0 },
  [KIND_PERMISSION] = { "permission", "AuthenticationError", 0 },
  [KIND_RATE_LIMIT] = { "rate_limit", "RateLimitError", 1 },
  [KIND_BILLING] = { "billing", "RateLimitError", 0 },
  [KIND_OVERLOADED] = { "overloaded", "ServerError", 1 },
  [KIND_SERVER] = { "server", "ServerError", 1 },
  [KIND_PROTOCOL] = { "protocol", "ServerError", 0 },
  [KIND_INVALID_REQUEST] = { "invalid_request", "RequestError", 0 },
  [KIND_NOT_FOUND] = { "not_found", "RequestError", 0 },
  [KIND_TOO_LARGE] = { "too_large", "RequestError", 0 },
  [KIND_CONTEXT_OVERFLOW] = { "context_overflow", "RequestError", 0 },
  [KIND_CONNECT] = { "connect", "ConnectionError", 1 },
  [KIND_TIMEOUT] = { "timeout", "ConnectionError", 1 },
  [KIND_STREAM_TRUNCATED] = { "stream_truncated", "ConnectionError", 1 },
  [KIND_CANCELLED] = { "cancelled", "CancelledError", 0 },
  [KIND_LIMIT] = { "limit", "Error", 0 },
  [KIND_EXECUTOR] = { "executor", "Error", 0 },
  [KIND_OUTPUT] = { "output", "Error", 0 },
  [KIND_OTHER] = { "other", "Error", 0 },
  [KIND_ARGUMENT] = { "argument", "ArgumentError", 0 },
  [KIND_NOT_IMPLEMENTED] = { "not_implemented", "NotImplementedError", 0 },
  [KIND_MEMORY] = { "memory", "Error", 0 },
};

/* Everything unset: no status, retryable as the kind says, no retry_after. */
void err_clear(struct err *e) {
  e->kind = KIND_NONE;
  e->status = 0;
  e->retryable = -1;
  e->retry_after = -1;
  e->server_time = 0;
  e->offset = 0;
  e->code[0] = e->request_id[0] = e->field[0] = e->expected[0] = e->message[0] = '\0';
}

/* Puts text of `n` bytes, as snprintf counts them, that was printed into `printed`, into `to`. */
static void put_line(char *to, size_t room, const char *printed, size_t cap, int n) {
  size_t have = n < 0 ? 0 : (size_t)n < cap ? (size_t)n : utf8_cut(printed, cap - 1);
  utf8_line(to, room, printed, have);
}

/* Sets kind and message, leaves the other fields; returns -1. */
int err_set(struct err *e, enum kind kind, const char *fmt, ...) {
  char printed[ERR_MESSAGE_MAX];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(printed, sizeof printed, fmt, args);
  va_end(args);
  put_line(e->message, sizeof e->message, printed, sizeof printed, n);
  e->kind = kind;
  return -1;
}

/* Puts what was expected into `to`; a list that has no room ends behind a comma with "…". */
static void put_expected(char *to, size_t room, const char *expected) {
  static const char MORE[] = " \xE2\x80\xA6";
  size_t n = strlen(expected), last = n, written;
  if (n >= room) {
    last = room - sizeof MORE;
    while (last > 0 && expected[last - 1] != ',') last--;
    if (last == 0) last = n;
  }
  written = utf8_line(to, room, expected, last);
  if (last < n && written + sizeof MORE <= room) memcpy(to + written, MORE, sizeof MORE);
}

/* KIND_ARGUMENT with field, expected and the message made of them; returns -1. */
int err_argument(struct err *e, const char *field, const char *expected, const char *got) {
  utf8_line(e->field, sizeof e->field, field, strlen(field));
  put_expected(e->expected, sizeof e->expected, expected);
  return err_set(e, KIND_ARGUMENT, "%s: %s expected, got %s", field, expected, got);
}

/* Whole numbers only: printf's decimal point belongs to the locale. */
int err_timeout(struct err *e, const char *which, const char *what, double seconds) {
  long ms = seconds < 1e6 ? (long)(seconds * 1000 + 0.5) : 1000000000;
  char fraction[8] = "";
  if (ms == 0 && seconds > 0)
    snprintf(fraction, sizeof fraction, ".%06d", seconds < 1e-6 ? 1 : (int)(seconds * 1e6 + 0.5) % 1000);
  else if (ms % 1000 != 0) snprintf(fraction, sizeof fraction, ".%03d", (int)(ms % 1000));
  err_clear(e);
  snprintf(e->code, sizeof e->code, "%s", which);
  return err_set(e, KIND_TIMEOUT, "%s %ld%s s (%s)", what, ms / 1000, fraction, which);
}

/* KIND_MEMORY; returns -1. */
int err_memory(struct err *e) {
  return err_set(e, KIND_MEMORY, "not enough memory");
}

/* Fills e from errno; returns -1. */
int err_system(struct err *e, const char *what) {
  if (errno == ENOMEM) return err_memory(e);
  return err_set(e, KIND_OTHER, "%s: %s", what, strerror(errno));
}

/* The kind as users spell it; "none" for KIND_NONE and for numbers that are no kind. */
const char *kind_name(enum kind k) {
  return kinds[k > KIND_NONE && k < KIND_COUNT ? k : KIND_NONE].name;
}

/* The kind of that name; KIND_NONE when there is none. */
enum kind kind_by_name(const char *name) {
  for (int k = KIND_NONE + 1; k < KIND_COUNT; k++)
    if (strcmp(kinds[k].name, name) == 0) return (enum kind)k;
  return KIND_NONE;
}

/* The class users catch. A timeout that a server answered with (408, 504) is the server's. */
const char *err_class(enum kind k, int status) {
  if (k == KIND_TIMEOUT && status != 0) return "ServerError";
  return kinds[k > KIND_NONE && k < KIND_COUNT ? k : KIND_NONE].cls;
}

/* 1 when the same request may be sent again: what the err says, else what its kind says. */
int err_retryable(const struct err *e) {
  if (e->retryable >= 0) return e->retryable;
  return kinds[e->kind > KIND_NONE && e->kind < KIND_COUNT ? e->kind : KIND_NONE].retryable;
}
