/* events.h: events of the Anthropic Messages format, as the tests of its answers write them. */
#ifndef KOINE_SPEC_C_CODEC_ANTHROPIC_EVENTS_H
#define KOINE_SPEC_C_CODEC_ANTHROPIC_EVENTS_H

#define CODEC codec_anthropic
#include "codec/parts.h"

#define START "{'type':'message_start','message':{'type':'message','id':'msg_1','role':'assistant','model':'claude'," \
  "'content':[],'stop_reason':null,'stop_sequence':null,'usage':{'input_tokens':10,'output_tokens':1}}}"
#define STARTED "meta msg_1 model claude\nusage in=10 out=1\n"
#define BLOCK(i, block) "{'type':'content_block_start','index':" #i ",'content_block':" block "}"
#define DELTA(i, delta) "{'type':'content_block_delta','index':" #i ",'delta':" delta "}"
#define TEXT(i, text) DELTA(i, "{'type':'text_delta','text':'" text "'}")
#define JSON(i, text) DELTA(i, "{'type':'input_json_delta','partial_json':'" text "'}")
#define STOP(i) "{'type':'content_block_stop','index':" #i "}"
#define ENDING(reason) \
  "{'type':'message_delta','delta':{'stop_reason':'" reason "','stop_sequence':null},'usage':{'output_tokens':5}}"
#define END "{'type':'message_stop'}"
#define PING "{'type':'ping'}"
#define ENDED(reason) "usage out=5\ndone\nstop " reason " " reason "\n"

#endif
