/*
** error.c: what an error answer means, whichever provider worded it: first its shape (where the message and the
** code are), then its status (an error object inside a stream has none of its own), then its kind.
** Strings live in the caller's arena or body; the err holds copies. Never fails: what cannot be read becomes a message
** as it stands.
*/
#include "codec.h"
#include "core/base/utf8.h"

#include <stdio.h>

#define MESSAGE_MAX 500 /* bytes of a message that users see */
#define READ_MAX 4096   /* bytes of a message, a code or a type that are searched for words */
#define TITLE_MAX 100   /* of an HTML page's title */
#define DEPTH 64        /* of an error body that is read as JSON */

/* The members of an error object. */
struct facts {
  struct str message, code, type, word; /* word: the upper-case `status` of Google's errors */
  struct str request_id;
  struct str digits;                    /* a number given as code, as text; empty where it only repeats a status */
  int64_t number;                       /* a number given as code or status; 0 = none */
  double retry_after;                   /* negative = not said */
  int prose;                            /* the body was plain text */
  int spent;                            /* what a whole day allows was used up */
};

/* {{{ strings */

/* True when the message, the code or the type contains one of the phrases (a NULL ends the list). */
static int says(const struct facts *f, const char *const *phrases) {
  for (; *phrases != NULL; phrases++)
    if (str_contains(f->message, *phrases) || str_contains(f->code, *phrases) || str_contains(f->type, *phrases))
      return 1;
  return 0;
}

/* At most n bytes of s, without half a character at the end. */
static struct str shorten(struct str s, size_t n) {
  return s.n <= n ? s : (struct str){ s.p, utf8_cut(s.p, n) };
}

/* Writes as much of s as there is room for. */
static void copy(char *to, size_t room, struct str s) {
  s = shorten(s, room - 1);
  (void)snprintf(to, room, "%.*s", (int)s.n, s.p);
}

/* Moves the bytes written to b into the arena, frees b and returns them; empty when memory ran out. */
static struct str settle(struct arena *a, struct buf *b, int bad) {
  struct str s = bad ? STR_NONE : arena_dup(a, buf_str(b));
  buf_free(b);
  return s.p == NULL ? STR_NONE : s;
}

/* The string of v, or its JSON where it is something else. */
static struct str text_of(struct arena *a, const struct node *v) {
  struct err scratch;
  struct buf b;
  if (v == NULL || v->type == NODE_NULL) return STR_NONE;
  if (v->type == NODE_STRING) return v->s;
  buf_init(&b, a->m);
  return settle(a, &b, json_write(&b, v, &scratch));
}

/* }}} */

/* {{{ shapes */

/* Validation problems, [{msg, loc: [...]}], as "msg (loc.loc)", "; " between them. */
static struct str problems(struct arena *a, const struct node *list) {
  struct buf b;
  int bad = 0;
  buf_init(&b, a->m);
  for (const struct node *v = list->child; v != NULL; v = v->next) {
    const struct node *loc = node_get(v, "loc");
    if (b.n > 0) bad |= buf_adds(&b, "; ");
    bad |= buf_addstr(&b, text_of(a, node_get(v, "msg") ? node_get(v, "msg") : v));
    if (!node_is(loc, NODE_ARRAY) || loc->child == NULL) continue;
    for (const struct node *at = loc->child; at != NULL; at = at->next) {
      bad |= buf_adds(&b, at == loc->child ? " (" : ".");
      bad |= buf_addstr(&b, text_of(a, at));
    }
    bad |= buf_addc(&b, ')');
  }
  return settle(a, &b, bad);
}

/* "message: raw", where a router hands on what the provider behind it said. */
static struct str with_raw(struct arena *a, struct str message, struct str raw) {
  struct buf b;
  int bad;
  if (raw.n == 0) return message;
  buf_init(&b, a->m);
  bad = buf_addstr(&b, message) | buf_adds(&b, message.n > 0 ? ": " : "") | buf_addstr(&b, raw);
  return settle(a, &b, bad);
}

