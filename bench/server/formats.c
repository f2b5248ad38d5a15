/* formats.c: Anthropic's events, padded by spaces; Gemini's, of whole sentences with counts in each; Ollama's lines. And
** which format a request has. */
#include "formats.h"

/* --- Anthropic --- */

/* 17 of them: 21 with those that frame an answer (server.c). */
#define ANTHROPIC_HEADERS \
  "anthropic-ratelimit-input-tokens-limit: 2000000\r\n" \
  "anthropic-ratelimit-input-tokens-remaining: 2000000\r\n" \
  "anthropic-ratelimit-input-tokens-reset: 2026-02-17T19:29:21Z\r\n" \
  "anthropic-ratelimit-output-tokens-limit: 400000\r\n" \
  "anthropic-ratelimit-output-tokens-remaining: 400000\r\n" \
  "anthropic-ratelimit-output-tokens-reset: 2026-02-17T19:29:21Z\r\n" \
  "anthropic-ratelimit-requests-limit: 20000\r\n" \
  "anthropic-ratelimit-requests-remaining: 19999\r\n" \
  "anthropic-ratelimit-requests-reset: 2026-02-17T19:29:21Z\r\n" \
  "anthropic-ratelimit-tokens-limit: 2400000\r\n" \
  "anthropic-ratelimit-tokens-remaining: 2400000\r\n" \
  "anthropic-ratelimit-tokens-reset: 2026-02-17T19:29:21Z\r\n" \
  "request-id: req_011CBench0123456789abcde\r\n" \
  "strict-transport-security: max-age=31536000; includeSubDomains; preload\r\n" \
  "server: cloudflare\r\n" \
  "cf-cache-status: DYNAMIC\r\n" \
  "cf-ray: 9a1b2c3d4e5f6a7b-FRA\r\n"

#define ANTHROPIC_COUNTS \
  "\"input_tokens\":25,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,"
#define ANTHROPIC_MORE_COUNTS "\"cache_creation\":{\"ephemeral_5m_input_tokens\":0,\"ephemeral_1h_input_tokens\":0},"
#define ANTHROPIC_SERVED ",\"service_tier\":\"standard\",\"inference_geo\":\"global\"}"

static void anthropic_event(struct bytes *to, size_t i, const struct text *t) {
  static const char head[] = "event: content_block_delta\n"
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"";
  static const char padding[] = "\"}               ";
  bytes_add(to, head, sizeof head - 1);
  bytes_add(to, t->p, t->n);
  bytes_add(to, padding, 2 + i * 11 % (sizeof padding - 2));
  bytes_add(to, "}\n\n", 3);
}

static void anthropic_end(struct bytes *to, size_t count) {
  bytes_format(to, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0      }\n\n"
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\","
    "\"stop_sequence\":null},\"usage\":{" ANTHROPIC_COUNTS "\"output_tokens\":%zu}        }\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"     }\n\n", count + 1);
}

const struct format anthropic = {
  .path = "/messages",
  .plain_headers = "Content-Type: application/json\r\n" ANTHROPIC_HEADERS,
  .stream_headers = "Content-Type: text/event-stream; charset=utf-8\r\n" ANTHROPIC_HEADERS,
  .plain = "{\"model\":\"claude-sonnet-4-5-20250929\",\"id\":\"msg_01Bench0123456789abcdef\",\"type\":\"message\","
    "\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"stop_reason\":\"end_turn\","
    "\"stop_sequence\":null,\"usage\":{" ANTHROPIC_COUNTS ANTHROPIC_MORE_COUNTS "\"output_tokens\":15" ANTHROPIC_SERVED "}",
  .start = "event: message_start\n"
    "data: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5-20250929\","
    "\"id\":\"msg_01Bench0123456789abcdef\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],"
    "\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{" ANTHROPIC_COUNTS ANTHROPIC_MORE_COUNTS
    "\"output_tokens\":1" ANTHROPIC_SERVED "}           }\n\n"
    "event: content_block_start\n"
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}            }\n\n"
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
  .least = 1, .most = 4, .event = anthropic_event, .end = anthropic_end
};

