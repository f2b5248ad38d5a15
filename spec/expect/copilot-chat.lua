-- Copilot's chat as recorded, read by hand. Two of its streams carry no usage at all: no count is known.

return {
  -- One turn over two choices: the text in the first, the call in the second.
  ["claude-split-choices"] = {
    content = {
      { type = "text", text = "I'll check the current weather for both London and Paris for you." },
      { type = "tool_use", id = "tooluse_0QuujwyeSCGpbfteXu-sHw", name = "weather",
        arguments = { location = "London, UK", units = "celsius" },
        arguments_json = '{"location":"London, UK","units":"celsius"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 900, output_tokens = 85 },
    model = "Claude 3.7 Sonnet", id = "dcc4a669-b0fa-43fe-b631-aab3ae206fc9", warnings = {},
  },

  -- 6009 + 31 + 92 = 6132 tokens in total: completion_tokens leaves the reasoning out, output_tokens includes it.
  ["stream-reasoning-text-opaque"] = {
    content = {
      { type = "thinking", thinking = { length = 641, starts = "**Discovering Update Sco",
        ends = "y subsequent actions.\n\n\n" }, raw = { reasoning_opaque = { length = 1468,
          starts = "lgxMQq0m/J6cVjsaH8bbfhxH", ends = "aZylmtZAegqa/4+bo89c67qV" } } },
      { type = "text", text = "I will search for the `quotes.lua` file to locate it within the repository.\n" },
      { type = "tool_use", id = "call_MHxoeW9qWnVicVd6R0FkMFZ3UWw", name = "file_search",
        arguments = { query = "**/quotes.lua" }, arguments_json = '{"query":"**/quotes.lua"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 6009, output_tokens = 123, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 92 },
    model = "gemini-3-pro-preview", id = "takfaZb8F-DrlOoPh4G-2AU", warnings = {},
  },

  ["stream-text"] = {
    content = { { type = "text", text = "The sky is blue because molecules in the Earth's atmosphere scatter " ..
      "shorter blue wavelengths of sunlight more than longer red wavelengths." } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = {},
    model = "gpt-4.1-mini-2025-04-14", id = "chatcmpl-DSgf4kfcwx2q0peoo1ovLYXvV9odT", warnings = {},
  },

  ["stream-tool-call"] = {
    content = { { type = "tool_use", id = "call_YC2QMIr5bbEvqMl96iKr7oCN", name = "get_weather",
      arguments = { city = "Paris", country = "France", unit = "C" },
      arguments_json = '{"city":"Paris","country":"France","unit":"C"}' } },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = {},
    model = "gpt-4.1-mini-2025-04-14", id = "chatcmpl-DSgf4WCbRdt14SIbuFLRFObCWGpyJ", warnings = {},
  },
}
