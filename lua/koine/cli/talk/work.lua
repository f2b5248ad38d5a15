--- An agent at work in the terminal: writes what it says, names its calls, and asks the user before those that need
-- approval. `work.new` makes a worker, which remembers from task to task.

local json = require "koine.cli.json"
local koine = require "koine"
local terminal = require "koine.cli.terminal"
local writer = require "koine.cli.talk.writer"

local work = {}

local ANSWERS = { y = "yes", yes = "yes", n = "no", no = "no", a = "always", always = "always" }

-- The title of a call, as its tool says it.
local function title_of(tools, name, given)
  local tool = koine.tool.find(tools, name)
  local title = tool and tool.title
  if type(title) == "function" then
    local ok, text = pcall(title, given)
    title = ok and text or nil
  end
  return title or name
end

-- Asks on the terminal: "yes", "no" or "always".
local function ask(title)
  terminal.progress()
  while true do
    io.stderr:write("koine: allow: ", terminal.harmless(title), "? [y]es, [n]o, [a]lways: ")
    local line = io.read "l"
    if not line then
      io.stderr:write "\n"
      return "no"
    end
    local answer = ANSWERS[line:match("^%s*(.-)%s*$"):lower()]
    if answer then return answer end
  end
end

-- Decides the calls that wait.
local function decide(self, run, pending)
  for _, call in ipairs(pending) do
    local answer = terminal.input and ask(title_of(self.tools, call.name, call.arguments)) or "no"
    if answer == "always" then self.always[call.name] = true end
    if answer == "no" then
      run:deny(call.id, terminal.input and "the user said no" or "nobody can be asked; --yes allows it")
    else
      run:approve(call.id)
    end
  end
end

local function on_event(self)
  return function(event)
    if event.kind == "output" and self.writes == "whole" then
      terminal.answer(event.content)
      terminal.end_line()
    elseif event.kind == "tool_call" then
      terminal.say("%s", title_of(self.tools, event.tool_name, json.decode(event.tool_input)))
    elseif event.kind == "tool_result" and event.is_error then
      terminal.say("%s: %s", event.tool_name, event.content)
    end
  end
end

-- The tools, whose approval the user has a say in: not with --yes, and not after "always".
local function guarded(self, tools, needed)
  for _, tool in ipairs(tools) do
    function tool.needs_approval(given)
      return not self.args.yes and not self.always[tool.name] and needed(tool, given)
    end
  end
  return tools
end

--- A worker. `args` are the command's (of them `yes`); `given` has the fields of koine.agent, and besides
--   needed(tool, arguments)  whether a call needs approval
--   writes                   "deltas": text as it arrives; "whole": a text at a time; nil: none of it
function work.new(args, given)
  local self = { args = args, history = {}, always = {}, name = given.adapter:model_name(), writes = given.writes }
  self.tools = guarded(self, given.tools, given.needed)
  given.needed, given.writes = nil, nil
  if args.keeper then given.observer = args.keeper.meter.observer end -- its log has all of it as one trace
  given.on_event = on_event(self)
  given.on_delta = self.writes == "deltas" and writer.deltas(self.name, true) or nil
  self.agent = koine.agent(given)
  return self
end

--- One task (a string or an array of blocks): the result of the run. Raises the error of a run that fails.
function work.task(self, said)
  local messages = table.move(self.history, 1, #self.history, 1, {})
  messages[#messages + 1] = { role = "user", content = said }
  local run = self.agent:start(messages)
  local result, err
  repeat
    terminal.progress("waiting for " .. self.name)
    result, err = run:result()
    if not result then error(err, 0) end
    if result.status == "paused" then decide(self, run, result.pending) end
  until result.status ~= "paused"
  self.history = result.messages
  terminal.end_line()
  terminal.progress()
  if result.status == "stopped" then terminal.say("stopped: %s", result.reason) end
  return result
end

return work
