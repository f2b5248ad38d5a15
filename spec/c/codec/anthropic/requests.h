/* requests.h: requests of the Anthropic Messages format and their bytes, as the tests write them: ' stands for ". */
#ifndef KOINE_SPEC_C_CODEC_ANTHROPIC_REQUESTS_H
#define KOINE_SPEC_C_CODEC_ANTHROPIC_REQUESTS_H

#include "codec/kit.h"

/* {{{ running the codec */

/* What became of one request. */
struct rendered {
  struct rendering x;
  struct buf rest; /* warnings, then headers, as JSON */
  int r;
};

/* quirks: {'name': value, …}; NULL = none. rendered_free must follow. */
static inline void render_request(struct rendered *s, const struct mem *m, const char *request, const char *quirks,
                                  int count) {
  struct rendering *x = &s->x;
  s->r = rendering_open(x, &codec_anthropic, m, request);
  buf_init(&s->rest, &x->m);
  x->r.provider = STR("anthropic");
  if (quirks != NULL) set_quirks(&x->quirks, quirks);
  if (s->r != 0) return;
  s->r = (count ? codec_anthropic.render_count : codec_anthropic.render)(&x->r, &x->e);
  if (s->r == 0) s->r = json_write(&s->rest, x->r.warnings, &x->e);
  if (s->r == 0) s->r = json_write(&s->rest, x->r.headers, &x->e);
  CHECK(x->r.framing == &framing_sse);
}

static inline void rendered_free(struct rendered *s) {
  buf_free(&s->rest);
  rendering_close(&s->x);
}

/* Renders and compares the body, the warnings and the headers. */
static inline void expect(const char *file, int line, const char *request, const char *quirks, int count,
                          const char *body, const char *rest) {
  struct mem m = mem_libc();
  struct rendered s;
  render_request(&s, &m, request, quirks, count);
  if (s.r != 0) fprintf(stderr, "%s:%d: %s\n", file, line, s.x.e.message);
  CHECK(s.r == 0);
  test_str(file, line, s.x.body.p, s.x.body.n, json(body));
  test_str(file, line, s.rest.p, s.rest.n, json(rest));
  rendered_free(&s);
}

/* Renders what must be refused, and compares the message. */
static inline void expect_error(const char *file, int line, const char *request, const char *quirks,
                                const char *message) {
  struct mem m = mem_libc();
  struct rendered s;
  render_request(&s, &m, request, quirks, 0);
  CHECK(s.r == -1 && s.x.e.kind == KIND_ARGUMENT);
  test_str(file, line, s.x.e.message, strlen(s.x.e.message), json(message));
  rendered_free(&s);
}

#define NONE "[]{}"
#define RENDER(request, body) expect(__FILE__, __LINE__, request, NULL, 0, body, NONE)
#define RENDER_REST(request, body, rest) expect(__FILE__, __LINE__, request, NULL, 0, body, rest)
#define RENDER_QUIRK(request, quirks, body, rest) expect(__FILE__, __LINE__, request, quirks, 0, body, rest)
#define REFUSE(request, message) expect_error(__FILE__, __LINE__, request, NULL, message)

/* }}} */

/* {{{ requests */

/* A request with one user message, further fields in front; and its bytes. */
#define ASK(fields) "{'model':'m','stream':false," fields "'messages':[{'role':'user','content':'hi'}]}"
#define HI "'messages':[{'role':'user','content':[{'type':'text','text':'hi'}]}]}"
#define SENT(fields) "{'model':'m','max_tokens':8192," fields HI
#define WARNED(code, field, message) "[{'code':'" code "','field':'" field "','message':'" message "'}]{}"

#define TOOL "{'name':'f','description':'d','parameters':{'type':'object','properties':{'x':{'type':'string'}}}}"
#define TOOL_SENT \
  "{'name':'f','description':'d','input_schema':{'properties':{'x':{'type':'string'}},'type':'object'}"

#define CALLED "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','arguments':{}}]}," \
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}"
#define CALLED_SENT "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','input':{}}]}," \
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}"

/* }}} */

#endif
