-- Claude behind Copilot's Messages address as recorded, read by hand.

return {
  ["tool-use"] = {
    content = {
      { type = "text", text = "I'll check the current weather in Tokyo for you." },
      { type = "tool_use", id = "toolu_bdrk_015V18wN95yDNKVKs8yXLUdD", name = "get_weather",
        arguments = { location = "Tokyo" }, arguments_json = '{\n        "location": "Tokyo"\n      }' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 1080, output_tokens = 65, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-20250514", id = "msg_bdrk_01TJg47gRyGaW5paPAZkPVVe", warnings = {},
  },
}
