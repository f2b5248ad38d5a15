-- Ollama's OpenAI-compatible chat as recorded, read by hand.

return {
  ["stream-reasoning-tool-call"] = {
    content = {
      { type = "thinking", thinking = "We need to call weather function with latitude and longitude. Provide " ..
        "as strings." },
      { type = "tool_use", id = "call_x7rn5sl5", name = "weather",
        arguments = { latitude = "52.5200", longitude = "13.4050" },
        arguments_json = '{"latitude":"52.5200","longitude":"13.4050"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 169, output_tokens = 55 },
    model = "gpt-oss:120b", id = "chatcmpl-873", warnings = {},
  },
}
