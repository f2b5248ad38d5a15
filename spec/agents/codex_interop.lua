-- Koine's client against Codex, as codex-acp has it.

local program = require "spec.interop.support.program"

-- The provider of this machine, for Codex. The model is one that Codex knows: it warns of others in its answers.
local CONFIG = [[
model = "gpt-5.5"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = "%s/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
]]

describe("codex-acp", function()
  local spec = { before_each = before_each, after_each = after_each, it = it }
  require "spec.agents.turns" (spec, {
    preset = "codex", packages = "codex", name = "@agentclientprotocol/codex-acp", tool = "exec_command",
    kind = "execute", model = "gpt-5.6-luna",
    -- A command within the sandbox runs unasked.
    input = function()
      return { cmd = "echo one | tee a.txt", sandbox_permissions = "require_escalated", justification = "May I?" }
    end,
    options = function(world)
      program.write(world.home .. "/config.toml", CONFIG:format(world.url))
      -- Its default mode has another model decide what may run.
      return { mode = "read-only", env = { CODEX_HOME = world.home, LOOPBACK_KEY = "test-key" } }
    end,
  })
end)
