--- Helpers of the specs of agents: playbooks of answers, a tool that adds, and what must hold of a history.

local core = require "koine.core"
local koine = require "koine"

local kit = {}

--- Answers (the playbook's fields of an "answer") as the steps of a playbook.
function kit.steps(answers)
  local steps = {}
  for i, answer in ipairs(answers) do
    local step = { step = i, type = "answer" }
    for name, value in pairs(answer) do step[name] = value end
    steps[i] = step
  end
  return steps
end

--- A playbook of answers.
function kit.play(...) return koine.testing.playbook(kit.steps { ... }) end

--- A call of a tool, "add" unless said otherwise.
function kit.use(id, arguments, name)
  return { type = "tool_use", id = id, name = name or "add", arguments = arguments or { a = 2, b = 3 } }
end

--- An answer of these calls.
function kit.calls(...) return { content = { ... } } end

local function merged(given, more)
  for name, value in pairs(more or {}) do given[name] = value end
  return given
end

--- The tool "add", with another function behind it and further fields.
function kit.add(run, more)
  return koine.tool(merged({ name = "add", description = "Adds.", example = { a = 1, b = 1 },
    run = run or function(args) return args.a + args.b end }, more))
end

--- An agent of a playbook that can add.
function kit.make(book, more) return koine.agent(merged({ adapter = book, tools = { kit.add() } }, more)) end

--- The kinds of events, in words.
function kit.kinds(events)
  local list = {}
  for i, event in ipairs(events) do list[i] = event.kind end
  return table.concat(list, " ")
end

--- The roles of messages, in words.
function kit.roles(messages)
  local list = {}
  for i, message in ipairs(messages) do list[i] = message.role end
  return table.concat(list, " ")
end

--- Raises unless the messages are a history that can be sent, each call with one result in the next message.
function kit.check_history(messages)
  core.check { model = "m", messages = messages }
  local waiting = {}
  for _, message in ipairs(messages) do
    assert(message.role == "user" or next(waiting) == nil, "an assistant's answer before the results")
    for _, block in ipairs(type(message.content) == "table" and message.content or {}) do
      if block.type == "tool_use" then waiting[block.id] = true end
      if block.type == "tool_result" then
        assert(waiting[block.tool_use_id], "a result without a call")
        waiting[block.tool_use_id] = nil
      end
    end
  end
  assert(next(waiting) == nil, "a call without a result")
end

--- The error that f raises; raises when it raises none.
kit.raised = require "spec.support.raised"

--- The blocks of a message as "type:what".
function kit.shape(message)
  local list = {}
  for i, block in ipairs(message.content) do
    list[i] = block.type .. ":" .. tostring(block.text or block.name or block.content)
  end
  return table.concat(list, ", ")
end

return kit
