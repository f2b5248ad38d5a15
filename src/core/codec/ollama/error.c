/*
** error.c: what an error answer of Ollama's means: {"error": text}, with a signin_url before the login. Inside a
** stream it stands on a line, sometimes with the status that it had.
** Scratch lies in the caller's arena; the err holds copies. Never fails: what cannot be read becomes a message as it
** stands.
*/
#include "ollama.h"

#include <stdio.h>

#define DEPTH 64        /* of an error body */
#define MESSAGE_MAX 200 /* bytes of a message that the address to log in at follows */
#define URL_MAX 250     /* bytes of that */

/* Meanings of the words of a message. status: the one they are looked for under, and get where none was said; 0:
** whatever the status. */
static const struct {
  const char *says;
  int status;
  enum kind kind;
  int retryable;
  const char *code;
} TEXTS[] = {
  { "exceeds the available context", 400, KIND_CONTEXT_OVERFLOW, 0, "" },
  { "longer than the context length", 400, KIND_CONTEXT_OVERFLOW, 0, "" },
  { "input length exceeds", 400, KIND_CONTEXT_OVERFLOW, 0, "" },
  { "does not support", 400, KIND_INVALID_REQUEST, 0, "capability" },
  { "invalid tool call arguments", 500, KIND_SERVER, 1, "bad_tool_call" },
  { "error parsing tool call", 500, KIND_SERVER, 1, "bad_tool_call" },
  { "unable to load", 500, KIND_SERVER, 0, "" },
  { "out of memory", 500, KIND_SERVER, 0, "" },
  { "requires more system memory", 500, KIND_SERVER, 0, "" },
  { "server busy", 503, KIND_OVERLOADED, 1, "" },
  { "maximum pending requests", 503, KIND_OVERLOADED, 1, "" },
  { "unauthorized", 401, KIND_AUTH, 0, "" },
  { "try pulling it first", 404, KIND_NOT_FOUND, 0, "" },
  { "manifest: file does not exist", 404, KIND_NOT_FOUND, 0, "" }, /* a download of a model that is not there */
  { "not found", 404, KIND_NOT_FOUND, 0, "" },
};

/* The members of a whole body besides its message. */
struct more {
  struct str url;  /* where to log in */
  int status;      /* 0 = not said */
};

static struct more read_more(struct arena *a, struct str body) {
  struct more more = { STR_NONE, 0 };
  struct err scratch;
  const struct node *v = NULL, *status;
  err_clear(&scratch);
  body = str_trim(body);
  if (body.n > 0 && body.p[0] == '{') v = json_tree(a, body, DEPTH, &scratch);
  more.url = node_str(node_get(v, "signin_url"));
  status = node_get(v, "status");
  if (node_is(status, NODE_INT) && status->u.i >= 400 && status->u.i <= 599) more.status = (int)status->u.i;
  return more;
}

/* Kind, code and retryable from the words of the message. `said`: the status was, so that the words of another say
** nothing. */
static void classify(struct err *e, int said) {
  struct str message = { e->message, strlen(e->message) };
  if (e->status == 499) { /* the server gave the request up */
    e->kind = KIND_SERVER;
    e->retryable = 1;
  }
  for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
    if ((said && e->status != TEXTS[i].status) || !str_contains(message, TEXTS[i].says)) continue;
    e->status = TEXTS[i].status;
    e->kind = TEXTS[i].kind;
    e->retryable = TEXTS[i].retryable;
    if (TEXTS[i].code[0] != '\0') (void)snprintf(e->code, sizeof e->code, "%s", TEXTS[i].code);
    return;
  }
}

void ollama_read_error(struct arena *a, int status, struct str type, struct str body, struct err *e) {
  struct more more = read_more(a, body);
  int said = status >= 300 ? status : more.status;
  (void)type;
  codec_error(a, said > 0 ? said : 200, body, e);
  if (e->kind == KIND_MEMORY) return;
  classify(e, said > 0);
  /* both whole, or the message alone: a secret that a cut left a part of is known by the end of the text */
  if (more.url.n > 0 && more.url.n <= URL_MAX && strlen(e->message) <= MESSAGE_MAX) {
    char message[ERR_MESSAGE_MAX];
    (void)snprintf(message, sizeof message, "%s", e->message);
    (void)err_set(e, e->kind, "%s (log in at %.*s)", message, (int)more.url.n, more.url.p);
  }
}
