-- OpenRouter's Responses as recorded, read by hand. It ends with [DONE], which means nothing here.

return {
  ["stream-reasoning"] = {
    content = {
      { type = "thinking", thinking = "",
        raw = { length = 1260, starts = '{"id":"rs_067d9e9761f303', ends = '":"openai-responses-v1"}' } },
      { type = "text", text = "4" },
    },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 20, output_tokens = 19, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "openai/gpt-5-nano", id = "gen-1785882693-G0Ba9AGVEVeNhHohmw0g", warnings = {},
  },
}