/* --- Gemini --- */

#define GEMINI_HEAD "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \""
#define GEMINI_TAIL(ended) \
  "\"}],\"role\": \"model\"}," ended "\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 25," \
  "\"candidatesTokenCount\": %zu,\"totalTokenCount\": %zu," \
  "\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 25}],\"thoughtsTokenCount\": 700}," \
  "\"modelVersion\": \"gemini-2.5-flash\",\"responseId\": \"Bench0123456789Bench012\"}\r\n\r\n"

enum { GEMINI_LEAST = 8, GEMINI_MOST = 40 };

static void gemini_tail(struct bytes *to, const char *tail, size_t events) {
  size_t tokens = events * (GEMINI_LEAST + GEMINI_MOST) / 2;
  bytes_format(to, tail, tokens, tokens + 725);
}

static void gemini_event(struct bytes *to, size_t i, const struct text *t) {
  bytes_add(to, GEMINI_HEAD, sizeof GEMINI_HEAD - 1);
  bytes_add(to, t->p, t->n);
  gemini_tail(to, GEMINI_TAIL(""), i + 1);
}

static void gemini_end(struct bytes *to, size_t count) {
  bytes_add(to, GEMINI_HEAD, sizeof GEMINI_HEAD - 1);
  gemini_tail(to, GEMINI_TAIL("\"finishReason\": \"STOP\","), count);
}

const struct format gemini = {
  .path = ":streamGenerateContent",
  .stream_headers = "Content-Type: text/event-stream\r\nContent-Disposition: attachment\r\nVary: Origin\r\n"
    "Vary: X-Origin\r\nVary: Referer\r\nServer: scaffolding on HTTPServer2\r\nX-XSS-Protection: 0\r\n"
    "X-Frame-Options: SAMEORIGIN\r\nX-Content-Type-Options: nosniff\r\nServer-Timing: gfet4t7; dur=512\r\n"
    "Alt-Svc: h3=\":443\"; ma=2592000,h3-29=\":443\"; ma=2592000\r\n",
  .start = "",
  .least = GEMINI_LEAST, .most = GEMINI_MOST, .event = gemini_event, .end = gemini_end
};

/* --- Ollama --- */

#define LINE_HEAD "{\"model\":\"qwen3:4b\",\"created_at\":\"2026-08-21T10:%02zu:%02zu.%09zuZ\"," \
  "\"message\":{\"role\":\"assistant\",\"content\":\""

/* A line for every 40 ms. */
static void line_head(struct bytes *to, size_t i) {
  bytes_format(to, LINE_HEAD, i / 1500 % 60, i / 25 % 60, i * 40123457 % 1000000000);
}

static void ollama_event(struct bytes *to, size_t i, const struct text *t) {
  static const char tail[] = "\"},\"done\":false}\n";
  line_head(to, i);
  bytes_add(to, t->p, t->n);
  bytes_add(to, tail, sizeof tail - 1);
}

static void ollama_end(struct bytes *to, size_t count) {
  line_head(to, count);
  bytes_format(to, "\"},\"done\":true,\"done_reason\":\"stop\",\"total_duration\":1500000000,\"load_duration\":50000000,"
    "\"prompt_eval_count\":25,\"prompt_eval_duration\":100000000,\"eval_count\":%zu,\"eval_duration\":1300000000}\n",
    count);
}

const struct format ollama = {
  .path = "/api/chat",
  .stream_headers = "Content-Type: application/x-ndjson\r\n",
  .start = "",
  .least = 1, .most = 1, .event = ollama_event, .end = ollama_end
};

/* --- --- */

const struct format *format_of(const char *path) {
  static const struct format *const all[] = { &openai_chat, &openai_responses, &gemini, &ollama };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strstr(path, all[i]->path) != NULL) return all[i];
  return &anthropic;
}
