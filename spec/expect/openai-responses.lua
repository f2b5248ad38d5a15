-- OpenAI's Responses as recorded, read by hand. Reasoning is kept as its item was when it was done; a
-- call keeps the id of its item, a text its phase and citations. input_tokens_details without cache_write_tokens means
-- that nothing was written to a cache.

return {
  -- Reasoning, a hosted tool, more reasoning: all of it goes back, in this order.
  ["code-interpreter"] = {
    content = {
      { type = "thinking", thinking = { length = 443, starts = "**Calculating expression",
        ends = "my Python tool for this." },
        raw = { length = 1847, starts = '{"encrypted_content":"gA', ends = 't"}],"type":"reasoning"}' } },
      { type = "opaque", kind = "code_interpreter_call",
        raw = { length = 304, starts = '{"code":"# compute the v', ends = '"code_interpreter_call"}' } },
      { type = "thinking", thinking = { length = 401, starts = "**Considering numeric re",
        ends = "e information they need!" },
        raw = { length = 1567, starts = '{"encrypted_content":"gA', ends = 't"}],"type":"reasoning"}' } },
      { type = "text", text = { length = 204, starts = "Using standard order of ",
        ends = "arentheses, let me know." } },
    },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 213, output_tokens = 125, cache_read_tokens = 1280, cache_creation_tokens = 0,
      reasoning_tokens = 64 },
    model = "gpt-5-2025-08-07", id = "resp_68cdba511c7081a389e67b16621029c609b7445677780c8f", warnings = {},
  },

  ["error-400-context"] = {
    error = { class = "RequestError", kind = "context_overflow", status_code = 400, code = "context_length_exceeded",
      message = "Your input exceeds the context window of this model.", retryable = false },
  },

  -- No summary: a block without text, so that what is sealed goes back.
  ["reasoning-encrypted-function-call"] = {
    content = {
      { type = "thinking", thinking = "",
        raw = { length = 1510, starts = '{\n      "id": "rs_0f4809', ends = '     "summary": []\n    }' } },
      { type = "tool_use", id = "call_uy7tfNVokIN7NjFF6k7OtLyl", name = "lookup_population",
        arguments = { country = "Pundora" }, arguments_json = '{"country":"Pundora"}',
        raw = '{"id":"fc_0f4809b27460351d0169fab21a34f08196b14c2bd71a22cd6a"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "completed",
    usage = { input_tokens = 94, output_tokens = 85, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 63 },
    model = "gpt-5.5-2026-04-23", id = "resp_0f4809b27460351d0169fab217db348196b980331b574f45c6", warnings = {},
  },

  -- A custom tool's call is no tool_use: its input is free text. The sealed content is the one of output_item.done, not
  -- the shorter one of output_item.added; response.completed has no output at all.
  ["stream-custom-tool"] = {
    content = {
      { type = "thinking", thinking = "",
        raw = { length = 1126, starts = '{"id":"rs_0d6d0acf28b8b1', ends = 'VSXVwGA==","summary":[]}' } },
      { type = "opaque", kind = "custom_tool_call",
        raw = { length = 363, starts = '{"id":"ctc_0d6d0acf28b8b', ends = 'n","name":"apply_patch"}' } },
    },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 358, output_tokens = 68, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 8 },
    model = "gpt-5.4-mini-2026-03-17", id = "resp_0d6d0acf28b8b1c4016a5fc92e85788191a277c928578bf3ab", warnings = {},
  },

  -- An error event, then response.failed with the same error: reported once, before anything was said.
  ["stream-failed-rate-limit"] = {
    error = { class = "RateLimitError", kind = "rate_limit", status_code = 429, code = "rate_limit_exceeded",
      message = "Request too large for gpt-4o", retryable = true, partial_text = "", partial_usage = {} },
  },

  ["stream-incomplete-max-tokens"] = {
    content = {
      { type = "thinking", thinking = "", raw = '{"content":[],"encrypted_content":"encrypted_content_REDACTED_2",'
        .. '"id":"rs_REDACTED_1","summary":[],"type":"reasoning"}' },
    },
    stop_reason = "max_tokens", raw_stop_reason = "max_output_tokens",
    usage = { input_tokens = 20, output_tokens = 32, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 32 },
    model = "gpt-5.6-sol", id = "resp_REDACTED_1", warnings = {}, degenerate = true,
  },

  -- Reasoning that shows nothing and is not sealed is no block: there is nothing to see and nothing to send back.
  ["stream-parallel-function-calls"] = {
    content = {
      { type = "tool_use", id = "call_inViAUr9eV0GDtyOywkCxp59", name = "add", arguments = { a = 2, b = 3 },
        arguments_json = '{"a":2,"b":3}', raw = '{"id":"fc_0a7836d50cf181dd016a3c12307fa481a1a06adb8b03345a43"}' },
      { type = "tool_use", id = "call_Op66UUnzuOoKmgGeFJQJFTUY", name = "multiply", arguments = { a = 2, b = 3 },
        arguments_json = '{"a":2,"b":3}', raw = '{"id":"fc_0a7836d50cf181dd016a3c12307fc081a1affc9e4960f41492"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "completed",
    usage = { input_tokens = 109, output_tokens = 223, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 128 },
    model = "gpt-5-2025-08-07", id = "resp_0a7836d50cf181dd016a3c122cf3b881a1947fb8d49897cfca", warnings = {},
  },

  ["stream-phase"] = {
    content = {
      { type = "thinking", thinking = "",
        raw = { length = 1210, starts = '{"id":"rs_0fabc13af1ee00', ends = 'UcqGK8PU=","summary":[]}' } },
      { type = "text", text = "I’ll check the capital lookup tool for “PotatoLand.”", raw = '{"phase":"commentary"}' },
      { type = "tool_use", id = "call_LabG58Uhrq9kZvR52BYKjToD", name = "get_capital",
        arguments = { country = "PotatoLand" }, arguments_json = '{"country":"PotatoLand"}',
        raw = '{"id":"fc_0fabc13af1ee0049006a691dff0c1481a1b4a0eec7e3c753bb"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "completed",
    usage = { input_tokens = 63, output_tokens = 69, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 26 },
    model = "gpt-5.5-2026-04-23", id = "resp_0fabc13af1ee0049006a691dfdab8881a1a75f2db7ff78cb83", warnings = {},
  },

  ["stream-reasoning-summary-tool"] = {
    content = {
      { type = "thinking", thinking = { length = 424, starts = "**Getting weather info**",
        ends = "and see what it returns!" },
        raw = { length = 2161, starts = '{"id":"rs_017e85da2ae23b', ends = 'see what it returns!"}]}' } },
      { type = "tool_use", id = "call_zgUaIBRPTwxxOusyyKw5NVMH", name = "weather",
        arguments = { location = "Florence, Italy" }, arguments_json = '{"location":"Florence, Italy"}',
        raw = '{"id":"fc_017e85da2ae23b69016a3c12560820819db3b6e8a38dddad65"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "completed",
    usage = { input_tokens = 63, output_tokens = 121, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 64 },
    model = "gpt-5-2025-08-07", id = "resp_017e85da2ae23b69016a3c12518cc0819da56cbbdd33f128f3", warnings = {},
  },

  ["stream-refusal"] = {
    content = { { type = "refusal", text = "I'm sorry, I can't assist with that." } },
    stop_reason = "refusal", raw_stop_reason = "completed",
    usage = { input_tokens = 43, output_tokens = 11, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-4o-2024-08-06", id = "resp_REDACTED_1", warnings = {},
  },

  -- With a schema for the answer: text, and the same grammar of deltas.
  ["stream-structured-output"] = {
    content = { { type = "text", text = '{"title":"Seattle Rust Meetup","category":"Technology","summary":"A local ' ..
      'meetup for Seattle-area Rust developers to share projects, learn, and connect."}',
      raw = '{"phase":"final_answer"}' } },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 55, output_tokens = 40, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-5.6-sol", id = "resp_REDACTED_1", warnings = {},
  },

  ["stream-text"] = {
    content = { { type = "text", text = "pong", raw = '{"phase":"final_answer"}' } },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 11, output_tokens = 5, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-5.5-2026-04-23", id = "resp_00592e63e61b66660169fab1b9f8e481a2b321356198d7ac1b", warnings = {},
  },

  ["stream-web-search"] = {
    content = {
      { type = "opaque", kind = "web_search_call",
        raw = { length = 225, starts = '{"id":"ws_0200025d411b05', ends = 'ulation of Tokyo 2024"}}' } },
      { type = "text", text = { length = 643, starts = "Here is the most recent ", ends = " that breakdown as well." },
        raw = { annotations = { { type = "url_citation", start_index = 239, end_index = 333, title = "東京都の統計",
          url = "https://www.toukei.metro.tokyo.lg.jp/index.htm?utm_source=openai" } } } },
    },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 17407, output_tokens = 164, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "gpt-4.1-2025-04-14", id = "resp_0200025d411b0585016a3c13b4018c81a3852ca4fd5be2b6a6", warnings = {},
  },

  -- 704 tokens of reasoning without a summary: sealed, and nothing to read.
  ["structured-output"] = {
    content = {
      { type = "thinking", thinking = "",
        raw = { length = 5947, starts = '{\n      "id": "rs_0dea44', ends = '     "summary": []\n    }' } },
      { type = "text", text = '{"name":"John","age":30}' },
    },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 45, output_tokens = 752, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 704 },
    model = "gpt-5-nano-2025-08-07", id = "resp_0dea447b27612a1f016a85bf0e4378819296923e2ebbe844fd", warnings = {},
  },
}
