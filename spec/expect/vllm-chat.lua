-- vLLM's server as recorded, read by hand.

return {
  -- `stop_reason` beside finish_reason is vLLM's own: the token that ended the turn, no stop sequence of the caller's.
  ["reasoning-tool-call"] = {
    content = {
      { type = "thinking", thinking = "The user wants to know the weather in Paris. I'll call the " ..
        "get_weather function with \"Paris\" as the city." },
      { type = "tool_use", id = "chatcmpl-tool-bbb91941bf76335c", name = "get_weather",
        arguments = { city = "Paris" }, arguments_json = '{"city": "Paris"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 167, output_tokens = 37, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 25 },
    model = "zai/GLM-5.2", id = "chatcmpl-0eb1633433141700", warnings = {},
  },

  ["stream-usage"] = {
    content = { { type = "text", text = "1, 2, 3, 4, 5" } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 46, output_tokens = 14, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "meta-llama/Llama-3.3-70B-Instruct", id = "chatcmpl-bcfbe349402eb3d2", warnings = {},
  },

  ["text"] = {
    content = { { type = "text", text = "Why did the OpenTelemetry metric go to therapy?\n\nBecause it was " ..
      "feeling a little \"trapped\" in its logging function, and wanted to \"release\" its stress." } },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 43, output_tokens = 36 },
    model = "meta-llama/Llama-3.2-1B-Instruct", id = "chat-43f4347c3299481e9704ab77439fbdb8", warnings = {},
  },
}
