/* openai.c: OpenAI's two formats: Chat Completions, whose chunks are padded by `obfuscation`, and Responses, whose events
** have a `sequence_number` too and repeat the whole text four times at the end. */
#include "formats.h"

#define HEADERS \
  "access-control-expose-headers: X-Request-ID\r\n" \
  "openai-organization: bench-organization\r\n" \
  "openai-processing-ms: 612\r\n" \
  "openai-project: proj_Bench0123456789abcdefghi\r\n" \
  "openai-version: 2020-10-01\r\n" \
  "x-ratelimit-limit-requests: 10000\r\n" \
  "x-ratelimit-limit-tokens: 30000000\r\n" \
  "x-ratelimit-remaining-requests: 9999\r\n" \
  "x-ratelimit-remaining-tokens: 29999987\r\n" \
  "x-ratelimit-reset-requests: 6ms\r\n" \
  "x-ratelimit-reset-tokens: 0s\r\n" \
  "x-request-id: req_0123456789abcdef0123456789abcdef\r\n" \
  "cf-cache-status: DYNAMIC\r\n" \
  "strict-transport-security: max-age=31536000; includeSubDomains; preload\r\n" \
  "x-content-type-options: nosniff\r\n" \
  "server: cloudflare\r\n" \
  "cf-ray: 9a1b2c3d4e5f6a7b-FRA\r\n"

/* The value of `obfuscation`: it fills the text up to a multiple of `step` characters. */
static void add_obfuscation(struct bytes *to, size_t i, const struct text *t, size_t step) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  char value[16];
  size_t n = (step - t->units % step) % step;
  for (size_t k = 0; k < n; k++) value[k] = letters[(i * 29 + k * 17) % (sizeof letters - 1)];
  bytes_add(to, value, n);
}

/* --- Chat Completions --- */

#define CHUNK_HEAD \
  "data: {\"id\":\"chatcmpl-DBench0123456789abcdefghijkl\",\"object\":\"chat.completion.chunk\",\"created\":1782321917," \
  "\"model\":\"gpt-5-2025-08-07\",\"service_tier\":\"default\",\"system_fingerprint\":null,"

static void chat_event(struct bytes *to, size_t i, const struct text *t) {
  static const char head[] = CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"";
  static const char middle[] = "\"},\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"";
  bytes_add(to, head, sizeof head - 1);
  bytes_add(to, t->p, t->n);
  bytes_add(to, middle, sizeof middle - 1);
  add_obfuscation(to, i, t, 12);
  bytes_add(to, "\"}\n\n", 4);
}

#define CHAT_USAGE \
  "\"usage\":{\"prompt_tokens\":25,\"completion_tokens\":1500,\"total_tokens\":1525," \
  "\"prompt_tokens_details\":{\"cached_tokens\":0,\"audio_tokens\":0}," \
  "\"completion_tokens_details\":{\"reasoning_tokens\":0,\"audio_tokens\":0,\"accepted_prediction_tokens\":0," \
  "\"rejected_prediction_tokens\":0}}"

static void chat_end(struct bytes *to, size_t count) {
  (void)count;
  bytes_format(to, "%s", CHUNK_HEAD
    "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null,\"obfuscation\":\"RZdMG9\"}\n\n"
    CHUNK_HEAD "\"choices\":[]," CHAT_USAGE ",\"obfuscation\":\"haKPyv\"}\n\n"
    "data: [DONE]\n\n");
}

const struct format openai_chat = {
  .path = "/chat/completions",
  .plain_headers = "Content-Type: application/json\r\n" HEADERS,
  .stream_headers = "Content-Type: text/event-stream; charset=utf-8\r\n" HEADERS,
  .plain = "{\n  \"id\": \"chatcmpl-DBench0123456789abcdefghijkl\",\n  \"object\": \"chat.completion\",\n"
    "  \"created\": 1782321917,\n  \"model\": \"gpt-5-2025-08-07\",\n  \"choices\": [\n    {\n      \"index\": 0,\n"
    "      \"message\": {\n        \"role\": \"assistant\",\n        \"content\": \"%s\",\n        \"refusal\": null,\n"
    "        \"annotations\": []\n      },\n      \"finish_reason\": \"stop\"\n    }\n  ],\n  \"usage\": {\n"
    "    \"prompt_tokens\": 25,\n    \"completion_tokens\": 15,\n    \"total_tokens\": 40,\n"
    "    \"prompt_tokens_details\": {\n      \"cached_tokens\": 0,\n      \"audio_tokens\": 0\n    }\n  },\n"
    "  \"service_tier\": \"default\",\n  \"system_fingerprint\": null\n}\n",
  .start = CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},"
    "\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"mbRezgIrEH\"}\n\n",
  .least = 1, .most = 1, .event = chat_event, .end = chat_end
};

/* --- Responses --- */

