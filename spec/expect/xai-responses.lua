-- xAI's Responses as recorded, read by hand. Here output_tokens has the reasoning in it (199 + 160 =
-- 359).

return {
  ["error-400-key"] = {
    error = { class = "AuthenticationError", kind = "auth", status_code = 400, code = "invalid-argument",
      message = "Incorrect API key provided.", retryable = false },
  },

  ["stream-text"] = {
    content = {
      { type = "thinking", thinking = 'The user said: "Count from 1 to 3"\n',
        raw = { length = 983, starts = '{"id":"rs_006cb394-e479-', ends = 'AYepyIHTvazvGFu9n4aqXp"}' } },
      { type = "text", text = "1, 2, 3." },
    },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 71, output_tokens = 160, cache_read_tokens = 128, cache_creation_tokens = 0,
      reasoning_tokens = 152 },
    model = "grok-4.3", id = "006cb394-e479-972b-b41e-422dbefebb96", warnings = {},
  },
}
