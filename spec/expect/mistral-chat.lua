-- Mistral's chat as recorded, read by hand. `closed` on a thinking part goes back with it.

local THOUGHT = "The user is asking for the product of 12 multiplied by 12. I know that 12 times 12 is a basic " ..
  "multiplication fact. Let me calculate it:\n\n12 * 12 = 144\n\nSo, the answer is 144."

return {
  ["error-401"] = {
    error = { class = "AuthenticationError", kind = "auth", status_code = 401, message = "Invalid API Key",
      retryable = false },
  },

  ["stream-thinking"] = {
    content = {
      { type = "thinking", thinking = THOUGHT, raw = { closed = true } },
      { type = "text", text = "144" },
    },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 31, output_tokens = 66, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "mistral-small-latest", id = "7bfa9194c90e44c5a0efa6c6efa474cd", warnings = {},
  },

  ["stream-tool-call"] = {
    content = { { type = "tool_use", id = "g6fVbXS8K", name = "weather",
      arguments = { latitude = "52.5200", longitude = "13.4050" },
      arguments_json = '{"latitude": "52.5200", "longitude": "13.4050"}' } },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 31, output_tokens = 28, cache_read_tokens = 128, cache_creation_tokens = 0 },
    model = "mistral-small-latest", id = "95e349e3e7c04cc6b2c1700095d121f7", warnings = {},
  },

  ["structured-output"] = {
    content = { { type = "text",
      text = '{"lane": "canary", "checks": {"compile": true, "replay": true}, "risk": "low"}' } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 32, output_tokens = 29, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "mistral-small-latest", id = "chatcmpl-REDACTED_1", warnings = {},
  },

  ["thinking"] = {
    content = {
      { type = "thinking", thinking = THOUGHT, raw = { closed = true } },
      { type = "text", text = "144" },
    },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 31, output_tokens = 66, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "mistral-small-latest", id = "d7b2378a64784d2ebc93af4e8567fcd4", warnings = {},
  },
}
