-- OpenRouter's chat as recorded, read by hand.

local function citation(url, title, length, starts, ends)
  return { type = "url_citation", url_citation = { url = url, title = title, start_index = 0, end_index = 0,
    content = { length = length, starts = starts, ends = ends } } }
end

return {
  ["error-429"] = {
    error = { class = "RateLimitError", kind = "rate_limit", status_code = 429, code = "429",
      message = "Provider returned error", retryable = true,
      raw = "google/gemini-2.0-flash-exp:free is temporarily rate-limited upstream." },
  },

  -- The annotations come on five chunks before the text that they belong to.
  ["stream-annotations"] = {
    content = { { type = "text", text = "The URL for Pydantic AI's GitHub repository is:  \n\n" ..
      "https://github.com/pydantic/pydantic-ai", raw = { annotations = {
        citation("https://github.com/pydantic/pydantic-ai", "AI Agent Framework, the Pydantic way - GitHub", 438,
          "# pydantic/pydantic-ai\n\n", "lows with Generative AI."),
        citation("https://pydantic.dev/pydantic-ai", "", 800, "Get started: https://pyd",
          "antic.\n\n...\n\n/\n\n...\n\n```"),
        citation("https://github.com/pydantic/pydantic-ai/releases/tag/v2.0.0", "v2.0.0 (2026-06-23)", 521,
          "- Tag: v2.0.0\n- Reposito", "l it with:\n\n...\n\n```bash"),
        citation("https://pydantic.dev/docs/ai/overview/", "Pydantic AI | Pydantic Docs", 625,
          "# Pydantic AI\n\n...\n\nPyda", ", tool search, and more;"),
        citation("https://github.com/pydantic/pydantic-ai/tree/refs/tags/v1.44.0",
          "GitHub - pydantic/pydantic-ai at refs/tags/v1.44.0 · GitHub", 236,
          "GitHub - pydantic/pydant", "lows with Generative AI."),
      } } } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 2317, output_tokens = 53, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "deepseek/deepseek-chat", id = "gen-1786680764-gY2YTdjLLLQA6Cd1Wa6J", warnings = {},
  },

  -- A finish_reason came twice before it, but an error inside a chunk is the end of the turn. The same chunk
  -- says what was used.
  ["stream-error-in-chunk"] = {
    error = { class = "RequestError", kind = "invalid_request", status_code = 400, code = "400",
      message = "Token limit reached", retryable = false, partial_text = "",
      partial_thinking = "We need to respond to a greeting. The user",
      partial_usage = { input_tokens = 43, output_tokens = 10, cache_read_tokens = 0, cache_creation_tokens = 0,
        reasoning_tokens = 11 } },
  },

  -- The fragments of reasoning_details are one entry when they go back, the signature among them.
  ["stream-reasoning-details-tool"] = {
    content = {
      { type = "thinking", thinking = { length = 211, starts = "The user is asking for t",
        ends = "ion with this parameter." }, raw = { reasoning_details = { { type = "reasoning.text", index = 0,
          format = "anthropic-claude-v1", text = { length = 211, starts = "The user is asking for t",
            ends = "ion with this parameter." }, signature = { length = 512, starts = "EvsCCkgIEBABGAIqQNe/6uRt",
            ends = "/XVzEF8zBSKd8GV7VM+Y/RgB" } } } } },
      { type = "tool_use", id = "toolu_bdrk_01L9pX1Wp4FAEq9TT2Z6UAe7", name = "reasoning_weather",
        arguments = { city = "Berlin" }, arguments_json = '{"city": "Berlin"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 626, output_tokens = 106, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 54 },
    model = "anthropic/claude-haiku-4.5", id = "gen-1786403070-P09zUfOhE2qt2A6q4btq", warnings = {},
  },

  -- White space came before the JSON, to keep the connection alive.
  ["structured-output"] = {
    content = { { type = "text", text = '{"name":"John","age":30}' } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 181, output_tokens = 12, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "anthropic/claude-4.5-haiku-20251001", id = "gen-1780944394-OXuT7c1IQo0LPTk4GNI3", warnings = {},
  },
}
