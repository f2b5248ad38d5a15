/*
** err.c: filling an err, and the one table that says what each kind is called, which class it is and whether it is
** worth another try. Leaf: libc only, no allocation, nothing can fail.
*/
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "err.h"

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
  [KIND_OTHER] = { "other", "Error", 0 },
  [KIND_ARGUMENT] = { "argument", "ArgumentError", 0 },
  [KIND_NOT_IMPLEMENTED] = { "not_implemented", "NotImplementedError", 0 },
  [KIND_MEMORY] = { "memory", "Error", 0 },
};

/* Everything unset: no status, retryable as the kind says, no retry_after. */
void err_clear(struct err *e) {
  memset(e, 0, sizeof *e);
  e->retryable = -1;
  e->retry_after = -1;
}

/* The length of s[0..n-1] without an unfinished UTF-8 sequence at its end. */
static size_t cut_utf8(const char *s, size_t n) {
  size_t i = n;
  while (i > 0 && n - i < 3 && ((unsigned char)s[i - 1] & 0xC0) == 0x80) i--;
  if (i == 0) return n;
  unsigned char lead = (unsigned char)s[i - 1];
  size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return n - (i - 1) < need ? i - 1 : n;
}

/* Control characters of the string become spaces: one line whatever the world sent. */
static void one_line(char *s) {
  for (; *s != '\0'; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7F) *s = ' ';
}

/* Cuts a printf result of `written` bytes that had `cap` bytes of room. */
static void finish(char *s, size_t cap, int written) {
  if (written < 0) s[0] = '\0';
  else if ((size_t)written >= cap) s[cut_utf8(s, cap - 1)] = '\0';
  one_line(s);
}

/* Sets kind and message, leaves the other fields; returns -1. Arguments must not point into e->message. */
int err_set(struct err *e, enum kind kind, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(e->message, sizeof e->message, fmt, args);
  va_end(args);
  finish(e->message, sizeof e->message, n);
  e->kind = kind;
  return -1;
}

/* KIND_ARGUMENT with field, expected and the message made of them; returns -1. */
int err_argument(struct err *e, const char *field, const char *expected, const char *got) {
  finish(e->field, sizeof e->field, snprintf(e->field, sizeof e->field, "%s", field));
  finish(e->expected, sizeof e->expected, snprintf(e->expected, sizeof e->expected, "%s", expected));
  return err_set(e, KIND_ARGUMENT, "%s: %s expected, got %s", field, expected, got);
}

/* Whole numbers only: printf's decimal point belongs to the locale. */
int err_timeout(struct err *e, const char *which, const char *what, double seconds) {
  long ms = seconds < 1e6 ? (long)(seconds * 1000 + 0.5) : 1000000000;
  char fraction[8] = "";
  if (ms % 1000 != 0) snprintf(fraction, sizeof fraction, ".%03d", (int)(ms % 1000));
  err_clear(e);
  snprintf(e->code, sizeof e->code, "%s", which);
  return err_set(e, KIND_TIMEOUT, "%s %ld%s s (%s)", what, ms / 1000, fraction, which);
}

/* KIND_MEMORY; returns -1. */
int err_memory(struct err *e) {
  return err_set(e, KIND_MEMORY, "not enough memory");
}

/* What errno says; -1. */
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
