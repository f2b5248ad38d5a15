-- DeepSeek's Responses as recorded, read by hand. Reasoning is not sealed: its item has the text itself.

return {
  ["stream-function-call"] = {
    content = {
      { type = "thinking", thinking = "The user asks about temperature in Tokyo. I'll call the tool.",
        raw = { length = 207, starts = '{"type":"reasoning","id"', ends = 'e tool."}],"summary":[]}' } },
      { type = "tool_use", id = "call_00_xjY8Z2BvSlzgEmmw0DtH0464", name = "get_temperature",
        arguments = { city = "Tokyo" }, arguments_json = '{"city": "Tokyo"}',
        raw = '{"id":"62bf2bb7-56af-4e3a-883b-83d4aad54da1"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "completed",
    usage = { input_tokens = 110, output_tokens = 59, cache_read_tokens = 256, cache_creation_tokens = 0,
      reasoning_tokens = 14 },
    model = "deepseek-v4-flash", id = "1235b7ba-fdc9-4a1c-bfe4-6137c207baf3", warnings = {},
  },
}
