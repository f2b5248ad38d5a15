-- llama.cpp's server as recorded, read by hand. Its `code` is the status; `type` says what is wrong.

return {
  ["error-400-context-stream"] = {
    error = { class = "RequestError", kind = "context_overflow", status_code = 400, code = "exceed_context_size_error",
      message = "request (2009 tokens) exceeds the available context size (512 tokens)", retryable = false },
  },

  ["error-500-tools"] = {
    error = { class = "ServerError", kind = "server", status_code = 500, code = "server_error",
      message = "tools param requires --jinja flag", retryable = true },
  },

  -- A JSON object was asked for, and the model fenced one: text, as it came.
  ["json-object-not-enforced"] = {
    content = { { type = "text", text = '```json\n{\n  "city": "Paris"\n}\n```' } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 1, output_tokens = 18, cache_read_tokens = 22, cache_creation_tokens = 0 },
    model = "/REDACTED_PATH/Qwen3-1.7B-Q4_K_M.gguf", id = "chatcmpl-REDACTED_1", warnings = {},
  },

  ["stream-reasoning-tool-call"] = {
    content = {
      { type = "thinking", thinking = "User wants weather in Florence, Italy. We can use the weather function." },
      { type = "tool_use", id = "g2KOIWzn722hzEaZQmNVP4roUPEiYafL", name = "weather",
        arguments = { location = "Florence, Italy" }, arguments_json = '{"location":"Florence, Italy"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 139, output_tokens = 41 },
    model = "openai/gpt-oss-20b", id = "chatcmpl-lz25qRqbjeLO8nbwF4DJYJQc7KjZrG2z", warnings = {},
  },
}
