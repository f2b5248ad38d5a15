--- An agent that works in a directory: in the terminal, or with --acp for an editor. It asks before it changes a file
-- or runs a command.

local adapters = require "koine.cli.adapters"
local editor = require "koine.cli.terminal.editor"
local ending = require "koine.cli.talk.ending"
local failure = require "koine.cli.failure"
local input = require "koine.cli.input"
local koine = require "koine"
local terminal = require "koine.cli.terminal"
local work = require "koine.cli.talk.work"

local agent = {}

local SYSTEM = "You are a coding agent. You work in the directory %s, with the tools that you have. Look at the files "
  .. "that matter before you change them, change only what the task needs, and check what you changed. Paths are "
  .. "relative to the directory. Be brief."

local MODES = { { id = "ask", name = "Ask", description = "Asks before it changes a file or runs a command." },
  { id = "auto", name = "Auto", description = "Asks for nothing." } }

-- The fields of the agent of a directory, put into `more`.
local function fields_of(args, adapter, directory, more)
  more.adapter, more.system = adapter, args.system or SYSTEM:format(directory)
  more.stop = args.max_steps and { koine.agent.steps(args.max_steps) } or nil
  return more
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
    agent = function(session) return koine.agent(fields_of(args, adapter, session.cwd, {})) end }
  if not done then error(err, 0) end
  return 0
end

-- In the terminal --------------------------------------------------------------------------------------------------

-- One task: the exit code. Raises the error of a run that fails.
local function once(self, said)
  local result = work.task(self, said)
  if not result.response then return 0 end
  local line, code = ending.of(result.response)
  if line and result.status ~= "stopped" then terminal.say("%s", line) end
  return code
end

local function begin(args, executor)
  local adapter = adapters.adapter_of(args, adapters.model_of(args))
  return work.new(args, fields_of(args, adapter, executor.workdir, { tools = executor:tools(),
    writes = args.no_stream and "whole" or "deltas",
    needed = function(tool, given) return koine.executor.changes(tool.name, given) end }))
end

-- A task a line, until the end of the input.
local function talk(self, report)
  local lines = editor.new()
  while true do
    local line = lines:line "> "
    if not line or line == "/quit" then return 0 end
    if line:find "%S" then
      local ok, code = pcall(once, self, input.as_text(line, "the line"))
      if not ok and (not terminal.input or failure.is_closed_pipe(code)) then
        error(code, 0)
      elseif not ok and report(code) == failure.INTERRUPTED then
        terminal.say "cancelled; the task is not in the history"
      elseif ok and not terminal.input and code ~= 0 then
        return code
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
  if #args.prompt > 0 and not input.is_asked_for(args.prompt) then
    return once(self, input.as_text(table.concat(args.prompt, " "), "the task"))
  end
  return talk(self, report)
end

return agent
