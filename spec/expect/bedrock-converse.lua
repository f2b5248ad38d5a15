-- Amazon Bedrock's Converse as recorded, read by hand. An answer has no id of its own: it is the
-- request's, which not every recorder kept. Cached tokens are not among the input's.

return {
  ["cache-write"] = {
    content = { { type = "text", text = "21" } },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 2, output_tokens = 5, cache_read_tokens = 0, cache_creation_tokens = 1322 },
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", warnings = {},
  },

  ["cache-read"] = {
    content = { { type = "text", text = "21" } },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 2, output_tokens = 5, cache_read_tokens = 1322, cache_creation_tokens = 0 },
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", warnings = {},
  },

  ["error-400-context"] = {
    error = { class = "RequestError", kind = "context_overflow", status_code = 400, code = "Validation",
      message = "Input Tokens Exceeded", retryable = false },
  },

  ["error-403-token"] = {
    error = { class = "AuthenticationError", kind = "auth", status_code = 403, code = "UnrecognizedClient",
      message = "The security token included in the request is invalid.", retryable = false },
  },

  ["error-404-model-retired"] = {
    error = { class = "RequestError", kind = "not_found", status_code = 404, code = "ResourceNotFound",
      message = "This model version has reached the end of its life.", retryable = false },
  },

  -- The recorder dropped the header with the type: the words have to do.
  ["stream-error-400-before-frames"] = {
    error = { class = "RequestError", kind = "not_found", status_code = 400,
      message = "The provided model identifier is invalid.", retryable = false },
  },

  ["guardrail-intervened"] = {
    content = { { type = "text", text = "Blocked by guardrail." } },
    stop_reason = "sensitive", raw_stop_reason = "guardrail_intervened",
    usage = { input_tokens = 0, output_tokens = 0 },
    model = "amazon.nova-lite-v1:0", id = "req_REDACTED_1", warnings = {},
  },

  -- gpt-oss says an empty text first, which is no block.
  ["stream-empty-text-then-reasoning"] = {
    content = {
      { type = "thinking", thinking = "The user just says \"Hi\". We need to respond appropriately, friendly greeting. "
        .. "No special instructions. Should be short." },
      { type = "text", text = "Hello! How can I help you today?" },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 70, output_tokens = 43 },
    model = "openai.gpt-oss-120b-1:0", warnings = {},
  },

  ["stream-redacted-thinking"] = {
    content = {
      { type = "redacted_thinking", data = { length = 1080, starts = "RXRrRUNrZ0lCeEFCR0FJcVFK",
        ends = "MmpONnVpT1BPcDhuc0JnQg==" } },
      { type = "redacted_thinking", data = { length = 752, starts = "RXFBRENrZ0lCeEFCR0FJcVFC",
        ends = "K1FsSTNPSWh3ZUo4SVlBUT09" } },
      { type = "text", text = { length = 359, starts = "I notice you've sent wha",
        ends = "ike to talk about today?" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 92, output_tokens = 253 },
    model = "us.anthropic.claude-3-7-sonnet-20250219-v1:0", warnings = {},
  },

  -- The number comes as 2161 and 000}.
  ["stream-structured-output"] = {
    content = { { type = "text", text = '{"city":"Paris","country":"France","population":2161000}' } },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 210, output_tokens = 18 },
    model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0", warnings = {},
  },

  ["stream-thinking-signature"] = {
    content = {
      { type = "thinking", signature = { length = 496, starts = "Eu0CCkgIBxABGAIqQJDccbDQ",
        ends = "EXWJGtiQLMIm1o471iEYAQ==" },
        thinking = "The user has greeted me with a simple \"Hello\". I should respond in a friendly and welcoming "
        .. "manner. This is a straightforward greeting, so I'll respond warmly and ask how I can help them today." },
      { type = "text", text = "Hello! It's nice to meet you. How can I help you today?" },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 36, output_tokens = 73 },
    model = "us.anthropic.claude-sonnet-4-20250514-v1:0", warnings = {},
  },

  -- Nova writes its thoughts as <thinking> into the text, here cut into <thinking and >.
  ["stream-two-tool-calls"] = {
    content = {
      { type = "thinking", thinking = " I need to call both `lookup_harbor_label` and `lookup_orchard_label` tools to "
        .. "get the required information. Once I have the results, I can respond directly with both outputs. " },
      { type = "tool_use", id = "tooluse_REDACTED_1", name = "lookup_harbor_label", arguments = {},
        arguments_json = "{}" },
      { type = "tool_use", id = "tooluse_REDACTED_2", name = "lookup_orchard_label", arguments = {},
        arguments_json = "{}" },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 523, output_tokens = 72 },
    model = "amazon.nova-lite-v1:0", warnings = {},
  },

  ["structured-output"] = {
    content = { { type = "text", text = '{"name":"John","age":30}' } },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 181, output_tokens = 12, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "us.anthropic.claude-haiku-4-5-20251001-v1:0", id = "6051419a-50b5-4186-a544-4f04c0759994", warnings = {},
  },

  ["thinking-tool-use"] = {
    content = {
      { type = "thinking", signature = { length = 252, starts = "ErcBCkgIBhABGAIiQDYN+P1S",
        ends = "pual3pUdT/0e7khyIxXkGAI=" }, thinking = { length = 306, starts = "The user is asking for t",
        ends = "st city in that country." } },
      { type = "text", text = "I'll need to check what country you're from to answer that question." },
      { type = "tool_use", id = "tooluse_W9DaUFg4Tj2cRPpndqxWSg", name = "get_user_country", arguments = {},
        arguments_json = "{}" },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 397, output_tokens = 130, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "us.anthropic.claude-3-7-sonnet-20250219-v1:0", warnings = {},
  },
}
