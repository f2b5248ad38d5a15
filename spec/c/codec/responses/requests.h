/* requests.h: requests and bodies of the Responses format, as the tests of what is sent write them. */
#ifndef KOINE_SPEC_C_CODEC_RESPONSES_REQUESTS_H
#define KOINE_SPEC_C_CODEC_RESPONSES_REQUESTS_H

#define CODEC codec_responses
#include "codec/render.h"

#define HI "{'role':'user','content':'hi'}"
/* Settings: the request's members behind the model, the body's between model and input. */
#define WARNS(quirks, in, out, warnings) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','stream':false," in "'messages':[" HI "]}", \
         "{'model':'m'," out "'input':[" HI "]}", warnings)
#define SETS(quirks, in, out) WARNS(quirks, in, out, "")
/* The history alone. */
#define INPUT(quirks, in, out) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','messages':[" in "]}", \
         "{'model':'m'," ASKED "'input':[" out "]}", "")
#define REFUSES(quirks, messages, field) \
  expect_error(__FILE__, __LINE__, quirks, "{'model':'m','messages':[" messages "]}", field)

#define USER(content) "{'role':'user','content':" content "}"
#define ASSISTANT(content) "{'role':'assistant','content':" content "}"
#define TEXT(s) "{'type':'text','text':'" s "'}"
/* What the model said, as the item of that number. */
#define ITEM(at) "{'type':'message','id':'msg_" #at "','status':'completed','role':'assistant','content':"
#define SAID(at, s) ITEM(at) "[{'type':'output_text','text':'" s "','annotations':[]}]}"
/* What every body asks for that the quirk does not forbid. */
#define ASKED "'store':false,'include':['reasoning.encrypted_content'],"
#define RESULT(id, content) "{'type':'tool_result','tool_use_id':'" id "','content':" content "}"
#define USE(id, name) "{'type':'tool_use','id':'" id "','name':'" name "','arguments':{}}"
#define CALL(id, name) "{'type':'function_call','call_id':'" id "','name':'" name "','arguments':'{}'}"
#define OUTPUT(id, output) "{'type':'function_call_output','call_id':'" id "','output':" output "}"
#define FROM(provider, raw) "'provider_data':{'provider':'" provider "','model':'m','raw':'" raw "'}"
#define MINE(raw) FROM("here", raw)
/* Encrypted reasoning, in a block and as it goes back. */
#define ENCRYPTED "{\\'type\\':\\'reasoning\\', \\'id\\':\\'rs_1\\',\\'summary\\':[],\\'encrypted_content\\':\\'s\\'}"
#define ENCRYPTED_ITEM "{'type':'reasoning', 'id':'rs_1','summary':[],'encrypted_content':'s'}"
#define THINKING(raw) "{'type':'thinking','thinking':'t'," MINE(raw) "}"
#define IMAGE "{'type':'image','source':'AAAA','media_type':'image/png'}"
#define IMAGE_PART "{'type':'input_image','image_url':'data:image/png;base64,AAAA'}"
#define TEXT_PART(s) "{'type':'input_text','text':'" s "'}"

/* A request's tree, which the case may change before it is rendered. */
struct scene {
  struct mem m;
  struct arena a;
  struct buf b, path;
  struct quirks quirks;
  struct err e;
  struct render r;
};

static inline void scene_open(struct scene *s, const char *request) {
  s->m = mem_libc();
  quirks_default(&s->quirks);
  arena_init(&s->a, &s->m);
  buf_init(&s->b, &s->m);
  buf_init(&s->path, &s->m);
  s->r = (struct render){ .a = &s->a, .quirks = &s->quirks, .provider = STR("here"), .body = &s->b,
                            .path = &s->path };
  s->r.request = json_tree(&s->a, bytes(json(request)), 64, &s->e);
  s->r.headers = node_new(&s->a, NODE_OBJECT);
  s->r.warnings = node_new(&s->a, NODE_ARRAY);
}

static inline void scene_close(struct scene *s) {
  buf_free(&s->b);
  buf_free(&s->path);
  arena_free(&s->a);
}

#endif
