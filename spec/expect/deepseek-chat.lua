-- DeepSeek's chat as recorded, read by hand.

return {
  ["error-400-context"] = {
    error = { class = "RequestError", kind = "context_overflow", status_code = 400, code = "invalid_request_error",
      message = "This model's maximum context length is 1048565 tokens.", retryable = false },
  },

  ["reasoning"] = {
    content = {
      { type = "thinking", thinking = "We need answer simple. 2+2=4. Just number." },
      { type = "text", text = "4" },
    },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 97, output_tokens = 17, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 15 },
    model = "deepseek-v4-flash", id = "2c181a80-6a33-49e6-8add-70999edef402", warnings = {},
  },

  ["stream-reasoning-parallel-tools"] = {
    content = {
      { type = "thinking", thinking = "The user wants weather and air quality for Tokyo. I need to call both tools " ..
        "in one turn since they're independent. Then provide a concise summary." },
      { type = "tool_use", id = "call_REDACTED_1", name = "get_weather", arguments = { city = "Tokyo" },
        arguments_json = '{"city": "Tokyo"}' },
      { type = "tool_use", id = "call_REDACTED_2", name = "get_air_quality", arguments = { city = "Tokyo" },
        arguments_json = '{"city": "Tokyo"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 108, output_tokens = 108, cache_read_tokens = 384, cache_creation_tokens = 0,
      reasoning_tokens = 30 },
    model = "deepseek-v4-flash", id = "chatcmpl-REDACTED_1", warnings = {},
  },

  ["stream-tool-call"] = {
    content = { { type = "tool_use", id = "call_00_A6fR64rW3nzZeNuJ64ZI0806", name = "best_language_to_learn",
      arguments = {}, arguments_json = "{}" } },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 112, output_tokens = 31, cache_read_tokens = 384, cache_creation_tokens = 0 },
    model = "deepseek-v4-flash", id = "9367c232-e60e-4511-96ff-51674bbe5a60", warnings = {},
  },
}
