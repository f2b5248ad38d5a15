-- Responses at Amazon Bedrock's Mantle as recorded, read by hand. Every call is call_0; what was written
-- to the cache is among the input's tokens.

return {
  ["function-call"] = {
    content = { { type = "tool_use", id = "call_0", name = "first_tool", arguments = {}, arguments_json = "{}",
      raw = true } },
    stop_reason = "tool_use", raw_stop_reason = "completed",
    usage = { input_tokens = 2, output_tokens = 14, cache_read_tokens = 0, cache_creation_tokens = 86,
      reasoning_tokens = 0 },
    model = "openai.gpt-5.6-luna", id = "resp_43amfn3g3uar3i4sa5b7sz35cukuufaisldkwel5v6o47xzpr5va", warnings = {},
  },

  ["structured-output"] = {
    content = { { type = "text", text = '{"city":"Paris","country":"France"}', raw = true } },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 44, output_tokens = 16, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "openai.gpt-5.6-luna", id = "resp_k7acerw4pzsquik6falx3lsftcuowamgfxtz72ytz6j7kbwetogq", warnings = {},
  },
}
