/*
** error.c: refusals of AWS, and exceptions inside a stream. The type stands in a header or in the body; where proxies
** lost it, status and words have to do.
** Strings live in the caller's arena or body; the err holds copies. Never fails: what cannot be read becomes a message as
** it stands (codec_error).
*/
#include "bedrock.h"

#include <stdio.h>

#define TYPE_MAX 63     /* bytes of a type's name */
#define MESSAGE_MAX 500 /* bytes of a message that users see */
#define HINTED_MAX 400  /* of one that a hint follows */
#define DEPTH 64        /* of an error body that is read as JSON */

/* Types without "Exception", in lower case: services and SDKs do not agree about it. */
static const struct { const char *type; int status; enum kind kind; int retryable; } TYPES[] = {
  { "unrecognizedclient", 403, KIND_AUTH, 0 }, { "invalidsignature", 403, KIND_AUTH, 0 },
  { "expiredtoken", 403, KIND_AUTH, 0 }, { "missingauthenticationtoken", 403, KIND_AUTH, 0 },
  { "incompletesignature", 403, KIND_AUTH, 0 }, { "requesttimetooskewed", 403, KIND_AUTH, 0 },
  { "requestexpired", 403, KIND_AUTH, 0 }, { "invalidclienttokenid", 403, KIND_AUTH, 0 },
  { "signaturedoesnotmatch", 403, KIND_AUTH, 0 },
  { "accessdenied", 403, KIND_PERMISSION, 0 }, { "throttling", 429, KIND_RATE_LIMIT, 1 },
  { "toomanyrequests", 429, KIND_RATE_LIMIT, 1 }, { "servicequotaexceeded", 400, KIND_BILLING, 0 },
  { "modelnotready", 429, KIND_OVERLOADED, 1 }, { "resourcenotfound", 404, KIND_NOT_FOUND, 0 },
  { "validation", 400, KIND_INVALID_REQUEST, 0 }, { "modeltimeout", 408, KIND_TIMEOUT, 1 },
  { "modelerror", 424, KIND_SERVER, -1 }, { "modelstreamerror", 424, KIND_SERVER, -1 },
  { "internalserver", 500, KIND_SERVER, 1 }, { "serviceunavailable", 503, KIND_OVERLOADED, 1 },
};

static const char *const LOGIN[] = { "authentication failed", "api key", "bearer", NULL };
static const char *const SIGNATURE[] = { "security token", "signature", "credential", "authorization header", NULL };
/* The credentials are good: "… is not authorized to perform: bedrock:CallWithBearerToken" (IAM's words). */
static const char *const NOT_ALLOWED[] = { "not authorized to perform", NULL };
static const char *const OVERFLOW[] = {
  "input tokens exceeded", "too long", "maximum context", "exceeds the maximum number of tokens", "context window", NULL
};
static const char *const NO_MODEL[] = { "model identifier is invalid", NULL };
static const char *const NO_PROFILE[] = {
  "on-demand throughput isn't supported", "on-demand throughput isn\xE2\x80\x99t supported", NULL
};
static const char *const SPENT[] = { "too many tokens per day", NULL };

/* The members of a body. */
struct facts { struct str type, message; int64_t status; };

static int says(struct str s, const char *const *phrases) {
  for (; *phrases != NULL; phrases++)
    if (str_contains(s, *phrases)) return 1;
  return 0;
}

/* The name alone of "com.amazon.coral.service#NameException:http://…". */
static struct str name_of(struct str type) {
  size_t from = 0, n = 0;
  while (n < type.n && type.p[n] != ':') n++;
  for (size_t i = 0; i < n; i++)
    if (type.p[i] == '#') from = i + 1;
  type = (struct str){ type.p + from, n - from };
  if (type.n > 9 && str_contains((struct str){ type.p + type.n - 9, 9 }, "exception")) type.n -= 9;
  return type.n <= TYPE_MAX ? type : (struct str){ type.p, TYPE_MAX };
}

static int same_type(struct str name, const char *type) {
  size_t i = 0;
  while (i < name.n && str_lower(name.p[i]) == type[i] && type[i] != '\0') i++;
  return i == name.n && type[i] == '\0';
}

/* Reads {message} or {Message}, with __type and originalStatusCode; returns whether it was such an object. */
static int read_body(struct arena *a, struct str body, struct facts *f) {
  struct err scratch;
  struct node *v = json_tree(a, body, DEPTH, &scratch);
  const struct node *status = node_get(v, "originalStatusCode");
  struct str original = node_str(node_get(v, "originalMessage"));
  f->message = node_str(node_get(v, "message"));
  if (f->message.n == 0) f->message = node_str(node_get(v, "Message"));
  if (f->message.n == 0) f->message = original;
  f->type = node_str(node_get(v, "__type"));
  if (node_is(status, NODE_INT) && status->u.i >= 400 && status->u.i <= 599) f->status = status->u.i;
  return f->message.n > 0 || f->type.n > 0;
}

