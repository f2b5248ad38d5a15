-- Koine's client against Claude Code, as claude-agent-acp has it.

describe("claude-agent-acp", function()
  local spec = { before_each = before_each, after_each = after_each, it = it }
  require "spec.agents.turns" (spec, {
    preset = "claude", packages = "claude", name = "@agentclientprotocol/claude-agent-acp",
    tool = "Write", kind = "edit",
    input = function(directory) return { file_path = directory .. "/a.txt", content = "one\n" } end,
    options = function(world) return { env = { ANTHROPIC_BASE_URL = world.url, ANTHROPIC_API_KEY = "test-key" } } end,
  })
end)
