/*
** answers.h: the bytes that the benchmark's server answers with: a stream's parts for each of four formats, and a small
** plain answer.
*/
#ifndef KOINE_BENCH_ANSWERS_H
#define KOINE_BENCH_ANSWERS_H

#include <stddef.h>

/* One format's stream: its media type, bytes before, one event, bytes after. */
struct shape {
  const char *type, *start, *event_head, *event_tail, *end;
  size_t event_n;  /* exact length of an event; its text fills what head and tail leave */
  char *block;     /* `per_block` events with their framing */
  size_t block_n, per_block;
};

#define EVENT_STREAM "text/event-stream; charset=utf-8"

static struct shape anthropic = {
  EVENT_STREAM,
  "event: message_start\n"
  "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_01Bench\",\"type\":\"message\",\"role\":\"assistant\","
  "\"model\":\"claude-sonnet-4-5\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,"
  "\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n"
  "event: content_block_start\n"
  "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
  "event: content_block_delta\n"
  "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"",
  "\"}}\n\n",
  "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
  "event: message_delta\n"
  "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},"
  "\"usage\":{\"output_tokens\":1500}}\n\n"
  "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
  121, NULL, 0, 0
};

#define CHUNK_HEAD \
  "data: {\"id\":\"chatcmpl-Bench0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1750000000," \
  "\"model\":\"gpt-4.1-2025-04-14\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_0123456789\","

static struct shape openai = {
  EVENT_STREAM,
  CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
  "\"finish_reason\":null}]}\n\n",
  CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"",
  "\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
  CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n"
  CHUNK_HEAD "\"choices\":[],\"usage\":{\"prompt_tokens\":25,\"completion_tokens\":1500,\"total_tokens\":1525}}\n\n"
  "data: [DONE]\n\n",
  292, NULL, 0, 0
};

#define GEMINI_HEAD "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \""
#define GEMINI_COUNTS(candidates, total) \
  "\"usageMetadata\": {\"promptTokenCount\": 25,\"candidatesTokenCount\": " candidates "," \
  "\"totalTokenCount\": " total "," \
  "\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 25}],\"thoughtsTokenCount\": 700}," \
  "\"modelVersion\": \"gemini-3.5-flash\",\"responseId\": \"Bench0123456789Bench01\"}\r\n\r\n"
#define GEMINI_TAIL "\"}],\"role\": \"model\"},\"index\": 0}]," GEMINI_COUNTS("750", "1475")

static struct shape gemini = {
  EVENT_STREAM, "",
  GEMINI_HEAD, GEMINI_TAIL,
  GEMINI_HEAD "\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}]," GEMINI_COUNTS("1500", "2225"),
  sizeof GEMINI_HEAD + sizeof GEMINI_TAIL + 18, NULL, 0, 0
};

#define LINE_HEAD \
  "{\"model\":\"qwen3:4b\",\"created_at\":\"2026-08-21T10:00:00.123456789Z\",\"message\":{\"role\":\"assistant\"," \
  "\"content\":\""
#define LINE_TAIL "\"},\"done\":false}\n"

static struct shape ollama = {
  "application/x-ndjson", "",
  LINE_HEAD, LINE_TAIL,
  LINE_HEAD "\"},\"done\":true,\"done_reason\":\"stop\",\"total_duration\":1500000000,\"load_duration\":50000000,"
  "\"prompt_eval_count\":25,\"prompt_eval_duration\":100000000,\"eval_count\":1500,\"eval_duration\":1300000000}\n",
  sizeof LINE_HEAD + sizeof LINE_TAIL + 18, NULL, 0, 0
};

#define PLAIN_HEAD \
  "{\"id\":\"msg_01Bench\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\"," \
  "\"content\":[{\"type\":\"text\",\"text\":\""
#define PLAIN_TAIL \
  "\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null," \
  "\"usage\":{\"input_tokens\":25,\"output_tokens\":15}}"

static const char plain[] = PLAIN_HEAD "The sky is blue because air scatters short waves most." PLAIN_TAIL;

#endif
