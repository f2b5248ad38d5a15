-- OpenAI's Chat Completions as recorded, read by hand. prompt_tokens_details without cache_write_tokens
-- means that nothing was written to a cache.

return {
  ["cached-tokens"] = {
    content = { { type = "text", text = { length = 1951, starts = "1. **Open-Source Library",
      ends = "ously deemed unsolvable." } } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 125, output_tokens = 353, cache_read_tokens = 1024, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-4o-mini-2024-07-18", id = "chatcmpl-BNi420iFNtIOHzy8Gq2fVS5utTus7", warnings = {},
  },

  ["error-400-validation"] = {
    error = { class = "RequestError", kind = "invalid_request", status_code = 400, code = "decimal_above_max_value",
      message = "Invalid 'temperature': decimal above maximum value.", retryable = false },
  },

  -- Cut off in the middle of the arguments: what came is kept as text, never as a call that could be executed.
  ["stream-length-in-tool-arguments"] = {
    content = { { type = "tool_use", id = "call_REDACTED_1", name = "file_report", arguments = {},
      arguments_json = '{"summary":"The cache warmer raced', arguments_error = true } },
    stop_reason = "max_tokens", raw_stop_reason = "length",
    usage = { input_tokens = 101, output_tokens = 16, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-4.1-mini-2025-04-14", id = "chatcmpl-REDACTED_1", warnings = {},
  },

  ["stream-parallel-tool-calls"] = {
    content = {
      { type = "tool_use", id = "call_ehIWdjL1abZk1h8FWGLQ0Hie", name = "add", arguments = { a = 2, b = 3 },
        arguments_json = '{"a": 2, "b": 3}' },
      { type = "tool_use", id = "call_fBSgA47J5VeONggizTIvl7AH", name = "multiply", arguments = { a = 2, b = 3 },
        arguments_json = '{"a": 2, "b": 3}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 106, output_tokens = 50, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-4o-2024-08-06", id = "chatcmpl-DuLdMEdkw5VsZSxKY3i9G934hT7LM", warnings = {},
  },

  ["stream-refusal"] = {
    content = { { type = "refusal", text = "I'm very sorry, but I can't assist with that." } },
    stop_reason = "refusal", raw_stop_reason = "stop",
    usage = { input_tokens = 49, output_tokens = 12, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-4o-2024-08-06", id = "chatcmpl-REDACTED_1", warnings = {},
  },

  ["stream-text-usage-chunk"] = {
    content = { { type = "text", text = "Olá!" } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 19, output_tokens = 75, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 64 },
    model = "gpt-5-2025-08-07", id = "chatcmpl-DuLddZr4DRHJOM0r9PiSog78i9fIY", warnings = {},
  },

  ["text"] = {
    content = { { type = "text", text = "Olá!" } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 19, output_tokens = 139, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 128 },
    model = "gpt-5-2025-08-07", id = "chatcmpl-DuLdZDauwhFn5FZYgDe3D5LiXUlQW", warnings = {},
  },

  ["tool-call"] = {
    content = { { type = "tool_use", id = "call_gcwOMtZgMBLlxt6yBBUtJAXo", name = "weather",
      arguments = { location = "Florence, Italy" }, arguments_json = '{"location":"Florence, Italy"}' } },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 64, output_tokens = 25, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "o4-mini-2025-04-16", id = "chatcmpl-DuLeGZov85fGOLxUhGaG3N45Qhm4b", warnings = {},
  },

  ["structured-output"] = {
    content = { { type = "text", text = '{"word":"pong"}' } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 89, output_tokens = 5, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-4.1-nano-2025-04-14", id = "chatcmpl-REDACTED_1", warnings = {},
  },
}
