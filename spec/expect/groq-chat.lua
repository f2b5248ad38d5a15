-- Groq's chat as recorded, read by hand. A call that its parser rejects may come out right next time:
-- both errors advise to try again, and keep what the model wrote (failed_generation).

return {
  ["error-400-tool-use-failed"] = {
    error = { class = "RequestError", kind = "invalid_request", status_code = 400, code = "tool_use_failed",
      message = "parameters for tool get_something_by_name did not match schema", retryable = true,
      raw = '"failed_generation":"{\\"name\\": \\"get_something_by_name\\"' },
  },

  ["reasoning-json-schema"] = {
    content = {
      { type = "thinking", thinking = { length = 279, starts = "We need to produce a JSO",
        ends = "sure valid compact JSON." } },
      { type = "text", text = '{"lane":"canary","checks":{"compile":true,"replay":true},"risk":"low"}' },
    },
    stop_reason = "end_turn", raw_stop_reason = "stop",
    usage = { input_tokens = 260, output_tokens = 100, reasoning_tokens = 70 },
    model = "openai/gpt-oss-20b", id = "chatcmpl-REDACTED_1", warnings = {},
  },

  ["stream-error-tool-use-failed"] = {
    error = { class = "RequestError", kind = "invalid_request", status_code = 400, code = "tool_use_failed",
      message = "parameters for tool get_something_by_name did not match schema", retryable = true,
      raw = '"failed_generation":"{\\"name\\": \\"get_something_by_name\\"',
      partial_text = "", partial_thinking = { length = 412, starts = "We need to call the tool",
        ends = ': "test". Let\'s do that.' }, partial_usage = {} },
  },

  -- usage comes three times, twice on one chunk: the last one counts, nothing is added up.
  ["stream-parallel-tool-calls"] = {
    content = {
      { type = "text", text = "I'll perform both addition and multiplication on the numbers 2 and 3 for you." },
      { type = "tool_use", id = "functions.add:0", name = "add", arguments = { a = 2, b = 3 },
        arguments_json = '{"a":2,"b":3}' },
      { type = "tool_use", id = "functions.multiply:1", name = "multiply", arguments = { a = 2, b = 3 },
        arguments_json = '{"a":2,"b":3}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 201, output_tokens = 58 },
    model = "moonshotai/kimi-k2-instruct-0905", id = "chatcmpl-a74ad02f-fb60-461d-8042-24ab0b962b51", warnings = {},
  },
}
