/* chunks.h: chunks of a Chat Completions stream, as the tests of its answers write them. */
#ifndef KOINE_SPEC_C_CODEC_CHAT_CHUNKS_H
#define KOINE_SPEC_C_CODEC_CHAT_CHUNKS_H

#define CODEC codec_chat
#include "codec/parts.h"

/* One choice's delta; with a finish_reason. */
#define D(delta) "{'choices':[{'index':0,'delta':" delta "}]}"
#define F(delta, finish) "{'choices':[{'index':0,'delta':" delta ",'finish_reason':'" finish "'}]}"
#define CALL(json) D("{'tool_calls':[" json "]}")
#define USAGE(u) "{'choices':[],'usage':" u "}"

/* The part of an answer that ended without one. */
#define NO_FINISH_REASON "warning missing_finish_reason the answer came without a finish_reason\n"

#endif
