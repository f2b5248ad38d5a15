-- Ollama's native API as recorded, read by hand: the increments of all lines joined, the counts of the
-- last. Without ids of its own (stream-tools) a call gets one that depends on the request and its place alone.

return {
  ["done-reason-length"] = {
    content = {
      { type = "text",
        text = { length = 281, starts = "I'm Qwen, a large langua", ends = "ow can I help you today?" } },
    },
    stop_reason = "max_tokens", raw_stop_reason = "length",
    usage = { input_tokens = 33, output_tokens = 57 },
    model = "qwen2.5:14b", warnings = {},
  },

  ["stream-cloud"] = {
    content = {
      { type = "text",
        text = { length = 216, starts = "The sky appears blue due", ends = "ths like red and orange." } },
    },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 21, output_tokens = 40 },
    model = "gemma3:4b", warnings = {},
  },

  ["stream-think-false-leak"] = {
    content = {
      { type = "text",
        text = { length = 1067, starts = "Okay, the user wants me ", ends = " x=2 and y=5.\n</think>\n\n" } },
      { type = "tool_use", id = "call_REDACTED_1", name = "subtract", arguments = { x = 2, y = 5 },
        arguments_json = '{"x":2,"y":5}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "stop",
    usage = { input_tokens = 237, output_tokens = 321 },
    model = "qwen3:4b", warnings = {},
  },

  ["stream-thinking-gpt-oss"] = {
    content = {
      { type = "thinking",
        thinking = { length = 225, starts = "The user says \"Test prom", ends = "No special instructions." } },
      { type = "text",
        text = "Sure thing! Let me know what you'd like to test or if there's anything specific you need." },
    },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 69, output_tokens = 76 },
    model = "gpt-oss", warnings = {},
  },

  ["stream-thinking-tool-call"] = {
    content = {
      { type = "thinking",
        thinking = { length = 2472, starts = "Okay, the user wants me ", ends = "ion name and arguments.\n" } },
      { type = "tool_use", id = "call_REDACTED_1", name = "lookup_harbor_label", arguments = {},
        arguments_json = '{}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "stop",
    usage = { input_tokens = 195, output_tokens = 575 },
    model = "qwen3:4b", warnings = {},
  },

  ["stream-thinking-two-tools"] = {
    content = {
      { type = "text",
        text = { length = 1906, starts = "Okay, the user wants me ", ends = " in sequence.\n</think>\n\n" } },
      { type = "tool_use", id = "call_REDACTED_1", name = "lookup_harbor_label", arguments = {},
        arguments_json = '{}' },
      { type = "tool_use", id = "call_REDACTED_2", name = "lookup_orchard_label", arguments = {},
        arguments_json = '{}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "stop",
    usage = { input_tokens = 262, output_tokens = 473 },
    model = "qwen3:4b", warnings = {},
  },

  ["stream-tools"] = {
    content = {
      { type = "tool_use", id = "call_5916d0be377141e7c2f2dfa7", name = "weather", arguments = { city = "Detroit" },
        arguments_json = '{"city":"Detroit"}' },
      { type = "tool_use", id = "call_781197c5ca3bb011efa8528e", name = "search",
        arguments = { query = "Detroit Tigers game time today" },
        arguments_json = '{"query":"Detroit Tigers game time today"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "stop",
    usage = { input_tokens = 218, output_tokens = 306 },
    model = "qwen3:14b", warnings = {},
  },

  ["structured-output-thinking"] = {
    content = {
      { type = "thinking",
        thinking = { length = 11480, starts = "We are summarizing the R", ends = "\n I think this is good.\n" } },
      { type = "text",
        text = { length = 216, starts = "{\n  \"title\": \"Memory-Saf", ends = "ime ownership checks.\"\n}" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 2340, output_tokens = 42 },
    model = "qwen3:4b", warnings = {},
  },

  ["thinking-tool-call"] = {
    content = {
      { type = "thinking",
        thinking = { length = 2093, starts = "Okay, the user is asking", ends = "ght, proceed with that.\n" } },
      { type = "tool_use", id = "call_REDACTED_1", name = "get_weather", arguments = { city = "Tokyo" },
        arguments_json = '{"city":"Tokyo"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "stop",
    usage = { input_tokens = 234, output_tokens = 535 },
    model = "qwen3:4b", warnings = {},
  },

  ["error-404-model"] = {
    error = { class = "RequestError", kind = "not_found", status_code = 404, retryable = false,
      message = "model 'nonexistent-model:latest' not found" },
  },
}
