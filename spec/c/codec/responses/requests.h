/* requests.h: requests and bodies of the Responses format, as the tests of what is sent write them. */
#ifndef KOINE_SPEC_C_CODEC_RESPONSES_REQUESTS_H
#define KOINE_SPEC_C_CODEC_RESPONSES_REQUESTS_H

#define CODEC codec_responses
#include "codec/render.h"

/* Settings: the request's members behind the model, the body's between model and input. */
#define WARNS(quirks, in, out, warnings) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','stream':false," in "'messages':[" HI "]}", \
         "{'model':'m'," out "'input':[" HI "]}", warnings)
#define SETS(quirks, in, out) WARNS(quirks, in, out, "")
/* The history alone. */
#define INPUT(quirks, in, out) \
  expect(__FILE__, __LINE__, quirks, "{'model':'m','messages':[" in "]}", \
         "{'model':'m'," ASKED "'input':[" out "]}", "")

/* The model's message, as the item of that number. */
#define ITEM(at) "{'type':'message','id':'msg_" #at "','status':'completed','role':'assistant','content':"
#define SAID(at, s) ITEM(at) "[{'type':'output_text','text':'" s "','annotations':[]}]}"
/* The fields of every body that the quirk does not forbid. */
#define ASKED "'store':false,'include':['reasoning.encrypted_content'],"
#define CALL(id, name) "{'type':'function_call','call_id':'" id "','name':'" name "','arguments':'{}'}"
#define OUTPUT(id, output) "{'type':'function_call_output','call_id':'" id "','output':" output "}"
/* Encrypted reasoning, in a block and as it goes back. */
#define ENCRYPTED "{\\'type\\':\\'reasoning\\', \\'id\\':\\'rs_1\\',\\'summary\\':[],\\'encrypted_content\\':\\'s\\'}"
#define ENCRYPTED_ITEM "{'type':'reasoning', 'id':'rs_1','summary':[],'encrypted_content':'s'}"
#define THINKING(raw) "{'type':'thinking','thinking':'t'," MINE(raw) "}"
#define IMAGE "{'type':'image','source':'AAAA','media_type':'image/png'}"
#define IMAGE_PART "{'type':'input_image','image_url':'data:image/png;base64,AAAA'}"
#define TEXT_PART(s) "{'type':'input_text','text':'" s "'}"

/* A request whose tree the case may change before it is rendered. */
static inline void open_request(struct rendering *x, const char *request) {
  struct mem m = mem_libc();
  CHECK(rendering_open(x, &CODEC, &m, request) == 0);
}

#endif