/* "48.5s" as seconds; negative when it is no such duration. */
static double seconds(struct str s) {
  if (s.n < 2 || s.n > 20 || s.p[s.n - 1] != 's') return -1;
  s.n--;
  for (size_t i = 0; i < s.n; i++)
    if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] == '.' && i > 0 && i < s.n - 1)) return -1;
  return json_double(s);
}

/* A whole number, also one written as a string of three digits; 0 for anything else. */
static int64_t number_of(const struct node *v) {
  int64_t n = 0;
  if (node_is(v, NODE_INT)) return v->u.i;
  if (node_is(v, NODE_DOUBLE) && v->u.d > -1e15 && v->u.d < 1e15 && v->u.d == (double)(int64_t)v->u.d)
    return (int64_t)v->u.d;
  if (!node_is(v, NODE_STRING) || v->s.n != 3) return 0;
  for (size_t i = 0; i < 3; i++) {
    if (v->s.p[i] < '0' || v->s.p[i] > '9') return 0;
    n = n * 10 + (v->s.p[i] - '0');
  }
  return n;
}

/* A code: a string or a number. A number that is an HTTP status says no more than the status does. */
static void read_code(struct arena *a, const struct node *code, struct facts *f) {
  int64_t n = number_of(code);
  if (f->code.n == 0) f->code = node_str(code);
  if (f->number == 0) f->number = n;
  if (f->digits.n > 0 || code == NULL || (n >= 100 && n <= 599) || n == 0) return;
  if (code->type == NODE_INT || code->type == NODE_DOUBLE) f->digits = text_of(a, node_int(a, n));
}

/* One of the details of Google's errors. */
static void read_detail(const struct node *d, struct facts *f) {
  const struct node *delay = node_get(d, "retryDelay"), *violations = node_get(d, "violations");
  if (delay != NULL) f->retry_after = seconds(node_str(delay));
  if (f->code.n == 0) f->code = node_str(node_get(d, "reason"));
  for (const struct node *v = node_is(violations, NODE_ARRAY) ? violations->child : NULL; v != NULL; v = v->next)
    f->spent |= str_contains(node_str(node_get(v, "quotaId")), "perday");
}

/* The fields of the object that has the message. */
static void read_flat(struct arena *a, const struct node *o, struct facts *f) {
  static const struct str STATUS[] = { { "status", 6 }, { "status_code", 11 }, { "statusCode", 10 } };
  const struct node *message = node_get(o, "message");
  const struct node *detail = node_get(o, "detail"), *details = node_get(o, "details");
  read_code(a, node_get(o, "code"), f);
  if (f->type.n == 0) f->type = node_str(node_get(o, "type"));
  f->word = node_str(node_get(o, "status"));
  for (size_t i = 0; i < sizeof STATUS / sizeof STATUS[0] && f->number == 0; i++)
    f->number = number_of(node_get_(o, STATUS[i].p, STATUS[i].n));
  if (message != NULL && message->type != NODE_NULL) f->message = text_of(a, message);
  else if (node_is(detail, NODE_ARRAY)) f->message = problems(a, detail);
  else f->message = text_of(a, detail);
  f->message = with_raw(a, f->message, node_str(node_get(node_get(o, "metadata"), "raw")));
  for (const struct node *d = node_is(details, NODE_ARRAY) ? details->child : NULL; d != NULL; d = d->next)
    read_detail(d, f);
}

