-- What the specs of sessions share: scripted adapters, executors and inputs.

local agent_kit = require "spec.lua.agent.kit"
local koine = require "koine"

local kit = {}

--- What f raises; fails when it raises nothing.
kit.raised = require "spec.support.raised"

--- A playbook of turns (the playbook's fields of a "turn").
function kit.play(turns) return koine.testing.playbook { model = "m-1", steps = agent_kit.steps(turns) } end

--- A tool call as a block.
function kit.call(id, name, arguments)
  return { type = "tool_use", id = id, name = name, arguments = arguments or {} }
end

--- A call of bash.
function kit.bash(id, command) return kit.call(id, "bash", { command = command }) end

--- An executor that answers every call with f(name, input, ctx).
function kit.answering(f) return { run = f } end

--- The kinds of events, in words.
kit.kinds = agent_kit.kinds

--- The inputs of a session in a directory, with others in the place of the usual ones.
function kit.inputs(workdir, given)
  local all = { workdir = workdir, role = "implementor", model = "m-1", allowed_tools = {}, prompt = "Do it.",
    context_files = {} }
  for name, value in pairs(given or {}) do all[name] = value end
  return all
end

return kit
