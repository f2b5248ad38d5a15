-- Helpers of the specs of sessions: scripted adapters, executors and inputs.

local agent_kit = require "spec.lua.agent.kit"
local koine = require "koine"
local repository = require "spec.lua.system.repository"

local kit = {}

--- Returns the error that f raises; fails when it raises none.
kit.raised = require "spec.support.raised"

--- A playbook of answers (the playbook's fields of an "answer").
function kit.play(answers) return koine.testing.playbook { model = "m-1", steps = agent_kit.steps(answers) } end

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

--- For the tests of one file: open() makes a repository of two files and returns it, close() removes it;
-- inputs(given) is kit.inputs there, run(answers, given) a session of a playbook there: the result, the playbook.
function kit.bench()
  local bench, repo = {}, nil

  function bench.open()
    repo = repository.with { ["a.txt"] = "a\n", ["dir/c.txt"] = "c\n" }
    return repo
  end

  function bench.close() repo:close() end

  function bench.inputs(given) return kit.inputs(repo.dir, given) end

  function bench.run(answers, given)
    local book = kit.play(answers)
    return koine.session.run(book, bench.inputs(given)), book
  end

  return bench
end

return kit