#define EVENT(name) "event: " name "\ndata: {\"type\":\"" name "\","
#define ITEM "\"msg_00000123456789abcdef00000123456789abcdef00000123456789\""
#define IN_ITEM "\"content_index\":0,\"item_id\":" ITEM ","
#define MESSAGE(status) "\"id\":" ITEM ",\"type\":\"message\",\"status\":\"" status "\","
#define PART "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":\""
#define RESPONSE(status, completed_at) \
  "\"response\":{\"id\":\"resp_00000123456789abcdef00000123456789abcdef00000123456789\",\"object\":\"response\"," \
  "\"created_at\":1782321917,\"status\":\"" status "\",\"background\":false,\"completed_at\":" completed_at "," \
  "\"error\":null,\"frequency_penalty\":0.0,\"incomplete_details\":null,\"instructions\":null," \
  "\"max_output_tokens\":null,\"max_tool_calls\":null,\"model\":\"gpt-5-2025-08-07\",\"moderation\":null,"
#define SETTINGS(usage) \
  "\"parallel_tool_calls\":true,\"presence_penalty\":0.0,\"previous_response_id\":null,\"prompt_cache_key\":null," \
  "\"prompt_cache_retention\":\"24h\",\"reasoning\":{\"effort\":\"low\",\"summary\":null}," \
  "\"safety_identifier\":null,\"service_tier\":\"auto\",\"store\":false,\"temperature\":1.0," \
  "\"text\":{\"format\":{\"type\":\"text\"},\"verbosity\":\"medium\"},\"tool_choice\":\"auto\",\"tools\":[]," \
  "\"top_logprobs\":0,\"top_p\":0.98,\"truncation\":\"disabled\",\"usage\":" usage ",\"user\":null,\"metadata\":{}}"

enum { BEFORE = 4 }; /* events before the first delta: the number of that one */

static void responses_event(struct bytes *to, size_t i, const struct text *t) {
  static const char head[] = EVENT("response.output_text.delta") "\"content_index\":0,\"delta\":\"";
  static const char middle[] = "\",\"item_id\":" ITEM ",\"logprobs\":[],\"obfuscation\":\"";
  bytes_add(to, head, sizeof head - 1);
  bytes_add(to, t->p, t->n);
  bytes_add(to, middle, sizeof middle - 1);
  add_obfuscation(to, i, t, 16);
  bytes_format(to, "\",\"output_index\":0,\"sequence_number\":%zu}\n\n", i + BEFORE);
}

static void responses_end(struct bytes *to, size_t count) {
  struct text t;
  struct bytes all = { 0 };
  size_t number = count + BEFORE;
  for (size_t i = 0; i < count; i++) {
    text_of(&openai_responses, i, &t);
    bytes_add(&all, t.p, t.n);
  }
  bytes_add(&all, "", 1);
  bytes_format(to, EVENT("response.output_text.done") IN_ITEM "\"logprobs\":[],\"output_index\":0,"
    "\"sequence_number\":%zu,\"text\":\"%s\"}\n\n", number, all.p);
  bytes_format(to, EVENT("response.content_part.done") IN_ITEM "\"output_index\":0,\"part\":" PART "%s\"},"
    "\"sequence_number\":%zu}\n\n", all.p, number + 1);
  bytes_format(to, EVENT("response.output_item.done") "\"item\":{" MESSAGE("completed") "\"content\":[" PART "%s\"}],"
    "\"role\":\"assistant\"},\"output_index\":0,\"sequence_number\":%zu}\n\n", all.p, number + 2);
  bytes_format(to, EVENT("response.completed") RESPONSE("completed", "1782321925") "\"output\":[{" MESSAGE("completed")
    "\"content\":[" PART "%s\"}],\"role\":\"assistant\"}]," SETTINGS("{\"input_tokens\":25,"
    "\"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":1500,"
    "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":1525}") ",\"sequence_number\":%zu}\n\n",
    all.p, number + 3);
  free(all.p);
}

const struct format openai_responses = {
  .path = "/responses",
  .stream_headers = "Content-Type: text/event-stream; charset=utf-8\r\n" HEADERS,
  .start = EVENT("response.created") RESPONSE("in_progress", "null") "\"output\":[]," SETTINGS("null")
    ",\"sequence_number\":0}\n\n"
    EVENT("response.in_progress") RESPONSE("in_progress", "null") "\"output\":[]," SETTINGS("null")
    ",\"sequence_number\":1}\n\n"
    EVENT("response.output_item.added") "\"item\":{" MESSAGE("in_progress") "\"content\":[],\"role\":\"assistant\"},"
    "\"output_index\":0,\"sequence_number\":2}\n\n"
    EVENT("response.content_part.added") IN_ITEM "\"output_index\":0,\"part\":" PART "\"},\"sequence_number\":3}\n\n",
  .least = 1, .most = 1, .event = responses_event, .end = responses_end
};