static void settle(struct err *e, enum kind kind, int retryable) {
  e->kind = kind;
  e->retryable = retryable;
}

/* True when the words are about credentials, not about what these may do. */
static int is_login(struct str message, const char *const *phrases) {
  return says(message, phrases) && !says(message, NOT_ALLOWED);
}

/* Settles an error by the words of a refusal, where they say more than its type. */
static void look_closer(struct err *e, struct str message) {
  if (e->kind == KIND_PERMISSION && is_login(message, LOGIN)) settle(e, KIND_AUTH, 0);
  else if (e->kind == KIND_RATE_LIMIT && says(message, SPENT)) settle(e, KIND_BILLING, 0);
  else if (e->kind != KIND_INVALID_REQUEST) return;
  else if (says(message, NO_MODEL)) settle(e, KIND_NOT_FOUND, 0);
  else if (says(message, OVERFLOW)) settle(e, KIND_CONTEXT_OVERFLOW, 0);
}

/* The hint is for a message that is shown whole: a secret that a cut left a part of is known by the end of the text. */
static void set_message(struct err *e, struct str message) {
  const char *hint = says(message, NO_PROFILE) ? " (Use an inference profile: the model id with \"us.\", \"eu.\" or "
                                                 "another group of regions before it.)"
                   : says(message, NO_MODEL) ? " (Check the id, and that the region has the model.)" : "";
  size_t n = message.n < MESSAGE_MAX ? message.n : MESSAGE_MAX;
  err_set(e, e->kind, "%.*s%s", (int)n, message.p, n <= HINTED_MAX ? hint : "");
}

/* Kind and status by the type's name: 1, or 0 where it is not known. */
static int by_type(struct err *e, struct str name) {
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (!same_type(name, TYPES[i].type)) continue;
    if (e->status < 300) e->status = TYPES[i].status;
    settle(e, TYPES[i].kind, TYPES[i].retryable);
    return 1;
  }
  return 0;
}

/* Kind and status where the body names no status: by the type, else by the words and the status of the answer. */
static void settle_kind(struct err *e, int status, struct str name, struct str message) {
  if (by_type(e, name)) return;
  if (e->status == 0) e->status = 500;
  if (status == 403 && (is_login(message, LOGIN) || is_login(message, SIGNATURE))) settle(e, KIND_AUTH, 0);
  if (status < 300) settle(e, KIND_SERVER, -1);
}

static void read_error(struct arena *a, int status, struct str type, struct str body, struct err *e) {
  struct facts f = { .status = 0 };
  struct str name, said;
  int known;
  body = str_trim(body);
  known = body.n > 0 && body.p[0] == '{' && read_body(a, body, &f);
  name = type.n > 0 || f.type.n > 0 ? name_of(type.n > 0 ? type : f.type) : STR_NONE;
  codec_error(a, f.status > 0 ? (int)f.status : status, body, e);
  if (e->kind == KIND_MEMORY) return;
  said = f.message.n > 0 ? f.message : (struct str){ e->message, strlen(e->message) }; /* other wires' own form */
  if (f.status == 0 && status < 300) e->status = 0; /* the type says more than the words */
  if (f.status == 0 || name.n == 0) settle_kind(e, status, name, said);
  if (f.message.n > 0) {
    look_closer(e, f.message);
    set_message(e, f.message);
  } else if (known || body.n == 0) {
    err_set(e, e->kind, "HTTP %d%s%.*s", e->status, name.n > 0 ? ": " : "", (int)name.n, name.n > 0 ? name.p : "");
  }
  if (name.n > 0) (void)snprintf(e->code, sizeof e->code, "%.*s", (int)name.n, name.p);
}

void bedrock_read_error(struct arena *a, int status, struct str type, struct str body, struct err *e) {
  read_error(a, status, type, body, e);
}

void bedrock_read_fault(struct arena *a, struct str type, struct str body, struct err *e) {
  read_error(a, 200, type, body, e);
}

int bedrock_is_failure(const struct node *v) {
  return node_get(v, "message") != NULL || node_get(v, "Message") != NULL || node_get(v, "__type") != NULL;
}

int bedrock_check_text(struct str body, struct err *e) {
  if (body.n == 0 || strchr("de:", body.p[0]) == NULL) return 0;
  return err_set(e, KIND_PROTOCOL, "the answer is a stream of text events (SSE), not of AWS's binary messages");
}
