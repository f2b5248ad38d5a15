/* list.h: the wire formats, by their names: a new one is a line here. codec_NAME is its table. */
#ifndef KOINE_CODEC_LIST_H
#define KOINE_CODEC_LIST_H

#define CODEC_LIST(X) \
  X(anthropic) \
  X(bedrock) \
  X(bedrock_invoke) \
  X(chat) \
  X(gemini) \
  X(ollama) \
  X(ollama_pull) \
  X(responses)

#endif