/* Follows `error`, `errors` and the first element of an array down to the object or string with the message. */
static void read_shape(struct arena *a, const struct node *v, struct facts *f) {
  for (int level = 0; level < 6 && v != NULL; level++) {
    const struct node *error = node_get(v, "error"), *errors = node_get(v, "errors");
    if (f->request_id.n == 0) f->request_id = node_str(node_get(v, "request_id"));
    if (v->type == NODE_ARRAY) {
      v = v->child;
    } else if (v->type == NODE_STRING) {
      f->message = v->s;
      return;
    } else if (node_is(error, NODE_STRING)) {
      f->message = error->s;
      read_code(a, node_get(v, "code"), f);
      return;
    } else if (node_is(error, NODE_OBJECT) || node_is(error, NODE_ARRAY)) {
      v = error;
    } else if (node_is(errors, NODE_ARRAY) && errors->count > 0 && node_get(v, "message") == NULL) {
      v = errors->child;
    } else {
      read_flat(a, v, f);
      read_code(a, error, f); /* some send the code itself as `error` */
      return;
    }
  }
}

/* The first JSON among the data lines of an event stream, or NULL and *why. */
static struct node *framed(struct arena *a, struct str body, struct err *why) {
  const char *p = body.p, *end = body.p + body.n;
  while (p < end) {
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    struct str line = { p, (size_t)((lf ? lf : end) - p) };
    struct node *v;
    if (line.n > 5 && str_begins(line, "data:")) {
      v = json_tree(a, str_trim((struct str){ line.p + 5, line.n - 5 }), DEPTH, why);
      if (v != NULL || why->kind == KIND_MEMORY) return v;
    }
    p = lf ? lf + 1 : end;
  }
  return NULL;
}

/* The title of an HTML page; empty when it has none. */
static struct str html_title(struct str s) {
  for (size_t i = 0; i + 7 < s.n; i++) {
    size_t from, to;
    if (!str_contains((struct str){ s.p + i, 6 }, "<title")) continue;
    for (from = i + 6; from < s.n && s.p[from] != '>'; from++) {}
    for (to = ++from; to < s.n && s.p[to] != '<'; to++) {}
    return from < s.n ? str_trim((struct str){ s.p + from, to - from }) : STR_NONE;
  }
  return STR_NONE;
}

/* }}} */

/* {{{ status and kind */

/* Words (code, type, status) that say a status where the error came inside a stream or an answer of 200. */
static const struct { const char *word; int status; } WORDS[] = {
  { "overloaded_error", 529 }, { "rate_limit_error", 429 }, { "invalid_request_error", 400 },
  { "authentication_error", 401 }, { "permission_error", 403 }, { "not_found_error", 404 }, { "billing_error", 402 },
  { "request_too_large", 413 }, { "timeout_error", 504 }, { "api_error", 500 },
  { "rate_limit_exceeded", 429 }, { "rate_limited", 429 }, { "insufficient_quota", 429 }, { "quota_exceeded", 429 },
  { "context_length_exceeded", 400 }, { "exceed_context_size_error", 400 }, { "invalid_prompt", 400 },
  { "tool_use_failed", 400 }, { "invalid_api_key", 401 }, { "model_not_found", 404 }, { "server_error", 500 },
  { "insufficient_system_resource", 503 },
  { "INVALID_ARGUMENT", 400 }, { "FAILED_PRECONDITION", 400 }, { "UNAUTHENTICATED", 401 }, { "PERMISSION_DENIED", 403 },
  { "NOT_FOUND", 404 }, { "RESOURCE_EXHAUSTED", 429 }, { "INTERNAL", 500 }, { "UNAVAILABLE", 503 },
  { "DEADLINE_EXCEEDED", 504 }, { "CANCELLED", 499 }, { "OUT_OF_RANGE", 400 }, { "UNKNOWN", 500 }, { "DATA_LOSS", 500 },
};

