-- Claude on Vertex AI as recorded, read by hand. Its data lines have blanks before their last brace.

return {
  ["stream-tool-use"] = {
    content = {
      { type = "text",
        text = "I'll help you check the weather in Florence, Italy. Let me get that information for you right away." },
      { type = "tool_use", id = "toolu_vrtx_01JhPy9eXqgjLWmUpoCiEkCs", name = "weather",
        arguments = { location = "Florence,Italy" }, arguments_json = '{"location": "Florence,Italy"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 394, output_tokens = 76, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-3-7-sonnet-20250219", id = "msg_vrtx_015NhGGaKxyd2YQNDWYkNqXk", warnings = {},
  },
}
