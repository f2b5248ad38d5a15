--- An agent that works in a directory: in the terminal, or with --acp for an editor. It asks before it changes a file
-- or runs a command.

local adapters = require "koine.cli.adapters"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local json = require "koine.cli.json"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local agent = {}

local SYSTEM = "You are a coding agent. You work in the directory %s, with the tools that you have. Look at the files "
  .. "that matter before you change them, change only what the task needs, and check what you changed. Paths are "
  .. "relative to the directory. Be brief."

local MODES = { { id = "ask", name = "Ask", description = "Asks before it changes a file or runs a command." },
  { id = "auto", name = "Auto", description = "Asks for nothing." } }

-- The agent of a directory; `more` are fields besides.
local function make(args, adapter, directory, more)
  more.adapter, more.system = adapter, args.system or SYSTEM:format(directory)
  more.stop = args.max_steps and { koine.agent.steps(args.max_steps) } or nil
  return koine.agent(more)
end

-- In an editor -----------------------------------------------------------------------------------------------------

local function serve(args)
  if #args.prompt > 0 then failure.fail(failure.WRONG_USE, "--acp: the editor asks; no words on the command line") end
  local adapter = adapters.adapter_of(args, adapters.model_of(args))
  local store, err
  if args.sessions then
    store, err = koine.store.file { dir = args.sessions }
    if not store then failure.cannot("--sessions", err.message) end
  end
  local done
  done, err = koine.acp.serve { name = "koine", title = "Koine", sessions = store, executor = "client",
    modes = not args.yes and MODES or nil,
    approval = function(name, given, session)
      return not args.yes and session.mode ~= "auto" and koine.executor.changes(name, given)
    end,
    agent = function(session) return make(args, adapter, session.cwd, {}) end }
  if not done then error(err, 0) end
  return 0
end

-- In the terminal --------------------------------------------------------------------------------------------------

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

local function on_delta(self)
  return function(delta)
    if delta.type == "text_delta" then terminal.out(delta.text) end
    if delta.type == "text_end" then terminal.end_line() end
    if delta.type == "thinking_start" then terminal.progress(self.name .. " is thinking") end
  end
end

local function on_event(self)
  return function(event)
    if event.kind == "output" and self.args.no_stream then
      terminal.out(event.content)
      terminal.end_line()
    elseif event.kind == "tool_call" then
      terminal.say("%s", title_of(self.tools, event.tool_name, json.decode(event.tool_input)))
    elseif event.kind == "tool_result" and event.is_error then
      terminal.say("%s: %s", event.tool_name, event.content)
    end
  end
end

-- One task: the exit code. Raises the error of a run that fails.
local function work(self, said)
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
  if result.status == "stopped" then terminal.say("stopped: %s", result.reason) end
  return result.stop_reason == "refusal" and failure.REFUSED or 0
end

-- The executor's tools, those that change something with approval.
local function guarded(self, tools)
  for _, tool in ipairs(tools) do
    function tool.needs_approval(given)
      return not self.args.yes and not self.always[tool.name] and koine.executor.changes(tool.name, given)
    end
  end
  return tools
end

local function begin(args, executor)
  local adapter = adapters.adapter_of(args, adapters.model_of(args))
  local self = { args = args, history = {}, always = {}, name = adapter:model_name() }
  self.tools = guarded(self, executor:tools())
  self.agent = make(args, adapter, executor.workdir, { tools = self.tools, on_event = on_event(self),
    on_delta = not args.no_stream and on_delta(self) or nil })
  return self
end

-- A task a line, until the end of the input.
local function talk(self, report)
  while true do
    if terminal.input then io.stderr:write("> ") end
    local line = io.read "l"
    if not line or line == "/quit" then
      if terminal.input and not line then io.stderr:write "\n" end
      return 0
    end
    if line:find "%S" then
      local ok, code = pcall(work, self, input.as_text(line, "the line"))
      if not ok and (not terminal.input or type(code) == "table" and code.exit == failure.CLOSED_PIPE) then
        error(code, 0)
      elseif not ok then
        report(code)
      end
    end
  end
end

--- The command `agent`: the exit code. `report` writes what a task raised, after which a terminal can go on.
function agent.command(args, report)
  if args.acp then return serve(args) end
  local executor <close>, err = koine.executor { workdir = args.directory or "." }
  if not executor then failure.cannot(args.directory or ".", err.message) end
  local self = begin(args, executor)
  if #args.prompt > 0 then return work(self, input.as_text(table.concat(args.prompt, " "), "the task")) end
  return talk(self, report)
end

return agent
