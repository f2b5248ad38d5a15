--- Canned playbooks for smoke tests: name → array of steps, as koine.testing.playbook takes them. Plain data.

local HAIKU = "Curly braces fall / one tongue carries every voice / moonlight, written small"

return {
  smoke_text = {
    { step = 1, type = "message", content = "Hello! How can I help you today?" },
  },

  smoke_tool_use = {
    { step = 1, type = "tool_calls", content = "Let me add these numbers.",
      tool_calls = { { id = "call_smoke_add", name = "add", arguments = { a = 2, b = 3 } } } },
  },

  smoke_thinking = {
    { step = 1, type = "message", thinking = "17 times 24: 17 times 20 is 340, 17 times 4 is 68, together 408.",
      content = "17 × 24 = 408" },
  },

  smoke_usage = {
    { step = 1, type = "message", content = "A reply, to see what the usage report says after it." },
  },

  smoke_pricing = {
    { step = 1, type = "message", content = HAIKU },
  },

  smoke_cache = {
    { step = 1, type = "message", content = "The first call writes the prompt to the cache." },
    { step = 2, type = "message", content = "The second call reads it from there." },
  },
}
