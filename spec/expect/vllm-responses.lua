-- vLLM's Responses as recorded, read by hand. The server was started without a reasoning parser: the tag
-- stays in the text. It stopped at max_output_tokens, yet says "completed".

return {
  ["length"] = {
    content = { { type = "text", text = "<think>\nOkay, the user wants me" } },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 14, output_tokens = 8, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "Qwen/Qwen3-0.6B", id = "resp_REDACTED_1", warnings = {},
  },
}