static const char *const OVERFLOW[] = {
  "context length", "context window", "maximum context", "too many tokens", "prompt is too long", "context size",
  "exceed context limit", "context_length", "context_size", "exceeds the maximum number of tokens", NULL
};
static const char *const CREDENTIAL[] = {
  "incorrect api key", "invalid api key", "api key not valid", "invalid x-api-key", "invalid_api_key", "login fail",
  "authentication_error", "api_key_invalid", NULL
};
static const char *const REGION[] = { "location is not supported", NULL };
static const char *const CREDIT[] = { "credit balance is too low", NULL };
static const char *const MEDIA[] = {
  "could not process image", "unsupported image", "invalid image", "unsupported media", NULL
};
/* Media that models may not take, and the words for that they do not: "image input is not supported" (llama.cpp). */
static const char *const MEDIUM[] = { "image", "audio", "video", "vision", "multimodal", NULL };
static const char *const UNSUPPORTED[] = { "not supported", "not support", "unsupported", NULL };
static const char *const ALLOWANCE[] = { "quota", "weekly", "monthly", NULL };
static const char *const UNAVAILABLE[] = { "unavailable", NULL };
static const char *const OVERLOADED[] = { "overloaded", NULL };
static const char *const RATE_LIMIT[] = { "rate limit", "rate-limit", "too many requests", NULL };

static int status_of_word(struct str s) {
  for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
    if (str_is(s, WORDS[i].word, strlen(WORDS[i].word))) return WORDS[i].status;
  return 0;
}

/* The status that an error without one maps to. */
static int map_status(const struct facts *f) {
  int status = f->number >= 400 && f->number <= 599 ? (int)f->number : status_of_word(f->code);
  if (status == 0) status = status_of_word(f->type);
  if (status == 0) status = status_of_word(f->word);
  if (status != 0) return status;
  /* Responses: image_*, bio_policy */
  if (str_contains(f->code, "image") || str_contains(f->code, "_policy")) return 400;
  if (says(f, CREDENTIAL)) return 401;
  if (says(f, OVERFLOW)) return 400;
  if (says(f, OVERLOADED)) return 529;
  if (says(f, UNAVAILABLE)) return 503;
  return says(f, RATE_LIMIT) ? 429 : 500;
}

static void settle_kind(struct err *e, enum kind kind, int retryable) {
  e->kind = kind;
  e->retryable = retryable;
}

static void bad_request(struct err *e, const struct facts *f) {
  if (says(f, CREDENTIAL)) settle_kind(e, KIND_AUTH, 0);
  else if (says(f, OVERFLOW)) settle_kind(e, KIND_CONTEXT_OVERFLOW, 0);
  else if (says(f, CREDIT)) settle_kind(e, KIND_BILLING, 0);
  else if (says(f, REGION)) settle_kind(e, KIND_PERMISSION, 0);
  else settle_kind(e, e->status == 413 ? KIND_TOO_LARGE : KIND_INVALID_REQUEST, str_eq(f->code, "tool_use_failed"));
}

static void too_many(struct err *e, const struct facts *f) {
  int spent = str_contains(f->code, "quota") || str_contains(f->type, "quota") || str_contains(f->code, "billing") ||
              str_contains(f->type, "billing") || (f->prose && says(f, ALLOWANCE)) || f->spent;
  settle_kind(e, spent ? KIND_BILLING : KIND_RATE_LIMIT, !spent);
}

/* True when the request's images, or other media, are what the server does not take: it never will. */
static int refuses_media(const struct facts *f) {
  return says(f, MEDIA) || (says(f, MEDIUM) && says(f, UNSUPPORTED));
}

static void server_fault(struct err *e, const struct facts *f) {
  if (says(f, CREDENTIAL)) settle_kind(e, KIND_AUTH, 0);
  else settle_kind(e, KIND_SERVER, e->status != 501 && e->status != 505 && !refuses_media(f));
}

