-- xAI's chat as recorded, read by hand. 466 + 68 + 266 = 800 tokens in total: completion_tokens leaves
-- the reasoning out.

return {
  ["stream-reasoning-tools"] = {
    content = {
      { type = "thinking", thinking = 'The user asked to "Add and multiply the number 2 and 3". The system ' ..
        'prompt says: "Always use both add and multiply at the same time."\n' },
      { type = "tool_use", id = "call_47876210", name = "add", arguments = { a = 2, b = 3 },
        arguments_json = '{"a":2,"b":3}' },
      { type = "tool_use", id = "call_97132951", name = "multiply", arguments = { a = 2, b = 3 },
        arguments_json = '{"a":2,"b":3}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_calls",
    usage = { input_tokens = 274, output_tokens = 334, cache_read_tokens = 192, cache_creation_tokens = 0,
      reasoning_tokens = 266 },
    model = "grok-code-fast-1", id = "34fd1eff-a2d7-3ed8-5cf5-1ff1333419bd", warnings = {},
  },
}
