/* requests.h: requests of the Anthropic Messages format and their bytes, as the tests write them: ' stands for ". */
#ifndef KOINE_SPEC_C_CODEC_ANTHROPIC_REQUESTS_H
#define KOINE_SPEC_C_CODEC_ANTHROPIC_REQUESTS_H

#define CODEC codec_anthropic
#include "codec/render.h"

/* Renders and compares the body, the warnings and the headers. */
static inline void expect_all(const char *file, int line, const char *request, const char *quirks, int count,
                              const char *body, const char *rest) {
  static struct result r;
  struct mem m = mem_libc();
  int bad = run(quirks, request, count, &m, &r);
  if (bad) fprintf(stderr, "%s:%d: %s\n", file, line, r.e.message);
  CHECK(!bad);
  test_str(file, line, r.body, strlen(r.body), json(body));
  test_str(file, line, r.rest, strlen(r.rest), json(rest));
  run_failing(file, line, quirks, request, count, &r);
}

/* Renders what must be refused, and compares the message. */
static inline void expect_refusal(const char *file, int line, const char *request, const char *quirks,
                                  const char *message) {
  static struct result r;
  struct mem m = mem_libc();
  CHECK(run(quirks, request, 0, &m, &r) != 0 && r.e.kind == KIND_ARGUMENT);
  test_str(file, line, r.e.message, strlen(r.e.message), json(message));
}

#define NONE "[]{}"
#define RENDER(request, body) expect_all(__FILE__, __LINE__, request, NULL, 0, body, NONE)
#define RENDER_REST(request, body, rest) expect_all(__FILE__, __LINE__, request, NULL, 0, body, rest)
#define RENDER_QUIRK(request, quirks, body, rest) expect_all(__FILE__, __LINE__, request, quirks, 0, body, rest)
#define REFUSE(request, message) expect_refusal(__FILE__, __LINE__, request, NULL, message)

/* A request with one user message, further fields in front; and its bytes. */
#define ASK(fields) "{'model':'m','stream':false," fields "'messages':[{'role':'user','content':'hi'}]}"
#define HI_SENT "'messages':[{'role':'user','content':[{'type':'text','text':'hi'}]}]}"
#define SENT(fields) "{'model':'m','max_tokens':8192," fields HI_SENT
#define WARNED(code, field, message) "[{'code':'" code "','field':'" field "','message':'" message "'}]{}"

#define TOOL "{'name':'f','description':'d','parameters':{'type':'object','properties':{'x':{'type':'string'}}}}"
#define TOOL_SENT \
  "{'name':'f','description':'d','input_schema':{'properties':{'x':{'type':'string'}},'type':'object'}"

#define CALLED "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','arguments':{}}]}," \
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}"
#define CALLED_SENT "{'role':'assistant','content':[{'type':'tool_use','id':'c1','name':'f','input':{}}]}," \
  "{'role':'user','content':[{'type':'tool_result','tool_use_id':'c1','content':'r'}]}"

#endif
