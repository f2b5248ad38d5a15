-- Claude through Amazon Bedrock's invoke as recorded, read by hand.

return {
  ["anthropic-stream-tool-use"] = {
    content = {
      { type = "tool_use", id = "toolu_bdrk_01KpJ8x9ZkJF1siAZacbjqPa", name = "weather",
        arguments = { location = "Florence, Italy" }, arguments_json = '{"location": "Florence, Italy"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 577, output_tokens = 54, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-haiku-4-5-20251001", id = "msg_bdrk_01NBUvvcS6aKrQB4TD7RpJZH", warnings = {},
  },

  ["anthropic-tool-use"] = {
    content = {
      { type = "tool_use", id = "toolu_bdrk_01Be1CWhLjkFwDBJNiHsRQjW", name = "weather",
        arguments = { location = "Florence, Italy" }, arguments_json = '{"location":"Florence, Italy"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 577, output_tokens = 54, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-haiku-4-5-20251001", id = "msg_bdrk_01VUYjtcfbdb6uPKH2Hn4j8v", warnings = {},
  },
}
