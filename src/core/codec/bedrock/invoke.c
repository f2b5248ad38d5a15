/*
** invoke.c: Claude through Amazon Bedrock's POST /model/ID/invoke and …/invoke-with-response-stream: bodies and answers of
** Anthropic's Messages, which the service hands through. The path says model and stream, the body which version. A stream
** is of AWS's binary messages: each chunk holds one of Anthropic's events in base64. Refusals, and exceptions inside a
** stream, are AWS's.
** The state is that of Anthropic's format. Failure: -1 and an err.
*/
#include "bedrock.h"
#include "core/bytes/base64.h"
#include "core/codec/shared/read.h"

/* {{{ rendering */

static int put_path(struct render *r, struct err *e) {
  struct writer w = { .r = r, .e = e };
  int stream = node_is(writer_given(&w, "stream"), NODE_TRUE);
  if (buf_adds(r->path, "/model/") != 0) return err_memory(e);
  writer_path(&w, "model", node_str(writer_given(&w, "model")));
  if (w.failed) return -1;
  return buf_adds(r->path, stream ? "/invoke-with-response-stream" : "/invoke") == 0 ? 0 : err_memory(e);
}

static int render(struct render *r, struct err *e) {
  static const struct anthropic_host HOST = {
    .codec = &codec_bedrock_invoke, .version = "bedrock-2023-05-31", .media = MEDIA_CITATIONS, .betas_in_body = 1,
    .stream_in_path = 1
  };
  return put_path(r, e) != 0 ? -1 : anthropic_render_body(r, &HOST, 0, e);
}

/* }}} */

/* {{{ parsing */

/* The event in a chunk, {"bytes": base64}: 0, or -1. */
static int unwrap(const struct parse *p, struct str payload, struct str *event, struct err *e) {
  struct str bytes = STR_NONE;
  struct json j;
  json_open(&j, payload, p->limits->depth, e);
  if (json_next(&j) == J_ERROR) return -1;
  if (j.tok != J_OBJECT) return err_set(e, KIND_PROTOCOL, "a chunk is no object");
  while (json_next(&j) == J_KEY)
    if ((json_is(&j, "bytes") ? codec_word(&j, p->a, &bytes) : json_skip(&j)) != 0) return -1;
  if (j.tok != J_OBJECT_END || json_next(&j) != J_EOF) return -1;
  if (bytes.n == 0) return err_set(e, KIND_PROTOCOL, "a chunk without bytes");
  switch (base64_decode(p->a, bytes, event)) {
    case 0: return 0;
    case -1: return err_set(e, KIND_PROTOCOL, "the bytes of a chunk are no base64");
    default: return err_memory(e);
  }
}

static int parse_record(void *state, const struct record *r, struct events *out, struct err *e) {
  const struct anthropic *s = state;
  struct record event = { .retry = -1 };
  if (s->ended) return 0;
  if (r->fault) {
    bedrock_read_fault(s->p->a, r->name, r->data, e);
    return -1;
  }
  if (!str_eq(r->name, "chunk")) return 0;
  return unwrap(s->p, r->data, &event.data, e) != 0 ? -1 : anthropic_parse_record(state, &event, out, e);
}

/* A body that is no message may be an error of AWS's. */
static int parse_body(void *state, struct str body, struct events *out, struct err *e) {
  const struct anthropic *s = state;
  const struct node *v;
  struct err why;
  if (bedrock_check_text(body, e) != 0) return -1;
  if (anthropic_parse_body(state, body, out, e) == 0) return 0;
  if (e->kind != KIND_PROTOCOL || s->begun) return -1;
  err_clear(&why);
  v = json_tree(s->p->a, body, s->p->limits->depth, &why);
  if (v == NULL && why.kind == KIND_MEMORY) *e = why;
  if (v != NULL && bedrock_is_failure(v)) bedrock_read_fault(s->p->a, STR_NONE, body, e);
  return -1;
}

/* }}} */

const struct codec codec_bedrock_invoke = {
  .name = "bedrock_invoke",
  .state_size = sizeof(struct anthropic),
  .framing = &framing_eventstream,
  .remedies = anthropic_remedies,
  .error_header = "x-amzn-errortype",
  .options = anthropic_options,
  .render = render,
  .init = anthropic_init,
  .free = anthropic_free,
  .parse_record = parse_record,
  .parse_body = parse_body,
  .parse_end = anthropic_parse_end,
  .read_error = bedrock_read_error,
  .ended = anthropic_ended
};
