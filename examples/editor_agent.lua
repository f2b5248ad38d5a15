-- editor_agent.lua: an agent for editors that speak the Agent Client Protocol. The editor starts this program; Zed by
--   {"agent_servers": {"example": {"command": "lua5.4", "args": ["/path/to/editor_agent.lua"]}}}
-- It works on the files of the editor's project and asks before it changes one. See docs/acp-agent.md.
local koine = require "koine"

local MODELS = { { value = "anthropic/claude-sonnet-4-5", name = "Claude Sonnet 4.5" },
  { value = "openai/gpt-5", name = "GPT-5" } }

local clock = koine.tool { name = "clock", description = "The date and time.", title = "Look at the clock",
  run = function() return os.date "%c" end }

assert(koine.acp.serve {
  name = "example", title = "An example", version = "1.0",
  executor = "client",
  tools = { clock },
  modes = { { id = "ask", name = "Ask" }, { id = "auto", name = "Auto", description = "Asks for nothing." } },
  options = { { id = "model", name = "Model", category = "model", value = MODELS[1].value, choices = MODELS } },
  approval = function(name, args, session) return session.mode == "ask" and koine.executor.changes(name, args) end,
  agent = function(session)
    local adapter, err = koine.try(koine.adapter, session.options.model, { base_url = os.getenv "KOINE_BASE_URL" })
    if not adapter then return nil, err end
    return koine.agent { adapter = adapter, system = "You are a careful programmer in " .. session.cwd .. "." }
  end,
})