/* Kind and retryable from e->status and the words. */
static void classify(struct err *e, const struct facts *f) {
  switch (e->status) {
    case 400: case 413: case 422: bad_request(e, f); return;
    case 401: settle_kind(e, KIND_AUTH, 0); return;
    case 402: settle_kind(e, KIND_BILLING, 0); return;
    case 403: settle_kind(e, str_eq(f->type, "billing_error") ? KIND_BILLING : KIND_PERMISSION, 0); return;
    case 404: settle_kind(e, KIND_NOT_FOUND, 0); return;
    case 408: case 504: settle_kind(e, KIND_TIMEOUT, 1); return;
    case 409: settle_kind(e, KIND_INVALID_REQUEST, 1); return;
    case 425: settle_kind(e, KIND_SERVER, 1); return;
    case 429: too_many(e, f); return;
    case 499: settle_kind(e, KIND_SERVER, 1); return; /* the server gave up, in the middle of an answer */
    case 503: case 529: settle_kind(e, KIND_OVERLOADED, 1); return;
    default: break;
  }
  if (e->status >= 500) server_fault(e, f);
  else if (e->status >= 400) settle_kind(e, KIND_INVALID_REQUEST, 0);
  else settle_kind(e, KIND_PROTOCOL, 0); /* a redirect: never followed */
}

/* }}} */

static void set_message(struct err *e, struct str message) {
  char text[MESSAGE_MAX];
  message = shorten(message, MESSAGE_MAX);
  for (size_t i = 0; i < message.n; i++) text[i] = message.p[i] == '\0' ? ' ' : message.p[i];
  err_set(e, e->kind, "%.*s", (int)message.n, text);
}

/* Fills e from what was found out; `fallback` is the message where there is none. Every phrase is looked for: a body
** may have a megabyte of message. */
static void fill(struct err *e, int status, struct facts *f, const char *fallback) {
  struct str type = str_eq(f->type, "error") ? STR_NONE : f->type;
  struct str code = f->code.n > 0 ? f->code : f->digits.n > 0 ? f->digits : type.n > 0 ? type : f->word;
  f->message = shorten(str_trim(f->message), READ_MAX);
  f->code = shorten(f->code, READ_MAX);
  f->type = shorten(f->type, READ_MAX);
  err_clear(e);
  e->status = status >= 300 ? status : map_status(f);
  e->retry_after = f->retry_after;
  classify(e, f);
  if (f->message.n > 0) set_message(e, f->message);
  else err_set(e, e->kind, "HTTP %d%s", e->status, fallback);
  if (code.n > 0) copy(e->code, sizeof e->code, code);
  else if (f->number > 0) snprintf(e->code, sizeof e->code, "%lld", (long long)f->number);
  if (f->request_id.n > 0) copy(e->request_id, sizeof e->request_id, f->request_id);
}

void codec_error_node(struct arena *a, int status, const struct node *error, struct err *e) {
  struct facts f = { .retry_after = -1 };
  read_shape(a, error, &f);
  if (f.message.n == 0) f.message = text_of(a, error);
  fill(e, status, &f, "");
}

void codec_error(struct arena *a, int status, struct str body, struct err *e) {
  struct facts f = { .retry_after = -1 };
  struct node *v = NULL;
  struct err scratch;
  err_clear(&scratch);
  if (str_begins(body, "\xEF\xBB\xBF")) body = (struct str){ body.p + 3, body.n - 3 };
  body = str_trim(body);
  if (body.n > 0 && strchr("{[\"", body.p[0]) != NULL) v = json_tree(a, body, DEPTH, &scratch);
  else if (body.n > 0 && strchr("de:", body.p[0]) != NULL) v = framed(a, body, &scratch);
  if (v == NULL && scratch.kind == KIND_MEMORY) {
    err_clear(e);
    err_memory(e);
  } else if (v != NULL) {
    read_shape(a, v, &f);
    if (f.message.n == 0) f.message = body;
    fill(e, status, &f, "");
  } else if (body.n > 0 && body.p[0] == '<') {
    char page[128];
    struct str title = shorten(html_title(body), TITLE_MAX);
    if (title.n == 0) snprintf(page, sizeof page, " with an HTML page");
    else snprintf(page, sizeof page, ": %.*s", (int)title.n, title.p);
    fill(e, status, &f, page);
  } else {
    f.message = body;
    f.prose = 1;
    fill(e, status, &f, " with an empty body");
  }
}
